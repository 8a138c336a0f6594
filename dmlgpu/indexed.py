"""Indexing with arrays of integers and masks: elements read and written where they say.

A mask stands for the positions where it is True; how many there are is read back, for it makes the
shape. All arrays of an index become one tensor of index tuples; only where a mask is of all axes,
elements are picked without positions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dmlgpu.array.picks import Extract, Flag, Locate, Put, Take
from dmlgpu.array.promotion import BOOL, FLOAT64, INT32, INT64, DType, data_type_of
from dmlgpu.array.sequences import integers
from dmlgpu.compiled import CompiledOperator, View
from dmlgpu.desc.indexing import Arrays, coordinates, is_mask, positions
from dmlgpu.desc.tensor import DataType, packed_strides
from dmlgpu.desc.views import broadcast_shapes, packed
from dmlgpu.elements import assigned, check_value, check_writable, overlap
from dmlgpu.errors import IndexRangeError, InvalidDescError, InvalidIndexError
from dmlgpu.plan.loops import Dim
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device

Positions = Tensor | npt.NDArray[Any]
# Columns of tensors of so many bytes and more are put by rows where those named are at least a
# fourth, what lies behind a column's place is 64 bytes at most, and there are 64 lines of it.
LARGE = 1 << 20
SHARE = 4
SHORT = 64
LINES = 64


@dataclass(frozen=True, slots=True)
class Column:
    """One coordinate of every index tuple, and the neighbouring axes that it selects from."""

    values: Positions
    axes: tuple[int, ...]


def nonzero(device: Device, x: Tensor, dtype: DType = INT64) -> tuple[Tensor, ...]:
    """The coordinates of the elements that are not 0, a tensor for each axis.

    Of int32, where that holds them, they need no conversion.
    """
    if not x.ndim:
        raise InvalidDescError(
            "nonzero: a tensor of no dimensions has no coordinates; use atleast_1d(x).nonzero()"
        )
    dtype = dtype if x.size <= 2**31 else INT64
    rows = _found(device, x, x.shape)
    if rows is None:
        return tuple(Tensor.without_elements(device, (0,), dtype) for _ in x.shape)
    made = rows.view(packed(DataType.INT32, rows.shape)) if dtype == INT32 else rows.astype(dtype)
    return (made.reshape(-1),) if x.ndim == 1 else tuple(made)


def _flagged(device: Device, x: Tensor) -> tuple[tuple[Tensor, ...], int]:
    """Flags of the elements that are not 0, and their number, which is read back."""
    if not x.size:
        return (), 0
    x = x.described()
    flags, sums = device.internal(Flag(source=x.desc))(x)
    return (flags, sums), int(sums[-1:].numpy()[0])


def _found(device: Device, x: Tensor, sizes: tuple[int, ...]) -> Tensor | None:
    """Coordinates of the elements that are not 0, as uint32: a row for each size; None if none."""
    flags, count = _flagged(device, x)
    if not count:
        return None
    made = packed(DataType.UINT32, (len(sizes), count))
    found: Tensor = device.internal(Locate(sizes=sizes, output=made))(*flags)
    return found


def _positions(device: Device, mask: Positions) -> Positions:
    """The positions, among all elements in order, of those that are not 0, as uint32."""
    if isinstance(mask, np.ndarray):
        return np.flatnonzero(mask).astype(np.uint32)
    found = _found(device, mask, (mask.size,))
    return np.empty(0, np.uint32) if found is None else found.reshape(-1)


def _extracted(device: Device, x: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask of all axes is True."""
    flags, count = _flagged(device, mask)
    if not count:
        return Tensor.without_elements(device, (0,), x.dtype)
    source = x if x.layout.is_packed else x.copy()
    desc = Extract(source=source.desc, output=packed(x.layout.memory.data_type, (count,)))
    made: Tensor = device.internal(desc)(source, *flags)
    return made.marked((count,), x.dtype)


def take(device: Device, x: Tensor, index: Arrays, key: Hashable = ()) -> Tensor:
    """What an index with arrays of integers or masks names.

    Where one tensor of integers does, what takes it is remembered under `key`.
    """
    mask = index.leading_mask(x.shape)
    if isinstance(mask, Tensor) and mask.shape == x.shape:
        return _extracted(device, x, mask)
    if not x.layout.is_forward:
        return take(device, x.copy(), index)
    columns, picked = _columns(device, x, index)
    shape = index.shape(picked)
    if not columns:
        return x.window(index.without_arrays(picked)).copy()
    if 0 in shape:
        return Tensor.without_elements(device, shape, x.dtype)
    op, tuples = _taking(device, x, index, columns, picked)
    taking = op.prepared(shape, x.dtype, views=(View.of_memory(x.layout), None))
    if key and tuples is index.arrays[0]:  # neither a mask's positions nor converted
        device.remember(key, taking)
    return taking(x, tuples)


def _taking(
    device: Device, x: Tensor, index: Arrays, columns: list[Column], picked: tuple[int, ...]
) -> tuple[CompiledOperator, Tensor]:
    """What takes the elements that an index names, and its index tuples."""
    shape = index.shape(picked)
    tuples, steps, facts = _tuples(device, x, columns, picked)
    out = packed_strides(shape)
    kept = [(n, step, 0) for n, step in index.steps(x.layout.strides)]
    rows = [(n, 0, step) for n, step in zip(picked, steps, strict=True)]
    walked = [*kept[: index.place], *rows, *kept[index.place :]]
    desc = Take(
        **facts,
        start=x.layout.start_of(index.window),
        source=x.layout.memory,
        output=packed(x.layout.memory.data_type, shape or (1,)),
        loops=tuple(Dim(n, o, s, t) for (n, s, t), o in zip(walked, out, strict=True)),
        kept=len(kept) - index.place,
    )
    return device.internal(desc), tuples


def put(device: Device, x: Tensor, index: Arrays, value: Any) -> None:
    """Writes a value, broadcast, to what an index with arrays names; of repeated ones, the last."""
    source = assigned(device, value, x.dtype)
    check_writable(x)
    if not x.layout.is_forward:
        forward = x.copy()
        put(device, forward, index, source)
        x[...] = forward
        return
    mask = index.leading_mask(x.shape)
    if mask is not None and mask.size and _is_alike_in_rows(source, x.ndim - mask.ndim):
        _put_masked(device, x, mask, source)
        return
    columns, picked = _columns(device, x, index)
    shape = index.shape(picked)
    check_value(source, shape)
    if not columns:
        x.window(index.without_arrays(picked))[...] = source
        return
    if 0 in shape:
        return
    if len(columns) == 1 and len(picked) == 1 and _goes_across(x, index, columns[0]):
        _put_across(device, x, columns[0], picked[0], source)
        return
    updates = _as_tensor(device, source, x.dtype).described()
    if overlap(updates, x):
        updates = updates.copy()
    extra = max(0, updates.ndim - len(shape))
    updates = updates.reshape(updates.shape[extra:]).broadcast_to(shape)
    tuples, steps, facts = _tuples(device, x, columns, picked)
    if overlap(tuples, x):
        tuples = tuples.copy()
        steps = packed_strides(picked)
        facts["indices"] = tuples.desc
    sources = updates.desc.effective_strides
    before, behind = index.place, index.place + len(picked)
    rows = zip(picked, sources[before:behind], steps, strict=True)
    kept = zip(index.steps(x.layout.strides), (*sources[:before], *sources[behind:]), strict=False)
    desc = Put(
        **facts,
        start=x.layout.start_of(index.window),
        updates=updates.desc,
        target=x.layout.memory,
        positions=tuple(Dim(n, 0, s, t) for n, s, t in rows),
        kept=tuple(Dim(n, step, s) for (n, step), s in kept),
    )
    device.internal(desc)(tuples, updates, out=View.of_memory(x.layout).of(x))


def _goes_across(x: Tensor, index: Arrays, column: Column) -> bool:
    """Whether positions name many of a large tensor's columns, whose rows are short pieces."""
    axis, *others = column.axes
    window = index.window
    if others or index.place != axis or x.nbytes < LARGE or x.dtype == FLOAT64:
        return False
    is_whole = window.sizes == x.shape and all(step == 1 for step in window.strides)
    is_whole &= index.axes == tuple(a for a in range(x.ndim) if a != axis)
    is_most = column.values.size * SHARE >= x.shape[axis]
    is_short = prod(x.shape[axis + 1 :]) * x.itemsize <= SHORT and prod(x.shape[:axis]) >= LINES
    return is_whole and is_most and is_short


def _put_across(device: Device, x: Tensor, column: Column, count: int, source: Any) -> None:
    """Writes every element anew: that of the last update of its column, or the one that it is.

    All of them in order are quicker than single ones in any.
    """
    (axis,) = column.axes
    last = device.full((x.shape[axis],), INT32, -1)  # update of each column
    last[column.values] = device.internal(integers(count, INT32, 0, 1))()
    updates = _as_tensor(device, source, x.dtype)
    updates = updates.reshape(updates.shape[max(0, updates.ndim - x.ndim) :])
    along = axis - (x.ndim - updates.ndim)
    if along >= 0 and updates.shape[along] > 1:
        updates = updates.take(device.elementwise("maximum", last, 0), along)
    named = (last >= 0).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    device.select(named, updates, x, out=x)


def _put_masked(device: Device, x: Tensor, mask: Positions, source: Any) -> None:
    """One value wherever the mask is True needs no positions."""
    rest = x.shape[mask.ndim :]
    check_value(source, (1, *rest))
    if not x.size:
        return
    if isinstance(source, Tensor) and source.ndim > len(rest):
        source = source.reshape(source.shape[source.ndim - len(rest) :])
    if isinstance(source, Tensor) or (isinstance(source, float) and x.dtype.kind != "f"):
        source = _as_tensor(device, source, x.dtype)
    elif x.dtype == BOOL:
        source = bool(source)
    condition = mask.reshape(mask.shape + (1,) * len(rest))
    device.select(condition, source, x, out=x)


def _is_alike_in_rows(source: Any, rest: int) -> bool:
    """Whether a value is the same for every place of a mask, behind which are `rest` axes."""
    if not isinstance(source, Tensor):
        return True
    return source.ndim <= rest or all(n == 1 for n in source.shape[: source.ndim - rest])


def _as_tensor(device: Device, source: Any, dtype: DType) -> Tensor:
    """A value in the type of the tensor that it is assigned to."""
    if isinstance(source, Tensor):
        return source.astype(dtype, copy=False)
    return device.full((), dtype, source)


def _columns(device: Device, x: Tensor, index: Arrays) -> tuple[list[Column], tuple[int, ...]]:
    """The coordinates of all index tuples, and the shape that the arrays have together."""
    columns: list[Column] = []
    shapes: list[tuple[int, ...]] = []
    for array, axes in zip(index.arrays, index.selected, strict=True):
        if not axes:  # a mask of no dimensions is one row or none
            shapes.append((int(bool(array)),))
        elif is_mask(array):
            flat = _positions(device, array)
            shapes.append(flat.shape)
            if not x.size or x.layout.lie_together(axes):
                columns.append(Column(flat, axes))
            else:
                found = coordinates(flat, tuple(x.shape[a] for a in axes))
                columns += [Column(c, (axis,)) for c, axis in zip(found, axes, strict=True)]
        else:
            shapes.append(array.shape)
            columns.append(Column(_checked(array, axes[0], x.shape[axes[0]]), axes))
    try:
        return columns, broadcast_shapes("index", shapes)
    except InvalidDescError:
        told = " ".join(map(str, shapes))
        raise InvalidIndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {told}"
        ) from None


def _checked(array: Positions, axis: int, size: int) -> Positions:
    """Index values of one axis; those in host memory are looked at."""
    if isinstance(array, np.ndarray):
        return positions(array, axis, size)
    if not size and array.size:
        raise IndexRangeError(f"every index is out of bounds for axis {axis} with size 0")
    return array.astype(np.int32) if array.dtype.itemsize < 4 else array


def _tuples(
    device: Device, x: Tensor, columns: list[Column], shape: tuple[int, ...]
) -> tuple[Tensor, tuple[int, ...], dict[str, Any]]:
    """Index tuples as a tensor, the steps through it for each dimension, and facts of it."""
    arrays = [column.values for column in columns]
    first = arrays[0]
    if len(arrays) == 1 and isinstance(first, Tensor):
        first = first.described()
        made = first if first.shape == shape else first.broadcast_to(shape)
        steps = made.desc.effective_strides[: len(shape)]
    else:
        made = _rows(device, arrays, shape, max(prod(x.shape[a] for a in c.axes) for c in columns))
        steps = tuple(n * len(arrays) for n in packed_strides(shape))
    strides = x.layout.strides
    facts = {
        "indices": made.desc,
        "index_step": 1,
        "sizes": tuple(prod(x.shape[a] for a in c.axes) for c in columns),
        "strides": tuple(strides[c.axes[-1]] for c in columns),
    }
    return made, steps, facts


def _rows(device: Device, arrays: list[Positions], shape: tuple[int, ...], largest: int) -> Tensor:
    """A row with one coordinate of each array for every place of their common shape."""
    if all(isinstance(array, np.ndarray) for array in arrays):
        wide = [np.broadcast_to(np.asarray(array), shape) for array in arrays]
        return device.tensor(np.stack(wide, -1).reshape(-1, len(arrays)))
    dtypes = [array.dtype for array in arrays if isinstance(array, Tensor)]
    signed = any(dtype.kind == "i" for dtype in dtypes)
    wide_ones = largest > 2**31 or np.dtype(np.uint32) in dtypes
    bits = 64 if max(d.itemsize for d in dtypes) == 8 or (signed and wide_ones) else 32
    dtype = np.dtype(f"{'int' if signed else 'uint'}{bits}")
    count = prod(shape)
    made = device.empty(packed(data_type_of(dtype), (count, len(arrays))))
    for i, array in enumerate(arrays):
        column = array if isinstance(array, Tensor) else device.tensor(array)
        if signed and column.dtype == np.uint64:  # what the signed type lacks is out of range
            column = device.elementwise("minimum", column, 2**63 - 1)
        made[:, i] = column.broadcast_to(shape).reshape(-1)
    return made
