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
from dmlgpu.numpy.nan_functions import floats
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


def _at_share(method: str, ordered: Tensor, share: float) -> Tensor:
    """What the share of a line in order is below, as NumPy's method of that name has it."""
    at = share * (ordered.shape[-1] - 1)
    low, high = int(np.floor(at)), int(np.ceil(at))
    if method in ("lower", "higher", "nearest"):
        return ordered[..., {"lower": low, "higher": high}.get(method, int(np.rint(at)))]
    first = ordered[..., low]
    if low == high:
        return first
    last = ordered[..., high]
    part = 0.5 if method == "midpoint" else at - low
    apart = last - first  # from the nearer of the two, as NumPy reckons
    return first + apart * part if part < 0.5 else last - apart * (1 - part)


def _in_the_middle(ordered: Tensor, share: float) -> Tensor:
    """The element in the middle of a line in order, or the mean of the two there."""
    count = ordered.shape[-1]
    first, last = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    return first if count % 2 else (first + last) / 2


def _in_order(
    told: str,
    a: Any,
    shares: Any,
    axis: Axis,
    keepdims: bool,
    find: Callable[[Tensor, float], Tensor],
) -> Tensor:
    """What is found in the order of each line for each share; NaN where the line has one."""
    x = floats(a)
    lines, shape = _lines(told, x, axis, keepdims)
    if not lines.shape[-1]:
        if told != "median":  # which is an average, and of nothing NaN
            raise InvalidDescError(f"np.{told}: there is no element to be found along the axes")
        return x.device.full(shape, x.dtype, float("nan"))
    ordered = sorting.sort(lines)
    last = ordered[..., -1]  # NaN, where there is one: it is above everything
    is_nan = x.device.elementwise("isnan", last)
    made = [x.device.select(is_nan, last, find(ordered, float(n))) for n in shares.reshape(-1)]
    made = [one.astype(x.dtype, copy=False).reshape(shape) for one in made]
    if shares.ndim == 0:
        return made[0]
    if not made:
        return Tensor.without_elements(x.device, (*shares.shape, *shape), x.dtype)
    return manipulation.stack(made).reshape((*shares.shape, *shape))


def _quantile(told: str, per: int) -> Callable[..., Tensor]:
    """The function of shares of which `per` are all."""

    def function(
        a: Any,
        q: Any,
        axis: Axis = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
    ) -> Tensor:
        if method not in METHODS:
            raise UnsupportedError(
                f"np.{told}: method is {method!r}; on the GPU it is one of {METHODS}"
            )
        shares = np.asarray(q, np.float64) / per
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InvalidDescError(f"np.{told}: q must be from 0 to {per}")
        return _in_order(told, a, shares, axis, keepdims, partial(_at_share, method))

    return function


def median(
    a: Any, axis: Axis = None, overwrite_input: bool = False, keepdims: bool = False
) -> Tensor:
    """The element in the middle of each line in order, or the mean of the two there."""
    return _in_order("median", a, np.float64(0.5), axis, keepdims, _in_the_middle)


def _nan_quantile(told: str, per: int) -> Callable[..., Tensor]:
    """The function of shares, of which `per` are all, of what is not NaN."""

    def function(
        a: Any,
        q: Any,
        axis: Axis = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
    ) -> Tensor:
        if method != "linear":
            raise UnsupportedError(f"np.{told}: method is {method!r}; on the GPU it is 'linear'")
        x, shares = floats(a), np.asarray(q, np.float64) / per
        if not np.all((shares >= 0) & (shares <= 1)):
            raise InvalidDescError(f"np.{told}: q must be from 0 to {per}")
        lines, shape = _lines(told, x, axis, keepdims)
        if not lines.size:
            return x.device.full((*shares.shape, *shape), x.dtype, float("nan"))
        run, ordered = x.device.elementwise, sorting.sort(lines)  # NaN behind all numbers
        last = run("maximum", (ordered == ordered).sum(-1, FLOAT32, True) - 1.0, 0.0)
        made = []
        for share in shares.reshape(-1):
            at = last * float(share)
            low = run("floor", at)
            first, second = (
                indexing.take_along_axis(ordered, places.astype(np.int32))[..., 0]
                for places in (low, run("ceil", at))
            )
            part = (at - low)[..., 0]
            one = x.device.select(part > 0, first + (second - first) * part, first)
            made.append(one.astype(x.dtype, copy=False).reshape(shape))
        if shares.ndim == 0:
            return made[0]
        if not made:
            return Tensor.without_elements(x.device, (*shares.shape, *shape), x.dtype)
        return manipulation.stack(made).reshape((*shares.shape, *shape))

    return function


def nanmedian(
    a: Any, axis: Axis = None, overwrite_input: bool = False, keepdims: bool = False
) -> Tensor:
    """The median of what is not NaN."""
    return _nan_quantile("nanmedian", 1)(a, 0.5, axis, keepdims=keepdims)


QUANTILES: dict[str, Callable[..., Tensor]] = {
    "median": median,
    "nanmedian": nanmedian,
    "nanpercentile": _nan_quantile("nanpercentile", 100),
    "nanquantile": _nan_quantile("nanquantile", 1),
    "percentile": _quantile("percentile", 100),
    "quantile": _quantile("quantile", 1),
}
