"""`dmlgpu bench`: how fast common calls are here, against the adapter's own copy and NumPy.

A checkout also has the whole suite, which PyTorch and CuPy join: `--suite` hands over to it.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dmlgpu as dml
from dmlgpu.cli.cases import Case, bench_cases, print_why_numpy_is_faster, verdict
from dmlgpu.cli.output import Table, bytes_text, number_text, print_text
from dmlgpu.cli.parser import Commands, add_adapter, add_command, add_json, fail
from dmlgpu.cli.progress import Progress
from dmlgpu.errors import DeviceError
from dmlgpu.measure.roofline import copy_rate
from dmlgpu.measure.timing import Pace, time_wall, warm_up
from dmlgpu.runtime.profile import GPU

MIB = 1 << 20
SIZE = {"discrete": 256, "cpu": 16}  # MiB of an input, by kind of adapter
SIZE_ELSEWHERE = 64

EXAMPLES = """\
  dmlgpu bench
  dmlgpu bench --size 1024               on inputs of 1 GiB
  dmlgpu bench --json > speed.json
  dmlgpu bench --suite --quick           in a checkout: python -m benchmarks --quick
  dmlgpu bench --list                    in a checkout: every row of the suite, by operator
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What is told of one case."""

    operator: str
    task: str
    input_bytes: int
    gpu_ms: float
    gb_per_s: float
    of_copy: float  # the adapter's copy of as many bytes, over this time
    numpy_ms: float
    numpy_ratio: float
    agrees: bool


def add_bench(commands: Commands) -> None:
    """Adds the command."""
    text = "measure common calls against the adapter's own copy and NumPy"
    parser = add_command(commands, "bench", run, text, EXAMPLES)
    add_adapter(parser)
    add_json(parser)
    parser.add_argument(
        "--size", type=_size, metavar="MIB", help="MiB of each input (default: by adapter)"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the rows of the suite of a checkout, and no more"
    )
    parser.add_argument(
        "--suite",
        nargs=argparse.REMAINDER,
        metavar="ARGUMENT",
        help="run the whole suite of a checkout, with these arguments of its own",
    )


def _size(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be a number from 1 to 4096")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """The report as a table or as JSON; fails where a result differs from NumPy's."""
    if args.list or args.suite is not None:
        return _suite([*(["--list"] if args.list else []), *(args.suite or [])])
    with dml.Device(args.adapter) as device:
        size = args.size or SIZE.get(device.adapter.kind, SIZE_ELSEWHERE)
        cases = bench_cases(size * MIB)
        progress = Progress(len(cases) + 1)
        progress.begin("the adapter's copy")
        rate = copy_rate(device, size * MIB)
        progress.done(f"the adapter's copy: {number_text(rate / 1e9)} GB/s")
        try:
            found = list(rows(device, cases, rate, progress))
        finally:
            progress.end()
        report = {
            "dmlgpu": dml.__version__,
            "adapter": asdict(device.adapter),
            "clock": device.profile().clock,
            "copy_gb_per_s": rate / 1e9,
            "rows": [asdict(row) for row in found],
        }
        if args.json:
            print(json.dumps(report, indent=2))
        else:
            _print(device.adapter, report, found)
    wrong = [f"{row.operator} ({row.task})" for row in found if not row.agrees]
    if wrong:
        return fail(f"{' and '.join(wrong)} on this adapter differ from NumPy")
    return 0


def rows(device: dml.Device, cases: list[Case], rate: float, progress: Progress) -> Iterator[Row]:
    """Measures the cases one by one."""
    pace = Pace.of(device.adapter.kind, quick=True)
    for case in cases:
        what = f"{case.operator} {case.task}"
        progress.begin(what)
        tensors = [device.tensor(x) for x in case.inputs]
        agrees, words = verdict(case, case.gpu(*tensors).numpy())
        warm_up(partial(case.gpu, *tensors), device.wait, pace.warm_seconds)
        with device.profile() as profile:
            for _ in range(pace.runs):
                case.gpu(*tensors)
        call = sorted(profile.calls, key=lambda call: call.seconds)[pace.runs // 2]
        seconds = call.seconds or 1e-9  # below the clock's tick
        theirs = time_wall(partial(case.numpy, *case.inputs), pace).seconds
        row = Row(
            operator=case.operator,
            task=case.task,
            input_bytes=case.inputs[0].nbytes,
            gpu_ms=1e3 * seconds,
            gb_per_s=call.nbytes / seconds / 1e9,
            of_copy=call.nbytes / rate / seconds,
            numpy_ms=1e3 * theirs,
            numpy_ratio=theirs / seconds,
            agrees=agrees,
        )
        progress.done(f"{what}: {number_text(row.gpu_ms)} ms, {words}")
        yield row


def _print(adapter: dml.AdapterInfo, report: dict[str, Any], found: list[Row]) -> None:
    print_text(f"dmlgpu {dml.__version__} on {adapter}")
    size = bytes_text(found[0].input_bytes)
    rate = number_text(report["copy_gb_per_s"])
    print(f"FLOAT32, {size} of input; the adapter copies {rate} GB/s\n")
    rows = [
        (
            row.operator,
            row.task,
            number_text(row.gpu_ms),
            number_text(row.gb_per_s),
            f"{row.of_copy:.2f}",
            number_text(row.numpy_ms),
            number_text(row.numpy_ratio),
        )
        for row in found
    ]
    numbers = ("dmlgpu ms", "GB/s", "of copy", "NumPy ms", "x NumPy")
    headings = ("operator", "task", *numbers)
    table = Table({n: [row[i] for row in rows] for i, n in enumerate(headings)}, right=numbers)
    for cells in rows:
        table.row(*cells)
    print()
    print_text("of copy: the time in which the adapter copies as many bytes, over this time.")
    if report["clock"] != GPU:
        print_text("This adapter has no timestamp queries: times are the host's, waiting included.")
    print_why_numpy_is_faster(adapter)


def _suite(arguments: list[str]) -> int:
    """Runs the benchmarks that lie beside the package in a checkout, in a process of their own."""
    checkout = Path(dml.__file__).resolve().parent.parent
    if not (checkout / "benchmarks" / "__main__.py").is_file():
        raise DeviceError(
            "the suite needs a checkout: an installed dmlgpu has no benchmarks; "
            "bench alone measures common calls"
        )
    # Ctrl-C reaches the suite as well, which ends in its own way; here it only must not be fatal.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        status = subprocess.call([sys.executable, "-m", "benchmarks", *arguments], cwd=checkout)
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
