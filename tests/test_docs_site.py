"""The documentation site: operator pages are the code's, and it builds without a warning."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.promises import ATTRIBUTES, METHODS

import dmlgpu as dml
from dmlgpu.ops import OPERATORS

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"


@pytest.fixture(scope="module")
def pages() -> Any:
    """tools/pages.py, which imports its neighbours."""
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("pages", TOOLS / "pages.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["pages"] = module  # where dataclasses look their module up
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module


def test_pages_and_pictures_are_what_the_code_says(pages: Any) -> None:
    stale = [
        path.name
        for path, text in pages.made().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `python tools/pages.py`"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_a_docstring_names_every_field_once(pages: Any, operator: Any) -> None:
    said = pages.told(operator)
    assert list(said.fields) == list(operator.desc.__dataclass_fields__)
    assert len(said.rules) >= 4
    assert said.title.endswith(".")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_the_page_works_the_example_of_its_picture(pages: Any, operator: Any) -> None:
    page = (pages.FOLDER / f"{operator.name.lower()}.md").read_text(encoding="utf-8")
    printed = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    assert len(printed) >= 2
    svg = (pages.DOCS / "pictures" / f"{operator.name.lower()}.svg").read_text(encoding="utf-8")
    shown = set(re.findall(r">(-?\d+)</text>", svg))
    assert set(re.findall(r"\d+", printed[0])) <= shown


def test_the_reference_has_every_public_name(pages: Any) -> None:
    text = (pages.DOCS / "reference.md").read_text(encoding="utf-8")
    errors = {name for name in dml.__all__ if name.endswith("Error")}  # under concepts
    shown = set(re.findall(r"^(?:\| `(?:await )?|## )(\w+)", text, re.M))
    assert set(dml.__all__) - errors - {"__version__"} - shown == set()
    promised = {name for methods in METHODS.values() for name in methods if name[0] != "_"}
    promised |= {name for names in ATTRIBUTES.values() for name in names if name[0] != "_"}
    assert promised - shown - {"desc", "device", "offset"} == set()  # plain attributes
    assert "||" not in text.replace("| |", ""), "a name without a docstring"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_it_builds_every_page(site: Path) -> None:
    wanted = {p.relative_to(ROOT / "docs").with_suffix(".html") for p in ROOT.glob("docs/**/*.md")}
    wanted |= {Path(p.name).with_suffix(".html") for p in ROOT.glob("*.md")} - {Path("README.html")}
    assert {str(page) for page in wanted if not (site / page).is_file()} == set()


def test_it_needs_no_network(site: Path) -> None:
    """Links may lead away; what a page loads to show itself comes with it."""
    loads = r'<(?:script|img|iframe|source)[^>]*\ssrc="(\w+:)?//|<link[^>]*\shref="(\w+:)?//'
    found = [p.name for p in site.rglob("*.html") if re.search(loads, p.read_text("utf-8"))]
    assert found == []
    styles = [p.name for p in site.rglob("*.css") if re.search(r"url\(.?https?:", p.read_text())]
    assert styles == []


def test_nothing_written_for_the_repository_is_left_on_it(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<!-- source:" not in text
        for link in re.findall(r'(?:href|src)="([^"#?:]+)["#?]', text):
            assert (page.parent / link).exists() or page.name == "404.html", (page.name, link)
