"""The methods of tensors that reduce them: sums, extremes, averages, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dmlgpu.array.promotion import DType, dtype_of
from dmlgpu.errors import InvalidTypeError

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.tensor import Tensor

Axis: TypeAlias = int | Sequence[int] | None


class Reductions:
    """The methods of tensors that reduce them along axes; the class has no state."""

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device

    def sum(self, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """Sums over axes, all by default; integers and bool are widened to 64 bits."""
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
        """Positions of the first largest element, or of the first NaN, as int64."""
        return self.device.reduce("argmax", self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Positions of the first smallest element, or of the first NaN, as int64."""
        return self.device.reduce("argmin", self, axis, keepdims)


def _type(what: str, dtype: Any) -> DType | None:
    return None if dtype is None else dtype_of(f"{what}: dtype", dtype)
