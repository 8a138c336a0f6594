"""NumPy's names over tensors, and with them the array API standard (2024.12).

`import dmlgpu.numpy as np`: functions have NumPy's arguments, types and constants are NumPy's own.
What is not here says why, and what to use in its place.
"""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

# Names are imported as themselves, which says to type checkers that they are public.
# isort: off
from numpy import (
    True_ as True_,
    False_ as False_,
    base_repr as base_repr,
    binary_repr as binary_repr,
    bool_ as bool_,
    broadcast_shapes as broadcast_shapes,
    byte as byte,
    double as double,
    dtype as dtype,
    e as e,
    errstate as errstate,
    euler_gamma as euler_gamma,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    floating as floating,
    format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific,
    generic as generic,
    get_printoptions as get_printoptions,
    geterr as geterr,
    half as half,
    index_exp as index_exp,
    inexact as inexact,
    inf as inf,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int_ as int_,
    intc as intc,
    integer as integer,
    intp as intp,
    isscalar as isscalar,
    issubdtype as issubdtype,
    iterable as iterable,
    little_endian as little_endian,
    longlong as longlong,
    min_scalar_type as min_scalar_type,
    nan as nan,
    ndarray as ndarray,
    ndindex as ndindex,
    newaxis as newaxis,
    number as number,
    pi as pi,
    printoptions as printoptions,
    promote_types as promote_types,
    s_ as s_,
    set_printoptions as set_printoptions,
    seterr as seterr,
    short as short,
    signedinteger as signedinteger,
    single as single,
    typename as typename,
    ubyte as ubyte,
    ufunc as ufunc,
    uint as uint,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uintc as uintc,
    uintp as uintp,
    ulonglong as ulonglong,
    unsignedinteger as unsignedinteger,
    ushort as ushort,
)

from dmlgpu.errors import InvalidDescError as _InvalidDescError
from dmlgpu.functions import default_device as _default_device
from dmlgpu.numpy import lib as lib, linalg as linalg, random as random
from dmlgpu.numpy.elementwise import ElementWise as _ElementWise
from dmlgpu.numpy.protocols import (
    array_function as array_function,
    array_ufunc as array_ufunc,
    instead_of as instead_of,
)
from dmlgpu.numpy.refusals import absent as _absent
from dmlgpu.numpy.types import Info as _Info
from dmlgpu.tensor import Tensor as _Tensor

from dmlgpu.numpy.comparison import (
    allclose as allclose,
    array_equal as array_equal,
    array_equiv as array_equiv,
    isclose as isclose,
    may_share_memory as may_share_memory,
    shares_memory as shares_memory,
)
from dmlgpu.numpy.composed import (
    average as average,
    bincount as bincount,
    diag as diag,
    diagflat as diagflat,
    diagonal as diagonal,
    digitize as digitize,
    extract as extract,
    histogram as histogram,
    interp as interp,
    intersect1d as intersect1d,
    isin as isin,
    lexsort as lexsort,
    nan_to_num as nan_to_num,
    ptp as ptp,
    rot90 as rot90,
    select as select,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    trace as trace,
    trapezoid as trapezoid,
    union1d as union1d,
)
from dmlgpu.numpy.creation import (
    arange as arange,
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    ascontiguousarray as ascontiguousarray,
    copy as copy,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    identity as identity,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tri as tri,
    tril as tril,
    triu as triu,
    vander as vander,
    zeros as zeros,
    zeros_like as zeros_like,
)
from dmlgpu.numpy.edited import (
    copyto as copyto,
    cross as cross,
    delete as delete,
    fill_diagonal as fill_diagonal,
    gradient as gradient,
    insert as insert,
    place as place,
    put as put,
    putmask as putmask,
)
from dmlgpu.numpy.elementwise import (
    angle as angle,
    around as around,
    clip as clip,
    conj as conj,
    conjugate as conjugate,
    divmod as divmod,
    fix as fix,
    float_power as float_power,
    imag as imag,
    iscomplex as iscomplex,
    iscomplexobj as iscomplexobj,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    isrealobj as isrealobj,
    ldexp as ldexp,
    logaddexp2 as logaddexp2,
    modf as modf,
    real as real,
    real_if_close as real_if_close,
    round as round,
    sinc as sinc,
)
from dmlgpu.numpy.files import (
    array2string as array2string,
    array_repr as array_repr,
    array_str as array_str,
    save as save,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
)
from dmlgpu.numpy.grids import (
    bartlett as bartlett,
    blackman as blackman,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    fromfunction as fromfunction,
    geomspace as geomspace,
    hamming as hamming,
    hanning as hanning,
    indices as indices,
    ix_ as ix_,
    kaiser as kaiser,
    logspace as logspace,
    mask_indices as mask_indices,
    mgrid as mgrid,
    ogrid as ogrid,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
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
    append as append,
    array_split as array_split,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    diff as diff,
    dsplit as dsplit,
    dstack as dstack,
    ediff1d as ediff1d,
    expand_dims as expand_dims,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    hsplit as hsplit,
    hstack as hstack,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    ndim as ndim,
    pad as pad,
    permute_dims as permute_dims,
    ravel as ravel,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    rollaxis as rollaxis,
    shape as shape,
    size as size,
    split as split,
    squeeze as squeeze,
    stack as stack,
    swapaxes as swapaxes,
    tile as tile,
    transpose as transpose,
    unstack as unstack,
    vsplit as vsplit,
    vstack as vstack,
)
from dmlgpu.numpy.nan_functions import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from dmlgpu.numpy.pieces import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    asarray_chkfinite as asarray_chkfinite,
    block as block,
    choose as choose,
    histogram_bin_edges as histogram_bin_edges,
    piecewise as piecewise,
    resize as resize,
    trim_zeros as trim_zeros,
    unwrap as unwrap,
)
from dmlgpu.numpy.polynomials import (
    polyadd as polyadd,
    polyder as polyder,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
)
from dmlgpu.numpy.products import (
    corrcoef as corrcoef,
    cov as cov,
    dot as dot,
    einsum as einsum,
    inner as inner,
    kron as kron,
    matmul as matmul,
    matvec as matvec,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
    vecmat as vecmat,
)
from dmlgpu.numpy.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from dmlgpu.numpy.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    partition as partition,
    searchsorted as searchsorted,
    sort as sort,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from dmlgpu.numpy.statistics import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
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
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    result_type as result_type,
)
from dmlgpu.numpy.windows import (
    convolve as convolve,
    correlate as correlate,
)
# isort: on

abs = _ElementWise("abs")
acos = _ElementWise("acos")
acosh = _ElementWise("acosh")
add = _ElementWise("add")
asin = _ElementWise("asin")
asinh = _ElementWise("asinh")
atan = _ElementWise("atan")
atan2 = _ElementWise("atan2")
atanh = _ElementWise("atanh")
bitwise_and = _ElementWise("bitwise_and")
bitwise_invert = _ElementWise("bitwise_invert")
bitwise_left_shift = _ElementWise("bitwise_left_shift")
bitwise_or = _ElementWise("bitwise_or")
bitwise_right_shift = _ElementWise("bitwise_right_shift")
bitwise_xor = _ElementWise("bitwise_xor")
ceil = _ElementWise("ceil")
copysign = _ElementWise("copysign")
cos = _ElementWise("cos")
cosh = _ElementWise("cosh")
deg2rad = _ElementWise("deg2rad")
divide = _ElementWise("divide")
equal = _ElementWise("equal")
erf = _ElementWise("erf")
exp = _ElementWise("exp")
exp2 = _ElementWise("exp2")
expm1 = _ElementWise("expm1")
fabs = _ElementWise("fabs")
floor = _ElementWise("floor")
floor_divide = _ElementWise("floor_divide")
fmax = _ElementWise("fmax")
fmin = _ElementWise("fmin")
fmod = _ElementWise("fmod")
greater = _ElementWise("greater")
greater_equal = _ElementWise("greater_equal")
heaviside = _ElementWise("heaviside")
hypot = _ElementWise("hypot")
isfinite = _ElementWise("isfinite")
isinf = _ElementWise("isinf")
isnan = _ElementWise("isnan")
less = _ElementWise("less")
less_equal = _ElementWise("less_equal")
log = _ElementWise("log")
log10 = _ElementWise("log10")
log1p = _ElementWise("log1p")
log2 = _ElementWise("log2")
logaddexp = _ElementWise("logaddexp")
logical_and = _ElementWise("logical_and")
logical_not = _ElementWise("logical_not")
logical_or = _ElementWise("logical_or")
logical_xor = _ElementWise("logical_xor")
maximum = _ElementWise("maximum")
minimum = _ElementWise("minimum")
multiply = _ElementWise("multiply")
negative = _ElementWise("negative")
nextafter = _ElementWise("nextafter")
not_equal = _ElementWise("not_equal")
positive = _ElementWise("positive")
pow = _ElementWise("pow")
rad2deg = _ElementWise("rad2deg")
reciprocal = _ElementWise("reciprocal")
remainder = _ElementWise("remainder")
sign = _ElementWise("sign")
signbit = _ElementWise("signbit")
sin = _ElementWise("sin")
sinh = _ElementWise("sinh")
sqrt = _ElementWise("sqrt")
square = _ElementWise("square")
subtract = _ElementWise("subtract")
tan = _ElementWise("tan")
tanh = _ElementWise("tanh")
trunc = _ElementWise("trunc")
rint = _ElementWise("round", "rint")
bool = bool_

# NumPy's other names for them.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
bitwise_not = bitwise_invert
degrees = rad2deg
invert = bitwise_invert
left_shift = bitwise_left_shift
mod = remainder
power = pow
radians = deg2rad
right_shift = bitwise_right_shift
true_divide = divide

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_CHAPTERS = ("lib", "linalg", "random")
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
    """Says why a name of NumPy's is not here, and what to use."""
    raise AttributeError(_absent(__name__, name))


def __dir__() -> list[str]:
    return __all__


__all__ = sorted(
    name
    for name, value in globals().items()
    if (not name.startswith("_") or name.startswith("__array_"))
    and (name in _CHAPTERS or not isinstance(value, _ModuleType))
    and name not in _FOR_TENSORS
)
_Tensor.namespace = _sys.modules[__name__]
