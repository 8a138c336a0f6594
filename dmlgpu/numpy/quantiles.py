"""NumPy's order statistics: what lies at a share of each line, with or without NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from dmlgpu.array.promotion import FLOAT32
from dmlgpu.desc import views
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.numpy import indexing, manipulation, sorting
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.nan_functions import floats
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int] | None


def _lines(name: str, x: Tensor, axis: Axis, keepdims: bool) -> tuple[Tensor, tuple[int, ...]]:
    """The elements along axes as the last dimension, and the shape of one result of each line."""
    reduced = sorted(range(x.ndim) if axis is None else views.axes_of(name, axis, x.ndim))
    kept = [d for d in range(x.ndim) if d not in reduced]
    shape = tuple(1 if d in reduced else n for d, n in enumerate(x.shape))
    lines = manipulation.permute_dims(x, (*kept, *reduced)) if x.ndim else x
    lines = lines.reshape((*(x.shape[d] for d in kept), prod(x.shape[d] for d in reduced)))
    return lines, shape if keepdims else tuple(x.shape[d] for d in kept)


METHODS = ("linear", "lower", "higher", "midpoint", "nearest")  # NumPy has others, too


def _pick(ordered: Tensor, places: Any) -> Tensor:
    """Elements of lines in order, by one place for all of them or one for each."""
    if np.ndim(places) == 0:
        return ordered[..., int(places)]
    at = asarray(places[..., None].astype(np.int32), device=ordered.device)
    return indexing.take_along_axis(ordered, at)[..., 0]


def _at_share(method: str, ordered: Tensor, counts: Any, share: float) -> Tensor:
    """What the share of a line in order is below, as NumPy's method of that name has it."""
    at = share * (counts - 1)
    low, high = np.floor(at), np.ceil(at)
    if method in ("lower", "higher", "nearest"):
        return _pick(ordered, {"lower": low, "higher": high}.get(method, np.rint(at)))
    first = _pick(ordered, low)
    if np.array_equal(low, high):
        return first
    last = _pick(ordered, high)
    apart = last - first  # from the nearer of the two, as NumPy reckons
    if np.ndim(at) == 0 or method == "midpoint":
        part = 0.5 if method == "midpoint" else at - low
        made = first + apart * part if part < 0.5 else last - apart * (1 - part)
    else:
        part = asarray((at - low).astype(np.float32), device=ordered.device)
        ahead, behind = first + apart * part, last - apart * (1 - part)
        made = ordered.device.select(part < 0.5, ahead, behind)
    if np.ndim(at) == 0:
        return made
    return ordered.device.select(asarray(low == high, device=ordered.device), first, made)


def _in_the_middle(ordered: Tensor, counts: Any, share: float) -> Tensor:
    """The element in the middle of a line in order, or the mean of the two there."""
    first, last = _pick(ordered, (counts - 1) // 2), _pick(ordered, counts // 2)
    if np.ndim(counts) == 0 and counts % 2:
        return first
    return (first.astype(FLOAT32, copy=False) + last.astype(FLOAT32, copy=False)) / 2


def _in_order(
    told: str,
    a: Any,
    shares: Any,
    axis: Axis,
    keepdims: bool,
    find: Callable[[Tensor, Any, float], Tensor],
) -> Tensor:
    """What is found in the order of each line for each share.

    Where a line has NaN, it is NaN; functions `nan...` leave NaN out, and read back how many
    numbers each line has.
    """
    x = floats(a)
    lines, shape = _lines(told, x, axis, keepdims)
    skips = told.startswith("nan")
    if not lines.shape[-1]:
        if told != "median" and not skips:  # an average, which is NaN of nothing
            raise InvalidDescError(f"np.{told}: there is no element to be found along the axes")
        return x.device.full((*shares.shape, *shape), x.dtype, float("nan"))
    ordered = sorting.sort(lines)
    counts: Any = lines.shape[-1]
    if skips:  # of no numbers the first element, which is NaN, is found
        counts = np.maximum((ordered == ordered).sum(-1).numpy(), 1)
    made = [find(ordered, counts, float(n)) for n in shares.reshape(-1)]
    if not skips:
        last = ordered[..., -1]  # NaN, where there is one: it is above everything
        is_nan = x.device.elementwise("isnan", last)
        made = [x.device.select(is_nan, last, one) for one in made]
    made = [one.astype(x.dtype, copy=False).reshape(shape) for one in made]
    if shares.ndim == 0:
        return made[0]
    if not made:
        return Tensor.without_elements(x.device, (*shares.shape, *shape), x.dtype)
    return manipulation.stack(made).reshape((*shares.shape, *shape))


def _quantile(
    told: str,
    per: int,
    a: Any,
    q: Any,
    axis: Axis,
    out: Tensor | None,
    method: str,
    keepdims: bool,
    weights: Any,
) -> Tensor:
    """Quantiles by shares of which `per` are all."""
    if method not in METHODS:
        raise UnsupportedError(
            f"np.{told}: method is {method!r}; on the GPU it is one of {METHODS}"
        )
    if weights is not None:
        raise UnsupportedError(f"np.{told}: weights are not taken on the GPU; leave them out")
    shares = np.asarray(q, np.float64) / per
    if not np.all((shares >= 0) & (shares <= 1)):
        raise InvalidDescError(f"np.{told}: q must be from 0 to {per}")
    found = _in_order(told, a, shares, axis, keepdims, partial(_at_share, method))
    return written(told, found, out)


def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What a share of each line is below."""
    return _quantile("quantile", 1, a, q, axis, out, method, keepdims, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What so many hundredths of each line are below."""
    return _quantile("percentile", 100, a, q, axis, out, method, keepdims, weights)


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What a share of the numbers of each line is below."""
    return _quantile("nanquantile", 1, a, q, axis, out, method, keepdims, weights)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """What so many hundredths of the numbers of each line are below."""
    return _quantile("nanpercentile", 100, a, q, axis, out, method, keepdims, weights)


def median(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The element in the middle of each line in order, or the mean of the two there."""
    found = _in_order("median", a, np.float64(0.5), axis, keepdims, _in_the_middle)
    return written("median", found, out)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The median of the numbers of each line."""
    found = _in_order("nanmedian", a, np.float64(0.5), axis, keepdims, _in_the_middle)
    return written("nanmedian", found, out)
