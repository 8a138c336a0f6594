"""What the debug checks of index values have found, looked at when the device is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmlgpu.gpu.memory import Lease

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.runtime.compiled import CompiledOperator

SIZE = 16  # bytes of a report


class Reports:
    """The reports of one device that nobody has looked at yet; its lock must be held."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pending: list[tuple[CompiledOperator, Lease]] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def room(self) -> Lease:
        """Zeroed memory that a check reports into."""
        device = self._device
        lease = device.take(SIZE)
        if device.is_recorded(lease.storage):
            device.recording.submit()
        device.gpu.write(lease.storage.buffer, 0, np.zeros(SIZE, np.uint8))
        return lease

    def expect(self, operator: CompiledOperator, lease: Lease) -> None:
        """The check that reports into this memory is recorded: the next read-back looks at it."""
        self._pending.append((operator, lease))

    def raise_first(self) -> None:
        """Reads what is pending, and raises the first complaint; the others stay for later."""
        while self._pending:
            operator, lease = self._pending[0]
            words = np.empty(SIZE, np.uint8)
            self._device.gpu.read(lease.storage.buffer, 0, words)
            del self._pending[0]
            operator.raise_report(words.view(np.uint32))
