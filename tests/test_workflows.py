"""The workflows: they can be read, use GitHub's own actions alone, and run what is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def jobs(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="the extra `docs` brings it")
    read: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read["permissions"] == {"contents": "read"}
    return dict(read["jobs"])


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def test_tests_wheels_and_docs_have_one_each() -> None:
    assert [path.stem for path in FILES] == ["ci", "docs", "wheels"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_githubs_own_at_a_version(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"actions/[\w-]+@v\d+", name)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_targets_and_scripts_exist(path: Path) -> None:
    for step in steps(path):
        words = step.get("run", "").split()
        if words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", MAKEFILE, re.M), words
        elif words and "/" in words[0]:
            assert (ROOT / words[0]).is_file(), words


def test_the_suite_runs_on_three_systems() -> None:
    systems = {str(job["runs-on"]) for job in jobs(FOLDER / "ci.yml").values()}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
