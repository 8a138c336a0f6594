"""`python -m benchmarks`: measures, shows progress, prints the tables, writes JSON and a picture.

Without --json, --picture or --save the files go to build/bench/.
"""

from __future__ import annotations

import argparse
import sys
from math import inf
from pathlib import Path

import dmlgpu as dml
from benchmarks import picture
from benchmarks import report as reports
from benchmarks.rivals import rivals
from benchmarks.run import PARTS, Run, Settings
from benchmarks.workload import SIZES, Case
from benchmarks.workloads import FAMILY_OF, cases

LIBRARIES = ("numpy", "torch", "cupy")
UNSAVED = Path("build") / "bench"


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes, few runs: a look, not a measurement")
    add("--size", action="append", choices=SIZES, help="sizes to run (repeatable; default: all)")
    add("--only", action="append", metavar="PATTERN", help="cases whose id has this (repeatable)")
    add("--part", action="append", choices=PARTS, help="parts to run (repeatable; default: all)")
    add("--without", action="append", choices=LIBRARIES, default=[], help="not compared")
    add("--adapter", help="part of the adapter's name (default: the best one)")
    add("--seconds", type=float, default=inf, help="begin no row after so many seconds")
    add("--json", type=Path, metavar="FILE", help="where the report goes")
    add("--picture", type=Path, metavar="FILE", help="where the picture goes")
    add("--save", action="store_true", help="write both to benchmarks/results/<adapter>")
    add("--add", action="store_true", help="keep what the report has from other runs")
    add("--commit", help="the commit measured, where there is no checkout to ask")
    add("--list", action="store_true", help="only print the cases: family, id, operator, in NumPy")
    add("--redraw", type=Path, metavar="FILE", help="only print and draw a report written before")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Runs what the command line says; 1 when a result was wrong."""
    args = arguments(words)
    if args.redraw:
        return show(reports.read(args.redraw), args.picture or args.redraw.with_suffix(".png"))
    if args.list:
        return listed(args)
    try:
        device = dml.Device(args.adapter)
    except dml.DeviceError as error:
        print(f"Nothing can be measured: {error}.", file=sys.stderr)
        return 2
    with device:
        return measure(device, args)


def chosen_cases(args: argparse.Namespace) -> list[Case]:
    """The cases that the command line asks for."""
    sizes = args.size or (SIZES[:2] if args.quick else SIZES)
    return cases(sizes=[s for s in SIZES if s in sizes], only=args.only or ("*",))


def listed(args: argparse.Namespace) -> int:
    """Prints the cases in columns."""
    rows = [
        (FAMILY_OF[c.workload.name], str(c), c.workload.operator or "a program", c.workload.numpy)
        for c in chosen_cases(args)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    return 0


def measure(device: dml.Device, args: argparse.Namespace) -> int:
    """A run on an open device."""
    chosen = chosen_cases(args)
    if not chosen:
        print("No case has an id like that; --list prints them all.", file=sys.stderr)
        return 2
    parts = args.part or (PARTS[:2] if args.only else PARTS)
    if args.quick and not args.part:
        parts = tuple(part for part in parts if part != "break-even")
    others, missing = rivals(device.adapter.kind, set(args.without))
    print(*[f"Measuring on {device.adapter}.", *missing], sep="\n", file=sys.stderr)
    folder = reports.RESULTS if args.save else UNSAVED
    path = args.json or folder / f"{reports.slug(device.adapter)}.json"
    report = reports.begin(device, args.commit, {o.name.lower(): o.version for o in others})
    if args.add and path.exists():
        try:
            reports.add(report, reports.read(path))
        except ValueError as error:
            print(f"{path} cannot be added to: {error}.", file=sys.stderr)
            return 2
    settings = Settings(tuple(parts), tuple(chosen), args.quick, args.seconds)
    run = Run(device, settings, others, report, path)
    run.all()
    show(report, args.picture or path.with_suffix(".png"))
    print(f"\nThe report is in {path}.")
    for sentence in run.failures:
        print(f"FAILED {sentence}")
    return 1 if run.failures else 0


def show(report: reports.Report, picture_path: Path) -> int:
    """Prints the tables and draws the picture."""
    print(reports.heading(report))
    if report["rows"]:
        print(f"\n{reports.rows_table(report)}")
    for table in reports.side_tables(report):
        print(f"\n{table}")
    if report["skipped"]:
        print(f"\nSkipped for lack of time: {len(report['skipped'])} steps.")
    if not report["rows"]:
        return 0
    if picture.is_available():
        picture.draw(report, picture_path)
        print(f"\nThe picture is in {picture_path}.")
    else:
        print("\nmatplotlib is not installed, so there is no picture; --redraw draws it later.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
