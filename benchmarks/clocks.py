"""`python -m benchmarks.clocks`: the host's clock beside the GPU's, for calls that are queued.

A program does what the GPU's clock alone does not show: it makes its results anew on each call,
and it has used memory of other sizes before. So does this one. It runs every bandwidth-bound case,
and some whose tensors are two and three times as large as the largest of these: beyond one binding.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import dmlgpu as dml
from benchmarks import report as reports
from benchmarks.data import Data
from benchmarks.measure import Prepared
from benchmarks.problem import Problem
from benchmarks.rivals import Library, rivals
from benchmarks.workload import Case, room
from benchmarks.workloads import cases
from dmlgpu.cli.progress import Progress
from dmlgpu.measure.timing import Pace, time_gpu, time_queued

OTHERS = 20  # sizes that pass through the device's memory before
TIMES = (2, 3)  # the bytes of the largest bandwidth-bound cases
LARGE = ("add", "transpose", "NHWC to NCHW, 3 channels", "cumsum last axis", "cumsum axis 0")
LARGE_TYPES = ("float32", "uint8")


@dataclass(frozen=True, slots=True)
class Entry:
    """One case by both clocks."""

    workload: str
    dtype: str
    shape: list[int]
    times: int  # the bytes of a bandwidth-bound case; of the rest it is 1
    gpu_ms: float
    wall_ms: float
    torch_ms: float | None = None

    @property
    def ratio(self) -> float:
        """The host's time over the GPU's."""
        return self.wall_ms / self.gpu_ms if self.gpu_ms else 1.0


def use_other_sizes(device: dml.Device) -> None:
    """As a program that has done other things before."""
    each = room(device.adapter.kind) // 5
    for k in range(OTHERS):
        device.empty(dml.TensorDesc(dml.DataType.UINT8, (each + 13 * k * each // 256,)))
    device.wait()


def problems(kind: str, only: list[str]) -> Iterator[tuple[int, Problem]]:
    """Every bandwidth-bound case, then the large ones, each with how large it is."""
    chosen = cases(sizes=["bandwidth"], only=only or ("*",))
    for case in chosen:
        yield 1, Problem.of(case, kind)
    for times in TIMES:
        for case in chosen:
            if case.workload.name in LARGE and case.dtype in LARGE_TYPES:
                yield times, enlarged(case, kind, times)


def enlarged(case: Case, kind: str, times: int) -> Problem:
    """A case whose first axis is so long that its largest input has so many times the room."""
    problem = Problem.of(case, kind)
    longer = times * room(kind) // problem.nbytes * problem.shape[0]
    return replace(problem, shape=(longer, *problem.shape[1:]))


def measured(
    device: dml.Device,
    times: int,
    problem: Problem,
    data: Data,
    others: list[Library],
    pace: Pace,
) -> Entry:
    """Both clocks, and PyTorch's time for the large cases, where it is there."""
    run = Prepared(device, problem, data)
    anew = partial(run.call.func, *run.call.args)
    gpu = time_gpu(device, run, pace)
    wall = time_queued(anew, device.wait, replace(pace, warm_seconds=0.05))
    best = None
    for library in others if times > 1 else ():
        best = library.best(problem, data, [], pace, queued=True)
        library.drop()
        library.free()
    return Entry(
        problem.workload.name,
        problem.dtype,
        list(problem.shape),
        times,
        gpu.seconds * 1e3,
        wall.seconds * 1e3,
        best.timed.seconds * 1e3 if best else None,
    )


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clocks", description=__doc__)
    add = parser.add_argument
    add("--only", action="append", metavar="PATTERN", help="cases whose id has this (repeatable)")
    add("--large", action="store_true", help="only the cases above those of the other tables")
    add("--without", action="append", choices=("torch",), default=[], help="not compared")
    add("--adapter", help="part of the adapter's name (default: the best one)")
    add("--json", type=Path, metavar="FILE", help="where the result goes")
    add("--save", action="store_true", help="add it to benchmarks/results/<adapter>.json")
    add("--commit", help="the commit measured, where there is no checkout to ask")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Runs what the command line says; 1 when a case failed."""
    args = arguments(words)
    try:
        device = dml.Device(args.adapter)
    except dml.DeviceError as error:
        print(f"Nothing can be measured: {error}.", file=sys.stderr)
        return 2
    with device:
        return run(device, args)


def run(device: dml.Device, args: argparse.Namespace) -> int:
    """Measures on an open device."""
    kind = device.adapter.kind
    others, _ = rivals(kind, {"numpy", "cupy", *args.without})
    pace = replace(Pace.of(kind), warm_seconds=0.2 if kind != "cpu" else 0.02)
    asked = [x for x in problems(kind, args.only) if x[0] > 1 or not args.large]
    report = reports.begin(device, args.commit, {o.name.lower(): o.version for o in others})
    path = args.json or (reports.RESULTS if args.save else Path("build") / "bench") / (
        f"{reports.slug(device.adapter)}.json"
    )
    whole = reports.read(path) if args.save and path.exists() else report
    rows: list[dict[str, Any]] = []
    whole["clocks"] = {"date": report["date"], "commit": report["commit"], "rows": rows}
    progress, found, failures = Progress(len(asked)), list[Entry](), list[str]()
    use_other_sizes(device)
    data = Data(device, [problem for times, problem in asked if times == 1])
    for times, problem in asked:
        progress.begin(str(problem))
        try:
            given = data if times == 1 else Data(device, [problem])
            entry = measured(device, times, problem, given, others, pace)
        except (AssertionError, ValueError, dml.DmlError) as error:
            failures.append(f"{problem}: {error}")
            progress.done(f"FAILED {failures[-1]}")
            continue
        found.append(entry)
        rows.append(asdict(entry))
        reports.write(whole, path)
        progress.done(f"{entry.wall_ms:9.3f} / {entry.gpu_ms:9.3f} = {entry.ratio:5.2f}  {problem}")
    progress.end()
    if found:
        over = [e for e in found if e.ratio > reports.SLOWER_BY_THE_HOST]
        print(f"median {median(e.ratio for e in found):.3f}; {len(over)} of {len(found)} above")
    print(f"The result is in {path}.")
    for sentence in failures:
        print(f"FAILED {sentence}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
