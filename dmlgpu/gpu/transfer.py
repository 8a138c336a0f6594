"""Bytes between host and device: mapped in place where the adapter is a CPU, else through staging
memory that is kept and used in turns, so that copying and waiting overlap.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlgpu.errors import DeviceLostError
from dmlgpu.gpu.interrupt import uninterrupted

if TYPE_CHECKING:
    from dmlgpu.gpu.gpu import Gpu

Bytes = np.ndarray[Any, Any]

CHUNK = 32 << 20  # bytes of one staging buffer
TURNS = 3  # staging buffers each way
SMALL = 1 << 20  # up to here the queue's own write is quicker
DIRECT = 64 << 10  # from here a buffer that can be mapped is
THREADED = 8 << 20  # from here several threads copy: fresh pages cost more than copying
THREADS = 4
MAP_READ, MAP_WRITE = 1, 2  # bits of a buffer's usage
READ_SUBMITTED = "READ_NOSYNC"  # wgpu's READ submits once more, for writes that still wait
PATIENCE = 0.25  # seconds between looks at whether the device still exists


class Transfers:
    """Uploads and downloads of one device."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._up: dict[int, Any] = {}
        self._down: dict[int, Any] = {}
        self._marker: Any = None  # a copy between these two is done when all before it is
        self._mapped_now: Any = None

    def close(self) -> None:
        """Lets the staging memory go."""
        self.settle()
        self._up, self._down = {}, {}
        self._marker = None

    def settle(self) -> None:
        """Unmaps what an interrupted transfer left mapped: no submission may use it so."""
        if self._mapped_now is not None:
            self._gpu.unmap(self._mapped_now)
            self._mapped_now = None

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Writes `data`; nothing recorded but unsubmitted may use the buffer."""
        size = data.nbytes
        self.settle()
        if size >= DIRECT and buffer.usage & MAP_WRITE:
            with self._mapped(buffer, "WRITE", offset, size):
                _put(buffer, offset, data)
        elif size <= SMALL:
            self._gpu.queue.write_buffer(buffer, offset, data)
        else:
            for turn, at in enumerate(range(0, size, CHUNK)):
                part = data[at : at + CHUNK]
                staging = self._staging(self._up, turn, "MAP_WRITE|COPY_SRC")
                with self._mapped(staging, "WRITE", 0, part.nbytes):
                    _put(staging, 0, part)
                self._copy(staging, 0, buffer, offset + at, part.nbytes)

    def read(self, buffer: Any, offset: int, target: Bytes) -> None:
        """Fills `target` after everything recorded so far."""
        size = target.nbytes
        if size >= DIRECT and buffer.usage & MAP_READ:
            self._gpu.recording.submit()
            with self._mapped(buffer, "READ", offset, size):
                _fill(target, buffer.read_mapped(offset, size, copy=False))
            return
        parts = [target[at : at + CHUNK] for at in range(0, size, CHUNK)]
        for turn in range(min(TURNS, len(parts))):
            self._stage(buffer, offset, parts, turn)
        for turn, part in enumerate(parts):
            staging = self._down[turn % TURNS]
            with self._mapped(staging, READ_SUBMITTED, 0, part.nbytes):
                _fill(part, staging.read_mapped(0, part.nbytes, copy=False))
            if turn + TURNS < len(parts):
                self._stage(buffer, offset, parts, turn + TURNS)

    def wait(self) -> None:
        """Returns when everything recorded so far is done."""
        if self._marker is None:
            ahead = self._gpu.staging(16, "COPY_SRC")
            self._marker = (ahead, self._gpu.staging(16, "MAP_READ|COPY_DST"))
        ahead, marker = self._marker
        self._copy(ahead, 0, marker, 0, 16)
        with self._mapped(marker, READ_SUBMITTED, 0, 16):
            pass

    def fetch(self, staging: Any, target: Bytes) -> None:
        """Fills `target` when the copies submitted to a staging buffer of its own are done.

        Other threads may transfer meanwhile.
        """
        try:
            self._map(staging, READ_SUBMITTED, 0, target.nbytes)
            _fill(target, staging.read_mapped(0, target.nbytes, copy=False))
        finally:
            self._gpu.unmap(staging)

    @contextlib.contextmanager
    def _mapped(self, buffer: Any, mode: str, offset: int, size: int) -> Iterator[None]:
        """A buffer that is mapped inside the block, and never after it."""
        self.settle()
        self._mapped_now = buffer
        try:
            self._map(buffer, mode, offset, size)
            yield
        finally:
            self.settle()

    def _map(self, buffer: Any, mode: str, offset: int, size: int) -> None:
        """Maps a buffer when the work submitted so far is done with it."""
        if self._gpu.is_destroyed:
            raise DeviceLostError("the GPU device was lost before a transfer")
        with uninterrupted():
            promise = type(buffer).map_async(buffer, mode, offset, size)
        # Not sync_wait alone: it never returns when the wgpu device is destroyed meanwhile.
        while not (promise._thread_event.wait(PATIENCE) or self._gpu.is_destroyed):
            pass
        if self._gpu.is_destroyed:
            raise DeviceLostError("the GPU device was lost during a transfer")
        promise.sync_wait()

    def _stage(self, buffer: Any, offset: int, parts: list[Bytes], turn: int) -> None:
        staging = self._staging(self._down, turn, "MAP_READ|COPY_DST", parts[0].nbytes)
        self._copy(buffer, offset + turn * CHUNK, staging, 0, parts[turn].nbytes)

    def _copy(self, source: Any, at: int, target: Any, to: int, size: int) -> None:
        """Submits a copy at once, behind everything recorded so far."""
        self._gpu.recording.submit(
            lambda encoder: encoder.copy_buffer_to_buffer(source, at, target, to, size)
        )

    def _staging(self, ring: dict[int, Any], turn: int, usage: str, size: int = CHUNK) -> Any:
        """The staging buffer of a turn, large enough for `size` bytes."""
        place = turn % TURNS
        size = min(CHUNK, max(4096, 1 << (size - 1).bit_length()))
        if place in ring and ring[place].size < size:
            ring.pop(place).destroy()
        if place not in ring:
            ring[place] = self._gpu.staging(size, usage)
        return ring[place]


def _put(mapped: Any, offset: int, data: Bytes) -> None:
    """Copies host memory into a mapped buffer."""
    # write_mapped copies in one thread, and keeps Python's lock meanwhile.
    if data.nbytes < THREADED or not hasattr(mapped, "_experimental_get_mapped_range"):
        mapped.write_mapped(data, offset)
    else:
        memory = mapped._experimental_get_mapped_range(offset, data.nbytes)
        _fill(np.frombuffer(memory, np.uint8), data)


def _fill(target: Bytes, source: Any) -> None:
    """Copies between mapped memory and host memory, in several threads where it is much."""
    view = np.frombuffer(source, np.uint8)
    if target.nbytes < THREADED:
        target[...] = view
        return
    step = -(-target.nbytes // THREADS)
    parts = [(target[at : at + step], view[at : at + step]) for at in range(0, view.nbytes, step)]
    workers = [threading.Thread(target=np.copyto, args=part) for part in parts[1:]]
    started = []
    with uninterrupted():  # no thread may still read when the memory is unmapped
        try:
            for worker in workers:
                worker.start()
                started.append(worker)
        except RuntimeError:  # the system has no more threads
            for part in parts[1 + len(started) :]:
                np.copyto(*part)
        np.copyto(*parts[0])
        for worker in started:
            worker.join()
