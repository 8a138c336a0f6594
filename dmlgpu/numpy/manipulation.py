"""Other shapes and orders of elements: views where the layout allows it, else one copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isqrt, prod
from typing import Any

import numpy as np

from dmlgpu.array.promotion import check_fits, dtype_of, promoted
from dmlgpu.desc import views
from dmlgpu.desc.enumerations import PaddingMode
from dmlgpu.desc.tensor import DataType
from dmlgpu.desc.values import as_index, as_indices
from dmlgpu.device import Device
from dmlgpu.errors import AxisError, InvalidDescError, InvalidTypeError, UnsupportedError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray, uninitialised
from dmlgpu.numpy.outputs import the_one, written
from dmlgpu.plan.values import converted
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int]
MANY = 32  # arrays of one shape from which on they are put together in groups
WORD = 4  # bytes that shaders store at least


def broadcast_to(array: Any, shape: int | Sequence[int], subok: bool = False) -> Tensor:
    """A view that repeats dimensions of size 1, and new leading ones."""
    return asarray(array).broadcast_to(shape)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Views of all in the shape that they broadcast to.

    What is no array of numbers, such as None, is NumPy's array.
    """
    device = device_of(*args)
    given = [x if isinstance(x, Tensor) else np.asarray(x) for x in args]
    given = [asarray(x, device=device) if x.dtype.kind in "biuf" else x for x in given]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    return tuple(
        x.broadcast_to(shape) if isinstance(x, Tensor) else np.broadcast_to(x, shape) for x in given
    )


def expand_dims(a: Any, axis: Axis = 0) -> Tensor:
    """A view with new dimensions of size 1 at these places of the result."""
    return asarray(a).expand_dims(axis)


def squeeze(a: Any, axis: Axis | None = None) -> Tensor:
    """A view without these dimensions of size 1."""
    return asarray(a).squeeze(axis)


def flip(m: Any, axis: Axis | None = None) -> Tensor:
    """The elements in reverse order along axes, all by default."""
    return asarray(m).flip(axis)


def fliplr(m: Any) -> Tensor:
    """The columns in reverse order."""
    return flip(m, 1)


def flipud(m: Any) -> Tensor:
    """The rows in reverse order."""
    return flip(m, 0)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """A view with the dimensions in another order, reversed if none is given."""
    tensor = asarray(a)
    return tensor.transpose(axes) if tensor.ndim else tensor.transpose()


permute_dims = transpose


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """A view with two dimensions exchanged."""
    return asarray(a).swapaxes(axis1, axis2)


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """A view with a dimension moved before another one."""
    tensor = asarray(a)
    rank = tensor.ndim
    first = views.axis_of("rollaxis", axis, rank)
    if not -rank <= start <= rank:
        raise AxisError(start, rank + 1, "rollaxis: start")
    place = start + rank if start < 0 else start
    return moveaxis(tensor, first, place - (first < place))


def ravel(a: Any, order: str = "C") -> Tensor:
    """The elements in one dimension; a view where the strides allow it, else a copy."""
    return asarray(a).ravel("C" if order in ("A", "K") else order)


def ndim(a: Any) -> int:
    """The number of dimensions."""
    return a.ndim if isinstance(a, Tensor) else np.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the dimensions."""
    return a.shape if isinstance(a, Tensor) else np.shape(a)


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, of all or along axes."""
    sizes = shape(a)
    axes = range(len(sizes)) if axis is None else views.axes_of("size", axis, len(sizes))
    return prod(sizes[d] for d in axes)


def matrix_transpose(x: Any, /) -> Tensor:
    """A view with the last two dimensions exchanged."""
    return asarray(x).mT


def moveaxis(a: Any, source: Axis, destination: Axis) -> Tensor:
    """A view with some dimensions moved to other places, the rest in their order."""
    tensor = asarray(a)
    old = views.axes_of("moveaxis", source, tensor.ndim)
    new = views.axes_of("moveaxis", destination, tensor.ndim)
    if len(old) != len(new):
        raise InvalidDescError(f"moveaxis: {len(old)} axes are moved to {len(new)} places")
    order = [a for a in range(tensor.ndim) if a not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return tensor.transpose(order)


def reshape(
    a: Any, /, shape: int | Sequence[int], order: str | None = "C", *, copy: bool | None = None
) -> Tensor:
    """The elements under other sizes, one of which may be -1."""
    return asarray(a).reshape(shape, copy=copy, order="C" if order in ("A", None) else order)


def concat(
    arrays: Sequence[Any],
    /,
    axis: int | None = 0,
    out: Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """Arrays one after the other along an axis; with None, all elements in one dimension.

    Elements are cast to `dtype`, or to the type of `out`, as far as the rule `casting` allows it.
    """
    device = device_of(*arrays, out)
    given = _cast("concat", [asarray(x, device=device) for x in arrays], out, dtype, casting)
    made = _concatenated(given, axis, device)
    return made if out is None else written("concat", made, out)


concatenate = concat


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Two arrays one behind the other; without an axis both are flattened."""
    return concat([arr, values], axis=axis)


def _cast(name: str, given: list[Tensor], out: Any, dtype: Any, casting: str) -> list[Tensor]:
    """Tensors in the type that is asked for."""
    if out is None and dtype is None:
        return given
    if out is not None and dtype is not None:
        raise InvalidTypeError(f"{name}: out and dtype are given; one of them alone says the type")
    wanted = dtype_of(f"{name}: dtype", dtype) if out is None else the_one(name, out).dtype
    return [x.astype(wanted, copy=False, casting=casting) for x in given]


def _concatenated(given: list[Tensor], axis: int | None, device: Device) -> Tensor:
    if not given:
        raise InvalidDescError("concat: arrays is empty; at least one is needed")
    if axis is None:
        given, axis = [x.reshape(-1) for x in given], 0
    first = given[0].shape
    if any(not x.ndim for x in given):
        raise InvalidDescError("concat: zero-dimensional arrays cannot be concatenated")
    axis = views.axis_of("concat", axis, len(first))
    for x in given:
        if x.ndim != len(first) or any(
            n != m for a, (n, m) in enumerate(zip(x.shape, first, strict=False)) if a != axis
        ):
            raise InvalidDescError(
                f"concat: shapes {first} and {x.shape} differ in another axis than {axis}"
            )
    dtype = promoted([x.dtype for x in given])
    if len(given) > MANY and len({x.shape for x in given}) == 1:
        # Each place is an operator of its own: those of groups serve all groups.
        given, size = [x.astype(dtype, copy=False) for x in given], isqrt(len(given))
        groups = [given[n : n + size] for n in range(0, len(given), size)]
        return concat([concat(group, axis) for group in groups], axis)
    shape = tuple(
        sum(x.shape[axis] for x in given) if a == axis else n for a, n in enumerate(first)
    )
    made = uninitialised(shape, dtype, device)
    at = 0
    for x in given:
        if x.size:
            made[(*(slice(None),) * axis, slice(at, at + x.shape[axis]))] = x
        at += x.shape[axis]
    return made


def stack(
    arrays: Sequence[Any],
    axis: int = 0,
    out: Tensor | None = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Tensor:
    """Arrays of one shape along a new axis, cast as `concat` casts them."""
    device = device_of(*arrays, out)
    given = _cast("stack", [asarray(x, device=device) for x in arrays], out, dtype, casting)
    made = _stacked(given, axis)
    return made if out is None else written("stack", made, out)


def _stacked(given: list[Tensor], axis: int) -> Tensor:
    if not given:
        raise InvalidDescError("stack: arrays is empty; at least one is needed")
    if any(x.shape != given[0].shape for x in given):
        told = " ".join(str(x.shape) for x in given)
        raise InvalidDescError(f"stack: all arrays must have one shape; these have {told}")
    place = views.axis_of("stack", axis, given[0].ndim + 1)
    if 0 < place == given[0].ndim and promoted([x.dtype for x in given]).itemsize < WORD:
        # As neighbours in a word they would be put there one by one.
        return moveaxis(stack(given, axis=0), 0, place).copy()
    return concat([x.expand_dims(place) for x in given], axis=place)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The pieces along an axis, without it."""
    tensor = asarray(x)
    place = views.axis_of("unstack", axis, tensor.ndim)
    whole = (slice(None),) * place
    return tuple(tensor[(*whole, i)] for i in range(tensor.shape[place]))


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element several times; counts in a tensor are read back, for they make the shape."""
    return asarray(a).repeat(repeats, axis)


def array_split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Pieces along an axis: as many as a number says, nearly equal, or cut at these positions."""
    tensor = asarray(ary)
    place = views.axis_of("split", axis, tensor.ndim)
    size, cuts = tensor.shape[place], np.asarray(indices_or_sections)
    if cuts.size and cuts.dtype.kind not in "iu":
        raise InvalidTypeError(f"split: {shown(indices_or_sections)} must be integers")
    if not cuts.ndim:
        if cuts <= 0:
            raise InvalidDescError("split: number sections must be larger than 0")
        each, longer = divmod(size, int(cuts))
        ends = np.cumsum([each + 1] * longer + [each] * (int(cuts) - longer)).tolist()
        bounds = [0, *ends]
    else:
        bounds = [0, *cuts.astype(np.int64).tolist(), size]
    whole = (slice(None),) * place
    return [tensor[(*whole, slice(first, last))] for first, last in pairwise(bounds)]


def split(ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Pieces along an axis: as many equal ones as a number says, or cut at these positions."""
    tensor = asarray(ary)
    size = tensor.shape[views.axis_of("split", axis, tensor.ndim)]
    cuts = np.asarray(indices_or_sections)
    if not cuts.ndim and cuts.dtype.kind in "iu" and cuts > 0 and size % int(cuts):
        raise InvalidDescError(
            f"split: {size} elements in {cuts} sections: array split does not result in an equal "
            "division"
        )
    return array_split(tensor, indices_or_sections, axis=axis)


PADDING = {
    "constant": PaddingMode.CONSTANT,
    "edge": PaddingMode.EDGE,
    "reflect": PaddingMode.REFLECTION,
    "symmetric": PaddingMode.SYMMETRIC,
    "wrap": PaddingMode.WRAP,
}


def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = None,
    reflect_type: str = "even",
) -> Tensor:
    """More elements before and behind those there are: PADDING1, with the modes that it has.

    `pad_width` and `constant_values` are one number, a pair for every axis, or a pair for each;
    `pad_width` may also be a dictionary of axes.
    """
    tensor = asarray(array)
    if reflect_type != "even":
        raise UnsupportedError(
            f"pad: reflect_type is {shown(reflect_type)}; a tensor has no other than 'even'"
        )
    if mode not in PADDING:
        raise UnsupportedError(
            f"pad: mode is {shown(mode)}; it must be one of {', '.join(PADDING)}"
        )
    if mode != "constant" and constant_values is not None:
        raise InvalidDescError(f"pad: mode is {mode}; only constant has constant_values")
    given = pad_width
    if isinstance(pad_width, dict):
        given = [(0, 0)] * tensor.ndim
        for axis, width in pad_width.items():
            given[views.axis_of("pad", axis, tensor.ndim)] = width
        given = [width if np.ndim(width) else (width, width) for width in given]
    widths = _pairs("pad_width", given, tensor.ndim)
    if widths.dtype.kind not in "iu":
        raise InvalidTypeError(f"pad: pad_width is {shown(pad_width)}; it must be integers")
    if (widths < 0).any():
        raise InvalidDescError(f"pad: pad_width is {shown(pad_width)}; it must not be negative")
    constants = 0 if constant_values is None else constant_values
    values = _pairs("constant_values", constants, tensor.ndim)
    if mode != "constant" or len(set(values.reshape(-1).tolist())) <= 1:
        value = values.reshape(-1)[0].item() if values.size else 0
        return _padded(tensor, mode, value, widths)
    for axis, side in np.ndindex(values.shape):  # the last ones get the corners
        part = np.zeros_like(widths)
        part[axis, side] = widths[axis, side]
        tensor = _padded(tensor, mode, values[axis, side].item(), part)
    return tensor


def _pairs(name: str, given: Any, rank: int) -> np.ndarray[Any, Any]:
    try:
        return np.broadcast_to(np.asarray(given), (rank, 2))
    except ValueError:
        raise InvalidDescError(
            f"pad: {name} is {shown(given)}; it must be one number or pairs for {rank} axes"
        ) from None


def _padded(x: Tensor, mode: str, value: Any, widths: np.ndarray[Any, Any]) -> Tensor:
    start, end = (tuple(w) for w in widths.T.tolist())
    shape = tuple(b + n + a for b, n, a in zip(start, x.shape, end, strict=True))
    if mode != "constant" and any(w.any() and not n for w, n in zip(widths, x.shape, strict=True)):
        raise InvalidDescError(f"pad: an axis of size 0 can't be extended using mode {mode}")
    check_fits(value, x.dtype)
    number = bool(value) if x.dtype.kind == "b" else value
    if x.dtype.kind in "iu" and isinstance(value, float):
        number = converted(value, DataType.from_numpy(x.dtype))
    if not x.size:
        return x.device.full(shape, x.dtype, number)
    if not x.ndim:
        return x.copy()
    made: Tensor = x.device.run(
        "PADDING1",
        x,
        padding_mode=PADDING[mode],
        padding_value=int(number) if isinstance(number, bool) else number,
        start_padding=start,
        end_padding=end,
    )
    return made.marked(shape, x.dtype)


def _at_least(arrays: tuple[Any, ...], rank: int) -> Any:
    """Views of at least so many dimensions, new ones where NumPy has them."""
    result = []
    for x in arrays:
        tensor = asarray(x)
        missing = max(0, rank - tensor.ndim)
        behind = int(rank == 3 and 0 < tensor.ndim < 3)
        sizes = (*(1,) * (missing - behind), *tensor.shape, *(1,) * behind)
        result.append(tensor.reshape(sizes) if missing else tensor)
    return result[0] if len(result) == 1 else tuple(result)


def atleast_1d(*arys: Any) -> Any:
    """Views of at least one dimension."""
    return _at_least(arys, 1)


def atleast_2d(*arys: Any) -> Any:
    """Views of at least two dimensions, new ones first."""
    return _at_least(arys, 2)


def atleast_3d(*arys: Any) -> Any:
    """Views of at least three dimensions: a line is in the middle, a matrix first."""
    return _at_least(arys, 3)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays side by side: along the second axis, or the only one."""
    given = _on_one_device(tup, 1)
    axis = 0 if given and given[0].ndim == 1 else 1
    return concat(given, axis, dtype=dtype, casting=casting)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays below each other: along the first axis of two at least."""
    return concat(_on_one_device(tup, 2), 0, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> Tensor:
    """Arrays behind each other: along the third axis of three at least."""
    return concat(_on_one_device(tup, 3), 2)


def column_stack(tup: Sequence[Any]) -> Tensor:
    """Lines as columns, and matrices, side by side."""
    given = _on_one_device(tup, 0)
    return concat([x if x.ndim > 1 else x.reshape(-1, 1) for x in given], axis=1)


def _on_one_device(arrays: Sequence[Any], rank: int) -> list[Tensor]:
    """Tensors of one device, of at least so many dimensions."""
    device = device_of(*arrays)
    return [_at_least((asarray(x, device=device),), rank) for x in arrays]


def vsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the first axis of two at least."""
    return split(_of_rank("vsplit", ary, 2), indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the second axis, or the only one."""
    tensor = _of_rank("hsplit", ary, 1)
    return split(tensor, indices_or_sections, min(1, tensor.ndim - 1))


def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Pieces along the third axis."""
    return split(_of_rank("dsplit", ary, 3), indices_or_sections, 2)


def _of_rank(name: str, ary: Any, least: int) -> Tensor:
    tensor = asarray(ary)
    if tensor.ndim < least:
        raise InvalidDescError(
            f"np.{name}: the array has {tensor.ndim} dimensions; it must have {least} or more"
        )
    return tensor


def tile(A: Any, reps: int | Sequence[int]) -> Tensor:  # noqa: N803 - NumPy's name
    """The whole array several times along each axis."""
    tensor = asarray(A)
    counts = views.shape_of("tile", (reps,))
    rank = max(tensor.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    made = tensor.reshape((1,) * (rank - tensor.ndim) + tensor.shape)
    for axis, times in reversed(list(enumerate(counts))):
        if times != 1:  # seen along an axis before, of which all steps have the same elements
            before, after = prod(made.shape[:axis]), prod(made.shape[axis:])
            seen = made.reshape((before, 1, after)).broadcast_to((before, times, after))
            size = times * made.shape[axis]
            made = seen.reshape((*made.shape[:axis], size, *made.shape[axis + 1 :]))
    if not made.size:
        return Tensor.without_elements(made.device, made.shape, made.dtype)
    is_view = made.storage is tensor.storage or made.layout.memory.overlaps_itself
    return made.copy() if is_view else made


def roll(a: Any, shift: Axis, axis: Axis | None = None) -> Tensor:
    """The elements moved along axes, those that fall off the end put at the start."""
    tensor = asarray(a)
    if axis is None:
        total = sum(_shifts(shift))
        return roll(tensor.reshape(-1), total, axis=0).reshape(tensor.shape)
    axes = [views.axis_of("roll", a, tensor.ndim) for a in as_indices("roll: axis", axis)]
    shifts = _shifts(shift)
    if 1 not in (len(axes), len(shifts)) and len(axes) != len(shifts):
        raise InvalidDescError(
            f"roll: {len(shifts)} shifts are given for {len(axes)} axes; there must be as many"
        )
    count = max(len(axes), len(shifts)) if axes and shifts else 0
    made = tensor
    for n in range(count):
        place, steps = axes[n % len(axes)], shifts[n % len(shifts)]
        size = made.shape[place]
        cut = -steps % size if size else 0
        if cut:
            whole = (slice(None),) * place
            parts = [made[(*whole, slice(cut, None))], made[(*whole, slice(cut))]]
            made = concat(parts, axis=place)
    return made if made is not tensor else tensor.copy()


def _shifts(shift: Any) -> list[int]:
    """Shifts, one or several, as integers."""
    return [as_index("roll: shift", n) for n in as_indices("roll: shift", shift)]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, `n` times over."""
    tensor = asarray(a)
    if n < 0:
        raise InvalidDescError(f"diff: n is {shown(n)}; it must not be negative")
    place = views.axis_of("diff", axis, tensor.ndim)
    parts = [tensor]
    if prepend is not None:
        parts.insert(0, _edge(prepend, tensor, place))
    if append is not None:
        parts.append(_edge(append, tensor, place))
    made = concat(parts, axis=place) if len(parts) > 1 else tensor
    whole = (slice(None),) * place
    for _ in range(n):
        after, before = made[(*whole, slice(1, None))], made[(*whole, slice(-1))]
        name = "not_equal" if made.dtype.kind == "b" else "subtract"
        made = tensor.device.elementwise(name, after, before)
    return made


def _edge(value: Any, x: Tensor, axis: int) -> Tensor:
    edge = asarray(value, device=device_of(x, value))
    if edge.ndim:
        return edge
    return edge.broadcast_to(tuple(1 if a == axis else n for a, n in enumerate(x.shape)))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours in one line, between what is put at its ends."""
    made = diff(asarray(ary).reshape(-1))
    for name, x in (("to_begin", to_begin), ("to_end", to_end)):
        if x is None:
            continue
        kind = x.dtype if isinstance(x, Tensor) else np.asanyarray(x).dtype
        if not np.can_cast(kind, made.dtype, "same_kind"):
            raise InvalidTypeError(
                f"ediff1d: {name} is {kind}, which is not of the same kind as {made.dtype}"
            )
        edge = asarray(x, device=device_of(made, x)).reshape(-1).astype(made.dtype, copy=False)
        made = concat([edge, made] if name == "to_begin" else [made, edge])
    return made
