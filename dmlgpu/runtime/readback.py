"""Reading tensors back: at once, or without holding up an event loop."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.objects import Buffer
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.index_checks import Reports
from dmlgpu.runtime.region import Region


class ReadBack:
    """Reads of one device; threads may wait for theirs without its lock, so that others use it."""

    def __init__(self, context: Context, reports: Reports) -> None:
        self._context = context
        self._reports = reports
        self._ended = threading.Condition(context.lock)
        self._waiting = 0  # threads

    def read(self, region: Region) -> npt.NDArray[Any]:
        """The tensor's bytes, padding included."""
        context = self._context
        context.check_usable()
        raw = _room(region.desc.total_tensor_size_in_bytes)
        with context.lock:
            context.check_intact(region.buffer, region.storage)
            context.transfers.read(region.buffer, region.offset, raw)
            self._reports.raise_first()
        return raw

    async def read_async(self, region: Region) -> npt.NDArray[Any]:
        """The tensor's bytes, padding included; a thread waits for them, not the event loop."""
        import asyncio  # slow to import, and only for programs that have it already

        context = self._context
        context.check_usable()
        staging = None
        # Recorded here, the copy keeps its place among this thread's calls; where another thread
        # has the device, no order is promised. Submitting is left to the thread: some drivers
        # block there. A debug device's read also fetches what its checks have found.
        if not context.debug and context.lock.acquire(blocking=False):
            try:
                staging = self._begin(region)
            except OutOfMemoryError:  # through the staging memory that is kept
                staging = None
            finally:
                context.lock.release()
        if staging is None:
            return await asyncio.to_thread(self.read, region)
        raw = _room(region.desc.total_tensor_size_in_bytes)
        await asyncio.to_thread(self._finish, staging, raw)
        return raw

    def _begin(self, region: Region) -> Buffer:
        """Records a copy of the tensor's bytes to memory of its own; `_finish` waits for it."""
        context, size = self._context, region.desc.total_tensor_size_in_bytes
        with context.lock:
            context.check_usable()
            context.check_intact(region.buffer, region.storage)
            staging, copy = context.transfers.staged(region.storage, region.offset, size)
            context.record(copy)
        return staging

    def _finish(self, staging: Buffer, target: npt.NDArray[Any]) -> None:
        """Submits what `_begin` recorded, waits for it, and fills `target`."""
        with self._context.lock:
            self._context.check_usable()
            self._context.recording.submit()
            self._waiting += 1
        try:
            self._context.transfers.fetch(staging, target)
        finally:
            with self._ended:
                self._waiting -= 1
                self._ended.notify_all()

    def drain(self) -> None:
        """Returns when no thread waits any more; a device in use must not be destroyed."""
        with self._ended:
            self._ended.wait_for(lambda: not self._waiting)


def _room(size: int) -> npt.NDArray[Any]:
    try:
        return np.empty(size, np.uint8)
    except MemoryError:
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
