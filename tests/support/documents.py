"""Markdown pages as the tests see them: fenced blocks, and the commands that stand in them.

A block whose first line is `$ dmlgpu ...` is a session: each command is followed by what it
prints, standard error included. A line `...` stands for any lines. What differs from machine to
machine (names, versions, limits, times) is masked before the two are compared.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
VARIES = "<!-- varies -->"  # before a block of output: only its shape is compared

_BLOCK = re.compile(rf"^({VARIES}\n+)?```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
_NUMBER = re.compile(r"(?<![A-Za-z_])\d[\d,.]*(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int  # where its text begins
    language: str
    text: str
    varies: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One line of a session, and what the page says it prints."""

    words: tuple[str, ...]  # without `dmlgpu`
    environment: tuple[tuple[str, str], ...]
    expected: str

    @property
    def needs_adapter(self) -> bool:
        """Whether it opens a device."""
        name = self.words[0] if self.words else ""
        if name not in ("info", "demo", "bench", "explain", "doctor"):
            return False
        refused = self.expected.startswith("dmlgpu: ")
        return not refused and not {"--help", "--assume"} & set(self.words)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    return [
        Block(name, text.count("\n", 0, match.start(3)) + 1, match[2], match[3], bool(match[1]))
        for match in _BLOCK.finditer(text)
    ]


def sessions() -> list[tuple[Block, Command]]:
    """Every command of every page."""
    return [
        (block, command)
        for page in PAGES
        for block in blocks(page)
        if re.match(r"\$ (\w+=\S* )*dmlgpu\b", block.text)
        for command in commands(block.text)
    ]


def commands(text: str) -> Iterator[Command]:
    """The commands of a session; a line that ends in a backslash goes on in the next."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, expected = re.sub(r"\\\n\s*", "", part).partition("\n")
        words = shlex.split(line, comments=True)
        environment = []
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment.append((name, value))
        assert words[0] == "dmlgpu", f"a session runs dmlgpu, not {words[0]}"
        yield Command(tuple(words[1:]), tuple(environment), expected.rstrip("\n"))


def difference(command: Command, found: str) -> str:
    """Empty where the command printed what the page says; else both, as they were compared."""
    expected, found = command.expected, found.rstrip("\n")
    if command.needs_adapter:
        if command.words[0] == "explain":
            return "plans differ by adapter: give --assume and --bandwidth"
        if "--json" in command.words:
            expected, found = _structure(json.loads(expected)), _structure(json.loads(found))
        else:
            masks = {"info": _info_shape, "doctor": _doctor_shape}
            mask = masks.get(command.words[0], shape)
            expected, found = mask(expected), mask(found)
    wanted = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in expected.splitlines()
    )
    if re.fullmatch(wanted, found + "\n" if found else ""):
        return ""
    return f"the page says:\n{expected}\n\nthe program prints:\n{found}\n"


def shape(text: str) -> str:
    """A text with its numbers, its spacing and the adapter's name masked."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^(dmlgpu \S+ on) .*", r"\1 an adapter", line)
        lines.append(" ".join(_NUMBER.sub("#", line).split()))
    return "\n".join(lines)


def _info_shape(text: str) -> str:
    """The labels of `dmlgpu info`; machines differ in how many adapters they have, too."""
    versions, shaders, _, head, *rest = text.splitlines()
    rows = rest.index("")
    assert any(row.startswith("* ") for row in rest[:rows]), "an adapter is marked as chosen"
    labels = [re.split(r": |  ", line)[0] for line in rest[rows:]]
    names = re.findall(r"(?:^|, )(\w+) ", versions)
    return "\n".join([*names, shaders.partition(" in ")[0], " ".join(head.split()), *labels])


def _doctor_shape(text: str) -> str:
    """The head of `dmlgpu doctor` and the names of its checks; adapters differ in the results."""
    _, _, head, *rest = text.splitlines()
    end = rest.index("")
    checks = [re.split(r" {2,}", row)[1] for row in rest[:end]]
    assert rest[end + 1 :], "the table is summed up"
    return "\n".join([" ".join(head.split()), *checks])


def _structure(value: Any) -> str:
    """Names and kinds of JSON, without the values; of a list, the first entry."""
    if isinstance(value, dict):
        inside = ", ".join(f"{name}: {_structure(entry)}" for name, entry in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{_structure(value[0])}]" if value else "[]"
    return "number" if isinstance(value, (int, float)) else type(value).__name__
