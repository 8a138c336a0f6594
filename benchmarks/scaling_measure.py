"""Measures how Dask's workers scale on this machine: `python -m benchmarks.scaling_measure`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import distributed
import numpy as np

import dmlgpu.dask
from benchmarks.scaling import JOBS, RESULTS, ROWS, SHAPE, WORKERS

REPEATS = 6
COLUMNS = SHAPE[1] * ROWS // SHAPE[0]  # of a chunk as large, with all rows


def best(client: Any, call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The least seconds of several calls; a result is forgotten before the next is asked for."""
    times = []
    before = held(client)
    for _ in range(repeats):
        start = time.perf_counter()
        made = call()
        times.append(time.perf_counter() - start)
        del made
        while held(client) > before:
            time.sleep(0.05)
    return min(times)


def held(client: Any) -> int:
    """Results that the workers hold."""
    return sum(map(len, client.has_what().values()))


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Workers of one thread each, and of one thread of the software adapter."""
    with (
        dmlgpu.dask.LocalCluster(
            n_workers=workers,
            memory_limit="4 GiB",
            dashboard_address=":0",
            env={"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        ) as made,
        distributed.Client(made) as client,
    ):
        client.wait_for_workers(workers, timeout=180)
        yield client


def measure() -> dict[str, Any]:
    """Times of all jobs on 1, 2 and 4 workers, of a task, and of a byte between workers."""
    seconds: dict[str, dict[str, float]] = {name: {} for name in JOBS}
    kept: dict[str, Any] = {"cores": os.cpu_count(), "shape": SHAPE, "rows": ROWS}
    for workers in WORKERS:
        with cluster(workers) as client:
            host = da.full(SHAPE, 3, dtype=np.int32, chunks=(ROWS, SHAPE[1]))
            x = dmlgpu.dask.from_array(host).persist()
            distributed.wait(x)
            jobs: dict[str, Callable[[], Any]] = {
                "sum": lambda x=x: (x * x + x).sum(axis=1, dtype=np.int32).persist(),
                "scan": lambda x=x: dmlgpu.dask.cumulative_summation(x, 0).persist(),
                "rechunk": lambda x=x: x.rechunk((SHAPE[0], COLUMNS), method="tasks").persist(),
            }
            for name, call in jobs.items():
                best(client, call, 1)  # pipelines are compiled
                seconds[name][str(workers)] = best(client, lambda call=call: _done(client, call))
                print(name, workers, seconds[name][str(workers)], flush=True)
            if workers == 1:
                kept["task"] = _task(client)
            if workers == 2:
                kept["message"] = _crossing(client, rows=1, count=8)
                chunk = _crossing(client, rows=ROWS, count=4)
                kept["link"] = ROWS * SHAPE[1] * 4 / (chunk - kept["message"])
    return kept | {"seconds": seconds}


def _done(client: Any, call: Callable[[], Any]) -> Any:
    """What a job made, when the devices have done it."""
    made = call()
    distributed.wait(made)
    client.run(_drain)
    return made


def _drain() -> None:
    dmlgpu.default_device().wait()


def _task(client: Any, count: int = 500) -> float:
    """Seconds of a task that does nothing."""

    def tasks() -> Any:
        made = client.map(_same, range(count), pure=False)
        distributed.wait(made)
        return made

    return best(client, tasks) / count


def _same(x: Any) -> Any:
    return x


def _tensor(rows: int) -> Any:
    return dmlgpu.tensor(np.ones((rows, SHAPE[1]), np.int32))


def _shape(chunk: Any) -> Any:
    return chunk.shape


def _crossing(client: Any, rows: int, count: int) -> float:
    """Seconds that tensors need from one worker's device to another's, one after the other."""
    first, second = sorted(client.scheduler_info(n_workers=-1)["workers"])[:2]
    times = []
    for _ in range(REPEATS):
        there = client.map(_tensor, [rows] * count, workers=[first], pure=False)
        distributed.wait(there)
        start = time.perf_counter()
        for x in there:
            distributed.wait(client.submit(_shape, x, workers=[second], pure=False))
        times.append(time.perf_counter() - start)
        del there, x
    return min(times) / count


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
