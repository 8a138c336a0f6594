"""The documentation site: what it says of operators is the code's, and it builds strictly."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.promises import ATTRIBUTES, METHODS

import dmlgpu as dml
from dmlgpu.ops import FAMILIES, OPERATORS

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"


def tool(name: str) -> Any:
    """A module of tools/, which may import its neighbours."""
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def pages() -> Any:
    return tool("pages")


def test_the_pictures_are_what_the_code_draws(pages: Any) -> None:
    folder = pages.DOCS / "pictures"
    drawn = tool("pictures").drawn()
    stale = [name for name, svg in drawn.items() if svg != read(folder / f"{name}.svg")]
    assert stale == [], "run `python tools/pictures.py`"


def test_every_example_has_a_picture_with_its_numbers(pages: Any) -> None:
    """Each number of the program's arrays and of what it prints is in a cell."""
    examples = [found for found in map(pages.worked.example, OPERATORS) if found]
    drawn = pages.example_pictures()
    assert len(drawn) == len(examples) >= 30
    for example in examples:
        svg = drawn[pages.picture_file(example.name)]
        cells = sorted(re.findall(r">(-?\d+)</text>", svg))
        arrays = [*example.inputs.values(), *example.outputs.values()]
        assert cells == sorted(f"{value:g}" for array in arrays for value in np.ravel(array))
        assert set(re.findall(r"-?\d+", example.printed)) <= set(cells)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_a_docstring_says_what_it_gives_and_what_its_fields_are(pages: Any, operator: Any) -> None:
    said = pages.told(operator)
    assert said.title.endswith((".", ":"))
    assert [field.name for field in operator.fields if field.name not in said.fields] == []


def test_every_operator_is_on_the_page_of_its_family(pages: Any) -> None:
    made = pages.family_pages()
    assert len(made) == len(FAMILIES)
    for family, text in zip(FAMILIES, made.values(), strict=True):
        assert len(re.findall(r"^# ", text, re.M)) == 1
        for operator in family.OPERATORS:
            assert f"| `{operator.name.lower()}(" in text
            names = {field.name for field in operator.fields}
            assert {name for name in names if f"| `{name}` |" not in text} == set()
        listed = pages.listing()
        assert pages.family_file(family).rpartition("/")[2] in listed
    assert f"{len(OPERATORS)} of DirectML's 177 operators" in pages.listing()


WRITTEN = sorted(path.stem for path in (ROOT / "docs" / "operators").glob("*.md"))
WRITTEN.remove("index")


@pytest.mark.parametrize("stem", WRITTEN)
def test_the_page_works_the_example_of_its_picture(pages: Any, stem: str) -> None:
    page = read(pages.DOCS / "operators" / f"{stem}.md")
    printed = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    assert len(printed) >= 2
    shown = set(re.findall(r">(-?\d+)</text>", read(pages.DOCS / "pictures" / f"{stem}.svg")))
    assert set(re.findall(r"\d+", printed[0])) <= shown
    whole = pages.filled(f"operators/{stem}.md", page)
    assert "<!-- made" not in whole
    for heading in ("## Fields", "## Rules", "## Feature levels"):
        assert heading in whole


def test_the_reference_has_every_public_name(pages: Any) -> None:
    text = pages.filled("reference.md", read(pages.DOCS / "reference.md"))
    errors = {name for name in dml.__all__ if name.endswith("Error")}  # under concepts
    shown = set(re.findall(r"^(?:\| `(?:await )?|## )(\w+)", text, re.M))
    shown |= set(re.findall(r"`(\w+Desc|Description)`", text))
    assert set(dml.__all__) - errors - {"__version__"} - shown == set()
    promised = {name for methods in METHODS.values() for name in methods if name[0] != "_"}
    promised |= {name for names in ATTRIBUTES.values() for name in names if name[0] != "_"}
    assert promised - shown == set()
    assert "|  |\n" not in text, "a name without a docstring"


def test_what_the_reference_leaves_out_is_there(pages: Any) -> None:
    """A name that is gone, or has become public, leaves the list of internal ones."""
    reference = pages.reference
    for kind, names in reference.INTERNAL.items():
        assert [name for name in names.split() if not hasattr(kind, name)] == []


@pytest.mark.gpu
def test_the_attributes_of_instances_are_told(pages: Any, device: dml.Device) -> None:
    tensor = device.tensor([1.0, 2.0])
    op = device.compile(
        dml.infer(dml.ElementWiseAbsDesc, input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (2,)))
    )
    for instance in (device, tensor, op, device.profile()):
        for name in pages.reference.ATTRIBUTES[type(instance)]:
            assert hasattr(instance, name)


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


def test_it_builds_every_page(pages: Any, site: Path) -> None:
    wanted = {p.relative_to(ROOT / "docs").with_suffix(".html") for p in ROOT.glob("docs/**/*.md")}
    wanted |= {Path(page).with_suffix(".html") for page in pages.family_pages()}
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
        assert "<!-- made:" not in text
        for link in re.findall(r'(?:href|src)="([^"#?:]+)["#?]', text):
            assert (page.parent / link).exists() or page.name == "404.html", (page.name, link)
