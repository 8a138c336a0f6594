"""Tensors as chunks of dask.array, in this process: creation, operators, spilling, pickling."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed.spill import SpillBuffer

import dmlgpu as dml
import dmlgpu.dask
from dmlgpu import AxisDirection, Tensor
from dmlgpu.dask import workers
from dmlgpu.dask.workers import DeviceHostFile, OnHost
from dmlgpu.gpu import adapters

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

CUBE = np.random.default_rng(1).integers(-50, 50, (7, 9, 4)).astype(np.int32)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def cube() -> da.Array:
    return dmlgpu.dask.from_array(CUBE, chunks=(3, 4, 3))


def read(x: da.Array) -> np.ndarray:
    made = x.compute()
    assert isinstance(made, Tensor)
    assert isinstance(x._meta, Tensor)
    assert (made.shape, made.dtype) == (x.shape, x.dtype)
    return made.numpy()


def same(x: da.Array, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(read(x), expected)


def test_the_library_does_not_import_dask() -> None:
    program = (
        "import dmlgpu, dmlgpu.cli, sys; assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class TestFromArray:
    def test_chunks_are_tensors(self, cube: da.Array) -> None:
        assert cube.chunks == ((3, 3, 1), (4, 4, 1), (3, 1))
        same(cube, CUBE)

    def test_chunks_lie_on_the_device_that_is_given(self, device: dml.Device) -> None:
        x = dmlgpu.dask.from_array(CUBE, chunks=4, device=device)
        assert x.compute().device is device
        assert (x + 1).sum(axis=0).compute().device is device

    def test_a_dask_array_keeps_its_chunks(self) -> None:
        host = da.from_array(CUBE, chunks=(2, 9, 4))
        assert dmlgpu.dask.from_array(host).chunks == host.chunks
        assert dmlgpu.dask.from_array(host, chunks=(7, 3, 4)).chunks[1] == (3, 3, 3)
        same(dmlgpu.dask.from_array(host), CUBE)

    def test_a_tensor_is_cut_on_its_device(self, device: dml.Device) -> None:
        x = dmlgpu.dask.from_array(device.tensor(CUBE), chunks=4)
        assert x.compute().device is device
        same(x, CUBE)

    def test_what_is_repeated_is_uploaded_once(self) -> None:
        same(dmlgpu.dask.from_array(da.ones((6, 4), chunks=3, dtype="i4")), np.ones((6, 4)))
        rows = np.broadcast_to(np.arange(4), (6, 4))
        same(dmlgpu.dask.from_array(rows, chunks=3), rows)

    def test_back_to_numpy_on_the_worker_or_here(self, cube: da.Array) -> None:
        there = cube.to_backend("numpy")
        assert isinstance(there._meta, np.ndarray)
        assert isinstance(there.compute(), np.ndarray)
        np.testing.assert_array_equal(np.asarray(cube), CUBE)
        target = np.zeros_like(CUBE)
        da.store(cube, target)
        np.testing.assert_array_equal(target, CUBE)

    @pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
    def test_every_type_goes_there_and_back(self, dtype: str) -> None:
        host = (CUBE > 0).astype(dtype)
        x = dmlgpu.dask.from_array(host, chunks=5)
        assert read(x[::-1]).dtype == host.dtype
        same(x[::-1], host[::-1])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: da.ones((4, 6), chunks=4), np.ones((4, 6), np.float32)),
        (lambda: da.zeros(5, chunks=2, dtype="i8"), np.zeros(5, np.int64)),
        (lambda: da.full((4, 6), 2.5, chunks=4), np.full((4, 6), 2.5, np.float32)),
        (lambda: da.arange(10, chunks=4), np.arange(10)),
        (lambda: da.empty((4, 6), chunks=4, dtype="i4") * 0, np.zeros((4, 6), np.int32)),
        (lambda: da.from_array(CUBE).to_backend("dmlgpu"), CUBE),
    ],
)
def test_the_backend_creates_tensors(make: Callable[[], da.Array], expected: np.ndarray) -> None:
    with dask.config.set({"array.backend": "dmlgpu"}):
        made = make()
        same(made, expected)
        assert made.dtype == expected.dtype


def scanned(host: np.ndarray, fold: Any, axis: int, reverse: bool, exclusive: bool) -> np.ndarray:
    """Running sums or products, one line after the other."""
    made = np.empty_like(host)
    lines, out = (np.moveaxis(a, axis, -1) for a in (host, made))
    for at in np.ndindex(lines.shape[:-1]):
        total = host.dtype.type(fold.identity)
        for i in range(lines.shape[-1])[:: -1 if reverse else 1]:
            before, total = total, fold(total, lines[at][i])
            out[(*at, i)] = before if exclusive else total
    return made


SCANS = [(dmlgpu.dask.cumulative_summation, np.add), (dmlgpu.dask.cumulative_product, np.multiply)]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("direction", list(AxisDirection))
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("function", "fold"), SCANS, ids=["sum", "product"])
def test_scans_go_over_the_borders(
    cube: da.Array, function: Any, fold: Any, axis: int, direction: AxisDirection, exclusive: bool
) -> None:
    made = function(cube, axis, direction, exclusive)
    with np.errstate(over="ignore"):
        same(made, scanned(CUBE, fold, axis, bool(direction), exclusive))
    assert made.chunks == cube.chunks


def test_scans_round_halves_once() -> None:
    host = np.random.default_rng(2).random(4000).astype(np.float16)
    x = dmlgpu.dask.from_array(host, chunks=250)
    made = read(dmlgpu.dask.cumulative_summation(x, 0))
    exact = np.cumsum(host.astype(np.float64))
    assert made.dtype == np.float16
    half = np.abs(np.spacing(exact.astype(np.float16))).max() / 2
    assert np.abs(made - exact).max() <= half * 1.001  # sums in FLOAT32 differ from exact ones


@pytest.mark.parametrize("exclusive", [False, True])
def test_every_chunk_is_made_once(exclusive: bool) -> None:
    """One pass over the data: scans of chunks, a scan of their totals, and nothing anew."""
    made: Counter[Any] = Counter()

    def block(block_info: Any = None) -> np.ndarray:
        made[tuple(block_info[None]["chunk-location"])] += 1
        return np.ones((4, 5), np.int32)

    host = da.map_blocks(block, chunks=((4,) * 3, (5,) * 2), dtype=np.int32, meta=np.empty((0, 0)))
    x = dmlgpu.dask.from_array(host)
    read(dmlgpu.dask.cumulative_summation(x, 0, AxisDirection.DECREASING, exclusive))
    assert len(made) == 6
    assert set(made.values()) == {1}
    made.clear()
    read(dmlgpu.dask.gather(x, [11, 0, 1], axis=0))
    assert made == {(0, 0): 1, (0, 1): 1, (2, 0): 1, (2, 1): 1}  # only those that are named


class TestGathers:
    @pytest.mark.parametrize("kind", ["host", "tensor", "dask", "tensors in dask"])
    @pytest.mark.parametrize("coordinates", [1, 2, 3])
    def test_gather_nd(self, cube: da.Array, coordinates: int, kind: str) -> None:
        rng = np.random.default_rng(3)
        columns = [rng.integers(-n, n, (5, 3)) for n in CUBE.shape[:coordinates]]
        host = np.stack(columns, axis=-1)
        indices = {
            "host": lambda: host,
            "tensor": lambda: dml.tensor(host),
            "dask": lambda: da.from_array(host, chunks=(2, 2, 1)),
            "tensors in dask": lambda: dmlgpu.dask.from_array(host, chunks=(2, 2, 1)),
        }[kind]()
        same(dmlgpu.dask.gather_nd(cube, indices), CUBE[tuple(columns)])

    @pytest.mark.parametrize("cut", [False, True])
    def test_gather_nd1_within_batches(self, cube: da.Array, cut: bool) -> None:
        host = np.random.default_rng(4).integers(-9, 9, (7, 2, 1))
        indices = da.from_array(host, chunks=(2, 1, 1)) if cut else host
        expected = np.stack([CUBE[b][host[b, :, 0]] for b in range(7)])
        same(dmlgpu.dask.gather_nd1(cube, indices, batch_dimension_count=1), expected)

    @pytest.mark.parametrize("axis", [0, 1, 2, -2])
    def test_gather(self, cube: da.Array, axis: int) -> None:
        indices = np.random.default_rng(5).integers(-4, 4, (2, 3))
        same(dmlgpu.dask.gather(cube, indices, axis), np.take(CUBE, indices, axis))

    def test_leading_dimensions_that_are_not_meant(self, cube: da.Array) -> None:
        made = dmlgpu.dask.gather_nd(cube[None], np.array([[[1, 2]]]), 3, 2)
        same(made, CUBE[[1], [2]])

    def test_no_index_gives_no_elements(self, cube: da.Array) -> None:
        same(dmlgpu.dask.gather(cube, np.empty((0,), np.int64), 1), CUBE[:, :0])

    def test_chunks_of_the_result_are_about_as_large(self) -> None:
        x = dmlgpu.dask.from_array(np.zeros((64, 8), np.float32), chunks=(16, 8))
        assert dmlgpu.dask.gather(x, np.arange(64) % 5, 0).chunks == ((16,) * 4, (8,))

    def test_dask_takes_and_masks(self, cube: da.Array) -> None:
        same(da.take(cube, [5, 0, 2, 2], axis=1), np.take(CUBE, [5, 0, 2, 2], axis=1))
        np.testing.assert_array_equal(cube[cube > 20].compute().numpy(), CUBE[CUBE > 20])


def test_slices_go_over_the_borders(cube: da.Array) -> None:
    windows = ([1, 2, 0], [5, 6, 4], [-2, 3, -1])
    same(dmlgpu.dask.slice1(cube, *windows), dml.slice1(CUBE, *windows).numpy())
    sizes = [2, 1, 3]
    same(dmlgpu.dask.slice1(cube, *windows, sizes), dml.slice1(CUBE, *windows, sizes).numpy())
    window = ([1, 2, 0], [2, 2, 4], [3, 2, 1])
    same(dmlgpu.dask.slice(cube, *window), dml.slice(CUBE, *window).numpy())


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda x: dmlgpu.dask.slice(x, [0] * 3, [7, 9, 5], [1] * 3), dml.InvalidDescError, "s.2."),
        (lambda x: dmlgpu.dask.slice(x, [0], [1], [1]), dml.InvalidDescError, "3 dimensions"),
        (
            lambda x: dmlgpu.dask.slice1(x, [0] * 3, CUBE.shape, [1, 0, 1]),
            dml.InvalidDescError,
            r"strides\[1\] is 0",
        ),
        (lambda x: dmlgpu.dask.gather_nd(x, [[1], [9]]), dml.IndexRangeError, r"\[1\] has 9"),
        (lambda x: dmlgpu.dask.gather_nd(x, [[1.5]]), dml.InvalidTypeError, "float64"),
        (lambda x: dmlgpu.dask.gather_nd(x, 1), dml.InvalidDescError, "no dimensions"),
        (lambda x: dmlgpu.dask.gather_nd(x, [[1] * 4]), dml.InvalidDescError, "last size"),
        (lambda x: dmlgpu.dask.gather_nd(x, [[1]], 2), dml.InvalidDescError, "leading"),
        (
            lambda x: dmlgpu.dask.gather_nd1(x, [[1]], batch_dimension_count=1),
            dml.InvalidDescError,
            "agree",
        ),
        (lambda x: dmlgpu.dask.gather(x, [0], 3), dml.AxisError, "axis 3"),
        (lambda x: dmlgpu.dask.cumulative_summation(x, 3), dml.AxisError, "axis 3"),
        (
            lambda x: dmlgpu.dask.cumulative_product(x.astype(np.int8), 0),
            dml.InvalidDescError,
            "INT8",
        ),
    ],
)
def test_bad_arguments_are_refused_before_a_task_runs(
    cube: da.Array, call: Callable[[da.Array], Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        call(cube)


class TestProtocols:
    def test_a_graph_has_no_tensor_in_it(self, cube: da.Array) -> None:
        """So the scheduler, which unpickles graphs, needs no GPU."""
        with dask.config.set({"array.backend": "dmlgpu"}):
            made = da.ones((4, 6), chunks=2)
        for x in (
            cube,
            made,
            dmlgpu.dask.cumulative_summation(cube, 0).sum(),
            cube[::-1].astype(np.float32).mean(),
        ):
            assert b"dmlgpu.functions\n" not in pickle.dumps(dict(x.dask), protocol=0)

    def test_pickles_have_the_elements_beside_them(self, device: dml.Device) -> None:
        host = np.arange(1 << 20, dtype=np.float32)
        x = device.tensor(host)
        buffers: list[pickle.PickleBuffer] = []
        gc.collect()
        tracemalloc.start()
        try:
            told = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
            _, written = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            again = pickle.loads(told, buffers=buffers)
            _, read_peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(told) < 1000
        assert [b.raw().nbytes for b in buffers] == [host.nbytes]
        assert written < 1.25 * host.nbytes  # what was read back, and no copy of it
        assert read_peak - before < 0.25 * host.nbytes
        np.testing.assert_array_equal(again.numpy(), host)

    def test_size_and_name_follow_the_elements(self, device: dml.Device) -> None:
        x = device.tensor(CUBE)
        assert sizeof(x) == CUBE.nbytes
        assert sizeof(x[:0]) == 0
        assert tokenize(x) == tokenize(device.tensor(CUBE)) != tokenize(device.tensor(CUBE + 1))
        assert tokenize(x) != tokenize(CUBE)

    def test_numpy_creates_after_the_like_of_a_tensor(self, device: dml.Device) -> None:
        x = device.tensor(CUBE)
        for made, expected in (
            (np.full_like(x, 3, shape=(2, 5)), np.full((2, 5), 3, np.int32)),
            (np.full_like(x, 3, np.float32, shape=2), np.full(2, 3, np.float32)),
            (np.zeros_like(x, shape=()), np.zeros((), np.int32)),
            (np.asarray([1, 2], like=x), np.array([1, 2])),
            (np.arange(4, like=x), np.arange(4)),
            (np.ones((2, 2), np.float16, like=x), np.ones((2, 2), np.float16)),
            (np.transpose(x, axes=(2, 0, 1)), np.transpose(CUBE, (2, 0, 1))),
            (np.isclose(x, CUBE), np.ones(CUBE.shape, bool)),
            (np.outer(x[0, 0], x[1, 1]), np.outer(CUBE[0, 0], CUBE[1, 1])),
            (np.conjugate(x), CUBE),
        ):
            assert isinstance(made, Tensor)
            assert made.device is device
            np.testing.assert_array_equal(made.numpy(), expected)
            assert made.dtype == expected.dtype

    @pytest.mark.parametrize("axis", [None, 0, 1])
    @pytest.mark.parametrize(
        "name",
        [
            *("nansum", "nanprod", "nanmax", "nanmin", "nancumsum", "nancumprod"),
            *("nanargmax", "nanargmin"),
        ],
    )
    def test_functions_that_leave_nan_out(
        self, device: dml.Device, name: str, axis: int | None
    ) -> None:
        host = np.array([[1, np.nan, -3, 0.5], [np.nan, 2, 0.25, np.nan]], np.float32)
        made = getattr(np, name)(device.tensor(host), axis=axis)
        np.testing.assert_allclose(made.numpy(), getattr(np, name)(host, axis=axis))

    def test_where_all_is_nan(self, device: dml.Device) -> None:
        x = device.tensor(np.full((2, 2), np.nan, np.float32))
        assert np.isnan(np.nanmax(x, axis=0).numpy()).all()
        assert np.nansum(x).item() == 0
        with pytest.raises(dml.InvalidDescError, match="All-NaN"):
            np.nanargmin(x, axis=1)


class TestSpilling:
    def test_tensors_move_to_host_memory_and_back(self, device: dml.Device) -> None:
        host: dict[str, Any] = {}
        data = DeviceHostFile(host, device_memory_limit=3 * CUBE.nbytes)
        for i in range(5):
            data[f"x{i}"] = device.tensor(CUBE + i)
        data["n"] = np.arange(3)
        assert data.device_bytes == 3 * CUBE.nbytes
        assert {key: type(value) for key, value in host.items()} == {
            "x0": OnHost,
            "x1": OnHost,
            "n": np.ndarray,
        }
        assert sizeof(host["x0"]) == CUBE.nbytes
        back = data["x0"]
        assert isinstance(back, Tensor)
        np.testing.assert_array_equal(back.numpy(), CUBE)
        assert "x0" not in host
        assert isinstance(host["x2"], OnHost)  # the one used least recently made room
        assert isinstance(data["n"], np.ndarray)
        assert sorted(data) == ["n", "x0", "x1", "x2", "x3", "x4"]
        del data["x2"], data["x0"], data["n"]
        assert len(data) == 3
        assert "x2" not in data
        data["x1"] = 5
        assert data["x1"] == 5
        assert data.evict_device()
        assert data.evict_device()
        assert not data.evict_device()
        assert data.device_bytes == 0

    def test_small_views_are_copied(self, device: dml.Device) -> None:
        data = DeviceHostFile({}, device_memory_limit=1 << 30)
        x = device.tensor(np.arange(4096, dtype=np.float32))
        data["most"], data["part"] = x[:3000], x[8:16]
        assert data["most"].storage is x.storage
        assert data["part"].storage is not x.storage
        assert data["part"].tolist() == list(range(8, 16))
        assert data.device_bytes == 4 * 3008

    def test_and_from_there_to_disk(self, device: dml.Device, tmp_path: Any) -> None:
        disk = SpillBuffer(str(tmp_path), target=2 * CUBE.nbytes)
        data = DeviceHostFile(disk, device_memory_limit=CUBE.nbytes)
        for i in range(6):
            data[f"x{i}"] = device.tensor(CUBE + i)
        assert data.spilled_total.memory == 3 * CUBE.nbytes
        assert data.evict() == CUBE.nbytes
        assert len(data.fast) == 1
        for i in range(6):
            np.testing.assert_array_equal(data[f"x{i}"].numpy(), CUBE + i)

    @pytest.mark.parametrize(
        ("asked", "limit"), [("auto", None), ("none", None), ("2 MiB", 2 << 20), (4096, 4096)]
    )
    def test_the_limit_is_in_dasks_configuration(
        self, device: dml.Device, asked: Any, limit: int | None
    ) -> None:
        if device.adapter.kind == "discrete":
            pytest.skip("auto depends on the GPU")
        with dask.config.set({workers.LIMIT: asked}):
            assert workers.device_memory_limit(device) == limit

    def test_what_drivers_tell_of_a_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = dml.AdapterInfo("NVIDIA H200", "discrete", "Vulkan", "", 0)
        monkeypatch.setattr(adapters.ctypes, "CDLL", lambda _: Nvml())
        assert adapters.memory_of(gpu) == 143771 << 20
        integrated = dml.AdapterInfo("Iris", "integrated", "Vulkan", "", 0)
        assert adapters.memory_of(integrated) == adapters.memory_of(replace(gpu, kind="cpu"))


class Nvml:
    """NVIDIA's management library on a machine with two GPUs."""

    gpus = ((b"NVIDIA A100", 40960 << 20), (b"NVIDIA H200", 143771 << 20))

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return 0

    def nvmlShutdown(self) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.gpus)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: Any, device: Any) -> int:  # noqa: N802
        device._obj.value = 1000 + number.value
        return 0

    def nvmlDeviceGetName(self, device: Any, name: Any, size: Any) -> int:  # noqa: N802
        assert size.value == len(name)
        name.value = self.gpus[device.value - 1000][0]
        return 0

    def nvmlDeviceGetMemoryInfo(self, device: Any, sizes: Any) -> int:  # noqa: N802
        sizes._obj[:] = self.gpus[device.value - 1000][1], 5, 7
        return 0


def test_equal_adapters_are_told_apart_by_their_place(device: dml.Device) -> None:
    with dml.Device(f"#{device.adapter.index}") as other:
        assert other.adapter == device.adapter
    with pytest.raises(dml.DeviceError, match="#77"):
        dml.Device("#77")


def test_a_cluster_refuses_what_it_cannot_do() -> None:
    with pytest.raises(dml.InvalidDescError, match="at least one"):
        dmlgpu.dask.LocalCluster([])
    with pytest.raises(dml.InvalidDescError, match="its own process"):
        dmlgpu.dask.LocalCluster(processes=False)
    with pytest.raises(dml.DeviceError, match="no such adapter"):
        dmlgpu.dask.LocalCluster(["no such adapter"])


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(6,), (7, 9)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_an_extreme_in_all_chunks(name: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(2).permutation(np.prod(shape)).reshape(shape).astype(np.float32)
    found = getattr(da, name)(dmlgpu.dask.from_array(values, chunks=4)).compute()
    assert int(found) == getattr(np, name)(values)
