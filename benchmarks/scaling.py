"""How Dask's workers scale: what was measured, and the traffic model that predicts the rest.

`python -m benchmarks.scaling` prints the table of docs/scaling.md from the results that are kept;
`python -m benchmarks.scaling measure` measures here and keeps them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "dask-scaling.json"
WORKERS = (1, 2, 4)
SHAPE = (8192, 8192)  # of int32: 256 MiB
ROWS = 512  # of a chunk: 16 MiB
REPEATS = 6
JOBS = ("sum", "scan", "rechunk")


@dataclass(frozen=True)
class Job:
    """What a job moves when an array of `chunks` chunks is spread over workers."""

    name: str
    size: int  # bytes of the array
    chunks: int
    line: int  # bytes of one row

    @property
    def tasks(self) -> int:
        """Tasks that the scheduler hands out."""
        per_chunk = {"sum": 1, "scan": 3, "rechunk": self.chunks + 1}
        return self.chunks * per_chunk[self.name]

    def crossing(self, workers: int) -> float:
        """Bytes that one worker has and another needs."""
        other = (workers - 1) / workers
        totals_and_carries = 2 * self.chunks * self.line
        return {"sum": 0, "scan": totals_and_carries, "rechunk": self.size}[self.name] * other


@dataclass(frozen=True)
class Machine:
    """What the model knows of workers and of what is between them."""

    rates: dict[str, float]  # bytes of the array per second and worker, by job
    link: float  # bytes per second that one worker takes from another, device to device
    task: float  # seconds of the scheduler per task
    cores: int  # workers that really run at the same time

    def seconds(self, job: Job, workers: int) -> float:
        """Chunks are worked on side by side, then bytes cross; the scheduler's part is serial."""
        side_by_side = min(workers, self.cores)
        work = job.size / self.rates[job.name] / side_by_side
        crossing = job.crossing(workers) / self.link / side_by_side
        return work + crossing + job.tasks * self.task

    def efficiency(self, job: Job, workers: int) -> float:
        """The time of one worker over the time that all of these spend together."""
        return self.seconds(job, 1) / (workers * self.seconds(job, workers))


def job(name: str, size: int, chunk: int, line: int) -> Job:
    """A job on an array of so many bytes."""
    return Job(name, size, size // chunk, line)


def measured_job(name: str) -> Job:
    """The job that is measured here."""
    line = SHAPE[1] * 4
    return job(name, SHAPE[0] * line, ROWS * line, line)


def fitted(kept: dict[str, Any]) -> Machine:
    """The machine that the times of one worker speak of."""
    rates = {}
    for name in JOBS:
        one = measured_job(name)
        rates[name] = one.size / (kept["seconds"][name]["1"] - one.tasks * kept["task"])
    return Machine(rates, kept["link"], kept["task"], kept["cores"])


def points(kept: dict[str, Any]) -> Iterator[tuple[str, int, float, float]]:
    """Job, workers, seconds measured and seconds predicted."""
    machine = fitted(kept)
    for name in JOBS:
        for workers, seconds in kept["seconds"][name].items():
            yield name, int(workers), seconds, machine.seconds(measured_job(name), int(workers))


# Eight GPUs in a machine, and eight such machines. A worker's bytes go to host memory, over TCP and
# up again; within a machine PCIe bounds it, between machines its network card, which eight share.
GPU = {"sum": 4.0e12, "scan": 1.7e12, "rechunk": 1.4e12}  # docs/performance.md, H200
TCP = 2.5e9  # one Dask connection between processes of one machine, a core each
NETWORK = 200e9 / 8 / 8  # 200 Gbit/s of a machine, for each of its eight workers
SCHEDULER = 0.2e-3  # Dask's own figure for a task
CHUNK = 1 << 30


def predictions() -> Iterator[tuple[str, int, float, float]]:
    """Job, GPUs, seconds and efficiency, with 16 chunks of 1 GiB for each GPU."""
    for name in JOBS:
        for gpus in (8, 64):
            link = TCP if gpus == 8 else min(TCP, NETWORK)
            machine = Machine(GPU, link, SCHEDULER, gpus)
            many = job(name, gpus * 16 * CHUNK, CHUNK, 1 << 18)
            one = job(name, 16 * CHUNK, CHUNK, 1 << 18)
            seconds = machine.seconds(many, gpus)
            yield name, gpus, seconds, machine.seconds(one, 1) / seconds


def table() -> str:
    """The tables of docs/scaling.md."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    lines = ["| job | workers | measured s | model s | model / measured | efficiency |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for name, workers, seconds, model in points(kept):
        alone = kept["seconds"][name]["1"]
        lines.append(
            f"| {name} | {workers} | {seconds:.2f} | {model:.2f} | {model / seconds:.2f} | "
            f"{alone / (workers * seconds):.2f} |"
        )
    lines += ["", "| job | GPUs | GiB | predicted s | efficiency |", "|---|--:|--:|--:|--:|"]
    for name, gpus, seconds, efficiency in predictions():
        lines.append(f"| {name} | {gpus} | {gpus * 16} | {seconds:.2f} | {efficiency:.2f} |")
    return "\n".join(lines)


def best(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The least seconds of several calls, what they made dropped in between."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        made = call()
        times.append(time.perf_counter() - start)
        del made
        time.sleep(0.3)
    return min(times)


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Workers of one thread each, and of one thread of the software adapter."""
    import distributed

    import dmlgpu.dask

    with (
        dmlgpu.dask.LocalCluster(
            n_workers=workers,
            memory_limit="4 GiB",
            dashboard_address=None,
            env={"LP_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        ) as made,
        distributed.Client(made) as client,
    ):
        client.wait_for_workers(workers, timeout=180)
        yield client


def measure() -> dict[str, Any]:
    """Times of all jobs on 1, 2 and 4 workers, of a task, and of a byte between workers."""
    import dask.array as da
    import distributed
    import numpy as np

    import dmlgpu.dask

    seconds: dict[str, dict[str, float]] = {name: {} for name in JOBS}
    kept: dict[str, Any] = {"cores": os.cpu_count(), "shape": SHAPE, "rows": ROWS}
    for workers in WORKERS:
        with cluster(workers) as client:
            host = da.full(SHAPE, 3, dtype=np.int32, chunks=(ROWS, SHAPE[1]))
            x = dmlgpu.dask.from_array(host).persist()
            distributed.wait(x)
            jobs: dict[str, Callable[[], Any]] = {
                "sum": lambda x=x: x.sum(axis=1, dtype=np.int32).persist(),
                "scan": lambda x=x: dmlgpu.dask.cumulative_summation(x, 0).persist(),
                "rechunk": lambda x=x: x.rechunk((SHAPE[0], ROWS)).persist(),
            }
            for name, call in jobs.items():
                distributed.wait(call())  # pipelines are compiled
                seconds[name][str(workers)] = best(lambda call=call: distributed.wait(call()))
                print(name, workers, seconds[name][str(workers)], flush=True)
            if workers == 1:
                kept["task"] = _task(client)
            if workers == 2:
                kept["link"] = _link(client)
    return kept | {"seconds": seconds}


def _task(client: Any, count: int = 500) -> float:
    """Seconds of a task that does nothing."""
    import distributed

    return best(lambda: distributed.wait(client.map(_same, range(count), pure=False))) / count


def _same(x: Any) -> Any:
    return x


def _chunk(_: int) -> Any:
    import numpy as np

    import dmlgpu

    return dmlgpu.tensor(np.ones((ROWS, SHAPE[1]), np.int32))


def _shape(chunk: Any) -> Any:
    return chunk.shape


def _link(client: Any, count: int = 4) -> float:
    """Bytes per second from one worker's device to the other's."""
    import distributed

    first, second = sorted(client.scheduler_info(n_workers=-1)["workers"])
    times = []
    for _ in range(REPEATS):
        there = client.map(_chunk, range(count), workers=[first], pure=False)
        distributed.wait(there)
        start = time.perf_counter()
        distributed.wait(client.map(_shape, there, workers=[second], pure=False))
        times.append(time.perf_counter() - start)
        del there
    return count * ROWS * SHAPE[1] * 4 / min(times)


def main() -> None:
    """Measures if asked to, and prints the tables."""
    if sys.argv[1:] == ["measure"]:
        RESULTS.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
