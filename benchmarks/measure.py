"""One row: a case run by dmlgpu, by its limit and by its rivals, with the result checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import isinf
from typing import Any

import numpy as np

import dmlgpu as dml
import dmlgpu.numpy as dnp
from benchmarks.data import Data
from benchmarks.limit import Limits
from benchmarks.problem import Array, Problem
from benchmarks.rivals import Library, arrays, differs
from benchmarks.workload import Case, shrunk
from benchmarks.workloads import FAMILY_OF
from dmlgpu.measure.timing import Pace, Timed, time_wall

CHECK_ALL = 64 << 20  # bytes: larger outputs are compared in windows
WINDOW = 64 << 10
WINDOWS = 64
LADDER = tuple(1 << n for n in range(12, 27, 2))  # bytes of input tried for the break-even size


@dataclass(slots=True)
class Row:
    """What is reported of one case."""

    workload: str
    operator: str  # "" for a program
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
    numpy_ms: float | None
    numpy_ratio: float | None  # NumPy's time over dmlgpu's GPU time
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
        self.inputs = [data.tensor(problem, layout) for layout in problem.layouts]
        workload = problem.workload
        if problem.operator is None:
            function = eval(workload.program, {"dml": dml, "dnp": dnp, "np": np})
            masks = [operand.values == "mask" for operand in workload.inputs]
            pairs = zip(self.inputs, masks, strict=True)
            self.inputs = [x.astype(np.bool_) if is_mask else x for x, is_mask in pairs]
            self.outs = arrays(function(*self.inputs))
            self.call = partial(function, *self.inputs)
            return
        op = device.compile(problem.desc)
        self.outs = [device.empty(desc) for desc in op.desc.outputs().values()]
        in_one = any(field.is_array for field in problem.operator.inputs)
        bound: Any = [self.inputs] if in_one else self.inputs
        out: Any = self.outs[0] if len(self.outs) == 1 else tuple(self.outs)
        self.call = partial(op, *bound, out=out)

    def __call__(self) -> None:
        made = self.call()
        if self.problem.operator is None:
            self.outs = arrays(made)

    @property
    def traffic(self) -> int:
        """Bytes that a call must move."""
        return self.problem.traffic(sum(out.nbytes for out in self.outs))

    def check(self, expected: Sequence[Array]) -> str:
        """Raises unless the outputs are the reference's; says how much of them was compared.

        Without a reference the same bits must come out of two runs. Where a reference is shorter
        than the output, only as much of the output means something.
        """
        self()
        if not expected:
            first = [self._compared(out, out.size) for out in self.outs]
            self()
            again = [self._compared(out, out.size) for out in self.outs]
            if any(a != b for a, b in zip(first, again, strict=True)):
                raise AssertionError(f"{self.problem}: two runs gave different bits")
            return "two runs"
        said = [self._agrees(o, w) for o, w in zip(self.outs, expected, strict=True)]
        return next((words for words in said if words != "all"), "all")

    def _agrees(self, out: dml.Tensor, wanted: Array) -> str:
        if wanted.size > out.size or (wanted.size < out.size and wanted.shape[1:] != out.shape[1:]):
            raise AssertionError(
                f"{self.problem}: the output has sizes {out.shape}, the reference {wanted.shape}"
            )
        flat = np.ascontiguousarray(wanted).reshape(-1)
        for start, got in self._parts(out, flat.size):
            bad = differs(got, flat[start : start + got.size], self.problem.workload.within)
            if bad.any():
                at = start + int(np.flatnonzero(bad)[0])
                raise AssertionError(
                    f"{self.problem}: element {at} of the output is "
                    f"{got[at - start]!r}; the reference has {flat[at]!r}"
                )
        if out.nbytes <= CHECK_ALL:
            return "all"
        return f"{WINDOWS} windows of {WINDOW >> 10} KiB"

    def _parts(self, out: dml.Tensor, count: int) -> Iterator[tuple[int, Array]]:
        """Elements of an output among its first `count`, and where they begin."""
        if out.nbytes <= CHECK_ALL:
            yield 0, out.numpy().reshape(-1)[:count]
            return
        item = out.dtype.itemsize
        for start in _windows(count * item):
            size = min(WINDOW, count * item - start) // item
            desc = dml.TensorDesc(out.desc.data_type, (size,))
            yield start // item, self.device.wrap(out.buffer, desc, out.offset + start).numpy()

    def _compared(self, out: dml.Tensor, count: int) -> list[bytes]:
        return [part.tobytes() for _, part in self._parts(out, count)]


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
    others: Sequence[Library],
    pace: Pace,
) -> Row:
    """Measures a case; a library that fails is left out with a sentence on standard error."""
    problem = Problem.of(case, device.adapter.kind)
    run = Prepared(device, problem, data)
    judge = judge_of(case, others)
    expected = reference(problem, data, judge)
    checked = run.check(expected)
    found: dict[str, dict[str, Any]] = {}
    for library in others:
        try:
            best = library.best(problem, data, expected, pace)
        except Exception as error:  # whatever it is, the other columns are still worth having
            print(f"{library.name} has no time for {case}: {error}", file=sys.stderr)
            continue
        finally:
            library.free()
        if best is not None:
            found[library.name] = {
                "ms": best.timed.seconds * 1e3,
                "how": best.how,
                "timed_by": best.timed.by,
                "where": library.where,
            }
    limit, timed = side_by_side(run, limits, case, data)
    numpy_ms = found.pop("NumPy", {}).get("ms")
    return Row(
        workload=case.workload.name,
        operator=case.workload.operator,
        family=FAMILY_OF[case.workload.name],
        dtype=case.dtype,
        size=case.size,
        shape=list(problem.shape),
        input_bytes=problem.nbytes,
        traffic_bytes=run.traffic,
        gpu_ms=timed.seconds * 1e3,
        gpu_ms_best=timed.best * 1e3,
        runs=timed.runs,
        timed_by=timed.by,
        gb_per_s=_ratio(run.traffic / 1e9, timed.seconds),
        limit="bare gather" if problem.is_bare_gather else "copy",
        limit_ms=limit * 1e3,
        frac=_ratio(limit, timed.seconds),
        checked=f"{checked}, against {judge.name}" if judge else checked,
        numpy_ms=numpy_ms,
        numpy_ratio=_ratio(numpy_ms / 1e3, timed.seconds) if numpy_ms else None,
        rivals=found,
    )


def judge_of(case: Case, others: Sequence[Library]) -> Library | None:
    """The library that a case is held against: NumPy, unless it lacks the work or takes long."""
    here = {other.name: other for other in others if case.workload.expressions(other.name)}
    late = case.workload.is_slow and case.size == "bandwidth" and "PyTorch" in here
    return here.get("PyTorch") if late else here.get("NumPy") or here.get("PyTorch")


def reference(problem: Problem, data: Data, judge: Library | None) -> list[Array]:
    """What a case must give; nothing where no library says it."""
    written = problem.workload.expressions(judge.name) if judge else ()
    if judge is None or not written or isinf(problem.workload.within):
        return []
    call = judge.call(written[0], problem, data)
    return [judge.host(array) for array in arrays(call())]


def side_by_side(run: Prepared, limits: Limits, case: Case, data: Data) -> tuple[float, Timed]:
    """Seconds of the limit, and the case's time: of several pairs, the one in the middle."""
    limit = limits.of(run.problem, case.size, run.traffic, data)
    pairs = [(limit.seconds(), limits.time(run)) for _ in range(limits.looks)]
    pairs.sort(key=lambda pair: _ratio(pair[0], pair[1].seconds))
    return pairs[len(pairs) // 2]


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0  # a time below the clock's tick says nothing


def break_even(
    device: dml.Device, case: Case, data: Data, numpy: Library, most: int, pace: Pace
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
        theirs = time_wall(numpy.call(case.workload.numpy, problem, data), pace).seconds
        if mine < theirs:
            return problem.nbytes, tried
    return None, tried
