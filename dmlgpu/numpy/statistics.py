"""Statistics, searching and truth of whole arrays."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, overload

from dmlgpu.array.promotion import BOOL, INT32, dtype_of, wide_sum
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.numpy.manipulation import concat
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int] | None


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sums over axes; integers below 32 bits and bool are widened to 32."""
    return asarray(x).sum(axis, dtype, keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Products over axes, widened as sums are."""
    return asarray(x).prod(axis, dtype, keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest elements; NaN where there is one."""
    return asarray(x).max(axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest elements; NaN where there is one."""
    return asarray(x).min(axis, keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Averages; of integers in float32."""
    return asarray(x).mean(axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Variances over the count less `correction`."""
    return asarray(x).var(axis, correction, keepdims)


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Standard deviations over the count less `correction`."""
    return asarray(x).std(axis, correction, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether no element is 0."""
    return asarray(x).all(axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether an element is not 0."""
    return asarray(x).any(axis, keepdims)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Positions of the first largest element, as int32."""
    return asarray(x).argmax(axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Positions of the first smallest element, as int32."""
    return asarray(x).argmin(axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, as int32."""
    return asarray(x).astype(BOOL, copy=False).sum(axis, INT32, keepdims)


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


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running sums along an axis; integers below 32 bits are widened to 32."""
    return _cumulative(asarray(x), "cumsum", axis, dtype, include_initial)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running products along an axis, widened as sums are."""
    return _cumulative(asarray(x), "cumprod", axis, dtype, include_initial)


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


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis of equal size."""
    device = device_of(x1, x2)
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
    return products.sum(axis, products.dtype)
