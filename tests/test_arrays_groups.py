"""Groups of rows, windows over neighbours, and what else NumPy's programs make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu
window_view = np.lib.stride_tricks.sliding_window_view


def alike(got: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8"])
def test_rows_are_changed_as_often_as_they_are_named(
    device: dml.Device, dtype: str, name: str
) -> None:
    rng, function = np.random.default_rng(0), getattr(np, name)
    for shape, count in (((7,), 30), ((5, 3), 17), ((1,), 1), ((4,), 0), ((3, 2, 2), 100)):
        x = rng.integers(0, 9, shape).astype(dtype)
        index = rng.integers(-shape[0], shape[0], count)
        values = rng.integers(1, 3, (count, *shape[1:])).astype(dtype)
        for given in (values, values[:1] if count else values, 2):
            wanted, got = x.copy(), device.tensor(x)
            function.at(wanted, index, given)
            on_gpu = device.tensor(given) if isinstance(given, np.ndarray) else given
            function.at(got, device.tensor(index), on_gpu)
            alike(got, wanted)


def test_what_at_does_not_take_is_said(device: dml.Device) -> None:
    x = device.tensor([1, 2, 3])
    for use, words in (
        (lambda: np.add.at(x, [3], 1), "out of bounds"),
        (lambda: np.add.at(x, [0.5], 1), "they must be integers"),
        (lambda: np.add.at(np.zeros(3), device.tensor([0]), 1), "must be a Tensor"),
        (lambda: np.add.at(x, [0, 1], device.tensor([1, 2, 3])), "broadcast"),
    ):
        with pytest.raises(dml.DmlError, match=words):
            use()
    assert x.tolist() == [1, 2, 3]


def test_windows_are_views(device: dml.Device) -> None:
    x = np.arange(63, dtype=np.float32).reshape(7, 9)
    tensor = device.tensor(x)
    alike(window_view(tensor, (2, 3)), window_view(x, (2, 3)))
    alike(window_view(tensor, 4, axis=1).mean(-1), window_view(x, 4, axis=1).mean(-1))
    alike(window_view(tensor.T, (2, 2)).max((-2, -1)), window_view(x.T, (2, 2)).max((-2, -1)))
    with pytest.raises(dml.InvalidDescError, match="larger than axis 0 of 7"):
        window_view(tensor, (8, 1))
    with pytest.raises(dml.InvalidDescError, match="as many"):
        window_view(tensor, 3)
    with pytest.raises(dml.InvalidDescError, match="read-only"):
        window_view(tensor, (2, 2))[0, 0] = 1


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(9, 3), (9, 4), (3, 9), (4, 9), (6, 6), (1, 1), (1, 5)])
def test_lines_slide_along_each_other(
    device: dml.Device, sizes: tuple[int, int], mode: Any
) -> None:
    rng = np.random.default_rng(sum(sizes))
    for dtype in (np.float32, np.int32):
        a, v = (rng.integers(-9, 9, n).astype(dtype) for n in sizes)
        x, y = device.tensor(a), device.tensor(v)
        alike(np.convolve(x, y, mode), np.convolve(a, v, mode))
        alike(np.correlate(x, v, mode), np.correlate(a, v, mode))
    with pytest.raises(dml.InvalidDescError, match="both must be lines"):
        np.convolve(x[:0], y)


def test_order_statistics_without_nan(device: dml.Device) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((8, 11)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = np.nan
    tensor = device.tensor(x)
    for axis in (None, 0, 1, (0, 1)):
        alike(np.nanmedian(tensor, axis=axis), np.nanmedian(x, axis=axis))
        shares = [0.1, 0.5, 0.93]
        alike(np.nanquantile(tensor, shares, axis=axis), np.nanquantile(x, shares, axis=axis))
        got = np.nanpercentile(tensor, 30, axis=axis, keepdims=True)
        alike(got, np.nanpercentile(x, 30, axis=axis, keepdims=True))
    alike(np.nanmedian(tensor[:1, :1] * np.nan), np.nan)
    alike(np.nanmedian(device.tensor([3, 1, 2])), 2)


def test_several_keys_polynomials_and_pairs(device: dml.Device) -> None:
    rng = np.random.default_rng(4)
    keys = rng.integers(0, 3, (3, 40)).astype(np.int32)
    alike(np.lexsort(tuple(map(device.tensor, keys))), np.lexsort(keys))
    alike(np.lexsort(device.tensor(keys)), np.lexsort(keys))
    p, x = np.float32([2, -1, 0.5]), rng.random((3, 4), np.float32)
    alike(np.polyval(p, device.tensor(x)), np.polyval(p, x))
    for function in (np.add, np.maximum, np.less):
        got = function.outer(device.tensor(keys), device.tensor(p))
        np.testing.assert_array_equal(got.numpy(), function.outer(keys, p))


def test_elements_named_by_several_indices(device: dml.Device) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 9, (4, 5, 2)).astype(np.float32)
    i, j = rng.integers(-4, 4, 30), rng.integers(0, 5, 30)
    mask = rng.random((4, 5)) < 0.5
    cases: list[tuple[Any, Any]] = [
        ((i, j), 2.0),
        ((i, j), rng.random((30, 2)).astype(np.float32)),
        ((i[:, None], j[None, :3]), 1),
        ((1, 2), 5),
        ((i,), 1),
        ((slice(1, 3),), 1),
        (slice(None), 1),
        ((..., 1), 1),
        (mask, 3),
        ([], 1),
    ]
    for index, values in cases:
        for function in (np.add, np.subtract, np.maximum):
            wanted, got = x.copy(), device.tensor(x)
            function.at(wanted, index, values)
            function.at(got, index, values)
            alike(got, wanted)
    counts = device.tensor(np.zeros((3, 3), np.int32))
    np.add.at(counts, (device.tensor([0, 1, 0]), device.tensor([0, 1, 0])), 1)
    assert counts.tolist() == [[2, 0, 0], [0, 1, 0], [0, 0, 0]]
    for use, words in (
        (lambda: np.add.at(counts, (slice(None), [0, 0]), 1), "beside slices"),
        (lambda: np.add.at(counts, [0], 2.5), "Cannot cast"),
        (lambda: np.add.at(counts, [5], 1), "index 5 is out of bounds for axis 0 with size 3"),
    ):
        with pytest.raises(dml.DmlError, match=words):
            use()


def test_infinite_taps_meet_no_padding(device: dml.Device) -> None:
    a, v = np.float32([1, 1, 2, 3, 4]), np.float32([1, np.inf, 2])
    for mode in ("full", "same", "valid"):
        got = np.convolve(device.tensor(a), v, mode)
        np.testing.assert_array_equal(got.numpy(), np.convolve(a, v, mode))


def test_helpers_of_float64_are_rounded(device: dml.Device) -> None:
    """Kernels, grids, weights and coefficients are made by NumPy, which makes float64."""
    x = np.float32([0, 1, 2.5, 4])
    tensor = device.tensor(x)
    alike(np.convolve(tensor, np.ones(3) / 3, "same"), np.convolve(x, np.ones(3) / 3, "same"))
    grid = np.linspace(0, 5, 4)
    alike(np.interp(tensor, grid, np.arange(4.0)), np.interp(x, grid, np.arange(4.0)))
    assert np.isin(tensor, np.array([1.0, 2.4999999999])).tolist() == [False, True, False, False]
    weights = np.array([0.5, 1, 2])
    alike(np.bincount(device.tensor([0, 1, 1]), weights=weights), [0.5, 3])
    line = np.polyfit([0, 1, 2], [1, 3, 7], 2)
    alike(np.polyval(line, tensor), np.polyval(line, x))


def test_quantiles_of_equal_infinities_and_long_lines(device: dml.Device) -> None:
    for x in ([np.inf, np.inf, -1, np.nan, np.inf], [-3e38, 3e38], [-np.inf, np.nan, np.inf, 1]):
        given = np.float32(x)
        alike(np.nanmedian(device.tensor(given)), np.nanmedian(given))
    alike(np.median(device.tensor(np.float16([60000, 60000]))), 60000)
    long = np.concatenate([np.zeros(100001, np.float32), np.full(99999, 1e6, np.float32)])
    got = np.nanquantile(device.tensor(long), 0.500002501)
    np.testing.assert_allclose(got.numpy(), np.quantile(long.astype(float), 0.500002501), rtol=1e-3)
    with pytest.raises(dml.InvalidDescError, match="same shape"):
        np.lexsort((device.tensor([2, 1]), device.tensor([3, 1, 2])))


def test_products_and_norms_of_vectors(device: dml.Device) -> None:
    rng = np.random.default_rng(6)
    for dtype in (np.float32, np.int32):
        a, b = (rng.integers(-5, 5, 6).astype(dtype) for _ in range(2))
        m = rng.integers(-5, 5, (3, 4)).astype(dtype)
        x, y, grid = (device.tensor(each) for each in (a, b, m))
        for function in (np.dot, np.inner, np.vdot):
            alike(function(x, y), function(a, b))
        alike(np.dot(x, 2), np.dot(a, 2))
        alike(np.vdot(grid, grid), np.vdot(m, m))
        for order in (None, 1, 2, np.inf, -np.inf, 0, 3):
            alike(np.linalg.norm(x, order), np.linalg.norm(a.astype(np.float32), order))
            wanted = np.linalg.norm(m.astype(np.float32), order, axis=1, keepdims=True)
            alike(np.linalg.norm(grid, order, axis=1, keepdims=True), wanted)
        alike(np.linalg.norm(grid), np.linalg.norm(m.astype(np.float32)))
    for use, words in (
        (lambda: np.dot(grid, grid), r"dot: shapes \(3, 4\) and \(3, 4\) differ"),
        (lambda: np.linalg.norm(grid, 2), "ord 2 of matrices"),
    ):
        with pytest.raises((dml.UnsupportedError, dml.InvalidDescError), match=words):
            use()


def test_what_is_written_out_is_read(device: dml.Device, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = device.tensor(x)
    np.save(tmp_path / "one.npy", tensor)
    np.savez(tmp_path / "two.npz", tensor, more=tensor[0])
    np.savetxt(tmp_path / "three.txt", tensor)
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), x)
    np.testing.assert_array_equal(np.load(tmp_path / "two.npz")["more"], x[0])
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "three.txt"), x)
    assert np.array2string(tensor) == np.array2string(x)
    assert np.real(tensor) is tensor
    assert not np.imag(tensor).any()


def test_lists_beside_integers_are_integers(device: dml.Device) -> None:
    x = device.tensor(np.int32([1, 2, 2**24 + 1]))
    for made, wanted in (
        (np.convolve(x, [1, 1]), np.convolve([1, 2, 2**24 + 1], [1, 1])),
        (np.dot(x, [1, 0, 1]), 2**24 + 2),
        (np.polyval([1, 0], x), [1, 2, 2**24 + 1]),
    ):
        assert made.dtype == np.int64
        np.testing.assert_array_equal(made.numpy(), wanted)
    assert np.isin(x, [2, 2**24]).tolist() == [False, True, False]
