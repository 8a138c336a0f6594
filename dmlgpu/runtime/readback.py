"""Reading tensors back: at once, or without holding up an event loop."""

from __future__ import annotations

import threading
import time
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.transfer import CHUNK, Reading
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.index_checks import Reports
from dmlgpu.runtime.region import Region

PATIENCE = 10.0  # seconds that closing a device waits for others' reads


class ReadBack:
    """Reads of one device; threads wait for theirs without its lock, so that others use it."""

    def __init__(self, context: Context, reports: Reports) -> None:
        self._context = context
        self._reports = reports
        self._waiting: WeakKeyDictionary[_Waiting, int] = WeakKeyDictionary()  # threads

    def read(self, region: Region) -> npt.NDArray[np.uint8]:
        """The tensor's bytes, padding included."""
        context, storage = self._context, region.storage
        context.check_usable()
        size = region.layout.memory.total_tensor_size_in_bytes
        raw = _room(size)
        transfers = context.transfers
        in_place = transfers.is_read_in_place(storage, size)
        reading, done = None, False
        with context.lock:
            context.check_usable()
            context.check_intact(storage)
            if in_place:
                done = transfers.read_if_idle(storage, region.begin, raw)
            else:
                if size <= CHUNK:
                    reading = transfers.staged(storage, region.begin, size)
                    transfers.run(reading)
                else:
                    transfers.submit()
        if not done:
            waiting = _Waiting()
            self._waiting[waiting] = threading.get_ident()
            if reading is not None:
                transfers.fetch(reading, raw)
            elif in_place:
                transfers.wait_submitted()
            del waiting
        if not done or self._reports:
            with context.lock:
                if not done and reading is None:
                    context.check_usable()
                    context.check_intact(storage)
                    transfers.read_storage(storage, region.begin, raw)
                if self._reports:
                    self._reports.raise_first()
        return raw

    async def read_async(self, region: Region) -> npt.NDArray[np.uint8]:
        """The tensor's bytes, padding included; a thread waits for them, not the event loop.

        The copy is recorded here, so that it keeps its place among this thread's calls.
        Submitting is left to the thread: some drivers block there.
        """
        import asyncio  # slow to import, and only for programs that have it already

        self._context.check_usable()
        try:
            reading = self._begin(region)
        except OutOfMemoryError:  # through the staging memory that is kept, at once
            return self.read(region)
        raw = _room(region.layout.memory.total_tensor_size_in_bytes)
        await asyncio.to_thread(self._finish, reading, raw)
        return raw

    def _begin(self, region: Region) -> Reading:
        """Records a copy of the tensor's bytes to memory of its own; `_finish` waits for it."""
        context, size = self._context, region.layout.memory.total_tensor_size_in_bytes
        with context.lock:
            context.check_usable()
            context.check_intact(region.storage)
            reading = context.transfers.staged(region.storage, region.begin, size)
            context.recording.append(reading.call)
        return reading

    def _finish(self, reading: Reading, target: npt.NDArray[np.uint8]) -> None:
        """Submits what `_begin` recorded, waits for it, and fills `target`."""
        waiting = _Waiting()
        with self._context.lock:
            self._context.check_usable()
            self._context.recording.submit()
            self._waiting[waiting] = threading.get_ident()
        self._context.transfers.fetch(reading, target)
        del waiting
        if self._reports:
            with self._context.lock:
                self._context.check_usable()
                self._reports.raise_first()

    def drain(self) -> None:
        """Returns when no other thread waits any more; a device in use is not destroyed."""
        end = time.monotonic() + PATIENCE
        me = threading.get_ident()
        while any(thread != me for thread in list(self._waiting.values())):
            if time.monotonic() > end:
                return  # they will find that the device is gone
            time.sleep(1e-3)


class _Waiting:
    """Stands for a thread that waits; gone when it is, whatever ended that."""


def _room(size: int) -> npt.NDArray[np.uint8]:
    try:
        return np.empty(size, np.uint8)
    except MemoryError:
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
