"""The Python array API standard (2024.12) over tensors: `import dmlgpu.numpy as dnp`.

Names, types and special values are the standard's; where it leaves something open, NumPy decides.
Names that wait for operators raise UnsupportedError and say what they wait for.
"""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

from dmlgpu.errors import InvalidDescError as _InvalidDescError
from dmlgpu.functions import default_device as _default_device
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
    abs as abs,
    acos as acos,
    acosh as acosh,
    add as add,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    ceil as ceil,
    clip as clip,
    conj as conj,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    divide as divide,
    equal as equal,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    floor as floor,
    floor_divide as floor_divide,
    fmod as fmod,
    greater as greater,
    greater_equal as greater_equal,
    hypot as hypot,
    imag as imag,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    less as less,
    less_equal as less_equal,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    positive as positive,
    pow as pow,
    real as real,
    reciprocal as reciprocal,
    remainder as remainder,
    round as round,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    trunc as trunc,
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

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

_FOR_TENSORS = ("array_function", "array_ufunc", "of_version")


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


__all__ = sorted(
    name
    for name, value in globals().items()
    if (not name.startswith("_") or name.startswith("__array_"))
    and not isinstance(value, _ModuleType)
    and name not in _FOR_TENSORS
)
_Tensor.namespace = _sys.modules[__name__]
