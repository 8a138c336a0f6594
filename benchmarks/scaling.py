"""How Dask's workers scale: what was measured, and the traffic model that predicts the rest.

`python -m benchmarks.scaling` writes the tables of docs/scaling.md from the results that
`python -m benchmarks.scaling_measure` has kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
RESULTS = Path(__file__).with_suffix(".json")
WORKERS = (1, 2, 4)
SHAPE = (4096, 8192)  # of int32: 128 MiB
ROWS = 256  # of a chunk: 8 MiB
BATCH = 50e6  # distributed.worker.transfer.message-bytes-limit
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
        per_chunk = {"scan": 3, "rechunk": self.chunks + 1}
        return self.chunks * per_chunk.get(self.name, 1)

    def crossing(self, workers: int) -> float:
        """Bytes that one worker has and another needs."""
        other = (workers - 1) / workers
        totals_and_carries = 2 * self.chunks * self.line
        return {"scan": totals_and_carries, "rechunk": self.size}.get(self.name, 0) * other

    def messages(self, workers: int) -> float:
        """How often one worker asks another: Dask asks for up to 50 MB at once.

        One worker asks all for the totals of a scan; then each chunk waits for a line of carries.
        """
        others = workers - 1
        lines = others + self.chunks * others / workers
        pieces = workers * others * ceil(self.size / workers**2 / BATCH)
        return {"scan": lines, "rechunk": pieces}.get(self.name, 0)


@dataclass(frozen=True)
class Machine:
    """What the model knows of workers and of what is between them."""

    rates: dict[str, float]  # bytes of the array per second and worker, by job
    link: float  # bytes per second that one worker takes from another, device to device
    message: float  # seconds until what one worker asks another for is there, however small
    task: float  # seconds of the scheduler per task
    cores: int  # workers that really run at the same time

    def seconds(self, job: Job, workers: int) -> float:
        """Chunks are worked on side by side, then bytes cross; the scheduler's part is serial."""
        side_by_side = min(workers, self.cores)
        work = job.size / self.rates[job.name] / side_by_side
        crossing = job.crossing(workers) / self.link + job.messages(workers) * self.message
        return work + crossing / side_by_side + job.tasks * self.task

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
    return Machine(rates, kept["link"], kept["message"], kept["task"], kept["cores"])


def points(kept: dict[str, Any]) -> Iterator[tuple[str, int, float, float]]:
    """Job, workers, seconds measured and seconds predicted."""
    machine = fitted(kept)
    for name in JOBS:
        for workers, seconds in kept["seconds"][name].items():
            yield name, int(workers), seconds, machine.seconds(measured_job(name), int(workers))


# Eight GPUs in a machine, and eight such machines. A worker's bytes go to host memory, over TCP and
# up again; within a machine PCIe bounds it, between machines its network card, which eight share.
# None of these numbers was measured with Dask: the rates are of the order of an H200's kernels.
GPU = {"sum": 4.0e12, "scan": 1.7e12, "rechunk": 1.4e12}
GPU["0.1 s of work"] = (1 << 30) / 0.1  # on each chunk, within it
TCP = 2.5e9  # one Dask connection between processes of one machine, a core each
NETWORK = 200e9 / 8 / 8  # 200 Gbit/s of a machine, for each of its eight workers
MESSAGE = 1e-3
SCHEDULER = 0.2e-3  # Dask's own figure for a task
CHUNK = 1 << 30


def predictions() -> Iterator[tuple[str, int, float, float]]:
    """Job, GPUs, seconds and efficiency, with 16 chunks of 1 GiB for each GPU."""
    for name in GPU:
        for gpus in (8, 64):
            link = TCP if gpus == 8 else min(TCP, NETWORK)
            machine = Machine(GPU, link, MESSAGE, SCHEDULER, gpus)
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
        lines.append(f"| {name} | {gpus} | {gpus * 16} | {seconds:.3g} | {efficiency:.2g} |")
    return "\n".join(lines)


def written(page: str) -> str:
    """The page with its tables made anew."""
    start, end = "<!-- scaling -->\n", "<!-- /scaling -->"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{table()}\n\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())
