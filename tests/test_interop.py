"""Others' memory and others' time: DLPack, asyncio, and buffers and devices of plain wgpu code."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import wgpu
from support import oracle

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc

pytestmark = pytest.mark.gpu


class Exporter:
    """An array of another library; `old` speaks the protocol as it was before versions."""

    def __init__(self, array: oracle.Array, where: tuple[int, int] = (1, 0), old: bool = False):
        self.array, self.where, self.old = array, where, old

    def __dlpack__(self, **arguments: Any) -> Any:
        if self.old and set(arguments) - {"stream"}:
            raise TypeError("unexpected argument")
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.where


@pytest.mark.parametrize("dtype", oracle.NUMPY_TYPES.values(), ids=str)
def test_dlpack_both_ways(device: dml.Device, dtype: np.dtype[Any]) -> None:
    a = np.frombuffer(oracle.random_bytes(24 * dtype.itemsize, 1), dtype).copy().reshape(2, 3, 4)
    t = device.from_dlpack(a)
    assert (t.device, t.shape, t.dtype) == (device, a.shape, dtype)
    for tensor, array in ((t, a), (t.T, a.T), (t[:, ::-1], a[:, ::-1])):
        back = np.from_dlpack(tensor)
        assert back.dtype == dtype
        assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", [1, 3])
def test_any_exporter_in_host_memory_is_taken(device: dml.Device, old: bool, kind: int) -> None:
    a = np.arange(6, dtype=np.int16).reshape(2, 3)
    exporter = Exporter(a[:, ::-1], (kind, 0), old)
    t = dml.from_dlpack(exporter, device)
    a[:] = 0
    assert t.tolist() == [[2, 1, 0], [5, 4, 3]]  # a copy
    assert dml.from_dlpack(exporter).device is dml.default_device()


def test_torch_tensors_come_and_go(device: dml.Device) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.int64).reshape(2, 3).T
    t = dml.from_dlpack(x, device)
    assert t.tolist() == x.tolist()
    assert torch.from_dlpack(t.cumsum(0)).tolist() == x.cumsum(0).tolist()
    with pytest.raises(TypeError, match="from_dlpack: Tensor cannot be read by NumPy"):
        dml.from_dlpack(x.to(torch.bfloat16), device)


@pytest.mark.parametrize(("kind", "name"), [(2, "CUDA"), (8, "Metal"), (99, "DLPack type 99")])
def test_exporters_on_a_gpu_are_refused(device: dml.Device, kind: int, name: str) -> None:
    with pytest.raises(dml.InvalidDescError, match=rf"^from_dlpack: x lies on {name} device 1;"):
        device.from_dlpack(Exporter(np.zeros(2), (kind, 1)))


def test_what_dlpack_cannot_carry_is_refused(device: dml.Device) -> None:
    with pytest.raises(TypeError, match=r"list, which has no __dlpack__; device\.tensor takes"):
        dml.from_dlpack([1, 2], device)
    with pytest.raises(TypeError, match="convert with astype"):
        dml.from_dlpack(np.zeros(2, np.complex64), device)
    with pytest.raises(TypeError, match="cannot be read by NumPy"):
        dml.from_dlpack(np.zeros(2, "M8[s]"), device)


def test_dlpacks_arguments(device: dml.Device) -> None:
    t = device.tensor(np.arange(3, dtype=np.float32))
    assert t.__dlpack_device__() == (1, 0)
    for arguments in ({}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}, {"copy": True}):
        assert "dltensor" in repr(t.__dlpack__(**arguments))
    for arguments in ({"copy": False}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            t.__dlpack__(**arguments)
    with pytest.raises(ValueError, match="stream is 1"):
        t.__dlpack__(stream=1)


def test_asarray_and_array(device: dml.Device) -> None:
    t = device.tensor(np.arange(3, dtype=np.int32))
    assert np.asarray(t, np.float64).dtype == np.float64
    assert np.array(t, copy=True).tolist() == [0, 1, 2]
    assert np.asarray(t).flags.writeable
    assert np.stack([t, t]).shape == (2, 3)
    with pytest.raises(ValueError, match="always copies"):
        t.__array__(copy=False)


def test_other_tasks_run_and_use_the_device_while_a_tensor_is_read(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_ran = threading.Event()
    fetch = device.context.transfers.fetch

    def held_up(staging: Any, target: oracle.Array) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert others_ran.wait(60)
        fetch(staging, target)

    async def main() -> oracle.Array:
        read = asyncio.create_task(device.tensor(a).flip().numpy_async())
        await asyncio.sleep(0.02)
        assert device.tensor(a).cumsum().numpy()[-1] == 499500
        assert not read.done()
        others_ran.set()
        return await read

    a = np.arange(1000, dtype=np.uint32)
    monkeypatch.setattr(device.context.transfers, "fetch", held_up)
    assert np.array_equal(asyncio.run(main()), a[::-1])


def test_many_tensors_are_read_at_once(device: dml.Device) -> None:
    arrays = [np.full((3, n + 1), n, np.int16) for n in range(50)]

    async def main() -> list[oracle.Array]:
        return await asyncio.gather(*(device.tensor(a).T.numpy_async() for a in arrays))

    for a, result in zip(arrays, asyncio.run(main()), strict=True):
        assert np.array_equal(result, a.T)


def test_several_loops_read_from_one_device(device: dml.Device) -> None:
    results: list[list[int]] = []

    async def work(n: int) -> None:
        for k in range(5):
            t = device.tensor(np.full(100, n + k, np.int32)).cumsum()
            results.append([n + k, int((await t.numpy_async())[-1])])

    threads = [threading.Thread(target=lambda n=n: asyncio.run(work(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(last == 100 * value for value, last in results)


def test_a_read_keeps_its_place_among_the_calls(device: dml.Device) -> None:
    t = device.tensor(np.ones(64, np.int32))
    op = device.compile(
        dml.CumulativeSummationDesc(input_tensor=t.desc, output_tensor=t.desc, axis=0)
    )

    async def main() -> tuple[oracle.Array, oracle.Array]:
        before = asyncio.create_task(t.numpy_async())
        await asyncio.sleep(0)
        op(t, out=t)
        return await before, await t.numpy_async()

    before, after = asyncio.run(main())
    assert before.tolist() == [1] * 64
    assert after.tolist() == list(range(1, 65))


def test_an_asynchronous_read_raises_what_a_debug_check_found(device: dml.Device) -> None:
    with dml.Device(debug=True) as checked:
        indices = checked.tensor(np.array([[7]], np.int32))
        out = dml.gather_nd(checked.tensor(np.zeros(3, np.float32)), indices)
        with pytest.raises(dml.IndexRangeError, match="7"):
            asyncio.run(out.numpy_async())


def test_an_asynchronous_read_of_a_closed_device_is_refused(device: dml.Device) -> None:
    with dml.Device() as other:
        t = other.tensor(np.zeros(3, np.float32))
    with pytest.raises(dml.DeviceLostError, match="closed"):
        asyncio.run(t.numpy_async())


def test_an_asynchronous_read_without_room_for_a_copy(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: Any) -> Any:
        raise dml.OutOfMemoryError("no room")

    t = device.tensor(np.arange(3, dtype=np.float32))
    monkeypatch.setattr(device.context.gpu, "staging", none_left)
    assert asyncio.run(t.numpy_async()).tolist() == [0, 1, 2]


CLOSING = """
import asyncio
import numpy as np
import dmlgpu as dml

async def main():
    with dml.Device() as device:
        x = device.tensor(np.ones(1 << 20, np.float32))
        for _ in range(20):
            x = x.flip()
        read = asyncio.create_task(x.numpy_async())
        await asyncio.sleep(0.002)
    print((await read).sum() == 1 << 20)

asyncio.run(main())
"""


@pytest.mark.usefixtures("device")
def test_closing_waits_for_reads_under_way() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSING], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr


@pytest.fixture(scope="module")
def foreign() -> Iterator[Any]:
    """A device as a program that knows only wgpu makes it."""
    made = wgpu.gpu.request_adapter_sync().request_device_sync()
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def shared(device: dml.Device, foreign: Any) -> Iterator[dml.Device]:
    with dml.Device.from_wgpu(foreign) as made:
        yield made


DOUBLE = """
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    target_[id.x] = 2u * source[id.x];
}
"""


def run_their_shader(foreign: Any, source: Any, target: Any, count: int) -> None:
    module = foreign.create_shader_module(code=DOUBLE)
    pipeline = foreign.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )
    entries = [
        {"binding": i, "resource": {"buffer": b, "offset": 0, "size": 4 * count}}
        for i, b in enumerate((source, target))
    ]
    layout = pipeline.get_bind_group_layout(0)
    encoder = foreign.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, foreign.create_bind_group(layout=layout, entries=entries))
    compute.dispatch_workgroups(count)
    compute.end()
    foreign.queue.submit([encoder.finish()])


def test_buffers_go_both_ways_without_a_copy(foreign: Any, shared: dml.Device) -> None:
    """Their shader writes, this library sums into a buffer of theirs, their shader reads on."""
    count = 32
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    numbers = np.arange(count, dtype=np.uint32)
    first = foreign.create_buffer_with_data(data=numbers, usage=usage)
    second, third, last = (foreign.create_buffer(size=4 * count, usage=usage) for _ in range(3))
    desc = TensorDesc(T.UINT32, (count,))
    op = shared.compile(dml.CumulativeSummationDesc(input_tensor=desc, output_tensor=desc, axis=0))
    run_their_shader(foreign, first, second, count)
    source, target = shared.wrap(second, desc), shared.wrap(third, desc)
    assert (source.buffer, target.buffer) == (second, third)
    made = shared.memory.in_use
    op(source, out=target)
    assert shared.memory.in_use == made  # nothing was allocated
    shared.flush()
    run_their_shader(foreign, third, last, count)
    expected = 2 * np.cumsum(2 * numbers)
    assert np.frombuffer(foreign.queue.read_buffer(last), np.uint32).tolist() == expected.tolist()


def test_their_shader_reads_a_tensor_this_library_made(foreign: Any, shared: dml.Device) -> None:
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    result = dml.cumulative_summation(shared.tensor(np.ones(16, np.uint32)), 0)
    assert result.offset == 0
    theirs = foreign.create_buffer(size=64, usage=usage)
    shared.flush()
    run_their_shader(foreign, result.buffer, theirs, 16)
    seen = np.frombuffer(foreign.queue.read_buffer(theirs), np.uint32)
    assert seen.tolist() == list(range(2, 34, 2))


def test_a_wrapped_buffer_is_a_tensor_like_any_other(foreign: Any, shared: dml.Device) -> None:
    a = np.arange(24, dtype=np.float32)
    buffer = foreign.create_buffer_with_data(data=a, usage=wgpu.BufferUsage.STORAGE)
    t = shared.wrap(buffer, TensorDesc(T.FLOAT32, (4, 5)), offset=16)
    expected = a[4:].reshape(4, 5)
    before = dml.cumulative_summation(t, 0)
    assert np.array_equal(t.T.numpy(), expected.T)
    assert t.tobytes() == expected.tobytes()
    assert np.array_equal(asyncio.run(t.reshape(2, 10).numpy_async()), expected.reshape(2, 10))
    assert np.array_equal(t.T[::-1, 1:].cumsum(1).numpy(), expected.T[::-1, 1:].cumsum(1))
    assert np.array_equal(before.numpy(), expected.cumsum(0))
    assert "[[ 4.," in repr(t)


def test_a_shared_device_stays_open_when_this_librarys_is_closed(foreign: Any) -> None:
    with dml.Device.from_wgpu(foreign) as mine:
        t = mine.tensor(np.arange(4, dtype=np.uint32))
        buffer = t.buffer
    assert np.frombuffer(foreign.queue.read_buffer(buffer, 0, 16), np.uint32).tolist() == [
        0,
        1,
        2,
        3,
    ]
