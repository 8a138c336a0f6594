"""Functions of dask.array tried on chunks that are tensors, and what became of each.

`python tests/support/dask_functions.py` writes docs/dask-functions.md.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

import dmlgpu.dask
from dmlgpu import Tensor

Case = Callable[[Any, Any], Any]  # of NumPy or dask.array, and of an array of either

HOST = ((np.arange(48) * 37) % 48 - 20).reshape(6, 8)
FLOATS = HOST.astype(np.float32) / 16
WHOLE = HOST.astype(np.int32)
HOLES = np.where(WHOLE % 5 == 0, np.float32("nan"), FLOATS)
CHUNKS = (4, 3)
ROUNDED = 2e-5

UNARY = (
    *("abs", "absolute", "arctan", "arcsinh", "ceil", "cos", "cosh", "exp", "exp2", "expm1"),
    *("floor", "isfinite", "isinf", "isnan", "negative", "positive", "reciprocal", "rint"),
    *("sign", "signbit", "sin", "sinh", "square", "tan", "tanh", "trunc", "logical_not"),
    *("fabs", "cbrt", "deg2rad", "degrees", "sinc", "spacing", "fix", "real", "imag"),
    *("conj", "angle", "isreal", "nan_to_num", "isposinf", "isneginf"),
)
POSITIVE = ("log", "log10", "log1p", "log2", "sqrt", "arccosh")  # of numbers from 1 on
UNIT = ("arccos", "arcsin", "arctanh")  # of numbers between -1 and 1
BINARY = (
    *("add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "equal"),
    *("not_equal", "less", "less_equal", "greater", "greater_equal", "hypot", "arctan2"),
    *("copysign", "nextafter", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("floor_divide", "remainder", "mod", "fmod", "power", "fmax", "fmin", "logaddexp2"),
    "float_power",
)
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
REDUCTIONS = (
    *("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin"),
    *("ptp", "median", "count_nonzero"),
)
OF_HOLES = (
    *("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nancumsum"),
    *("nancumprod", "nanargmax", "nanargmin", "nanmedian"),
)


def _unary(name: str, change: Case) -> Case:
    return lambda xp, x: getattr(xp, name)(change(xp, x))


def _with_half(name: str) -> Case:
    return lambda xp, x: getattr(xp, name)(x, x[:, ::-1] * 2 + 0.25)


def _along(name: str, axis: int) -> Case:
    return lambda xp, x: getattr(xp, name)(x, axis=axis)


def _reduced(name: str) -> Case:
    return lambda xp, x: getattr(xp, name)(x, axis=1)


FLOAT_CASES: dict[str, Case] = {
    **{name: _unary(name, lambda xp, x: x) for name in UNARY},
    **{name: _unary(name, lambda xp, x: xp.abs(x) + 1) for name in POSITIVE},
    **{name: _unary(name, lambda xp, x: x / 4) for name in UNIT},
    **{name: _with_half(name) for name in BINARY},
    **{name: _reduced(name) for name in REDUCTIONS},
    "allclose": lambda xp, x: xp.allclose(x, x + 0),
    "append": lambda xp, x: xp.append(x, x, axis=0),
    "apply_along_axis": lambda xp, x: xp.apply_along_axis(np.sum, 1, x),
    "apply_over_axes": lambda xp, x: xp.apply_over_axes(xp.sum, x, [0, 1]),
    "argtopk": lambda xp, x: _topk(xp, x, "argtopk"),
    "argwhere": lambda xp, x: xp.argwhere(x > 0),
    "around": lambda xp, x: xp.around(x, 1),
    "asarray": lambda xp, x: xp.asarray(x),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x),
    "average": lambda xp, x: xp.average(x, axis=0),
    "block": lambda xp, x: xp.block([[x, x], [x, x]]),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1])[1],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 6, 8)),
    "choose": lambda xp, x: xp.choose((x > 0).astype(np.int32), [x, -x]),
    "clip": lambda xp, x: xp.clip(x, -0.5, 0.5),
    "coarsen": lambda xp, x: (
        xp.coarsen(np.sum, x.rechunk((2, 4)), {0: 2, 1: 4})
        if xp is da
        else x.reshape(3, 2, 2, 4).sum(axis=(1, 3))
    ),
    "compress": lambda xp, x: xp.compress([True, False, True], x, axis=0),
    "concatenate": lambda xp, x: xp.concatenate([x, x * 2], axis=1),
    "corrcoef": lambda xp, x: xp.corrcoef(x),
    "cov": lambda xp, x: xp.cov(x),
    "cumprod": _along("cumprod", 1),
    "cumsum": _along("cumsum", 0),
    "cumsum, blelloch": lambda xp, x: (
        xp.cumsum(x, axis=0, method="blelloch") if xp is da else xp.cumsum(x, axis=0)
    ),
    "delete": lambda xp, x: xp.delete(x, [1, 3], axis=0),
    "diag": lambda xp, x: xp.diag(x[0]),
    "diagonal": lambda xp, x: xp.diagonal(x),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "digitize": lambda xp, x: xp.digitize(x, np.array([-0.5, 0, 0.5])),
    "dot": lambda xp, x: xp.dot(x, x.T),
    "dstack": lambda xp, x: xp.dstack([x, x]),
    "ediff1d": lambda xp, x: xp.ediff1d(x[0]),
    "einsum": lambda xp, x: xp.einsum("ij,ij->i", x, x),
    "empty_like": lambda xp, x: xp.empty_like(x) * 0 == 5,
    "expand_dims": lambda xp, x: xp.expand_dims(x, 1),
    "extract": lambda xp, x: xp.extract(x > 0, x),
    "flatnonzero": lambda xp, x: xp.flatnonzero(x > 0),
    "flip": lambda xp, x: xp.flip(x, 1),
    "fliplr": lambda xp, x: xp.fliplr(x),
    "flipud": lambda xp, x: xp.flipud(x),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "gradient": lambda xp, x: xp.gradient(x, axis=1),
    "histogram": lambda xp, x: xp.histogram(x, bins=4, range=(-2, 2))[0],
    "hstack": lambda xp, x: xp.hstack([x, x]),
    "insert": lambda xp, x: xp.insert(x, 2, 7, axis=0),
    "isclose": lambda xp, x: xp.isclose(x, x + 1e-7),
    "isin": lambda xp, x: xp.isin(x, [0, 1]),
    "map_blocks": lambda xp, x: xp.map_blocks(lambda b: b * 2, x) if xp is da else x * 2,
    "map_overlap": lambda xp, x: (
        xp.map_overlap(lambda b: b[1:-1] - b[:-2], x, depth={0: 1, 1: 0}, boundary=0, trim=False)
        if xp is da
        else x - np.concatenate([x[:1] * 0, x[:-1]])
    ),
    "matmul": lambda xp, x: xp.matmul(x, x.T),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1])[1],
    "modf": lambda xp, x: xp.modf(x)[0],
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "nonzero": lambda xp, x: xp.nonzero(x > 0)[0],
    "ones_like": lambda xp, x: xp.ones_like(x),
    "outer": lambda xp, x: xp.outer(x[0], x[1]),
    "pad": lambda xp, x: xp.pad(x, 1, mode="constant"),
    "pad, edge": lambda xp, x: xp.pad(x, 1, mode="edge"),
    "percentile": lambda xp, x: xp.percentile(x[0], 50),
    "piecewise": lambda xp, x: xp.piecewise(x, [x < 0], [-1, 1]),
    "quantile": lambda xp, x: xp.quantile(x, 0.5, axis=1),
    "ravel": lambda xp, x: xp.ravel(x),
    "rechunk": lambda xp, x: xp.rechunk(x, (3, 4)) if xp is da else x,
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "reshape": lambda xp, x: xp.reshape(x, (3, 2, 8)),
    "roll": lambda xp, x: xp.roll(x, 3, axis=1),
    "rollaxis": lambda xp, x: xp.rollaxis(x, 1),
    "rot90": lambda xp, x: xp.rot90(x),
    "round": lambda xp, x: xp.round(x, 1),
    "searchsorted": lambda xp, x: xp.searchsorted(
        (xp.arange(9, chunks=3) if xp is da else xp.arange(9)).astype(np.float32), x
    ),
    "select": lambda xp, x: xp.select([x < 0, x > 1], [x, -x], 0.0),
    "shape": lambda xp, x: np.array(xp.shape(x)),
    "squeeze": lambda xp, x: xp.squeeze(x[:1]),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "store": lambda xp, x: _stored(x) if xp is da else x,
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, 1),
    "take": lambda xp, x: xp.take(x, [5, 0, 2, 2], axis=0),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((1,), (1,))),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "topk": lambda xp, x: _topk(xp, x, "topk"),
    "trace": lambda xp, x: xp.trace(x),
    "transpose": lambda xp, x: xp.transpose(x, (1, 0)),
    "tril": lambda xp, x: xp.tril(x),
    "triu": lambda xp, x: xp.triu(x, 1),
    "union1d": lambda xp, x: xp.union1d(x, x + 1),
    "unique": lambda xp, x: xp.unique(x),
    "vdot": lambda xp, x: xp.vdot(x[0], x[1]),
    "vstack": lambda xp, x: xp.vstack([x, x]),
    "where": lambda xp, x: xp.where(x > 0, x, -1),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
}
METHOD_CASES: dict[str, Case] = {
    "x + 1, x / y, x ** 2, -x": lambda xp, x: -(((x + 1) / (x * x + 1)) ** 2),
    "x[2:5, ::-2], x[-1], x[..., None]": lambda xp, x: x[2:5, ::-2][-1][..., None],
    "x[:, [5, 0]]": lambda xp, x: x[:, [5, 0]],
    "x[x > 0]": lambda xp, x: x[x > 0],
    "x[1:3] = 0": lambda xp, x: _assigned(x),
    "x[x > 0] = 0": lambda xp, x: _mask_assigned(x),
    "x.astype": lambda xp, x: (x * 8).astype(np.int32),
    "x.blocks": lambda xp, x: x.blocks[0, 1] if xp is da else x[:4, 3:6],
    "x.map_blocks": lambda xp, x: x.map_blocks(np.negative) if xp is da else -x,
    "x.persist": lambda xp, x: x.persist() if xp is da else x,
    "x.to_backend('numpy')": lambda xp, x: x.to_backend("numpy") if xp is da else x,
    "x.to_delayed": lambda xp, x: x.to_delayed()[0, 0].compute() if xp is da else x[:4, :3],
    "x.T": lambda xp, x: x.T,
    "x.vindex": lambda xp, x: x.vindex[[0, 1], [2, 7]] if xp is da else x[[0, 1], [2, 7]],
}
WHOLE_CASES: dict[str, Case] = {
    **{name: lambda xp, x, name=name: getattr(xp, name)(x, abs(x) % 5) for name in BITS},
    "invert": lambda xp, x: xp.invert(x),
    "bincount": lambda xp, x: xp.bincount(abs(x[0]), minlength=64),
    "cumsum, of integers": _along("cumsum", 1),
    "mean, of integers": _reduced("mean"),
    "sum, of integers": lambda xp, x: xp.sum(x),
    "unravel_index": lambda xp, x: xp.unravel_index(abs(x[0]), (10, 10))[0],
}
HOLES_CASES: dict[str, Case] = {name: _reduced(name) for name in OF_HOLES}


def _topk(xp: Any, x: Any, name: str) -> Any:
    if xp is da:
        return getattr(xp, name)(x, 3, axis=1)
    order = np.argsort(-x, axis=1)[:, :3]
    return order if name == "argtopk" else np.take_along_axis(x, order, 1)


def _stored(x: Any) -> Any:
    target = np.zeros(x.shape, x.dtype)
    da.store(x, target)
    return target


def _assigned(x: Any) -> Any:
    y = x.copy()
    y[1:3] = 0
    return y


def _mask_assigned(x: Any) -> Any:
    y = x.copy()
    y[y > 0] = 0
    return y


CASES: dict[str, tuple[Case, Any]] = {
    **{name: (case, FLOATS) for name, case in FLOAT_CASES.items()},
    **{name: (case, HOLES) for name, case in HOLES_CASES.items()},
    **{name: (case, WHOLE) for name, case in WHOLE_CASES.items()},
    **{name: (case, FLOATS) for name, case in METHOD_CASES.items()},
}


REASONS = {
    r"(np[.\w]*) is not done on the GPU": r"`\1` is not done on the GPU",
    r"(\w+) of tensors is not built": r"`\1` is not built",
    "float64 is a storage type": "Dask asks for float64, which a GPU only stores",
}
TENSORS, HOST_ARRAYS = "yes", "yes, in host memory"


def outcome(name: str) -> str:
    """What became of a function: on the GPU, in host memory, or why not."""
    case, host = CASES[name]
    x = dmlgpu.dask.from_array(host, CHUNKS)
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(case(np, host))
        try:
            made = case(da, x)
            made = made.compute() if isinstance(made, da.Array) else made
        except Exception as error:
            for told, reason in REASONS.items():
                found = re.search(told, str(error))
                if found:
                    return f"no: {found.expand(reason)}"
            return f"no: {type(error).__name__}: {error}".splitlines()[0]
    values = np.asarray(made)
    assert values.shape == expected.shape, name
    np.testing.assert_allclose(
        values.astype(np.float64), expected.astype(np.float64), ROUNDED, ROUNDED, err_msg=name
    )
    return TENSORS if isinstance(made, Tensor) else HOST_ARRAYS


def table(outcomes: dict[str, str]) -> str:
    """The outcomes as rows of a page."""
    rows = "\n".join(f"| `{name}` | {told} |" for name, told in outcomes.items())
    return f"| function | works |\n|---|---|\n{rows}\n"


def page(outcomes: dict[str, str]) -> str:
    """The whole page."""
    good = sum(told.startswith("yes") for told in outcomes.values())
    return PAGE.format(count=len(outcomes), good=good, table=table(outcomes))


PAGE = """\
# Functions of dask.array

What happens when a function of `dask.array` is given an array whose
[chunks are tensors](dask.md). {count} were tried on small arrays in several chunks and compared
with NumPy: {good} work. "yes" means that the result is made of tensors and nothing went through
host memory unasked. What does not work says so, and `x.to_backend("numpy")` gives chunks that NumPy
can work on. A test holds this page against what really happens.

{table}"""

if __name__ == "__main__":
    path = Path(__file__).resolve().parents[2] / "docs" / "dask-functions.md"
    path.write_text(page({name: outcome(name) for name in sorted(CASES)}), encoding="utf-8")
