"""What the README, the page of errors and the list of an operator's files say is what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dmlgpu as dml
from dmlgpu.cli import catalogue

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONCEPTS = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
ADDING = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def test_it_is_short_and_starts_with_a_short_program() -> None:
    assert len(README.splitlines()) <= 230
    first = re.search(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert first
    assert len(first[1].splitlines()) <= 15


def test_it_leads_to_every_page() -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages -= {path.relative_to(ROOT).as_posix() for path in DECISIONS}  # their own index does
    pages -= {"docs/index.md"}
    assert {page for page in pages if f"({page})" not in README} == set()


def test_the_operator_table_is_the_codes() -> None:
    match = re.search(r"^<!-- operators: .* -->\n(.*?)^<!-- /operators -->$", README, re.M | re.S)
    assert match, "the markers are missing"
    hint = "put the output of `python -m dmlgpu operators --markdown` between the markers"
    assert match[1].strip() == catalogue.markdown().strip(), hint


@pytest.mark.parametrize("page", [README, CONCEPTS], ids=["README", "concepts"])
def test_the_error_table_is_the_codes(page: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .* \| ?(\w*) \|$", page, re.M)
    told = {name: (base, code) for name, base, code in rows if name.endswith("Error")}
    made = {}
    for name in dml.__all__:
        error = getattr(dml, name)
        if isinstance(error, type) and issubclass(error, dml.DmlError):
            base = next(b for b in error.__bases__ if b is not dml.DmlError)
            code = "" if error is dml.DmlError else f"0x{error.hresult:08X}"
            made[name] = (base.__name__, code)
    assert told == made


@pytest.mark.parametrize("page", [README, CONCEPTS], ids=["README", "concepts"])
def test_the_quoted_message_is_a_real_one(page: str) -> None:
    one = dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 1))
    desc = dml.Slice1Desc(
        input_tensor=one,
        output_tensor=one,
        input_window_offsets=(0, 0, 0),
        input_window_sizes=(1, 1, 1),
        input_window_strides=(1, 1, 0),
    )
    with pytest.raises(dml.InvalidDescError) as caught:
        dml.validate(desc)
    assert f"`{caught.value}`" in " ".join(page.split())


def test_every_decision_is_linked() -> None:
    index = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in DECISIONS if f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_its_three_parts(page: Path) -> None:
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.M)
    assert headings == ["Context", "Decision", "Consequences"]


@pytest.mark.parametrize("page", [README, ADDING], ids=["README", "adding-an-operator"])
def test_the_files_of_a_new_operator_are_where_the_page_says(page: str) -> None:
    _, _, section = page.partition("# Adding an operator")
    paths = re.findall(r"^\| `([\w/.]+)`", section, re.M)
    assert len(paths) >= 4
    for path in paths:
        there = re.sub(r"(?<![a-z])x(?=\.)", "slice", path)
        assert (ROOT / there).is_file(), there
