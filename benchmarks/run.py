"""A whole run: which parts, in which order, with every result written as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dmlgpu as dml
from benchmarks import report as reports
from benchmarks.calls import measure_calls
from benchmarks.data import Data
from benchmarks.limit import Limits
from benchmarks.measure import LADDER, Row, break_even, measure
from benchmarks.problem import Problem
from benchmarks.repeats import FLOATS, check_repeats
from benchmarks.rivals import Library, Numpy
from benchmarks.startup import measure_start_up
from benchmarks.transfers import MIB, measure_transfers
from benchmarks.workload import SIZES, Case
from dmlgpu.cli.progress import Progress
from dmlgpu.measure.timing import Pace

PARTS = ("rows", "break-even", "calls", "transfers", "start-up", "repeats")
BREAK_EVEN_CPU = 16 * MIB  # on adapters where a call of 64 MiB takes long


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run, and how thoroughly."""

    parts: tuple[str, ...]
    cases: tuple[Case, ...]
    quick: bool
    seconds: float  # no row is begun after so many


class Run:
    """Measures on one device and keeps the report."""

    def __init__(
        self,
        device: dml.Device,
        settings: Settings,
        others: list[Library],
        report: reports.Report,
        path: Path,
    ) -> None:
        self.device = device
        self.report = report
        self.failures: list[str] = []
        self._settings = settings
        self._others = others
        self._path = path
        kind = device.adapter.kind
        self._pace = Pace.of(kind, quick=settings.quick)
        self._short = Pace(0.0, 3, 3, 0.005 if settings.quick else 0.02)
        self._limits = Limits(device, self._pace)
        self._pairs = list(
            dict.fromkeys((c.workload, c.dtype) for c in settings.cases if _may_break_even(c))
        )
        self._progress = Progress(self._count())

    def _count(self) -> int:
        parts = self._settings.parts
        rows = len(self._settings.cases) if "rows" in parts else 0
        ladders = len(self._pairs) if "break-even" in parts else 0
        repeats = len(self._repeated()) if "repeats" in parts else 0
        return rows + ladders + repeats + sum(p in parts for p in PARTS[2:5])

    def all(self) -> None:
        """Runs the parts asked for; an interrupted run keeps what it has."""
        todo: dict[str, Callable[[], None]] = {
            "rows": self.rows,
            "break-even": self.break_evens,
            "calls": self.calls,
            "transfers": self.transfers,
            "start-up": self.start_up,
            "repeats": self.repeats,
        }
        try:
            for part in PARTS:
                if part in self._settings.parts:
                    todo[part]()
        except KeyboardInterrupt:
            self._progress.say("Interrupted; what was measured until here is kept.")
        finally:
            self._progress.end()
            self._write()

    def _write(self) -> None:
        self.report["memory"] = asdict(self.device.memory)
        self.report["rows"].sort(key=reports.row_order)
        reports.write(self.report, self._path)

    def _is_late(self, what: str) -> bool:
        if self._progress.seconds < self._settings.seconds:
            return False
        self.report["skipped"].append(what)
        self._progress.done(f"{what}: skipped, {self._settings.seconds:.0f} s have passed")
        return True

    def rows(self) -> None:
        """The main table: sizes in order, and within a size one data type after the other."""
        for size in SIZES:
            chosen = sorted(
                (case for case in self._settings.cases if case.size == size), key=_by_type
            )
            data = self._data(chosen)
            before = ""
            for case in chosen:
                if case.dtype != before:
                    before = case.dtype
                    for other in self._others:
                        other.drop()
                if not self._is_late(str(case)):
                    self._row(case, data)
            if chosen and size == "bandwidth":
                self.report["copy_gb_per_s"] = self._limits.copy_rate / 1e9

    def _data(self, cases: Iterable[Case]) -> Data:
        kind = self.device.adapter.kind
        return Data(self.device, [Problem.of(case, kind) for case in cases])

    def _row(self, case: Case, data: Data) -> None:
        self._progress.begin(str(case))
        try:
            row = measure(self.device, case, data, self._limits, self._others, self._pace)
        except dml.UnsupportedError as error:
            self._progress.done(f"{case}: skipped: {error}")
            return
        except (AssertionError, dml.DmlError) as error:
            self._fail(f"{case}: {error}")
            return
        self.report["rows"] = [r for r in self.report["rows"] if _key(r) != row.key]
        self.report["rows"].append(row.as_dict())
        self._write()
        self._progress.done(_line(row))

    def _fail(self, sentence: str) -> None:
        self.failures.append(sentence)
        self._progress.done(f"FAILED {sentence}")

    def break_evens(self) -> None:
        """Fills in from which size on a call beats NumPy."""
        is_cpu = self.device.adapter.kind == "cpu"
        most = BREAK_EVEN_CPU if is_cpu else LADDER[-1]
        data, numpy = Data(self.device, []), Numpy()
        for workload, dtype in sorted(self._pairs, key=lambda pair: pair[1]):
            case = Case(workload, dtype, "bandwidth")
            self._progress.begin(f"break-even of {workload.name} {dtype}")
            if self._is_late(f"break-even of {workload.name} {dtype}"):
                continue
            numpy.drop()
            try:
                found, tried = break_even(self.device, case, data, numpy, most, self._short)
            except (AssertionError, dml.DmlError) as error:
                self._fail(f"break-even of {case}: {error}")
                continue
            for row in self.report["rows"]:
                if (row["workload"], row["dtype"]) == (workload.name, dtype):
                    row.update(break_even_bytes=found, break_even_tried=tried)
            text = reports.break_even_text({"break_even_bytes": found, "break_even_tried": tried})
            self._progress.done(f"{workload.name} {dtype} beats NumPy from: {text}")
        self._write()

    def calls(self) -> None:
        """Host time per call."""
        self._progress.begin("host time per call")
        scale = 0.2 if self._settings.quick else 1.0
        found = []
        for entry in measure_calls(self.device, self._others, scale):
            found.append(asdict(entry))
            self._progress.say(f"  {entry.us:8.2f} us  {entry.name}")
        self.report["calls"] = found
        self._write()
        self._progress.done(f"host time per call: {len(found)} rows")

    def transfers(self) -> None:
        """Uploads and downloads."""
        self._progress.begin("transfers")
        most = 4 * MIB if self._settings.quick else None
        found = []
        for entry in measure_transfers(self.device, self._others, most):
            found.append({**asdict(entry), "gb_per_s": entry.gb_per_s})
            what = f"{entry.library} {entry.direction} of {reports.in_bytes(entry.bytes)}"
            self._progress.say(f"  {entry.gb_per_s:8.2f} GB/s  {what}")
        self.report["transfers"] = found
        self._write()
        self._progress.done(f"transfers: {len(found)} rows")

    def start_up(self) -> None:
        """New processes."""
        self._progress.begin("start-up")
        stages = measure_start_up(str(self.device.adapter), 1 if self._settings.quick else 3)
        self.report["start_up"] = [asdict(stage) for stage in stages]
        self._write()
        self._progress.done(f"start-up: {stages[-1].name}: {stages[-1].seconds:.2f} s")

    def _repeated(self) -> list[Case]:
        """Float scans at the largest size chosen."""
        last = max((SIZES.index(c.size) for c in self._settings.cases), default=0)
        return [
            case
            for case in self._settings.cases
            if case.workload.operator.startswith("CUMULATIVE") and case.dtype in FLOATS
            if case.size == SIZES[last]
        ]

    def repeats(self) -> None:
        """Float scans must not depend on timing."""
        found = self.report["repeats"]
        for case in self._repeated():
            self._progress.begin(f"repeats of {case}")
            if self._is_late(f"repeats of {case}"):
                continue
            try:
                entry = check_repeats(self.device, case, 3)
            except (AssertionError, dml.DmlError) as error:
                self._fail(str(error))
                continue
            found = [e for e in found if _key(e) != _key(asdict(entry))]
            found.append(asdict(entry))
            self._progress.done(f"{case}: the same bits in {entry.runs} runs")
        self.report["repeats"] = found
        self._write()


def _may_break_even(case: Case) -> bool:
    """Whether NumPy has the work, and the case is one of several sizes."""
    return bool(case.workload.numpy) and len(case.workload.shapes) > 1 and not case.workload.is_slow


def _by_type(case: Case) -> tuple[bool, str]:
    """One data type after the other, FLOAT32 first."""
    return (case.dtype != "float32", case.dtype)


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return (row["workload"], row["dtype"], row["size"])


def _line(row: Row) -> str:
    """One row, as soon as it is measured."""
    what = f"{row.workload} {row.dtype} {row.size}"
    parts = [f"{what:<46}{reports.number(row.gpu_ms):>9} ms{reports.number(row.gb_per_s):>7} GB/s"]
    parts.append(f"frac {row.frac:4.2f}  NumPy {reports.number(row.numpy_ms)} ms")
    parts += [f"{name} {reports.number(rival['ms'])} ms" for name, rival in row.rivals.items()]
    return "  ".join(parts)
