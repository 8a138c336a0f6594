"""Bytes between host and device: mapped in place where the adapter is a CPU, else through staging
memory that is kept and used in turns, so that copying and waiting overlap.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlgpu.errors import DeviceLostError
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.interrupt import uninterrupted
from dmlgpu.gpu.memory import Storage
from dmlgpu.gpu.objects import Buffer, Pipeline, can_be_copied, can_map_read, can_map_write
from dmlgpu.gpu.recording import Call, Recording

Bytes = np.ndarray[Any, Any]

CHUNK = 32 << 20  # bytes of one staging buffer
TURNS = 3  # staging buffers each way
SMALL = 1 << 20  # up to here the queue's own write is quicker
DIRECT = 64 << 10  # from here a buffer that can be mapped is
THREADED = 8 << 20  # from here several threads copy: fresh pages cost more than copying
THREADS = 4
READ_SUBMITTED = "READ_NOSYNC"  # wgpu's READ submits once more, for writes that still wait
PATIENCE = 0.25  # seconds between looks at whether the device still exists


COPY_WORDS = """
@group(0) @binding(0) var<uniform> range: vec4<u32>; // first word, words
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> made: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 256u;
    if (i < range.y) { made[i] = source[i + range.x]; }
}
"""


class Transfers:
    """Uploads and downloads of one device."""

    def __init__(self, gpu: Gpu, recording: Recording) -> None:
        self._gpu = gpu
        self._recording = recording
        recording.settle = self.settle
        self._up: dict[int, Buffer] = {}
        self._down: dict[int, Buffer] = {}
        self._marker: tuple[Buffer, Buffer] | None = (
            None  # a copy between these two is done when all before it is
        )
        self._mapped_now: Buffer | None = None
        self._copier: Pipeline | None = None

    def staged(self, storage: Storage, offset: int, size: int) -> tuple[Buffer, Call]:
        """A staging buffer, and the call that copies bytes there; `fetch` waits for them."""
        buffer = storage.buffer
        if not can_be_copied(buffer):
            buffer, offset = self._copied(buffer, offset, size), 0
        staging = self._gpu.staging(size, "MAP_READ|COPY_DST")
        copy = (buffer, offset, staging, 0, size)
        return staging, Call("read", (), (storage,), size, copies=(copy,), timed=False)

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

    def write(self, buffer: Buffer, offset: int, data: Bytes) -> None:
        """Writes host bytes into a buffer that nothing recorded but unsubmitted uses."""
        with self._gpu.doing(f"uploading {data.nbytes} bytes"):
            self._write(buffer, offset, data)

    def read(self, buffer: Buffer, offset: int, target: Bytes) -> None:
        """Fills `target` (bytes) from a buffer, after everything recorded so far."""
        with self._gpu.doing(f"reading back {target.nbytes} bytes"):
            self._read(buffer, offset, target)

    def wait(self) -> None:
        """Returns when everything recorded so far is done."""
        with self._gpu.doing("waiting for the GPU"):
            self._wait()

    def fetch(self, staging: Buffer, target: Bytes) -> None:
        """Fills `target` (bytes) when the copies submitted to a staging buffer are done; drops it.

        Needs no lock: other threads may record, submit and transfer meanwhile.
        """
        with self._gpu.doing(f"reading back {target.nbytes} bytes"):
            try:
                self._map(staging, READ_SUBMITTED, 0, target.nbytes)
                _fill(target, staging.read_mapped(0, target.nbytes, copy=False))
            finally:
                self._gpu.unmap(staging)
            staging.destroy()

    def _write(self, buffer: Buffer, offset: int, data: Bytes) -> None:
        size = data.nbytes
        self.settle()
        if size >= DIRECT and can_map_write(buffer):
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

    def _read(self, buffer: Buffer, offset: int, target: Bytes) -> None:
        size = target.nbytes
        if not can_be_copied(buffer):
            buffer, offset = self._copied(buffer, offset, size), 0
        if size >= DIRECT and can_map_read(buffer):
            self._recording.submit()
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

    def _wait(self) -> None:
        if self._marker is None:
            ahead = self._gpu.staging(16, "COPY_SRC")
            self._marker = (ahead, self._gpu.staging(16, "MAP_READ|COPY_DST"))
        ahead, marker = self._marker
        self._copy(ahead, 0, marker, 0, 16)
        with self._mapped(marker, READ_SUBMITTED, 0, 16):
            pass

    def _copied(self, buffer: Buffer, offset: int, size: int) -> Buffer:
        """The bytes in a buffer that copies can read, moved there by a shader.

        Buffers made elsewhere may have no usage but STORAGE.
        """
        gpu = self._gpu
        made = gpu.buffer(-(-size // 4) * 4, "a copy to read back")
        if self._copier is None:
            self._copier = gpu.pipeline("copy of words", COPY_WORDS, "main", {})
        step = gpu.max_binding // gpu.offset_alignment * gpu.offset_alignment
        for at in range(0, size, step):
            part = min(step, made.size - at)
            lead = (offset + at) % gpu.offset_alignment  # a multiple of 16: tensors start on those
            bound = min(part + lead, gpu.max_binding)
            ranges = [(1, buffer, offset + at - lead, bound), (2, made, at, part)]
            uniform = gpu.uniform(np.array([lead // 4, part // 4, 0, 0], np.uint32).tobytes())
            group = gpu.bind_group(self._copier, [(0, uniform)], ranges)
            groups = -(-part // 4 // 256)
            x = min(groups, gpu.max_groups)
            call = Call("copy", ((self._copier, group, x, -(-groups // x)),), (), 2 * part)
            self._recording.append(replace(call, timed=False))
        return made

    @contextlib.contextmanager
    def _mapped(self, buffer: Buffer, mode: str, offset: int, size: int) -> Iterator[None]:
        """A buffer that is mapped inside the block, and never after it."""
        self.settle()
        self._mapped_now = buffer
        try:
            self._map(buffer, mode, offset, size)
            yield
        finally:
            self.settle()

    def _map(self, buffer: Buffer, mode: str, offset: int, size: int) -> None:
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

    def _stage(self, buffer: Buffer, offset: int, parts: list[Bytes], turn: int) -> None:
        staging = self._staging(self._down, turn, "MAP_READ|COPY_DST", parts[0].nbytes)
        self._copy(buffer, offset + turn * CHUNK, staging, 0, parts[turn].nbytes)

    def _copy(self, source: Buffer, at: int, target: Buffer, to: int, size: int) -> None:
        """Submits a copy at once, behind everything recorded so far."""
        self._recording.submit(
            lambda encoder: encoder.copy_buffer_to_buffer(source, at, target, to, size)
        )

    def _staging(self, ring: dict[int, Buffer], turn: int, usage: str, size: int = CHUNK) -> Buffer:
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
