"""dmlgpu.numpy against NumPy: functions, special values, creation, types, statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.array.functions import FUNCTIONS

pytestmark = [pytest.mark.gpu, pytest.mark.facts, pytest.mark.large]

NUMPYS = {"atan2": "arctan2", "pow": "power", "abs": "absolute", "bitwise_invert": "invert"} | {
    f"a{n}": f"arc{n}" for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
}
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, 2.5, -2.5, 3, 100, -7.25, 1e-3],
    np.float32,
)
UNARY = sorted(n for n, f in FUNCTIONS.items() if f.arity == 1 and n != "erf")
FLOAT_BINARY = ["atan2", "copysign", "hypot", "logaddexp", "nextafter", "maximum", "minimum"]
BINARY = [*FLOAT_BINARY, "pow", "divide", "add", "subtract", "multiply", "fmod"]


def numpys(name: str) -> Any:
    return getattr(np, NUMPYS.get(name, name))


def close(got: npt.NDArray[Any], wanted: npt.NDArray[Any], ulps: int = 4) -> None:
    """Within some units in the last place or 1e-6; special values the same."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if got.dtype.kind != "f":
        assert np.array_equal(got, wanted)
        return
    assert np.array_equal(np.isnan(got), np.isnan(wanted)), (got, wanted)
    ends = np.isinf(wanted)
    assert np.array_equal(got[ends], wanted[ends]), (got, wanted)
    rest = np.isfinite(wanted)
    with np.errstate(over="ignore"):
        room = np.maximum(ulps * np.spacing(np.abs(wanted[rest])), 1e-6)
    assert (np.abs(got[rest] - wanted[rest]) <= room).all(), (got[rest], wanted[rest])


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_functions_of_floats(device: dml.Device, name: str, dtype: Any) -> None:
    if name == "bitwise_invert":
        return
    a = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        wanted = numpys(name)(a.astype(np.float64)).astype(bool)
        if not FUNCTIONS[name].is_truth:
            wanted = numpys(name)(a.astype(np.float64)).astype(dtype)
    got = getattr(dnp, name)(device.tensor(a)).numpy()
    close(got, wanted)
    if name in ("round", "trunc", "ceil", "floor", "abs", "negative", "positive", "sqrt"):
        some = ~np.isnan(wanted)
        assert np.array_equal(np.signbit(got[some]), np.signbit(wanted[some]))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_functions_of_two_floats(device: dml.Device, name: str, dtype: Any) -> None:
    grid = np.meshgrid(SPECIAL.astype(dtype), SPECIAL.astype(dtype))
    a, b = (v.reshape(-1).astype(dtype) for v in grid)
    with np.errstate(all="ignore"):
        exact = name == "nextafter"
        wanted = numpys(name)(*(v if exact else v.astype(np.float64) for v in (a, b))).astype(dtype)
    close(getattr(dnp, name)(device.tensor(a), device.tensor(b)).numpy(), wanted)


@pytest.mark.parametrize("name", ["abs", "ceil", "floor", "trunc", "round", "square", "sign"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_functions_of_integers(device: dml.Device, name: str, dtype: Any) -> None:
    a = np.array([0, 1, 2, 7, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    close(getattr(dnp, name)(device.tensor(a)).numpy(), numpys(name)(a))
    assert dnp.sin(device.tensor(a)).dtype == np.float32
    assert not dnp.isnan(device.tensor(a)).numpy().any()


def test_the_namespace_exports_functions_types_and_constants_alone() -> None:
    for name in dnp.__all__:
        value = getattr(dnp, name)
        if value is getattr(np, name, None) or name in ("bool", "e"):
            continue  # types, constants, and what NumPy says of types
        if callable(value) or name in ("lib", "linalg", "random"):
            assert getattr(value, "__module__", value.__name__).startswith("dmlgpu.numpy"), name
        else:
            assert name.startswith("__array_") or name in ("mgrid", "ogrid")
    assert set(dnp.__all__) >= {"__array_api_version__", "__array_namespace_info__", "newaxis"}
    assert set(dnp.__all__).isdisjoint({"of_version", "array_function", "array_ufunc"})


def test_every_name_of_the_standard_is_there() -> None:
    for name in FUNCTIONS:
        assert callable(getattr(dnp, name))


def test_creation(device: dml.Device) -> None:
    on = {"device": device}
    for made, wanted in (
        (dnp.zeros((2, 3), **on), np.zeros((2, 3), np.float32)),
        (dnp.ones(4, dtype=np.int8, **on), np.ones(4, np.int8)),
        (dnp.full((2,), 7, **on), np.full(2, 7)),
        (dnp.full((), 2.5, **on), np.float32(2.5)),
        (dnp.full((3,), True, **on), np.ones(3, bool)),
        (dnp.full(2, 2**40, **on), np.full(2, 2**40)),
        (dnp.arange(5, **on), np.arange(5)),
        (dnp.arange(1.0, 2.0, 0.25, **on), np.arange(1, 2, 0.25, np.float32)),
        (dnp.arange(5, 0, -2, dtype=dnp.uint8, **on), np.array([5, 3, 1], np.uint8)),
        (dnp.linspace(0, 1, 5, **on), np.linspace(0, 1, 5, dtype=np.float32)),
        (dnp.linspace(0, 4, 4, endpoint=False, **on), np.arange(4, dtype=np.float32)),
        (dnp.linspace(-3, 2, 7, dtype=np.int8, **on), np.linspace(-3, 2, 7, dtype=np.int8)),
        (dnp.eye(3, 4, k=1, **on), np.eye(3, 4, 1, np.float32)),
        (dnp.asarray([[1, 2], [3, 4]], **on), np.array([[1, 2], [3, 4]])),
        (dnp.asarray(2.5, **on), np.float32(2.5)),
        (dnp.asarray([True], **on), np.array([True])),
        (dnp.asarray(np.ones(2), **on), np.ones(2)),
        (dnp.asarray([1, 2], dtype=dnp.float16, **on), np.array([1, 2], np.float16)),
        (dnp.empty((0, 2), **on), np.empty((0, 2), np.float32)),
    ):
        assert made.device is device
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        assert np.array_equal(made.numpy(), wanted)
    x = device.tensor(np.arange(24, dtype=np.int16).reshape(2, 3, 4))
    a = x.numpy()
    assert np.array_equal(dnp.tril(x, k=1).numpy(), np.tril(a, 1))
    assert np.array_equal(dnp.triu(x, k=-1).numpy(), np.triu(a, -1))
    assert (dnp.zeros_like(x).dtype, dnp.ones_like(x).shape) == (np.int16, (2, 3, 4))
    for indexing in ("xy", "ij"):
        ours = dnp.meshgrid(x[0, 0], x[0, :, 0], x[:, 0, 0], indexing=indexing)
        theirs = np.meshgrid(a[0, 0], a[0, :, 0], a[:, 0, 0], indexing=indexing)  # type: ignore[call-overload]
        assert all(np.array_equal(m.numpy(), n) for m, n in zip(ours, theirs, strict=True))
    assert device.tensor([2**40]).dtype == np.int64
    assert dnp.asarray(x) is x
    assert dnp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy is False"):
        dnp.asarray([1], copy=False)
    with pytest.raises(OverflowError):
        device.tensor([300], np.uint8)


def test_data_types() -> None:
    assert dnp.result_type(dnp.int8, dnp.uint8) == np.int16
    assert dnp.result_type(np.int8, "uint8") == dnp.result_type(np.int8(1), np.uint8) == np.int16
    assert dnp.result_type(dnp.int32, dnp.float32) == np.float32
    assert dnp.result_type(dnp.int8, 1, True) == np.int8
    assert dnp.result_type(dnp.uint8, 1.5) == np.float32
    assert dnp.finfo(dnp.float32).eps == np.finfo(np.float32).eps
    assert dnp.iinfo(dnp.int8).min == -128
    assert dnp.isdtype(dnp.float32, "real floating")
    assert dnp.isdtype(dnp.uint8, ("bool", "integral"))
    assert not dnp.isdtype(dnp.bool, "numeric")
    assert dnp.can_cast(dnp.int8, dnp.int16)
    assert not dnp.can_cast(dnp.float32, dnp.int32)
    info = dnp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 8,
    }
    assert info.default_dtypes()["integral"] == np.int64
    assert "float32" in info.dtypes(kind="real floating")
    assert dnp.ones(1).__array_namespace__() is dnp
    assert dnp.ones(1).__array_namespace__(api_version="2023.12") is dnp
    with pytest.raises(ValueError, match="api_version"):
        dnp.ones(1).__array_namespace__(api_version="1999.01")


def test_manipulation(device: dml.Device) -> None:
    a = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    x = device.tensor(a)
    for ours, theirs in (
        (dnp.concat([x, x[:, :1]], axis=1), np.concatenate([a, a[:, :1]], 1)),
        (dnp.concat([x, x.astype(np.float32)], axis=None), np.concatenate([a, a * 1.0], None)),
        (dnp.stack([x, x], axis=-1), np.stack([a, a], -1)),
        (dnp.roll(x, (1, -2), axis=(0, 2)), np.roll(a, (1, -2), (0, 2))),
        (dnp.roll(x, 5), np.roll(a, 5)),
        (dnp.repeat(x, 3, axis=1), np.repeat(a, 3, 1)),
        (dnp.repeat(x, np.array([1, 0, 2]), axis=1), np.repeat(a, [1, 0, 2], 1)),
        (dnp.tile(x, (2, 1, 3)), np.tile(a, (2, 1, 3))),
        (dnp.tile(x[0], (2, 2, 1)), np.tile(a[0], (2, 2, 1))),
        (dnp.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(a, (0, 1), (2, 0))),
        (dnp.permute_dims(x, (2, 0, 1)), a.transpose(2, 0, 1)),
        (dnp.matrix_transpose(x), a.swapaxes(1, 2)),
        (dnp.unstack(x, axis=1)[2], a[:, 2]),
        (dnp.expand_dims(x, axis=-1), a[..., None]),
        (dnp.flip(x, axis=(0, 2)), np.flip(a, (0, 2))),
        (dnp.take(x, device.tensor(np.array([1, 0])), axis=1), a[:, [1, 0]]),
        (dnp.diff(x, axis=1), np.diff(a, axis=1)),
        (dnp.diff(x, n=2, prepend=x[..., :1]), np.diff(a, n=2, prepend=a[..., :1])),
        (dnp.where(x > 5, x, -1), np.where(a > 5, a, -1)),
        (dnp.clip(x, 3, 9), np.clip(a, 3, 9)),
        (dnp.vecdot(x, x), (a * a).sum(-1)),
    ):
        assert ours.shape == theirs.shape
        assert np.array_equal(ours.numpy(), theirs)
    with pytest.raises(ValueError, match="concat"):
        dnp.concat([x, x[0]])


AXES: list[Any] = [None, 0, 1, -1, (0, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_statistics(device: dml.Device, dtype: Any, axis: Any) -> None:
    a = (np.arange(60) * 7 % 11 - 3) if dtype not in (bool, np.uint16) else np.arange(60) % 3
    a = a.astype(dtype).reshape(3, 4, 5)
    x = device.tensor(a)
    for keep in (False, True):
        for name in ("sum", "prod", "max", "min", "all", "any"):
            if name == "prod" and a.dtype.kind == "f":
                continue
            wanted = getattr(np, name)(a, axis=axis, keepdims=keep)
            got = getattr(dnp, name)(x, axis=axis, keepdims=keep)
            assert got.shape == wanted.shape
            kind = got.dtype
            assert np.array_equal(got.numpy(), np.asarray(wanted).astype(kind)), name
        for name in ("mean", "var", "std"):
            wanted = getattr(np, name)(a.astype(np.float64), axis=axis, keepdims=keep)
            got = getattr(dnp, name)(x, axis=axis, keepdims=keep)
            assert got.shape == wanted.shape
            assert got.dtype == (a.dtype if a.dtype.kind == "f" else np.float32)
            room = 2e-3 if dtype == np.float16 else 2e-6
            assert np.allclose(got.numpy(), wanted, rtol=room, atol=room), name
        counted = dnp.count_nonzero(x, axis=axis, keepdims=keep)
        assert np.array_equal(counted.numpy(), np.count_nonzero(a, axis=axis, keepdims=keep))
    assert x.sum().dtype == (a.sum().dtype if a.dtype.kind in "biu" else a.dtype)


def test_positions_and_running_sums(device: dml.Device) -> None:
    a = (np.arange(60) * 7 % 11).astype(np.float32).reshape(3, 4, 5)
    x = device.tensor(a)
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1, -1):
            got = getattr(dnp, name)(x, axis=axis)
            assert got.dtype == np.int64
            assert np.array_equal(got.numpy(), getattr(np, name)(a, axis=axis))
            kept = getattr(dnp, name)(x, axis=axis, keepdims=True)
            assert kept.shape == getattr(np, name)(a, axis=axis, keepdims=True).shape
    small = device.tensor(a.astype(np.uint8))
    sums = dnp.cumulative_sum(small, axis=1)
    assert sums.dtype == np.uint64
    assert np.array_equal(sums.numpy(), a.cumsum(1))
    with_first = dnp.cumulative_sum(x, axis=0, include_initial=True)
    assert with_first.shape == (4, 4, 5)
    assert np.array_equal(with_first[1:].numpy(), a.cumsum(0))
    ones = dnp.cumulative_prod(dnp.ones(3, dtype=np.int8), include_initial=True)
    assert ones.tolist() == [1, 1, 1, 1]
    assert (x > 3).cumsum(0).dtype == np.int64
    assert np.array_equal(x.round().numpy(), a.round())
    assert x.clip(2, 5).max().item() == 5


@pytest.mark.parametrize(
    "wanted", [bool, np.int8, np.uint8, np.int16, np.uint16, np.int64], ids=str
)
def test_running_totals_have_the_type_asked_for(device: dml.Device, wanted: Any) -> None:
    for a in (np.arange(-7, 40, dtype=np.int16), np.zeros((0, 2), np.int16), np.arange(5) > 3):
        x = device.tensor(a)
        for name in ("cumsum", "cumprod"):
            made = getattr(x, name)(0, dtype=wanted)
            assert made.dtype == wanted
            assert made.tolist() == getattr(a, name)(0, dtype=wanted).tolist()


@pytest.mark.parametrize("decimals", range(-4, 3))
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float32])
def test_rounding_to_tens_and_decimals(device: dml.Device, dtype: Any, decimals: int) -> None:
    if np.dtype(dtype).kind == "f":
        a = np.arange(-60000, 60000, 5).astype(dtype)
    else:
        ends = np.iinfo(dtype).min, np.iinfo(dtype).max
        a = np.arange(max(ends[0], -26000), min(ends[1], 26000), dtype=dtype)
    found = device.tensor(a).round(decimals)
    assert found.dtype == dtype
    assert np.array_equal(found.numpy(), a.round(decimals))


def test_rounding_of_integers_is_exact(device: dml.Device) -> None:
    a = [2**63 - 801, 2**62 + 5, -(2**62) - 5, 15, 25, -15, -25, 0]
    x = device.tensor(np.array(a, np.int64))
    for decimals in (-1, -3, -17):
        assert x.round(decimals).tolist() == [round(n, decimals) for n in a]
    assert x.round(-30).tolist() == [0] * len(a)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_nan_is_the_extreme(device: dml.Device, dtype: Any) -> None:
    a = np.array([[1, np.nan, 3], [4, 5, 6]], dtype)
    x = device.tensor(a)
    for name in ("max", "min"):
        for axis in (None, 0, 1):
            wanted = getattr(a, name)(axis=axis)
            assert np.array_equal(getattr(x, name)(axis=axis).numpy(), wanted, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "shape"), [(np.float32, (2, 3000)), (np.float32, (3000, 8)), (np.float16, (6, 5))]
)
def test_nan_reaches_every_result_of_its_line(
    device: dml.Device, dtype: Any, shape: tuple[int, ...]
) -> None:
    a = (np.arange(np.prod(shape)) * 37 % 101 - 50).astype(dtype).reshape(shape)
    a[-1, -2] = a[-1, -1] = np.nan
    x = device.tensor(a)
    for name in ("max", "min", "argmax", "argmin", "mean"):
        for axis in (None, 0, 1):
            wanted = getattr(a.astype(np.float32), name)(axis=axis)
            got = getattr(x, name)(axis=axis).numpy()
            if name.startswith("arg"):
                assert np.array_equal(got, wanted)
            else:
                assert np.array_equal(np.isnan(got), np.isnan(wanted)), (name, axis)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
def test_a_reduction_is_one_call(device: dml.Device, dtype: str) -> None:
    x = device.tensor((np.arange(24) % 3).reshape(4, 6).astype(dtype))
    names = ["all", "any", "argmax", "max", "mean", "min", "prod", "std", "sum", "var"]
    with device.profile() as p:
        for name in names:
            getattr(x, name)(1)
            getattr(x, name)()
    assert [call.name for call in p.calls] == [name for name in names for _ in range(2)]


def test_arguments_of_reductions_are_read_each_time(device: dml.Device) -> None:
    x = device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.sum(1).tolist() == x.sum([1]).tolist() == x.sum((-1,)).tolist() == [3, 12]
    for wrong in (1.0, (1.0,), "1", [0, 0], 2, (1, True)):
        with pytest.raises(dml.DmlError):
            x.sum(wrong)  # type: ignore[arg-type]
    assert x.sum(()).tolist() == x.tolist()
    assert x.var(1, 1).tolist() == [1, 1]
    assert x.var(1, 3.0).tolist() == [np.inf, np.inf]
    assert x.var(()).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert x[0, 2].argmax().tolist() == 0
    assert x[0, 2].std().tolist() == 0
    assert x.sum(dtype=np.int8).dtype == np.int8
    assert (x * 100).sum(dtype="int8").item() == 1500 - 6 * 256 + 0
    assert x.max(0).shape == (3,)
    assert x.max(0, keepdims=True).shape == (1, 3)


def test_a_remembered_scan_is_that_of_its_shape(device: dml.Device) -> None:
    assert device.tensor([3]).cumsum(0).tolist() == [3]
    with pytest.raises(dml.AxisError):
        device.tensor(3).cumsum(0)
    assert device.tensor([True]).cumsum(0).dtype == np.int64
