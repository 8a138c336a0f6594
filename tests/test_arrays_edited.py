"""NumPy's functions that change arrays in places, differences, and further element-wise ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = [pytest.mark.gpu, pytest.mark.facts]

RNG = np.random.default_rng(1)
FLOATS = RNG.standard_normal((4, 5, 3)).astype(np.float32)
ARRAYS = {
    "floats": FLOATS,
    "integers": RNG.integers(-5, 5, (4, 5, 3)).astype(np.int32),
    "halves": FLOATS.astype(np.float16),
    "special": np.array([[[np.nan, np.inf, 0.0, -0.0]], [[-np.inf, 2, 0.5, -2.5]]], np.float32),
}


def same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    assert isinstance(got, dml.Tensor)
    assert got.shape == wanted.shape
    tolerance = 3e-3 if got.dtype == np.float16 else 1e-6
    np.testing.assert_allclose(got.numpy(), wanted, tolerance, tolerance)


EACH: list[Any] = [
    np.deg2rad,
    np.degrees,
    np.radians,
    np.rad2deg,
    np.fabs,
    lambda x: np.heaviside(x, 0.5),
    lambda x: np.heaviside(x, x[::-1]),
    lambda x: np.fmax(x, x[::-1]),
    lambda x: np.fmin(x, x[::-1]),
    lambda x: np.modf(x.astype(np.float32)),
]


@pytest.mark.parametrize("function", EACH)
@pytest.mark.parametrize("array", ARRAYS)
def test_element_wise(device: dml.Device, array: str, function: Any) -> None:
    a = ARRAYS[array]
    same(function(device.tensor(a)), function(a))


def test_quotients_and_remainders(device: dml.Device) -> None:
    for array in ("floats", "integers"):
        a = ARRAYS[array]
        same(np.divmod(device.tensor(a), 3), np.divmod(a, 3))
        same(np.divmod(7, device.tensor(np.abs(a) + 1)), np.divmod(7, np.abs(a) + 1))


ALONG: list[Any] = [
    np.gradient,
    lambda x: np.gradient(x, 0.5),
    lambda x: np.gradient(x, 1.0, 2.0, 3.0),
    lambda x: np.gradient(x, axis=1),
    lambda x: np.gradient(x, 2.0, axis=(0, -1)),
    lambda x: np.gradient(x, edge_order=2),
    lambda x: np.cross(x, x[::-1]),
    lambda x: np.cross(x, x[0]),
    lambda x: np.cross(x[:3], x[1:], axisa=0, axisb=0, axisc=1),
    lambda x: np.cross(x[:3], x[1:], axis=0),
    lambda x: np.delete(x, 1),
    lambda x: np.delete(x, [0, -1], 1),
    lambda x: np.delete(x, slice(1, 9, 2), 1),
    lambda x: np.delete(x, np.array([True, False, True]), 2),
    lambda x: np.delete(x, [], 0),
    lambda x: np.delete(x, slice(None), 0),
    lambda x: np.insert(x, 2, 7),
    lambda x: np.insert(x, 5, [1, 2]),
    lambda x: np.insert(x, [0, 3, 3], [7, 8, 9]),
    lambda x: np.insert(x, 60, 1),
    lambda x: np.insert(x, 1, 5, axis=1),
    lambda x: np.insert(x, [1, 5], 5, axis=1),
    lambda x: np.insert(x, [4, 0], [[[1]], [[2]]], axis=0),
    lambda x: np.insert(x, -1, [1, 2, 3], axis=1),
    lambda x: np.insert(x, slice(0, 2), [[[1, 2, 3]]], axis=0),
    lambda x: np.insert(x[:, :, 0], 1, [4, 5, 6, 7], axis=1),
    lambda x: np.insert(x[:, :, 0], [1], [[4], [5], [6], [7]], axis=1),
    lambda x: np.insert(x[:, :, 0], 1, [[1], [2], [3], [4]], axis=1),
    lambda x: np.insert(x[:, :, 0], [1, 2], [[4, 5]], axis=1),
    lambda x: np.insert(x[:0], 0, 3, axis=0),
    lambda x: np.insert(x, [], 5, axis=1),
]


@pytest.mark.parametrize("function", ALONG)
@pytest.mark.parametrize("array", ["floats", "integers", "halves"])
def test_along_axes(device: dml.Device, array: str, function: Any) -> None:
    a = ARRAYS[array]
    same(function(device.tensor(a)), function(a))


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3), (3, 3, 3), (0, 3)])
@pytest.mark.parametrize("value", [7, [1, 2], np.arange(9)])
def test_diagonals_are_filled(device: dml.Device, sizes: tuple[int, ...], value: Any) -> None:
    a = RNG.integers(0, 9, sizes).astype(np.int16)
    x = device.tensor(a)
    np.fill_diagonal(a, value)
    np.fill_diagonal(x, value)
    assert np.array_equal(x.numpy(), a)


def test_python_numbers_take_the_type_of_the_array(device: dml.Device) -> None:
    for dtype, number in ((np.int8, 300), (np.uint8, -1), (np.uint64, -1)):
        a = np.zeros((2, 2), dtype)
        for write in (lambda x, n: np.insert(x, 0, n), np.fill_diagonal):
            for x in (a, device.tensor(a)):
                with pytest.raises(OverflowError, match=f"out of bounds for {a.dtype}"):
                    write(x, number)
    for number in (0.1, 1e300):
        wanted = np.insert(np.ones(2), 0, number)
        assert np.array_equal(np.insert(device.tensor(np.ones(2)), 0, number).numpy(), wanted)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda x: np.delete(x, 9, 1), IndexError, "np.delete: index 9 is out of bounds for an ax"),
        (lambda x: np.delete(x, np.array([True]), 1), ValueError, r"mask has the shape \(1,\); it"),
        (lambda x: np.delete(x, 1.5), IndexError, "np.delete: obj is float64; it must be integers"),
        (lambda x: np.insert(x, 99, 1), IndexError, "np.insert: index 99 is out of bounds"),
        (lambda x: np.gradient(x[:1]), ValueError, "axis 0 has 1 elements; 2 are needed"),
        (
            lambda x: np.insert(x, [[1]], 1),
            ValueError,
            "obj has 2 dimensions; it must be a number or",
        ),
        (lambda x: np.insert(x, [], [1, 2]), ValueError, r"no place is given for values of shape"),
        (lambda x: np.gradient(x, 1.0, 2.0), TypeError, "2 distances are given for 3 axes"),
        (lambda x: np.gradient(x, "a"), TypeError, r"the distances are .*; they are numbers"),
        (lambda x: np.gradient(x > 0), TypeError, "bool has no differences"),
        (
            lambda x: np.gradient(x, np.arange(4), axis=0),
            ValueError,
            "are numbers, not coordinates",
        ),
        (lambda x: np.gradient(x, edge_order=3), ValueError, "edge_order is 3; it must be 1 or 2"),
        (
            lambda x: np.cross(x[..., :2], x[..., :2]),
            ValueError,
            "2 and 2 elements; they must have",
        ),
        (lambda x: np.fill_diagonal(x, 1), ValueError, r"the sizes \(4, 5, 3\) must be the same"),
        (lambda x: np.fill_diagonal(x[:, :, 0], 1, True), ValueError, "takes no argument wrap"),
    ],
)
def test_refusals(device: dml.Device, function: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as error:
        function(device.tensor(FLOATS))
    assert isinstance(error.value, dml.DmlError)
