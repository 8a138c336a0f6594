"""What a run leaves behind: the tables on the screen, the JSON file, and who measured what."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import dmlgpu as dml
from benchmarks.workload import SIZES
from benchmarks.workloads import FAMILY_OF, WORKLOADS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PARTS = ("rows", "calls", "transfers", "start_up", "repeats")
SHORT = {
    "float32": "f32",
    "float16": "f16",
    "uint8": "u8",
    "uint32": "u32",
    "int64": "i64",
    "int32": "i32",
}
SLOWER_BY_THE_HOST = 1.1  # times the GPU's time, from which on a row is listed with a reason
PLACES = {w.name: (n, w.dtypes) for n, w in enumerate(WORKLOADS)}

Report = dict[str, Any]


def begin(device: dml.Device, commit: str | None, libraries: dict[str, str]) -> Report:
    """A report without results."""
    adapter = device.adapter
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit or current_commit(),
        "versions": {
            "python": platform.python_version(),
            "dmlgpu": dml.__version__,
            "numpy": metadata.version("numpy"),
            "wgpu": metadata.version("wgpu"),
            **libraries,
        },
        "adapter": {
            "name": adapter.name,
            "kind": adapter.kind,
            "backend": adapter.backend,
            "driver": adapter.driver,
        },
        "host": {"system": platform.platform(), "processor": processor(), "cores": os.cpu_count()},
        "copy_gb_per_s": None,
        "rows": [],
        "skipped": [],
        "calls": [],
        "transfers": [],
        "start_up": [],
        "repeats": [],
    }


def current_commit() -> str:
    """The checkout's commit, marked when files differ from it; `unknown` outside a checkout."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=HERE.parent, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        head = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--", "dmlgpu", "shaders", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} with changes" if changed else head


def processor() -> str:
    """The CPU's name."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or platform.machine()


def slug(adapter: dml.AdapterInfo) -> str:
    """A file name for an adapter; drivers of one software renderer are told apart."""
    name = re.sub(r"\(.*?\)", "", adapter.name)
    mesa = re.search(r"Mesa (\d+\.\d+)", adapter.driver)
    if mesa and "llvmpipe" in name:
        kind = "lavapipe" if adapter.backend == "Vulkan" else "llvmpipe"
        name = f"{kind} {mesa.group(1)}"
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def write(report: Report, path: Path) -> None:
    """Writes the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def read(path: Path) -> Report:
    """A report written before."""
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    return report


def add(report: Report, old: Report) -> None:
    """Keeps what an older report of the same adapter and commit has and this one lacks."""
    for name in ("adapter", "commit"):
        if report[name] != old[name]:
            raise ValueError(
                f"its {name} is {old[name]}; this run's is {report[name]}, and --add needs the same"
            )
    for part in PARTS:
        known = {_key(entry) for entry in report[part]}
        report[part] += [entry for entry in old[part] if _key(entry) not in known]
    report["copy_gb_per_s"] = report["copy_gb_per_s"] or old["copy_gb_per_s"]
    report["versions"] = {**old["versions"], **report["versions"]}
    report["rows"].sort(key=row_order)


def _key(entry: dict[str, Any]) -> tuple[Any, ...]:
    names = ("workload", "dtype", "size", "name", "direction", "bytes", "library")
    return tuple(entry.get(name) for name in names)


def row_order(row: dict[str, Any]) -> tuple[int, int, int]:
    """By size, then as the workloads and their data types are listed."""
    at, dtypes = PLACES.get(row["workload"], (len(PLACES), ()))
    dtype = dtypes.index(row["dtype"]) if row["dtype"] in dtypes else len(dtypes)
    return (SIZES.index(row["size"]), at, dtype)


def family_of(row: dict[str, Any]) -> str:
    """The family that the table puts a row in; a report may be older than the table."""
    return FAMILY_OF.get(row["workload"], str(row["family"]))


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table that reads well as text and is Markdown too; all but the first column are numbers."""
    body = [list(line) for line in lines]
    widths = [max(len(cell) for cell in column) for column in zip(head, *body, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
        return "| " + " | ".join(padded) + " |"

    first, *rest = widths
    rule = "|" + "|".join(["-" * (first + 2), *("-" * (width + 1) + ":" for width in rest)]) + "|"
    return "\n".join([line(head), rule, *map(line, body)])


def number(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def in_bytes(count: int) -> str:
    """Bytes in a unit that keeps the number short."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def break_even_text(row: dict[str, Any]) -> str:
    """The size from which on NumPy is slower."""
    if not row["break_even_tried"]:
        return "-"
    if row["break_even_bytes"] is None:
        return f"> {in_bytes(row['break_even_tried'])}"
    return in_bytes(row["break_even_bytes"])


def rows_table(report: Report) -> str:
    """The main table."""
    rows = sorted(report["rows"], key=row_order)
    rivals = [name for name in ("PyTorch", "CuPy") if any(name in row["rivals"] for row in rows)]
    head = ["workload", "type", "size", "input", "GPU ms", "GB/s", "frac"]
    head += ["NumPy ms", "x NumPy", "beats NumPy from"]
    for name in rivals:
        where = {row["rivals"][name]["where"] for row in rows if name in row["rivals"]}
        head += [f"{name} {'/'.join(sorted(where))} ms", f"x {name}"]
    lines = []
    for row in rows:
        cells = [row["workload"], SHORT.get(row["dtype"], row["dtype"]), row["size"]]
        cells += [in_bytes(row["input_bytes"]), number(row["gpu_ms"]), number(row["gb_per_s"])]
        cells += [f"{row['frac']:.2f}", number(row["numpy_ms"]), number(row["numpy_ratio"])]
        cells.append(break_even_text(row))
        for name in rivals:
            ms = row["rivals"].get(name, {}).get("ms")
            cells += [number(ms), number(ms / row["gpu_ms"] if ms and row["gpu_ms"] else None)]
        lines.append(cells)
    return table(head, lines)


def side_tables(report: Report) -> list[str]:
    """Calls, transfers, start-up and repeats, each under a line that says what it is."""
    found = []
    lines: list[Sequence[str]]
    if report["calls"]:
        lines = [(e["name"], number(e["us"]), number(e.get("us_busy"))) for e in report["calls"]]
        head = ("host time per call", "us", "us, thread busy")
        found.append(table(head, lines))
    if report["transfers"]:
        found.append(_transfers_table(report["transfers"]))
    if report["start_up"]:
        lines = [(entry["name"], number(entry["seconds"])) for entry in report["start_up"]]
        found.append(table(("start-up", "s"), lines))
    if report["repeats"]:
        lines = [
            (e["workload"], SHORT.get(e["dtype"], e["dtype"]), str(e["runs"]), e["sha256"][:16])
            for e in report["repeats"]
        ]
        found.append(table(("same bits in every run", "type", "runs", "sha256"), lines))
    return found


def _transfers_table(entries: list[dict[str, Any]]) -> str:
    columns = sorted(dict.fromkeys((e["direction"], e["library"]) for e in entries), reverse=True)
    rates = {(e["bytes"], e["direction"], e["library"]): e["gb_per_s"] for e in entries}
    lines = [
        [in_bytes(size), *(number(rates.get((size, *column))) for column in columns)]
        for size in sorted({entry["bytes"] for entry in entries})
    ]
    return table(["transfer GB/s", *(" ".join(column) for column in columns)], lines)


def random_table(entry: dict[str, Any]) -> str:
    """The distribution of frac over random descriptions, kind by kind."""
    lines = []
    for kind, found in entry["kinds"].items():
        cells = [kind, str(found["cases"])]
        cells += [f"{found[name]:.2f}" for name in ("median", "p5", "least")]
        alike, behind = found.get("alike"), found["behind"]
        cells.append("-" if alike is None else f"{alike:.2f}")
        lines.append([*cells, "-" if behind is None else f"{behind:.0%}"])
    head = ("random layouts", "cases", "median", "p5", "least", "of a like copy", "behind PyTorch")
    return table(head, lines)


def random_tables(entry: dict[str, Any]) -> str:
    """The distribution, and the worst descriptions of each kind."""
    worst = [
        f"- {kind}, {one['frac']:.2f}: `{one['description']}`"
        for kind, found in entry["kinds"].items()
        for one in found["worst"]
    ]
    return "\n".join([random_table(entry), "", *worst])


def heading(report: Report) -> str:
    """Who measured, where, with what."""
    adapter = report["adapter"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    lines = [
        f"{adapter['name']} ({adapter['kind']}, {adapter['backend']}) {adapter['driver']}".rstrip(),
        f"{report['host']['processor']}, {report['host']['cores']} cores",
        f"{report['date']}, commit {report['commit']}",
        versions,
    ]
    if report["copy_gb_per_s"]:
        lines.append(f"the adapter's copy: {number(report['copy_gb_per_s'])} GB/s read + written")
    return "\n".join(lines)
