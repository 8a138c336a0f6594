"""The picture of a report: a bar per row against the limit, with a mark for every rival."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.report import SHORT, Report, family_of, number, row_order
from benchmarks.workload import SIZES
from benchmarks.workloads import WORKLOADS

COLOURS = (
    *("#3b75af", "#84b6db", "#8d69b8", "#d8854f", "#c9a227"),
    *("#b07aa1", "#6c757d", "#519e3e", "#17becf", "#8c564b"),
)
SIZE_WORDS = {"launch": "launch-bound", "cache": "cache-resident", "bandwidth": "bandwidth-bound"}
MARKS = {"PyTorch": ("D", "#c44e52"), "CuPy": ("o", "#e1a13b"), "NumPy": ("|", "#222222")}
AIM, AIM_CPU = 0.9, 0.7  # of the limit, on a GPU and on a CPU


def is_available() -> bool:
    """Whether a picture can be drawn here."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def shown_rows(report: Report) -> list[dict[str, Any]]:
    """The rows of the largest size measured, each workload in its first data type.

    Of workloads that come in one size only there is one for every operator: too many for a picture.
    """
    named = {w.name: w.dtypes[0] for w in WORKLOADS if len(w.shapes) > 1}
    for size in reversed(SIZES):
        rows = [row for row in report["rows"] if row["size"] == size]
        first = [row for row in rows if named.get(row["workload"]) == row["dtype"]]
        if rows:
            return sorted(first or rows, key=row_order)
    return []


def fractions(row: dict[str, Any]) -> dict[str, float]:
    """Each rival's share of the limit: 1 is as fast as the limit, less is slower."""
    times = {name: rival["ms"] for name, rival in row["rivals"].items()}
    times["NumPy"] = row["numpy_ms"]
    return {name: row["limit_ms"] / ms for name, ms in times.items() if ms}


def draw(report: Report, path: Path) -> None:
    """Draws the rows of the largest size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = shown_rows(report)
    if not rows:
        raise ValueError("the report has no rows to draw")
    all_values = [row["frac"] for row in rows] + [
        f for row in rows for f in fractions(row).values()
    ]
    is_wide = max(all_values) > 2 or (report["adapter"]["kind"] == "cpu")
    positions, ticks = _positions(rows)
    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.23 * positions[-1]), layout="constrained")
    low = 0.01 if is_wide else 0.0
    high = max(2.0, 1.6 * max(all_values)) if is_wide else 1.3
    if is_wide:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(low, high)
    _bars(axes, rows, positions, low, high)
    _marks(axes, rows, positions, low, high)
    axes.axvline(1.0, color="black", linewidth=1.2, label="the limit: the adapter's own copy")
    aim = AIM_CPU if report["adapter"]["kind"] == "cpu" else AIM
    axes.axvline(aim, color="black", linewidth=0.8, linestyle=":", label=f"{aim} of it")
    axes.set_yticks(positions, ticks, fontsize=8)
    axes.set_ylim(positions[-1] + 1, -1)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    scale = ", logarithmic" if is_wide else ""
    axes.set_xlabel(f"fraction of the copy limit (1 = as fast as a copy{scale}); right is faster")
    axes.set_title(_title(report, rows), fontsize=10, loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.03), ncols=4, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _positions(rows: list[dict[str, Any]]) -> tuple[list[float], list[str]]:
    """Rows of one workload stand together; the first carries its name."""
    positions: list[float] = []
    ticks: list[str] = []
    at, before = -1.0, None
    for row in rows:
        is_new = row["workload"] != before
        at += 1.6 if is_new and before is not None else 1.0
        positions.append(at)
        short = SHORT.get(row["dtype"], row["dtype"])
        ticks.append(f"{row['workload']}   {short}" if is_new else short)
        before = row["workload"]
    return positions, ticks


def _bars(
    axes: Any, rows: list[dict[str, Any]], positions: list[float], low: float, high: float
) -> None:
    families = dict.fromkeys(map(family_of, rows))
    for n, family in enumerate(families):
        chosen = [(p, r) for p, r in zip(positions, rows, strict=True) if family_of(r) == family]
        if chosen:
            colour = COLOURS[n % len(COLOURS)]
            widths = [min(row["frac"], high) - low for _, row in chosen]
            axes.barh(
                [position for position, _ in chosen],
                widths,
                left=low,
                height=0.8,
                color=colour,
                label=f"dmlgpu: {family}",
            )
    for position, row in zip(positions, rows, strict=True):
        axes.annotate(
            f"{number(row['gpu_ms'])} ms  {number(row['gb_per_s'])} GB/s",
            (1.0, position),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color="#444444",
        )


def _marks(
    axes: Any, rows: list[dict[str, Any]], positions: list[float], low: float, high: float
) -> None:
    for name, (marker, colour) in MARKS.items():
        points = [
            (fractions(row)[name], position)
            for position, row in zip(positions, rows, strict=True)
            if name in fractions(row)
        ]
        if not points or all(x < low + 0.02 for x, _ in points):
            continue  # all of them would sit on the left edge
        axes.plot(
            [min(max(x, low), high) for x, _ in points],
            [y for _, y in points],
            linestyle="none",
            marker=marker,
            markersize=9 if marker == "|" else 5,
            markeredgewidth=2 if marker == "|" else 0.6,
            markeredgecolor=colour if marker == "|" else "white",
            color=colour,
            clip_on=False,
            zorder=3,
            label=_where(name, rows),
        )


def _where(name: str, rows: list[dict[str, Any]]) -> str:
    places = {row["rivals"][name]["where"] for row in rows if name in row["rivals"]}
    return f"{name} ({'/'.join(sorted(places)).upper()})" if places else name


def _title(report: Report, rows: list[dict[str, Any]]) -> str:
    adapter = report["adapter"]
    driver = f", {adapter['driver']}" if adapter["driver"] else ""
    speed = report["copy_gb_per_s"]
    copy = f"; the adapter's copy: {number(speed)} GB/s read + written" if speed else ""
    return (
        f"dmlgpu on {adapter['name']}{driver}\n"
        f"{SIZE_WORDS[rows[0]['size']]} cases, GPU time from timestamps{copy}\n"
        f"{report['date'][:10]}, commit {report['commit'][:12]}"
    )
