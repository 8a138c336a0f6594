"""Progress on standard error: a bar where a person looks on, a line per step elsewhere."""

from __future__ import annotations

import shutil
import sys
from time import perf_counter

from dmlgpu.cli.output import is_terminal


class Progress:
    """Counts steps towards a total."""

    def __init__(self, total: int) -> None:
        self._total = max(1, total)
        self._done = 0
        self._start = perf_counter()
        self._is_terminal = is_terminal(sys.stderr)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return perf_counter() - self._start

    def begin(self, what: str) -> None:
        """Shows what is being measured now."""
        if self._is_terminal:
            self._draw(what)

    def done(self, line: str, steps: int = 1) -> None:
        """Shows a result."""
        self._done = min(self._total, self._done + steps)
        count = f"[{self._done:>{len(str(self._total))}}/{self._total} {self.seconds:4.0f} s]"
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
        sys.stderr.write(f"{count} {line}\n")
        if self._is_terminal:
            self._draw("")
        sys.stderr.flush()

    def say(self, sentence: str) -> None:
        """Prints a sentence between the steps."""
        sys.stderr.write(("\r\x1b[K" if self._is_terminal else "") + sentence + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Clears the bar."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self, what: str) -> None:
        width = 24
        filled = width * self._done // self._total
        bar = "#" * filled + "." * (width - filled)
        text = f"[{bar}] {self._done}/{self._total} {self.seconds:.0f} s  {what}"
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + text[:room])
        sys.stderr.flush()
