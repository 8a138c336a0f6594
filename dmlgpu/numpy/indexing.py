"""Elements by their positions, and the positions of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.desc import views
from dmlgpu.desc.host import as_array
from dmlgpu.elements import broadcast_shapes
from dmlgpu.errors import InvalidIndexError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.manipulation import stack
from dmlgpu.tensor import Tensor


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The elements at these positions along an axis, or in the flattened array."""
    return asarray(x, device=device_of(x, indices)).take(indices, axis)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The coordinates of the elements that are not 0, an array for each axis, as int32.

    How many there are is read back, for it makes the shape.
    """
    return asarray(x).nonzero()


def flatnonzero(x: Any, /) -> Tensor:
    """The positions, in the flattened array, of the elements that are not 0."""
    (found,) = asarray(x).reshape(-1).nonzero()
    return found


def argwhere(x: Any, /) -> Tensor:
    """The coordinates of the elements that are not 0, a row for each."""
    tensor = asarray(x)
    if not tensor.ndim:
        return Tensor.without_elements(tensor.device, (int(bool(tensor)), 0), np.dtype(np.int32))
    return stack(tensor.nonzero(), axis=-1)


def compress(condition: Any, x: Any, /, *, axis: int | None = None) -> Tensor:
    """What lies along an axis, or in the flattened array, where a condition is not 0."""
    return asarray(x, device=device_of(x, condition)).compress(condition, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int | None = -1) -> Tensor:
    """Each element by an index of its own along an axis: GATHER_ELEMENTS.

    The other axes are broadcast against each other.
    """
    tensor = asarray(x, device=device_of(x, indices))
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    given, place = _along("take_along_axis", tensor, indices, axis)
    length = (given.shape[place], tensor.shape[place])
    shape = broadcast_shapes(
        "take_along_axis", [_put(given.shape, place, 1), _put(tensor.shape, place, 1)]
    )
    picked, source = _put(shape, place, length[0]), _put(shape, place, length[1])
    if 0 in picked:
        return Tensor.without_elements(tensor.device, picked, tensor.dtype)
    if not length[1]:
        raise InvalidIndexError(f"take_along_axis: axis {place} has size 0; there is no index")
    if isinstance(given, Tensor):
        given = given.broadcast_to(picked)
    else:
        given = np.broadcast_to(given, picked)
    made: Tensor = tensor.device.run(
        "GATHER_ELEMENTS", tensor.broadcast_to(source), given, axis=place
    )
    return made.marked(picked, tensor.dtype)


def put_along_axis(x: Tensor, indices: Any, values: Any, /, axis: int | None = -1) -> None:
    """Writes each value to an index of its own along an axis: SCATTER_ELEMENTS."""
    if not isinstance(x, Tensor):
        raise InvalidTypeError(f"put_along_axis: x is {type(x).__name__}; it must be a Tensor")
    if axis is None:
        put_along_axis(x.reshape(-1, copy=False), indices, values, 0)
        return
    given, place = _along("put_along_axis", x, indices, axis)
    shape = _put(x.shape, place, given.shape[place])
    updates = asarray(values, device=x.device).astype(x.dtype, copy=False).broadcast_to(shape)
    if 0 in shape:
        return
    index = asarray(given, device=x.device) if isinstance(given, Tensor) else given
    index = (
        index.broadcast_to(shape) if isinstance(index, Tensor) else np.broadcast_to(index, shape)
    )
    x[...] = x.device.run("SCATTER_ELEMENTS", x, index, updates, axis=place).marked(
        x.shape, x.dtype
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
        raise InvalidTypeError(
            f"{what}: indices have {given.ndim} dimensions and x has {x.ndim}; `indices` and `arr` "
            "must have the same number of dimensions"
        )
    return given.astype(np.int32) if given.dtype.itemsize < 4 else given, place


def _put(sizes: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])
