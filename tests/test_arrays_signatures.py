"""dmlgpu.numpy takes NumPy's arguments where NumPy takes them: by position, in NumPy's order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
# Names that the standard has in these places, and that stay for it.
STANDARD = {
    "arange": {"start_or_stop": "start"},
    "clip": {"a_min": "min", "a_max": "max"},
    "finfo": {"dtype": "type"},
    "iinfo": {"int_type": "type"},
    "where": {"x": "x1", "y": "x2"},
}
MORE = {"arange": ["dtype"]}  # which NumPy's takes there, too, and does not tell
# Arguments by keyword that tensors do not have, or that the standard takes by position alone.
WITHOUT = {
    **{n: {"like"} for n in ("arange", "asarray", "empty", "eye", "full", "ones", "zeros")},
    **{n: {"like"} for n in ("asanyarray", "ascontiguousarray", "fromfunction", "identity", "tri")},
    **{n: {"mean"} for n in ("nanstd", "nanvar", "std", "var")},
    "array": {"like", "ndmax"},
    "clip": {"kwargs"},
    "finfo": {"dtype"},
    "iinfo": {"int_type"},
    "pad": {"kwargs"},
}
FUNCTIONS = sorted(
    name
    for name in dnp.__all__
    if callable(getattr(dnp, name))
    and not isinstance(getattr(dnp, name), type)
    and callable(getattr(np, name, None))
    and getattr(dnp, name) is not getattr(np, name)
)


def places(function: Callable[..., Any]) -> list[str]:
    """What is taken by position, in order."""
    if isinstance(function, np.ufunc):
        operands = ["x"] if function.nin == 1 else [f"x{n + 1}" for n in range(function.nin)]
        return [*operands, "out"] if function.nout == 1 else operands
    given = inspect.signature(function).parameters.values()
    return [p.name for p in given if p.kind in POSITIONAL]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_positions_are_those_of_numpy(name: str) -> None:
    theirs = [STANDARD.get(name, {}).get(told, told) for told in places(getattr(np, name))]
    assert places(getattr(dnp, name)) == theirs + MORE.get(name, [])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keywords_are_those_of_numpy(name: str) -> None:
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        return
    told = inspect.signature(function).parameters
    ours = inspect.signature(getattr(dnp, name)).parameters
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
    wanted = {n for n, p in told.items() if p.kind not in by_place}
    named = {n for n, p in ours.items() if p.kind not in by_place}
    assert wanted - named == WITHOUT.get(name, set())


DEFAULTS = {"dtype": None, "correction": 0.0, "keepdims": False, "where": True}
# Where the standard has another one; NumPy's newest sorts take `descending`, and None is ascending.
OTHERS = {"stable": True, "descending": False}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_defaults_are_those_of_numpy(name: str) -> None:
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        return
    told = inspect.signature(function).parameters
    for key, parameter in inspect.signature(getattr(dnp, name)).parameters.items():
        if key not in told or told[key].default is Parameter.empty:
            continue
        default = told[key].default
        if default is np._NoValue or (default is float and parameter.default is not float):
            default = DEFAULTS.get(key)
        assert parameter.default == (OTHERS.get(key, default) if "sort" in name else default), key


A = np.arange(24, dtype=np.float32).reshape(4, 6) % 7 - 2
I = np.array([[2, 0], [1, 3]], np.int32)  # noqa: E741 - positions
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda n, x: n.sum(x, 0),
    "sum_all": lambda n, x: n.sum(x, 1, np.float32, None, True, 2.0, x > 0),
    "prod": lambda n, x: n.prod(x, 1, None, None, True, 3, x > 1),
    "max": lambda n, x: n.max(x, 1, None, True, -5, x < 1),
    "min": lambda n, x: n.min(x, (0, 1), None, False, 0.5),
    "mean": lambda n, x: n.mean(x, 0, np.float32, None, True),
    "mean_where": lambda n, x: n.mean(x, 1, where=x > 0),
    "std": lambda n, x: n.std(x, 0, np.float32, None, 1, True),
    "var": lambda n, x: n.var(x, None, None, None, 2),
    "var_where": lambda n, x: n.var(x, 1, where=x > 0, ddof=1),
    "std_where": lambda n, x: n.std(x, 0, keepdims=True, where=x > -1, correction=1),
    "all": lambda n, x: n.all(x, 0, None, True),
    "any_where": lambda n, x: n.any(x, 1, where=x > 3),
    "argmax": lambda n, x: n.argmax(x, 1),
    "argmin": lambda n, x: n.argmin(x, 0, None, keepdims=True),
    "count_nonzero": lambda n, x: n.count_nonzero(x, 1),
    "concat": lambda n, x: n.concat([x, x], 1),
    "concat_dtype": lambda n, x: n.concat([x, x], dtype=np.float16),
    "stack": lambda n, x: n.stack([x, x], -1),
    "take": lambda n, x: n.take(x, I, 0),
    "take_mode": lambda n, x: n.take(x, I * 9, 1, None, "wrap"),
    "roll": lambda n, x: n.roll(x, 1, 0),
    "repeat": lambda n, x: n.repeat(x, 2, 1),
    "sort": lambda n, x: n.sort(x, 0, "stable"),
    "argsort": lambda n, x: n.argsort(x, 1, "mergesort", stable=None),
    "split": lambda n, x: n.stack(n.split(x, 3, 1)),
    "array_split": lambda n, x: n.concat(n.array_split(x, 3, 0), 0),
    "diff": lambda n, x: n.diff(x, 2),
    "diff_all": lambda n, x: n.diff(x, 1, 0, x[:1], x[:1]),
    "flip": lambda n, x: n.flip(x, 0),
    "expand_dims": lambda n, x: n.expand_dims(x, 0),
    "triu": lambda n, x: n.triu(x, 1),
    "tril": lambda n, x: n.tril(x, -1),
    "reshape": lambda n, x: n.reshape(x, (6, 4), "C"),
    "permute_dims": lambda n, x: n.permute_dims(x),
    "moveaxis": lambda n, x: n.moveaxis(x, 0, 1),
    "tile": lambda n, x: n.tile(x, (2, 1)),
    "unstack": lambda n, x: n.stack(n.unstack(x, axis=1)),
    "take_along_axis": lambda n, x: n.take_along_axis(x[:2], I, 1),
    "compress": lambda n, x: n.compress([True, False, True], x, 1),
    "searchsorted": lambda n, x: n.searchsorted(n.sort(n.reshape(x, (-1,))), x, "right"),
    "unravel_index": lambda n, x: n.stack(n.unravel_index(I, (2, 3), "F")),
    "ravel_multi_index": lambda n, x: n.ravel_multi_index((I, I), (3, 9), "wrap", "F"),
    "broadcast_to": lambda n, x: n.broadcast_to(x, (2, 4, 6), False),
    "pad": lambda n, x: n.pad(x, 1, "edge"),
    "round": lambda n, x: n.round(x / 3, 1),
    "clip": lambda n, x: n.clip(x, -1, 2.5),
    "clip_names": lambda n, x: n.clip(x, a_min=0, a_max=2),
    "cumulative_sum": lambda n, x: n.cumulative_sum(x, axis=0, include_initial=True),
    "vecdot": lambda n, x: n.vecdot(x, x),
    "add": lambda n, x: n.add(x, x),
    "zeros": lambda n, x: n.zeros((3, 4), np.float32),
    "ones": lambda n, x: n.ones(3, np.int8, "C"),
    "full": lambda n, x: n.full((2, 3), 1.0, np.float32),
    "zeros_like": lambda n, x: n.zeros_like(x, np.int16),
    "ones_like": lambda n, x: n.ones_like(x, shape=(2, 2)),
    "full_like": lambda n, x: n.full_like(x, 3, np.uint8, "K", True, (5,)),
    "eye": lambda n, x: n.eye(3, 5, 1, np.float32),
    "eye_names": lambda n, x: n.eye(N=2, M=3, dtype=np.float16),
    "arange": lambda n, x: n.arange(1, 9, 2, np.int32),
    "arange_stop": lambda n, x: n.arange(stop=5, dtype=np.int32),
    "linspace": lambda n, x: n.linspace(0, 1, 5, False, False, np.float32),
    "asarray": lambda n, x: n.asarray(x, np.float16, "C"),
    "array": lambda n, x: n.array([1, 2], np.int8, ndmin=3),
    "meshgrid": lambda n, x: n.concat(n.meshgrid(x[0], x[1], sparse=True, copy=False), None),
    "names": lambda n, x: n.sum(a=n.flip(m=n.concat(arrays, 0) if (arrays := [x]) else x), axis=0),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_calls_by_position(device: dml.Device, name: str) -> None:
    expected = np.asarray(CALLS[name](np, A))
    made = CALLS[name](dnp, device.tensor(A))
    assert made.shape == expected.shape
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5)


@pytest.mark.gpu
def test_a_distance_is_told_beside_the_line() -> None:
    made, step = dnp.linspace(0, 1, 5, True, True)
    assert (made.tolist(), step) == ([0, 0.25, 0.5, 0.75, 1], 0.25)


INTO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda n, x, out: n.sum(x, 0, None, out),
    "max": lambda n, x, out: n.max(x, 0, out),
    "mean": lambda n, x, out: n.mean(x, 0, None, out),
    "std": lambda n, x, out: n.std(x, 0, None, out),
    "take": lambda n, x, out: n.take(x, [[0, 1, 2, 3, 4, 25]], None, out.reshape(1, 6), "wrap"),
    "concat": lambda n, x, out: n.concat([x[0, :2], x[0, 2:]], 0, out),
    "compress": lambda n, x, out: n.compress([1, 1, 0, 0, 0, 0, 1, 1, 1, 1], x[:2], None, out),
    "round": lambda n, x, out: n.round(x[0], 0, out),
    "clip": lambda n, x, out: n.clip(x[0], 0, 1, out),
    "add": lambda n, x, out: n.add(x[0], x[1], out),
    "negative": lambda n, x, out: n.negative(x[0], out),
    "tuple": lambda n, x, out: n.negative(x[0], out=(out,)),
    "vecdot": lambda n, x, out: n.vecdot(x.T, x.T, out),
    "cumulative_sum": lambda n, x, out: n.cumulative_sum(x[0], out=out),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", INTO)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_results_are_written_into_a_tensor(device: dml.Device, name: str, dtype: Any) -> None:
    into, expected = device.tensor(np.zeros(6, dtype)), np.zeros(6, dtype)
    made = INTO[name](dnp, device.tensor(A), into)
    INTO[name](np, A, expected)
    assert made is into or made.storage is into.storage
    np.testing.assert_allclose(into.numpy(), expected, rtol=1e-3)


@pytest.mark.gpu
def test_what_a_result_cannot_be_written_into(device: dml.Device) -> None:
    x, six = device.tensor(A), device.tensor(np.zeros(6, np.int32))
    with pytest.raises(TypeError, match="casting rule 'same_kind'"):
        dnp.sum(x, 0, None, six)
    with pytest.raises(ValueError, match=r"max: out has the shape \(6,\); the result has \(4,\)"):
        dnp.max(x, 1, six)
    with pytest.raises(TypeError, match="argmax: out is ndarray; a result on the GPU is written"):
        dnp.argmax(x, 1, np.zeros(4, np.int32))
    assert dnp.argmax(x, 0, six) is six


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: dnp.zeros(3, None, "F"), "zeros: order is 'F'; a tensor has no other than 'C'"),
        (lambda x: dnp.ones_like(x, None, "F"), "order is 'F'"),
        (lambda x: dnp.reshape(x, (6, 4), "F"), "reshape: order is 'F'"),
        (lambda x: dnp.sort(x, 0, None, "name"), "sort: a tensor takes no argument order"),
        (lambda x: dnp.sort(x, 0, True), "sort: kind is True; it must be one of quicksort, heap"),
        (lambda x: dnp.std(x, 0, ddof=1, correction=2), "ddof is 1 and correction is 2"),
        (lambda x: dnp.var(x, 0, np.int32), "var: dtype is int32; variances are floats"),
        (lambda x: dnp.var(x, 0, np.float64), "var: float64 is a storage type"),
        (lambda x: dnp.clip(x, 1, a_min=2), "a_min is min and a_max is max"),
        (lambda x: dnp.concat([x], 0, x, dtype=np.int8), "concat: out and dtype are given"),
        (lambda x: dnp.concat([x], dtype=np.int8), "is not cast to int8 by the rule 'same_kind'"),
        (lambda x: dnp.pad(x, 1, "reflect", reflect_type="odd"), "reflect_type is 'odd'"),
        (lambda x: dnp.linspace(0, 1, 5, True, False, None, 2), "axis"),
        (lambda x: dnp.arange(), "arange: stop is missing"),
        (lambda x: dnp.can_cast(x, np.int8, "sometimes"), "can_cast: casting is 'sometimes'"),
        (lambda x: dnp.all(x, 0, None, False, initial=1), "initial"),
    ],
)
def test_what_is_refused_by_name(device: dml.Device, call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, dml.UnsupportedError), match=message):
        call(device.tensor(A))
