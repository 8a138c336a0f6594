"""Indexing as arithmetic on descriptions: which window of a tensor an index in brackets names."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from dmlgpu.desc.host import as_array
from dmlgpu.desc.tensor import MAX_RANK
from dmlgpu.errors import (
    IndexRangeError,
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    UnsupportedError,
    shown,
)

Index: TypeAlias = SupportsIndex | slice | EllipsisType | None  # for one axis, or a new one


class AdvancedIndexError(InvalidIndexError, UnsupportedError):
    """What stands in the brackets of a tensor is indexing that is not built yet."""


@dataclass(frozen=True, slots=True)
class Window:
    """What SLICE1 takes of a tensor, and the shape in which the result is seen.

    A shape with a size of 0 takes nothing; the other fields mean nothing then.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    shape: tuple[int, ...]


def window(shape: tuple[int, ...], parts: tuple[Any, ...]) -> Window:
    """The window that integers, slices, Ellipsis and None name."""
    entries = list(parts)
    rank = len(shape)
    for place, entry in enumerate(e for e in entries if e is not None):
        if _is_array(entry):
            kind = "bool" if isinstance(entry, (bool, np.bool_)) else type(entry).__name__
            raise AdvancedIndexError(
                f"index of axis {place} is {kind}; indexing with masks and arrays of integers is "
                "not built yet; take(indices, axis) and gather_nd(indices) pick elements by "
                "position, and x[mask] = value assigns by a mask"
            )
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
        offsets.append(min(start, end) if count else 0)
        windows.append(abs(end - start) + 1 if count else 1)
        steps.append(step if count > 1 else 1)
    if len(sizes) > MAX_RANK:
        raise InvalidDescError(f"the index gives {len(sizes)} dimensions; at most {MAX_RANK}")
    return Window(tuple(offsets), tuple(windows), tuple(steps), tuple(sizes))


def _span(entry: slice, axis: int, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = entry.indices(size)
    except TypeError as error:
        raise InvalidTypeError(f"index of axis {axis}: {error}") from None
    except Exception as error:  # Python's, or whatever an object's own __index__ raises
        detail = " ".join(str(error).split())
        raise InvalidDescError(f"index of axis {axis}: {detail}") from None
    return start, len(range(start, stop, step)), step


def _position(entry: Any, axis: int, size: int) -> int:
    try:
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


def _is_array(entry: Any) -> bool:
    """Whether an index is a mask or an array of integers; an integer of no dimensions is none."""
    if isinstance(entry, (bool, np.bool_, list)):
        return True
    if not isinstance(entry, np.ndarray) and not hasattr(entry, "__array_namespace__"):
        return False
    return not (entry.ndim == 0 and entry.dtype.kind in "iu")


def positions(indices: Any, axis: int, size: int) -> np.ndarray[Any, Any]:
    """Index values given as an array, checked, counted from the start, in the least of types."""
    values = as_array("take: indices", indices)
    if values.size and values.dtype.kind not in "iu":
        raise InvalidTypeError(f"take: indices have type {values.dtype}; they must be integers")
    low = values < (-size if values.dtype.kind == "i" else 0)
    wrong = values[low | (values >= size)]
    if wrong.size:
        raise IndexRangeError(f"index {wrong[0]} is out of bounds for axis {axis} with size {size}")
    numbers = values.astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers).astype(np.uint32)
