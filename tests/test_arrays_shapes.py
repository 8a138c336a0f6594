"""Tensors of no dimensions and without elements, bool, Python numbers, assignment."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

DTYPES = [np.dtype(bool), *(dml.DataType(n).numpy for n in range(1, 12))]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_dimensions(device: dml.Device, dtype: np.dtype[Any]) -> None:
    a = np.array(1, dtype)
    x = device.tensor(a)
    assert (x.shape, x.ndim, x.size, x.strides, x.nbytes) == ((), 0, 1, (), dtype.itemsize)
    assert x.desc.sizes == (1,)
    assert (x.item(), x.tolist(), x.numpy().shape, x.dtype) == (a.item(), a.item(), (), dtype)
    for same in (x.copy(), x.T, x.squeeze(), x.reshape(()), x[()], x[...], copy.deepcopy(x)):
        assert (same.shape, same.dtype, same.item()) == ((), dtype, a.item())
    assert x[None].shape == x.reshape(1).shape == x.expand_dims(0).shape == (1,)
    assert x.expand_dims((0, 1)).shape == x.reshape(1, 1).shape == (1, 1)
    assert x.broadcast_to(2, 3).tolist() == np.broadcast_to(a, (2, 3)).tolist()
    assert device.tensor(np.ones((1, 1), dtype)).squeeze().shape == ()
    assert device.tensor(np.ones(3, dtype))[1].shape == ()
    for wrong in (len, iter):
        with pytest.raises(TypeError, match="no dimensions"):
            wrong(x)
    with pytest.raises(IndexError):
        x[0]


def test_conversion_to_python(device: dml.Device) -> None:
    x = device.tensor([[1, 2, 3], [4, 5, 6]])
    assert operator.index(x[0, 1]) == 2
    assert list(range(7))[x[1, 0]] == 4
    assert (int(x[0, 0]), float(x[0, 0]), complex(x[0, 1]), bool(x[0, 0])) == (1, 1.0, 2 + 0j, True)
    assert f"{x[0, 1]:03d} {x[1, 2] / 4:.2f}" == "002 1.50"
    assert f"{x}" == str(x)
    assert x.item(1, 2) == 6
    assert [row.tolist() for row in x] == x.tolist()
    assert 5 in x
    assert 7 not in x
    for wrong in (lambda: operator.index(x), lambda: float(x), lambda: complex(x)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        format(x, ".2f")
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match="scalar index"):
        operator.index(device.tensor(1.0))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 2)])
def test_no_elements(device: dml.Device, shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, np.int16)
    x = device.tensor(a)
    assert (x.shape, x.size, x.dtype, x.nbytes, x.ndim) == (shape, 0, np.int16, 0, len(shape))
    assert x.tolist() == a.tolist()
    assert x.tobytes() == b""
    uses = [
        *(lambda v: v.T, lambda v: v + 1, lambda v: v * 1.5, lambda v: v == v, lambda v: -v),
        *(lambda v: v.reshape(-1), lambda v: v[..., None], lambda v: v[:, ...], lambda v: v[:0]),
        *(lambda v: v.sum(), lambda v: v.sum(0), lambda v: v.prod(), lambda v: v.any()),
        *(lambda v: v.all(-1), lambda v: v.astype(bool), lambda v: v.copy(), lambda v: v.squeeze()),
        *(lambda v: np.concatenate([v, v]), lambda v: v.flatten(), lambda v: v.mean(axis=0)),
    ]
    for use in uses:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of the mean of nothing
            wanted = np.asarray(use(a))
        made = use(x)
        assert made.shape == wanted.shape
        assert np.array_equal(made.numpy(), wanted, equal_nan=wanted.dtype.kind == "f")
    for extreme in (lambda: x.max(), lambda: x.min(), lambda: x.argmax()):
        with pytest.raises(ValueError, match=r"no identity|empty sequence"):
            extreme()
    for reach in (lambda: x.desc, lambda: x.buffer, lambda: dml.element_wise_abs(x)):
        with pytest.raises(dml.InvalidDescError, match="never reaches the GPU"):
            reach()
    assert pickle.loads(pickle.dumps(x)).shape == shape
    assert "shape=" in repr(x)


def test_bool_goes_through_everything(device: dml.Device) -> None:
    a = np.array([[True, False, True], [False, False, True]])
    x = device.tensor(a)
    assert (x.dtype, x.desc.data_type, x.itemsize) == (np.bool_, dml.DataType.UINT8, 1)
    uses = [
        *(lambda v: v.T, lambda v: v[0], lambda v: v[:, ::-1], lambda v: v.copy()),
        *(lambda v: v.reshape(3, 2), lambda v: v.ravel(), lambda v: ~v, lambda v: v & v[0]),
        *(lambda v: v | True, lambda v: v ^ v.T[0, 0], lambda v: v == v, lambda v: v + v),
        *(lambda v: v * v, lambda v: v.take([1, 0], 0), lambda v: v.squeeze(), lambda v: v.all(1)),
        *(lambda v: v.any(), lambda v: v.max(0), lambda v: v.astype(np.float32).astype(bool)),
        *(
            lambda v: np.broadcast_to(v, (2, 2, 3)),
            lambda v: np.flip(v, 1),
            lambda v: v.astype(int),
        ),
    ]
    for use in uses:
        wanted = use(a)
        made = use(x)
        assert made.dtype == wanted.dtype
        assert np.array_equal(made.numpy(), wanted)
        assert made.numpy().dtype == wanted.dtype
    assert (x.sum().dtype, x.sum().item()) == (np.int64, 3)
    assert (x + 1).dtype == np.int64
    assert device.tensor([True, False]).dtype == np.bool_
    assert device.tensor(np.array([0.0, np.nan, -0.0, 2])).astype(bool).tolist() == [0, 1, 0, 1]
    with pytest.raises(TypeError):
        x - x
    with pytest.raises(TypeError):
        operator.neg(x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_astype(device: dml.Device, dtype: np.dtype[Any]) -> None:
    for source in DTYPES:
        a = np.array([[0, 1, 2], [3, 100, 1]]).astype(source)
        made = device.tensor(a).astype(dtype)
        assert made.dtype == dtype
        assert np.array_equal(made.numpy(), a.astype(dtype))
    x = device.tensor(np.ones(2, dtype))
    assert x.astype(dtype, copy=False) is x
    assert x.astype(dtype) is not x


def test_pickled_and_copied(device: dml.Device) -> None:
    for dtype in DTYPES:
        x = device.tensor(np.ones((2, 3), dtype)).T
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(x, protocol))
            assert (again.dtype, again.shape, again.tolist()) == (dtype, (3, 2), x.tolist())
    parts: list[Any] = []
    raw = pickle.dumps(x, 5, buffer_callback=parts.append)
    assert parts
    assert pickle.loads(raw, buffers=parts).tolist() == x.tolist()
    with dml.Device() as other:
        dml.set_default_device(other)
        assert pickle.loads(raw, buffers=parts).device is other
        assert x.to_device(other).device is other
        dml.set_default_device(None)


@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=4, max_side=5))
def test_indexing_and_assignment_equal_numpys(
    device: dml.Device, data: st.DataObject, shape: tuple[int, ...]
) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    a = (np.arange(np.prod(shape, dtype=int)) % 100).astype(dtype).reshape(shape)
    x = device.tensor(a)
    if data.draw(st.booleans()):
        a, x = a.T, x.T
    index = data.draw(hnp.basic_indices(a.shape, allow_newaxis=True, max_dims=6))
    picked = np.asarray(a[index])
    assert x[index].shape == picked.shape
    assert np.array_equal(x[index].numpy(), picked)
    a = a.copy()
    a[index] = 1
    x[index] = 1
    assert np.array_equal(x.numpy(), a)
    rows = (np.arange(picked.size) % 50).reshape(picked.shape).astype(np.int32)
    a[index] = rows
    x[index] = device.tensor(rows)
    assert np.array_equal(x.numpy(), a)


def test_assignment(device: dml.Device) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = device.tensor(a)
    for index, value in (
        ((slice(None, None, 2), 1), 7),
        (slice(1, 3), np.array([1, 2, 3, 4], np.int8)),
        (np.s_[::-1, ::-3], [[1.0], [2.0], [3.0]]),
        (..., 0.5),
    ):
        a[index], x[index] = value, value
        assert np.array_equal(x.numpy(), a)
    x[1:] = x[:-1]
    x[0] = x.T[:, 2]
    mask = x.numpy() > 0
    x[x > 0] = -1
    a[...] = x.numpy()
    assert (a[mask] == -1).all()
    x[mask] = 2
    assert (x.numpy()[mask] == 2).all()
    with pytest.raises(ValueError, match="could not broadcast"):
        x[0] = [1.0, 2.0]
    with pytest.raises(OverflowError):
        device.tensor(np.zeros(2, np.int8)).__setitem__(0, 1000)


def test_what_numpy_users_try_first(device: dml.Device) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = device.tensor(a)
    for got, wanted in zip(divmod(x, 2), divmod(a, 2), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
    for got, wanted in zip(divmod(7, x + 1), divmod(7, a + 1), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
    np.testing.assert_array_equal(round(x + 0.5).numpy(), (a + 0.5).round())
    np.testing.assert_array_equal(x[range(1, 2)].numpy(), a[range(1, 2)])
    assert x[range(0)].shape == (0, 3)
    assert x.var(ddof=1).item() == np.var(a, ddof=1)
    assert x.std(0, ddof=1).tolist() == np.std(a, 0, ddof=1).tolist()


def test_names_that_are_not_here_lead_on() -> None:
    with pytest.raises(
        AttributeError, match=r"zeros'; the functions of arrays are in dmlgpu\.numpy$"
    ):
        dml.zeros  # noqa: B018
    with pytest.raises(AttributeError, match=r"GEMM can be described, but is not built yet$"):
        dml.gemm  # noqa: B018
    with pytest.raises(TypeError, match="a Tensor is made by a Device"):
        dml.Tensor(np.ones(3))  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "float32"])
@pytest.mark.parametrize("shape", [(), (5,), (0,), (3, 0), (2, 3, 7)])
def test_stacks_along_every_axis(device: dml.Device, dtype: str, shape: tuple[int, ...]) -> None:
    """Narrow elements that become neighbours go another way than others."""
    size = int(np.prod(shape))
    arrays = [(np.arange(size) + k).reshape(shape).astype(dtype) for k in range(3)]
    tensors = [device.tensor(a) for a in arrays]
    for count in (1, 2, 3):
        for axis in range(-len(shape) - 1, len(shape) + 1):
            made, wanted = dnp.stack(tensors[:count], axis=axis), np.stack(arrays[:count], axis)
            assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_array_equal(made.numpy(), wanted)
