"""NumPy's own functions given tensors: done on the GPU, or refused by name.

Nothing goes through host memory unasked: `np.asarray(x)` is the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.errors import InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy import creation, manipulation, sorting, statistics
from dmlgpu.numpy.waiting import WAITING
from dmlgpu.tensor import Tensor

# NumPy's universal functions whose names are not the standard's.
UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
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


def array_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`np.add(x, y)`, `np.add.reduce(x)`, and the operators of NumPy's arrays beside a tensor."""
    told = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    left_out = ("out", "axis")
    options = {
        k: v
        for k, v in named.items()
        if k not in left_out and v is not None and v is not np._NoValue
    }
    out = named.get("out")
    out = out[0] if isinstance(out, tuple) else out
    if out is not None and not isinstance(out, Tensor):
        raise InvalidTypeError(
            f"{told}: out is {type(out).__name__}; a result on the GPU is written into a Tensor, "
            "and np.asarray(x) brings one back"
        )
    name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
    if method == "reduce" and name in REDUCTIONS and out is None:
        axis = named.get("axis", 0)
        return _method(told, inputs[0], REDUCTIONS[name], (axis,), options, ("dtype", "keepdims"))
    if method == "accumulate" and name in ACCUMULATIONS and out is None:
        axis = named.get("axis", 0)
        return _method(told, inputs[0], ACCUMULATIONS[name], (axis,), options, ("dtype",))
    if method != "__call__" or name not in FUNCTIONS or ufunc.nout != 1:
        if name == "matmul":
            told, name = "np.matmul", "matmul"
        raise _refused(told, name)
    if options:
        raise InvalidTypeError(f"{told}: a tensor takes no argument {', '.join(options)}")
    return device_of(*inputs, out).elementwise(name, *inputs, out=out)


def _method(
    told: str,
    x: Any,
    name: str,
    args: tuple[Any, ...],
    options: Mapping[str, Any],
    known: Sequence[str],
) -> Tensor:
    wrong = [k for k in options if k not in known]
    if wrong:
        raise InvalidTypeError(f"{told}: a tensor takes no argument {', '.join(wrong)}")
    tensor = creation.asarray(x)
    made: Tensor = getattr(tensor, name)(*args, **options)
    return made


def _refused(told: str, name: str) -> InvalidTypeError:
    why = f" (it waits for {WAITING[name]})" if name in WAITING else ""
    return InvalidTypeError(
        f"{told} is not done on the GPU{why}; np.asarray(x) gives NumPy an array in host memory"
    )


def _of_method(name: str) -> Callable[..., Any]:
    """NumPy's function of the method's name."""

    def function(a: Any, *args: Any, **named: Any) -> Any:
        tensor = creation.asarray(a)
        given = {k: v for k, v in named.items() if v is not None and v is not np._NoValue}
        if "ddof" in given:
            given["correction"] = given.pop("ddof")
        return getattr(tensor, name)(*args, **given)

    return function


def _split_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's `axis` may be given by position where the standard's may not."""

    def turned(x: Any, axis: Any = 0, **named: Any) -> Any:
        return function(x, axis=axis, **named)

    return turned


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Tensor:
    low = named.pop("min", a_min)
    high = named.pop("max", a_max)
    if any(v is not None for v in named.values()):
        raise InvalidTypeError(f"np.clip: a tensor takes no argument {', '.join(named)}")
    return creation.asarray(a).clip(
        None if low is np._NoValue else low, None if high is np._NoValue else high
    )


def _like(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def made(a: Any, *args: Any, dtype: Any = None, **named: Any) -> Tensor:
        wrong = [k for k in named if k not in ("order", "subok", "shape", "device")]
        if wrong or named.get("shape") is not None:
            raise InvalidTypeError(f"np.{function.__name__}: a tensor takes no argument shape")
        return function(a, *args, dtype=dtype)

    return made


def _where(condition: Any, *chosen: Any) -> Tensor:
    if len(chosen) != 2:
        raise _refused("np.where(condition)", "nonzero")
    return statistics.where(condition, *chosen)


def _flip(m: Any, axis: Any = None) -> Tensor:
    return creation.asarray(m).flip(axis)


def _roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    return manipulation.roll(a, shift, axis=axis)


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Tensor:
    return manipulation.repeat(a, repeats, axis=axis)


def _diff(a: Any, n: int = 1, axis: int = -1, **named: Any) -> Tensor:
    given = {k: v for k, v in named.items() if v is not np._NoValue}
    return manipulation.diff(a, n=n, axis=axis, **given)


def _triangle(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda m, k=0: function(m, k=k)


def _shape(a: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = a.shape
    return shape


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    device = device_of(a1, a2)
    x, y = (creation.asarray(a, device=device) for a in (a1, a2))
    if equal_nan:
        raise InvalidTypeError("np.array_equal: a tensor takes no argument equal_nan")
    return x.shape == y.shape and bool((x == y).all())


def _sorted(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """NumPy's names for the kinds of sort all mean the one there is, which is stable."""

    def made(
        a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Tensor:
        if order is not None:
            raise InvalidTypeError(f"np.{function.__name__}: a tensor takes no argument order")
        return function(a, axis=axis)

    return made


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    return sorting.searchsorted(a, v, side=side, sorter=sorter)


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


METHODS = (
    *("all", "any", "argmax", "argmin", "astype", "copy", "cumprod", "cumsum", "max", "mean"),
    *("min", "prod", "ravel", "reshape", "round", "squeeze", "std", "sum", "swapaxes", "take"),
    *("transpose", "var"),
)
FUNCTIONS_OF_NUMPY: dict[str, Callable[..., Any]] = {name: _of_method(name) for name in METHODS} | {
    "amax": _of_method("max"),
    "amin": _of_method("min"),
    "argsort": _sorted(sorting.argsort),
    "around": _of_method("round"),
    "array_equal": _array_equal,
    "broadcast_arrays": lambda *args, subok=False: tuple(manipulation.broadcast_arrays(*args)),
    "broadcast_to": lambda array, shape, subok=False: manipulation.broadcast_to(array, shape),
    "clip": _clip,
    "concatenate": _split_axis(manipulation.concat),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: statistics.count_nonzero(
        a, axis=axis, keepdims=keepdims
    ),
    "cumulative_prod": statistics.cumulative_prod,
    "cumulative_sum": statistics.cumulative_sum,
    "diff": _diff,
    "empty_like": _like(creation.empty_like),
    "expand_dims": manipulation.expand_dims,
    "flip": _flip,
    "fliplr": lambda m: creation.asarray(m).flip(1),
    "flipud": lambda m: creation.asarray(m).flip(0),
    "full_like": _like(creation.full_like),
    "matrix_transpose": manipulation.matrix_transpose,
    "meshgrid": lambda *xi, indexing="xy", **_: tuple(creation.meshgrid(*xi, indexing=indexing)),
    "moveaxis": manipulation.moveaxis,
    "ndim": lambda a: a.ndim,
    "ones_like": _like(creation.ones_like),
    "permute_dims": manipulation.permute_dims,
    "repeat": _repeat,
    "roll": _roll,
    "searchsorted": _searchsorted,
    "shape": _shape,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "sort": _sorted(sorting.sort),
    "stack": _split_axis(manipulation.stack),
    "tile": lambda A, reps: manipulation.tile(A, reps),  # noqa: N803 - NumPy's name
    "tril": _triangle(creation.tril),
    "triu": _triangle(creation.triu),
    "unique": _unique,
    "unique_all": sorting.unique_all,
    "unique_counts": sorting.unique_counts,
    "unique_inverse": sorting.unique_inverse,
    "unique_values": sorting.unique_values,
    "unstack": _split_axis(manipulation.unstack),
    "vecdot": statistics.vecdot,
    "where": _where,
    "zeros_like": _like(creation.zeros_like),
}


def array_function(func: Any, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`np.sum(x)`, `np.concatenate([x, y])` and their like."""
    name = func.__name__
    known = FUNCTIONS_OF_NUMPY.get(name) if func is getattr(np, name, None) else None
    module = getattr(func, "__module__", "numpy") or "numpy"
    told = f"{module.replace('numpy', 'np', 1)}.{name}"
    if known is None:
        raise _refused(told, name)
    if named.get("out") is not None:
        raise InvalidTypeError(f"{told}: a tensor takes no argument out")
    given = {k: v for k, v in named.items() if k != "out"}
    try:
        return known(*args, **given)
    except TypeError as error:
        if isinstance(error, InvalidTypeError):
            raise
        raise InvalidTypeError(f"{told}: {error}") from None
