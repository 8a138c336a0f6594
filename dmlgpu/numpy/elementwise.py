"""Element-wise functions: one line each, from the table of dmlgpu.array.functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.array.promotion import is_number
from dmlgpu.errors import InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.tensor import Tensor

Array = Any  # a tensor, an array, or a Python number


def _function(name: str) -> Callable[..., Tensor]:
    """The function of a row, with the standard's names for its operands."""
    arity = FUNCTIONS[name].arity
    operands = ["x"] if arity == 1 else [f"x{i + 1}" for i in range(arity)]
    parameters = [Parameter(n, Parameter.POSITIONAL_ONLY) for n in operands]

    def function(*given: Array, out: Tensor | None = None) -> Tensor:
        if len(given) != arity:
            raise InvalidTypeError(f"{name} takes {arity} arrays; {len(given)} are given")
        return device_of(*given).elementwise(name, *given, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The array API's `{name}`, on the GPU; `out` is a tensor to write into."
    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
    vars(function)["__signature__"] = Signature([*parameters, out])
    return function


abs = _function("abs")
acos = _function("acos")
acosh = _function("acosh")
add = _function("add")
asin = _function("asin")
asinh = _function("asinh")
atan = _function("atan")
atan2 = _function("atan2")
atanh = _function("atanh")
bitwise_and = _function("bitwise_and")
bitwise_invert = _function("bitwise_invert")
bitwise_left_shift = _function("bitwise_left_shift")
bitwise_or = _function("bitwise_or")
bitwise_right_shift = _function("bitwise_right_shift")
bitwise_xor = _function("bitwise_xor")
ceil = _function("ceil")
copysign = _function("copysign")
cos = _function("cos")
cosh = _function("cosh")
divide = _function("divide")
equal = _function("equal")
erf = _function("erf")
exp = _function("exp")
exp2 = _function("exp2")
expm1 = _function("expm1")
floor = _function("floor")
floor_divide = _function("floor_divide")
fmod = _function("fmod")
greater = _function("greater")
greater_equal = _function("greater_equal")
hypot = _function("hypot")
isfinite = _function("isfinite")
isinf = _function("isinf")
isnan = _function("isnan")
less = _function("less")
less_equal = _function("less_equal")
log = _function("log")
log10 = _function("log10")
log1p = _function("log1p")
log2 = _function("log2")
logaddexp = _function("logaddexp")
logical_and = _function("logical_and")
logical_not = _function("logical_not")
logical_or = _function("logical_or")
logical_xor = _function("logical_xor")
maximum = _function("maximum")
minimum = _function("minimum")
multiply = _function("multiply")
negative = _function("negative")
nextafter = _function("nextafter")
not_equal = _function("not_equal")
positive = _function("positive")
pow = _function("pow")
reciprocal = _function("reciprocal")
remainder = _function("remainder")
round = _function("round")
sign = _function("sign")
signbit = _function("signbit")
sin = _function("sin")
sinh = _function("sinh")
sqrt = _function("sqrt")
square = _function("square")
subtract = _function("subtract")
tan = _function("tan")
tanh = _function("tanh")
trunc = _function("trunc")


def clip(x: Array, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; x's type stays."""
    tensor = _tensor(x)
    return tensor.clip(_in_kind(tensor, min), _in_kind(tensor, max))


def _in_kind(x: Tensor, bound: Any) -> Any:
    """A bound; a Python number of a higher kind than x's is for the caller to convert."""
    if is_number(bound) and isinstance(bound, float) and x.dtype.kind in "iu":
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
