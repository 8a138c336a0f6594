"""Values that come from the host or go where NumPy sends them: as NumPy has them, bit for bit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

Change = Callable[[Any], None]


@pytest.mark.parametrize(
    ("dtype", "change"),
    [
        ("int32", lambda x: operator.setitem(x, slice(None), [16777217.0, 1.0])),
        ("int64", lambda x: operator.setitem(x, [0, 1], [2.0**40 + 1, -7.9])),
        ("uint32", lambda x: operator.setitem(x, np.array([True, True]), [16777217.0, 1.5])),
        ("float64", lambda x: operator.setitem(x, slice(None), [1 / 3, 0.1])),
        ("float64", lambda x: np.put(x, [0], 1 / 3)),
        ("float64", lambda x: np.put_along_axis(x, np.array([0]), 1 / 3, 0)),
        ("float16", lambda x: operator.setitem(x, slice(None), [2049.0000001, 0.1])),
    ],
)
def test_numbers_reach_the_type_of_the_target(
    device: dml.Device, dtype: str, change: Change
) -> None:
    expected = np.zeros(2, dtype)
    x = device.tensor(expected)
    change(expected)
    change(x)
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize(
    ("dtype", "change"),
    [
        ("uint8", lambda x: operator.setitem(x, slice(None), [300, 1])),
        ("uint8", lambda x: operator.setitem(x, [0], [-5])),
        ("int32", lambda x: operator.setitem(x, slice(None), [2**40, 1])),
        ("int64", lambda x: operator.setitem(x, slice(None), [2**63, 1])),
        ("uint8", lambda x: np.put(x, [0], 300)),
        ("uint8", lambda x: np.put_along_axis(x, np.array([0]), -1, 0)),
    ],
)
def test_integers_beyond_the_type_are_refused(
    device: dml.Device, dtype: str, change: Change
) -> None:
    x = device.tensor(np.ones(2, dtype))
    with pytest.raises(OverflowError, match=f"out of bounds for {dtype}"):
        change(x)
    assert x.tolist() == [1, 1]


def test_floats_of_the_host_saturate_as_those_of_a_device(device: dml.Device) -> None:
    floats = np.array([3e10, -3e10, np.nan, 300.2, -1.5, np.inf, 9.3e18, -9.3e18])
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        expected = device.tensor(floats).astype(dtype).numpy()
        np.testing.assert_array_equal(device.tensor(floats, dtype=dtype).numpy(), expected)
        np.testing.assert_array_equal(device.tensor(floats.tolist(), dtype).numpy(), expected)
    assert dnp.linspace(0, 3e10, 3, dtype=np.int32).tolist() == [0, 2**31 - 1, 2**31 - 1]
    with pytest.raises(OverflowError, match="no integer type holds all of"):
        device.tensor([2**64, -1])


def test_float64_is_rounded_to_float16_once(device: dml.Device) -> None:
    a = np.array([2049.0000001, 2049.0, 2050.9999, 1e-8, 65519.999])
    np.testing.assert_array_equal(device.tensor(a).astype("float16").numpy(), a.astype("float16"))


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_integers_of_64_bits_are_compared_whatever_their_signs(
    device: dml.Device, name: str
) -> None:
    compare = getattr(operator, name)
    u = np.array([0, 1, 16777216, 16777217, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)[:, None]
    i = np.array([0, 1, -1, 16777217, 2**63 - 1, -(2**63)], np.int64)
    x, y = device.tensor(u), device.tensor(i)
    np.testing.assert_array_equal(compare(x, y).numpy(), compare(u, i))
    np.testing.assert_array_equal(compare(y, x).numpy(), compare(i, u))


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        (np.array([-(2**31)], "i4"), np.array([2**31 - 1], "i4"), {}),
        (np.array([5, 9], "u1"), np.array([6, 250], "u1"), {"atol": 2}),
        (np.array([True, False]), np.array([True, True]), {}),
        (np.array([16777216, 7], "i4"), np.array([16777217, 7], "i4"), {"rtol": 0, "atol": 0}),
        (np.array([1.0, np.inf, np.nan], "f4"), np.array([1.000001, np.inf, np.nan], "f4"), {}),
    ],
)
def test_what_is_close(device: dml.Device, a: Any, b: Any, options: dict[str, Any]) -> None:
    found = np.isclose(device.tensor(a), device.tensor(b), **options)
    np.testing.assert_array_equal(found.numpy(), np.isclose(a, b, **options))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ediff1d(x, to_begin=0, to_end=0),
        lambda x: np.extract([1, 0, 0, 1], x),
        lambda x: np.take(x, np.array([1, 200], "u1"), mode="clip"),
        lambda x: np.take(x, np.array([1, -3], "i1"), mode="wrap"),
        lambda x: np.meshgrid(x, x[:3], sparse=True)[0],
        lambda x: np.meshgrid(x, x[:3], sparse=True)[1],
        lambda x: np.meshgrid(x, x[:3], x[:2], sparse=True, indexing="ij")[2],
        lambda x: np.mean(x) < x,
        lambda x: np.float64(300) == x,
        lambda x: np.vecdot(x, x),
        lambda x: np.sum(x.reshape(30, 20), 0, None, None, True),
        lambda x: np.max(x.reshape(30, 20), 1, None, True),
        lambda x: np.mean(x.reshape(30, 20), 1, np.float32, None, True),
        lambda x: np.argmax(x.reshape(30, 20), 1, None),
        lambda x: np.clip(x, 1, 5, None),
        lambda x: np.reshape(x, (20, 30), "C"),
        lambda x: np.reshape(x, shape=(20, 30)),
        lambda x: np.round(x, 1, None),
        lambda x: np.take(x, [0, 1], None, None),
    ],
)
def test_numpys_functions_with_numpys_arguments(device: dml.Device, f: Any) -> None:
    a = np.arange(600, dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(f(device.tensor(a))), f(a))


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: np.ediff1d(x, to_begin=1.5), "to_begin is float64, which is not of the same"),
        (lambda x: np.extract([1] * 5, x), "out of bounds for axis 0 with size 4"),
        (lambda x: dnp.unravel_index(99, (3, 4)), "index 99 is out of bounds for a size of 12"),
        (lambda x: np.ravel_multi_index(([9], x[:1]), (3, 4)), "index 9 is out of bounds"),
        (lambda x: np.max(x, 0, x), r"max: out has the shape \(4,\); the result has \(\)"),
        (lambda x: np.median(x, 0, x), r"median: out has the shape \(4,\); the result has \(\)"),
        (lambda x: np.std(x, 0, np.int32), "std: dtype is int32; variances are floats"),
    ],
)
def test_what_is_refused(device: dml.Device, f: Any, said: str) -> None:
    x = device.tensor(np.arange(4, dtype=np.int32))
    with pytest.raises((TypeError, ValueError, IndexError), match=said):
        f(x)


def test_views_of_any_strides_are_put_into(device: dml.Device) -> None:
    a = np.arange(8, dtype=np.int32).reshape(2, 4)
    x = device.tensor(a)
    x.T.put([0, 3], [70, 80])
    a.T.put([0, 3], [70, 80])
    np.testing.assert_array_equal(x.numpy(), a)
    assert (x.item(5), x.item(1, 2)) == (a.item(5), a.item(1, 2))


def test_narrow_positions_of_large_arrays(device: dml.Device) -> None:
    i = np.array([1, 200], np.uint8)
    x = device.tensor(i)
    made = np.unravel_index(x, (30, 300))
    for axis, wanted in zip(made, np.unravel_index(i, (30, 300)), strict=True):
        np.testing.assert_array_equal(axis.numpy(), wanted)
    found = np.ravel_multi_index((x, x), (300, 1000))
    np.testing.assert_array_equal(found.numpy(), np.ravel_multi_index((i, i), (300, 1000)))


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int64"])
def test_positions_above_those_of_int32(device: dml.Device, dtype: str) -> None:
    i = np.array([3_000_000_000, 5], dtype)
    made = np.unravel_index(device.tensor(i), (1 << 16, 1 << 16))
    for axis, wanted in zip(made, np.unravel_index(i, (1 << 16, 1 << 16)), strict=True):
        np.testing.assert_array_equal(axis.numpy(), wanted)


class Scaled:
    """A program's own class with a fused method."""

    def __init__(self, by: float) -> None:
        self.by = by

    @dml.fuse
    def of(self, x: Any) -> Any:
        return x * self.by + 1


def test_methods_are_fused(device: dml.Device) -> None:
    x = device.tensor([1.0, 2.0])
    assert Scaled(2).of(x).tolist() == [3, 5]
    assert Scaled(3).of(x).tolist() == [4, 7]


def test_lists_of_large_integers_keep_their_digits(device: dml.Device) -> None:
    x = device.tensor([2**63 + 7, 1])
    assert (x.dtype, x.tolist()) == (np.uint64, [2**63 + 7, 1])
    x[:] = [2**64 - 1, 2]
    assert x.tolist() == [2**64 - 1, 2]
    assert device.tensor([2.0**63, 1]).dtype == np.float32
    with pytest.raises(OverflowError, match="no integer type holds all of"):
        device.tensor([2**63 + 7, -1])
    assert dnp.full(2, 2**63 + 1).tolist() == [2**63 + 1] * 2


def test_lists_of_tensors_and_numbers_have_the_tensors_type(device: dml.Device) -> None:
    half, one = device.tensor(np.float16(0.5)), device.tensor(1)
    for given, wanted in (
        ([half, 1.0], np.float16),
        ([one, 2], np.int64),
        ([[one, one], [1, 2]], np.int64),
        ([one, 0.5], np.float32),
        ([np.int8(3), 2], np.int8),
        ([np.float64(1), 2], np.float32),
        ([half, np.float64(1)], np.float16),
        (np.float64(1), np.float32),
        (np.array([1.0, 2.0]), np.float64),
    ):
        assert device.tensor(given).dtype == wanted


def test_tensors_of_two_devices_do_not_mix(device: dml.Device) -> None:
    x = device.tensor([1.0, 2.0])
    with dml.Device(device.adapter) as other:
        y = other.tensor([3.0, 4.0])
        for use in (
            lambda: np.concatenate([x, y]),
            lambda: np.isin(x, y),
            lambda: np.insert(x, 0, y),
            lambda: np.diff(x, prepend=y),
            lambda: np.fill_diagonal(x.reshape(1, 2), y),
            lambda: np.put_along_axis(x, np.array([0, 1]), y, 0),
            lambda: np.select([x > 1], [x], y[0]),
            lambda: np.full_like(x, y[0]),
            lambda: np.array(y, like=x),
            lambda: np.full(3, y[0], like=x),
            lambda: x + y,
            lambda: dml.element_wise_add(x, y),
            lambda: dml.join([x, y], axis=0),
            lambda: dml.join([[1.0], y, x], axis=0),
        ):
            with pytest.raises(dml.BindingError, match=r"of two devices are given|another device"):
                use()
        assert dnp.asarray(y, device=device).device is device


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([np.int8(1), 300], np.int64([1, 300])),
        ([np.uint8(1), -1], np.int64([1, -1])),
        ([np.int8(1), 2**40], np.int64([1, 2**40])),
        ([np.float16(1), 1e10], np.float32([1, 1e10])),
        ([np.uint64(2**63 + 1), 5], np.uint64([2**63 + 1, 5])),
        ([np.int64(2**62 + 1), 0.5], np.float32([2**62, 0.5])),
        ([np.array(5, ">i4"), 1], np.int32([5, 1])),
        ([np.array([1.0, 2.0], ">f4"), [1, 2]], np.float32([[1, 2], [1, 2]])),
        (range(2**63, 2**63 + 2), np.uint64([2**63, 2**63 + 1])),
        ([[], []], np.zeros((2, 0), np.float32)),
    ],
)
def test_numbers_in_lists_are_held(device: dml.Device, given: Any, wanted: np.ndarray) -> None:
    """Beside arrays as beside each other, in the machine's byte order."""
    made = device.tensor(given)
    assert made.dtype == wanted.dtype
    np.testing.assert_array_equal(made.numpy(), wanted)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([np.uint64(2**63 + 1), -1], "no integer type holds all of"),
        ([np.int64(1), 2**63], "no integer type holds all of"),
        ([-(2**70), 1], "no integer type holds all of"),
        ([np.timedelta64(3, "s"), 1], "has no DirectML type"),
        (["a", 1], "must be numbers"),
        ([None, np.int8(1)], "must be numbers"),
    ],
)
def test_lists_that_no_type_holds(device: dml.Device, given: Any, words: str) -> None:
    with pytest.raises(dml.DmlError, match=words):
        device.tensor(given)


def test_floats_hold_integers_of_every_size(device: dml.Device) -> None:
    far = [2**63, -1]
    x = device.tensor([1.0, 2.0])
    wanted = np.float32([2**63, -1])
    np.testing.assert_array_equal(device.tensor(far, np.float32).numpy(), wanted)
    np.testing.assert_array_equal((x + far).numpy(), np.float32([2**63, 1]))
    assert (x == far).tolist() == [False, False]
    x[...] = far
    np.testing.assert_array_equal(x.numpy(), wanted)
    np.testing.assert_array_equal(device.tensor([-(2**70), 1], "float16").numpy(), [-np.inf, 1])
    with pytest.raises(OverflowError, match="float32 does not hold all of"):
        device.tensor([10**400, 1], np.float32)


def test_arange_counts_in_the_type_of_its_arguments(device: dml.Device) -> None:
    for wanted, *given in (
        (np.uint64([2**63, 2**63 + 1]), 2**63, 2**63 + 2),
        (np.int64([2**40]), 2**40, 2**40 + 1),
        (np.float32([0, 0.5, 1]), 0, np.float32(1.5), np.float32(0.5)),
        (np.int64([]), 0),
    ):
        made = dnp.arange(*given, device=device)
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made.numpy(), wanted)
    x = device.tensor([1])
    for made in (np.arange(10, step=4, like=x), np.arange(stop=10, step=4, like=x)):
        assert made.tolist() == [0, 4, 8]
