"""Bytes between host and device: mapped in place where the adapter is a CPU, else through staging
memory that is kept and used in turns, so that copying and waiting overlap.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dmlgpu.gpu import Gpu

Bytes = np.ndarray[Any, Any]

CHUNK = 32 << 20  # bytes of one staging buffer
TURNS = 3  # staging buffers each way
SMALL = 1 << 20  # up to here the queue's own write is quicker
DIRECT = 64 << 10  # from here a buffer that can be mapped is
THREADED = 8 << 20  # from here several threads fill host memory: fresh pages cost more than copying
THREADS = 4
MAP_READ, MAP_WRITE = 1, 2  # bits of a buffer's usage


class Transfers:
    """Uploads and downloads of one device."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._up: list[Any] = []
        self._down: list[Any] = []

    def close(self) -> None:
        """Lets the staging memory go."""
        self._up, self._down = [], []

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Writes `data`; nothing recorded but unsubmitted may use the buffer."""
        size = data.nbytes
        if size >= DIRECT and buffer.usage & MAP_WRITE:
            buffer.map_sync("WRITE", offset, size)
            buffer.write_mapped(data, offset)
            buffer.unmap()
        elif size <= SMALL:
            self._gpu.queue.write_buffer(buffer, offset, data)
        else:
            for turn, at in enumerate(range(0, size, CHUNK)):
                part = data[at : at + CHUNK]
                staging = self._staging(self._up, turn, "MAP_WRITE|COPY_SRC")
                staging.map_sync("WRITE", 0, part.nbytes)
                staging.write_mapped(part, 0)
                staging.unmap()
                self._copy(staging, 0, buffer, offset + at, part.nbytes)

    def read(self, buffer: Any, offset: int, target: Bytes) -> None:
        """Fills `target` after everything recorded so far."""
        size = target.nbytes
        if size >= DIRECT and buffer.usage & MAP_READ:
            self._gpu.flush()
            buffer.map_sync("READ", offset, size)
            _fill(target, buffer.read_mapped(offset, size, copy=False))
            buffer.unmap()
            return
        parts = [target[at : at + CHUNK] for at in range(0, size, CHUNK)]
        for turn in range(min(TURNS, len(parts))):
            self._stage(buffer, offset, parts, turn)
        for turn, part in enumerate(parts):
            self.fetch(self._down[turn % TURNS], part)
            if turn + TURNS < len(parts):
                self._stage(buffer, offset, parts, turn + TURNS)

    def fetch(self, staging: Any, target: Bytes) -> None:
        """Waits for the copy to a staging buffer, and fills `target` from it."""
        staging.map_sync("READ", 0, target.nbytes)
        _fill(target, staging.read_mapped(0, target.nbytes, copy=False))
        staging.unmap()

    def _stage(self, buffer: Any, offset: int, parts: list[Bytes], turn: int) -> None:
        staging = self._staging(self._down, turn, "MAP_READ|COPY_DST", parts[0].nbytes)
        self._copy(buffer, offset + turn * CHUNK, staging, 0, parts[turn].nbytes)

    def _copy(self, source: Any, at: int, target: Any, to: int, size: int) -> None:
        """Submits a copy at once, behind everything recorded so far."""
        self._gpu.outside_pass().copy_buffer_to_buffer(source, at, target, to, size)
        self._gpu.flush()

    def _staging(self, ring: list[Any], turn: int, usage: str, size: int = CHUNK) -> Any:
        """The staging buffer of a turn, large enough for `size` bytes."""
        place = turn % TURNS
        size = min(CHUNK, max(4096, 1 << (size - 1).bit_length()))
        if place == len(ring):
            ring.append(self._gpu.device.create_buffer(size=size, usage=usage))
        elif ring[place].size < size:
            ring[place].destroy()
            ring[place] = self._gpu.device.create_buffer(size=size, usage=usage)
        return ring[place]


def _fill(target: Bytes, source: Any) -> None:
    """Copies mapped memory into host memory, in several threads where it is much."""
    view = np.frombuffer(source, np.uint8)
    if target.nbytes < THREADED:
        target[...] = view
        return
    step = -(-target.nbytes // THREADS)
    workers = [
        threading.Thread(target=np.copyto, args=(target[at : at + step], view[at : at + step]))
        for at in range(0, target.nbytes, step)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
