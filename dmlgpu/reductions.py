"""The methods of tensors that sum up their elements: sums, extremes, averages, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy import iinfo

from dmlgpu.array.promotion import DType, dtype_of, is_integer
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidTypeError

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.tensor import Tensor

MOST_DECIMALS = 60  # beyond the ends of float32, behind which nothing changes
Axis: TypeAlias = int | Sequence[int] | None


class Statistics:
    """The methods of tensors that sum up their elements; the class has no state."""

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device

        @property
        def dtype(self) -> DType:
            """A tensor's own."""

        def copy(self) -> Tensor:
            """A tensor's own."""

    def sum(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Sums over axes, all by default; integers below 32 bits and bool are widened to 32."""
        return self.device.reduce("sum", self, axis, keepdims, _type("sum", dtype))

    def prod(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Products over axes, widened as sums are."""
        return self.device.reduce("prod", self, axis, keepdims, _type("prod", dtype))

    def max(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The largest elements; NaN where there is one."""
        return self.device.reduce("max", self, axis, keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The smallest elements; NaN where there is one."""
        return self.device.reduce("min", self, axis, keepdims)

    def mean(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Averages; of integers in float32."""
        wanted = _type("mean", dtype)
        if wanted is not None and wanted.kind != "f":
            raise InvalidTypeError(f"mean: dtype is {wanted}; averages are floats")
        return self.device.reduce("mean", self, axis, keepdims, wanted)

    def var(
        self, axis: Axis = None, correction: float = 0, keepdims: bool = False, *, ddof: float = 0
    ) -> Tensor:
        """Variances: squared deviations over the count less `correction`, or NumPy's `ddof`."""
        return self.device.reduce("var", self, axis, keepdims, None, correction or ddof)

    def std(
        self, axis: Axis = None, correction: float = 0, keepdims: bool = False, *, ddof: float = 0
    ) -> Tensor:
        """Standard deviations: the square roots of `var`."""
        return self.device.reduce("std", self, axis, keepdims, None, correction or ddof)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether no element is 0."""
        return self.device.reduce("all", self, axis, keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether an element is not 0."""
        return self.device.reduce("any", self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Positions of the first largest element, or of the first NaN, as int32."""
        return self.device.reduce("argmax", self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Positions of the first smallest element, or of the first NaN, as int32."""
        return self.device.reduce("argmin", self, axis, keepdims)

    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        """Elements below `min` become `min`, those above `max` become `max`."""
        if self.dtype.kind in "iu":  # Python numbers beyond which there are no elements
            info = iinfo(self.dtype)
            min = None if is_integer(min) and min <= info.min else min
            max = None if is_integer(max) and max >= info.max else max
        if min is None and max is None:
            return self.copy()
        if max is None:
            return self.device.elementwise("maximum", self, min)
        if min is None:
            return self.device.elementwise("minimum", self, max)
        return self.device.elementwise("clip", self, min, max)

    def round(self, decimals: int = 0) -> Tensor:
        """The nearest whole numbers, halves to the even one, or so many decimals.

        Fewer than none are tens, hundreds and so on, of integers as well.
        """
        each = self.device.elementwise
        decimals = max(-MOST_DECIMALS, min(as_index("round: decimals", decimals), MOST_DECIMALS))
        if decimals == 0 or self.dtype.kind == "b" or (decimals > 0 and self.dtype.kind != "f"):
            return each("round", self)
        if self.dtype.kind != "f":
            return self._to_multiples(10**-decimals)
        # A power of ten below 1 is not exact, so that a division takes its place.
        there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
        unit = 10.0 ** abs(decimals)
        return each(back, each("round", each(there, self, unit)), unit)

    def _to_multiples(self, unit: int) -> Tensor:
        """Integers rounded to multiples of an even number, halves to even multiples."""
        each = self.device.elementwise
        if unit > iinfo(self.dtype).max:
            return each("multiply", self, 0)
        below = each("floor_divide", self, unit)
        # The half itself goes up where the multiple below is an odd one.
        most = each("subtract", unit // 2, each("bitwise_and", below, 1))
        above = each("greater", each("remainder", self, unit), most)
        return each("multiply", each("add", below, above), unit)


def _type(what: str, dtype: Any) -> DType | None:
    return None if dtype is None else dtype_of(f"{what}: dtype", dtype)
