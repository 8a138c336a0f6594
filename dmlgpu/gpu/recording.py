"""Recorded work: calls wait in a list, in order, and become one submission.

wgpu hears of a call only when it is submitted, together with all that wait. A fault or Ctrl-C on
the way leaves the list as it was: nothing recorded is lost, and no half of a call is ever run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from wgpu import classes

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, OutOfMemoryError
from dmlgpu.gpu.foreign import check
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.interrupt import uninterrupted
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import BindGroup, Buffer, Encode, Pipeline, QuerySet

BATCH_LIMIT = 64  # dispatches and copies recorded before they are submitted
BATCH_BYTES = 64 << 20  # bytes touched by recorded work before it is submitted


@dataclass(frozen=True, slots=True)
class Call:
    """Everything that submitting one call needs: nothing is made on the way."""

    name: str
    dispatches: tuple[tuple[Pipeline, BindGroup, int, int], ...]  # pipeline, bind group, grid
    storages: tuple[Storage, ...]
    nbytes: int
    targets: tuple[Storage, ...] = ()  # what it writes
    held: tuple[Lease, ...] = ()  # memory for the inside of calls
    copies: tuple[tuple[Buffer, int, Buffer, int, int], ...] = ()  # instead of dispatches
    timed: bool = True  # by a profile


class Timer(Protocol):
    """Gives calls places for their timestamps, when they are submitted and not before.

    A place that is taken and not written keeps the GPU waiting for it forever.
    """

    def has_room(self, calls: int) -> bool:
        """Whether so many more calls can be timed before `collect`."""

    def collect(self) -> None:
        """Submits what waits, and reads the timestamps so far."""

    def is_wanted(self) -> bool:
        """Whether anyone still listens; begins a submission."""

    def next_stamps(self, call: Call) -> tuple[QuerySet, int]:
        """The query set and the first of the two places in it for a call of this submission."""

    def submitted(self) -> None:
        """The calls of this submission are on their way."""


class Recording:
    """The calls of one device that wait to be submitted."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self.number: int = 0  # of submissions so far; a storage used since has it too
        self.notes: dict[int, str] = {}  # of buffers by serial; see watch
        self.timer: Timer | None = None  # while profiling
        self._waiting: list[Call] = []
        self._commands = 0
        self._nbytes = 0
        self._stuck = False  # the last submission failed and nobody was told
        self.settle: Callable[[], None] = lambda: None  # what a transfer left half done, ended

    def append(self, call: Call) -> None:
        """Adds a call, and submits when there is enough."""
        if self.notes or self._stuck:
            self._check(call)
        if self.timer is not None and not self.timer.has_room(len(self._waiting) + 1):
            self.timer.collect()
        number = self.number
        for storage in call.storages:
            storage.batch = number
        self._waiting.append(call)
        self._commands += len(call.dispatches) + len(call.copies)
        self._nbytes += call.nbytes
        if self._commands >= BATCH_LIMIT or self._nbytes >= BATCH_BYTES:
            self._submit_early()

    def _submit_early(self) -> None:
        """Submits on nobody's request: a failure is for the next call to raise, if it lasts.

        This call is recorded already; an error would make its caller record it twice.
        """
        try:
            self.submit()
        except DeviceLostError:
            raise
        except (DeviceError, OutOfMemoryError, BindingError):
            self._stuck = True

    def _check(self, call: Call) -> None:
        if self._stuck:
            self.submit()
        for storage in call.storages:
            check(self.notes, storage.buffer, storage.serial, f"{call.name}: a tensor")

    def clear(self) -> None:
        """Drops what waits."""
        self._waiting = []
        self._commands = self._nbytes = 0
        self._stuck = False

    def submit(self, then: Encode | None = None) -> None:
        """Submits what waits, and after it what `then` puts into the encoder."""
        if not self._waiting and then is None:
            return
        self.settle()
        if self.notes:
            self._drop_spoiled()
        with uninterrupted():
            with self._gpu.doing("submitting work"):
                encoding = Encoding(self._gpu)
                timer = self.timer if self.timer is not None and self.timer.is_wanted() else None
                for call in self._waiting:
                    encoding.add(call, timer.next_stamps(call) if timer and call.timed else None)
                self._gpu.queue.submit([encoding.finish(then)])
                if timer is not None:
                    timer.submitted()
            del encoding  # here: finalizers of wgpu swallow a Ctrl-C
            self.number += 1
            self.clear()

    def _drop_spoiled(self) -> None:
        """Calls whose buffers were destroyed since cannot run; what they were to fill is spoiled.

        Reading that later says so. A buffer that is mapped now may be unmapped: nothing is dropped.
        """
        kept = []
        for call in self._waiting:
            try:
                for storage in call.storages:
                    check(self.notes, storage.buffer, storage.serial, f"{call.name}: a tensor")
            except BindingError:
                if not any(self.notes.get(s.serial) for s in call.storages):
                    raise
                why = f"{call.name}, which was to fill it, used a buffer that was destroyed"
                for target in call.targets:
                    self.notes[target.serial] = self.notes.get(target.serial) or why
                continue
            kept.append(call)
        self._waiting = kept


class Encoding:
    """One command encoder and the pass that is open in it."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._encoder = gpu.device.create_command_encoder()
        self._pass: classes.GPUComputePassEncoder | None = None
        self._pipeline: Pipeline | None = None

    def add(self, call: Call, stamps: tuple[QuerySet, int] | None) -> None:
        """Adds a call, between two timestamps where a query set and a place for them is given."""
        if stamps is None:
            if call.dispatches:
                self._dispatch(call)
            if call.copies:
                self._copy(call)
            return
        queries, first = stamps
        begin = {"query_set": queries, "beginning_of_pass_write_index": first}
        end = {"query_set": queries, "end_of_pass_write_index": first + 1}
        if not call.copies:
            self._begin({**begin, **end})
            self._dispatch(call)
            self._end()
            return
        # Copies happen outside any pass: they go between two passes, each with one timestamp.
        self._begin(begin)
        self._copy(call)
        self._begin(end)
        self._end()

    def finish(self, then: Encode | None) -> classes.GPUCommandBuffer:
        """The command buffer, with what `then` adds at its end."""
        self._end()
        if then is not None:
            then(self._encoder)
        if self._gpu.is_destroyed:  # wgpu-native keeps for good what it cannot finish or submit
            raise DeviceLostError("the GPU device was lost while submitting work")
        return self._encoder.finish()

    def _begin(
        self, timestamp_writes: dict[str, Any] | None = None
    ) -> classes.GPUComputePassEncoder:
        self._end()
        self._pass = self._encoder.begin_compute_pass(timestamp_writes=timestamp_writes)
        return self._pass

    def _end(self) -> None:
        if self._pass is not None:
            self._pass.end()
            self._pass = self._pipeline = None

    def _dispatch(self, call: Call) -> None:
        open_pass = self._pass or self._begin()
        for pipeline, group, x, y in call.dispatches:
            if self._pipeline is not pipeline:
                open_pass.set_pipeline(pipeline)
                self._pipeline = pipeline
            open_pass.set_bind_group(0, group)
            open_pass.dispatch_workgroups(x, y)

    def _copy(self, call: Call) -> None:
        self._end()
        for copy in call.copies:
            self._encoder.copy_buffer_to_buffer(*copy)
