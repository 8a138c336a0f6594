"""Which results share memory with what they are made of: those that do in NumPy, and no others.

NumPy is asked each time: about every function of its namespace, the methods of arrays and indices,
for arrays that lie in memory in different ways.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.namespaces import CREATING, Tensors, in_host_memory, opened

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

# --- calls -----------------------------------------------------------------------------------

ALONE = (
    *("abs", "absolute", "acos", "acosh", "all", "amax", "amin", "angle", "any", "arccos"),
    *("arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmin", "argsort"),
    *("argwhere", "around", "asin", "asinh", "atan", "atanh", "atleast_1d", "atleast_2d"),
    *("atleast_3d", "average", "bitwise_count", "bitwise_invert", "bitwise_not", "block"),
    *("broadcast_arrays", "cbrt", "ceil", "column_stack", "conj", "conjugate", "copy", "corrcoef"),
    *("cos", "cosh", "count_nonzero", "cov", "cumprod", "cumsum", "cumulative_prod"),
    *("cumulative_sum", "deg2rad", "degrees", "diag", "diagflat", "diagonal", "diff", "ediff1d"),
    *("empty_like", "exp", "exp2", "expm1", "fabs", "fix", "flatnonzero", "flip", "fliplr"),
    *("flipud", "floor", "frexp", "gradient", "histogram", "histogram_bin_edges", "i0", "imag"),
    *("invert", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "iscomplex"),
    *("log", "log10", "log1p", "log2", "logical_not", "matrix_transpose", "max", "mean", "median"),
    *("meshgrid", "min", "modf", "nan_to_num", "nanargmax", "nanargmin", "nancumprod"),
    *("nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum"),
    *("nanvar", "negative", "nonzero", "ones_like", "permute_dims", "positive", "prod", "ptp"),
    *("rad2deg", "radians", "ravel", "real", "real_if_close", "reciprocal", "rint", "rot90"),
    *("round", "sign", "signbit", "sin", "sinc", "sinh", "sort", "spacing", "sqrt", "square"),
    *("squeeze", "std", "sum", "tan", "tanh", "trace", "transpose", "trapezoid"),
    *("tril_indices_from", "trim_zeros", "triu_indices_from", "trunc", "unique"),
    *("unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "unwrap"),
    *("var", "where", "zeros_like", "array", "asanyarray", "asarray", "ascontiguousarray"),
    *("asfortranarray", "require", "diag_indices_from", "bincount"),
    *("vander", "sort_complex", "ix_"),
)
TWICE = (
    *("add", "arctan2", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or"),
    *("bitwise_right_shift", "bitwise_xor", "copysign", "divide", "divmod", "equal"),
    *("float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal"),
    *("heaviside", "hypot", "lcm", "left_shift", "less", "less_equal", "logaddexp", "logaddexp2"),
    *("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply"),
    *("nextafter", "not_equal", "pow", "power", "remainder", "right_shift", "subtract"),
    *("true_divide", "ldexp", "append", "convolve", "correlate", "cross", "dot", "inner", "kron"),
    *("outer", "tensordot", "vdot", "vecdot", "matmul", "matvec", "vecmat", "isclose", "isin"),
    *("intersect1d", "setdiff1d", "setxor1d", "union1d", "polyadd", "polymul", "polysub"),
    *("polydiv", "polyval", "digitize", "searchsorted", "histogram2d", "choose"),
)
# Sequences of arrays, of which one may be all.
IN_A_LIST = ("concat", "concatenate", "dstack", "hstack", "row_stack", "stack", "vstack", "lexsort")
OTHERWISE = {
    "append": ["np.append(x, x[:0])"],
    "apply_along_axis": ["np.apply_along_axis(np.sort, 0, x)"],
    "apply_over_axes": ["np.apply_over_axes(np.sum, x, [0])"],
    "argpartition": ["np.argpartition(x, 1)"],
    "array": ["np.array(x, copy=False)", "np.array(x, copy=None)", "np.array(x, ndmin=3)"],
    "array_split": ["np.array_split(x, 2)", "np.array_split(x, 1)", "np.array_split(x, 9)"],
    "asarray": ["np.asarray(x, dtype=x.dtype)", "np.asarray(x, copy=True)"],
    "astype": ["np.astype(x, x.dtype)", "np.astype(x, x.dtype, copy=False)"],
    "atleast_2d": ["np.atleast_2d(x, x)"],
    "broadcast_arrays": ["np.broadcast_arrays(x, np.ones((2, *x.shape), dtype=np.float32))"],
    "broadcast_to": ["np.broadcast_to(x, x.shape)", "np.broadcast_to(x, (2, *x.shape))"],
    "clip": ["np.clip(x, 1, 3)", "np.clip(x, None, 1000)"],
    "compress": ["np.compress([True, True], x, axis=0)"],
    "concatenate": ["np.concatenate([x, x[:0]])"],
    "copy": ["np.copy(x, order='K')"],
    "cumulative_prod": ["np.cumulative_prod(x, axis=0)"],
    "cumulative_sum": ["np.cumulative_sum(x, axis=0)", "np.cumsum(x, axis=0)"],
    "delete": ["np.delete(x, 0, axis=0)", "np.delete(x, [], axis=0)"],
    "diag": ["np.diag(x, 1)"],
    "diagonal": ["np.diagonal(x, 1)", "np.diagonal(x, 0, -1, -2)"],
    "diff": ["np.diff(x, n=0)"],
    "dsplit": ["np.dsplit(x, [1])"],
    "einsum": ["np.einsum('ij->ji', x)", "np.einsum('i->i', x)", "np.einsum('ij->i', x)"],
    "expand_dims": ["np.expand_dims(x, 0)", "np.expand_dims(x, (0, -1))"],
    "extract": ["np.extract(x == x, x)"],
    "flip": ["np.flip(x, 0)", "np.flip(x, ())"],
    "full_like": ["np.full_like(x, 1)"],
    "hsplit": ["np.hsplit(x, [1])"],
    "insert": ["np.insert(x, 0, 1, axis=0)", "np.insert(x, [], 1, axis=0)"],
    "interp": ["np.interp(x, [0, 5, 50], [1, 2, 3])"],
    "max": ["np.max(x, axis=())", "np.max(x, axis=0, keepdims=True)"],
    "meshgrid": ["np.meshgrid(x, x, copy=False)", "np.meshgrid(x, x, sparse=True, copy=False)"],
    "moveaxis": ["np.moveaxis(x, 0, -1)", "np.moveaxis(x, 0, 0)"],
    "nan_to_num": ["np.nan_to_num(x, copy=False)"],
    "nanpercentile": ["np.nanpercentile(x, 50)"],
    "nanquantile": ["np.nanquantile(x, 0.5)"],
    "nonzero": ["np.nonzero(x > 2)"],
    "packbits": ["np.packbits(x)"],
    "pad": ["np.pad(x, 1)", "np.pad(x, 0)"],
    "partition": ["np.partition(x, 1)"],
    "percentile": ["np.percentile(x, 50)"],
    "piecewise": ["np.piecewise(x, [x < 2], [1, 2])"],
    "quantile": ["np.quantile(x, 0.5, axis=0)"],
    "ravel": ["np.ravel(x, order='C')"],
    "ravel_multi_index": ["np.ravel_multi_index((x, x), (99, 99))"],
    "repeat": ["np.repeat(x, 1)", "np.repeat(x, 2, axis=0)", "np.repeat(x, 1, axis=0)"],
    "reshape": ["np.reshape(x, -1)", "np.reshape(x, x.shape)", "np.reshape(x, (1, *x.shape))"],
    "resize": ["np.resize(x, x.shape)", "np.resize(x, (2, 2))"],
    "roll": ["np.roll(x, 1)", "np.roll(x, 0)", "np.roll(x, 0, axis=0)", "np.roll(x, 1, axis=0)"],
    "rollaxis": ["np.rollaxis(x, -1)", "np.rollaxis(x, 0)"],
    "rot90": ["np.rot90(x, 0)", "np.rot90(x, 2)", "np.rot90(x, 3)"],
    "round": ["np.round(x, 2)"],
    "select": ["np.select([x > 0], [x])"],
    "sort": ["np.sort(x, axis=0)", "np.sort(x, axis=None)"],
    "split": ["np.split(x, [1])", "np.split(x, 1)", "np.split(x, [0, 1, 1])"],
    "squeeze": ["np.squeeze(x, 0)"],
    "std": ["np.std(x, axis=())"],
    "sum": ["np.sum(x, axis=())", "np.sum(x, axis=0, dtype=np.float32)"],
    "swapaxes": ["np.swapaxes(x, 0, -1)", "np.swapaxes(x, 0, 0)"],
    "take": ["np.take(x, [0, 1])", "np.take(x, 0)", "np.take(x, [0], axis=0)"],
    "take_along_axis": ["np.take_along_axis(x, np.argsort(x, axis=0), axis=0)"],
    "tile": ["np.tile(x, 1)", "np.tile(x, 2)", "np.tile(x, (1, 1))"],
    "transpose": ["np.transpose(x, tuple(range(x.ndim)))"],
    "tril": ["np.tril(np.atleast_2d(x))"],
    "triu": ["np.triu(np.atleast_2d(x))"],
    "unpackbits": ["np.unpackbits(x)"],
    "unravel_index": ["np.unravel_index(x, (99, 99))"],
    "unstack": ["np.unstack(x, axis=-1)"],
    "vsplit": ["np.vsplit(x, [1])"],
    "where": ["np.where(x == x, x, x)", "np.where(True, x, 0)"],
}
# Of these there is nothing to ask: they make arrays of numbers, write into one, or give none.
NO_QUESTION = {
    *(CREATING - {"array", "asanyarray", "asarray", "ascontiguousarray"}),
    *("allclose", "array2string", "array_equal", "array_equiv", "array_repr", "array_str"),
    *("asarray_chkfinite", "asmatrix", "bmat"),  # which are about host memory, and matrices
    *("bartlett", "blackman", "hamming", "hanning", "kaiser", "base_repr", "binary_repr"),
    *("broadcast_shapes", "busday_count", "busday_offset", "can_cast", "common_type", "copyto"),
    *("datetime_as_string", "datetime_data", "diag_indices", "einsum_path", "fill_diagonal"),
    *("format_float_positional", "format_float_scientific", "fromfile", "fromfunction"),
    *("fromiter", "frompyfunc", "fromregex", "fromstring", "genfromtxt", "get_include"),
    *("get_printoptions", "getbufsize", "geterr", "geterrcall", "histogramdd", "info"),
    *("is_busday", "iscomplexobj", "isdtype", "isfortran", "isnat", "isrealobj", "isscalar"),
    *("issubdtype", "iterable", "load", "loadtxt", "mask_indices", "may_share_memory"),
    *("min_scalar_type", "mintypecode", "ndim", "nested_iters", "place", "poly", "polyder"),
    *("polyfit", "polyint", "printoptions", "promote_types", "put", "put_along_axis", "putmask"),
    *("result_type", "roots", "save", "savetxt", "savez", "savez_compressed", "set_printoptions"),
    *("setbufsize", "seterr", "seterrcall", "shape", "shares_memory", "show_config"),
    *("show_runtime", "size", "test", "tril_indices", "triu_indices", "typename"),
}
# Where tensors may answer otherwise than NumPy, and why.
MAY_DIFFER = {
    "np.asfortranarray(x)": "tensors leave the order in memory open",
    "np.require(x)": "it asks for flags that tensors do not have",
    "np.from_dlpack(x)": "it is about the memory of another library",
    **dict.fromkeys(
        (f"np.{name}(x, x)" for name in ("polyadd", "polysub", "polyval")),
        "polynomials of tensors have one dimension",
    ),
}
METHODS = [
    *("x.T", "x.mT", "x.real", "x[...]", "x[:]", "x[None]", "x[::-1]", "x[1:, ...]"),
    *("x[..., 1:]", "x[0]", "x[0, ...]", "x[()]", "x[[0, 1]]", "x[[0]]", "x[x == x]", "x[x > 2]"),
    *("x[:, [0]]", "x[:, 1]", "x[1, 1:]", "x[..., ::-2]", "x[5:]", "list(x)", "list(x[1:])"),
    *("x.ravel()", "x.flatten()", "x.reshape(-1)", "x.reshape(x.shape)", "x.reshape(1, -1)"),
    *("x.copy()", "x.astype(x.dtype)", "x.astype(x.dtype, copy=False)", "x.astype(np.float16)"),
    *("x.view()", "x.view(f'u{x.itemsize}')", "x.transpose()", "x.swapaxes(0, -1)"),
    *("x.squeeze()", "x.diagonal()", "x.diagonal(1)", "x.take([0])", "x.repeat(1)", "x.round()"),
    *("x.clip(1, 3)", "x.sum(axis=())", "x.max(axis=0)", "x.cumsum(axis=0)", "x.argsort()"),
    *("x.nonzero()", "x.compress([True])", "x.conj()", "+x", "-x", "abs(x)", "x + 0", "x * 1"),
    *("x == x", "copy.copy(x)", "copy.deepcopy(x)", "x.T.T", "x.T[::-1].T"),
    *("x.T.reshape(-1)", "x[::2].ravel()", "x[::2].reshape(-1)", "x.T.copy()", "x.T.flatten()"),
    *("np.linalg.diagonal(x)", "np.linalg.matrix_transpose(x)"),
    *("np.lib.stride_tricks.sliding_window_view(x, 1, axis=0)",),
    *("np.add.reduce(x, axis=())", "np.add.accumulate(x)", "np.maximum.outer(x, x)"),
]

Make = Callable[[Any], Any]


def ramp(np: Any, *shape: int, dtype: Any = numpy.float32) -> Any:
    """1, 2, 3 and so on, in memory of its own."""
    count = int(numpy.prod(shape))
    return (np.arange(count, dtype=np.int32) + 1).astype(dtype).reshape(shape).copy()


LAYOUTS: dict[str, Make] = {
    "a matrix": lambda np: ramp(np, 3, 4),
    "a square": lambda np: ramp(np, 4, 4),
    "a transpose": lambda np: ramp(np, 3, 4).T,
    "a part of a matrix": lambda np: ramp(np, 5, 7)[1:4, 2:6],
    "a matrix backward": lambda np: ramp(np, 6, 7)[::-2, ::-1],
    "a line": lambda np: ramp(np, 12),
    "a part of a line": lambda np: ramp(np, 12)[3:9],
    "bytes within a unit": lambda np: ramp(np, 12, dtype=numpy.uint8)[5:11],
    "every other integer": lambda np: ramp(np, 12, dtype=numpy.int32)[::2],
    "bools": lambda np: ramp(np, 12, dtype=numpy.int32) % 3 == 0,
    "axes of one element": lambda np: ramp(np, 1, 6, 1),
    "a cube": lambda np: ramp(np, 2, 3, 4),
    "one element": lambda np: ramp(np, 1),
}
# Enough for functions that never share memory.
FEW = {"a matrix", "bytes within a unit", "every other integer", "a cube"}
CALLS = [
    *(f"np.{name}(x)" for name in ALONE),
    *(f"np.{name}(x, x)" for name in TWICE),
    *(f"np.{name}([x])" for name in IN_A_LIST),
    *(text for texts in OTHERWISE.values() for text in texts),
    *(text for text in MAY_DIFFER if text not in {f"np.{name}(x)" for name in ALONE}),
]


def parts(result: Any) -> list[Any]:
    """The arrays of a result, one after another."""
    if isinstance(result, tuple | list):
        return [part for each in result for part in parts(each)]
    return [result]


def asked(text: str, np: Any, x: Any) -> list[tuple[bool, bool, bool]]:
    """Of each part: whether it shares memory, whether it may, and whether a write to x shows."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = parts(eval(text, {"np": np, "x": x, "copy": copy}))
        arrays = [each if isinstance(each, type(x)) else None for each in found]
        shared = [
            (False, False)
            if each is None
            else (bool(np.shares_memory(each, x)), bool(np.may_share_memory(x, each)))
            for each in arrays
        ]
        before = [b"" if each is None else in_host_memory(each).tobytes() for each in arrays]
        x.fill(77)
        written = [
            each is not None and in_host_memory(each).tobytes() != was
            for each, was in zip(arrays, before, strict=True)
        ]
    return [(*pair, shows) for pair, shows in zip(shared, written, strict=True)]


def named(text: str) -> str:
    """The function of a call."""
    return text.removeprefix("np.").partition("(")[0]


def is_missing(text: str, error: Exception) -> bool:
    """Whether a call fails because there is no such function for tensors."""
    if isinstance(error, dml.UnsupportedError | AttributeError):
        return True
    if "is not done on the GPU" in str(error):
        return True
    return text.startswith("np.") and not hasattr(dnp, named(text).partition(".")[0])


def unlike_numpy(text: str) -> dict[str, Any]:
    """What each layout gives that is not NumPy's answer, beside that."""
    np, wanted = Tensors("dmlgpu.numpy"), answers_of_numpy(text)
    shares = any(True in answer for answers in wanted.values() for answer in answers)
    few = [layout for layout in wanted if layout in FEW]
    wrong, is_asked = {}, False
    for layout in wanted if shares or not few else few:
        try:
            made: Any = asked(text, np, LAYOUTS[layout](np))
        except Exception as error:
            if is_missing(text, error):
                continue
            made = error
        is_asked = True
        if made != wanted[layout]:
            wrong[layout] = (made, wanted[layout])
    if not is_asked:
        pytest.skip("there is no such function of tensors")
    return wrong


def answers_of_numpy(text: str) -> dict[str, Any]:
    """What NumPy says for those layouts that a function is for."""
    answers = {}
    for layout, make in LAYOUTS.items():
        with contextlib.suppress(ValueError, IndexError, TypeError, AttributeError):
            answers[layout] = asked(text, numpy, make(numpy))
    return answers


@pytest.mark.parametrize("text", [text for text in CALLS if text not in MAY_DIFFER])
def test_a_function_shares_memory_where_numpys_does(device: dml.Device, text: str) -> None:
    """The pairs are the answers and NumPy's: shares memory, may share it, shows a write."""
    if not hasattr(numpy, named(text)):
        pytest.skip("this NumPy has no such function")
    with opened(device):
        assert unlike_numpy(text) == {}


@pytest.mark.parametrize("text", METHODS)
def test_a_method_shares_memory_where_numpys_does(device: dml.Device, text: str) -> None:
    with opened(device):
        assert unlike_numpy(text) == {}


def test_every_function_of_numpy_is_asked_about() -> None:
    """A name that dmlgpu.numpy gets is in one of the lists above."""
    known = {*ALONE, *TWICE, *IN_A_LIST, *OTHERWISE, *NO_QUESTION}
    assert not NO_QUESTION & {*ALONE, *TWICE, *IN_A_LIST, *OTHERWISE}
    functions = {
        name
        for name in dir(numpy)
        if not name.startswith("_")
        and callable(getattr(numpy, name))
        and not inspect.isclass(getattr(numpy, name))
    }
    assert {name for name in functions & {*dir(dnp)} if name not in known} == set()
    assert {text for text in MAY_DIFFER if named(text) not in functions} == set()


def test_each_call_suits_some_layout_in_numpy() -> None:
    """So that none of the calls is one that NumPy refuses whatever it is given."""
    refused = {
        text
        for text in (*CALLS, *METHODS)
        if hasattr(numpy, named(text).partition(".")[0]) or not text.startswith("np.")
        if not answers_of_numpy(text)
    }
    assert refused == set()


# --- what an array says of its memory --------------------------------------------------------


def views(np: Any, x: Any) -> list[Any]:
    return [
        *(x[1:], x[::-1], x[..., None], x[0, ...], x.T, x.reshape(-1), x.ravel(), x.swapaxes(0, 1)),
        *(np.flip(x), np.rot90(x), np.split(x, [1])[1], np.diagonal(x), np.expand_dims(x, 0)),
        *(np.broadcast_to(x, (2, *x.shape)), x.view(np.int32), *x, x[1:][:, ::-2], x.T[1:].T),
        *(np.squeeze(x[None]), np.transpose(x, (1, 0)), x[1:, 1:].view(np.uint32).T, x[3:]),
    ]


def copies(np: Any, x: Any) -> list[Any]:
    return [
        *(x.copy(), x + 1, x[[0, 1]], x[x > 2], x.flatten(), x.T.copy(), np.sort(x)),
        *(x.astype(np.int32), x[1:].copy(), np.concatenate([x, x])),
    ]


def test_the_base_of_a_view_is_the_array_that_has_the_memory(device: dml.Device) -> None:
    """Of a view of a view too."""
    with opened(device):
        for np in (numpy, Tensors("dmlgpu.numpy")):
            x = ramp(np, 4, 5)
            assert x.base is None
            assert all(view.base is x for view in views(np, x))
            assert all(made.base is None for made in copies(np, x))


def test_strides_are_in_bytes_and_run_backward_as_numpys_do(device: dml.Device) -> None:
    with opened(device):
        for dtype in ("float32", "uint8", "int64", "float16"):
            wanted = ramp(numpy, 4, 5, dtype=dtype)
            x = ramp(dnp, 4, 5, dtype=dtype)
            for index in ((slice(None, None, -1),), (..., None, slice(1, None, 2)), (2,)):
                for made, want in (
                    (x[index], wanted[index]),
                    (x.T[::-2], wanted.T[::-2]),
                    (x[:, ::-3].T, wanted[:, ::-3].T),
                    (x.reshape(2, 2, 5)[:, ::-1], wanted.reshape(2, 2, 5)[:, ::-1]),
                    (x.reshape(-1)[3::4], wanted.reshape(-1)[3::4]),
                ):
                    assert long_strides(made) == long_strides(want)


def long_strides(array: Any) -> list[int]:
    """Strides of the axes that have more than one element; others are open."""
    return [stride for size, stride in zip(array.shape, array.strides, strict=True) if size > 1]


def test_pairs_of_views_overlap_as_numpys_do(device: dml.Device) -> None:
    """Bounds may overlap where no element is in both."""
    indices: list[Any] = [
        *(slice(None), slice(1, None), slice(None, 5), slice(5, None), slice(None, None, 2)),
        *(slice(1, None, 2), slice(None, None, -1), slice(8, 2, -3), slice(3, 3), [1, 2]),
    ]
    with opened(device):
        for dtype in ("float32", "uint8", "int64"):
            wanted, x = ramp(numpy, 10, dtype=dtype), ramp(dnp, 10, dtype=dtype)
            for first in indices:
                for second in indices:
                    ours, numpys = (x[first], x[second]), (wanted[first], wanted[second])
                    for question in (numpy.shares_memory, numpy.may_share_memory):
                        assert question(*ours) == question(*numpys), (first, second, question)
    for question in (numpy.shares_memory, numpy.may_share_memory):
        assert not question(x, wanted)


def test_views_that_directml_cannot_describe_say_so(device: dml.Device) -> None:
    """The message names what helps, and that does help."""
    x: Any = device.tensor(numpy.arange(20, dtype=numpy.float32).reshape(4, 5))
    for view in (x[::-1], x[:, ::-2], numpy.flip(x.T)):
        with pytest.raises(dml.DmlError, match=r"copy\(\)"):
            view.desc  # noqa: B018
        assert tuple(view.copy().desc.sizes) == view.shape
    assert x[::2].desc.strides == (10, 1)
    assert x.T.desc.strides == (1, 5)
