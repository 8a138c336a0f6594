"""Elements by their positions, and the positions of elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dmlgpu.array.promotion import INT64, UINT64
from dmlgpu.array.uploads import type_for
from dmlgpu.desc import views
from dmlgpu.desc.host import as_array
from dmlgpu.errors import InvalidDescError, InvalidIndexError, InvalidTypeError, UnsupportedError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.manipulation import stack
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: Tensor | None = None,
    mode: str = "raise",
) -> Tensor:
    """The elements at these positions along an axis, or in the flattened array.

    Positions given as an array are checked; those on the device are clamped. With `mode="clip"`
    all are, and with "wrap" they are counted round and round.
    """
    made = asarray(a, device=device_of(a, indices, out)).take(indices, axis, mode)
    return written("take", made, out)


def nonzero(a: Any) -> tuple[Tensor, ...]:
    """The coordinates of the elements that are not 0, an array for each axis, as int64.

    How many there are is read back, for it makes the shape.
    """
    return asarray(a).nonzero()


def flatnonzero(a: Any) -> Tensor:
    """The positions, in the flattened array, of the elements that are not 0."""
    (found,) = asarray(a).reshape(-1).nonzero()
    return found


def argwhere(a: Any) -> Tensor:
    """The coordinates of the elements that are not 0, a row for each."""
    tensor = asarray(a)
    if not tensor.ndim:
        return Tensor.without_elements(tensor.device, (int(bool(tensor)), 0), INT64)
    return stack(tensor.nonzero(), axis=-1)


def compress(condition: Any, a: Any, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """What lies along an axis, or in the flattened array, where a condition is not 0."""
    made = asarray(a, device=device_of(a, condition, out)).compress(condition, axis)
    return written("compress", made, out)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """Each element by an index of its own along an axis: GATHER_ELEMENTS.

    The other axes are broadcast against each other.
    """
    tensor = asarray(arr, device=device_of(arr, indices))
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    given, place = _along("take_along_axis", tensor, indices, axis)
    size = tensor.shape[place]
    shapes = [views.replaced(given.shape, place, 1), views.replaced(tensor.shape, place, 1)]
    try:
        lines = views.broadcast_shapes("take_along_axis", shapes)
    except InvalidDescError as error:
        raise InvalidIndexError(str(error)) from None
    shape = views.replaced(lines, place, given.shape[place])
    if 0 in shape:
        return Tensor.without_elements(tensor.device, shape, tensor.dtype)
    if not size:
        raise InvalidIndexError(f"take_along_axis: axis {place} has size 0; there is no index")
    source = tensor.broadcast_to(views.replaced(lines, place, size))
    made: Tensor = tensor.device.run(
        "GATHER_ELEMENTS", source, np.broadcast_to(given, shape), axis=place
    )
    return made.marked(shape, tensor.dtype)


def put_along_axis(arr: Tensor, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Writes each value to an index of its own along an axis: SCATTER_ELEMENTS."""
    x = arr
    if not isinstance(x, Tensor):
        raise InvalidTypeError(f"put_along_axis: arr is {type(x).__name__}; it must be a Tensor")
    if axis is None:
        put_along_axis(x.reshape(-1, copy=False), indices, values, 0)
        return
    given, place = _along("put_along_axis", x, indices, axis)
    shape = views.replaced(x.shape, place, given.shape[place])
    if any(n not in (1, m) for n, m in zip(given.shape, shape, strict=True)):
        raise InvalidIndexError(
            f"put_along_axis: indices of shape {given.shape} cannot be broadcast to {shape}"
        )
    made_of = asarray(values, dtype=type_for(values, x.dtype), device=device_of(x, values))
    updates = made_of.astype(x.dtype, copy=False).broadcast_to(shape)
    if 0 in shape:
        return
    wide = np.broadcast_to(given, shape)
    made = x.device.run("SCATTER_ELEMENTS", x, wide, updates, axis=place)
    x[...] = made.marked(x.shape, x.dtype)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """The coordinates, in an array of this shape, of positions in the flattened one.

    The last axis counts fastest, or the first one where `order` is "F". Positions given as an array
    are checked; those on the device are not.
    """
    sizes = views.shape_of("unravel_index", (shape,))
    _check_places("unravel_index", indices, prod(sizes))
    rest, found = _counting(asarray(indices)), []
    for size in sizes[:-1] if order == "F" else reversed(sizes[1:]):
        found.append(rest % size)
        rest = rest // size
    return (*found, rest) if order == "F" else (rest, *reversed(found))


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Tensor:
    """The positions, in the flattened array, of coordinates in an array of these sizes.

    Coordinates given as arrays are checked; those on the device are clamped, as in all indexing on
    the GPU. With `mode="clip"` all are, and with "wrap" they are counted round and round.
    """
    sizes = views.shape_of("ravel_multi_index", (dims,))
    if len(multi_index) != len(sizes):
        raise InvalidDescError(
            f"ravel_multi_index: {len(multi_index)} coordinates for {len(sizes)} dimensions"
        )
    if prod(sizes) > 2**63:
        raise UnsupportedError(
            f"ravel_multi_index: an array of sizes {sizes} has positions above those of int64"
        )
    device = device_of(*multi_index)
    made = device.full((), INT64, 0)
    pairs = list(zip(multi_index, sizes, strict=True))
    for given, size in reversed(pairs) if order == "F" else pairs:
        if mode == "raise":
            _check_places("ravel_multi_index", given, size)
        at = _counting(asarray(given, device=device))
        at = at % size if mode == "wrap" else at.clip(0, size - 1)
        made = made * size + at
    return made


def _counting(positions: Tensor) -> Tensor:
    """Positions as int64; those of uint64 above that are the last one."""
    if positions.dtype == UINT64:
        positions = positions.device.elementwise("minimum", positions, np.iinfo(INT64).max)
    return positions.astype(INT64, copy=False) if positions.dtype.kind in "iu" else positions


def _check_places(what: str, given: Any, size: int) -> None:
    """Refuses positions outside of an axis that are known to the host."""
    if isinstance(given, Tensor):
        return
    values = as_array(f"{what}: indices", given)
    if values.dtype.kind in "iu" and values.size:
        for worst in (values.min(), values.max()):
            if not 0 <= worst < size:
                raise InvalidDescError(
                    f"{what}: index {worst} is out of bounds for a size of {size}"
                )


def _along(what: str, x: Tensor, indices: Any, axis: int) -> tuple[Any, int]:
    """Indices of an axis in a type that the operators take, and the axis."""
    given = indices if isinstance(indices, Tensor) else as_array(f"{what}: indices", indices)
    if given.dtype.kind not in "iu":
        raise InvalidIndexError(
            f"{what}: indices have type {given.dtype}; `indices` must be an integer array"
        )
    place = views.axis_of(what, axis, x.ndim)
    if given.ndim != x.ndim:
        raise InvalidDescError(
            f"{what}: indices have {given.ndim} dimensions and x has {x.ndim}; both must have the "
            "same number of dimensions"
        )
    return given.astype(np.int32) if given.dtype.itemsize < 4 else given, place
