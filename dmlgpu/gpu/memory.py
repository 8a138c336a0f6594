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
from typing import Any, ClassVar, Protocol
from weakref import ref

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.foreign import check, unwatch, watch
from dmlgpu.gpu.objects import Buffer

FEW_KEPT = 1 << 28  # bytes for reuse, up to which the device is not asked what it can spare
FRESH = 1 << 16  # bytes of the smallest
FEW_BYTES = 1 << 16  # of storages that are made although others will be free soon
MOST_IDLE = 300  # of one size: more than the calls that are recorded before they are submitted
GRANULE = 256  # bytes; keeps every buffer a multiple of 16 so that shaders may use whole vec4s


@dataclass(frozen=True, slots=True)
class Memory:
    """What a device holds, in bytes."""

    in_use: int  # behind live tensors, and for the inside of calls
    pooled: int  # kept for reuse
    limit: int  # most that is kept for reuse: `device.memory_limit`


class Recorded(Protocol):
    """The recorded work that used a storage last."""

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be submitted."""

    is_risky: bool  # uses a buffer that someone outside can destroy


class _Nothing:
    """What used a storage that is new."""

    is_waiting = False
    is_risky = False


NOTHING: Recorded = _Nothing()


class Reader(Protocol):
    """Who reads a storage later, and what it holds now."""

    is_waiting: ClassVar[bool]

    def settle(self) -> None:
        """Records the reading, once, before what is read is overwritten."""


class Storage:
    """One buffer for its whole life."""

    __slots__ = (
        "__weakref__",
        "batch",
        "buffer",
        "note",
        "own",
        "readers",
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
        self.batch: Recorded = NOTHING
        self.note: str | None = None  # why it cannot be used; see foreign
        self.readers: dict[int, ref[Reader]] = {}  # by their ids


class Lease:
    """What tensors hold: its storage goes back when the last of them is gone."""

    __slots__ = ("__weakref__", "storage")
    storage: Storage


class Ticket(ref[Lease]):
    """What the pool holds of a lease.

    When the lease dies, in whatever thread, the ticket is appended to a shelf: by the shelf's own
    method, so that no line of Python runs then, which Ctrl-C could interrupt unheard.
    """

    __slots__ = ("storage",)
    storage: Storage


class Shelf(deque[ref[Lease]]):
    """Tickets of the storages of one size that nobody has, the last that came back at the end."""

    __slots__ = ("asked", "size")
    size: int
    asked: int  # rises each time that room of any size is asked for: when it was of this one


class Owner(Protocol):
    """What a pool needs of the device it belongs to."""

    def forget(self, serial: int) -> None:
        """Told of every storage that is gone."""

    def finish(self) -> None:
        """Returns when the GPU is idle."""

    def probe(self, buffer: Buffer) -> None:
        """Raises when a buffer made elsewhere cannot be used."""

    def room(self) -> int:
        """Bytes that the device can spare for reuse; asked once, where there are many to keep."""


class Pool:
    """Buffers by size class; beyond `limit` bytes those go whose size was asked for longest ago.

    The limit is what the device can spare, unless someone sets another one.

    A storage belongs to a lease, to a shelf, or to nobody, and then it vanishes with its buffer.
    It changes hands in single steps (one method of a dict or deque), so that whatever interrupts
    the code between two of them, and uses the pool itself, finds each storage in one place at most:
    who has taken a ticket from a shelf has its storage only if it takes it out of `_lent` as well.

    A buffer that someone outside can hold (`tensor.buffer`, or one made elsewhere) is never used
    for another tensor and never destroyed here: it lasts as long as anyone holds it.
    """

    def __init__(self, make: Callable[[int], Buffer], owner: Owner, largest: int) -> None:
        self._make = make
        self._owner = owner
        self._limit: int | None = None  # until it matters what the device can spare
        self._asks = count()
        self._largest = largest  # bytes of a buffer that the adapter makes
        self._lent: dict[int, Ticket] = {}  # by serial; those on shelves among them
        self._shared: dict[int, Ticket] = {}  # those of them that others may hold, by id of buffer
        self._shelves: dict[int, Shelf] = {}  # by size
        self._left: deque[ref[Lease]] = deque()  # tickets of what others may hold, and nobody here

    def memory(self) -> Memory:
        """What is held now."""
        self._drop_lost()
        self.trim()
        alive = [ticket.storage for ticket in list(self._lent.values()) if ticket() is not None]
        in_use = sum(storage.size for storage in alive if storage.own)
        return Memory(in_use, self._pooled(), self.limit)

    @property
    def limit(self) -> int:
        """Most bytes that are kept for reuse."""
        if self._limit is None:
            self._limit = max(self._owner.room(), FEW_KEPT)
        return self._limit

    @limit.setter
    def limit(self, wanted: int | None) -> None:
        self._limit = wanted
        self.trim()

    def shelf(self, size: int) -> Shelf:
        """Where room for `size` bytes, rounded up to whole units, comes from."""
        rounded = size_class(size)
        size = rounded if rounded <= self._largest else -(-size // 16) * 16
        shelf = self._shelves.get(size)
        if shelf is None:
            shelf = Shelf()
            shelf.size, shelf.asked = size, 0
            shelf = self._shelves.setdefault(size, shelf)
        return shelf

    def take(self, size: int) -> Lease:
        """Room for `size` bytes."""
        return self.take_from(self.shelf(size))

    def take_idle(self, size: int) -> Lease:
        """Room for `size` bytes that recorded work does not use, if there is any to be had cheaply.

        Who writes to it at once need not submit that work before. What came back first is most
        likely to be idle; where even that is not, few bytes more are taken.
        """
        shelf = self.shelf(size)
        waits = False
        with contextlib.suppress(IndexError, AttributeError):
            oldest: Any = shelf[0]
            waits = oldest.storage.batch.is_waiting
        if waits and shelf.size <= FEW_BYTES and len(shelf) < MOST_IDLE:
            return self._lend(Storage(self._allocate(shelf.size), shelf.size), shelf)
        return self.take_from(shelf, oldest=True)

    def take_from(self, shelf: Shelf, oldest: bool = False) -> Lease:
        """Room of a shelf's size; every call takes some for its result."""
        shelf.asked = next(self._asks)
        storage = None
        aside = []
        while shelf and storage is None:
            try:
                ticket: Any = shelf.popleft() if oldest else shelf.pop()
                storage = ticket.storage
            except (IndexError, AttributeError):  # interrupted by who took the last, or in `_lend`
                continue
            if storage.batch.is_risky and storage.batch.is_waiting:
                # Work that uses a buffer of others may yet be dropped, if they destroy it, and what
                # it was to fill is then spoiled. Until it is submitted nothing else may lie there.
                aside.append(ticket)
                storage = None
            elif storage.shared:  # shown by code that was interrupted before it changed the ticket
                self._forget(ticket)
                storage = None
            elif self._lent.pop(storage.serial, None) is not ticket:
                storage = None
        if aside:
            shelf.extend(reversed(aside))
        if storage is None:
            return self._lend(Storage(self._allocate(shelf.size), shelf.size), shelf)
        if storage.special:
            storage.special = False
            storage.note = None  # what spoiled the last tensor there says nothing of the next
        return self._lend(storage, shelf)

    def fresh(self, size: int) -> Lease:
        """Room for `size` bytes and as many to come, all zeros, as every new buffer is."""
        shelf = self.shelf(max(2 * size, FRESH))
        return self._lend(Storage(self._allocate(shelf.size), shelf.size), shelf)

    def _lend(self, storage: Storage, back: deque[ref[Lease]]) -> Lease:
        lease = Lease()
        lease.storage = storage
        ticket = Ticket(lease, back.append)
        ticket.storage = storage
        self._lent[storage.serial] = ticket
        return lease

    def show(self, lease: Lease) -> None:
        """The buffer is given to someone outside."""
        storage = lease.storage
        if not storage.shared:
            storage.special = storage.shared = True
            watch(storage)
            ticket = Ticket(lease, self._left.append)  # no longer to a shelf
            ticket.storage = storage
            self._shared[id(storage.buffer)] = self._lent[storage.serial] = ticket

    def adopt(self, buffer: Buffer) -> Lease:
        """A lease on a buffer made elsewhere, or another on one that was shown."""
        ticket = self._shared.get(id(buffer))
        lease = None if ticket is None or ticket.storage.buffer is not buffer else ticket()
        if lease is not None:
            return lease
        self._collect()
        self._owner.probe(buffer)
        lease = self._lend(Storage(buffer, buffer.size, own=False), self._left)
        self.show(lease)
        check(lease.storage, "wrap: the buffer")
        return lease

    def _allocate(self, size: int) -> Buffer:
        try:
            self.trim()
            return self._make(size)
        except OutOfMemoryError:
            if not self._pooled():
                raise
            self._owner.finish()  # what is free may still be in use on the GPU
        while kept := self._pooled():
            self._evict_down_to(max(0, kept - size))
            with contextlib.suppress(OutOfMemoryError):
                return self._make(size)
        return self._make(size)

    def _collect(self) -> None:
        """Forgets buffers that only others hold."""
        with contextlib.suppress(IndexError, AttributeError):
            while self._left:
                ticket: Any = self._left.popleft()
                self._forget(ticket)

    def _drop_lost(self) -> None:
        """Forgets what an interruption has kept from coming back."""
        self._collect()
        shelved = {id(ticket) for shelf in self._shelves.copy().values() for ticket in [*shelf]}
        for ticket in list(self._lent.values()):
            if ticket() is None and id(ticket) not in shelved:
                self._forget(ticket)

    def _forget(self, ticket: Ticket) -> bool:
        """Whether the storage was still there to be forgotten."""
        storage = ticket.storage
        if self._lent.pop(storage.serial, None) is not ticket:
            return False
        self._owner.forget(storage.serial)
        if self._shared.get(id(storage.buffer)) is ticket:
            self._shared.pop(id(storage.buffer), None)
        return True

    def _pooled(self) -> int:
        return sum(len(shelf) * shelf.size for shelf in self._shelves.copy().values())

    def trim(self) -> None:
        """Forgets what nobody here holds, and destroys what is kept beyond the limit."""
        if self._left:
            self._collect()
        if self._pooled() > (FEW_KEPT if self._limit is None else self._limit):
            self._evict_down_to(self.limit)

    def _evict_down_to(self, limit: int) -> None:
        """Destroys what was not asked for longest, until at most so many bytes are kept."""
        while self._pooled() > limit:
            self._evict()

    def _evict(self) -> None:
        """Destroys the storage that came back first, of the size asked for longest ago."""
        shelves = [shelf for shelf in self._shelves.copy().values() if shelf]
        with contextlib.suppress(IndexError, AttributeError, ValueError):
            ticket: Any = min(shelves, key=lambda shelf: shelf.asked).popleft()
            storage = ticket.storage
            if self._forget(ticket) and not storage.shared and not storage.batch.is_waiting:
                storage.buffer.destroy()  # else it goes when that work is submitted

    def clear(self) -> None:
        """Destroys every buffer that is kept for reuse."""
        self._drop_lost()
        self._evict_down_to(0)

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
    if size <= 16 * GRANULE:
        step = GRANULE
    elif size < 64 << 20:
        step = 1 << (size.bit_length() - 4)
    else:
        step = 1 << 20
    return -(-size // step) * step
