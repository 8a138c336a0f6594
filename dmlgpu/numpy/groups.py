"""Sums and extremes of groups of elements that lie side by side, and `np.add.at` by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.array.promotion import is_number, promoted
from dmlgpu.array.uploads import type_for
from dmlgpu.desc import views
from dmlgpu.elements import check_castable
from dmlgpu.errors import InvalidIndexError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy import indexing, sorting
from dmlgpu.numpy.creation import asarray
from dmlgpu.tensor import Tensor

# Of universal functions: what puts elements of a group together, and that with what was there.
AT = {
    "add": ("add", "add"),
    "subtract": ("add", "subtract"),
    "multiply": ("multiply", "multiply"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
}


def grouped(name: str, x: Tensor, first: Tensor, counts: Tensor) -> Tensor:
    """Groups of so many rows from some places on, put together pairwise, each of its own rows.

    What 1, 2, 4, ... neighbours make is there for all places in turn, and a group is made of such
    parts. A group of no rows is 0.
    """
    run, select = x.device.elementwise, x.device.select
    made = x.device.full((*first.shape, *x.shape[1:]), x.dtype, 0)
    most = int(counts.max()) if counts.size else 0
    for bit in range(most.bit_length()):
        part, is_first = counts & (1 << bit), (counts & ((1 << bit) - 1)) == 0
        rows = x.take(run("minimum", first, x.shape[0] - 1), 0)
        part_, is_first = (t.reshape((-1,) + (1,) * (x.ndim - 1)) for t in (part, is_first))
        both = select(is_first, rows, run(name, made, rows))
        made = select(part_, both, made)
        first = first + part
        if most >> (bit + 1):
            x = run(name, x[: -(1 << bit)], x[1 << bit :])
    return made


def at(name: str, a: Any, indices: Any, b: Any) -> None:
    """`np.add.at(a, indices, b)`: elements of `a` changed as often as they are named."""
    told = f"np.{name}.at"
    if not isinstance(a, Tensor) or not a.ndim:
        raise InvalidTypeError(f"{told}: a is {type(a).__name__}; it must be a Tensor with axes")
    device = device_of(a, *(indices if isinstance(indices, tuple) else (indices,)), b)
    if is_number(b):
        check_castable(name, promoted([a.dtype], [b]), a.dtype)
    rows = asarray(b, dtype=type_for(b, a.dtype), device=device)
    check_castable(name, promoted([a.dtype, rows.dtype]), a.dtype)
    rows = rows.astype(a.dtype, copy=False)
    within, then = AT[name]
    lines = _lines(told, a, indices)
    if lines is None:  # which names no element twice
        a[indices] = device.elementwise(then, a[indices], rows)
        return
    shape = np.broadcast_shapes(*(line.shape for line in lines))
    inner = a.shape[len(lines) :]
    views.broadcast_shapes(told, [rows.shape, (*shape, *inner)])
    rows = rows.broadcast_to((*shape, *inner))
    if not rows.size:
        return
    sizes = a.shape[: len(lines)]
    places = indexing.ravel_multi_index(tuple(line.broadcast_to(shape) for line in lines), sizes)
    if a.size <= 2**31:  # half as many bits are sorted in half the time
        places = places.astype(np.int32)
    runs = sorting.Runs(places.reshape(-1))
    made = grouped(
        within, rows.reshape((-1, *inner)).take(runs.places, 0), runs.starts, runs.counts()
    )
    chosen = indexing.unravel_index(runs.values(), sizes)
    a[chosen] = device.elementwise(then, a[chosen], made)


def _lines(told: str, a: Tensor, indices: Any) -> tuple[Tensor, ...] | None:
    """The places along the first axes, from 0 on; None where slices or a mask name them."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    if any(isinstance(part, slice) or part is ... or part is None for part in parts):
        if all(isinstance(part, slice) or part in (..., None) or is_number(part) for part in parts):
            return None
        raise InvalidIndexError(f"{told}: arrays of indices beside slices are not done on the GPU")
    empty = (isinstance(part, (list, tuple)) and not len(part) for part in parts)
    found = [
        asarray(part, np.int32 if is_empty else None, device=a.device)
        for part, is_empty in zip(parts, empty, strict=True)
    ]
    if len(found) == 1 and found[0].dtype.kind == "b":
        return None
    made = []
    for axis, line in enumerate(found):
        if line.dtype.kind not in "iu":
            raise InvalidIndexError(f"{told}: indices are {line.dtype}; they must be integers")
        if axis >= a.ndim:
            raise InvalidIndexError(f"{told}: {len(found)} indices for {a.ndim} axes")
        size, line = a.shape[axis], line.astype(np.int64, copy=False)
        if line.size:
            for end in (int(line.min()), int(line.max())):
                if not -size <= end < size:
                    raise InvalidIndexError(
                        f"{told}: index {end} is out of bounds for axis {axis} with size {size}"
                    )
        made.append(a.device.select(line < 0, line + size, line).astype(np.int32))
    return tuple(made)
