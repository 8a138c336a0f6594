"""`python -m benchmarks.page`: brings what was measured into docs/performance.md and the README.

Whatever stands between `<!-- name: ... -->` and `<!-- /name -->` is made here from the reports in
benchmarks/results/; all else is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import report as reports
from benchmarks.picture import AIM, AIM_CPU
from benchmarks.reasons import REASONS
from benchmarks.report import SHORT, Report, in_bytes, number, row_order, table
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
RIVALS = ("PyTorch", "CuPy")
H200 = "nvidia-h200"
TIE = 0.02  # times this close count as the same
WAITED = 1.5  # times what a thread was busy for, from which the page says both
NOTHING = "Not measured yet."

Row = dict[str, Any]

IN_README = (
    "slice window",
    "reverse last axis",
    "gather rows of 1024",
    "gather scalars",
    "cumsum last axis",
    "cumsum axis 0",
    "cumsum rows of 64",
    "cumsum one line",
)
SAME_SIZE = ("reverse last axis", *(w.name for w in WORKLOADS if w.family == "cumulative"))


@dataclass(frozen=True, slots=True)
class Measured:
    """A report, the file it is in, and a name for its adapter."""

    path: Path
    report: Report

    @property
    def title(self) -> str:
        """What people call the adapter."""
        stem = self.path.stem
        if stem.startswith(("lavapipe", "llvmpipe")):
            return stem.replace("-", " ")
        if stem.startswith("swiftshader"):
            return "SwiftShader"
        return str(self.report["adapter"]["name"])

    @property
    def is_cpu(self) -> bool:
        """Whether the adapter is software."""
        return bool(self.report["adapter"]["kind"] == "cpu")

    @property
    def aim(self) -> float:
        """The share of the limit to reach."""
        return AIM_CPU if self.is_cpu else AIM

    @property
    def rows(self) -> list[Row]:
        """The bandwidth-bound rows."""
        rows = [row for row in self.report["rows"] if row["size"] == "bandwidth"]
        return sorted(rows, key=row_order)

    def link(self, suffix: str, up: str = "../") -> str:
        """A relative link to the report or its picture."""
        return f"{up}benchmarks/results/{self.path.stem}{suffix}"


def load(folder: Path = reports.RESULTS) -> list[Measured]:
    """The reports there are: GPUs first, then software adapters by name."""
    found = [Measured(path, reports.read(path)) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda one: one.is_cpu)


def ratio(row: Row, name: str) -> float | None:
    """A rival's time over dmlgpu's."""
    ms = row["numpy_ms"] if name == "NumPy" else row["rivals"].get(name, {}).get("ms")
    return ms / row["gpu_ms"] if ms and row["gpu_ms"] else None


def short(row: Row) -> str:
    """The data type, in few letters."""
    return SHORT.get(row["dtype"], str(row["dtype"]))


def reaches(row: Row, aim: float) -> bool:
    """Whether the row is at the aim; nothing is rounded up to it."""
    return bool(row["frac"] >= aim)


def against(rows: Sequence[Row], name: str) -> str | None:
    """On how many rows dmlgpu is ahead of a rival, level with it, and behind it."""
    ratios = [r for r in (ratio(row, name) for row in rows) if r]
    if not ratios:
        return None
    ahead = sum(r > 1 + TIE for r in ratios)
    behind = sum(r < 1 - TIE for r in ratios)
    level = len(ratios) - ahead - behind
    words = f"against {name}: faster on {ahead} of {len(ratios)} rows"
    words += f", level (within {TIE:.0%}) on {level}" if level else ""
    words += f", slower on {behind}" if behind else ""
    return f"{words}; {number(median(ratios))} times as fast in the median"


def summary(all_: Sequence[Measured]) -> str:
    """A few lines per adapter."""
    lines = []
    for one in all_:
        rows = one.rows
        copies = [row for row in rows if row["family"] != "cumulative"]
        counted, what = (copies, "copying rows") if one.is_cpu else (rows, "rows")
        if not rows:
            continue
        good = sum(reaches(row, one.aim) for row in counted)
        lines.append(
            f"- **{one.title}**: {good} of {len(counted)} bandwidth-bound {what} at {one.aim:.2f} "
            "of the adapter's own copy or more."
        )
        groups = [("", rows)]
        if one.is_cpu:
            groups = [("copies, ", copies), ("sums, ", [r for r in rows if r not in copies])]
        for name in ("NumPy", *RIVALS):
            for group, members in groups:
                words = against(members, name)
                lines += [f"    - {group}{words}" if group else f"    - {words}"] if words else []
    return "\n".join(lines)


def adapters(all_: Sequence[Measured]) -> str:
    """What was measured, where and when."""
    head = ("adapter", "driver", "host", "copy GB/s", "date", "commit", "report")
    lines = []
    for one in all_:
        r = one.report
        host = f"{r['host']['processor']}, {r['host']['cores']} cores"
        commit = f"`{r['commit'][:12]}`" + r["commit"][40:]
        driver = r["adapter"]["driver"] or "-"
        link = f"[JSON]({one.link('.json')})"
        copy = number(r["copy_gb_per_s"])
        lines.append((one.title, driver, host, copy, r["date"][:10], commit, link))
    versions = [
        f"{one.title}: " + ", ".join(f"{k} {v}" for k, v in one.report["versions"].items()) + "."
        for one in all_
    ]
    return "\n\n".join([table(head, lines), "\n".join(f"- {line}" for line in versions)])


def row_tables(all_: Sequence[Measured]) -> str:
    """The picture and the bandwidth-bound rows of each adapter."""
    parts = []
    for one in (one for one in all_ if one.rows):
        rows = one.rows
        names = [name for name in RIVALS if any(name in row["rivals"] for row in rows)]
        head = ["workload", "type", "input", "GPU ms", "GB/s", "frac", "NumPy ms", "x NumPy"]
        for name in names:
            where = sorted({row["rivals"][name]["where"] for row in rows if name in row["rivals"]})
            head += [f"{name} {'/'.join(where)} ms", f"x {name}"]
        lines = []
        for row in rows:
            cells = [row["workload"], short(row), in_bytes(row["input_bytes"])]
            cells += [number(row["gpu_ms"]), number(row["gb_per_s"]), f"{row['frac']:.2f}"]
            cells += [number(row["numpy_ms"]), number(row["numpy_ratio"])]
            for name in names:
                ms = row["rivals"].get(name, {}).get("ms")
                cells += [number(ms), number(ratio(row, name))]
            lines.append(cells)
        picture = f"![dmlgpu on {one.title}]({one.link('.png')})"
        parts.append(f"### {one.title}\n\n{picture}\n\n{table(head, lines)}")
    return "\n\n".join(parts)


def side_by_side(
    first: str, all_: Sequence[Measured], part: str, value: Callable[[Row], str]
) -> str:
    """A table of named values, one column per adapter."""
    shown = [one for one in all_ if one.report[part]]
    if not shown:
        return ""
    columns = [{e["name"]: value(e) for e in one.report[part]} for one in shown]
    names = dict.fromkeys(name for column in columns for name in column)
    lines = [[name, *(column.get(name, "-") for column in columns)] for name in names]
    return table([first, *(one.title for one in shown)], lines)


def calls(all_: Sequence[Measured]) -> str:
    """Host time per call, and what the thread was busy for where it mostly waited."""
    return side_by_side("us per call", all_, "calls", _call_time)


def _call_time(entry: Row) -> str:
    us, busy = entry["us"], entry.get("us_busy")
    waited = busy is not None and us > WAITED * busy
    return f"{number(us)} ({number(busy)})" if waited else number(us)


def start_up(all_: Sequence[Measured]) -> str:
    """Start-up."""
    return side_by_side("seconds", all_, "start_up", lambda entry: number(entry["seconds"]))


def transfers(all_: Sequence[Measured]) -> str:
    """GB/s between host and device."""
    ways = [(library, way) for way in ("upload", "download") for library in ("dmlgpu", "PyTorch")]
    keys = [*ways, ("NumPy", "copy")]
    lines = []
    for one in all_:
        rates = {
            (e["bytes"], e["library"], e["direction"]): e["gb_per_s"]
            for e in one.report["transfers"]
        }
        for size in sorted({size for size, _, _ in rates}):
            cells = [number(rates.get((size, *key))) for key in keys]
            lines.append([one.title, in_bytes(size), *cells])
    head = ["GB/s", "size", *(" ".join(key) for key in keys)]
    return table(head, lines) if lines else ""


def repeats(all_: Sequence[Measured]) -> str:
    """Which float scans gave the same bits how often."""
    lines = []
    for one in all_:
        entries = one.report["repeats"]
        if entries:
            runs = min(entry["runs"] for entry in entries)
            lines.append(f"- {one.title}: {len(entries)} float scans, {runs} runs of each.")
    return "\n".join(lines)


def reason(row: Row, one: Measured) -> str:
    """Why a row is not where it should be; without a known reason, by how much it is not.

    A reason says why the limit is not reached. A rival that is faster shows that there is room.
    """
    if reaches(row, one.aim):
        return "at the aim"
    known = REASONS.get((row["workload"], row["dtype"])) if one.path.stem == H200 else None
    over = (row["gpu_ms"] - row["limit_ms"]) * 1e3
    words = known or f"{number(over)} us above the limit; cause not known"
    ahead = [name for name in RIVALS if (ratio(row, name) or 1) < 1 - TIE]
    return f"{words}; {' and '.join(ahead)} faster: not the card's limit" if ahead else words


def misses(all_: Sequence[Measured]) -> str:
    """Rows below the aim, and rows that a GPU rival does faster."""
    parts = []
    for one in (one for one in all_ if one.rows):
        if one.is_cpu:
            low = [row for row in one.rows if not reaches(row, one.aim)]
            low = [row for row in low if row["family"] != "cumulative"]
            named = [f"{row['workload']} {short(row)} ({row['frac']:.2f})" for row in low]
            words = "; ".join(named) or "none"
            parts.append(f"{one.title}, copying rows below {one.aim:.2f}: {words}.")
            continue
        lines = []
        for row in one.rows:
            others = [r for r in (ratio(row, name) for name in RIVALS) if r]
            if reaches(row, one.aim) and min(others, default=2.0) >= 1:
                continue
            cells = [row["workload"], short(row), f"{row['frac']:.4f}"]
            cells += [number(ratio(row, name)) for name in RIVALS]
            lines.append([*cells, reason(row, one)])
        head = ("workload", "type", "frac", "x PyTorch", "x CuPy", "why")
        made = table(head, lines) if lines else "Every row is at its aim and ahead."
        made = made.replace("-:|\n", "--|\n", 1)  # the last column is words
        parts.append(f"{one.title}:\n\n{made}")
    return "\n\n".join(parts)


def break_even(all_: Sequence[Measured]) -> str:
    """The input from which on a call and its wait beat NumPy, over the types of a workload."""
    shown = [one for one in all_ if any(row["break_even_tried"] for row in one.rows)]
    if not shown:
        return ""
    lines = []
    for workload in WORKLOADS:
        cells = []
        for one in shown:
            rows = [row for row in one.rows if row["workload"] == workload.name]
            rows = [row for row in rows if row["break_even_tried"]]
            cells.append(_range(rows))
        lines.append([workload.name, *cells])
    return table(["beats NumPy from", *(one.title for one in shown)], lines)


def _range(rows: Iterable[Row]) -> str:
    def order(row: Row) -> float:
        found = row["break_even_bytes"]
        return float("inf") if found is None else float(found)

    texts = [reports.break_even_text(row) for row in sorted(rows, key=order)]
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else "-"


def round_trips(all_: Sequence[Measured]) -> str:
    """The same work with the array sent before and fetched after; f32, outputs as large as inputs.

    Sums the times of the three steps, each measured by itself.
    """
    lines = []
    for one in all_:
        seconds = {
            (e["direction"], e["bytes"]): e["seconds"]
            for e in one.report["transfers"]
            if e["library"] == "dmlgpu"
        }
        for row in one.rows:
            ways = [seconds.get((way, row["input_bytes"])) for way in ("upload", "download")]
            if row["workload"] not in SAME_SIZE or row["dtype"] != "float32" or None in ways:
                continue
            up, down = (1e3 * way for way in ways if way is not None)
            whole = up + row["gpu_ms"] + down
            cells = [one.title, row["workload"], in_bytes(row["input_bytes"])]
            cells += [number(n) for n in (up, row["gpu_ms"], down, whole, row["numpy_ms"])]
            lines.append([*cells, number(row["numpy_ms"] / whole)])
    head = ("adapter", "workload", "input", "upload ms", "GPU ms", "download ms", "sum ms")
    return table([*head, "NumPy ms", "x NumPy"], lines) if lines else ""


def speed(all_: Sequence[Measured]) -> str:
    """The README's short table, from the first GPU measured."""
    one = next((one for one in all_ if not one.is_cpu and one.rows), None)
    if one is None:
        return ""
    lines = []
    for row in one.rows:
        if row["workload"] in IN_README and row["dtype"] == "float32":
            cells = [row["workload"], in_bytes(row["input_bytes"]), number(row["gpu_ms"])]
            cells += [f"{row['frac']:.2f}"]
            lines.append(cells + [number(ratio(row, name)) for name in (*RIVALS, "NumPy")])
    head = ("float32", "input", "GPU ms", "of the limit", "x PyTorch", "x CuPy", "x NumPy")
    intro = (
        f"{one.title}, GPU time without transfers. The limit is the card's own copy,\n"
        f"{number(one.report['copy_gb_per_s'])} GB/s (for scalars, a bare gather); `x PyTorch` is "
        f"PyTorch's time over dmlgpu's.\n[All of it as a picture]({one.link('.png', '')})."
    )
    return f"{intro}\n\n{table(head, lines)}"


SECTIONS: dict[str, Callable[[Sequence[Measured]], str]] = {
    "summary": summary,
    "adapters": adapters,
    "rows": row_tables,
    "calls": calls,
    "transfers": transfers,
    "start-up": start_up,
    "repeats": repeats,
    "misses": misses,
    "break-even": break_even,
    "round-trips": round_trips,
    "speed": speed,
}


def refreshed(text: str, all_: Sequence[Measured]) -> str:
    """`text` with everything between markers made anew."""

    def made(match: re.Match[str]) -> str:
        body = (SECTIONS[match["name"]](all_) if all_ else "") or NOTHING
        return f"{match['open']}\n\n{body}\n\n{match['close']}"

    names = "|".join(SECTIONS)
    pattern = rf"(?P<open><!-- (?P<name>{names}): .*? -->)\n.*?(?P<close><!-- /(?P=name) -->)"
    return re.sub(pattern, made, text, flags=re.S)


def main() -> None:
    """Refreshes both pages."""
    all_ = load()
    for path in (PAGE, README):
        text = path.read_text(encoding="utf-8")
        path.write_text(refreshed(text, all_), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} and {README.name} show {len(all_)} reports.")


if __name__ == "__main__":
    main()
