"""The README and docs/: the commands and links of every page are real, and its lists are lists."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from dmlgpu import cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^(?P<pad> *)```(\w+)\n(.*?)^(?P=pad)```$", re.M | re.S)
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}
BLOCKS: dict[Path, list[tuple[str, str]]] = {
    page: [(m[2], m[3]) for m in BLOCK.finditer(text)] for page, text in TEXT.items()
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXTRAS = set(
    re.findall(
        r"^(\w+) = \[",
        (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional")[2],
        re.M,
    )
)
OTHERS = {"apt-get", "ls", "cd", "git", "dask"}  # of the system and of Dask
THEIRS = "program.py"  # of the reader


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(page: Path) -> list[list[str]]:
    """Words of every command of a page: in blocks, and in the text where they are dmlgpu's own."""
    text = "\n".join(body for kind, body in BLOCKS[page] if kind in ("sh", "bat"))
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("rem")]
    prose = BLOCK.sub("", TEXT[page])
    lines += [span for span in re.findall(r"`((?:make|dmlgpu) [^`]+)`", prose) if "..." not in span]
    found = []
    for line in lines:
        words = shlex.split(line.replace("\\", "/"), comments=True)
        while words and (words[0] == "sudo" or re.match(r"\w+=", words[0])):
            del words[0]
        if words:
            found.append([re.sub(r"^\.venv/(bin|Scripts)/", "", words[0]), *words[1:]])
    return found


def fault(words: list[str]) -> str:
    """What is wrong with a command; empty when it could be run."""
    head, rest = words[0], words[1:]
    if head in ("python", "python3", "py") and rest[0] == "-m":
        if rest[1] == "dmlgpu":
            return fault(rest[1:])
        known = importlib.util.find_spec(rest[1]) or (ROOT / rest[1].replace(".", "/")).is_dir()
        return "" if known else f"no module {rest[1]}"
    if head in ("python", "python3", "py"):
        there = rest[0] == THEIRS or (ROOT / rest[0]).is_file()
        return "" if there else f"no file {rest[0]}"
    if head == "dmlgpu":
        try:
            named_alone = not any(word.startswith("-") for word in rest)
            cli._parser().parse_args([*rest, "--help"] if named_alone else rest)
        except SystemExit as stopped:
            return f"exit status {stopped.code}" if stopped.code else ""
        return ""
    if head == "make":
        targets = [word for word in rest if "=" not in word]
        return " ".join(t for t in targets if not re.search(rf"^{t}:", MAKEFILE, re.M))
    if head == "pip":
        wanted = re.search(r"\.\[([\w,]+)\]", " ".join(rest))
        return " ".join(set(wanted[1].split(",")) - EXTRAS) if wanted else ""
    return "" if head in OTHERS or (ROOT / head).is_file() else "unknown command"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    wrong = {" ".join(words): fault(words) for words in commands(page)}
    assert {command: why for command, why in wrong.items() if why} == {}


def test_the_check_of_commands_finds_faults() -> None:
    assert fault(["make", "nothing"]) == "nothing"
    assert fault(["dmlgpu", "nothing"])
    assert fault(["dmlgpu", "operators", "--nothing"])
    assert fault(["pip", "install", "-e", ".[nothing]"]) == "nothing"
    assert fault(["python", "examples/nothing.py"]) == "no file examples/nothing.py"
    assert fault(["python", "-m", "nothing"]) == "no module nothing"
    assert fault(["nothing"]) == "unknown command"


def anchors(page: Path) -> set[str]:
    """The fragments that headings of a page can be reached by."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", TEXT[page])):
        to, _, fragment = link.partition("#")
        target = (page.parent / to).resolve() if to else page
        if "://" in to:
            continue
        if not target.exists() or (fragment and fragment not in anchors(target)):
            missing.append(link)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_and_shaders_that_are_named_exist(page: Path) -> None:
    """By their path in the checkout, in the package or among the shaders; `x` stands for any."""
    named = re.findall(r"`([\w/]+/(\w+)\.(?:py|wgsl))`", BLOCK.sub("", TEXT[page]))
    roots = (ROOT, ROOT / "dmlgpu", ROOT / "shaders")
    paths = [path for path, stem in named if stem != "x"]
    assert [path for path in paths if not any((root / path).is_file() for root in roots)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lists_in_lists_are_indented_by_four(page: Path) -> None:
    """Two blanks make a list in a list for some readers of Markdown and not for mkdocs."""
    assert re.findall(r"^ {1,3}(?:[-*]|\d\.) .*$", BLOCK.sub("", TEXT[page]), re.M) == []


def test_every_page_has_one_title() -> None:
    titles = {name_of(p): re.findall(r"^# .*$", BLOCK.sub("", t), re.M) for p, t in TEXT.items()}
    assert {name: found for name, found in titles.items() if len(found) != 1} == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page: Path) -> None:
    fences = re.findall(r"^ *```(\w*)$", TEXT[page], re.M)
    assert fences[1::2] == [""] * (len(fences) // 2)
    assert "" not in fences[::2]
