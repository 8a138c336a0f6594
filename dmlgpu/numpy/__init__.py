"""The Python array API standard (2024.12) over tensors: `import dmlgpu.numpy as dnp`.

Names, types and special values are the standard's; where it leaves something open, NumPy decides.
Names that wait for operators raise UnsupportedError and say what they wait for.
"""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

from dmlgpu.errors import InvalidDescError as _InvalidDescError
from dmlgpu.functions import default_device as _default_device
from dmlgpu.numpy.elementwise import named as _named
from dmlgpu.numpy.types import Info as _Info
from dmlgpu.tensor import Tensor as _Tensor

# Names are imported as themselves, which says to type checkers that they are public.
# isort: off
from dmlgpu.numpy.creation import (
    arange as arange,
    array as array,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from dmlgpu.numpy.elementwise import (
    clip as clip,
    conj as conj,
    imag as imag,
    real as real,
)
from dmlgpu.numpy.indexing import (
    argwhere as argwhere,
    compress as compress,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
    put_along_axis as put_along_axis,
    ravel_multi_index as ravel_multi_index,
    take as take,
    take_along_axis as take_along_axis,
    unravel_index as unravel_index,
)
from dmlgpu.numpy.manipulation import (
    array_split as array_split,
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    concat as concat,
    diff as diff,
    expand_dims as expand_dims,
    flip as flip,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    pad as pad,
    permute_dims as permute_dims,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    split as split,
    squeeze as squeeze,
    stack as stack,
    tile as tile,
    unstack as unstack,
)
from dmlgpu.numpy.protocols import array_function as array_function
from dmlgpu.numpy.protocols import array_ufunc as array_ufunc
from dmlgpu.numpy.protocols import instead_of as instead_of
from dmlgpu.numpy.sorting import (
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from dmlgpu.numpy.statistics import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    std as std,
    sum as sum,
    var as var,
    vecdot as vecdot,
    where as where,
)
from dmlgpu.numpy.types import (
    astype as astype,
    bool as bool,
    can_cast as can_cast,
    e as e,
    finfo as finfo,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    iinfo as iinfo,
    inf as inf,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    isdtype as isdtype,
    nan as nan,
    newaxis as newaxis,
    pi as pi,
    result_type as result_type,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from dmlgpu.numpy.waiting import matmul as matmul, tensordot as tensordot
# isort: on

abs = _named("abs")
acos = _named("acos")
acosh = _named("acosh")
add = _named("add")
asin = _named("asin")
asinh = _named("asinh")
atan = _named("atan")
atan2 = _named("atan2")
atanh = _named("atanh")
bitwise_and = _named("bitwise_and")
bitwise_invert = _named("bitwise_invert")
bitwise_left_shift = _named("bitwise_left_shift")
bitwise_or = _named("bitwise_or")
bitwise_right_shift = _named("bitwise_right_shift")
bitwise_xor = _named("bitwise_xor")
ceil = _named("ceil")
copysign = _named("copysign")
cos = _named("cos")
cosh = _named("cosh")
deg2rad = _named("deg2rad")
divide = _named("divide")
equal = _named("equal")
erf = _named("erf")
exp = _named("exp")
exp2 = _named("exp2")
expm1 = _named("expm1")
fabs = _named("fabs")
floor = _named("floor")
floor_divide = _named("floor_divide")
fmax = _named("fmax")
fmin = _named("fmin")
fmod = _named("fmod")
greater = _named("greater")
greater_equal = _named("greater_equal")
heaviside = _named("heaviside")
hypot = _named("hypot")
isfinite = _named("isfinite")
isinf = _named("isinf")
isnan = _named("isnan")
less = _named("less")
less_equal = _named("less_equal")
log = _named("log")
log10 = _named("log10")
log1p = _named("log1p")
log2 = _named("log2")
logaddexp = _named("logaddexp")
logical_and = _named("logical_and")
logical_not = _named("logical_not")
logical_or = _named("logical_or")
logical_xor = _named("logical_xor")
maximum = _named("maximum")
minimum = _named("minimum")
multiply = _named("multiply")
negative = _named("negative")
nextafter = _named("nextafter")
not_equal = _named("not_equal")
positive = _named("positive")
pow = _named("pow")
rad2deg = _named("rad2deg")
reciprocal = _named("reciprocal")
remainder = _named("remainder")
round = _named("round")
sign = _named("sign")
signbit = _named("signbit")
sin = _named("sin")
sinh = _named("sinh")
sqrt = _named("sqrt")
square = _named("square")
subtract = _named("subtract")
tan = _named("tan")
tanh = _named("tanh")
trunc = _named("trunc")

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

_FOR_TENSORS = ("array_function", "array_ufunc", "instead_of", "of_version")


def __array_namespace_info__() -> _Info:  # noqa: N807 - the standard's name
    """What this namespace can do, as the standard asks."""
    return _Info(_default_device)


def of_version(version: str | None) -> _Any:
    """This namespace, for a version of the standard that it follows."""
    if version is not None and version not in _VERSIONS:
        raise _InvalidDescError(
            f"api_version is {version!r}; it must be one of " + ", ".join(_VERSIONS)
        )
    return _sys.modules[__name__]


def __getattr__(name: str) -> _Any:
    """Says what to call instead of a name of NumPy's that the standard does not have."""
    known = instead_of(name)
    why = f", for its names are those of the array API standard; {known}" if known else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")


__all__ = sorted(
    name
    for name, value in globals().items()
    if (not name.startswith("_") or name.startswith("__array_"))
    and not isinstance(value, _ModuleType)
    and name not in _FOR_TENSORS
)
_Tensor.namespace = _sys.modules[__name__]
