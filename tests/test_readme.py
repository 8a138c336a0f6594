"""What the README, the page of errors and the list of an operator's files say is what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dmlgpu as dml

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


def test_it_names_the_rooms() -> None:
    _, _, inside = README.partition("## Inside")
    rows = "".join(re.findall(r"^\| (`.*?) \|", inside, re.M))
    for name in re.findall(r"`(\w+)`", rows):
        assert (ROOT / "dmlgpu" / name).is_dir() or (ROOT / "dmlgpu" / f"{name}.py").is_file()


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


def test_the_files_of_a_new_operator_are_where_the_page_says() -> None:
    _, _, section = ADDING.partition("# Adding an operator")
    paths = re.findall(r"^\| `([\w/.]+)`", section.partition("## ")[0], re.M)
    assert len(paths) == 2
    for path in paths:
        there = re.sub(r"(?<![a-z])x(?=\.)", "slice", path)
        assert (ROOT / there).is_file() or there == "tests/expected.py", there


def test_the_worked_operator_is_as_the_page_shows_it() -> None:
    module = (ROOT / "dmlgpu" / "ops" / "element_wise_binary.py").read_text(encoding="utf-8")
    shown = re.findall(r"^```py\n(.*?)^```$", ADDING, re.M | re.S)
    assert len(shown) == 1
    assert f"    {shown[0]}" in module
