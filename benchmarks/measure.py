"""One row: a case run by dmlgpu, by its limit and by its rivals, with the result checked."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.data import Data
from benchmarks.limit import Limits
from benchmarks.problem import Array, Problem
from benchmarks.rivals import Rival, time_numpy
from benchmarks.workloads import Case, shrunk
from dmlgpu.measure.timing import Pace, Timed, time_gpu, time_wall

CHECK_ALL = 64 << 20  # bytes: larger outputs are compared in windows
WINDOW = 64 << 10
WINDOWS = 64
LADDER = tuple(1 << n for n in range(12, 27, 2))  # bytes of input tried for the break-even size


@dataclass(slots=True)
class Row:
    """What is reported of one case."""

    workload: str
    family: str
    dtype: str
    size: str
    shape: list[int]
    input_bytes: int
    traffic_bytes: int
    gpu_ms: float
    gpu_ms_best: float
    runs: int
    timed_by: str
    gb_per_s: float
    limit: str  # copy, bare gather
    limit_ms: float
    frac: float
    checked: str
    numpy_ms: float
    numpy_ratio: float  # NumPy's time over dmlgpu's GPU time
    rivals: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name: ms, how, by, where
    break_even_bytes: int | None = None
    break_even_tried: int = 0  # largest input tried, in bytes; 0 when none was

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two rows the same."""
        return (self.workload, self.dtype, self.size)

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return asdict(self)


class Prepared:
    """A problem with its tensors on the device, called like a function."""

    def __init__(self, device: dml.Device, problem: Problem, data: Data) -> None:
        self.device = device
        self.problem = problem
        self.op = device.compile(problem.desc())
        self.x = data.host(problem)
        self.flat: Array | None = None
        self.index: Array | None = None
        self.inputs = [data.input(problem)]
        if problem.workload.family == "gather_nd":
            self.flat, self.index, indices = data.index(problem)
            self.inputs.append(indices)
        self.out = device.empty(self.op.desc.output_tensor)

    def __call__(self) -> None:
        self.op(*self.inputs, out=self.out)

    def check(self, expected: Array | None = None) -> str:
        """Raises unless the output equals NumPy's; says how much of it was compared."""
        if expected is None:
            expected = self.problem.numpy_call(self.x, self.index)(
                np.empty(self.problem.output_shape, self.x.dtype)
            )
        wanted = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
        if wanted.nbytes <= CHECK_ALL:
            got = self.out.numpy().reshape(-1).view(np.uint8)
            self._compare(got, wanted, 0)
            return "all"
        for start in _windows(wanted.nbytes):
            part = wanted[start : start + WINDOW]
            desc = dml.TensorDesc(dml.DataType.UINT8, (-(-part.size // 4) * 4,))
            got = self.device.wrap(self.out.buffer, desc, self.out.offset + start).numpy()
            self._compare(got[: part.size], part, start)
        return f"{WINDOWS} windows of {WINDOW >> 10} KiB"

    def _compare(self, got: Array, wanted: Array, start: int) -> None:
        if not np.array_equal(got, wanted):
            first = start + int(np.flatnonzero(got != wanted)[0])
            raise AssertionError(
                f"{self.problem.workload.name} {self.problem.dtype} {self.problem.shape}: "
                f"element {first // self.problem.itemsize} of the output differs from NumPy's"
            )


def _windows(nbytes: int) -> list[int]:
    """Starts of windows, in bytes: the first, the last, and others at random."""
    last = max(0, nbytes - WINDOW) // 16 * 16
    inside = np.random.default_rng(5).integers(0, last // 16 + 1, WINDOWS - 2) * 16
    return [0, last, *(int(start) for start in inside)]


def measure(
    device: dml.Device,
    case: Case,
    data: Data,
    limits: Limits,
    others: Iterable[Rival],
    pace: Pace,
    host_pace: Pace,
) -> Row:
    """Measures a case; a rival that fails is left out with a sentence on standard error."""
    problem = Problem(case.workload, case.dtype, case.shape(device.adapter.kind))
    run = Prepared(device, problem, data)
    numpy_time, expected = time_numpy(problem, run.x, run.index, host_pace)
    found: dict[str, dict[str, Any]] = {}
    for rival in others:
        try:
            rival.take(data.base(problem.dtype, problem.elements))
            best = rival.best(problem, run.flat, expected, pace)
            found[rival.name] = {
                "ms": best.timed.seconds * 1e3,
                "how": best.how,
                "timed_by": best.timed.by,
                "where": rival.where,
            }
        except Exception as error:  # whatever it is, the other columns are still worth having
            print(f"{rival.name} has no time for {case}: {error}", file=sys.stderr)
        finally:
            rival.free()
    limit, timed = _side_by_side(device, run, limits, case, pace)
    return Row(
        workload=case.workload.name,
        family=case.workload.family,
        dtype=case.dtype,
        size=case.size,
        shape=list(problem.shape),
        input_bytes=problem.nbytes,
        traffic_bytes=problem.traffic,
        gpu_ms=timed.seconds * 1e3,
        gpu_ms_best=timed.best * 1e3,
        runs=timed.runs,
        timed_by=timed.by,
        gb_per_s=_ratio(problem.traffic / 1e9, timed.seconds),
        limit="bare gather" if problem.is_bare_gather else "copy",
        limit_ms=limit * 1e3,
        frac=_ratio(limit, timed.seconds),
        checked=run.check(expected),
        numpy_ms=numpy_time.seconds * 1e3,
        numpy_ratio=_ratio(numpy_time.seconds, timed.seconds),
        rivals=found,
    )


def _side_by_side(
    device: dml.Device, run: Prepared, limits: Limits, case: Case, pace: Pace
) -> tuple[float, Timed]:
    """Seconds of the limit, and the case's time: of several pairs, the one in the middle."""
    limit = limits.of(run.problem, case.size, run.inputs[0], run.flat)
    pairs = [(limit.seconds(), time_gpu(device, run, pace)) for _ in range(limits.looks)]
    pairs.sort(key=lambda pair: _ratio(pair[0], pair[1].seconds))
    return pairs[len(pairs) // 2]


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0  # a time below the clock's tick says nothing


def break_even(
    device: dml.Device, case: Case, data: Data, most: int, pace: Pace
) -> tuple[int | None, int]:
    """Bytes of the smallest input at which a call and its wait beat NumPy; and the largest tried.

    Nothing is transferred: the input lies where each of the two wants it.
    """
    tried = 0
    shape = case.workload.shapes["bandwidth"]
    for nbytes in LADDER:
        elements = nbytes // np.dtype(case.dtype).itemsize
        problem = Problem(case.workload, case.dtype, shrunk(shape, elements))
        if problem.nbytes > most:
            break
        if problem.nbytes <= tried:
            continue
        tried = problem.nbytes
        run = Prepared(device, problem, data)

        def once(run: Prepared = run) -> None:
            run()
            device.wait()

        once()
        mine = time_wall(once, pace).seconds
        theirs, expected = time_numpy(problem, run.x, run.index, pace)
        run.check(expected)
        if mine < theirs.seconds:
            return problem.nbytes, tried
    return None, tried
