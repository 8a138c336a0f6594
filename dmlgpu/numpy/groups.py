"""Sums and extremes of groups of elements that lie side by side, and `np.add.at` by them."""

from __future__ import annotations

from typing import Any

from dmlgpu.array.promotion import counting
from dmlgpu.array.uploads import type_for
from dmlgpu.desc import views
from dmlgpu.errors import InvalidIndexError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy import sorting
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
    """`np.add.at(a, indices, b)`: rows of `a` changed as often as they are named."""
    told = f"np.{name}.at"
    if not isinstance(a, Tensor) or not a.ndim:
        raise InvalidTypeError(f"{told}: a is {type(a).__name__}; it must be a Tensor with axes")
    device = device_of(a, indices, b)
    named = asarray(indices, device=device)
    if named.dtype.kind not in "iu":
        raise InvalidIndexError(
            f"{told}: indices are {named.dtype}; a tensor takes integers along its first axis"
        )
    rows = asarray(b, dtype=type_for(b, a.dtype), device=device).astype(a.dtype, copy=False)
    views.broadcast_shapes(told, [rows.shape, (*named.shape, *a.shape[1:])])
    rows = rows.broadcast_to((*named.shape, *a.shape[1:])).reshape((-1, *a.shape[1:]))
    if not named.size:
        return
    places = counting(named).reshape(-1)
    if places.dtype.kind == "i":
        places = device.select(places < 0, places + a.shape[0], places)
    if int(places.min()) < 0 or int(places.max()) >= a.shape[0]:
        raise InvalidIndexError(f"{told}: an index is out of bounds for axis 0 of {a.shape[0]}")
    runs = sorting.Runs(places)
    within, then = AT[name]
    made = grouped(within, rows.take(runs.places, 0), runs.starts, runs.counts())
    chosen = runs.values()
    a[chosen] = device.elementwise(then, a[chosen], made)
