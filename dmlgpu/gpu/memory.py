"""GPU memory: buffers handed out to tensors and taken back for reuse in stream order.

Work is recorded and submitted in one order per device, so a buffer whose last tensor is gone can
serve the next tensor at once: whatever still reads it comes earlier in that order.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Protocol
from weakref import ref

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.foreign import check, unwatch, watch
from dmlgpu.gpu.objects import Buffer

FRESH = 1 << 16  # bytes of the smallest
UNIT = 256  # bytes; keeps every buffer a multiple of 16 so that shaders may use whole vec4s


@dataclass(frozen=True, slots=True)
class Memory:
    """What a device holds, in bytes."""

    in_use: int  # behind live tensors, and for the inside of calls
    pooled: int  # kept for reuse
    limit: int  # most that is kept for reuse


class Recorded(Protocol):
    """The recorded work that used a storage last."""

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be submitted."""

    is_risky: bool  # uses a buffer that someone outside can destroy


class Storage:
    """One buffer for its whole life."""

    __slots__ = (
        "__weakref__",
        "batch",
        "buffer",
        "note",
        "own",
        "returned",
        "serial",
        "shared",
        "size",
        "special",
    )
    _serials: ClassVar[count[int]] = count()  # over all devices: a serial never comes twice

    def __init__(self, buffer: Buffer, size: int, own: bool = True) -> None:
        self.buffer: Buffer = buffer
        self.size: int = size
        self.serial: int = next(Storage._serials)
        self.own: bool = own  # made by the pool
        self.shared: bool = False  # someone outside may hold the buffer: never used for another
        self.special: bool = False  # shared, or may have a note: looked at more closely
        self.batch: Recorded | None = None
        self.returned: int = 0  # when it came back to the pool
        self.note: str | None = None  # why it cannot be used; see foreign


class Lease:
    """What tensors hold: its storage goes back when the last of them is gone."""

    __slots__ = ("__weakref__", "storage")

    def __init__(self, storage: Storage) -> None:
        self.storage: Storage = storage


class Ticket(ref[Lease]):
    """What the pool holds of a lease.

    When the lease dies, in whatever thread, the ticket is appended to a queue: by the queue's own
    method, so that no line of Python runs then, which Ctrl-C could interrupt unheard.
    """

    __slots__ = ("number", "storage")
    number: int
    storage: Storage


class Owner(Protocol):
    """What a pool needs of the device it belongs to."""

    def forget(self, serial: int) -> None:
        """Told of every storage that is gone."""

    def finish(self) -> None:
        """Returns when the GPU is idle."""

    def probe(self, buffer: Buffer) -> None:
        """Raises when a buffer made elsewhere cannot be used."""


class Pool:
    """Buffers by size class; the least recently returned are destroyed beyond `limit` bytes.

    A storage belongs to a lease, to `_free`, or to nobody, and then it vanishes with its buffer.
    It changes hands in single steps (one method of a dict or deque), so that whatever interrupts
    the code between two of them, and uses the pool itself, finds each storage in one place at most.

    A buffer that someone outside can hold (`tensor.buffer`, or one made elsewhere) is never used
    for another tensor and never destroyed here: it lasts as long as anyone holds it.
    """

    def __init__(
        self, make: Callable[[int], Buffer], owner: Owner, limit: int, largest: int
    ) -> None:
        self._make = make
        self._owner = owner
        self._limit = limit
        self._largest = largest  # bytes of a buffer that the adapter makes
        self._returned: deque[ref[Lease]] = deque()  # tickets
        self._numbers = count()
        self._lent: dict[int, Ticket] = {}  # by number
        self._shared: dict[int, Ticket] = {}  # those of them that others may hold, by id of buffer
        self._free: dict[int, dict[int, Storage]] = {}  # by size, then serial, oldest first
        self._clock = count()
        self._pooled = 0  # bytes in _free, or nearly; counted anew before anything is destroyed

    def memory(self) -> Memory:
        """What is held now."""
        self._collect()
        for ticket in list(self._lent.values()):
            if ticket() is None:  # an interruption kept it from coming back
                self._take_back(ticket)
        lent = [ticket.storage for ticket in list(self._lent.values())]
        in_use = sum(storage.size for storage in lent if storage.own)
        return Memory(in_use, self._count(), self._limit)

    def take(self, size: int) -> Lease:
        """Room for `size` bytes, rounded up to whole units."""
        if self._returned:
            self._collect()
        rounded = size_class(size)
        size = rounded if rounded <= self._largest else -(-size // 16) * 16
        same = self._free.get(size)
        if same:
            storage = self._reuse(same)
            if storage is not None:
                self._pooled -= size
                storage.special = False
                storage.note = None  # what spoiled the last tensor there says nothing of the next
                return self._lend(storage)
        return self._lend(Storage(self._allocate(size), size))

    def _reuse(self, same: dict[int, Storage]) -> Storage | None:
        """One of some free storages, the last that came back.

        Recorded work that uses a buffer of others may yet be dropped, if they destroy it, and what
        it was to fill is then spoiled. Until it is submitted nothing else may lie there.
        """
        aside = []
        found = None
        try:
            while found is None:
                _, storage = same.popitem()
                batch = storage.batch
                if batch is not None and batch.is_risky and batch.is_waiting:
                    aside.append(storage)
                else:
                    found = storage
        except KeyError:  # there is none
            pass
        if aside:
            for storage in reversed(aside):
                same[storage.serial] = storage
        return found

    def fresh(self, size: int) -> Lease:
        """Room for `size` bytes and as many to come, all zeros, as every new buffer is."""
        size = size_class(max(2 * size, FRESH))
        return self._lend(Storage(self._allocate(size), size))

    def _lend(self, storage: Storage) -> Lease:
        lease = Lease(storage)
        ticket = Ticket(lease, self._returned.append)
        ticket.storage = storage
        ticket.number = number = next(self._numbers)
        self._lent[number] = ticket
        return lease

    def show(self, lease: Lease) -> None:
        """The buffer is given to someone outside."""
        storage = lease.storage
        if not storage.shared:
            storage.shared = storage.special = True
            watch(storage)
            for ticket in list(self._lent.values()):
                if ticket.storage is storage:
                    self._shared[id(storage.buffer)] = ticket

    def adopt(self, buffer: Buffer) -> Lease:
        """A lease on a buffer made elsewhere, or another on one that was shown."""
        ticket = self._shared.get(id(buffer))
        lease = None if ticket is None or ticket.storage.buffer is not buffer else ticket()
        if lease is not None:
            return lease
        self._collect()
        self._owner.probe(buffer)
        storage = Storage(buffer, buffer.size, own=False)
        lease = self._lend(storage)
        self.show(lease)
        if storage.note is not None:
            check(storage, "wrap: the buffer")
        return lease

    def _allocate(self, size: int) -> Buffer:
        try:
            return self._make(size)
        except OutOfMemoryError:
            self._collect()
            if not any(self._free.values()):
                raise
            self._owner.finish()  # what is free may still be in use on the GPU
            self.clear()
            return self._make(size)

    def _collect(self) -> None:
        returned = self._returned
        with contextlib.suppress(IndexError):
            while returned:
                ticket = returned.popleft()
                if isinstance(ticket, Ticket) and hasattr(ticket, "number"):
                    self._take_back(ticket)
        if self._pooled > self._limit:
            while self._count() > self._limit:
                self._evict()

    def _take_back(self, ticket: Ticket) -> None:
        if self._lent.pop(ticket.number, None) is None:
            return  # it was taken back before
        storage = ticket.storage
        if storage.shared:
            self._owner.forget(storage.serial)
            if self._shared.get(id(storage.buffer)) is ticket:
                self._shared.pop(id(storage.buffer), None)
        else:
            storage.returned = next(self._clock)
            self._pooled += storage.size
            self._free.setdefault(storage.size, {})[storage.serial] = storage

    def _count(self) -> int:
        sizes = [size * len(same) for size, same in self._free.copy().items()]
        self._pooled = sum(sizes)
        return self._pooled

    def _evict(self) -> None:
        """Destroys the storage that came back first."""
        oldest = []
        for same in list(self._free.values()):
            with contextlib.suppress(StopIteration, RuntimeError):
                oldest.append(next(iter(same.values())))
        storage = min(oldest, key=lambda storage: storage.returned, default=None)
        if storage is not None and self._free[storage.size].pop(storage.serial, None) is not None:
            self._owner.forget(storage.serial)
            if storage.batch is None or not storage.batch.is_waiting:
                storage.buffer.destroy()  # else it goes when that work is submitted

    def clear(self) -> None:
        """Destroys every buffer that is kept for reuse."""
        self._collect()
        while self._count():
            self._evict()

    def close(self, whole: bool) -> None:
        """Destroys every buffer that the pool made; unless `whole`, not those shown outside.

        Buffers that others may hold are left without a trace.
        """
        self.clear()
        for ticket in list(self._lent.values()):
            storage = ticket.storage
            if storage.shared:
                unwatch(storage)
            if storage.own and (whole or not storage.shared):
                storage.buffer.destroy()


def size_class(size: int) -> int:
    """`size` rounded up: to units when small, to an eighth of its power of two, to MiB when big."""
    if size <= 16 * UNIT:
        step = UNIT
    elif size < 64 << 20:
        step = 1 << (size.bit_length() - 4)
    else:
        step = 1 << 20
    return -(-size // step) * step
