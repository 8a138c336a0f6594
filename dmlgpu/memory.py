"""GPU memory: buffers handed out to tensors and taken back for reuse in stream order.

Work is recorded and submitted in one order per device, so a buffer whose last tensor is gone can
serve the next tensor at once: whatever still reads it comes earlier in that order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from dmlgpu.errors import OutOfMemoryError

UNIT = 256  # bytes; keeps every buffer a multiple of 16 so that shaders may use whole vec4s


@dataclass(frozen=True, slots=True)
class Memory:
    """What a device holds, in bytes."""

    in_use: int  # behind live tensors
    pooled: int  # kept for reuse
    limit: int  # most that is kept for reuse


class Storage:
    """One buffer for its whole life. `batch` is the recording that used it last."""

    __slots__ = ("batch", "buffer", "foreign", "serial", "size")
    _serials: ClassVar[count[int]] = count()  # over all devices: a serial never comes twice

    def __init__(self, buffer: Any, size: int, foreign: bool = False) -> None:
        self.buffer: Any = buffer
        self.size: int = size
        self.serial: int = next(Storage._serials)
        self.foreign: bool = foreign  # made elsewhere: never pooled, never destroyed
        self.batch: int = -1


class Lease:
    """What tensors hold: gives its storage back when the last of them is gone."""

    __slots__ = ("__weakref__", "_returned", "storage")

    def __init__(self, storage: Storage, returned: deque[int]) -> None:
        self.storage: Storage = storage
        self._returned = returned

    def __del__(self) -> None:
        # May run in any thread, and after the storage's own finalizers when both are in a cycle:
        # so only an atomic append of a number, for the pool, which keeps the storage alive.
        self._returned.append(self.storage.serial)


class Pool:
    """Buffers by size class; the least recently returned are destroyed beyond `limit` bytes."""

    def __init__(
        self, make: Callable[[int], Any], forget: Callable[[int], None], limit: int
    ) -> None:
        self._make = make
        self._forget = forget  # told the serial of every storage that is gone
        self._limit = limit
        self._returned: deque[int] = deque()  # serials
        self._lent: dict[int, Storage] = {}
        self._free: OrderedDict[int, Storage] = OrderedDict()  # by serial, oldest first
        self._by_size: dict[int, list[Storage]] = {}
        self._leases: WeakValueDictionary[int, Lease] = WeakValueDictionary()  # by id of buffer
        self._in_use = 0
        self._pooled = 0

    def memory(self) -> Memory:
        """What is held now."""
        self._collect()
        return Memory(self._in_use, self._pooled, self._limit)

    def take(self, size: int) -> Lease:
        """Room for `size` bytes, rounded up to whole units."""
        if self._returned:
            self._collect()
        size = size_class(size)
        same = self._by_size.get(size)
        if same:
            storage = same.pop()
            del self._free[storage.serial]
            self._pooled -= size
        else:
            storage = Storage(self._allocate(size), size)
        return self._lend(storage)

    def _lend(self, storage: Storage) -> Lease:
        if not storage.foreign:
            self._in_use += storage.size
        self._lent[storage.serial] = storage
        lease = Lease(storage, self._returned)
        self._leases[id(storage.buffer)] = lease
        return lease

    def adopt(self, buffer: Any) -> Lease:
        """A lease on a buffer made elsewhere, or another on one of the pool's own."""
        lease = self._leases.get(id(buffer))
        if lease is not None:
            return lease
        self._collect()
        for storage in self._free.values():
            if storage.buffer is buffer:
                self._by_size[storage.size].remove(storage)
                del self._free[storage.serial]
                self._pooled -= storage.size
                return self._lend(storage)
        return self._lend(Storage(buffer, buffer.size, foreign=True))

    def _allocate(self, size: int) -> Any:
        try:
            return self._make(size)
        except OutOfMemoryError:
            if not self._free:
                raise
            self.clear()
            return self._make(size)

    def _collect(self) -> None:
        while self._returned:
            storage = self._lent.pop(self._returned.popleft())
            if storage.foreign:
                self._forget(storage.serial)
                continue
            self._in_use -= storage.size
            self._free[storage.serial] = storage
            self._by_size.setdefault(storage.size, []).append(storage)
            self._pooled += storage.size
        while self._pooled > self._limit:
            self._evict()

    def _evict(self) -> None:
        serial, storage = self._free.popitem(last=False)
        self._by_size[storage.size].remove(storage)
        self._pooled -= storage.size
        self._forget(serial)
        storage.buffer.destroy()

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
