"""Copies within host memory, by several threads where they are large.

A signal handler or a finalizer may run between any two steps of Python, and may end what a copy
reads or writes. So asking whether it may go on, and copying, are one step: a C function that is
called by another C function, as the iterators of itertools do, has nothing between.
"""

from __future__ import annotations

import _thread
import contextlib
import time
from collections.abc import Iterable, Iterator
from itertools import compress, starmap
from operator import mul, setitem
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

THREADED = 8 << 20  # bytes from which several threads copy: fresh pages cost more than copying
THREADS = 4


def copied(target: Bytes, source: Bytes) -> None:
    """Copies bytes that nothing ends while they are copied."""
    if target.nbytes < THREADED:
        target[...] = source
        return
    copying = Copying()
    try:
        copying.copy(target, source)
    finally:
        copying.end()


class Copying:
    """A copy within host memory, by several threads where it is large. `end` is to follow."""

    def __init__(self) -> None:
        self._open = [True]  # while copies may begin
        self._parts: list[tuple[Bytes, Any, Bytes] | None] = []
        self._total = 0
        self._done: list[None] = []

    def copy(self, target: Bytes, source: Bytes) -> bool:
        """Copies bytes; False when the end came before all were copied."""
        size = target.nbytes
        if size < THREADED:
            whole = compress(((target, ..., source),), self._open)
            return bool(list(starmap(setitem, whole)))  # asking and copying are one step
        step = -(-size // THREADS)
        parts = [
            (target[at : at + step], ..., source[at : at + step]) for at in range(0, size, step)
        ]
        self._parts = [*[None] * len(parts), *parts]  # each worker ends at a None of its own
        self._total = len(parts)  # after them: `end` may come in between, and waits for none then
        with contextlib.suppress(RuntimeError):  # the system has no more threads
            for _ in parts[1:]:
                _thread.start_new_thread(self._work, ())
        self._work()
        while self._open and len(self._done) < self._total:
            time.sleep(20e-6)
        return len(self._done) == self._total

    def _work(self) -> None:
        """Copies parts until none is left: asking, taking one and copying it are one step.

        No exception says that none is left: Python 3.11 keeps one that is being handled, and all
        that its traceback holds, when a signal handler raises at the end of handling it.
        """
        may: Iterator[int] = iter(self._open.__len__, 0)
        taken: Iterable[Any] = map(mul, may, iter(self._parts.pop, None))
        self._done.extend(starmap(setitem, taken))

    def end(self) -> None:
        """Nothing is copied any more when this returns."""
        self._open.clear()
        while len(self._done) < self._total - max(0, len(self._parts) - self._total):
            time.sleep(20e-6)  # other threads still copy
