"""What the commands share: how arguments are read, and how a command fails."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NoReturn

from dmlgpu.desc.levels import FeatureLevel, level_named, level_text
from dmlgpu.errors import InvalidDescError

Run = Callable[[argparse.Namespace], int]
Commands = Any  # what add_subparsers returns; argparse has no public name for it

USAGE = 2
COMMAND = 41  # columns of an example before what is said of it


class _Help(argparse.HelpFormatter):
    """Shows examples as written; in a narrow terminal, what is said of each below it."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return "\n".join(folded for line in text.splitlines() for folded in _example(line, width))


def _example(line: str, width: int) -> list[str]:
    """The lines of an example: a command, and behind spaces what is said of it."""
    command, said = line[:COMMAND].rstrip(), line[COMMAND:]
    if len(line) <= width or line[COMMAND - 1] != " ":
        return [line]
    below = " " * (len(line) - len(line.lstrip()) + 4)
    return [command, *textwrap.wrap(said, width, initial_indent=below, subsequent_indent=below)]


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one sentence, and shows examples as written."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise SystemExit(fail(f"{message}; see {self.prog} --help", USAGE))


def fail(sentence: str, status: int = 1) -> int:
    """Says why a command failed, and returns its exit status."""
    print(f"dmlgpu: {sentence}", file=sys.stderr)
    return status


def add_command(commands: Commands, name: str, run: Run, text: str, examples: str = "") -> Parser:
    """A new command; `text` is its line in the list of commands and the head of its own help."""
    epilog = f"examples:\n{examples}" if examples else None
    added: Parser = commands.add_parser(name, help=text, description=text, epilog=epilog)
    added.set_defaults(run=run)
    return added


def add_json(parser: Any) -> None:
    """The option of every command that a script may want to read."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_adapter(parser: Any) -> None:
    """The option of every command that opens a device."""
    parser.add_argument(
        "--adapter",
        metavar="NAME",
        help="part of an adapter's name, kind or backend (default: DMLGPU_ADAPTER, or the best)",
    )


def add_level(parser: Any) -> None:
    """The option of every command that looks at feature levels."""
    parser.add_argument(
        "--level",
        type=level,
        default=max(FeatureLevel),
        metavar="LEVEL",
        help=f"feature level, such as 3.0 (default: {level_text(max(FeatureLevel))})",
    )


def level(text: str) -> FeatureLevel:
    """The argument as a feature level."""
    try:
        return level_named(text)
    except InvalidDescError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
