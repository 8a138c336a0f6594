"""Tensor as an array: attributes, views, indexing, and NumPy's words where they fit."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import oracle
from support.tables import SCAN7

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc

pytestmark = pytest.mark.gpu

SCANNED = {oracle.NUMPY_TYPES[t] for t in SCAN7}
DTYPES = st.sampled_from(sorted(oracle.NUMPY_TYPES.values(), key=str))


@pytest.fixture
def grid(device: dml.Device) -> dml.Tensor:
    return device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def values(shape: tuple[int, ...], dtype: np.dtype[Any]) -> oracle.Array:
    """-1, 0 and 1 in no simple order: sums and products are exact in every type."""
    numbers = np.arange(int(np.prod(shape))) * 7 % 11 % 3
    return (numbers - (dtype.kind != "u")).astype(dtype).reshape(shape)


@st.composite
def view_steps(draw: Any, shape: tuple[int, ...]) -> tuple[str, Any]:
    """One operation that gives another tensor, with its argument."""
    rank = len(shape)
    kinds = ["reshape", "squeeze", "index", "copy"]
    kinds += ["transpose", "flip", "take", "swapaxes"] if rank else []
    kinds += ["broadcast"] if np.prod(shape) <= 300 else []
    kinds += ["expand"] if rank < 8 else []
    kind = draw(st.sampled_from(kinds))
    axes = st.integers(-rank, rank - 1)
    if kind == "transpose":
        return kind, tuple(draw(st.permutations(range(rank))))
    if kind == "reshape":
        left, sizes = int(np.prod(shape)), []
        while left > 1 and len(sizes) < 7:
            sizes.append(draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
            left //= sizes[-1]
        return kind, (*sizes, draw(st.sampled_from((left, -1))))
    if kind == "index":
        return kind, draw(hnp.basic_indices(shape, max_dims=8, allow_newaxis=True))
    if kind == "flip":
        return kind, draw(st.none() | axes | st.sets(st.integers(0, rank - 1)).map(tuple))
    if kind == "take":
        axis = draw(st.none() | axes)
        size = int(np.prod(shape)) if axis is None else shape[axis]
        picked = hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)
        return kind, (
            draw(hnp.arrays(np.int64, picked, elements=st.integers(-size, size - 1))),
            axis,
        )
    if kind == "swapaxes":
        return kind, (draw(axes), draw(axes))
    if kind == "broadcast":
        wide = tuple(draw(st.integers(2, 3)) if n == 1 else n for n in shape)
        return kind, (2, *wide) if rank < 8 and draw(st.booleans()) else wide
    if kind == "expand":
        return kind, draw(st.integers(-rank - 1, rank))
    return kind, None


def both(kind: str, argument: Any, t: dml.Tensor, a: oracle.Array) -> tuple[dml.Tensor, Any]:
    if kind == "transpose":
        return t.transpose(*argument), a.transpose(argument)
    if kind == "reshape":
        return t.reshape(argument), a.reshape(argument)
    if kind == "squeeze":
        return t.squeeze(), a.squeeze()
    if kind == "index":
        return t[argument], a[argument]
    if kind == "flip":
        return t.flip(argument), np.flip(a, argument)
    if kind == "take":
        return t.take(*argument), a.take(*argument)
    if kind == "swapaxes":
        return t.swapaxes(*argument), a.swapaxes(*argument)
    if kind == "broadcast":
        return t.broadcast_to(argument), np.broadcast_to(a, argument)
    if kind == "expand":
        return t.expand_dims(argument), np.expand_dims(a, argument)
    return t.copy(), a.copy()


def operators_agree(device: dml.Device, t: dml.Tensor, a: oracle.Array) -> None:
    """Every operator reads the view as NumPy reads its own."""
    t, a = t.reshape(t.shape or (1,)), a.reshape(a.shape or (1,))  # DirectML needs a dimension
    axis = a.ndim - 1
    rows = np.zeros((1, 1), np.int32)
    whole = dml.slice(t, (0,) * a.ndim, a.shape, (1,) * a.ndim)
    assert whole.numpy().tobytes() == a.tobytes()
    back = dml.slice1(t, (0,) * a.ndim, a.shape, (-1,) * a.ndim)
    assert back.numpy().tobytes() == np.flip(a).tobytes()
    assert dml.gather_nd(t, rows).numpy().tobytes() == a[:1].tobytes()
    own = t if t.layout.is_own else t.copy()
    uploaded = device.upload(own.desc, own.tobytes())
    assert uploaded.numpy().tobytes() == a.tobytes()
    assert device.wrap(own.buffer, own.desc, own.offset).numpy().tobytes() == a.tobytes()
    if a.dtype in SCANNED:
        up = dml.cumulative_summation(t, axis)
        assert np.array_equal(up.numpy(), np.cumsum(a, axis, a.dtype))
        products = t.cumprod(0, reverse=True)
        assert np.array_equal(products.numpy(), np.flip(np.cumprod(np.flip(a, 0), 0, a.dtype), 0))


@settings(max_examples=settings.default.max_examples // 5)
@given(data=st.data(), dtype=DTYPES, shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=6))
def test_chains_of_views_and_operators_equal_numpys(
    device: dml.Device, data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> None:
    a = values(shape, dtype)
    t = device.tensor(a)
    for _ in range(data.draw(st.integers(1, 5))):
        step = data.draw(view_steps(a.shape))
        if step[0] == "index" and a[step[1]].size == 0:
            assert both(*step, t, a)[0].shape == a[step[1]].shape
            continue
        if step[0] == "take" and step[1][0].ndim + a.ndim - 1 > 8:
            continue
        t, a = both(*step, t, a)
        a = np.asarray(a)
        assert t.shape == a.shape
        assert t.dtype == a.dtype
        assert t.numpy().tobytes() == a.tobytes()
    operators_agree(device, t, a)


@settings(max_examples=settings.default.max_examples // 2)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=5, max_side=5))
def test_reshape_copies_only_when_numpy_would(
    device: dml.Device, data: st.DataObject, shape: tuple[int, ...]
) -> None:
    a = values(shape, np.dtype(np.int16))
    order = data.draw(st.permutations(range(len(shape))))
    t, a = device.tensor(a).transpose(order), a.transpose(order)
    sizes = data.draw(st.permutations(shape))
    split = [n // 2 if n % 2 == 0 else n for n in sizes] + [2] * sum(n % 2 == 0 for n in sizes)
    wanted = data.draw(st.permutations(split).map(tuple) | st.just((-1,)))
    if len(wanted) > 8:
        return
    shared = np.shares_memory(a.reshape(wanted), a)
    assert (t.reshape(wanted).buffer is t.buffer) == shared
    assert np.array_equal(t.reshape(*wanted).numpy(), a.reshape(wanted))


def test_attributes(device: dml.Device, grid: dml.Tensor) -> None:
    assert (grid.shape, grid.ndim, grid.size, len(grid)) == ((2, 3), 2, 6, 2)
    assert (grid.dtype, grid.itemsize, grid.nbytes) == (np.float32, 4, 24)
    assert (grid.strides, grid.T.strides) == ((12, 4), (4, 12))
    assert grid.tolist() == [[0, 1, 2], [3, 4, 5]]
    nibbles = device.empty(TensorDesc(T.UINT4, (5,)))
    assert (nibbles.size, nibbles.nbytes) == (5, 3)


def test_views_share_bytes_and_copies_do_not(device: dml.Device) -> None:
    t = device.tensor(np.ones((2, 3), np.int32))
    views = [t.T, t.reshape(3, 2), t.ravel(), t.expand_dims(0), t.swapaxes(0, 1), t.squeeze()]
    views += [t.broadcast_to(4, 2, 3), t[...], t[1:, ::-2], t[0], t[None], t.flip(0)]
    copies = [
        t.copy(),
        t.flatten(),
        t[1, 2],
        t[[0, 1]],
        copy.copy(t),
        copy.deepcopy(t),
        t.T.ravel(),
    ]
    assert all(view.buffer is t.buffer for view in views)
    assert all(other.buffer is not t.buffer for other in copies)
    op = device.compile(
        dml.CumulativeSummationDesc(input_tensor=t.desc, output_tensor=t.desc, axis=1)
    )
    op(t, out=t)
    assert t.T.tolist() == views[0].tolist() == [[1, 1], [2, 2], [3, 3]]
    assert all(other.numpy().max() == 1 for other in copies)


def test_a_view_of_a_packed_tensor_is_packed_where_it_can_be(grid: dml.Tensor) -> None:
    for view in (grid.T.T, grid.reshape(3, 2), grid.ravel(), grid[None].squeeze(0)):
        assert view.desc == TensorDesc(T.FLOAT32, view.shape)


def test_views_keep_the_storage_alive(device: dml.Device) -> None:
    a = np.arange(64, dtype=np.int32).reshape(8, 8)
    view = device.tensor(a).T
    gc.collect()
    others = [device.tensor(np.zeros((8, 8), np.int32)) for _ in range(8)]
    assert np.array_equal(view.numpy(), a.T)
    assert all(not other.numpy().any() for other in others)


def test_a_view_as_out_follows_the_binding_rules(device: dml.Device) -> None:
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    t, target = device.tensor(a), device.tensor(np.zeros((3, 2), np.int32))
    fields = {"axis": 1, "input_tensor": t.desc}
    op = device.compile(dml.CumulativeSummationDesc(output_tensor=target.T.desc, **fields))
    assert op(t, out=target.T).shape == (2, 3)
    assert np.array_equal(target.numpy(), np.cumsum(a, 1).T)
    with pytest.raises(dml.BindingError, match="description says"):
        op(t, out=target)
    square = device.tensor(np.ones((3, 3), np.int32))
    fields = {"axis": 1, "input_tensor": square.desc}
    op = device.compile(dml.CumulativeSummationDesc(output_tensor=square.T.desc, **fields))
    with pytest.raises(dml.BindingError, match="strides"):
        op(square, out=square.T)
    with pytest.raises(dml.InvalidDescError, match="output_tensor"):
        device.compile(
            dml.CumulativeSummationDesc(
                output_tensor=t[:1].broadcast_to(2, 3).desc, input_tensor=t.desc, axis=0
            )
        )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", sorted(SCANNED, key=str), ids=str)
def test_scans_of_a_view_run_in_place(device: dml.Device, axis: int, dtype: np.dtype[Any]) -> None:
    a = values((3, 4, 5), dtype)
    t = device.tensor(a)
    view = t.transpose(2, 0, 1)
    op = device.compile(
        dml.CumulativeSummationDesc(input_tensor=view.desc, output_tensor=view.desc, axis=axis)
    )
    op(view, out=view)
    expected = np.cumsum(a.transpose(2, 0, 1), axis, dtype)
    assert np.array_equal(view.numpy(), expected)
    assert np.array_equal(t.numpy(), expected.transpose(1, 2, 0))


def test_views_are_indices_too(device: dml.Device) -> None:
    a = np.arange(20, dtype=np.int64).reshape(4, 5)
    pairs = np.array([[3, 0, -1], [4, -5, 2]], np.int32)
    t, columns = device.tensor(a), device.tensor(pairs).T
    assert dml.gather_nd(t, columns).tolist() == a[tuple(pairs)].tolist()
    row = device.tensor(np.array([[2], [1]], np.uint32)).T
    repeated = row.broadcast_to(3, 1, 2)
    assert dml.gather_nd(t.T[::-1], repeated).tolist() == [[a.T[::-1][2, 1]]] * 3
    assert t.take(row, 1).tolist() == a.take([[2, 1]], 1).tolist()
    assert t.T.take(repeated.swapaxes(0, 2), 0).shape == (2, 1, 3, 4)


@pytest.mark.parametrize("count", [1, 5, 17, 20, 33])
def test_a_shorter_view_as_out_leaves_the_rest_alone(device: dml.Device, count: int) -> None:
    t = device.upload(TensorDesc(T.UINT8, (64,)), bytes([7] * 64))
    part = t.view(TensorDesc(T.UINT8, (count,)))
    source = device.tensor(np.arange(count, dtype=np.uint8))
    desc = dml.Slice1Desc(
        input_tensor=source.desc,
        output_tensor=part.desc,
        input_window_offsets=(0,),
        input_window_sizes=(count,),
        input_window_strides=(-1,),
    )
    device.compile(desc)(source, out=part)
    used = part.desc.total_tensor_size_in_bytes
    assert t.tobytes()[:count] == bytes(range(count))[::-1]
    assert t.tobytes()[used:] == bytes([7] * (64 - used))


def test_cumsum_and_cumprod(device: dml.Device) -> None:
    a = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    t = device.tensor(a)
    assert t.cumsum().tolist() == [1, 3, 6, 10, 15, 21]
    assert t.cumsum(-1).tolist() == [[1, 3, 6], [4, 9, 15]]
    assert t.T.cumsum().tolist() == [1, 5, 7, 12, 15, 21]
    assert t.cumsum(0, reverse=True).tolist() == [[5, 7, 9], [4, 5, 6]]
    assert t.cumsum(1, exclusive=True).tolist() == [[0, 1, 3], [0, 4, 9]]
    assert t.cumprod(1, exclusive=True, reverse=True).tolist() == [[6, 3, 1], [30, 6, 1]]
    assert t.cumprod().dtype == np.int64


def test_take(device: dml.Device) -> None:
    a = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    t = device.tensor(a)
    for axis in (None, 0, 1, 2, -1):
        for dtype in (np.int8, np.uint8, np.int32, np.uint64):
            rows = np.array([[1, 0], [1, 1]], dtype)
            assert np.array_equal(t.take(rows, axis).numpy(), a.take(rows.astype(int), axis))
        on_device = device.tensor(np.array([1, -1, 0], np.int64))
        assert np.array_equal(t.take(on_device, axis).numpy(), a.take([1, -1, 0], axis))
        assert np.array_equal(t.T.take([1, 0], axis).numpy(), a.T.take([1, 0], axis))
    assert t.take(5).tolist() == 5
    wide = device.tensor(np.arange(300, dtype=np.int16))
    assert wide.take(np.array([-1, -128, 127], np.int8)).tolist() == [299, 172, 127]
    assert wide.take(np.array([255], np.uint8)).tolist() == [255]
    assert t.take(1, axis=1).shape == (2, 4)
    assert t.take([0, 2], axis=1).desc.is_packed
    assert t.gather_nd([[1, 2], [0, 0]]).tolist() == a[[1, 0], [2, 0]].tolist()
    assert t.gather_nd([[[2]], [[0]]], 1).tolist() == a[[[0], [1]], [[2], [0]]].tolist()


@pytest.mark.parametrize("function", [np.transpose, np.squeeze, np.cumsum, np.ravel, np.flip])
def test_numpys_functions_take_tensors(grid: dml.Tensor, function: Any) -> None:
    assert np.array_equal(np.asarray(function(grid)), function(grid.numpy()))


def test_numpys_functions_with_arguments_take_tensors(grid: dml.Tensor) -> None:
    a = grid.numpy()
    assert np.array_equal(np.asarray(np.moveaxis(grid, 0, -1)), a.T)
    assert np.array_equal(np.asarray(np.swapaxes(grid, 0, 1)), a.T)
    assert np.array_equal(np.take(grid, [1], axis=1), a[:, [1]])
    assert np.array_equal(np.reshape(grid, (3, 2)), a.reshape(3, 2))
    assert np.array_equal(a + grid, a + a)
    assert (np.shape(grid), np.ndim(grid), np.size(grid)) == ((2, 3), 2, 6)


def test_scalars(device: dml.Device) -> None:
    one = device.tensor(np.array([2.5], np.float64))
    assert (one.item(), float(one), int(one), bool(one)) == (2.5, 2.5, 2, True)
    assert not device.tensor(np.zeros((1, 1), np.int8))
    assert isinstance(device.tensor(np.array(3, np.uint64)).item(), int)
    assert device.tensor(np.array(3)).shape == ()


def test_repr_shows_values_as_numpy_does(device: dml.Device, grid: dml.Tensor) -> None:
    name = device.adapter.name
    assert repr(grid) == (
        "Tensor([[0., 1., 2.],\n"
        f"        [3., 4., 5.]], shape=(2, 3), dtype=float32, device={name!r})"
    )
    large = np.arange(40_000, dtype=np.int32).reshape(200, 200)
    shown = np.array2string(large, separator=", ", prefix="Tensor(")
    assert repr(device.tensor(large)).startswith(f"Tensor({shown}, shape=(200, 200)")
    tall = np.arange(2_000_000, dtype=np.int32).reshape(-1, 2)  # of which only the ends are read
    shown = np.array2string(tall, separator=", ", prefix="Tensor(")
    assert repr(device.tensor(tall)).startswith(f"Tensor({shown}, shape=(1000000, 2)")
    assert repr(device.empty(TensorDesc(T.INT4, (3,)))).startswith("Tensor(shape=(3,), dtype=int4")


def test_repr_reads_nothing_where_that_would_disturb(device: dml.Device, grid: dml.Tensor) -> None:
    bare = f"Tensor(shape=(2, 3), dtype=float32, device={device.adapter.name!r})"
    if "timestamp-query" in device.wgpu_device.features:
        with device.profile():
            assert repr(grid) == bare
    with dml.Device() as other:
        t = other.tensor(grid.numpy())
    assert repr(t) == bare
    with dml.Device(debug=True) as checked:
        t = checked.tensor(grid.numpy())
        dml.gather_nd(t, checked.tensor(np.array([[9]], np.int32)))
        assert repr(t) == bare
        with pytest.raises(dml.IndexRangeError):
            t.numpy()


def test_a_tensor_is_iterated_along_its_first_axis_and_pickled_by_value(grid: dml.Tensor) -> None:
    assert [row.tolist() for row in grid] == grid.tolist()
    again = pickle.loads(pickle.dumps(grid, 5))
    assert again.device is dml.default_device()
    assert np.array_equal(again.numpy(), grid.numpy())
