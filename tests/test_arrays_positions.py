"""Positions of elements, elements by position, pieces and padding: dmlgpu.numpy beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.array.promotion import DTYPES

pytestmark = pytest.mark.gpu


def same(tensor: dml.Tensor, array: Any) -> None:
    array = np.asarray(array)
    assert (tensor.shape, tensor.dtype) == (array.shape, array.dtype)
    assert tensor.numpy().tobytes() == array.tobytes()


def sparse(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 5 % 3 * 2).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nonzero(device: dml.Device, dtype: Any) -> None:
    for shape in ((70,), (7, 11), (2, 3, 1, 9), (0, 4)):
        a = sparse(shape, dtype)
        for array, x in ((a, device.tensor(a)), (a.T, device.tensor(a).T)):
            for found, wanted in zip(x.nonzero(), np.nonzero(array), strict=True):
                same(found, wanted)
            same(dnp.flatnonzero(x), np.flatnonzero(array))
            same(dnp.argwhere(x), np.argwhere(array))
            assert dnp.count_nonzero(x).item() == np.count_nonzero(array)


def test_nonzero_of_signs_and_nothing(device: dml.Device) -> None:
    x = device.tensor(np.array([-0.0, np.nan, 0.0, 1e-45], np.float32))
    assert x.nonzero()[0].tolist() == dnp.where(x)[0].tolist() == [1, 3]
    assert [axis.tolist() for axis in (x > 2).nonzero()] == [[]]
    with pytest.raises(ValueError, match="no dimensions"):
        x[0].nonzero()
    with pytest.raises(ValueError, match="both or neither"):
        dnp.where(x, x)
    assert dnp.argwhere(x[1]).shape == (1, 0)


@pytest.mark.parametrize("dtype", [bool, np.float16, np.int32, np.float64])
def test_along_an_axis(device: dml.Device, dtype: Any) -> None:
    a = np.arange(60).reshape(3, 4, 5).astype(dtype)
    x = device.tensor(a)
    rng = np.random.default_rng(3)
    for axis, shape in ((0, (7, 4, 5)), (-1, (3, 4, 1)), (1, (1, 6, 1))):
        size = a.shape[axis]
        for kind in (np.int8, np.int64):
            picks = rng.integers(-size, size, shape).astype(kind)
            for given in (picks, device.tensor(picks)):
                same(dnp.take_along_axis(x, given, axis=axis), np.take_along_axis(a, picks, axis))
    picks = np.argsort(rng.random((3, 4, 5)), axis=1)[:, :3]
    wanted, y = a.copy(), x.copy()
    np.put_along_axis(wanted, picks, a[:, 1:], axis=1)
    dnp.put_along_axis(y, device.tensor(picks), x[:, 1:], 1)
    same(y, wanted)
    np.put_along_axis(wanted, np.array([3, 59]), 1, axis=None)
    dnp.put_along_axis(y, [3, 59], 1, axis=None)
    same(y, wanted)
    same(dnp.take_along_axis(x, [59, 0], axis=None), np.take_along_axis(a, np.array([59, 0]), None))
    same(dnp.take_along_axis(x, np.zeros((3, 0, 5), int), axis=1), a[:, :0])


def test_along_an_axis_refuses_what_numpy_refuses(device: dml.Device) -> None:
    x = device.tensor(np.zeros((2, 3), np.float32))
    for picks, error in (
        (np.array([[0.5]]), IndexError),
        (np.array([0, 1]), ValueError),
        (np.array([[3]]), IndexError),
        (np.zeros((3, 1), int), IndexError),
    ):
        with pytest.raises(error):
            np.take_along_axis(x.numpy(), picks, 1)
        for use in (dnp.take_along_axis, lambda a, i, axis: dnp.put_along_axis(a, i, 0, axis=axis)):
            with pytest.raises(error):
                use(x, picks, axis=1)
    with pytest.raises(TypeError, match="must be a Tensor"):
        dnp.put_along_axis(np.zeros(3), [0], 1, 0)


def test_take_and_its_modes(device: dml.Device) -> None:
    a = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    x = device.tensor(a)
    picks = np.array([[0, 5], [-7, 23]])
    for given in (picks, picks.tolist(), device.tensor(picks)):
        same(dnp.take(x, given), a.take(picks))
        for mode in ("clip", "wrap"):
            same(x.take(given, 1, mode), a.take(picks, 1, mode=mode))
    same(x.take(2, 1), a.take(2, 1))
    same(x.take([], 1), a.take(np.array([], int), 1))
    with pytest.raises(ValueError, match="mode"):
        x.take([0], 0, "round")


def test_compress_repeat_and_put(device: dml.Device) -> None:
    a = np.arange(12, dtype=np.uint8).reshape(3, 4)
    x = device.tensor(a)
    for condition in ([True, False, True], [0, 1], [False] * 3):
        for given in (condition, device.tensor(condition)):
            same(x.compress(given, 0), a.compress(condition, 0))
            same(dnp.compress(given, x), a.compress(condition))
    with pytest.raises(IndexError):
        x.compress([True] * 4, 0)
    with pytest.raises(ValueError, match="dimensions"):
        x.compress([[True]], 0)
    same(x.repeat(2), a.repeat(2))
    same(x.repeat([0, 3, 1], 0), a.repeat([0, 3, 1], 0))
    for places, values in (([0, -1, 5], [7, 8]), ([[3]], 1.0), ([2], [])):
        x.put(places, values)
        if np.size(values):
            a.put(places, values)
        same(x, a)
    x.T.put([1], 1)
    a.T.put([1], 1)
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad(device: dml.Device, mode: str, dtype: Any) -> None:
    a = np.arange(12).reshape(3, 4).astype(dtype)
    x = device.tensor(a)
    for width in (1, (0, 2), ((1, 0), (3, 5)), 0):
        same(dnp.pad(x, width, mode), np.pad(a, width, mode))
        same(dnp.pad(x.T, width, mode), np.pad(a.T, width, mode))


def test_pad_with_values(device: dml.Device) -> None:
    a = np.arange(6, dtype=np.int16).reshape(2, 3)
    x = device.tensor(a)
    for values in (7, (1, 2), ((1, 2), (3, 4)), -2.75):
        same(
            dnp.pad(x, ((1, 2), (2, 1)), constant_values=values),
            np.pad(a, ((1, 2), (2, 1)), constant_values=values),
        )
    same(
        dnp.pad(x[:0], ((1, 1), (0, 1)), constant_values=5),
        np.pad(a[:0], ((1, 1), (0, 1)), constant_values=5),
    )
    same(dnp.pad(x[:0], ((0, 0), (1, 1)), "edge"), np.pad(a[:0], ((0, 0), (1, 1)), "edge"))
    same(dnp.pad(x[0, 0], 3), np.pad(a[0, 0], 3))
    with pytest.raises(dml.UnsupportedError, match="constant, edge, reflect"):
        dnp.pad(x, 1, "mean")
    with pytest.raises(dml.UnsupportedError, match="reflect_type"):
        np.pad(x, 1, "reflect", reflect_type="odd")
    for width in (-1, 0.5, (1, 2, 3)):
        with pytest.raises(ValueError, match="pad_width"):
            dnp.pad(x, width)
    with pytest.raises(ValueError, match="size 0"):
        dnp.pad(x[:0], 1, "edge")
    with pytest.raises(OverflowError):
        dnp.pad(x, 1, constant_values=2**20)


def test_split(device: dml.Device) -> None:
    a = np.arange(35, dtype=np.float16).reshape(5, 7)
    x = device.tensor(a)
    for cuts, axis in ((5, 0), (7, 1), ([2, 3], 0), ([], 1), ([3, 1, 99], 1), ([-2], 1)):
        pieces = dnp.split(x, cuts, axis=axis)
        wanted = np.split(a, cuts, axis)
        assert len(pieces) == len(wanted)
        for piece, theirs in zip(pieces, wanted, strict=True):
            same(piece, theirs)
    for piece, theirs in zip(dnp.array_split(x, 3), np.array_split(a, 3), strict=True):
        same(piece, theirs)
    for cuts in (2, 0, -1):
        with pytest.raises(ValueError, match="split"):
            dnp.split(x, cuts)
    with pytest.raises(TypeError, match="integers"):
        dnp.split(x, 2.5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_positions_and_coordinates(device: dml.Device, order: str) -> None:
    sizes = (2, 3, 4)
    wanted = np.unravel_index(np.arange(24), sizes, order)  # type: ignore[call-overload]
    found = np.unravel_index(device.tensor(np.arange(24)), sizes, order)  # type: ignore[call-overload]
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    again = np.ravel_multi_index(found, sizes, order=order)  # type: ignore[call-overload]
    np.testing.assert_array_equal(again.numpy(), np.arange(24))


def test_coordinates_out_of_range_are_clamped_or_wrapped(device: dml.Device) -> None:
    pairs = (device.tensor([-1, 5]), device.tensor([1, 7]))
    assert dnp.ravel_multi_index(pairs, (4, 4)).tolist() == [1, 15]
    wrapped = np.ravel_multi_index(([-1, 5], [1, 7]), (4, 4), mode="wrap")
    assert dnp.ravel_multi_index(pairs, (4, 4), mode="wrap").tolist() == wrapped.tolist()
    with pytest.raises(dml.UnsupportedError, match="positions above those of int64"):
        dnp.ravel_multi_index((*pairs, pairs[0]), (2**31, 2**31, 4))
    far = (device.tensor([2**16 - 1]), device.tensor([2**16 - 1]))
    assert dnp.ravel_multi_index(far, (2**16, 2**16)).tolist() == [2**32 - 1]
