"""The pages: every `$ dmlgpu ...` and every program prints what they say."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import documents
from support.commands import run
from support.documents import ROOT, Block, Command, blocks, difference, sessions

import dmlgpu as dml

SESSIONS = sessions()
PROGRAM_PAGES = [
    page for page in documents.PAGES if any(block.language == "python" for block in blocks(page))
]


def named(found: list[tuple[Block, Command]]) -> list[pytest.param]:
    return [pytest.param(c, id=f"{block}-dmlgpu {' '.join(c.words)}") for block, c in found]


def check(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DMLGPU_ADAPTER", raising=False)
    for name, value in command.environment:
        monkeypatch.setenv(name, value)
    _, out, err = run(capsys, *command.words)
    if command.words[0] in ("bench", "demo"):
        err = ""  # progress
    assert difference(command, out + err) == ""


@pytest.mark.parametrize("command", named([s for s in SESSIONS if not s[1].needs_adapter]))
def test_commands_print_what_the_page_says(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(command, capsys, monkeypatch)


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("command", named([s for s in SESSIONS if s[1].needs_adapter]))
def test_commands_on_an_adapter_print_what_the_page_says(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(command, capsys, monkeypatch)


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("page", PROGRAM_PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_programs_run_and_print_what_follows_them(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Blocks share their names, as a reader would type them one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = blocks(page)
    programs = [i for i, block in enumerate(found) if block.language == "python"]
    assert programs
    for i in programs:
        exec(compile(found[i].text, str(found[i]), "exec"), names)
        out = capsys.readouterr().out
        after = found[i + 1] if i + 1 < len(found) else None
        if after is None or after.language != "text":
            assert out == ""
        elif after.varies:
            told, printed = (documents.shape(text).splitlines() for text in (after.text, out))
            assert sorted(printed) == sorted(told)  # rows are in order of time
        else:
            assert out == after.text


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...", "a\n", True),
        ("a\n...\nd", "a\nb\n", False),
        ("a.c", "abc", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_a_page_and_a_program_are_compared_line_by_line(
    expected: str, found: str, same: bool
) -> None:
    assert (difference(Command(("operators",), (), expected), found) == "") is same


def test_sessions_are_read_as_a_shell_would() -> None:
    text = "$ NAME=a dmlgpu explain slice1 \\\n    --input 'float32:4'   # why\nout\n\n$ dmlgpu\n"
    first, second = documents.commands(text)
    assert first.words == ("explain", "slice1", "--input", "float32:4")
    assert first.environment == (("NAME", "a"),)
    assert first.expected == "out"
    assert second == Command((), (), "")


def test_masks_keep_the_words_and_hide_the_machine() -> None:
    info = (
        "dmlgpu {0}, wgpu 1, system Linux-{0}\nshaders in /{0}\n\n   name  kind\n{1}\n"
        "* is chosen: {0}\n\nmax buffer      {0}\nfeatures        {0}\n"
    )
    one = info.format("1.2", "*  a     cpu\n")
    two = info.format("9", "   b     discrete\n*  c     cpu\n")
    words = ("info",)
    assert difference(Command(words, (), one), two) == ""
    assert difference(Command(words, (), one), two.replace("max buffer", "buffer")) != ""
    assert difference(Command(("info", "--json"), (), '{"a": [1, 2]}'), '{"a": [3]}') == ""
    assert difference(Command(("info", "--json"), (), '{"a": [1]}'), '{"b": [1]}') != ""
    demo = "dmlgpu 0.1 on {0}\nSLICE  3 x 4  {1}  equal"
    assert (
        difference(
            Command(("demo",), (), demo.format("a GPU", "0.01")), demo.format("lavapipe", "12")
        )
        == ""
    )
    assert "give --assume" in difference(Command(("explain", "slice"), (), ""), "")


def test_every_page_is_looked_at() -> None:
    assert ROOT / "README.md" in documents.PAGES
    assert any(os.path.basename(page) == "command-line.md" for page in documents.PAGES)
    assert len(SESSIONS) >= 5


def test_the_names_of_dumped_shaders_are_made_of_files_that_exist() -> None:
    page = ROOT / "docs" / "profiling.md"
    (shown,) = [b.text for b in blocks(page) if b.language == "text" and ".wgsl" in b.text]
    for name in shown.split():
        folder, kernel, *snippets = name.removesuffix(".wgsl").split("-")[:-2]
        for stem in (kernel, *snippets):
            assert (ROOT / "shaders" / folder / f"{stem}.wgsl").is_file(), name


@pytest.mark.gpu
@pytest.mark.parametrize("count", [1, 3, 5, 101])
def test_what_lies_behind_the_output_is_as_concepts_says(device: dml.Device, count: int) -> None:
    """Up to 12 bytes may change in memory that the library allocated, none in a wrapped buffer."""
    small = dml.TensorDesc(dml.DataType.UINT32, (count,))
    size = small.total_tensor_size_in_bytes
    large = dml.TensorDesc(dml.DataType.UINT32, (count,), total_tensor_size_in_bytes=size + 64)
    op = device.compile(dml.infer(dml.CumulativeSummationDesc, input_tensor=small, axis=0))
    x = device.tensor(np.ones(count, np.uint32))
    guard = b"\xab" * (size + 64)
    own = device.upload(large, guard)
    op(x, out=own)
    assert own.tobytes()[size + 12 :] == guard[size + 12 :]
    arena = device.upload(dml.TensorDesc(dml.DataType.UINT8, (size + 64,)), guard)
    wrapped = device.wrap(arena.buffer, large, arena.offset)
    op(x, out=wrapped)
    assert wrapped.tobytes()[size:] == guard[size:]
