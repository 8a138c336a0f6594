"""Text for people: tables as wide as the terminal, styles where there is one, short numbers."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import TextIO

BOLD, GREEN, RED = "1", "32", "31"
NARROWEST = 16  # columns that wrapped text keeps, however narrow the terminal is


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking on, at something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, code: str) -> str:
    """`text` in a terminal style; plain where the output is no terminal or wants none."""
    plain = not code or not is_terminal(sys.stdout) or os.environ.get("NO_COLOR")
    if plain or (os.name == "nt" and "WT_SESSION" not in os.environ):
        return text
    return f"\033[{code}m{text}\033[0m"


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text in so many columns, where a terminal needs them; words stay whole."""
    if not is_terminal(sys.stdout):
        return [text]
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]


def print_text(text: str, style: str = "") -> None:
    """A sentence on as many lines as the terminal needs."""
    for line in wrapped(text, shutil.get_terminal_size().columns):
        print(styled(line, style))


def print_fact(name: str, text: str, indent: int, style: str = "") -> None:
    """A name, and beside it at column `indent` what is said of it."""
    room = max(NARROWEST, shutil.get_terminal_size().columns - indent)
    for i, line in enumerate(wrapped(text, room)):
        print(f"{'' if i else name:{indent}}{styled(line, style)}".rstrip())


class Table:
    """Rows under a header, printed one by one as they become known.

    `columns` maps each heading to the cells that will stand below it, or to some that are as wide;
    with none of them, as the last column may be, it takes what is left of the line. Columns in
    `right` hold numbers. Where a terminal is too narrow, columns of text wrap, but never inside a
    word; where even that does not fit, each row becomes a list of its cells.
    """

    def __init__(self, columns: Mapping[str, Iterable[str]], right: tuple[str, ...] = ()) -> None:
        cells = {name: [name, *some] for name, some in columns.items()}
        self._widths = {name: max(map(len, some)) for name, some in cells.items()}
        self._right = right
        self._is_list = False
        if is_terminal(sys.stdout):
            words = {n: max(map(len, " ".join(some).split())) for n, some in cells.items()}
            least = {n: self._widths[n] if n in right else words[n] for n in cells}
            last = list(cells)[-1]
            if len(cells[last]) == 1:
                self._widths[last] = 1000
                least[last] = max(least[last], NARROWEST)
            self._fit(shutil.get_terminal_size().columns, least)
        if not self._is_list:
            self._print_row(list(columns), BOLD, whole=True)

    def _fit(self, columns: int, least: Mapping[str, int]) -> None:
        """Takes what is too much from the widest columns, as long as their words stay whole."""
        gaps = 2 * (len(self._widths) - 1)
        while (excess := sum(self._widths.values()) + gaps - columns) > 0:
            shrinking = [name for name, width in self._widths.items() if width > least[name]]
            if not shrinking:
                self._is_list = True
                return
            widest, *rest = sorted(shrinking, key=self._widths.__getitem__, reverse=True)
            until = max(least[widest], self._widths[rest[0]] - 1 if rest else 0)
            self._widths[widest] -= min(excess, self._widths[widest] - until)

    def row(self, *cells: str, style: str = "") -> None:
        """Prints one row; `style` is that of its last cell."""
        if not self._is_list:
            self._print_row(cells, style)
            return
        indent = 4 + max(map(len, self._widths))
        print(styled(cells[0], BOLD))
        named = list(zip(self._widths, cells, strict=True))[1:]
        for name, cell in named:
            if cell:
                last = name == named[-1][0]
                print_fact(f"  {name}", cell, indent, style if last else "")
        sys.stdout.flush()

    def _print_row(self, cells: Iterable[str], style: str, whole: bool = False) -> None:
        widths = self._widths.values()
        columns = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*columns, fillvalue=""):
            padded = [
                f"{part:>{width}}" if name in self._right else f"{part:{width}}"
                for part, (name, width) in zip(parts, self._widths.items(), strict=True)
            ]
            *head, last = padded
            line = "  ".join([*head, last if whole else styled(last.rstrip(), style)]).rstrip()
            print(styled(line, style) if whole else line, flush=True)


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
