"""NumPy's functions that leave NaN out: NaN becomes the number that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlgpu.array.promotion import FLOAT32, floating
from dmlgpu.errors import InvalidDescError, InvalidTypeError
from dmlgpu.numpy.creation import asarray
from dmlgpu.tensor import Tensor

Given = dict[str, Any]


def _given(name: str, named: Given) -> Given:
    """The arguments that say something; NumPy hands its own defaults over too."""
    given = {k: v for k, v in named.items() if v is not None and v is not np._NoValue}
    if given.keys() & {"initial", "where", "out"}:
        raise InvalidTypeError(f"np.{name}: a tensor takes no argument initial, where or out")
    return given


def _filled(x: Tensor, number: Any) -> Tensor:
    if x.dtype.kind != "f" or not x.size:
        return x
    return x.device.select(x.device.elementwise("isnan", x), number, x)


def _without(name: str, number: float) -> Callable[..., Tensor]:
    """The method of the name behind `nan`, on a tensor with a number in the place of NaN."""

    def function(a: Any, *args: Any, **named: Any) -> Tensor:
        method = getattr(_filled(asarray(a), number), name.removeprefix("nan"))
        made: Tensor = method(*args, **_given(name, named))
        return made

    return function


def _extreme(name: str, worst: float) -> Callable[..., Tensor]:
    """As above, but where all is NaN, so is the result."""
    fold = _without(name, worst)

    def function(a: Any, axis: Any = None, **named: Any) -> Tensor:
        x = asarray(a)
        made = fold(x, axis, **named)
        if x.dtype.kind != "f" or not x.size:
            return made
        keepdims = bool(_given(name, named).get("keepdims", False))
        nothing = x.device.elementwise("isnan", x).all(axis, keepdims)
        return x.device.select(nothing, float("nan"), made)

    return function


def _position(name: str, worst: float) -> Callable[..., Tensor]:
    fold = _without(name, worst)

    def function(a: Any, axis: Any = None, **named: Any) -> Tensor:
        x = asarray(a)
        if x.dtype.kind == "f" and x.size:
            nothing = x.device.elementwise("isnan", x).all(axis)
            if nothing.any():  # NumPy raises too: there is no position to give
                raise InvalidDescError(f"np.{name}: All-NaN slice encountered")
        return fold(x, axis, **named)

    return function


def _mean(x: Tensor, axis: Any, keepdims: bool) -> tuple[Tensor, Tensor]:
    """The mean of what is not NaN, and how many elements that are."""
    count = (x == x).sum(axis, FLOAT32, keepdims)
    total = _filled(x, 0.0).sum(axis, None, keepdims)
    return (total / count).astype(x.dtype, copy=False), count


def floats(a: Any) -> Tensor:
    """The same numbers as floats; those of integers have 32 bits."""
    x = asarray(a)
    return x.astype(floating(x.dtype), copy=False)


def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not NaN."""
    return _mean(floats(a), axis, keepdims)[0]


def nanvar(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    """The variance of what is not NaN."""
    x = floats(a)
    middle, count = _mean(x, axis, True)
    total = ((_filled(x, middle) - middle) ** 2).sum(axis, None, keepdims)
    left = count.reshape(total.shape) - ddof
    # A line of no more numbers than `ddof` has no variance.
    return total / x.device.select(left > 0, left, float("nan"))


def nanstd(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation of what is not NaN."""
    variance = nanvar(a, axis, ddof, keepdims)
    return variance.device.elementwise("sqrt", variance)


NAN_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "nanargmax": _position("nanargmax", float("-inf")),
    "nanargmin": _position("nanargmin", float("inf")),
    "nancumprod": _without("nancumprod", 1),
    "nancumsum": _without("nancumsum", 0),
    "nanmax": _extreme("nanmax", float("-inf")),
    "nanmean": nanmean,
    "nanmin": _extreme("nanmin", float("inf")),
    "nanprod": _without("nanprod", 1),
    "nanstd": nanstd,
    "nansum": _without("nansum", 0),
    "nanvar": nanvar,
}
