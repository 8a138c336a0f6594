"""Statistics, searching and truth of whole arrays."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, overload

from dmlgpu.array.promotion import BOOL, INT64, dtype_of, wide_sum
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.manipulation import concat
from dmlgpu.numpy.outputs import written
from dmlgpu.numpy.selected import reduced
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int] | None


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Sums over axes; integers and bool are widened to 64 bits."""
    x = _beside(a, where, initial, out)
    named = {"dtype": dtype, "keepdims": keepdims}
    return written("sum", reduced("sum", x, axis, where=where, initial=initial, **named), out)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Products over axes, widened as sums are."""
    x = _beside(a, where, initial, out)
    named = {"dtype": dtype, "keepdims": keepdims}
    return written("prod", reduced("prod", x, axis, where=where, initial=initial, **named), out)


def max(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The largest elements; NaN where there is one."""
    x = _beside(a, where, initial, out)
    made = reduced("max", x, axis, where=where, initial=initial, keepdims=keepdims)
    return written("max", made, out)


def min(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The smallest elements; NaN where there is one."""
    x = _beside(a, where, initial, out)
    made = reduced("min", x, axis, where=where, initial=initial, keepdims=keepdims)
    return written("min", made, out)


amax, amin = max, min


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Averages; of integers in float32."""
    x = _beside(a, where, out)
    made = reduced("mean", x, axis, where=where, dtype=dtype, keepdims=keepdims)
    return written("mean", made, out)


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Tensor:
    """Variances over the count less `correction`, or NumPy's `ddof`."""
    named = {"correction": _correction("var", ddof, correction), "keepdims": keepdims}
    x = _beside(a, where, out)
    return written("var", reduced("var", x, axis, where=where, dtype=dtype, **named), out)


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    correction: float = 0.0,
) -> Tensor:
    """Standard deviations over the count less `correction`, or NumPy's `ddof`."""
    named = {"correction": _correction("std", ddof, correction), "keepdims": keepdims}
    x = _beside(a, where, out)
    return written("std", reduced("std", x, axis, where=where, dtype=dtype, **named), out)


def _correction(name: str, ddof: float, correction: float) -> float:
    """What is taken from the count, which has two names."""
    if ddof and correction:
        raise InvalidDescError(
            f"{name}: ddof is {ddof} and correction is {correction}; they are the same, so one"
            " alone can be given"
        )
    return correction or ddof


def all(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Whether no element is 0."""
    x = _beside(a, where, out)
    return written("all", reduced("all", x, axis, where=where, keepdims=keepdims), out)


def any(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Whether an element is not 0."""
    x = _beside(a, where, out)
    return written("any", reduced("any", x, axis, where=where, keepdims=keepdims), out)


def _beside(a: Any, *others: Any) -> Tensor:
    """A tensor, or what is given in its place on the device of the others."""
    return a if isinstance(a, Tensor) else asarray(a, device=device_of(*others))


def argmax(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Positions of the first largest element, as int64."""
    return written("argmax", _beside(a, out).argmax(axis, keepdims), out)


def argmin(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Positions of the first smallest element, as int64."""
    return written("argmin", _beside(a, out).argmin(axis, keepdims), out)


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, as int64."""
    return asarray(a).astype(BOOL, copy=False).sum(axis, INT64, keepdims)


@overload
def where(condition: Any, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, x1: Any, x2: Any, /) -> Tensor: ...
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Tensor | tuple[Tensor, ...]:
    """Elements of x1 where the condition is True, else of x2; without both, `nonzero`."""
    if x1 is None and x2 is None:
        return asarray(condition).nonzero()
    if x1 is None or x2 is None:
        raise InvalidDescError("where: both or neither of x1 and x2 must be given, not None")
    return device_of(condition, x1, x2).select(condition, x1, x2)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sums along an axis, or of all elements in one line."""
    return written("cumsum", _beside(a, out).cumsum(axis, dtype), out)


def cumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Running products along an axis, or of all elements in one line."""
    return written("cumprod", _beside(a, out).cumprod(axis, dtype), out)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Running sums along an axis; integers and bool are widened to 64 bits."""
    made = _cumulative(_beside(x, out), "cumsum", axis, dtype, include_initial)
    return written("cumulative_sum", made, out)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Tensor | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Running products along an axis, widened as sums are."""
    made = _cumulative(_beside(x, out), "cumprod", axis, dtype, include_initial)
    return written("cumulative_prod", made, out)


def _cumulative(x: Tensor, name: str, axis: int | None, dtype: Any, initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise InvalidDescError(f"{name}: axis is None; x has {x.ndim} dimensions, not 1")
        axis = 0
    place = views.axis_of(name, axis, x.ndim)
    wanted = wide_sum(x.dtype) if dtype is None else dtype_of(f"{name}: dtype", dtype)
    made: Tensor = getattr(x, name)(place, wanted)
    if not initial:
        return made
    shape = tuple(1 if a == place else n for a, n in enumerate(x.shape))
    first = x.device.full(shape, wanted, 0 if name == "cumsum" else 1)
    return concat([first, made], axis=place)


def vecdot(x1: Any, x2: Any, /, out: Tensor | None = None, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis of equal size."""
    device = device_of(x1, x2, out)
    a, b = (asarray(x, device=device) for x in (x1, x2))
    axis = as_index("vecdot: axis", axis)
    if a.ndim == b.ndim and axis >= 0:
        axis -= a.ndim
    if not a.ndim or not b.ndim or not -builtins.min(a.ndim, b.ndim) <= axis < 0:
        raise InvalidDescError(
            f"vecdot: axis is {axis}; it must count from the end of shapes {a.shape}, {b.shape}"
        )
    if a.shape[axis] != b.shape[axis]:
        raise InvalidDescError(
            f"vecdot: sizes {a.shape[axis]} and {b.shape[axis]} of axis {axis} must be equal"
        )
    products = a * b
    return written("vecdot", products.sum(axis, products.dtype), out)
