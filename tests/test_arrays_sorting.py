"""Sorting, searching and sets of arrays: NumPy's results for every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = [pytest.mark.gpu, pytest.mark.facts]

DTYPES = ["bool"]
DTYPES += [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES += ["float16", "float32", "float64"]


def some(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """So few values that many are equal, and those of floats that are special."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        values = [0.0, -0.0, 1.5, -2.5, 7.0, np.inf, -np.inf, np.nan]
        return rng.choice(values, shape).astype(dtype)
    low = 0 if dtype.startswith("u") else -20
    return rng.integers(low, 20, shape).astype(dtype)


def same(found: Any, want: Any, dtype: Any = None) -> None:
    """The same elements of the same type, zeros with their signs."""
    got, want = found.numpy(), np.asarray(want)
    assert (got.dtype, got.shape) == (dtype or want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((7,), -1), ((3, 50), 0), ((4, 3, 20), 1), ((4, 3, 20), None), ((0,), 0), ((3, 0), 1)],
)
def test_sort_and_argsort_are_numpys(
    device: dml.Device, dtype: str, shape: tuple[int, ...], axis: int | None
) -> None:
    x = some(dtype, shape)
    t = device.tensor(x)
    same(dnp.sort(t, axis=axis), np.sort(x, axis=axis, kind="stable"))
    same(dnp.argsort(t, axis=axis), np.argsort(x, axis=axis, kind="stable"))
    same(np.sort(t, axis=axis), np.sort(x, axis=axis, kind="stable"))
    same(np.argsort(t, axis), np.argsort(x, axis, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_falling_order_keeps_equal_elements_in_theirs(device: dml.Device, dtype: str) -> None:
    x = some(dtype, (5, 60))
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape)  # one for all NaN, above the rest
    want = np.argsort(-rank, axis=1, kind="stable")
    t = device.tensor(x)
    same(dnp.argsort(t, axis=1, descending=True), want)
    same(dnp.sort(t, axis=1, descending=True), np.take_along_axis(x, want, 1))


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
def test_a_number_is_in_order(device: dml.Device, dtype: str) -> None:
    x = device.tensor(some(dtype, ()))
    same(dnp.sort(x), x.numpy())
    same(dnp.argsort(x), np.int64(0))


def test_the_methods_are_numpys(device: dml.Device) -> None:
    """`sort` is in place and gives nothing, also through a view."""
    x = some("int16", (6, 9))
    t, view = device.tensor(x), device.tensor(x)
    same(t.argsort(axis=0), np.argsort(x, axis=0, kind="stable"))
    same(t.argsort(axis=None), np.argsort(x, axis=None, kind="stable"))
    t.sort(axis=0)
    same(t, np.sort(x, axis=0))
    view.T.sort()
    same(view, np.sort(x.T).T)
    with pytest.raises(dml.InvalidDescError, match="axis"):
        device.tensor(np.float32(1)).sort()
    with pytest.raises(dml.InvalidDescError, match="axis"):
        dnp.sort(t, axis=2)
    wrongs: list[Any] = [np.sort, np.argsort, dml.Tensor.sort, dml.Tensor.argsort]
    for wrong in wrongs:
        with pytest.raises(dml.InvalidTypeError, match="order"):
            wrong(t, order="x")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_numpys(device: dml.Device, dtype: str, side: Any) -> None:
    x, v = some(dtype, (37,)), some(dtype, (5, 6), 1)
    order = np.argsort(x, kind="stable")
    line = x[order]
    t, values = device.tensor(line), device.tensor(v)
    same(dnp.searchsorted(t, values, side=side), np.searchsorted(line, v, side))
    same(np.searchsorted(t, values, side), np.searchsorted(line, v, side))
    for narrow in (np.int64, np.uint32, np.int8):
        sorter = device.tensor(order.astype(narrow))
        found = dnp.searchsorted(device.tensor(x), values, side=side, sorter=sorter)
        same(found, np.searchsorted(x, v, side, order))


def test_searchsorted_of_mixed_types_views_and_nothing(device: dml.Device) -> None:
    line, v = np.arange(0, 40, 2, dtype=np.int16), np.array([[3.5, -1], [100, 4]], np.float32)
    same(dnp.searchsorted(device.tensor(line), v), np.searchsorted(line, v))
    columns = device.tensor(np.arange(12, dtype=np.int32).reshape(4, 3)).T
    same(
        dnp.searchsorted(columns.reshape(-1)[:4], columns),
        np.searchsorted(
            np.arange(12).reshape(4, 3).T.reshape(-1)[:4], np.arange(12).reshape(4, 3).T
        ),
    )
    same(dnp.searchsorted(np.empty(0, np.int32), [1, 2]), [0, 0])
    same(dnp.searchsorted([1, 2], 2), np.int64(1))
    same(dnp.searchsorted([1, 2], np.empty((0, 3), np.int32)), np.empty((0, 3), np.int64))
    refused: list[tuple[Any, Any, str]] = [
        ([[1]], {}, "dimensions"),
        ([1, 2], {"side": "top"}, "side"),
        ([1, 2], {"sorter": [0]}, "sorter"),
        ([1, 2], {"sorter": [0.5, 1.5]}, "sorter"),
    ]
    for x, named, told in refused:
        with pytest.raises(dml.DmlError, match=told):
            dnp.searchsorted(x, [1], **named)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 9), (300,), (1,), (), (0,), (2, 0)])
def test_unique_is_numpys(device: dml.Device, dtype: str, shape: tuple[int, ...]) -> None:
    x = some(dtype, shape)
    t = device.tensor(x)
    everything = dnp.unique_all(t)
    want = np.unique(x, True, True, True, equal_nan=False)
    for found, expected, kind in zip(everything, want, (x.dtype, *[np.int64] * 3), strict=True):
        same(found, expected, kind)
    same(dnp.unique_values(t), want[0])
    same(dnp.unique_counts(t).counts, want[3])
    same(dnp.unique_inverse(t).inverse_indices, want[2])
    once = np.unique(x, True, True, True)
    for found, expected in zip(np.unique(t, True, True, True), once, strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(np.unique(t).numpy(), once[0])


def test_unique_along_an_axis_is_refused(device: dml.Device) -> None:
    with pytest.raises(dml.InvalidTypeError, match="axis"):
        np.unique(device.tensor([[1, 2]]), axis=0)
