"""Operators of Tensor against NumPy's: types, Python numbers, broadcasting, layouts, in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dmlgpu as dml

pytestmark = [pytest.mark.gpu, pytest.mark.facts]

Binary = Callable[[Any, Any], Any]
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [np.dtype(np.float16), np.dtype(np.float32)]
NUMBERS = [*INTEGERS, *FLOATS]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor]


def numbers(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int = 0) -> npt.NDArray[Any]:
    """Small numbers of every sign that a type has, none of them 0."""
    values = np.random.default_rng(seed).integers(1, 12, shape)
    signs = 1 if dtype.kind == "u" else np.random.default_rng(seed + 1).choice([-1, 1], shape)
    scale = 0.5 if dtype.kind == "f" else 1
    return (values * signs * scale).astype(dtype)


def narrowed(expected: Any) -> npt.NDArray[Any]:
    """NumPy's result in the types that are computed with: float32 in place of float64."""
    made = np.asarray(expected)
    return made.astype(np.float32) if made.dtype == np.float64 else made


def same(result: dml.Tensor, expected: Any, ulps: int = 0) -> None:
    wanted = narrowed(expected)
    assert isinstance(result, dml.Tensor)
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    got = np.asarray(result)
    if ulps and wanted.dtype.kind == "f":
        np.testing.assert_array_max_ulp(got, wanted, ulps)
    else:
        assert np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f"), (got, wanted)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("use", ARITHMETIC, ids=lambda f: f.__name__)
def test_arithmetic_of_one_type(device: dml.Device, use: Binary, dtype: np.dtype[Any]) -> None:
    a, b = numbers((3, 5), dtype), numbers((3, 5), dtype, 2)
    same(use(device.tensor(a), device.tensor(b)), use(a, b))
    same(use(device.tensor(a).T, device.tensor(b).T), use(a.T, b.T))
    same(use(device.tensor(a), 3), use(a, 3))
    same(use(3, device.tensor(a)), use(3, a))
    same(use(device.tensor(a), b[0]), use(a, b[0]))
    same(use(a[:, :1], device.tensor(b)), use(a[:, :1], b))


@pytest.mark.parametrize("dtype", [np.dtype(bool), *NUMBERS], ids=str)
@pytest.mark.parametrize("use", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons(device: dml.Device, use: Binary, dtype: np.dtype[Any]) -> None:
    a, b = numbers((4, 6), dtype), numbers((6,), dtype, 2)
    same(use(device.tensor(a), device.tensor(b)), use(a, b))
    same(use(device.tensor(a), 2), use(a, 2))
    if dtype.kind == "f":
        a[0, :3] = np.nan, np.inf, -0.0
        b[:3] = np.nan, np.inf, 0.0
        same(use(device.tensor(a), device.tensor(b)), use(a, b))


@pytest.mark.parametrize("value", [300, -1, 2**40, 2**63, -(2**63), 2**70, -(2**70)])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_beyond_a_type_compare_rightly(
    device: dml.Device, dtype: np.dtype[Any], value: int
) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, 0, 1, info.max], dtype)
    for use in COMPARISONS:
        same(use(device.tensor(a), value), [use(int(n), value) for n in a])


@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS], ids=str)
def test_bits(device: dml.Device, dtype: np.dtype[Any]) -> None:
    a, b = numbers((17,), dtype), numbers((17,), dtype, 2)
    x, y = device.tensor(a), device.tensor(b)
    for use in BITS:
        same(use(x, y), use(a, b))
    same(~x, ~a)
    if dtype.kind != "b":
        counts = np.arange(17).astype(dtype)
        width = dtype.itemsize * 8
        for use in (operator.lshift, operator.rshift):
            same(use(x, device.tensor(counts)), use(a, counts))
            same(use(x, width - 1), use(a, width - 1))


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_division_powers_and_signs(device: dml.Device, dtype: np.dtype[Any]) -> None:
    a, b = numbers((9,), dtype), numbers((9,), dtype, 2)
    x, y = device.tensor(a), device.tensor(b)
    wide = dtype if dtype.kind == "f" else np.dtype(np.float32)
    same(x / y, a.astype(wide) / b.astype(wide), ulps=3)
    same(x / 2, (a.astype(wide) / np.float32(2)).astype(wide), ulps=3)
    powers = np.arange(9).astype(dtype) % 4
    same(x ** device.tensor(powers), a**powers, ulps=4)
    same(x**2, a**2)
    same(2 ** y.astype(np.float32), np.float32(2) ** b.astype(np.float32), ulps=4)
    same(+x, +a)
    same(-x, -a)
    same(abs(x), abs(a))


@pytest.mark.parametrize("first", [np.dtype(bool), *NUMBERS], ids=str)
def test_promotion_is_numpys_without_float64(device: dml.Device, first: np.dtype[Any]) -> None:
    for second in [np.dtype(bool), *NUMBERS]:
        made = device.tensor(np.ones(2, first)) * device.tensor(np.ones(2, second))
        wanted = np.result_type(first, second)
        assert made.dtype == (np.float32 if wanted == np.float64 else wanted), (first, second)
    x = device.tensor(np.ones(2, first))
    assert (x * True).dtype == first
    assert (x * 1).dtype == (np.int64 if first.kind == "b" else first)
    assert (x * 1.0).dtype == (first if first.kind == "f" else np.float32)
    assert (np.float32(1) * x).dtype == np.float32
    with pytest.raises(TypeError):
        x * 1j


def test_integers_that_do_not_fit_raise_as_numpys_do(device: dml.Device) -> None:
    x = device.tensor(np.ones(2, np.uint8))
    for wrong in (lambda: x + 256, lambda: -1 * x, lambda: x // 2**70):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            wrong()
    with pytest.raises(ValueError, match="negative integer powers"):
        x.astype(np.int8) ** -1


def test_division_by_zero(device: dml.Device) -> None:
    a = np.array([-3, 0, 3, -128], np.int8)
    x, zero = device.tensor(a), device.tensor(np.zeros(4, np.int8))
    with np.errstate(all="ignore"):
        same(x // zero, a // np.int8(0))
        same(x % zero, a % np.int8(0))
        same(x // np.int8(-1), a // np.int8(-1))
    f = device.tensor(np.array([-3.5, 0.0, 3.5], np.float32))
    assert (f / 0).tolist()[::2] == [-np.inf, np.inf]
    assert np.isnan((f / 0).numpy()[1])
    assert (f // 0).tolist()[::2] == [-np.inf, np.inf]
    assert np.isnan((f % 0).numpy()).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_floor_division_and_remainder_of_floats(device: dml.Device, dtype: Any) -> None:
    some = np.array([-7.5, -1.25, -0.0, 0.0, 0.3, 1, 6.75, 1000], dtype)
    a, b = (v.reshape(-1) for v in np.meshgrid(some, some[[0, 1, 4, 5, 6, 7]]))
    same(device.tensor(a) // device.tensor(b), a // b)
    same(device.tensor(a) % device.tensor(b), a % b)
    assert np.array_equal(
        np.signbit((device.tensor(a) % device.tensor(b)).numpy()), np.signbit(a % b)
    )


def test_float64_is_a_storage_type(device: dml.Device) -> None:
    x = device.tensor(np.array([1.5, -2.5]))
    assert x.dtype == np.float64
    assert x[::-1].tolist() == [-2.5, 1.5]
    assert x.astype(np.float32).astype(np.int32).tolist() == [1, -2]
    for use in (lambda: x + 1, lambda: x == x, lambda: -x, lambda: x.sum(), lambda: np.ones(2) + x):
        with pytest.raises(dml.UnsupportedError, match=r"astype\(np.float32\)"):
            use()


def test_products_of_matrices(device: dml.Device) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = device.tensor(a)
    assert (x @ x.T).tolist() == (a @ a.T).tolist()
    assert (a @ x.T).tolist() == (a @ a.T).tolist()
    with pytest.raises(ValueError, match="matmul"):
        x @ x
    square = x[:, 1:]
    square @= [[0, 1], [1, 0]]
    a[:, 1:] = a[:, :0:-1]
    assert x.tolist() == a.tolist()


def test_what_no_operator_takes_is_refused_by_python(device: dml.Device) -> None:
    x = device.tensor([[1.0]])
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert (x == None) is False  # noqa: E711 - as for any two objects that know nothing
    with pytest.raises(TypeError):
        x + "a"


IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod),
    *(operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift),
]


@pytest.mark.parametrize("use", IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_writes_into_the_same_memory(device: dml.Device, use: Any) -> None:
    a, b = numbers((4, 6), np.dtype(np.uint8)), numbers((6,), np.dtype(np.uint8), 3)
    x = device.tensor(a)
    view = x.T
    y = use(x, device.tensor(b))
    same(y, use(a.copy(), b))
    assert y is x
    assert np.array_equal(view.numpy(), x.numpy().T)
    use(view, 2)
    assert np.array_equal(view.numpy(), x.numpy().T)


def test_in_place_follows_numpys_rules(device: dml.Device) -> None:
    x = device.tensor(np.arange(6, dtype=np.int32).reshape(2, 3))
    with pytest.raises(TypeError, match="same_kind"):
        x += 1.5
    with pytest.raises(TypeError, match="same_kind"):
        x /= 2
    with pytest.raises(ValueError, match="non-broadcastable output"):
        x += np.ones((2, 2, 3), np.int32)
    with pytest.raises(ValueError, match="read-only"):
        x[0].broadcast_to(2, 3).__iadd__(1)
    half = device.tensor(np.ones(3, np.float16))
    half += device.tensor(np.array([0.5, 1, 2], np.float32))
    assert (half.dtype, half.tolist()) == (np.float16, [1.5, 2, 3])
    square = device.tensor(np.arange(9, dtype=np.float32).reshape(3, 3))
    square += square.T  # overlapping views: as if the right side were read first
    assert square.tolist() == (lambda a: a + a.T)(np.arange(9.0).reshape(3, 3)).tolist()


@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_random_operands_equal_numpys(device: dml.Device, data: st.DataObject) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4))
    a, b = (
        numbers(shape, data.draw(st.sampled_from(NUMBERS)), seed)
        for seed, shape in enumerate(shapes.input_shapes)
    )
    x, y = device.tensor(a), device.tensor(b)
    if a.ndim and data.draw(st.booleans()):
        index = data.draw(hnp.basic_indices(a.shape, allow_newaxis=False, allow_ellipsis=False))
        a, x = np.asarray(a[index]), x[index]
    if data.draw(st.booleans()):
        a, x = a.T, x.T
    use = data.draw(st.sampled_from(ARITHMETIC + COMPARISONS))
    try:
        wide = np.result_type(a, b)
        in_32 = np.float32 if wide == np.float64 else wide
        with np.errstate(all="ignore"):
            expected = use(a.astype(in_32), b.astype(in_32))
    except ValueError:
        with pytest.raises(dml.InvalidDescError, match="could not be broadcast"):
            use(x, y)
        return
    same(use(x, y), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_uint64_is_compared_exactly(device: dml.Device, dtype: Any) -> None:
    high = int(np.iinfo(dtype).max)
    unsigned = [0, 5, high - 1, high, high + 1, 2**64 - 1]
    signed = [-1, 5, high, high - 1, high, -high]
    u = device.tensor(np.array(unsigned, np.uint64))
    i = device.tensor(np.array(signed, dtype))
    pairs = list(zip(unsigned, signed, strict=True))
    assert (u == i).tolist() == [a == b for a, b in pairs]
    assert (u < i).tolist() == [a < b for a, b in pairs]
    assert (i >= u).tolist() == [b >= a for a, b in pairs]
    assert dml.fuse(lambda x, y: x > y)(u, i).tolist() == [a > b for a, b in pairs]
