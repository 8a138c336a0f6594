"""NumPy's functions that leave NaN out: NaN becomes the number that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dmlgpu.array.promotion import FLOAT32, floating
from dmlgpu.errors import InvalidDescError
from dmlgpu.numpy import statistics
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor


def _filled(x: Tensor, number: Any) -> Tensor:
    if x.dtype.kind != "f" or not x.size:
        return x
    return x.device.select(x.device.elementwise("isnan", x), number, x)


def _counted(x: Tensor, where: Any) -> Tensor:
    """Which elements are counted: numbers that are selected."""
    numbers = x == x
    return numbers if where is True else numbers & asarray(where, device=x.device)


def floats(a: Any) -> Tensor:
    """The same numbers as floats; those of integers have 32 bits."""
    x = asarray(a)
    return x.astype(floating(x.dtype), copy=False)


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The sum of what is not NaN."""
    return statistics.sum(_filled(asarray(a), 0.0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The product of what is not NaN."""
    return statistics.prod(_filled(asarray(a), 1.0), axis, dtype, out, keepdims, initial, where)


def nancumsum(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Running sums of what is not NaN."""
    return statistics.cumsum(_filled(asarray(a), 0.0), axis, dtype, out)


def nancumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Running products of what is not NaN."""
    return statistics.cumprod(_filled(asarray(a), 1.0), axis, dtype, out)


def nanmax(
    a: Any,
    axis: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The largest number; NaN where there is none."""
    worst = float("-inf")
    return _extreme(statistics.max, worst, asarray(a), axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The smallest number; NaN where there is none."""
    worst = float("inf")
    return _extreme(statistics.min, worst, asarray(a), axis, out, keepdims, initial, where)


def _extreme(
    function: Callable[..., Tensor],
    worst: float,
    x: Tensor,
    axis: Any,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    found = function(_filled(x, worst), axis, None, keepdims, initial, where)
    if x.dtype.kind == "f" and x.size and initial is None:
        is_nothing = x.device.elementwise("isnan", x).all(axis, keepdims)
        found = x.device.select(is_nothing, float("nan"), found)
    return written("nanmax" if worst < 0 else "nanmin", found, out)


def nanargmax(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """The place of the first largest number, as int64; a line of NaN alone raises."""
    x = _with_numbers("nanargmax", a, axis)
    return statistics.argmax(_filled(x, float("-inf")), axis, out, keepdims=keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """The place of the first smallest number, as int64; a line of NaN alone raises."""
    x = _with_numbers("nanargmin", a, axis)
    return statistics.argmin(_filled(x, float("inf")), axis, out, keepdims=keepdims)


def _with_numbers(name: str, a: Any, axis: Any) -> Tensor:
    x = asarray(a)
    if x.dtype.kind == "f" and x.size and x.device.elementwise("isnan", x).all(axis).any():
        raise InvalidDescError(f"np.{name}: All-NaN slice encountered")  # as NumPy raises
    return x


def _mean(x: Tensor, axis: Any, keepdims: bool, where: Any) -> tuple[Tensor, Tensor]:
    """The mean of what is counted, and how many elements that are."""
    counted = _counted(x, where)
    count = counted.sum(axis, FLOAT32, keepdims)
    total = x.device.select(counted, x, 0.0).sum(axis, None, keepdims)
    return (total / count).astype(x.dtype, copy=False), count


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """The mean of what is not NaN."""
    x = floats(a) if dtype is None else asarray(a, dtype)
    return written("nanmean", _mean(x, axis, keepdims, where)[0], out)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Tensor:
    """The variance of what is not NaN."""
    return written("nanvar", _variance(a, axis, dtype, ddof or correction, keepdims, where), out)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Tensor:
    """The standard deviation of what is not NaN."""
    variance = _variance(a, axis, dtype, ddof or correction, keepdims, where)
    return written("nanstd", variance.device.elementwise("sqrt", variance), out)


def _variance(
    a: Any, axis: Any, dtype: Any, correction: float, keepdims: bool, where: Any
) -> Tensor:
    x = floats(a) if dtype is None else asarray(a, dtype)
    middle, count = _mean(x, axis, True, where)
    apart = x.device.select(_counted(x, where), x - middle, 0.0)
    total = (apart**2).sum(axis, None, keepdims)
    left = count.reshape(total.shape) - correction
    # A line of no more numbers than are taken from the count has no variance.
    return total / x.device.select(left > 0, left, float("nan"))
