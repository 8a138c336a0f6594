"""Recorded work: calls wait in batches, in order, and each batch becomes one submission.

wgpu hears of a call only when its batch is submitted. Signal handlers and finalizers may run
between any two steps of the code here, use the device themselves, or raise; so every change of
what is recorded is one step, and nothing has to be undone:

- A call is recorded by one `append` to the last batch's list.
- A batch is closed by appending a new one behind it.
- A batch is submitted by `submit_once`, which takes the batch's only permit, submits, and notes
  who did, in one step. Code that interrupts a submission encodes the same batch again and submits
  it; the interrupted code then finds the permit gone, and drops what it had encoded.

An exception on the way leaves batches that are still to be submitted, and the next call that
submits goes on with them: no call is lost, none runs twice, no half of a call is ever run.
Other threads are kept out by the device's lock.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, OutOfMemoryError
from dmlgpu.gpu.encoding import Encoding
from dmlgpu.gpu.foreign import check
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import Copy, Dispatch, Encode, QuerySet
from dmlgpu.gpu.private import submit_once

BATCH_LIMIT = 256  # dispatches and copies recorded before they are submitted
BATCH_BYTES = 64 << 20  # bytes touched by recorded work before it is submitted, at first
MOST_BYTES = {True: BATCH_BYTES, False: 16 << 30}  # later, by whether the adapter is a CPU
READ_BACK = "read"  # the name of a copy to the host


@dataclass(slots=True, eq=False)
class Call:
    """Everything that submitting one call needs: nothing is made on the way."""

    name: str
    dispatches: tuple[Dispatch, ...]
    storages: tuple[Storage, ...]
    nbytes: int
    targets: tuple[Storage, ...] = ()  # what it writes
    held: tuple[Lease, ...] = ()  # memory for the inside of calls
    copies: tuple[Copy, ...] = ()  # instead of dispatches
    timed: bool = True  # by a profile
    encode: Encode | None = None  # other commands, after the rest
    tensors: str = ""  # types and sizes of what it reads and writes, to be told
    commands: int = field(init=False)

    def __post_init__(self) -> None:
        self.commands = len(self.dispatches) + len(self.copies)


Stamped = tuple[int, Call]  # a call, and the first of the two places for its timestamps


class Timer(Protocol):
    """Gives calls places for their timestamps, when they are submitted and not before.

    A place that is taken and not written keeps the GPU waiting for it forever.
    """

    def has_room(self, calls: int) -> bool:
        """Whether so many more calls can be timed before `collect`."""

    def collect(self) -> None:
        """Submits what waits, and reads the timestamps so far."""

    def begin(self, batch: Batch) -> Callable[[Attempt, Call], tuple[QuerySet, int]] | None:
        """What gives the calls of a batch their places; None when nobody listens any more.

        Asked for each attempt. The one that wins tells by `Attempt.stamped` which places it took.
        """


class Attempt:
    """One try to encode and submit a batch."""

    __slots__ = ("stamped",)

    def __init__(self) -> None:
        self.stamped: list[Stamped] = []


class Batch:
    """Calls that are submitted together."""

    __slots__ = ("calls", "commands", "is_risky", "members", "nbytes", "permit", "taken", "won")

    def __init__(self) -> None:
        self.calls: list[tuple[Call]] = []  # each in a tuple of its own, which tells it from others
        self.taken: tuple[tuple[Call], ...] | None = None  # the calls, once it is being submitted
        self.members: frozenset[int] = frozenset()  # ids of what was taken, once that is forgotten
        self.permit = [True]  # to submit it; see submit_once
        self.won: list[tuple[None, Attempt]] = []  # the attempt that submitted it
        self.is_risky = False  # uses a buffer that someone outside can destroy
        self.commands = 0  # nearly: only to know when it is enough
        self.nbytes = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be submitted.

        Without a permit it is on its way, even where `won` does not say so yet: wgpu-native answers
        questions at the end of a submission, and finalizers and signal handlers run in between.
        """
        return bool(self.permit)

    def take(self) -> tuple[tuple[Call], ...]:
        """The calls that are submitted; what is appended later is not among them."""
        if self.taken is None:
            self.taken = tuple(self.calls)
            self.members = frozenset(map(id, self.taken))
        return self.taken

    def includes(self, entry: tuple[Call]) -> bool:
        """Whether an entry of a closed batch is submitted with it, or will be."""
        if self.taken is None:
            return True
        return id(entry) in self.members or any(other is entry for other in self.taken)


def settle(storage: Storage) -> None:
    """Records what is to be read of a storage, before something else is written there."""
    for each in list(storage.readers.values()):
        reader = each()
        if reader is not None and reader.is_waiting:
            reader.settle()


class Recording:
    """The calls of one device that wait to be submitted."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._enough = BATCH_BYTES  # of the open batch
        self.timer: Timer | None = None  # while profiling
        self._batches: deque[Batch] = deque([Batch()])  # the last is open
        self._spoiled = False  # a call has been dropped: what it was to fill may be used by others
        self._stuck = False  # the last submission failed and nobody was told
        self.submitted = 0  # rises with every submission, before it
        self.trim: Callable[[], None] = lambda: None  # memory kept beyond its limit, let go

    def append(self, call: Call) -> None:
        """Adds a call, and submits when there is enough."""
        for storage in call.targets:
            if storage.readers:
                settle(storage)
        if self._stuck:
            self.submit()
        timer = self.timer
        if timer is not None and call.timed and not timer.has_room(self._waiting() + 1):
            timer.collect()
        entry = (call,)
        batches = self._batches
        while True:
            batch = batches[-1]
            for storage in call.storages:
                if storage.special:
                    batch.is_risky = True
                    check(storage, f"{call.name}: a tensor")
                storage.batch = batch
            batch.calls.append(entry)
            if batches[-1] is batch:
                break
            # Something has interrupted these lines and submitted the batch, before or after the
            # call came into it.
            if batch.includes(entry):
                return
        batch.commands = commands = batch.commands + call.commands
        batch.nbytes = nbytes = batch.nbytes + call.nbytes
        if commands >= BATCH_LIMIT or nbytes >= self._enough:
            self._submit_early(nbytes)

    def run(self, call: Call) -> None:
        """Submits copies at once, behind everything recorded so far.

        They fill memory that nobody reads if this is interrupted, so that it does not matter
        whether they were submitted: where nothing is recorded they need no batch.
        """
        batches = self._batches
        special = any(storage.special for storage in call.storages)
        if special or batches[-1].calls or len(batches) > 1:
            self.append(call)
            self.submit()
            return
        self.submitted += 1
        self._enough = BATCH_BYTES
        with self._gpu.doing("submitting work"):
            encoding = Encoding(self._gpu.device)
            encoding.add((), call.copies)
            submit_once(self._gpu.queue, encoding.finish(), [True], [], None)
        self.trim()

    def mark_risky(self) -> None:
        """Someone outside may from now on destroy a buffer that waiting calls use."""
        for batch in list(self._batches):
            batch.is_risky = True

    def _waiting(self) -> int:
        return sum(len(batch.calls) for batch in list(self._batches))

    def _submit_early(self, nbytes: int) -> None:
        """Submits on nobody's request: a failure is for the next call to raise, if it lasts.

        This call is recorded already; an error would make its caller record it twice.

        A GPU idles between two submissions, for 12 us on an H200, in which it could move 48 MiB. So
        while nobody waits each batch is twice as large as the one before, which keeps the GPU at
        work until it comes.
        """
        enough = min(2 * max(nbytes, BATCH_BYTES), MOST_BYTES[self._gpu.is_cpu])
        try:
            self.submit()
            self._enough = enough
        except DeviceLostError:
            raise
        except (DeviceError, OutOfMemoryError, BindingError):
            self._stuck = True

    def clear(self) -> None:
        """Drops what waits."""
        for batch in list(self._batches):
            batch.permit.clear()
            batch.won.append((None, Attempt()))
        self._batches.append(Batch())
        self._forget_submitted()
        self._stuck = False

    def submit(self) -> bool:
        """Submits what waits; whether there was any."""
        self._enough = BATCH_BYTES
        batches = self._batches
        if batches[-1].calls:
            batches.append(Batch())
        elif len(batches) == 1:
            self._stuck = False
            self.trim()
            return False
        found = False
        while True:
            batch = batches[0]
            if batch is batches[-1]:
                break
            if batch.is_waiting:
                self.submitted += 1
                self._submit(batch)
                found = True
            self._forget_submitted()
        self._stuck = False
        self.trim()
        return found

    def _forget_submitted(self) -> None:
        for batch in list(self._batches):
            if batch.is_waiting or batch is self._batches[-1]:
                break
            with contextlib.suppress(ValueError):  # it is gone already
                self._batches.remove(batch)
            batch.taken = ()  # storages that know the batch must not keep each other
            batch.calls = []

    def _submit(self, batch: Batch) -> None:
        calls = batch.take()
        with self._gpu.doing("submitting work"):
            attempt = Attempt()
            timer = self.timer
            stamps = None if timer is None else timer.begin(batch)
            encoding = Encoding(self._gpu.device)
            risky = batch.is_risky or self._spoiled
            for (call,) in calls:
                if risky and self._is_spoiled(call):
                    continue
                if stamps is not None and call.timed:
                    encoding.add_timed(call.dispatches, call.copies, *stamps(attempt, call))
                else:
                    encoding.add(call.dispatches, call.copies)
                if call.encode is not None:
                    encoding.add_other(call.encode)
            commands = encoding.finish()
            submit_once(self._gpu.queue, commands, batch.permit, batch.won, attempt)

    def _is_spoiled(self, call: Call) -> bool:
        """Whether a buffer of a call was destroyed since; then what it was to fill is spoiled.

        Reading that later says so. Raises when a buffer is mapped: it may be unmapped, and nothing
        is dropped.
        """
        for storage in call.storages:
            if storage.note is not None:
                try:
                    check(storage, f"{call.name}: a tensor")
                except BindingError:
                    if not storage.note:
                        raise
                    why = f"{call.name}, which was to fill it, used a buffer that was destroyed"
                    why = storage.note if call.name == READ_BACK else why
                    self._spoiled = True
                    for target in call.targets:
                        target.special = True
                        target.note = target.note or why
                    return True
        return False
