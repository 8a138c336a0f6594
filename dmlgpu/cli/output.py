"""Text for people: tables as wide as the terminal, styles where there is one, short numbers."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import TextIO

BOLD, GREEN, RED = "1", "32", "31"
NARROWEST = 16  # columns that wrapped text keeps, however narrow the terminal is


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether a person is looking on."""
    stream = stream or sys.stdout
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, code: str) -> str:
    """`text` in a terminal style; plain where the output is no terminal or wants none."""
    plain = not is_terminal() or os.environ.get("NO_COLOR")
    if plain or (os.name == "nt" and "WT_SESSION" not in os.environ):
        return text
    return f"\033[{code}m{text}\033[0m"


def wrapped(text: str, indent: int) -> Iterator[str]:
    """The lines of a text that begins at column `indent`; as many as a terminal needs, else one."""
    if not is_terminal():
        yield text
        return
    room = max(NARROWEST, shutil.get_terminal_size().columns - indent)
    yield from textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def print_fact(name: str, text: str, width: int) -> None:
    """A name, and beside it at column `width` what is said of it."""
    for i, line in enumerate(wrapped(text, width)):
        print(f"{'' if i else name:{width}}{line}".rstrip())


class Table:
    """Rows under a header, printed one by one; columns in `right` hold numbers.

    The last column is text, and wraps where the terminal is too narrow.
    """

    def __init__(self, widths: Mapping[str, int], right: tuple[str, ...] = ()) -> None:
        self._widths = {name: max(width, len(name)) for name, width in widths.items()}
        self._right = right
        self._indent = sum(width + 2 for width in list(self._widths.values())[:-1])
        print(styled(self._line(dict(zip(widths, widths, strict=True))), BOLD))

    def row(self, *cells: str, style: str = "") -> None:
        """Prints one row; `style` is that of the last cell."""
        last, *more = wrapped(cells[-1], self._indent)
        line = self._line(dict(zip(self._widths, (*cells[:-1], last), strict=True)))
        if style:
            line = line.removesuffix(last) + styled(last, style)
        print(line, flush=True)
        for text in more:
            print(" " * self._indent + text, flush=True)

    def _line(self, cells: Mapping[str, str]) -> str:
        padded = (
            f"{cell:>{self._widths[name]}}"
            if name in self._right
            else f"{cell:{self._widths[name]}}"
            for name, cell in cells.items()
        )
        return "  ".join(padded).rstrip()


def bytes_text(count: int) -> str:
    """A number of bytes in the largest unit it fills."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    return f"{count / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


def time_text(seconds: float) -> str:
    """A time in the unit that keeps it short."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def number_text(value: float) -> str:
    """Three digits that count."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
