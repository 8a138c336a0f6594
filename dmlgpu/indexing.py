"""Indexing: `x[1:, ::-2, None]` and flips as one SLICE1, index arrays as one GATHER_ND."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from dmlgpu.arguments import compiled_for, is_fixed
from dmlgpu.desc.tensor import MAX_RANK, TensorDesc, as_array, packed_strides
from dmlgpu.desc.views import axes_of, axis_of, packed, permuted, relaid
from dmlgpu.device import COMPILED_LIMIT
from dmlgpu.errors import (
    IndexRangeError,
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    shown,
)
from dmlgpu.ops.gather_nd import GatherNdDesc
from dmlgpu.ops.slice import Slice1Desc, reachable
from dmlgpu.tensor import Tensor


def basic(x: Tensor, index: Any) -> Tensor:
    """`x[index]` for integers, slices, Ellipsis and None."""
    parts = index if isinstance(index, tuple) else (index,)
    key = tuple(
        (p.start, p.stop, p.step, type(p.start), type(p.stop), type(p.step))
        if isinstance(p, slice)
        else (type(p), p)
        for p in parts
    )

    def describe() -> Slice1Desc:
        offsets, windows, steps, _ = _windows(x.shape, parts)
        reached = [reachable(size, step) for size, step in zip(windows, steps, strict=True)]
        return Slice1Desc(
            input_tensor=x.desc,
            output_tensor=TensorDesc(x.desc.data_type, reached),
            input_window_offsets=tuple(offsets),
            input_window_sizes=tuple(windows),
            input_window_strides=tuple(steps),
        )

    op = compiled_for(x.device, "index", (x.desc, key), describe)
    try:
        seen = op.shown.get(key)
    except Exception:  # an array of no dimensions is an integer, but not hashable
        return op(x).view(packed(x.desc.data_type, _windows(x.shape, parts)[3]))
    if seen is None:
        seen = packed(x.desc.data_type, _windows(x.shape, parts)[3])
        if is_fixed(key):
            if len(op.shown) >= COMPILED_LIMIT:
                op.shown.clear()
            op.shown[key] = seen
    result = op(x)
    return result if seen.sizes == result.shape else result.view(seen)


def flip(x: Tensor, axis: int | tuple[int, ...] | None) -> Tensor:
    """The elements in reverse along one axis, several, or all of them."""
    axes = range(x.ndim) if axis is None else axes_of("flip", axis, x.ndim)
    return basic(x, tuple(slice(None, None, -1 if a in axes else 1) for a in range(x.ndim)))


def take(x: Tensor, indices: Any, axis: int | None) -> Tensor:
    """The elements, or rows, or blocks, at these positions along an axis."""
    if axis is None:
        x, axis = x.ravel(), 0
    axis = axis_of("take", axis, x.ndim)
    if isinstance(indices, Tensor):
        picked, index = indices.shape, indices.reshape(-1, 1)
    else:
        values = _positions(indices, axis, x.shape[axis])
        picked, index = values.shape, x.device.tensor(values.reshape(-1, 1))
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    sizes = (*before, *picked, *after) or (1,)
    if len(sizes) > MAX_RANK:
        raise InvalidDescError(
            f"take: the result has sizes {sizes}, {len(sizes)} dimensions; at most {MAX_RANK} are "
            "allowed"
        )
    source = permuted(x.desc, (axis, *(a for a in range(x.ndim) if a != axis)))

    def describe() -> GatherNdDesc:
        rows = prod(picked)
        before_strides, step, after_strides = _split(
            packed_strides((*before, rows, *after)), len(before)
        )
        leading = (1,) if x.ndim == 1 else ()  # indices have two dimensions: so has everything
        return GatherNdDesc(
            input_tensor=relaid(
                source, (*leading, *source.sizes), (*leading, *source.effective_strides)
            ),
            indices_tensor=relaid(
                index.desc,
                (1,) * (x.ndim - 2) + index.shape,
                (0,) * (x.ndim - 2) + index.strides,
            ),
            output_tensor=TensorDesc(
                x.desc.data_type,
                (*leading, rows, *before, *after),
                (*leading, step, *before_strides, *after_strides),
            ),
            input_dimension_count=x.ndim,
            indices_dimension_count=2,
        )

    op = compiled_for(x.device, "take", (x.desc, index.desc, axis), describe)
    return op(x.view(source), index).view(packed(x.desc.data_type, sizes))


def _split(values: tuple[int, ...], at: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    return values[:at], values[at], values[at + 1 :]


def _positions(indices: Any, axis: int, size: int) -> np.ndarray[Any, Any]:
    """Index values given as an array, checked, counted from the start, in the least of types."""
    values = as_array("take: indices", indices)
    if values.size == 0:
        raise InvalidDescError("take: indices is empty; a tensor has at least one element")
    if values.dtype.kind not in "iu":
        raise InvalidTypeError(f"take: indices have type {values.dtype}; they must be integers")
    low = values < (-size if values.dtype.kind == "i" else 0)
    wrong = values[low | (values >= size)]
    if wrong.size:
        raise IndexRangeError(f"index {wrong[0]} is out of bounds for axis {axis} with size {size}")
    numbers = values.astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers).astype(np.uint32)


def _windows(
    shape: tuple[int, ...], parts: tuple[Any, ...]
) -> tuple[list[int], list[int], list[int], tuple[int, ...]]:
    """Offsets, sizes and strides of the window that an index names, and the result's sizes."""
    entries = list(parts)
    rank = len(shape)
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if taken > rank:
        raise IndexRangeError(
            f"too many indices for array: array is {rank}-dimensional, but {taken} were indexed"
        )
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexRangeError("an index can only have a single ellipsis ('...')")
    if not any(entry is Ellipsis for entry in entries):
        entries.append(Ellipsis)
    at = next(i for i, entry in enumerate(entries) if entry is Ellipsis)
    entries[at : at + 1] = [slice(None)] * (rank - taken)
    offsets: list[int] = []
    windows: list[int] = []
    steps: list[int] = []
    sizes: list[int] = []
    for entry in entries:
        if entry is None:
            sizes.append(1)
            continue
        axis = len(offsets)
        if isinstance(entry, slice):
            start, count, step = _span(entry, axis, shape[axis])
            sizes.append(count)
        else:
            start, count, step = _position(entry, axis, shape[axis]), 1, 1
        end = start + (count - 1) * step
        offsets.append(min(start, end))
        windows.append(abs(end - start) + 1)
        steps.append(step if count > 1 else 1)
    if len(sizes) > MAX_RANK:
        raise InvalidDescError(f"the index gives {len(sizes)} dimensions; at most {MAX_RANK}")
    return offsets, windows, steps, tuple(sizes) or (1,)


def _span(entry: slice, axis: int, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = entry.indices(size)
    except TypeError as error:
        raise InvalidTypeError(f"index of axis {axis}: {error}") from None
    except Exception as error:  # Python's, or whatever an object's own __index__ raises
        detail = " ".join(str(error).split())
        raise InvalidDescError(f"index of axis {axis}: {detail}") from None
    count = len(range(start, stop, step))
    if count == 0:
        raise InvalidDescError(
            f"index of axis {axis} selects no element of {size}; a tensor has at least one element"
        )
    return start, count, step


def _position(entry: Any, axis: int, size: int) -> int:
    try:
        if isinstance(entry, (bool, np.bool_)):
            raise TypeError
        number = operator.index(entry)
    except Exception:  # no integer, or whatever an object's own __index__ raises
        raise InvalidIndexError(
            f"index of axis {axis} is {type(entry).__name__}; only integers, slices (`:`), "
            "ellipsis (`...`) and numpy.newaxis (`None`) are valid indices of a tensor; "
            "take(indices, axis) and gather_nd(indices) pick elements by index arrays"
        ) from None
    if not -size <= number < size:
        raise IndexRangeError(
            f"index {shown(number)} is out of bounds for axis {axis} with size {size}"
        )
    return number % size
