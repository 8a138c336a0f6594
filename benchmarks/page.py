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
from benchmarks.reasons import BY_THE_HOST, REASONS
from benchmarks.report import (
    SHORT,
    SLOWER_BY_THE_HOST,
    Report,
    family_of,
    in_bytes,
    number,
    row_order,
    table,
)
from benchmarks.workloads import TABLE, WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
RIVALS = ("PyTorch", "CuPy")
H200 = "nvidia-h200"
TIE = 0.02  # times this close count as the same
WAITED = 1.5  # times what a thread was busy for, from which the page says both
NOTHING = "Not measured yet."
UNEXPLAINED = "not explained yet"

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
SAME_SIZE = ("reverse last axis", *(w.name for w in TABLE["scans"]))
COPYING = ("slices and transposes", "moves", "gathers and scatters")  # have an aim on a CPU too


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
        copies = [row for row in rows if family_of(row) in COPYING]
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
            groups = [("copies, ", copies), ("others, ", [r for r in rows if r not in copies])]
        for name in ("NumPy", *RIVALS):
            for group, members in groups:
                words = against(members, name)
                lines += [f"    - {group}{words}" if group else f"    - {words}"] if words else []
    return "\n".join(lines)


def adapters(all_: Sequence[Measured]) -> str:
    """What was measured, where and when."""
    lines = []
    for one in all_:
        r = one.report
        driver = f"driver {r['adapter']['driver']}, " if r["adapter"]["driver"] else ""
        host = ", ".join([*filter(None, [r["host"]["processor"]]), f"{r['host']['cores']} cores"])
        commit = f"`{r['commit'][:12]}`" + r["commit"][40:]
        versions = ", ".join(f"{name} {version}" for name, version in r["versions"].items())
        lines.append(
            f"- **{one.title}**: {driver}on {host}; copies {number(r['copy_gb_per_s'])} GB/s. "
            f"{r['date'][:10]}, commit {commit}, {versions}: [report]({one.link('.json')}), "
            f"[picture]({one.link('.png')})."
        )
    return "\n".join(lines)


def pictures(all_: Sequence[Measured]) -> str:
    """The pictures of GPUs; those of software adapters are linked above."""
    shown = [one for one in all_ if one.rows and not one.is_cpu]
    return "\n\n".join(f"![dmlgpu on {one.title}]({one.link('.png')})" for one in shown)


def row_tables(all_: Sequence[Measured]) -> str:
    """The bandwidth-bound rows, family by family: a table per GPU, one for software adapters."""
    parts = []
    software = [one for one in all_ if one.is_cpu]
    for family in (*TABLE, *_unknown(all_)):
        tables = [_gpu_table(one, family) for one in all_ if not one.is_cpu]
        tables = [made for made in (*tables, _software_table(software, family)) if made]
        if tables:
            parts.append("\n\n".join([f"### {family.capitalize()}", *tables]))
    return "\n\n".join(parts)


def _unknown(all_: Sequence[Measured]) -> list[str]:
    """Families of rows that the table has no more."""
    found = {family_of(row) for one in all_ for row in one.rows}
    return sorted(found - set(TABLE))


def _of(one: Measured, family: str) -> list[Row]:
    return [row for row in one.rows if family_of(row) == family]


def _gpu_table(one: Measured, family: str) -> str:
    rows = _of(one, family)
    names = [name for name in (*RIVALS, "NumPy") if any(ratio(row, name) for row in rows)]
    lines = [
        [row["workload"], short(row), number(row["gpu_ms"]), f"{row['frac']:.2f}"]
        + [number(ratio(row, name)) for name in names]
        for row in rows
    ]
    return (
        table([one.title, "type", "ms", "frac", *(f"x {n}" for n in names)], lines) if rows else ""
    )


def _software_table(all_: Sequence[Measured], family: str) -> str:
    """`frac`, and NumPy's time over dmlgpu's, of each workload in its first data type."""
    columns = []
    for one in all_:
        first: dict[str, Row] = {}
        for row in _of(one, family):
            first.setdefault(row["workload"], row)
        columns.append(first)
    names = list(dict.fromkeys(name for column in columns for name in column))
    names.sort(key=lambda name: reports.PLACES.get(name, (len(WORKLOADS), ()))[0])
    lines = []
    for name in names:
        rows = [column.get(name) for column in columns]
        types = {short(row) for row in rows if row}
        cells = [
            "-" if r is None else f"{r['frac']:.2f} / {number(ratio(r, 'NumPy'))}" for r in rows
        ]
        lines.append([name, "/".join(sorted(types)), *cells])
    head = ("software: frac / x NumPy", "type", *(one.title for one in all_))
    return table(head, lines) if lines else ""


def random_layouts(all_: Sequence[Measured]) -> str:
    """The distribution over random descriptions, adapter by adapter."""
    parts = []
    for one in all_:
        entry = one.report.get("random")
        if entry:
            least = in_bytes(entry["bytes"])
            parts.append(
                f"**{one.title}**, cases of {least} and more, seed {entry['seed']}, "
                f"{entry['date'][:10]}, commit `{entry['commit'][:12]}`{entry['commit'][40:]}:\n\n"
                + reports.random_table(entry)
            )
            worst = [
                f"    - {found['frac']:.2f}: `{found['description']}`"
                for kind in entry["kinds"].values()
                for found in kind["worst"][:1]
            ]
            parts.append("\n".join(["- The least of each kind:", *worst]))
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
    """GB/s between host and device, a table per adapter."""
    ways = [(library, way) for way in ("upload", "download") for library in ("dmlgpu", "PyTorch")]
    parts = []
    for one in all_:
        rates = {
            (e["bytes"], e["library"], e["direction"]): e["gb_per_s"]
            for e in one.report["transfers"]
        }
        keys = [k for k in (*ways, ("NumPy", "copy")) if k in {key[1:] for key in rates}]
        lines = [
            [in_bytes(size), *(number(rates.get((size, *key))) for key in keys)]
            for size in sorted({size for size, _, _ in rates})
        ]
        if lines:
            parts.append(table([one.title, *(" ".join(key) for key in keys)], lines))
    return "\n\n".join(parts)


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
            low = [r for r in one.rows if family_of(r) in COPYING and not reaches(r, one.aim)]
            named = [f"{row['workload']} {short(row)} ({row['frac']:.2f})" for row in low]
            words = "; ".join(named) or "none"
            parts.append(f"{one.title}, copying rows below {one.aim:.2f}: {words}.")
            continue
        lines = []
        for row in one.rows:
            others = {name: r for name in RIVALS if (r := ratio(row, name))}
            if reaches(row, one.aim) and min(others.values(), default=2.0) >= 1:
                continue
            figures = [f"frac {row['frac']:.4f}"]
            figures += [f"{number(r)} x {name}" for name, r in others.items()]
            words = f"{row['workload']} {short(row)}: {', '.join(figures)}; {reason(row, one)}"
            lines.append(f"- {words}")
        made = "\n".join(lines) or "Every row is at its aim and ahead."
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
        if set(cells) != {"-"}:
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
    parts = []
    for one in all_:
        lines = []
        seconds = {
            (e["direction"], e["bytes"]): e["seconds"]
            for e in one.report["transfers"]
            if e["library"] == "dmlgpu"
        }
        for row in one.rows:
            ways = [seconds.get((way, row["input_bytes"])) for way in ("upload", "download")]
            if row["workload"] not in SAME_SIZE or row["dtype"] != "float32" or None in ways:
                continue
            both = sum(1e3 * way for way in ways if way is not None)
            whole = both + row["gpu_ms"]
            cells = [number(n) for n in (both, row["gpu_ms"], whole, row["numpy_ms"])]
            lines.append(
                [row["workload"], *cells, number(ratio({**row, "gpu_ms": whole}, "NumPy"))]
            )
        if lines:
            head = ("transfers ms", "GPU ms", "sum ms", "NumPy ms", "x NumPy")
            parts.append(table([one.title, *head], lines))
    return "\n\n".join(parts)


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


def clocks(all_: Sequence[Measured]) -> str:
    """What queued calls take by the host's clock, beside the GPU's."""
    parts = []
    for one in all_:
        entry = one.report.get("clocks")
        if not entry:
            continue
        rows = entry["rows"]
        ratios = [row["wall_ms"] / row["gpu_ms"] for row in rows]
        over = [row for row, ratio in zip(rows, ratios, strict=True) if ratio > SLOWER_BY_THE_HOST]
        said = (
            f"**{one.title}**, {entry['date'][:10]}, commit `{entry['commit']}`: {len(rows)} rows, "
            f"the host's time {number(median(ratios))} times the GPU's in the median, "
            f"{len(rows) - len(over)} of them within {SLOWER_BY_THE_HOST} times."
        )
        named = [
            f"- {row['workload']} {short(row)}: {number(row['wall_ms'])} ms by the host's clock, "
            f"{number(row['gpu_ms'])} by the GPU's: {BY_THE_HOST.get(row['workload'], UNEXPLAINED)}"
            for row in over
        ]
        head = ("large", "type", "sizes", "GPU ms", "host ms", "PyTorch ms")
        lines = [
            [row["workload"], short(row), " x ".join(map(str, row["shape"]))]
            + [number(row[name]) for name in ("gpu_ms", "wall_ms", "torch_ms")]
            for row in rows
            if row["times"] > 1
        ]
        parts += [said, "\n".join(named), table(head, lines) if lines else ""]
    return "\n\n".join(filter(None, parts))


SECTIONS: dict[str, Callable[[Sequence[Measured]], str]] = {
    "summary": summary,
    "adapters": adapters,
    "pictures": pictures,
    "rows": row_tables,
    "random": random_layouts,
    "calls": calls,
    "clocks": clocks,
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
