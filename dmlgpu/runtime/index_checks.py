"""What the debug checks of index values have found, looked at when the device is waited for."""

from __future__ import annotations

import numpy as np

from dmlgpu.gpu.memory import Lease
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.executable import Executable

SIZE = 16  # bytes of a report


class Reports:
    """The reports of one device that nobody has looked at yet; its lock must be held."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pending: list[tuple[Executable, Lease]] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def room(self) -> Lease:
        """Zeroed memory that a check reports into."""
        context = self._context
        lease = context.take(SIZE)
        if context.is_recorded(lease.storage):
            context.recording.submit()
        context.transfers.write(lease.storage.buffer, 0, np.zeros(SIZE, np.uint8))
        return lease

    def expect(self, executable: Executable, lease: Lease) -> None:
        """The check that reports into this memory is recorded: the next read-back looks at it."""
        self._pending.append((executable, lease))

    def raise_first(self) -> None:
        """Reads what is pending, and raises the first complaint; the others stay for later."""
        while self._pending:
            executable, lease = self._pending[0]
            words = np.empty(SIZE, np.uint8)
            self._context.transfers.read(lease.storage.buffer, 0, words)
            del self._pending[0]
            executable.raise_report(words.view(np.uint32))
