"""What callers do to buffers by themselves: a submission that uses a destroyed or mapped buffer
ends the process inside wgpu-native, so it has to be known before.

wgpu keeps no record of a destroyed buffer that Python can read. The `destroy` and `map_async` of
each buffer that someone outside can reach are therefore replaced, on that one object, by callables
that take a note first. Buffers that are never shown outside need none. Both methods have public
names; `tests/test_foreign_hands.py` fails where wgpu-py no longer lets an object have its own.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from dmlgpu.errors import BindingError
from dmlgpu.gpu.objects import Buffer

if TYPE_CHECKING:
    from dmlgpu.gpu.memory import Storage

DESTROYED: Final = "its buffer has been destroyed"
MAPPED: Final = ""  # perhaps: the buffer itself knows


class Watched:
    """Stands for one method of a buffer, and leaves a note on everything that is stored there.

    The notes lie on the storages themselves: they last as long as any work that uses the buffer.
    Devices that share the buffer share this too; it holds neither of them.
    """

    __slots__ = ("_buffer", "_method", "_note", "called", "running", "storages")

    def __init__(
        self, buffer: Buffer, method: str, note: str, storages: weakref.WeakSet[Storage]
    ) -> None:
        self._buffer = weakref.ref(buffer)  # a cycle would keep memory until the next collection
        self._method = getattr(type(buffer), method)
        self._note = note
        self.storages = storages
        self.called = False
        self.running: weakref.WeakSet[_Running] = weakref.WeakSet()

    def __call__(self, *args: Any, **named: Any) -> Any:
        running = _Running()  # gone with this call, whatever ends it
        self.running.add(running)
        self.called = True
        for storage in list(self.storages):
            storage.note = storage.note or self._note
        return self._method(self._buffer(), *args, **named)


class _Running:
    """Stands for a call of a watched method that has not returned."""


def _is_mapped(buffer: Buffer) -> bool:
    """Whether a buffer is mapped, or about to be by code that is interrupted just now."""
    watched = vars(buffer).get("map_async")
    running = isinstance(watched, Watched) and bool(watched.running)
    return running or buffer.map_state != "unmapped"


def watch(storage: Storage) -> None:
    """Notes on the storage from now on when its buffer is destroyed or mapped by someone else."""
    watched = vars(storage.buffer).get("destroy")
    storages: weakref.WeakSet[Storage] = (
        watched.storages if isinstance(watched, Watched) else weakref.WeakSet()
    )
    storages.add(storage)
    if isinstance(watched, Watched) and watched.called:
        storage.note = DESTROYED  # when nothing was stored there
    if storages is not getattr(watched, "storages", None):
        for method, note in (("map_async", MAPPED), ("destroy", DESTROYED)):
            setattr(storage.buffer, method, Watched(storage.buffer, method, note, storages))


def unwatch(storage: Storage) -> None:
    """The storage is given up: its buffer is left as it was found, unless others watch it too."""
    watched = vars(storage.buffer).get("destroy")
    if isinstance(watched, Watched):
        watched.storages.discard(storage)
        if not watched.storages:
            vars(storage.buffer).pop("destroy", None)
            vars(storage.buffer).pop("map_async", None)


def check(storage: Storage, what: str) -> None:
    """Raises when a buffer cannot be used now."""
    note = storage.note
    if note:
        raise BindingError(f"{what} cannot be used: {note}")
    if note is not None:
        if _is_mapped(storage.buffer):
            raise BindingError(f"{what} cannot be used while its buffer is mapped; unmap it first")
        storage.note = None
