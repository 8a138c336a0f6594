"""Tensors in formulas: operators by the functions they mean, and elements as Python numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dmlgpu.array.promotion import DType, is_integer, is_number
from dmlgpu.desc.host import host_memory
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidDescError, InvalidTypeError, UnsupportedError

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.runtime.region import Key
    from dmlgpu.tensor import Tensor

NUMBERS = frozenset({bool, int, float})
MOST_DECIMALS = 60  # beyond the ends of float32, behind which nothing changes
Operator: TypeAlias = "Callable[[Any, Any], Tensor]"


def _forms(name: str) -> tuple[Operator, Operator, Operator]:
    """The operator that means a function: with the tensor on its left, on its right, in place."""

    def left(self: Arithmetic, other: Any) -> Tensor:
        made: Tensor = NotImplemented
        if other.__class__ is self.__class__ or other.__class__ in NUMBERS or is_operand(other):
            made = self.device.elementwise(name, self, other)
        return made

    def right(self: Arithmetic, other: Any) -> Tensor:
        made: Tensor = NotImplemented
        if other.__class__ in NUMBERS or is_operand(other):
            made = self.device.elementwise(name, other, self)
        return made

    def in_place(self: Arithmetic, other: Any) -> Tensor:
        return self._in_place(name, other)

    return left, right, in_place


class Arithmetic:
    """Python's operators, each by the function that it means, and what rounds and limits elements.

    The class has no state; a Tensor brings the device that runs the functions.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device

        key: Key

        @property
        def dtype(self) -> DType:
            """A tensor's own."""

        def copy(self) -> Tensor:
            """A tensor's own."""

    def _unary(self, name: str) -> Tensor:
        made: Tensor = self.device.elementwise(name, self)
        return made

    def _in_place(self, name: str, other: Any) -> Tensor:
        made: Tensor = NotImplemented
        if other.__class__ in NUMBERS or is_operand(other):
            out: Any = self
            made = self.device.elementwise(name, self, other, out=out)
        return made

    __add__, __radd__, __iadd__ = _forms("add")
    __sub__, __rsub__, __isub__ = _forms("subtract")
    __mul__, __rmul__, __imul__ = _forms("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _forms("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _forms("floor_divide")
    __mod__, __rmod__, __imod__ = _forms("remainder")
    __pow__, __rpow__, __ipow__ = _forms("pow")
    __and__, __rand__, __iand__ = _forms("bitwise_and")
    __or__, __ror__, __ior__ = _forms("bitwise_or")
    __xor__, __rxor__, __ixor__ = _forms("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _forms("bitwise_left_shift")
    __rshift__, __rrshift__, __irshift__ = _forms("bitwise_right_shift")
    __lt__ = _forms("less")[0]
    __le__ = _forms("less_equal")[0]
    __gt__ = _forms("greater")[0]
    __ge__ = _forms("greater_equal")[0]
    __eq__ = _forms("equal")[0]  # type: ignore[assignment]
    __ne__ = _forms("not_equal")[0]  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __round__(self: Any, decimals: int | None = None) -> Any:
        """An integer where there is one element, as of Python's numbers; else a tensor."""
        if decimals is None and not self.ndim:
            return round(self.item())
        return self.round(decimals or 0)

    def __neg__(self) -> Tensor:
        return self._unary("negative")

    def __pos__(self) -> Tensor:
        return self._unary("positive")

    def __abs__(self) -> Tensor:
        return self._unary("abs")

    def __invert__(self) -> Tensor:
        return self._unary("bitwise_invert")

    def __matmul__(self: Any, other: Any) -> Tensor:
        made: Tensor = self.namespace.matmul(self, other) if is_operand(other) else NotImplemented
        return made

    def __rmatmul__(self: Any, other: Any) -> Tensor:
        made: Tensor = self.namespace.matmul(other, self) if is_operand(other) else NotImplemented
        return made

    def __imatmul__(self: Any, other: Any) -> Tensor:
        if not is_operand(other):
            refused: Tensor = NotImplemented
            return refused
        self[...] = self.namespace.matmul(self, other)
        own: Tensor = self
        return own

    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        """Elements below `min` become `min`, those above `max` become `max`."""
        if self.dtype.kind in "iu":  # Python numbers beyond which there are no elements
            info = np.iinfo(self.dtype)
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
        if unit > np.iinfo(self.dtype).max:
            return each("multiply", self, 0)
        below = each("floor_divide", self, unit)
        # The half itself goes up where the multiple below is an odd one.
        most = each("subtract", unit // 2, each("bitwise_and", below, 1))
        above = each("greater", each("remainder", self, unit), most)
        return each("multiply", each("add", below, above), unit)


class Conversions:
    """Elements as Python numbers, and what Python asks of a sequence; the class has no state."""

    __slots__ = ()

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers; of no dimensions, the number itself."""
        with host_memory(self.nbytes):
            return self.numpy().tolist()

    def item(self: Any, *index: int) -> Any:
        """The only element, or the one at these positions, as a Python number.

        One position counts the elements of all dimensions.
        """
        if len(index) == 1 and self.ndim > 1:
            return self.ravel()[index].item()
        if index:
            return self[index].item()
        if self.size != 1:
            raise InvalidDescError(
                f"item: the tensor has {self.size} elements; can only convert an array of size 1 "
                "to a Python scalar"
            )
        return self.numpy().item()

    def __float__(self: Any) -> float:
        return float(self._number())

    def __int__(self: Any) -> int:
        return int(self._number())

    def __index__(self: Any) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise InvalidTypeError(
                "only integer scalar arrays can be converted to a scalar index: the tensor has "
                f"shape {self.shape} and type {self.dtype}"
            )
        check_read(self, "x as an index")
        return int(self.item())

    def __complex__(self: Any) -> complex:
        return complex(self._number())

    def _number(self: Any) -> Any:
        if self.size != 1:
            raise InvalidTypeError(
                f"the tensor has {self.size} elements; only an array of size 1 can be converted "
                "to a Python scalar"
            )
        check_read(self, "x as a Python number")
        return self.item()

    def __bool__(self: Any) -> bool:
        if self.size != 1:
            raise InvalidDescError(
                "the truth value of an array with more than one element is ambiguous; use any() "
                "or all()"
                if self.size
                else "the truth value of an array without elements is ambiguous; use size > 0"
            )
        check_read(self, "x as a truth value")
        return bool(self.item())

    def __format__(self: Any, spec: str) -> str:
        if self.ndim == 0:
            check_read(self, "x in a format")
            return format(self.item(), spec)
        if spec:
            raise InvalidTypeError(
                f"unsupported format string {spec!r} for a tensor of shape {self.shape}; format "
                "its numpy() or its item()"
            )
        return str(self)

    def __contains__(self: Any, value: Any) -> bool:
        try:
            return bool(self.device.elementwise("equal", self, value).any())
        except InvalidTypeError:  # None, words, complex numbers: no element is any of these
            return False

    def __len__(self: Any) -> int:
        if not self.ndim:
            raise InvalidTypeError("len() of unsized object: the tensor has no dimensions")
        return int(self.shape[0])

    def __iter__(self: Any) -> Iterator[Tensor]:
        """Along the first axis: a view for each step, or a number of its own."""
        if not self.ndim:
            raise InvalidTypeError("iteration over a 0-d array: the tensor has no dimensions")
        return (self[i] for i in range(self.shape[0]))


def check_read(x: Any, use: str) -> None:
    """Raises where a read that nobody wrote down is refused."""
    if x.device.implicit == "raise":
        raise UnsupportedError(
            f"{use} reads the tensor back, and the device refuses implicit reads; x.numpy() or "
            "x.item() is an explicit one"
        )


def is_operand(value: Any) -> bool:
    """Whether an operator takes it: a tensor, a number, or an array or list of numbers."""
    if isinstance(value, (Arithmetic, np.ndarray, np.generic)) or is_number(value):
        return True
    if isinstance(value, (list, tuple, range)):
        return True
    return hasattr(value, "__array__") and not is_foreign(value)


def is_foreign(value: Any) -> bool:
    """Whether a value has arithmetic of its own, such as an array of Dask's or a table."""
    own = isinstance(value, (Arithmetic, np.ndarray, np.generic))
    return not own and getattr(value, "__array_ufunc__", None) is not None
