"""The operators of tensors, by the functions they mean, and tensors as Python numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dmlgpu.array.promotion import is_number
from dmlgpu.desc.host import host_memory
from dmlgpu.errors import InvalidDescError, InvalidTypeError, UnsupportedError

if TYPE_CHECKING:
    from dmlgpu.tensor import Tensor


class Arithmetic:
    """Python's operators: explicit, one by one, for that is what type checkers and readers find.

    The class has no state; a Tensor brings the device that runs the functions.
    """

    __slots__ = ()

    def _unary(self: Any, name: str) -> Tensor:
        made: Tensor = self.device.elementwise(name, self)
        return made

    def _binary(self: Any, name: str, other: Any, *, turned: bool = False) -> Any:
        """An operator with what stands on the other side of it; `turned` if that is the left."""
        if not _is_operand(other):
            return NotImplemented
        operands = (other, self) if turned else (self, other)
        return self.device.elementwise(name, *operands)

    def _in_place(self: Any, name: str, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return self.device.elementwise(name, self, other, out=self)

    def __add__(self: Any, other: Any) -> Tensor:
        return self._binary("add", other)  # type: ignore[no-any-return]

    def __radd__(self: Any, other: Any) -> Tensor:
        return self._binary("add", other, turned=True)  # type: ignore[no-any-return]

    def __iadd__(self: Any, other: Any) -> Tensor:
        return self._in_place("add", other)  # type: ignore[no-any-return]

    def __sub__(self: Any, other: Any) -> Tensor:
        return self._binary("subtract", other)  # type: ignore[no-any-return]

    def __rsub__(self: Any, other: Any) -> Tensor:
        return self._binary("subtract", other, turned=True)  # type: ignore[no-any-return]

    def __isub__(self: Any, other: Any) -> Tensor:
        return self._in_place("subtract", other)  # type: ignore[no-any-return]

    def __mul__(self: Any, other: Any) -> Tensor:
        return self._binary("multiply", other)  # type: ignore[no-any-return]

    def __rmul__(self: Any, other: Any) -> Tensor:
        return self._binary("multiply", other, turned=True)  # type: ignore[no-any-return]

    def __imul__(self: Any, other: Any) -> Tensor:
        return self._in_place("multiply", other)  # type: ignore[no-any-return]

    def __truediv__(self: Any, other: Any) -> Tensor:
        return self._binary("divide", other)  # type: ignore[no-any-return]

    def __rtruediv__(self: Any, other: Any) -> Tensor:
        return self._binary("divide", other, turned=True)  # type: ignore[no-any-return]

    def __itruediv__(self: Any, other: Any) -> Tensor:
        return self._in_place("divide", other)  # type: ignore[no-any-return]

    def __floordiv__(self: Any, other: Any) -> Tensor:
        return self._binary("floor_divide", other)  # type: ignore[no-any-return]

    def __rfloordiv__(self: Any, other: Any) -> Tensor:
        return self._binary("floor_divide", other, turned=True)  # type: ignore[no-any-return]

    def __ifloordiv__(self: Any, other: Any) -> Tensor:
        return self._in_place("floor_divide", other)  # type: ignore[no-any-return]

    def __mod__(self: Any, other: Any) -> Tensor:
        return self._binary("remainder", other)  # type: ignore[no-any-return]

    def __rmod__(self: Any, other: Any) -> Tensor:
        return self._binary("remainder", other, turned=True)  # type: ignore[no-any-return]

    def __imod__(self: Any, other: Any) -> Tensor:
        return self._in_place("remainder", other)  # type: ignore[no-any-return]

    def __pow__(self: Any, other: Any) -> Tensor:
        return self._binary("pow", other)  # type: ignore[no-any-return]

    def __rpow__(self: Any, other: Any) -> Tensor:
        return self._binary("pow", other, turned=True)  # type: ignore[no-any-return]

    def __ipow__(self: Any, other: Any) -> Tensor:
        return self._in_place("pow", other)  # type: ignore[no-any-return]

    def __and__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_and", other)  # type: ignore[no-any-return]

    def __rand__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_and", other, turned=True)  # type: ignore[no-any-return]

    def __iand__(self: Any, other: Any) -> Tensor:
        return self._in_place("bitwise_and", other)  # type: ignore[no-any-return]

    def __or__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_or", other)  # type: ignore[no-any-return]

    def __ror__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_or", other, turned=True)  # type: ignore[no-any-return]

    def __ior__(self: Any, other: Any) -> Tensor:
        return self._in_place("bitwise_or", other)  # type: ignore[no-any-return]

    def __xor__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other)  # type: ignore[no-any-return]

    def __rxor__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other, turned=True)  # type: ignore[no-any-return]

    def __ixor__(self: Any, other: Any) -> Tensor:
        return self._in_place("bitwise_xor", other)  # type: ignore[no-any-return]

    def __lshift__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_left_shift", other)  # type: ignore[no-any-return]

    def __rlshift__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_left_shift", other, turned=True)  # type: ignore[no-any-return]

    def __ilshift__(self: Any, other: Any) -> Tensor:
        return self._in_place("bitwise_left_shift", other)  # type: ignore[no-any-return]

    def __rshift__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_right_shift", other)  # type: ignore[no-any-return]

    def __rrshift__(self: Any, other: Any) -> Tensor:
        return self._binary("bitwise_right_shift", other, turned=True)  # type: ignore[no-any-return]

    def __irshift__(self: Any, other: Any) -> Tensor:
        return self._in_place("bitwise_right_shift", other)  # type: ignore[no-any-return]

    def __lt__(self: Any, other: Any) -> Tensor:
        return self._binary("less", other)  # type: ignore[no-any-return]

    def __le__(self: Any, other: Any) -> Tensor:
        return self._binary("less_equal", other)  # type: ignore[no-any-return]

    def __gt__(self: Any, other: Any) -> Tensor:
        return self._binary("greater", other)  # type: ignore[no-any-return]

    def __ge__(self: Any, other: Any) -> Tensor:
        return self._binary("greater_equal", other)  # type: ignore[no-any-return]

    def __eq__(self: Any, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("equal", other)  # type: ignore[no-any-return]

    def __ne__(self: Any, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("not_equal", other)  # type: ignore[no-any-return]

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Tensor:
        return self._unary("negative")

    def __pos__(self) -> Tensor:
        return self._unary("positive")

    def __abs__(self) -> Tensor:
        return self._unary("abs")

    def __invert__(self) -> Tensor:
        return self._unary("bitwise_invert")

    def __matmul__(self: Any, other: Any) -> NoReturn:
        raise waiting("@")

    def __rmatmul__(self: Any, other: Any) -> NoReturn:
        raise waiting("@")

    def __imatmul__(self: Any, other: Any) -> NoReturn:
        raise waiting("@")

    def sort(self, *_: Any, **__: Any) -> NoReturn:
        """Waits for the sorting operators."""
        raise waiting("sort")

    def argsort(self, *_: Any, **__: Any) -> NoReturn:
        """Waits for the sorting operators."""
        raise waiting("argsort")


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

    def __complex__(self: Any) -> NoReturn:
        raise InvalidTypeError("a tensor is no complex number; complex(float(x)) makes one of it")

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


WAITING = {
    "@": "matrix products (GEMM)",
    "sort": "the sorting operators (TOP_K)",
    "argsort": "the sorting operators (TOP_K)",
}


def waiting(name: str) -> UnsupportedError:
    """What is not built yet, and what it waits for."""
    return UnsupportedError(f"{name} is not built yet: it waits for {WAITING[name]}")


def _is_operand(value: Any) -> bool:
    """Whether an operator takes it: a tensor, a number, or an array or list of numbers."""
    if isinstance(value, (Arithmetic, np.ndarray, np.generic)) or is_number(value):
        return True
    return isinstance(value, (list, tuple)) or hasattr(value, "__array__")
