"""The rooms: imports go one way, and the page about them says what the contracts say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LINTER: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["importlinter"]
CONTRACTS = {contract["name"]: contract for contract in LINTER["contracts"]}
LAYERS, PLANNERS = (
    contract["layers"] for contract in LINTER["contracts"] if contract["type"] == "layers"
)
ROOMS = {path.stem for path in (ROOT / "dmlgpu").glob("*.py") if path.stem[0] != "_"} | {
    path.parent.name for path in (ROOT / "dmlgpu").glob("*/__init__.py")
}
ROWS = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE, re.M))
ROWS_OF_PLAN = re.findall(r"^\| `(\w+)` \| [^|]* \|$", PAGE, re.M)


def level(room: str) -> int:
    """Rooms of a lower level are further down."""
    (found,) = [i for i, layer in enumerate(reversed(LAYERS)) if room in layer.split(" | ")]
    return found


def test_the_page_lists_every_room_from_the_ground_up() -> None:
    assert set(ROWS) == ROOMS == {room for layer in LAYERS for room in layer.split(" | ")}
    levels = [level(room) for room in ROWS]
    assert levels == sorted(levels)


def test_the_page_lists_every_planner_from_the_ground_up() -> None:
    assert [m for layer in reversed(PLANNERS) for m in layer.split(" | ")] == ROWS_OF_PLAN


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_the_page_allows_no_import_that_a_contract_refuses(room: str) -> None:
    refused = {
        name.removeprefix("dmlgpu.")
        for contract in CONTRACTS.values()
        if contract["type"] == "forbidden" and f"dmlgpu.{room}" in contract["source_modules"]
        for name in contract["forbidden_modules"]
    }
    allowed = set(re.findall(r"`(\w+)`", ROWS[room]))
    assert allowed <= ROOMS
    assert not allowed & refused
    assert all(level(other) < level(room) for other in allowed)


def test_every_room_but_one_is_kept_from_wgpu() -> None:
    contract = CONTRACTS["Only dmlgpu.gpu imports wgpu"]
    assert set(contract["source_modules"]) == {f"dmlgpu.{room}" for room in ROOMS - {"gpu"}}


def test_imports_go_one_way() -> None:
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout
