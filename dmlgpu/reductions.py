"""Sums, extremes, averages and positions of tensors over axes: REDUCE, ARGMIN and ARGMAX.

Axes, empty tensors and types follow NumPy and the array API standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from dmlgpu.array.promotion import (
    BOOL,
    FLOAT32,
    INT32,
    DType,
    check_computes,
    dtype_of,
    wide_sum,
)
from dmlgpu.desc import views
from dmlgpu.desc.enumerations import ReduceFunction
from dmlgpu.desc.tensor import DataType
from dmlgpu.errors import InvalidDescError

if TYPE_CHECKING:
    from dmlgpu.tensor import Tensor

Axis: TypeAlias = int | Sequence[int] | None


def axes_of(what: str, axis: Any, x: Tensor) -> tuple[int, ...]:
    """The axes that are reduced, all where none is named, in rising order."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(views.axes_of(what, axis, x.ndim)))


def shape_of(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of the result."""
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    return tuple(n for a, n in enumerate(x.shape) if a not in axes)


def reduced(x: Tensor, name: str, axes: tuple[int, ...], keepdims: bool, identity: Any) -> Tensor:
    """REDUCE over axes; where there are no elements, the function's identity."""
    shape = shape_of(x, axes, keepdims)
    if not x.size:
        if 0 not in shape and identity is None:
            raise InvalidDescError(
                f"zero-size array to reduction operation {name.lower()} which has no identity: "
                f"shape {x.shape}"
            )
        return x.device.full(shape, x.dtype, 0 if identity is None else identity)
    if not axes:
        return x.copy().reshape(shape)
    made: Tensor = x.device.run("REDUCE", x, function=ReduceFunction[name], axes=axes)
    return made.reshape(shape)


def total(x: Tensor, name: str, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """Sums or products, in a type of at least 32 bits unless one is asked for."""
    wanted = wide_sum(x.dtype) if dtype is None else dtype_of(f"{name.lower()}: dtype", dtype)
    check_computes(name.lower(), wanted)
    computed = wide_sum(wanted)
    axes = axes_of(name.lower(), axis, x)
    source = x.astype(computed, copy=False)
    made = reduced(source, name, axes, keepdims, 0 if name == "SUM" else 1)
    return made.astype(wanted, copy=False)


def extreme(x: Tensor, name: str, axis: Any, keepdims: bool) -> Tensor:
    """Largest or smallest elements; NaN among them is the result."""
    check_computes(name.lower(), x.dtype)
    axes = axes_of(name.lower(), axis, x)
    made = reduced(x, name, axes, keepdims, None)
    if x.dtype.kind == "f" and x.size and axes:
        unordered = truth(x.device.elementwise("isnan", x), "MAX", axis, keepdims)
        made = x.device.select(unordered, float("nan"), made)
    return made.marked(made.shape, x.dtype)


def mean(x: Tensor, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """Averages; NaN where there are no elements."""
    wanted = _float_of("mean", x.dtype if dtype is None else dtype_of("mean: dtype", dtype))
    axes = axes_of("mean", axis, x)
    return reduced(x.astype(wanted, copy=False), "AVERAGE", axes, keepdims, float("nan"))


def variance(x: Tensor, axis: Any, correction: float, keepdims: bool) -> Tensor:
    """Averages of the squared deviations from the average, in float32."""
    wanted = _float_of("var", x.dtype)
    axes = axes_of("var", axis, x)
    values = x.astype(FLOAT32, copy=False)
    count = prod(x.shape[a] for a in axes)
    if not x.size:
        return x.device.full(shape_of(x, axes, keepdims), wanted, float("nan"))
    run = x.device.elementwise
    centre = reduced(values, "AVERAGE", axes, True, None)
    squares = run("square", run("subtract", values, centre))
    sums = reduced(squares, "SUM", axes, keepdims, 0)
    left = count - correction
    made = run("divide", sums, float(left) if left > 0 else 0.0)
    return made.astype(wanted, copy=False)


def _float_of(what: str, dtype: DType) -> DType:
    check_computes(what, dtype)
    return dtype if dtype.kind == "f" else FLOAT32


def truth(x: Tensor, name: str, axis: Any, keepdims: bool) -> Tensor:
    """Whether all elements (MIN) or any of them (MAX) are not 0."""
    what = "all" if name == "MIN" else "any"
    axes = axes_of(what, axis, x)
    values = x if x.dtype == BOOL else x.astype(BOOL)
    made = reduced(values, name, axes, keepdims, name == "MIN")
    return made.marked(made.shape, BOOL)


def position(x: Tensor, name: str, axis: Any, keepdims: bool) -> Tensor:
    """Positions of the first largest or smallest element along an axis, or among all."""
    what = name.lower()
    check_computes(what, x.dtype)
    if axis is None:
        made = position(x.reshape(-1), name, 0, False)
        return made.reshape((1,) * x.ndim if keepdims else ())
    axis = views.axis_of(what, axis, x.ndim)
    shape = shape_of(x, (axis,), keepdims)
    if not x.size:
        if x.shape[axis] == 0 and 0 not in shape:
            raise InvalidDescError(f"attempt to get {what} of an empty sequence: shape {x.shape}")
        return x.device.full(shape, INT32, 0)
    found: Tensor = x.device.run(name, x, axes=(axis,), output_data_type=DataType.INT32)
    return found.reshape(shape)


def count_nonzero(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, as int32."""
    return total(x.astype(BOOL, copy=False), "SUM", axis, INT32, keepdims)


def _elements(x: Any, name: str, *operands: Any) -> Tensor:
    """An element-wise function on a tensor's device."""
    made: Tensor = x.device.elementwise(name, *operands)
    return made


class Statistics:
    """The methods of tensors that sum up their elements; the class has no state."""

    __slots__ = ()

    def sum(self: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Sums over axes, all by default; integers below 32 bits and bool are widened to 32."""
        return total(self, "SUM", axis, dtype, keepdims)

    def prod(self: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Products over axes, widened as sums are."""
        return total(self, "MULTIPLY", axis, dtype, keepdims)

    def max(self: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The largest elements; NaN where there is one."""
        return extreme(self, "MAX", axis, keepdims)

    def min(self: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The smallest elements; NaN where there is one."""
        return extreme(self, "MIN", axis, keepdims)

    def mean(self: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Averages; of integers in float32."""
        return mean(self, axis, dtype, keepdims)

    def var(self: Any, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Tensor:
        """Variances: squared deviations over the count less `correction` (NumPy's ddof)."""
        return variance(self, axis, correction, keepdims)

    def std(self: Any, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Tensor:
        """Standard deviations: the square roots of `var`."""
        return _elements(self, "sqrt", self.var(axis, correction, keepdims))

    def all(self: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether no element is 0."""
        return truth(self, "MIN", axis, keepdims)

    def any(self: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether an element is not 0."""
        return truth(self, "MAX", axis, keepdims)

    def argmax(self: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Positions of the first largest element, as int32."""
        return position(self, "ARGMAX", axis, keepdims)

    def argmin(self: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Positions of the first smallest element, as int32."""
        return position(self, "ARGMIN", axis, keepdims)

    def clip(self: Any, min: Any = None, max: Any = None) -> Tensor:
        """Elements below `min` become `min`, those above `max` become `max`."""
        if min is None and max is None:
            copy: Tensor = self.copy()
            return copy
        if max is None:
            return _elements(self, "maximum", self, min)
        if min is None:
            return _elements(self, "minimum", self, max)
        return _elements(self, "clip", self, min, max)

    def round(self: Any, decimals: int = 0) -> Tensor:
        """The nearest whole numbers, halves to the even one, or so many decimals."""
        if decimals == 0 or self.dtype.kind not in "f":
            return _elements(self, "round", self)
        scale = 10.0**decimals
        return _elements(self, "divide", _elements(self, "round", self * scale), scale)
