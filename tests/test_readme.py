"""The README: its programs print what it says, its tables are the code's, its links hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dmlgpu as dml
from dmlgpu import catalogue, cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
BLOCKS: list[tuple[str, str]] = BLOCK.findall(README)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_the_programs_run_and_print_what_follows_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks share their names, as a reader would type them one after the other."""
    names: dict[str, object] = {}
    programs = [i for i, (language, _) in enumerate(BLOCKS) if language == "python"]
    assert len(programs) >= 2
    for i in programs:
        exec(compile(BLOCKS[i][1], "README.md", "exec"), names)
        language, expected = BLOCKS[i + 1]
        assert capsys.readouterr().out == (expected if language == "text" else "")


def test_the_first_program_is_short() -> None:
    first = next(text for language, text in BLOCKS if language == "python")
    assert len(first.splitlines()) <= 15


def test_the_operator_table_is_the_codes() -> None:
    match = re.search(r"^<!-- operators: .* -->\n(.*?)^<!-- /operators -->$", README, re.M | re.S)
    assert match, "the markers are missing"
    hint = "put the output of `python -m dmlgpu operators --markdown` between the markers"
    assert match[1].strip() == catalogue.markdown().strip(), hint


def test_the_error_table_is_the_codes() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .* \| ?(\w*) \|$", README, re.M)
    told = {name: (base, code) for name, base, code in rows if name.endswith("Error")}
    made = {}
    for name in dml.__all__:
        error = getattr(dml, name)
        if isinstance(error, type) and issubclass(error, dml.DmlError):
            base = next(b for b in error.__bases__ if b is not dml.DmlError)
            code = "" if error is dml.DmlError else f"0x{error.hresult:08X}"
            made[name] = (base.__name__, code)
    assert told == made


def test_the_quoted_message_is_a_real_one() -> None:
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
    assert f"`{caught.value}`" in " ".join(README.split())


def test_the_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake (\w[\w-]*)", "".join(text for _, text in BLOCKS))
    assert {"demo", "test"} <= set(targets)
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.M)] == []
    commands = set(re.findall(r"\bdmlgpu (\w+)", "".join(re.findall(r"`dmlgpu [^`]+`", README))))
    assert commands >= {"info", "operators"}
    assert all(name in cli._parser().format_help() for name in commands)


@pytest.mark.parametrize("page", [ROOT / "README.md", *DECISIONS], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert missing == []


def test_every_decision_is_linked() -> None:
    assert [page.name for page in DECISIONS if f"(docs/decisions/{page.name})" not in README] == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_its_three_parts(page: Path) -> None:
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.M)
    assert headings == ["Context", "Decision", "Consequences"]


def test_the_files_of_a_new_operator_are_where_the_page_says() -> None:
    _, _, table = README.partition("## Adding an operator")
    for path in re.findall(r"^\| `([\w/.]+)`", table, re.M):
        there = re.sub(r"(?<![a-z])x(?=\.)", "slice", path)
        assert (ROOT / there).is_file(), there
