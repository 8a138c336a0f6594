"""Worker processes, each with a device of its own: what they compute, hold, lose and find again.

DMLGPU_DASK_FULL=1 kills a worker under 1 GiB too, instead of 128 MiB.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Event, wait
from support import chunks

import dmlgpu as dml
import dmlgpu.dask

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.usefixtures("device")]

MIB = 1 << 20
LIMIT = 256 * MIB  # of each worker's device, for its chunks


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}),
        dmlgpu.dask.LocalCluster(
            n_workers=2, device_memory_limit=LIMIT, memory_limit="4 GiB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as made,
    ):
        made.wait_for_workers(2, timeout=180)
        yield made


def metrics(client: Client) -> dict[str, dict[str, Any]]:
    """What each worker last told of its device."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {address: told["metrics"]["dmlgpu"] for address, told in workers.items()}


def until(condition: Callable[[], Any], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


class Expected:
    """Sums of the reversed array along both axes and rows gathered from it, by NumPy."""

    def __init__(self, shape: tuple[int, int], picked: np.ndarray) -> None:
        columns = np.zeros(shape[1], np.int32)
        rows = np.zeros(shape[0], np.int32)
        across = np.arange(shape[1], dtype=np.uint32)
        for top in range(0, shape[0], 1024):
            some = np.arange(top, min(top + 1024, shape[0]), dtype=np.uint32)
            block = chunks.values(some, across)
            columns += block.sum(axis=0, dtype=np.int32)
            rows[top : top + 1024] = block.sum(axis=1, dtype=np.int32)
        gathered = chunks.values((shape[0] - 1 - picked).astype(np.uint32), across)[:, ::-1]
        self.checksums = [crc32(np.ascontiguousarray(a)) for a in (columns[::-1], rows[::-1])]
        self.checksums.append(crc32(np.ascontiguousarray(gathered)))


def results(x: da.Array, picked: np.ndarray) -> list[da.Array]:
    backward = dmlgpu.dask.slice1(x, (0, 0), x.shape, (-1, -1))
    sums = [backward.sum(axis=axis, dtype=np.int32) for axis in (0, 1)]
    return [*sums, dmlgpu.dask.gather(backward, picked, axis=0)]


def checksums(made: list[Any]) -> list[int]:
    return [crc32(np.ascontiguousarray(np.asarray(x))) for x in made]


def test_a_gibibyte_in_two_processes(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    shape = (16384, 16384)
    x = chunks.array(shape, rows=1024)
    assert (x.nbytes, x.blocks[0].nbytes) == (1024 * MIB, 64 * MIB)
    picked = np.random.default_rng(6).integers(0, shape[0], 200)
    start = time.perf_counter()
    made = dask.compute(*results(x, picked))
    took = time.perf_counter() - start
    peaks = client.run(chunks.peak_bytes)
    with capsys.disabled():
        told = ", ".join(f"{peak / MIB:.0f} MiB" for peak in peaks.values())
        print(f"\n1 GiB in {took:.1f} s; peak memory of each worker: {told}")
    assert checksums(list(made)) == Expected(shape, picked).checksums
    assert len(peaks) == 2
    assert all(peak < 2000 * MIB for peak in peaks.values())


def test_a_worker_killed_midway(client: Client) -> None:
    size = 16384 if os.environ.get("DMLGPU_DASK_FULL") == "1" else 4096
    shape = (size, size * 2)
    picked = np.random.default_rng(7).integers(0, size, 100)
    gate = "killed"
    Event(gate, client=client).clear()
    processes = client.run(os.getpid)
    x = chunks.array(shape, rows=size // 16, gate=gate)
    futures = client.compute(results(x, picked))
    until(lambda: sum(map(len, client.has_what().values())) > 2)
    held = client.has_what()
    assert not any(future.done() for future in futures)
    victim = max(held, key=lambda address: len(held[address]))
    os.kill(processes[victim], signal.SIGKILL)
    Event(gate, client=client).set()
    made = client.gather(futures)
    assert checksums(made) == Expected(shape, picked).checksums
    client.wait_for_workers(2, timeout=180)
    assert set(client.run(os.getpid).values()) != set(processes.values())


def test_chunks_beyond_the_limit_go_to_host_memory_and_back(client: Client) -> None:
    shape = (10 * 1024, 16384)
    x = chunks.array(shape, rows=512).persist()  # 640 MiB in chunks of 32 MiB
    wait(x)

    def held(dask_worker: Any) -> tuple[int, int, int]:
        data = dask_worker.data
        return data.device_bytes, len(data.device.fast), len(data.host)

    before = client.run(held)
    assert all(on_device <= LIMIT for on_device, _, _ in before.values())
    assert sum(count for _, count, _ in before.values()) <= 16
    assert sum(spilled for _, _, spilled in before.values()) >= 4
    rows = x.sum(axis=1, dtype=np.int32).compute().numpy()
    across = np.arange(shape[1], dtype=np.uint32)
    for row in (0, 5000, shape[0] - 1):
        assert rows[row] == chunks.values(np.array([row], np.uint32), across).sum()
    until(lambda: all(m["device-memory-in-use"] <= 2 * LIMIT for m in metrics(client).values()))
    assert {m["device-memory-limit"] for m in metrics(client).values()} == {LIMIT}


def test_every_worker_has_its_adapter(client: Client, device: dml.Device) -> None:
    places = client.run(os.getenv, "DMLGPU_ADAPTER")
    assert set(places.values()) == {f"#{device.adapter.index}"}
    assert {told["adapter"] for told in metrics(client).values()} == {str(device.adapter)}


def test_a_lost_device_is_opened_again_and_its_chunks_computed_anew(client: Client) -> None:
    x = chunks.array((2048, 2048), rows=256).persist()
    wait(x)
    victim = next(address for address, keys in client.has_what().items() if keys)
    client.run(chunks.lose_device, workers=[victim])
    total = dmlgpu.dask.cumulative_summation(x, 0)[-1].compute().numpy()
    everything = chunks.values(*(np.arange(2048, dtype=np.uint32),) * 2)
    np.testing.assert_array_equal(total, everything.sum(axis=0, dtype=np.int32))
    until(lambda: victim not in client.scheduler_info(n_workers=-1)["workers"])
    client.wait_for_workers(2, timeout=180)
    assert (x + 1).sum(dtype=np.int32).compute().item() == (everything + 1).sum(dtype=np.int32)


def test_the_workers_move_tensors_to_each_other(client: Client) -> None:
    """Half of the rows of each chunk of the result lie on the other worker."""
    x = chunks.array((1024, 1024), rows=64).persist()
    wait(x)
    made = x.rechunk((1024, 64)).compute()
    assert isinstance(made, dml.Tensor)
    expected = chunks.values(*(np.arange(1024, dtype=np.uint32),) * 2)
    np.testing.assert_array_equal(made.numpy(), expected)
