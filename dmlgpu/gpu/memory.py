"""GPU memory: buffers handed out to tensors and taken back for reuse in stream order.

Work is recorded and submitted in one order per device, so a buffer whose last tensor is gone can
serve the next tensor at once: whatever still reads it comes earlier in that order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Protocol
from weakref import ref

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.foreign import DESTROYED, destroy, watch
from dmlgpu.gpu.objects import Buffer

FRESH = 1 << 16  # bytes of the smallest
UNIT = 256  # bytes; keeps every buffer a multiple of 16 so that shaders may use whole vec4s


@dataclass(frozen=True, slots=True)
class Memory:
    """What a device holds, in bytes."""

    in_use: int  # behind live tensors, and for the inside of calls
    pooled: int  # kept for reuse
    limit: int  # most that is kept for reuse


class Storage:
    """One buffer for its whole life. `batch` is the recording that used it last."""

    __slots__ = ("batch", "buffer", "foreign", "serial", "size")
    _serials: ClassVar[count[int]] = count()  # over all devices: a serial never comes twice

    def __init__(self, buffer: Buffer, size: int, foreign: bool = False) -> None:
        self.buffer: Buffer = buffer
        self.size: int = size
        self.serial: int = next(Storage._serials)
        self.foreign: bool = foreign  # made elsewhere: never pooled, never destroyed
        self.batch: int = -1


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

    __slots__ = ("storage",)
    storage: Storage


class Owner(Protocol):
    """What a pool needs of the device it belongs to."""

    notes: dict[int, str]  # of buffers by serial; see watch

    def forget(self, serial: int) -> None:
        """Told of every storage that is gone."""

    def is_recorded(self, storage: Storage) -> bool:
        """Whether recorded but unsubmitted work uses it."""

    def finish(self) -> None:
        """Returns when the GPU is idle."""

    def probe(self, buffer: Buffer) -> None:
        """Raises when a buffer made elsewhere cannot be used."""


class Pool:
    """Buffers by size class; the least recently returned are destroyed beyond `limit` bytes.

    A storage is in `_lent`, in `_free`, or nobody's and about to vanish. Steps are ordered so that
    Ctrl-C between any two of them leaves it that way, and sums are taken when asked for.
    """

    def __init__(
        self, make: Callable[[int], Buffer], owner: Owner, limit: int, largest: int
    ) -> None:
        self._make = make
        self._owner = owner
        self._limit = limit
        self._largest = largest  # bytes of a buffer that the adapter makes
        self._returned: deque[ref[Lease]] = deque()  # tickets
        self._lent: dict[int, Ticket] = {}  # by serial
        self._tickets: dict[int, Ticket] = {}  # the same, by id of buffer
        self._free: OrderedDict[int, Storage] = OrderedDict()  # by serial, oldest first
        self._by_size: dict[int, dict[int, Storage]] = {}  # of the free ones
        self._pooled = 0  # bytes in _free; only eviction relies on it

    def memory(self) -> Memory:
        """What is held now."""
        self._collect()
        lent = [ticket.storage for ticket in self._lent.values()]
        in_use = sum(storage.size for storage in lent if not storage.foreign)
        self._pooled = sum(storage.size for storage in self._free.values())
        return Memory(in_use, self._pooled, self._limit)

    def take(self, size: int) -> Lease:
        """Room for `size` bytes, rounded up to whole units."""
        if self._returned:
            self._collect()
        rounded = size_class(size)
        size = rounded if rounded <= self._largest else -(-size // 16) * 16
        same = self._by_size.get(size)
        while same:
            serial, storage = same.popitem()
            if self._free.pop(serial, None) is not None:
                self._pooled -= size
                if self._owner.notes.pop(serial, "") != DESTROYED:
                    return self._lend(storage)
                self._owner.forget(serial)
        return self._lend(self._new(self._allocate(size), size))

    def fresh(self, size: int) -> Lease:
        """Room for `size` bytes and as many to come, all zeros, as every new buffer is."""
        size = size_class(max(2 * size, FRESH))
        return self._lend(self._new(self._allocate(size), size))

    def _new(self, buffer: Buffer, size: int, foreign: bool = False) -> Storage:
        storage = Storage(buffer, size, foreign)
        watch(buffer, self._owner.notes, storage.serial)
        return storage

    def _lend(self, storage: Storage) -> Lease:
        lease = Lease(storage)
        ticket = Ticket(lease, self._returned.append)
        ticket.storage = storage
        self._tickets[id(storage.buffer)] = ticket
        self._lent[storage.serial] = ticket
        return lease

    def adopt(self, buffer: Buffer) -> Lease:
        """A lease on a buffer made elsewhere, or another on one of the pool's own."""
        ticket = self._tickets.get(id(buffer))
        lease = None if ticket is None or ticket.storage.buffer is not buffer else ticket()
        if lease is not None:
            return lease
        self._collect()
        for storage in self._free.values():
            if storage.buffer is buffer:
                self._by_size[storage.size].pop(storage.serial, None)
                del self._free[storage.serial]
                self._pooled -= storage.size
                return self._lend(storage)
        self._owner.probe(buffer)
        return self._lend(self._new(buffer, buffer.size, foreign=True))

    def _allocate(self, size: int) -> Buffer:
        try:
            return self._make(size)
        except OutOfMemoryError:
            self._collect()
            if not self._free:
                raise
            self._owner.finish()  # what is free may still be in use on the GPU
            self.clear()
            return self._make(size)

    def _collect(self) -> None:
        returned, notes = self._returned, self._owner.notes
        while returned:
            ticket = returned[0]
            assert isinstance(ticket, Ticket)
            storage = getattr(ticket, "storage", None)
            if storage is None:  # Ctrl-C came before it was lent: it went with its lease
                returned.popleft()
                continue
            serial = storage.serial
            if self._lent.get(serial) is ticket:
                if storage.foreign or (notes and notes.get(serial) == DESTROYED):
                    self._owner.forget(serial)
                else:
                    self._keep(storage)
                self._tickets.pop(id(storage.buffer), None)
                del self._lent[serial]
            if notes:
                notes.pop(serial, None)
            returned.popleft()
        if self._pooled > self._limit:
            self._pooled = sum(storage.size for storage in self._free.values())
            while self._pooled > self._limit:
                self._evict()

    def _keep(self, storage: Storage) -> None:
        self._by_size.setdefault(storage.size, {})[storage.serial] = storage
        if storage.serial not in self._free:
            self._free[storage.serial] = storage
            self._pooled += storage.size

    def _evict(self) -> None:
        serial = next(iter(self._free))
        storage = self._free[serial]
        self._by_size[storage.size].pop(serial, None)
        self._owner.forget(serial)
        if not self._owner.is_recorded(storage):  # else it goes when that work is submitted
            destroy(storage.buffer)
        del self._free[serial]
        self._pooled -= storage.size

    def clear(self) -> None:
        """Destroys every buffer that is kept for reuse."""
        self._collect()
        while self._free:
            self._evict()


def size_class(size: int) -> int:
    """`size` rounded up: to units when small, to an eighth of its power of two, to MiB when big."""
    if size <= 16 * UNIT:
        step = UNIT
    elif size < 64 << 20:
        step = 1 << (size.bit_length() - 4)
    else:
        step = 1 << 20
    return -(-size // step) * step
