"""Element-wise functions, from the table of dmlgpu.array.functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.errors import InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.tensor import Tensor

Array = Any  # a tensor, an array, or a Python number


def named(name: str) -> Callable[..., Tensor]:
    """The function of a row, with the standard's names for its operands."""
    arity = FUNCTIONS[name].arity
    operands = ["x"] if arity == 1 else [f"x{i + 1}" for i in range(arity)]
    parameters = [Parameter(n, Parameter.POSITIONAL_ONLY) for n in operands]

    def function(*given: Array, out: Tensor | None = None) -> Tensor:
        if len(given) != arity:
            raise InvalidTypeError(f"{name} takes {arity} arrays; {len(given)} are given")
        return device_of(*given).elementwise(name, *given, out=out)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "dmlgpu.numpy"  # where its name is
    function.__doc__ = f"The array API's `{name}`, on the GPU; `out` is a tensor to write into."
    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
    vars(function)["__signature__"] = Signature([*parameters, out])
    return function


def clip(x: Array, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; x's type stays."""
    tensor = _tensor(x)
    return tensor.clip(_in_kind(tensor, min), _in_kind(tensor, max))


def _in_kind(x: Tensor, bound: Any) -> Any:
    """A bound; a Python number of a higher kind than x's is for the caller to convert."""
    if isinstance(bound, float) and x.dtype.kind in "iu":
        raise InvalidTypeError(f"clip: bound {bound} is a float; x is {x.dtype}")
    return bound


def conj(x: Array, /) -> Tensor:
    """A real number is its own conjugate."""
    return _tensor(x).copy()


def real(x: Array, /) -> Tensor:
    """The real part, which is all there is."""
    return _tensor(x).copy()


def imag(x: Array, /) -> Tensor:
    """The imaginary part: zeros."""
    tensor = _tensor(x)
    return tensor.device.full(tensor.shape, tensor.dtype, 0)


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else device_of(x).tensor(x)
