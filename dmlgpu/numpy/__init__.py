"""The Python array API standard (2024.12) over tensors: `import dmlgpu.numpy as dnp`.

Names, types and special values are the standard's; where it leaves something open, NumPy decides.
Names that wait for operators raise UnsupportedError and say what they wait for.
"""

from __future__ import annotations

import sys
from typing import Any

from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import default_device
from dmlgpu.numpy.creation import (
    arange as arange,
)
from dmlgpu.numpy.creation import (
    array as array,
)
from dmlgpu.numpy.creation import (
    asarray as asarray,
)
from dmlgpu.numpy.creation import (
    empty as empty,
)
from dmlgpu.numpy.creation import (
    empty_like as empty_like,
)
from dmlgpu.numpy.creation import (
    eye as eye,
)
from dmlgpu.numpy.creation import (
    from_dlpack as from_dlpack,
)
from dmlgpu.numpy.creation import (
    full as full,
)
from dmlgpu.numpy.creation import (
    full_like as full_like,
)
from dmlgpu.numpy.creation import (
    linspace as linspace,
)
from dmlgpu.numpy.creation import (
    meshgrid as meshgrid,
)
from dmlgpu.numpy.creation import (
    ones as ones,
)
from dmlgpu.numpy.creation import (
    ones_like as ones_like,
)
from dmlgpu.numpy.creation import (
    tril as tril,
)
from dmlgpu.numpy.creation import (
    triu as triu,
)
from dmlgpu.numpy.creation import (
    zeros as zeros,
)
from dmlgpu.numpy.creation import (
    zeros_like as zeros_like,
)
from dmlgpu.numpy.elementwise import (
    abs as abs,
)
from dmlgpu.numpy.elementwise import (
    acos as acos,
)
from dmlgpu.numpy.elementwise import (
    acosh as acosh,
)
from dmlgpu.numpy.elementwise import (
    add as add,
)
from dmlgpu.numpy.elementwise import (
    asin as asin,
)
from dmlgpu.numpy.elementwise import (
    asinh as asinh,
)
from dmlgpu.numpy.elementwise import (
    atan as atan,
)
from dmlgpu.numpy.elementwise import (
    atan2 as atan2,
)
from dmlgpu.numpy.elementwise import (
    atanh as atanh,
)
from dmlgpu.numpy.elementwise import (
    bitwise_and as bitwise_and,
)
from dmlgpu.numpy.elementwise import (
    bitwise_invert as bitwise_invert,
)
from dmlgpu.numpy.elementwise import (
    bitwise_left_shift as bitwise_left_shift,
)
from dmlgpu.numpy.elementwise import (
    bitwise_or as bitwise_or,
)
from dmlgpu.numpy.elementwise import (
    bitwise_right_shift as bitwise_right_shift,
)
from dmlgpu.numpy.elementwise import (
    bitwise_xor as bitwise_xor,
)
from dmlgpu.numpy.elementwise import (
    ceil as ceil,
)
from dmlgpu.numpy.elementwise import (
    clip as clip,
)
from dmlgpu.numpy.elementwise import (
    conj as conj,
)
from dmlgpu.numpy.elementwise import (
    copysign as copysign,
)
from dmlgpu.numpy.elementwise import (
    cos as cos,
)
from dmlgpu.numpy.elementwise import (
    cosh as cosh,
)
from dmlgpu.numpy.elementwise import (
    divide as divide,
)
from dmlgpu.numpy.elementwise import (
    equal as equal,
)
from dmlgpu.numpy.elementwise import (
    erf as erf,
)
from dmlgpu.numpy.elementwise import (
    exp as exp,
)
from dmlgpu.numpy.elementwise import (
    exp2 as exp2,
)
from dmlgpu.numpy.elementwise import (
    expm1 as expm1,
)
from dmlgpu.numpy.elementwise import (
    floor as floor,
)
from dmlgpu.numpy.elementwise import (
    floor_divide as floor_divide,
)
from dmlgpu.numpy.elementwise import (
    fmod as fmod,
)
from dmlgpu.numpy.elementwise import (
    greater as greater,
)
from dmlgpu.numpy.elementwise import (
    greater_equal as greater_equal,
)
from dmlgpu.numpy.elementwise import (
    hypot as hypot,
)
from dmlgpu.numpy.elementwise import (
    imag as imag,
)
from dmlgpu.numpy.elementwise import (
    isfinite as isfinite,
)
from dmlgpu.numpy.elementwise import (
    isinf as isinf,
)
from dmlgpu.numpy.elementwise import (
    isnan as isnan,
)
from dmlgpu.numpy.elementwise import (
    less as less,
)
from dmlgpu.numpy.elementwise import (
    less_equal as less_equal,
)
from dmlgpu.numpy.elementwise import (
    log as log,
)
from dmlgpu.numpy.elementwise import (
    log1p as log1p,
)
from dmlgpu.numpy.elementwise import (
    log2 as log2,
)
from dmlgpu.numpy.elementwise import (
    log10 as log10,
)
from dmlgpu.numpy.elementwise import (
    logaddexp as logaddexp,
)
from dmlgpu.numpy.elementwise import (
    logical_and as logical_and,
)
from dmlgpu.numpy.elementwise import (
    logical_not as logical_not,
)
from dmlgpu.numpy.elementwise import (
    logical_or as logical_or,
)
from dmlgpu.numpy.elementwise import (
    logical_xor as logical_xor,
)
from dmlgpu.numpy.elementwise import (
    maximum as maximum,
)
from dmlgpu.numpy.elementwise import (
    minimum as minimum,
)
from dmlgpu.numpy.elementwise import (
    multiply as multiply,
)
from dmlgpu.numpy.elementwise import (
    negative as negative,
)
from dmlgpu.numpy.elementwise import (
    nextafter as nextafter,
)
from dmlgpu.numpy.elementwise import (
    not_equal as not_equal,
)
from dmlgpu.numpy.elementwise import (
    positive as positive,
)
from dmlgpu.numpy.elementwise import (
    pow as pow,
)
from dmlgpu.numpy.elementwise import (
    real as real,
)
from dmlgpu.numpy.elementwise import (
    reciprocal as reciprocal,
)
from dmlgpu.numpy.elementwise import (
    remainder as remainder,
)
from dmlgpu.numpy.elementwise import (
    round as round,
)
from dmlgpu.numpy.elementwise import (
    sign as sign,
)
from dmlgpu.numpy.elementwise import (
    signbit as signbit,
)
from dmlgpu.numpy.elementwise import (
    sin as sin,
)
from dmlgpu.numpy.elementwise import (
    sinh as sinh,
)
from dmlgpu.numpy.elementwise import (
    sqrt as sqrt,
)
from dmlgpu.numpy.elementwise import (
    square as square,
)
from dmlgpu.numpy.elementwise import (
    subtract as subtract,
)
from dmlgpu.numpy.elementwise import (
    tan as tan,
)
from dmlgpu.numpy.elementwise import (
    tanh as tanh,
)
from dmlgpu.numpy.elementwise import (
    trunc as trunc,
)
from dmlgpu.numpy.manipulation import (
    broadcast_arrays as broadcast_arrays,
)
from dmlgpu.numpy.manipulation import (
    broadcast_to as broadcast_to,
)
from dmlgpu.numpy.manipulation import (
    concat as concat,
)
from dmlgpu.numpy.manipulation import (
    diff as diff,
)
from dmlgpu.numpy.manipulation import (
    expand_dims as expand_dims,
)
from dmlgpu.numpy.manipulation import (
    flip as flip,
)
from dmlgpu.numpy.manipulation import (
    matrix_transpose as matrix_transpose,
)
from dmlgpu.numpy.manipulation import (
    moveaxis as moveaxis,
)
from dmlgpu.numpy.manipulation import (
    permute_dims as permute_dims,
)
from dmlgpu.numpy.manipulation import (
    repeat as repeat,
)
from dmlgpu.numpy.manipulation import (
    reshape as reshape,
)
from dmlgpu.numpy.manipulation import (
    roll as roll,
)
from dmlgpu.numpy.manipulation import (
    squeeze as squeeze,
)
from dmlgpu.numpy.manipulation import (
    stack as stack,
)
from dmlgpu.numpy.manipulation import (
    take as take,
)
from dmlgpu.numpy.manipulation import (
    tile as tile,
)
from dmlgpu.numpy.manipulation import (
    unstack as unstack,
)
from dmlgpu.numpy.protocols import array_function as array_function
from dmlgpu.numpy.protocols import array_ufunc as array_ufunc
from dmlgpu.numpy.statistics import (
    all as all,
)
from dmlgpu.numpy.statistics import (
    any as any,
)
from dmlgpu.numpy.statistics import (
    argmax as argmax,
)
from dmlgpu.numpy.statistics import (
    argmin as argmin,
)
from dmlgpu.numpy.statistics import (
    count_nonzero as count_nonzero,
)
from dmlgpu.numpy.statistics import (
    cumulative_prod as cumulative_prod,
)
from dmlgpu.numpy.statistics import (
    cumulative_sum as cumulative_sum,
)
from dmlgpu.numpy.statistics import (
    max as max,
)
from dmlgpu.numpy.statistics import (
    mean as mean,
)
from dmlgpu.numpy.statistics import (
    min as min,
)
from dmlgpu.numpy.statistics import (
    prod as prod,
)
from dmlgpu.numpy.statistics import (
    std as std,
)
from dmlgpu.numpy.statistics import (
    sum as sum,
)
from dmlgpu.numpy.statistics import (
    var as var,
)
from dmlgpu.numpy.statistics import (
    vecdot as vecdot,
)
from dmlgpu.numpy.statistics import (
    where as where,
)
from dmlgpu.numpy.types import Info
from dmlgpu.numpy.types import (
    astype as astype,
)
from dmlgpu.numpy.types import (
    bool as bool,
)
from dmlgpu.numpy.types import (
    can_cast as can_cast,
)
from dmlgpu.numpy.types import (
    e as e,
)
from dmlgpu.numpy.types import (
    finfo as finfo,
)
from dmlgpu.numpy.types import (
    float16 as float16,
)
from dmlgpu.numpy.types import (
    float32 as float32,
)
from dmlgpu.numpy.types import (
    float64 as float64,
)
from dmlgpu.numpy.types import (
    iinfo as iinfo,
)
from dmlgpu.numpy.types import (
    inf as inf,
)
from dmlgpu.numpy.types import (
    int8 as int8,
)
from dmlgpu.numpy.types import (
    int16 as int16,
)
from dmlgpu.numpy.types import (
    int32 as int32,
)
from dmlgpu.numpy.types import (
    int64 as int64,
)
from dmlgpu.numpy.types import (
    isdtype as isdtype,
)
from dmlgpu.numpy.types import (
    nan as nan,
)
from dmlgpu.numpy.types import (
    newaxis as newaxis,
)
from dmlgpu.numpy.types import (
    pi as pi,
)
from dmlgpu.numpy.types import (
    result_type as result_type,
)
from dmlgpu.numpy.types import (
    uint8 as uint8,
)
from dmlgpu.numpy.types import (
    uint16 as uint16,
)
from dmlgpu.numpy.types import (
    uint32 as uint32,
)
from dmlgpu.numpy.types import (
    uint64 as uint64,
)
from dmlgpu.numpy.waiting import (
    argsort as argsort,
)
from dmlgpu.numpy.waiting import (
    matmul as matmul,
)
from dmlgpu.numpy.waiting import (
    nonzero as nonzero,
)
from dmlgpu.numpy.waiting import (
    searchsorted as searchsorted,
)
from dmlgpu.numpy.waiting import (
    sort as sort,
)
from dmlgpu.numpy.waiting import (
    take_along_axis as take_along_axis,
)
from dmlgpu.numpy.waiting import (
    tensordot as tensordot,
)
from dmlgpu.numpy.waiting import (
    unique_all as unique_all,
)
from dmlgpu.numpy.waiting import (
    unique_counts as unique_counts,
)
from dmlgpu.numpy.waiting import (
    unique_inverse as unique_inverse,
)
from dmlgpu.numpy.waiting import (
    unique_values as unique_values,
)
from dmlgpu.tensor import Tensor

__array_api_version__ = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "array",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmod",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """What this namespace can do, as the standard asks."""
    return Info(default_device)


def of_version(version: str | None) -> Any:
    """This namespace, for a version of the standard that it follows."""
    if version is not None and version not in VERSIONS:
        raise InvalidDescError(
            f"api_version is {version!r}; it must be one of " + ", ".join(VERSIONS)
        )
    return sys.modules[__name__]


Tensor.namespace = sys.modules[__name__]
