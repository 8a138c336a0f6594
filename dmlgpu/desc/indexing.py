"""Indexing as arithmetic on descriptions: which elements of a tensor an index in brackets names."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from math import prod
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.host import as_array
from dmlgpu.desc.tensor import MAX_RANK
from dmlgpu.errors import (
    IndexRangeError,
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    shown,
)

# For one axis or several, or a new one; a tensor of integers is one too.
Index: TypeAlias = SupportsIndex | slice | EllipsisType | npt.NDArray[Any] | list[Any] | None


@dataclass(frozen=True, slots=True)
class Window:
    """What SLICE1 takes of a tensor, and the shape in which the result is seen.

    A shape with a size of 0 takes nothing; the other fields mean nothing then.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays of integers and masks among the entries of an index, and what is around them.

    `window` is what slices and integers take; the axes that arrays select from are whole in it and
    have no place in its shape. The dimensions of the arrays, broadcast against each other, stand
    before dimension `place` of that shape.
    """

    window: Window
    axes: tuple[int | None, ...]  # of the tensor, which the window's dimensions step through
    place: int
    arrays: tuple[Any, ...]
    selected: tuple[tuple[int, ...], ...]  # axes of each array: one, or as many as a mask has

    def leading_mask(self, shape: tuple[int, ...]) -> Any:
        """The mask of an index that is one of the first dimensions and nothing else, or None."""
        first, rest = len(self.selected[0]), self.axes
        whole = len(self.arrays) == 1 and is_mask(self.arrays[0])
        whole = whole and rest == tuple(range(first, len(shape)))
        whole = whole and self.window.shape == shape[first:]
        return self.arrays[0] if whole and all(s == 1 for s in self.window.strides) else None

    def shape(self, broadcast: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result, given that of the arrays together."""
        rest = self.window.shape
        made = (*rest[: self.place], *broadcast, *rest[self.place :])
        if len(made) > MAX_RANK:
            raise InvalidDescError(
                f"the index gives sizes {made}, {len(made)} dimensions; at most {MAX_RANK} are "
                "allowed"
            )
        return made

    def steps(self, strides: tuple[int, ...]) -> list[tuple[int, int]]:
        """(size, elements from one to the next) of the window's dimensions, given the tensor's."""
        sized = zip(self.window.shape, self.axes, strict=True)
        steps = self.window.strides
        return [(n, 0 if a is None else steps[a] * strides[a]) for n, a in sized]

    def without_arrays(self, broadcast: tuple[int, ...]) -> Window:
        """The window of an index whose arrays select from no axis."""
        return replace(self.window, shape=self.shape(broadcast))


def read(shape: tuple[int, ...], parts: tuple[Any, ...], own: type[Any]) -> Window | Arrays:
    """What stands in brackets: integers, slices, Ellipsis, None, arrays of integers and masks.

    Arrays that are `own` stay where they are; all others become NumPy's.
    """
    entries = [_entry(part, place, own) for place, part in enumerate(parts)]
    rank = len(shape)
    taken = sum(map(_axes_taken, entries))
    if taken > rank:
        raise IndexRangeError(
            f"too many indices for array: array is {rank}-dimensional, but {taken} were indexed"
        )
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexRangeError("an index can only have a single ellipsis ('...')")
    if not any(entry is Ellipsis for entry in entries):
        entries.append(Ellipsis)
    made = _Reader(shape)
    for entry in entries:
        made.add(entry, rank - taken)
    return made.result()


class _Reader:
    """Goes through the entries of an index, axis by axis."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.offsets: list[int] = []
        self.windows: list[int] = []
        self.steps: list[int] = []
        self.sizes: list[int] = []  # of the result, without the arrays
        self.axes: list[int | None] = []
        self.arrays: list[Any] = []
        self.selected: list[tuple[int, ...]] = []
        # Integers count as arrays of no dimensions where the place of arrays is concerned.
        self.place = -1
        self.ended = False  # whether something else stands behind arrays
        self.apart = False  # whether arrays stand behind that again

    def add(self, entry: Any, rest: int) -> None:
        """One entry; `rest` is how many axes an ellipsis stands for."""
        axis = len(self.offsets)
        if entry is None:
            self._is_no_array()
            self.sizes.append(1)
            self.axes.append(None)
        elif entry is Ellipsis:
            self._is_no_array()
            for size in self.shape[axis : axis + rest]:
                self._take(0, size, 1)
        elif isinstance(entry, slice):
            self._is_no_array()
            self._take(*_span(entry, axis, self.shape[axis]))
        elif isinstance(entry, int):
            self._is_array()
            self._keep(_checked(entry, axis, self.shape[axis]), 1, 1)
        else:
            self._is_array()
            selected = tuple(range(axis, axis + _axes_taken(entry)))
            if is_mask(entry):
                _check_mask(entry.shape, self.shape, axis)
            for size in self.shape[axis : axis + len(selected)]:
                self._keep(0, size, 1)
            self.arrays.append(entry)
            self.selected.append(selected)

    def _is_array(self) -> None:
        if self.place < 0:
            self.place = len(self.sizes)
        self.apart = self.apart or self.ended

    def _is_no_array(self) -> None:
        self.ended = self.ended or self.place >= 0

    def _take(self, start: int, count: int, step: int) -> None:
        self.sizes.append(count)
        self.axes.append(len(self.offsets))
        self._keep(start, count, step)

    def _keep(self, start: int, count: int, step: int) -> None:
        end = start + (count - 1) * step
        self.offsets.append(min(start, end) if count else 0)
        self.windows.append(abs(end - start) + 1 if count else 1)
        self.steps.append(step if count > 1 else 1)

    def result(self) -> Window | Arrays:
        """What was read."""
        if len(self.sizes) > MAX_RANK:
            raise InvalidDescError(
                f"the index gives {len(self.sizes)} dimensions; at most {MAX_RANK}"
            )
        spans = tuple(self.offsets), tuple(self.windows), tuple(self.steps)
        found = Window(*spans, tuple(self.sizes))
        if not self.arrays:
            return found
        place = 0 if self.apart else self.place
        return Arrays(found, tuple(self.axes), place, tuple(self.arrays), tuple(self.selected))


def is_mask(entry: Any) -> bool:
    """Whether an array of an index is a mask."""
    return bool(entry.dtype == np.bool_)


def _axes_taken(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    if isinstance(entry, (int, slice)) or not is_mask(entry):
        return 1
    return int(entry.ndim)


def _entry(part: Any, place: int, own: type[Any]) -> Any:
    """One entry as None, Ellipsis, a slice, an int, an array of integers or a mask."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, (bool, np.bool_)):
        return np.asarray(part)
    if isinstance(part, (int, np.integer)):
        return int(part)
    values = part
    if not isinstance(part, own):
        if not isinstance(part, (list, tuple, range)) and not hasattr(part, "__array__"):
            return _integer(part, place)
        values = as_array(f"index {place}", part)
        if not values.size and isinstance(part, (list, tuple, range)):
            values = values.astype(np.intp)
        if not values.ndim and values.dtype.kind in "iu":
            return int(values)
    if values.dtype.kind not in "biu":
        raise InvalidIndexError(
            f"index {place} is an array of {values.dtype}; arrays used as indices must be of "
            "integer (or boolean) type"
        )
    return values


def _integer(part: Any, place: int) -> int:
    try:
        return operator.index(part)
    except Exception:  # no integer, or whatever an object's own __index__ raises
        raise InvalidIndexError(
            f"index {place} is {type(part).__name__}; only integers, slices (`:`), ellipsis "
            "(`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
        ) from None


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Sizes are those of the axes; a mask without elements selects nothing from any axis."""
    for i, (have, want) in enumerate(zip(mask, shape[axis:], strict=False), start=axis):
        if have not in (0, want):
            raise InvalidIndexError(
                f"boolean index did not match indexed array along axis {i}; size of axis is {want} "
                f"but size of corresponding boolean axis is {have}"
            )


def _span(entry: slice, axis: int, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = entry.indices(size)
    except TypeError as error:
        raise InvalidTypeError(f"index of axis {axis}: {error}") from None
    except Exception as error:  # Python's, or whatever an object's own __index__ raises
        detail = " ".join(str(error).split())
        raise InvalidDescError(f"index of axis {axis}: {detail}") from None
    return start, len(range(start, stop, step)), step


def _checked(number: int, axis: int, size: int) -> int:
    if not -size <= number < size:
        raise IndexRangeError(
            f"index {shown(number)} is out of bounds for axis {axis} with size {size}"
        )
    return number % size


def positions(values: npt.NDArray[Any], axis: int, size: int) -> npt.NDArray[np.uint32]:
    """Index values given as an array, checked, counted from the start, in the least of types."""
    low = values < (-size if values.dtype.kind == "i" else 0)
    wrong = values[low | (values >= size)]
    if wrong.size:
        raise IndexRangeError(f"index {wrong[0]} is out of bounds for axis {axis} with size {size}")
    numbers = values.astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers).astype(np.uint32)


def coordinates(flat: Any, sizes: tuple[int, ...]) -> list[Any]:
    """Positions among all elements of these sizes as a coordinate for each of them."""
    made = []
    for i, size in enumerate(sizes):
        inner = prod(sizes[i + 1 :])
        column = flat if inner == 1 else flat // inner
        made.append(column if i == 0 else column % size)
    return made
