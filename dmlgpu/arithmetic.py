"""The operators of tensors, by the functions they mean, and tensors as Python numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dmlgpu.array.promotion import is_number
from dmlgpu.desc.host import host_memory
from dmlgpu.desc.values import exact
from dmlgpu.errors import InvalidDescError, InvalidTypeError, UnsupportedError

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.runtime.region import Key
    from dmlgpu.tensor import Tensor

NUMBERS = frozenset({bool, int, float})


class Arithmetic:
    """Python's operators: explicit, one by one, for that is what type checkers and readers find.

    The class has no state; a Tensor brings the device that runs the functions.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device

        key: Key

    def _unary(self, name: str) -> Tensor:
        known = self.device.remembered.get((name, self.key[2]))
        made: Tensor = self.device.elementwise(name, self) if known is None else known(self)
        return made

    def _binary(self, name: str, other: Any, *, turned: bool = False) -> Tensor:
        """An operator with what stands on the other side of it; `turned` if that is the left."""
        made: Tensor = NotImplemented
        known, tensors = None, [self, other]
        if other.__class__ is self.__class__:
            known = self.device.remembered.get((name, self.key[2], other.key[2]))
        elif other.__class__ in NUMBERS:
            mine, its = self.key[2], number_key(other)
            known = self.device.remembered.get((name, its, mine) if turned else (name, mine, its))
            tensors = [self]
        if known is not None:
            made = known(*tensors)
        elif _is_operand(other):
            operands = (other, self) if turned else (self, other)
            made = self.device.elementwise(name, *operands)
        return made

    def _in_place(self, name: str, other: Any) -> Tensor:
        made: Tensor = NotImplemented
        if _is_operand(other):
            out: Any = self
            made = self.device.elementwise(name, self, other, out=out)
        return made

    def __add__(self, other: Any) -> Tensor:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Tensor:
        return self._binary("add", other, turned=True)

    def __iadd__(self, other: Any) -> Tensor:
        return self._in_place("add", other)

    def __sub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other, turned=True)

    def __isub__(self, other: Any) -> Tensor:
        return self._in_place("subtract", other)

    def __mul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other, turned=True)

    def __imul__(self, other: Any) -> Tensor:
        return self._in_place("multiply", other)

    def __truediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other, turned=True)

    def __itruediv__(self, other: Any) -> Tensor:
        return self._in_place("divide", other)

    def __floordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_divide", other, turned=True)

    def __ifloordiv__(self, other: Any) -> Tensor:
        return self._in_place("floor_divide", other)

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __round__(self: Any, decimals: int = 0) -> Tensor:
        rounded: Tensor = self.round(decimals)
        return rounded

    def __mod__(self, other: Any) -> Tensor:
        return self._binary("remainder", other)

    def __rmod__(self, other: Any) -> Tensor:
        return self._binary("remainder", other, turned=True)

    def __imod__(self, other: Any) -> Tensor:
        return self._in_place("remainder", other)

    def __pow__(self, other: Any) -> Tensor:
        return self._binary("pow", other)

    def __rpow__(self, other: Any) -> Tensor:
        return self._binary("pow", other, turned=True)

    def __ipow__(self, other: Any) -> Tensor:
        return self._in_place("pow", other)

    def __and__(self, other: Any) -> Tensor:
        return self._binary("bitwise_and", other)

    def __rand__(self, other: Any) -> Tensor:
        return self._binary("bitwise_and", other, turned=True)

    def __iand__(self, other: Any) -> Tensor:
        return self._in_place("bitwise_and", other)

    def __or__(self, other: Any) -> Tensor:
        return self._binary("bitwise_or", other)

    def __ror__(self, other: Any) -> Tensor:
        return self._binary("bitwise_or", other, turned=True)

    def __ior__(self, other: Any) -> Tensor:
        return self._in_place("bitwise_or", other)

    def __xor__(self, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other)

    def __rxor__(self, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other, turned=True)

    def __ixor__(self, other: Any) -> Tensor:
        return self._in_place("bitwise_xor", other)

    def __lshift__(self, other: Any) -> Tensor:
        return self._binary("bitwise_left_shift", other)

    def __rlshift__(self, other: Any) -> Tensor:
        return self._binary("bitwise_left_shift", other, turned=True)

    def __ilshift__(self, other: Any) -> Tensor:
        return self._in_place("bitwise_left_shift", other)

    def __rshift__(self, other: Any) -> Tensor:
        return self._binary("bitwise_right_shift", other)

    def __rrshift__(self, other: Any) -> Tensor:
        return self._binary("bitwise_right_shift", other, turned=True)

    def __irshift__(self, other: Any) -> Tensor:
        return self._in_place("bitwise_right_shift", other)

    def __lt__(self, other: Any) -> Tensor:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Tensor:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any) -> Tensor:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Tensor:
        return self._binary("greater_equal", other)

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("equal", other)

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("not_equal", other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Tensor:
        return self._unary("negative")

    def __pos__(self) -> Tensor:
        return self._unary("positive")

    def __abs__(self) -> Tensor:
        return self._unary("abs")

    def __invert__(self) -> Tensor:
        return self._unary("bitwise_invert")

    def __matmul__(self, other: Any) -> NoReturn:
        raise _no_products()

    def __rmatmul__(self, other: Any) -> NoReturn:
        raise _no_products()

    def __imatmul__(self, other: Any) -> NoReturn:
        raise _no_products()


class Conversions:
    """Elements as Python numbers, and what Python asks of a sequence; the class has no state."""

    __slots__ = ()

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers; of no dimensions, the number itself."""
        with host_memory(self.nbytes):
            return self.numpy().tolist()

    def item(self: Any, *index: int) -> Any:
        """The only element, or the one at these positions, as a Python number."""
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
        return int(self.item())

    def __complex__(self: Any) -> complex:
        return complex(self._number())

    def _number(self: Any) -> Any:
        if self.size != 1:
            raise InvalidTypeError(
                f"the tensor has {self.size} elements; only an array of size 1 can be converted "
                "to a Python scalar"
            )
        return self.item()

    def __bool__(self: Any) -> bool:
        if self.size != 1:
            raise InvalidDescError(
                "the truth value of an array with more than one element is ambiguous; use any() "
                "or all()"
                if self.size
                else "the truth value of an array without elements is ambiguous; use size > 0"
            )
        return bool(self.item())

    def __format__(self: Any, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise InvalidTypeError(
                f"unsupported format string {spec!r} for a tensor of shape {self.shape}; format "
                "its numpy() or its item()"
            )
        return str(self)

    def __contains__(self: Any, value: Any) -> bool:
        return bool(self.device.elementwise("equal", self, value).any())

    def __len__(self: Any) -> int:
        if not self.ndim:
            raise InvalidTypeError("len() of unsized object: the tensor has no dimensions")
        return int(self.shape[0])

    def __iter__(self: Any) -> Iterator[Tensor]:
        """Along the first axis; each step is a call of SLICE1."""
        if not self.ndim:
            raise InvalidTypeError("iteration over a 0-d array: the tensor has no dimensions")
        return (self[i] for i in range(self.shape[0]))


def number_key(number: Any) -> Hashable:
    """What a prepared function depends on of a number: its bits, for 0.0 equals -0.0."""
    return number.__class__, exact(number)


def _no_products() -> UnsupportedError:
    return UnsupportedError("@ is not built yet: it waits for matrix products (GEMM)")


def _is_operand(value: Any) -> bool:
    """Whether an operator takes it: a tensor, a number, or an array or list of numbers."""
    if isinstance(value, (Arithmetic, np.ndarray, np.generic)) or is_number(value):
        return True
    return isinstance(value, (list, tuple)) or hasattr(value, "__array__")
