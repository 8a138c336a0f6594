"""Element-wise functions, from the table of dmlgpu.array.functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.errors import InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.outputs import the_one, written
from dmlgpu.tensor import Tensor

Array = Any  # a tensor, an array, or a Python number


def named(name: str) -> Callable[..., Tensor]:
    """The function of a row, with the standard's names for its operands, then NumPy's `out`."""
    if name in WRITTEN:
        return WRITTEN[name]
    arity = FUNCTIONS[name].arity
    operands = ["x"] if arity == 1 else [f"x{i + 1}" for i in range(arity)]
    parameters = [Parameter(n, Parameter.POSITIONAL_ONLY) for n in operands]

    def function(*given: Array, out: Tensor | None = None) -> Tensor:
        if len(given) == arity + 1 and out is None:  # NumPy's place of `out`
            given, out = given[:arity], given[arity]
        if len(given) != arity:
            raise InvalidTypeError(f"{name} takes {arity} arrays; {len(given)} are given")
        if out is not None:
            out = the_one(name, out)
        return device_of(*given, out).elementwise(name, *given, out=out)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "dmlgpu.numpy"  # where its name is
    function.__doc__ = f"The array API's `{name}`, on the GPU; `out` is a tensor to write into."
    out = Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    vars(function)["__signature__"] = Signature([*parameters, out])
    return function


def clip(
    a: Array,
    min: Any = None,
    max: Any = None,
    out: Tensor | None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; a's type stays.

    `a_min` and `a_max` are NumPy's other names for them.
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise InvalidTypeError("clip: a_min is min and a_max is max; each can be given once")
    tensor = _tensor(a, min, max, a_min, a_max, out)
    low, high = (_in_kind(tensor, x if y is None else y) for x, y in ((min, a_min), (max, a_max)))
    return written("clip", tensor.clip(low, high), out)


def round(a: Array, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole numbers, halves to the even one, or so many decimals."""
    return written("round", _tensor(a, out).round(decimals), out)


def _in_kind(x: Tensor, bound: Any) -> Any:
    """A bound; a Python number of a higher kind than x's is for the caller to convert."""
    if isinstance(bound, float) and x.dtype.kind in "iu":
        raise InvalidTypeError(f"clip: bound {bound} is a float; x is {x.dtype}")
    return bound


def conj(x: Array, /, out: Tensor | None = None) -> Tensor:
    """A real number is its own conjugate."""
    return written("conj", _tensor(x, out).copy(), out)


def real(val: Array) -> Tensor:
    """The real part, which is all there is."""
    return _tensor(val).copy()


def imag(val: Array) -> Tensor:
    """The imaginary part: zeros."""
    tensor = _tensor(val)
    return tensor.device.full(tensor.shape, tensor.dtype, 0)


def _tensor(x: Any, *others: Any) -> Tensor:
    """A tensor, or what is given in its place on the device of the others."""
    return x if isinstance(x, Tensor) else device_of(*others).tensor(x)


# Rows whose functions take more than their operands.
WRITTEN: dict[str, Callable[..., Tensor]] = {"round": round}
