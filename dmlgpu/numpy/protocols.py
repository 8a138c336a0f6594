"""NumPy's own functions given tensors: done on the GPU, or refused by name.

Nothing goes through host memory unasked: `np.asarray(x)` is the way there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from dmlgpu.arithmetic import is_foreign
from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.array.promotion import FLOAT32, castable, is_number, promoted
from dmlgpu.array.uploads import host_array, host_cast, type_for
from dmlgpu.desc import views
from dmlgpu.desc.host import strided_view
from dmlgpu.device import Device
from dmlgpu.errors import (
    AxisError,
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    NumberRangeError,
    UnsupportedError,
)
from dmlgpu.functions import device_of
from dmlgpu.numpy import (
    composed,
    creation,
    elementwise,
    groups,
    indexing,
    manipulation,
    selected,
    sorting,
    statistics,
    types,
)
from dmlgpu.numpy.edited import EDITED
from dmlgpu.numpy.like import CREATION
from dmlgpu.numpy.nan_functions import NAN_FUNCTIONS, floats
from dmlgpu.numpy.outputs import written
from dmlgpu.numpy.quantiles import QUANTILES
from dmlgpu.numpy.vectors import VECTORS, norm
from dmlgpu.numpy.waiting import WAITING
from dmlgpu.numpy.windows import WINDOWS, sliding_window_view
from dmlgpu.tensor import Tensor

# NumPy's universal functions whose names are not the standard's.
UFUNCS = {
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    "absolute": "abs",
    "degrees": "rad2deg",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}
# The methods of universal functions that go along an axis, and what these may be told.
ALONG: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "reduce": (REDUCTIONS, ("keepdims", "where", "initial")),
    "accumulate": (ACCUMULATIONS, ()),
}


def _divmod(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    run = device_of(x, y).elementwise
    return run("floor_divide", x, y), run("remainder", x, y)


def _modf(given: Tensor) -> tuple[Tensor, Tensor]:
    x = floats(given)
    run = x.device.elementwise
    none = run("copysign", 0.0, x)
    return x.device.select(run("isinf", x), none, run("fmod", x, 1.0)), run("trunc", x)


# Universal functions that are no expression of single elements, or of which results are two.
SEVERAL_STEPS: dict[str, Callable[..., Any]] = {
    "conjugate": lambda x: creation.asarray(x).copy(),
    "divmod": _divmod,
    "modf": _modf,
    "vecdot": statistics.vecdot,
}


def array_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`np.add(x, y)`, `np.add.reduce(x)`, and the operators of NumPy's arrays beside a tensor."""
    if any(is_foreign(x) for x in inputs):
        return NotImplemented
    told = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    left_out = ("out", "axis")
    options = {
        k: v
        for k, v in named.items()
        if k not in left_out and v is not None and v is not np._NoValue
    }
    out = named.get("out")
    if isinstance(out, tuple):
        out = next((each for each in out if each is not None), None)
    if out is not None and not isinstance(out, Tensor):
        raise InvalidTypeError(
            f"{told}: out is {type(out).__name__}; a result on the GPU is written into a Tensor, "
            "and np.asarray(x) brings one back"
        )
    name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
    methods, known = ALONG.get(method, ({}, ()))
    known += ("dtype",) if name in ACCUMULATIONS else ()  # the others have that of the elements
    if out is not None and (method != "__call__" or name in SEVERAL_STEPS):
        options["out"] = out
    if method == "at" and name in groups.AT:
        return groups.at(name, *inputs)
    if method == "outer" and name in FUNCTIONS:
        _check_known(told, options)
        return _outer_of(name, *inputs)
    if method == "accumulate" and name in ("maximum", "minimum"):
        _check_known(told, options, ("dtype",))
        made = composed.running(name, inputs[0], named.get("axis", 0))
        return made.astype(options.get("dtype", made.dtype), copy=False)
    if name in methods:
        return _method(told, inputs[0], methods[name], (named.get("axis", 0),), options, known)
    several = SEVERAL_STEPS.get(name)
    if method != "__call__" or not (several or name in FUNCTIONS):
        raise _refused(told, name)
    _check_known(told, options)
    if several:
        return several(*inputs, **({"axis": named["axis"]} if "axis" in named else {}))
    return device_of(*inputs, out).elementwise(name, *inputs, out=out)


def _check_known(told: str, options: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    wrong = [k for k in options if k not in known]
    if wrong:
        raise InvalidTypeError(f"{told}: a tensor takes no argument {', '.join(wrong)}")


def _outer_of(name: str, a: Any, b: Any) -> Tensor:
    """A function of each element of one array with each of another."""
    device = device_of(a, b)
    x, y = (creation.asarray(each, device=device) for each in (a, b))
    return device.elementwise(name, x.reshape((*x.shape, *(1,) * y.ndim)), y)


def _method(
    told: str,
    x: Any,
    name: str,
    args: tuple[Any, ...],
    options: Mapping[str, Any],
    known: Sequence[str],
) -> Tensor:
    _check_known(told, options, known)
    tensor = creation.asarray(x)
    if name in selected.REDUCTIONS:
        return selected.reduced(name, tensor, *args, **options)
    made: Tensor = getattr(tensor, name)(*args, **options)
    return made


def instead_of(name: str) -> str:
    """What does the work of a name of NumPy's that the standard does not have; "" for others."""
    ufunc = getattr(np, name, None)
    own = ufunc.__name__ if isinstance(ufunc, np.ufunc) else name
    if own in {*FUNCTIONS, *FUNCTIONS_OF_NUMPY, *SEVERAL_STEPS, *UFUNCS} and hasattr(np, name):
        return f"np.{name}(x) takes tensors"
    if callable(getattr(np, name, getattr(np.ndarray, name, None))):
        return str(_refused(f"np.{name}" if hasattr(np, name) else name, name))
    return f"np.asarray(x).{name} is NumPy's" if hasattr(np.ndarray, name) else ""


def _refused(told: str, name: str) -> InvalidTypeError:
    why = f" (it waits for {WAITING[name]})" if name in WAITING else ""
    return InvalidTypeError(
        f"{told} is not done on the GPU{why}; np.asarray(x) gives NumPy an array in host memory"
    )


def _of_method(name: str) -> Callable[..., Any]:
    """NumPy's function of the method's name."""

    def function(a: Any, *args: Any, **named: Any) -> Any:
        tensor = creation.asarray(a, device=device_of(a, *args))
        return getattr(tensor, name)(*args, **{k: v for k, v in named.items() if v is not None})

    return function


def _clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Tensor:
    """As `x.clip`, which takes bounds of a higher kind too; the standard's does not."""
    low, high = (y if x is None else x for x, y in ((a_min, min), (a_max, max)))
    device = device_of(*(x for x in (a, low, high, out) if x is not np._NoValue))
    bounds = (None if x is np._NoValue else x for x in (low, high))
    return written("np.clip", creation.asarray(a, device=device).clip(*bounds), out)


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    made = manipulation.diff(creation.asarray(ary).reshape(-1))
    for name, x in (("to_begin", to_begin), ("to_end", to_end)):
        if x is None:
            continue
        kind = x.dtype if isinstance(x, Tensor) else np.asanyarray(x).dtype
        if not np.can_cast(kind, made.dtype, "same_kind"):
            raise InvalidTypeError(
                f"ediff1d: {name} is {kind}, which is not of the same kind as {made.dtype}"
            )
        edge = (
            creation.asarray(x, device=device_of(made, x))
            .reshape(-1)
            .astype(made.dtype, copy=False)
        )
        made = manipulation.concat([edge, made] if name == "to_begin" else [made, edge])
    return made


def _each_at_least(rank: int) -> Callable[..., Any]:
    def function(*arys: Any) -> Any:
        made = tuple(manipulation.at_least(x, rank) for x in arys)
        return made[0] if len(made) == 1 else made

    return function


def _stacked(rank: int, axis: int) -> Callable[..., Tensor]:
    """`hstack`, `vstack` and `dstack`: along an axis of arrays of at least so many dimensions."""

    def function(tup: Sequence[Any]) -> Tensor:
        device = device_of(*tup)
        given = [manipulation.at_least(creation.asarray(x, device=device), rank) for x in tup]
        flat = rank == 1 and given and given[0].ndim == 1
        return manipulation.concat(given, axis=0 if flat else axis)

    return function


def _column_stack(tup: Sequence[Any]) -> Tensor:
    device = device_of(*tup)
    given = [creation.asarray(x, device=device) for x in tup]
    wide = [x if x.ndim > 1 else x.reshape(-1, 1) for x in given]
    return manipulation.concat(wide, axis=1)


def _size(a: Tensor, axis: Any = None) -> int:
    axes = range(a.ndim) if axis is None else views.axes_of("size", axis, a.ndim)
    return prod(a.shape[d] for d in axes)


def _split_along(name: str, axis: int, least: int) -> Callable[..., list[Tensor]]:
    """`vsplit`, `hsplit` and `dsplit`: of arrays of at least so many dimensions."""

    def function(ary: Any, indices_or_sections: Any) -> list[Tensor]:
        if ary.ndim < least:
            raise InvalidDescError(
                f"np.{name}: the array has {ary.ndim} dimensions; it must have {least} or more"
            )
        along = min(axis, ary.ndim - 1)  # hsplit of one dimension goes along that
        return manipulation.split(ary, indices_or_sections, axis=along)

    return function


def _rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    tensor = creation.asarray(a)
    rank = tensor.ndim
    first = views.axis_of("rollaxis", axis, rank)
    if not -rank <= start <= rank:
        raise AxisError(start, rank + 1, "rollaxis: start")
    place = start + rank if start < 0 else start
    return manipulation.moveaxis(tensor, first, place - (first < place))


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if not isinstance(a, Tensor):
        raise InvalidTypeError(f"np.put: a is {type(a).__name__}; it must be a Tensor")
    if mode != "raise":
        raise UnsupportedError(f"np.put: mode is {mode!r}; for a tensor it must be 'raise'")
    a.put(ind, v)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    device = device_of(a1, a2)
    try:
        x, y = _exactly(a1, a2, device), _exactly(a2, a1, device)
    except (InvalidDescError, InvalidTypeError, NumberRangeError):  # no array of such numbers
        return False
    if x is None or y is None or x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same |= device.elementwise("isnan", x) & device.elementwise("isnan", y)
    return bool(same.all())


def _exactly(x: Any, beside: Any, device: Device) -> Tensor | None:
    """The numbers of an array in a type that is computed with; None if that has not all of them."""
    if not creation.is_host_float64(x):
        return creation.asarray(x, device=device)
    other = beside.dtype if isinstance(beside, Tensor) else np.asarray(beside).dtype
    given = np.asarray(x)
    held = host_cast(given, other if other.kind in "iu" else FLOAT32)
    with np.errstate(all="ignore"):
        # The largest integers are no float64, so what saturates is none of them.
        is_held = (held == given) & (held.astype(np.float64) == given) | (given != given)
        is_held &= (other.kind == "f") | (given < 2.0 ** (8 * held.itemsize - (other.kind == "i")))
    return creation.asarray(held, device=device) if is_held.all() else None


def _sharing(ask: Callable[..., bool], a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two tensors have an element of the same bytes; an array shares none with a tensor."""
    tensors = [x for x in (a, b) if isinstance(x, Tensor) and x.size]
    if len(tensors) < 2 or tensors[0].lease is not tensors[1].lease:
        return False
    ends = [x.offset + x.desc.total_tensor_size_in_bytes for x in tensors]
    room = np.empty(max(ends), np.uint8)  # of which nothing is read
    first, second = (
        strided_view(room[x.offset : end], x.desc, writeable=False)
        for x, end in zip(tensors, ends, strict=True)
    )
    return ask(first, second, max_work)


def _partitioned(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A whole order is a partition at every place."""

    def made(
        a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None
    ) -> Tensor:
        x = creation.asarray(a)
        count = x.size if axis is None else x.shape[views.axis_of("partition", axis, x.ndim)]
        if any(not -count <= k < count for k in np.atleast_1d(kth).tolist()):
            raise InvalidIndexError(f"np.partition: kth is {kth}; there are {count} elements")
        return function(x, axis, order=order)

    return made


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Tensor):  # an array in host memory, as in a[...] = tensor
        src, where = (x.numpy() if isinstance(x, Tensor) else x for x in (src, where))
        np.copyto(dst, src, casting, where)
        return
    if is_number(src):  # weakly typed: only its kind may be above that of the elements
        kind = promoted([dst.dtype], [src])
    else:
        kind = src.dtype if hasattr(src, "dtype") else host_array("np.copyto: src", src).dtype
    if not castable("np.copyto: casting", kind, dst.dtype, casting):
        raise InvalidTypeError(
            f"np.copyto: {kind} is not cast to {dst.dtype} by the rule {casting!r}"
        )
    if where is not True:
        wanted = type_for(src, dst.dtype)
        source = creation.asarray(src, dtype=wanted, device=device_of(dst, src))
        src = dst.device.select(where, source.astype(dst.dtype, copy=False), dst)
    dst[...] = src


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Tensors as tensors; what is no array of numbers, such as None, as NumPy's arrays."""
    device = device_of(*args)
    given = [x if isinstance(x, Tensor) else np.asarray(x) for x in args]
    given = [creation.asarray(x, device=device) if x.dtype.kind in "biuf" else x for x in given]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    return tuple(
        x.broadcast_to(shape) if isinstance(x, Tensor) else np.broadcast_to(x, shape) for x in given
    )


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None:
        raise InvalidTypeError("np.unique: a tensor takes no argument axis")
    runs = sorting.Runs(ar, equal_nan)
    wanted = [(return_index, runs.indices), (return_inverse, runs.inverse)]
    wanted += [(return_counts, runs.counts)]
    more = [make() for asked, make in wanted if asked]
    return (runs.values(), *more) if more else runs.values()


def _isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    device = device_of(a, b)
    run = device.elementwise
    x, y = (creation.computed(v, device) for v in (a, b))  # near after rounding, too
    x, y = (v.astype(np.uint8) if v.dtype.kind == "b" else v for v in (x, y))
    common = promoted([x.dtype, y.dtype])
    scale = y
    if common.kind == "f":
        apart = run("abs", x - y)
    else:  # the larger less the smaller is right in the unsigned type, whatever wraps
        least, most = run("minimum", x, y), run("maximum", x, y)
        unsigned = np.dtype(f"u{common.itemsize}")
        apart = (most.astype(unsigned) - least.astype(unsigned)).astype(np.float32)
        scale = y.astype(np.float32)
    near = run("less_equal", apart, run("abs", scale) * rtol + atol)
    made = (near & run("isfinite", y)) | (x == y)
    return made | (run("isnan", x) & run("isnan", y)) if equal_nan else made


def _outer(a: Any, b: Any) -> Tensor:
    device = device_of(a, b)
    x, y = (creation.asarray(v, device=device).reshape(-1) for v in (a, b))
    return x.reshape(-1, 1) * y


# NumPy's functions that have their namesakes' arguments in dmlgpu.numpy.
NAMESAKES: dict[ModuleType, str] = {
    creation: "empty_like full_like linspace ones_like tril triu zeros_like",
    elementwise: "imag round",
    indexing: "argwhere compress flatnonzero nonzero put_along_axis ravel_multi_index take"
    " take_along_axis unravel_index",
    manipulation: "array_split broadcast_to diff expand_dims flip matrix_transpose moveaxis pad"
    " permute_dims repeat reshape roll split squeeze stack tile unstack",
    sorting: "argsort searchsorted sort unique_all unique_counts unique_inverse unique_values",
    statistics: "all any argmax argmin count_nonzero cumulative_prod cumulative_sum max mean min"
    " prod std sum var vecdot where",
    types: "can_cast result_type",
}
# What NumPy's functions take by position behind the array, where ours have another order.
BY_POSITION = {
    **dict.fromkeys(("cumprod", "cumsum"), "axis dtype out"),
    **dict.fromkeys(("copy", "ravel"), "order"),
    "median": "axis out overwrite_input keepdims",
    **dict.fromkeys(("percentile", "quantile"), "q axis out overwrite_input method keepdims"),
    "ptp": "axis out keepdims",
    "trace": "offset axis1 axis2 dtype out",
}
FUNCTIONS_OF_NUMPY: dict[str, Callable[..., Any]] = {
    **{n: getattr(module, n) for module, names in NAMESAKES.items() for n in names.split()},
    **{name: _of_method(name) for name in ("astype", "copy", "cumprod", "cumsum", "ravel")},
    "allclose": lambda *args, **named: bool(_isclose(*args, **named).all()),
    "amax": statistics.max,
    "amin": statistics.min,
    "argpartition": _partitioned(sorting.argsort),
    "around": elementwise.round,
    "array_equal": _array_equal,
    "atleast_1d": _each_at_least(1),
    "atleast_2d": _each_at_least(2),
    "atleast_3d": _each_at_least(3),
    "broadcast_arrays": _broadcast_arrays,
    "clip": _clip,
    "column_stack": _column_stack,
    "concatenate": manipulation.concat,
    "copyto": _copyto,
    "dsplit": _split_along("dsplit", 2, 3),
    "dstack": _stacked(3, 2),
    "ediff1d": _ediff1d,
    "extract": lambda condition, arr: indexing.compress(
        (condition if isinstance(condition, Tensor) else np.asarray(condition)).reshape(-1), arr
    ),
    "fliplr": lambda m: creation.asarray(m).flip(1),
    "flipud": lambda m: creation.asarray(m).flip(0),
    "hsplit": _split_along("hsplit", 1, 1),
    "hstack": _stacked(1, 1),
    "isclose": _isclose,
    "iscomplex": lambda x: creation.zeros_like(creation.asarray(x), dtype=bool),
    "iscomplexobj": lambda x: False,
    "isneginf": lambda x: creation.asarray(x) == float("-inf"),
    "isposinf": lambda x: creation.asarray(x) == float("inf"),
    "isreal": lambda x: creation.ones_like(creation.asarray(x), dtype=bool),
    "isrealobj": lambda x: True,
    "may_share_memory": partial(_sharing, np.may_share_memory),
    "meshgrid": lambda *xi, **named: tuple(creation.meshgrid(*xi, **named)),
    "ndim": lambda a: a.ndim,
    "outer": _outer,
    "partition": _partitioned(sorting.sort),
    "put": _put,
    "real": lambda val: creation.asarray(val),
    "rollaxis": _rollaxis,
    "shape": lambda a: a.shape,
    "shares_memory": partial(_sharing, np.shares_memory),
    "size": _size,
    "swapaxes": lambda a, axis1, axis2: creation.asarray(a).swapaxes(axis1, axis2),
    "transpose": lambda a, axes=None: creation.asarray(a).transpose(axes),
    "unique": _unique,
    "vsplit": _split_along("vsplit", 0, 2),
    "vstack": _stacked(2, 0),
    **composed.COMPOSED,
    **VECTORS,
    **WINDOWS,
    **EDITED,
    **NAN_FUNCTIONS,
    **QUANTILES,
}


FROM_ITS_MODULES: dict[Any, Callable[..., Any]] = {
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.linalg.norm: norm,
}
WRITTEN_OUT = frozenset(
    {np.save, np.savez, np.savez_compressed, np.savetxt}
    | {np.array2string, np.array_str, np.array_repr}
)


def _read(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor) else x


def array_function(func: Any, args: Sequence[Any], named: Mapping[str, Any], device: Device) -> Any:
    """`np.sum(x)`, `np.concatenate([x, y])` and their like, on the device of one of the tensors."""
    name = func.__name__
    known = FUNCTIONS_OF_NUMPY.get(name) if func is getattr(np, name, None) else None
    known = known or FROM_ITS_MODULES.get(func)
    if func in WRITTEN_OUT:  # what these are asked for is in host memory
        return func(*map(_read, args), **{key: _read(value) for key, value in named.items()})
    if known is None and name in CREATION:
        known = partial(CREATION[name], device)
    module = getattr(func, "__module__", "numpy") or "numpy"
    told = f"{module.replace('numpy', 'np', 1)}.{name}"
    if known is None:
        raise _refused(told, name)
    names = BY_POSITION.get(name, "").split()
    named = {**dict(zip(names, args[1:], strict=False)), **named}
    args = (*args[:1], *args[1 + len(names) :])
    # What NumPy does by default need not be asked for.
    given = {
        k: v
        for k, v in named.items()
        if v is not np._NoValue and (k, v) not in (("order", "C"), ("out", None))
    }
    try:
        return known(*args, **given)
    except TypeError as error:
        if isinstance(error, InvalidTypeError):
            raise
        unknown = re.search(r"got an unexpected keyword argument '(\w+)'", str(error))
        reason = f"a tensor takes no argument {unknown[1]}" if unknown else str(error)
        raise InvalidTypeError(f"{told}: {reason}") from None
