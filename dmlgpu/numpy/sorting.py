"""Sorting, searching in what is sorted, and sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dmlgpu import ordering
from dmlgpu.array.promotion import INT32, INT64, UINT64, no_integer_holds, promoted
from dmlgpu.desc import views
from dmlgpu.errors import InvalidDescError, InvalidIndexError, InvalidTypeError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.tensor import Tensor

KINDS = ("quicksort", "heapsort", "mergesort", "stable")  # NumPy's, which all mean one here


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """The elements of every line along an axis in order; NaN is above everything.

    Equal elements keep their order, in both directions, whatever `kind` and `stable` say.
    """
    _check_kind("sort", kind, order)
    return ordering.sort(asarray(a), axis, bool(descending))


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """The places that put every line in order, as int64; equal elements keep their order."""
    _check_kind("argsort", kind, order)
    return ordering.argsort(asarray(a), axis, bool(descending))


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """Every line in order, which is a partition at every place."""
    x = asarray(a)
    _check_places("partition", x, kth, axis, order)
    return ordering.sort(x, axis, False)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """The places that put every line in order, as int64."""
    x = asarray(a)
    _check_places("argpartition", x, kth, axis, order)
    return ordering.argsort(x, axis, False)


def _check_places(name: str, x: Tensor, kth: Any, axis: int | None, order: Any) -> None:
    """Raises for places that a line does not have, and for the names of fields to sort by."""
    _check_kind(name, None, order)
    count = x.size if axis is None else x.shape[views.axis_of(name, axis, x.ndim)]
    if any(not -count <= k < count for k in np.atleast_1d(kth).tolist()):
        raise InvalidIndexError(f"np.{name}: kth is {kth}; there are {count} elements")


def _check_kind(name: str, kind: Any, order: Any) -> None:
    """Raises for a sort that NumPy does not know, and for the names of fields to sort by."""
    if kind not in (None, *KINDS):
        raise InvalidDescError(
            f"{name}: kind is {shown(kind)}; it must be one of {', '.join(KINDS)}"
        )
    if order is not None:
        raise InvalidTypeError(f"{name}: a tensor takes no argument order, for it has no fields")


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where each v goes in the sorted a: before all equal elements, or behind them; as int64."""
    device = device_of(a, v, sorter)
    line, values = (asarray(x, device=device) for x in (a, v))
    order = None if sorter is None else asarray(sorter, device=device)
    if not no_integer_holds(line.dtype, values.dtype):
        return ordering.search(line, values, side, order, promoted([line.dtype, values.dtype]))
    # What one of them cannot hold goes to an end.
    run, most = device.elementwise, np.iinfo(INT64).max
    if line.dtype == UINT64:
        at = ordering.search(line, run("maximum", values, 0).astype(UINT64), side, order, UINT64)
        return device.select(values < 0, 0, at)
    at = ordering.search(line, run("minimum", values, most).astype(INT64), side, order, INT64)
    return device.select(values > most, line.size, at)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The elements in order and each once; where they are first, which each is, and how often."""
    if axis is not None:
        raise InvalidTypeError(
            "np.unique: a tensor takes no argument axis, for there is no order of rows;"
            " np.unique(np.asarray(x), axis=axis) is NumPy's"
        )
    runs = Runs(ar, equal_nan)
    more = [(return_index, runs.indices), (return_inverse, runs.inverse)]
    more += [(return_counts, runs.counts)]
    results = [make() for asked, make in more if asked]
    return (runs.values(), *results) if results else runs.values()


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


class Runs:
    """The elements in order, and where runs of equal ones begin among them.

    NaN are not equal to each other, unless `equal_nan` says so. How many runs there are is read
    back, since that is the shape of what is made of them.
    """

    def __init__(self, x: Any, equal_nan: bool = False) -> None:
        self.x = asarray(x)
        self.ordered, self.places = ordering.sorted_with_places(self.x, None, False)
        self.begins = self.starts = ordering.runs(self.ordered, equal_nan)
        if self.x.size:
            (self.starts,) = self.x.device.nonzero(self.begins, INT32)

    def values(self) -> Tensor:
        """One element of each run: the first in the order of the array."""
        return self.ordered.take(self.starts, 0) if self.x.size else self.ordered

    def indices(self) -> Tensor:
        """Where each of them is in the flattened array."""
        found = self.places.take(self.starts, 0) if self.x.size else self.places
        return found.astype(INT64)

    def counts(self) -> Tensor:
        """The lengths of the runs."""
        if not self.x.size:
            return self.starts.astype(INT64)
        ends = self.x.device.full(self.starts.shape, INT32, self.x.size)
        if self.starts.size > 1:
            ends[:-1] = self.starts[1:]
        return (ends - self.starts).astype(INT64)

    def inverse(self) -> Tensor:
        """The number of its run for each element of the array."""
        if not self.x.size:
            return Tensor.without_elements(self.x.device, self.x.shape, INT64)
        numbers = self.begins.cumsum(0, INT32) - 1
        device = self.x.device
        made: Tensor = device.run("SCATTER_ELEMENTS", numbers, self.places, numbers, axis=0)
        return made.reshape(self.x.shape).astype(INT64)


def unique_values(x: Any) -> Tensor:
    """The elements without repetitions, in order."""
    return Runs(x).values()


def unique_counts(x: Any) -> UniqueCounts:
    """The elements without repetitions, and how often each is there."""
    runs = Runs(x)
    return UniqueCounts(runs.values(), runs.counts())


def unique_inverse(x: Any) -> UniqueInverse:
    """The elements without repetitions, and which of them each element of x is."""
    runs = Runs(x)
    return UniqueInverse(runs.values(), runs.inverse())


def unique_all(x: Any) -> UniqueAll:
    """The elements without repetitions, where each is first, which each is, and how often."""
    runs = Runs(x)
    return UniqueAll(runs.values(), runs.indices(), runs.inverse(), runs.counts())
