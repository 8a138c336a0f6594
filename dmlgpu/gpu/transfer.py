"""Bytes between host and device: in place where a tensor can be mapped and that is quicker, else
through staging memory that is kept and used in turns, so that copying and waiting overlap.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from weakref import ref

import numpy as np

from dmlgpu.errors import DeviceError
from dmlgpu.gpu.copying import Bytes, copied
from dmlgpu.gpu.foreign import check
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.memory import Storage
from dmlgpu.gpu.objects import Buffer, Pipeline, can_be_copied
from dmlgpu.gpu.private import READ, WRITE, HostMap, is_idle, seen, wait_for_queue
from dmlgpu.gpu.recording import READ_BACK, Call, Recording

CHUNK = 32 << 20  # bytes of one staging buffer
TURNS = 3  # staging buffers each way
SMALL = 4 << 20  # up to here the queue's own write is quicker
READ_IN_PLACE = 1 << 10  # up to here the host reads a GPU's memory quicker than a copy is submitted
WAIT_IN_PLACE = 64 << 10  # from here a CPU adapter writes in place what it has to wait for
UP, DOWN = "MAP_WRITE|COPY_SRC", "MAP_READ|COPY_DST"  # usage of staging memory
POLLS = 100  # of a GPU, before it is asked to answer
TRIES = 100  # times that a read in place may be interrupted by code that submits

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


class Reading:
    """A copy of a tensor's bytes on its way to the host, through staging memory of its own."""

    __slots__ = ("call", "staging")

    def __init__(self, staging: Storage, call: Call) -> None:
        self.staging = staging
        self.call = call


class _Write:
    """A small write on its way into the queue: it lives as long as the call that makes it."""

    __slots__ = ("__weakref__",)


class Transfers:
    """Uploads and downloads of one device. The device's lock must be held, but for `fetch`."""

    def __init__(self, gpu: Gpu, recording: Recording) -> None:
        self._gpu = gpu
        self._recording = recording
        # Staging buffers that nobody uses. Whoever uses one has taken it out.
        self._idle: dict[str, list[Buffer]] = {UP: [], DOWN: []}
        self._copier: Pipeline | None = None
        # Small writes in the queue, and whether something was submitted while they were made.
        self._waiting: dict[ref[_Write], bool] = {}

    def expect(self, buffer: Buffer) -> None:
        """Makes ready what it takes to read a buffer that no copy may read: a shader.

        Buffers made elsewhere may have no usage but STORAGE.
        """
        if self._copier is None and not can_be_copied(buffer):
            self._copier = self._gpu.pipeline("copy of words", COPY_WORDS, "main", {})

    def staged(self, storage: Storage, offset: int, size: int) -> Reading:
        """A copy of bytes to the host, to be recorded; `fetch` waits for it once submitted."""
        buffer = storage.buffer
        used: tuple[Storage, ...] = (storage,)
        if not can_be_copied(buffer):
            buffer, offset = self._copied(storage, offset, size), 0
        rounded = -(-size // 4) * 4
        staging = Storage(self._take(DOWN, rounded), rounded)
        copy = (buffer, offset, staging.buffer, 0, rounded)
        call = Call(READ_BACK, (), used, size, (staging,), copies=(copy,), timed=False)
        return Reading(staging, call)

    def fetch(self, reading: Reading, target: Bytes) -> None:
        """Fills `target` (bytes) when a copy that was submitted is done.

        Needs no lock: other threads may record, submit and transfer meanwhile.
        """
        with self._gpu.doing(f"reading back {target.nbytes} bytes"):
            check(reading.staging, "the tensor")
            staging = reading.staging.buffer
            view = seen(staging)
            if view is None:
                self._read_staging(staging, target)
            else:
                self.wait_submitted()
                copied(target, view[: target.nbytes])
            self._give_back(DOWN, staging)

    def close(self) -> None:
        """Lets the staging memory go."""
        for idle in self._idle.values():
            with contextlib.suppress(IndexError):
                while idle:
                    idle.pop().destroy()

    def write(self, buffer: Buffer, offset: int, data: Bytes) -> None:
        """Writes host bytes into a buffer that nothing recorded but unsubmitted uses."""
        with self._gpu.doing(f"uploading {data.nbytes} bytes"):
            self._write(buffer, offset, data)

    def read(self, buffer: Buffer, offset: int, target: Bytes) -> None:
        """Fills `target` (bytes) from a buffer, after everything recorded so far."""
        self.read_storage(Storage(buffer, buffer.size), offset, target)

    def read_storage(self, storage: Storage, offset: int, target: Bytes) -> None:
        """`read` for a buffer that its owner may destroy meanwhile."""
        with self._gpu.doing(f"reading back {target.nbytes} bytes"):
            self._read(storage, offset, target)

    def read_if_idle(self, storage: Storage, offset: int, target: Bytes) -> bool:
        """Fills `target` from a storage that is read in place; False if that has to wait.

        Or if code that interrupts this has something done, which may change what is read.
        """
        self.submit()
        submitted = self._recording.submitted
        view = seen(storage.buffer)
        if view is None or not is_idle(self._gpu.device):
            return False
        check(storage, "the tensor")
        copied(target, view[offset : offset + target.nbytes])
        return self._recording.submitted == submitted

    def run(self, reading: Reading) -> None:
        """Submits a copy, and with it what is recorded and small writes."""
        made = self._made()
        self._recording.run(reading.call)
        self._forget(made)

    def wait(self) -> None:
        """Returns when everything recorded so far is done."""
        with self._gpu.doing("waiting for the GPU"):
            self.submit()
            self.wait_submitted()

    def submit(self) -> None:
        """Submits what is recorded, and small writes, which wait in the queue for a submission."""
        made, waiting = self._made(), self._waiting.copy()
        needed = made or not all(waiting.values())
        if not self._recording.submit() and needed:
            self._gpu.flush_writes()
        for write in waiting:
            if write in self._waiting:
                self._waiting[write] = True
        self._forget(made)

    def wait_submitted(self) -> None:
        """Returns when everything submitted so far is done; needs no lock.

        Nothing to do is quickly said, unless other threads have something done all the time.
        """
        gpu = self._gpu
        with gpu.doing("waiting for the GPU"):
            if not is_idle(gpu.device, 1 if gpu.is_cpu else POLLS):
                wait_for_queue(gpu.device, gpu.queue)

    def is_read_in_place(self, storage: Storage, size: int) -> bool:
        """Whether so many bytes are read where they lie.

        Not where others may destroy the buffer meanwhile.
        """
        few = size <= READ_IN_PLACE or self._gpu.is_cpu
        return few and not storage.shared and seen(storage.buffer) is not None

    def _may_write_in_place(self, size: int) -> bool:
        """Whether no submitted work can use the memory that so many bytes are written to.

        Writes that wait in the queue may be for the same memory, and would come later.
        """
        if self._gpu.is_cpu and size >= WAIT_IN_PLACE:
            if self._waiting:
                self.submit()
            self.wait_submitted()
            return True
        return not self._waiting and is_idle(self._gpu.device)

    def _made(self) -> list[ref[_Write]]:
        """Writes that the next submission takes along for certain.

        Not one that this code has interrupted: it may reach the queue only after the submission.
        """
        return [write for write in self._waiting.copy() if write() is None]

    def _forget(self, made: list[ref[_Write]]) -> None:
        for write in made:
            self._waiting.pop(write, None)

    def _write(self, buffer: Buffer, offset: int, data: Bytes) -> None:
        size, view = data.nbytes, seen(buffer)
        if view is not None and self._may_write_in_place(size):
            copied(view[offset : offset + size], data)
            return
        if size <= SMALL:
            write = _Write()
            self._waiting[ref(write)] = False
            self._gpu.queue.write_buffer(buffer, offset, data)
            return
        used: list[Buffer] = []
        for turn, at in enumerate(range(0, size, CHUNK)):
            part = data[at : at + CHUNK]
            staging = used[turn - TURNS] if turn >= TURNS else self._take(UP, CHUNK)
            mapping = HostMap(self._gpu.device, staging)
            try:
                mapping.wait(WRITE, 0, part.nbytes)
                mapping.write(0, part)
            finally:
                mapping.end()
            self._copy(staging, 0, buffer, offset + at, part.nbytes)
            used.append(staging)
        for staging in used[:TURNS]:
            self._give_back(UP, staging)

    def _read(self, storage: Storage, offset: int, target: Bytes) -> None:
        size, buffer = target.nbytes, storage.buffer
        if self.is_read_in_place(storage, size):
            for _ in range(TRIES):
                if self.read_if_idle(storage, offset, target):
                    return
                self.wait_submitted()
            raise DeviceError(f"a read of {size} bytes was interrupted {TRIES} times")
        if not can_be_copied(buffer):
            buffer, offset = self._copied(storage, offset, size), 0
        parts = [target[at : at + CHUNK] for at in range(0, size, CHUNK)]
        turns = [self._take(DOWN, parts[0].nbytes) for _ in parts[:TURNS]]

        def stage(turn: int) -> None:
            staging = turns[turn % TURNS]
            self._copy(buffer, offset + turn * CHUNK, staging, 0, parts[turn].nbytes, storage)

        for turn in range(len(turns)):
            stage(turn)
        for turn, part in enumerate(parts):
            self._read_staging(turns[turn % TURNS], part)
            if turn + TURNS < len(parts):
                stage(turn + TURNS)
        for staging in turns:
            self._give_back(DOWN, staging)

    def _read_staging(self, staging: Buffer, target: Bytes) -> None:
        mapping = HostMap(self._gpu.device, staging)
        try:
            mapping.wait(READ, 0, -(-target.nbytes // 4) * 4)
            mapping.read(0, target)
        finally:
            mapping.end()

    def _copied(self, storage: Storage, offset: int, size: int) -> Buffer:
        """The bytes in a buffer that copies can read, moved there by a shader."""
        gpu, buffer = self._gpu, storage.buffer
        made = gpu.buffer(-(-size // 4) * 4, "a copy to read back")
        assert self._copier is not None  # such a buffer was expected
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
            call = Call("copy", ((self._copier, group, x, -(-groups // x)),), (storage,), 2 * part)
            self._recording.append(replace(call, timed=False))
        return made

    def _copy(
        self,
        source: Buffer,
        at: int,
        target: Buffer,
        to: int,
        size: int,
        storage: Storage | None = None,
    ) -> None:
        """Submits a copy at once, behind everything recorded so far."""
        copies = ((source, at, target, to, size),)
        used = () if storage is None else (storage,)
        self._recording.run(Call(READ_BACK, (), used, size, copies=copies, timed=False))
        if storage is not None:
            check(storage, "the tensor")

    def _take(self, usage: str, size: int) -> Buffer:
        """A staging buffer of at least so many bytes, which is the caller's until given back."""
        size = max(4096, 1 << (size - 1).bit_length())
        idle = self._idle[usage]
        with contextlib.suppress(IndexError):
            while idle:
                found = idle.pop()
                if found.size >= size:
                    return found
                found.destroy()
        return self._gpu.seen_staging(size) if usage == DOWN else self._gpu.staging(size, usage)

    def _give_back(self, usage: str, staging: Buffer) -> None:
        """The staging buffer is unmapped; others may use it, if there are not enough already."""
        if staging.size <= CHUNK and len(self._idle[usage]) < TURNS:
            self._idle[usage].append(staging)
        else:
            staging.destroy()
