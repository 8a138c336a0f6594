"""Text for people: tables as wide as the terminal, styles where there is one, short numbers."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TextIO

BOLD, GREEN, RED = "1", "32", "31"
NARROWEST = 16  # columns that wrapped text keeps, however narrow the terminal is


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking on, at something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, code: str) -> str:
    """`text` in a terminal style; plain where the output is no terminal or wants none."""
    plain = not is_terminal(sys.stdout) or os.environ.get("NO_COLOR")
    if plain or (os.name == "nt" and "WT_SESSION" not in os.environ):
        return text
    return f"\033[{code}m{text}\033[0m"


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text in so many columns, where a terminal needs them; else the text."""
    if not is_terminal(sys.stdout):
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def print_fact(name: str, text: str, indent: int) -> None:
    """A name, and beside it at column `indent` what is said of it."""
    room = max(NARROWEST, shutil.get_terminal_size().columns - indent)
    for i, line in enumerate(wrapped(text, room)):
        print(f"{'' if i else name:{indent}}{line}".rstrip())


class Table:
    """Rows under a header, printed one by one; columns in `right` hold numbers.

    The last column may be of any width. Where a terminal is too narrow, columns of text wrap.
    """

    def __init__(self, widths: Mapping[str, int], right: tuple[str, ...] = ()) -> None:
        self._widths = {name: max(width, len(name)) for name, width in widths.items()}
        self._right = right
        if is_terminal(sys.stdout):
            self._fit(shutil.get_terminal_size().columns)
        self.row(*widths, style=BOLD, whole=True)

    def _fit(self, columns: int) -> None:
        """Gives the last column what is left of the terminal; takes from the widest for that."""
        *others, last = self._widths
        least = max(len(last), NARROWEST) if last not in self._right else self._widths[last]
        texts = [name for name in others if name not in self._right]
        while (room := columns - sum(self._widths[n] + 2 for n in others)) < least:
            widest = max(texts, key=lambda name: self._widths[name])
            if self._widths[widest] <= NARROWEST // 2:
                break
            self._widths[widest] -= 1
        if last not in self._right:
            self._widths[last] = max(room, least)

    def row(self, *cells: str, style: str = "", whole: bool = False) -> None:
        """Prints one row; `style` is that of the last cell, or of the whole row."""
        columns = [
            wrapped(cell, width) for cell, width in zip(cells, self._widths.values(), strict=True)
        ]
        for parts in zip_longest(*columns, fillvalue=""):
            last = parts[-1]
            line = self._line(parts)
            if style and whole:
                line = styled(line, style)
            elif style and last:
                line = line.removesuffix(last) + styled(last, style)
            print(line, flush=True)

    def _line(self, cells: Sequence[str]) -> str:
        padded = (
            f"{cell:>{width}}" if name in self._right else f"{cell:{width}}"
            for cell, (name, width) in zip(cells, self._widths.items(), strict=True)
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
