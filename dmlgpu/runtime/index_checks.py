"""What the debug checks of index values have found, looked at when the device is waited for.

Each check reports into a place of its own in one buffer. When all places are taken they are read,
and what was found is kept for the next read or wait to raise.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from dmlgpu.gpu.memory import Lease
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.executable import Executable

SIZE = 256  # bytes from one report to the next: bindings may start there on every adapter
PLACES = 256
MOST_COMPLAINTS = 1000  # complaints that wait to be raised; of more, the first ones

Words = npt.NDArray[np.uint32]


class Reports:
    """The reports of one device that nobody has looked at yet; its lock must be held."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lease: Lease | None = None
        self._pending: list[Executable] = []  # who reports into the first places
        self._found: list[tuple[Executable, Words]] = []  # complaints, in the order of the calls

    def __bool__(self) -> bool:
        return bool(self._pending or self._found)

    def room(self, executable: Executable) -> tuple[Lease, int]:
        """Zeroed memory that the next call's check reports into, and where in it."""
        if len(self._pending) >= PLACES:
            self._look()
        lease = self._lease
        if lease is None:
            context, lease = self._context, self._context.take(SIZE * PLACES)
            if context.is_recorded(lease.storage):
                context.recording.submit()
            context.transfers.write(lease.storage.buffer, 0, np.zeros(SIZE * PLACES, np.uint8))
            self._lease = lease
        # The place counts as used from here on, even if the call is never recorded: it stays zero.
        self._pending.append(executable)
        return lease, SIZE * (len(self._pending) - 1)

    def _look(self) -> None:
        """Reads the places that are taken, and frees them."""
        if self._lease is None or not self._pending:
            return
        context, storage = self._context, self._lease.storage
        looked = list(self._pending)
        words = np.empty(SIZE * len(looked), np.uint8)
        context.transfers.read(storage.buffer, 0, words)
        told = words.view(np.uint32).reshape(len(looked), -1)
        found = [(looked[i], told[i].copy()) for i in np.flatnonzero(told[:, 0])]
        if len(self._pending) != len(looked) or self._pending[0] is not looked[0]:
            return  # code that interrupted this has looked, or taken more places
        # Not the same memory with zeros written over it: code that interrupts this may use it now.
        self._lease = None
        self._pending = []
        self._found.extend(islice(found, max(0, MOST_COMPLAINTS - len(self._found))))

    def raise_first(self) -> None:
        """Reads what is pending, and raises the first complaint; the others stay for later."""
        self._look()
        while self._found:
            executable, words = self._found.pop(0)
            executable.raise_report(words)
