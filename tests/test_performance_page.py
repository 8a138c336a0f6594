"""The performance page: its tables are the reports', its pictures and links are there."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # the benchmarks are not installed
page: Any = import_module("benchmarks.page")
reports: Any = import_module("benchmarks.report")
reasons: Any = import_module("benchmarks.reasons")

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
TEXT = page.PAGE.read_text(encoding="utf-8")


def row(workload: str, dtype: str, **facts: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "workload": workload,
        "family": "cumulative" if workload.startswith("cumsum") else "slice",
        "dtype": dtype,
        "size": "bandwidth",
        "input_bytes": 1 << 30,
        "gpu_ms": 0.5,
        "gb_per_s": 4000.0,
        "limit_ms": 0.48,
        "frac": 0.96,
        "numpy_ms": 250.0,
        "numpy_ratio": 500.0,
        "rivals": {"PyTorch": {"ms": 0.75, "where": "cuda"}},
        "break_even_bytes": None,
        "break_even_tried": 0,
    }
    return {**found, **facts}


def measured(rows: list[dict[str, Any]], kind: str = "discrete", stem: str = "card") -> Any:
    report = {
        "date": "2026-11-15T00:00:00+00:00",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"numpy": "2"},
        "adapter": {"name": "Card", "kind": kind, "backend": "Vulkan", "driver": ""},
        "host": {"processor": "CPU", "cores": 2},
        "copy_gb_per_s": 4200.0,
        "rows": rows,
        "calls": [{"name": "op(x)", "us": 6.5, "us_busy": None}],
        "transfers": [
            {"library": "dmlgpu", "direction": way, "bytes": 1 << 30, "seconds": s, "gb_per_s": g}
            for way, s, g in (("upload", 0.125, 8.6), ("download", 0.25, 4.3))
        ],
        "start_up": [],
        "repeats": [],
    }
    return page.Measured(Path(f"{stem}.json"), report)


@pytest.mark.parametrize("path", [page.PAGE, page.README], ids=lambda path: path.name)
def test_the_pages_show_what_the_reports_say(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert page.refreshed(text, page.load()) == text, "run `python -m benchmarks.page`"


def test_every_section_has_its_place() -> None:
    both = TEXT + page.README.read_text(encoding="utf-8")
    opened = re.findall(r"^<!-- ([\w-]+): made by .* -->$", both, re.M)
    closed = re.findall(r"^<!-- /([\w-]+) -->$", both, re.M)
    assert sorted(opened) == sorted(page.SECTIONS)
    assert set(opened) <= set(closed)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_report_has_a_picture_and_a_commit(path: Path) -> None:
    assert path.with_suffix(".png").is_file()
    report = reports.read(path)
    assert re.fullmatch(r"[0-9a-f]{7,40}", report["commit"])
    assert report["rows"]
    assert [row for row in report["rows"] if not row["checked"]] == []


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT)
    assert links
    missing = [to for to in links if "://" not in to and not (page.PAGE.parent / to).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("us", "busy", "shown"), [(70.0, 10.0, "70 (10)"), (7.0, 5.0, "7"), (7.0, None, "7")]
)
def test_a_call_that_mostly_waits_shows_both_times(us: float, busy: float, shown: str) -> None:
    one = measured([])
    one.report["calls"] = [{"name": "op(x)", "us": us, "us_busy": busy}]
    assert re.search(rf"\| +{re.escape(shown)} \|", page.calls([one]))


def test_every_reason_is_of_a_workload_there_is() -> None:
    names = {workload.name for workload in page.WORKLOADS}
    assert {workload for workload, _ in reasons.REASONS} <= names
    assert {*page.IN_README, *page.SAME_SIZE} <= names


def test_refreshing_keeps_what_was_written_by_hand() -> None:
    text = "a\n<!-- calls: made -->\nold\n<!-- /calls -->\nb\n"
    made = page.refreshed(text, [measured([])])
    assert made.startswith("a\n<!-- calls: made -->\n\n| us per call | Card |\n")
    assert "old" not in made
    assert made.endswith("\n\n<!-- /calls -->\nb\n")
    assert page.refreshed(made, [measured([])]) == made
    assert page.NOTHING in page.refreshed(text, [])


def test_rows_below_the_aim_are_told_with_a_reason() -> None:
    rows = [
        row("slice window", "float32"),
        row("slice window", "uint8", frac=0.8, gpu_ms=0.6),
        row("slice stride 2, last axis", "int64", rivals={"PyTorch": {"ms": 0.495}}),
        row("cumsum one line", "float32", frac=0.63),
    ]
    text = page.misses([measured(rows)])
    assert "- slice window f32:" not in text
    assert "- slice window u8: frac 0.8000, 1.25 x PyTorch; 120 us above the limit" in text
    assert "120 us above the limit; cause not known\n" in text
    assert "0.99 x PyTorch; at the aim\n" in text
    assert reasons.READ_AGAIN not in text, "a reason holds for the card it was found on"
    assert reasons.READ_AGAIN in page.misses([measured(rows, stem=page.H200)])


def test_a_rival_that_is_faster_is_told_beside_the_reason() -> None:
    slow = row("gather scalars", "uint8", frac=0.6, rivals={"PyTorch": {"ms": 0.4}})
    assert "; PyTorch faster: not the card's limit" in page.misses([measured([slow])])


def test_nothing_is_rounded_up_to_the_aim() -> None:
    text = page.misses([measured([row("slice window", "uint8", frac=0.8995)])])
    assert "frac 0.8995," in text


def test_software_adapters_have_their_own_aim() -> None:
    rows = [row("slice window", "float32", frac=0.75), row("slice window", "uint8", frac=0.5)]
    text = page.misses([measured(rows, "cpu", "lavapipe-25.0")])
    assert text == "lavapipe 25.0, copying rows below 0.70: slice window u8 (0.50)."


def test_a_round_trip_adds_up_its_three_steps() -> None:
    text = page.round_trips([measured([row("reverse last axis", "float32")])])
    cells = [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")]
    assert cells == ["reverse last axis", "375", "0.5", "376", "250", "0.666"]


def test_break_even_sizes_are_a_range_over_the_types() -> None:
    tried = {"break_even_tried": 1 << 24}
    rows = [
        row("slice window", "float32", break_even_bytes=1 << 20, **tried),
        row("slice window", "uint8", **tried),
    ]
    assert "| 1 MiB to > 16 MiB |" in page.break_even([measured(rows)])


def test_families_are_sections_of_narrow_tables() -> None:
    old = row("cumsum axis 0", "float32", family="cumulative")  # as older reports have it
    new = row("transpose", "uint8", family="slices and transposes", numpy_ms=None)
    one, other = measured([old, new]), measured([old], "cpu", "lavapipe-25.0")
    text = page.row_tables([one, other])
    assert re.findall("^### (.*)$", text, re.M) == ["Slices and transposes", "Scans"]
    assert "| Card      | type |  ms | frac | x PyTorch |\n" in text
    assert re.search(r"\| cumsum axis 0 +\| +f32 \| +0.96 / 500 \|", text)
    assert max(map(len, text.splitlines())) < 90


def test_rows_of_no_known_family_are_shown_too() -> None:
    text = page.row_tables([measured([row("what was", "float32", family="gone")])])
    assert text.startswith("### Gone\n")


def test_random_layouts_show_where_they_were_measured() -> None:
    one = measured([])
    assert page.random_layouts([one]) == ""
    worst = {"frac": 0.41, "description": "SLICE1 uint8: x[::2]"}
    figures = {
        "cases": 9,
        "median": 0.95,
        "p5": 0.82,
        "least": 0.41,
        "alike": 0.98,
        "behind": 1 / 9,
    }
    one.report["random"] = {
        "date": "2026-11-16T00:00:00+00:00",
        "commit": "0123456789abcdef",
        "seed": 1,
        "bytes": 64 << 20,
        "kinds": {"moves": {**figures, "worst": [worst] * 5}},
    }
    text = page.random_layouts([one])
    assert "cases of 64 MiB and more, seed 1" in text
    assert re.search(r"\| moves +\| +9 \| +0.95 \| +0.82 \| +0.41 \| +0.98 \| +11% \|", text)
    assert "0.41: `SLICE1 uint8: x[::2]`" in text


def test_the_summary_counts_ahead_level_and_behind() -> None:
    times = (0.75, 0.505, 0.4)
    rows = [row("slice window", "float32", rivals={"PyTorch": {"ms": ms}}) for ms in times]
    text = page.summary([measured(rows)])
    assert "3 of 3 bandwidth-bound rows at 0.90" in text
    assert "PyTorch: faster on 1 of 3 rows, level (within 2%) on 1, slower on 1; 1.01 times" in text


def test_rows_that_are_slower_by_the_hosts_clock_are_told_with_a_reason() -> None:
    def entry(workload: str, wall: float, **facts: Any) -> dict[str, Any]:
        found = {"workload": workload, "dtype": "float32", "shape": [3, 5], "times": 1}
        return {**found, "gpu_ms": 1.0, "wall_ms": wall, "torch_ms": None, **facts}

    one = measured([])
    assert page.clocks([one]) == ""
    one.report["clocks"] = {
        "date": "2026-11-19T00:00:00",
        "commit": "0123456",
        "rows": [
            entry("add", 1.09),
            entry("elements under a mask", 1.2),
            entry("exp", 1.3),
            entry("transpose", 2.5, times=3, gpu_ms=2.5, torch_ms=5.5),
        ],
    }
    said, large = page.clocks([one]).split("| large")
    assert "4 rows" in said
    assert "2 of them within 1.1 times" in said
    why = reasons.BY_THE_HOST["counts of bytes"]
    assert f"1.2 ms by the host's clock, 1 by the GPU's: {why}" in said
    assert f"- exp f32: 1.3 ms by the host's clock, 1 by the GPU's: {page.UNEXPLAINED}" in said
    assert "add" not in said
    assert "| transpose |  f32 | 3 x 5 |    2.5 |     2.5 |        5.5 |" in large
