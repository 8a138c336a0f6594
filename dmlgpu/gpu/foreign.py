"""What callers do to buffers by themselves: a submission that uses a destroyed or mapped buffer
ends the process inside wgpu-native, so it has to be known before.

wgpu keeps no record of a destroyed buffer that Python can read. Each buffer's own `destroy` and
`map_async` are therefore replaced, on that one object, by callables that take a note first.
"""

from __future__ import annotations

import weakref
from typing import Any

from dmlgpu.errors import BindingError

DESTROYED = "its buffer has been destroyed"
MAPPED = ""  # perhaps: the buffer itself knows


class Watched:
    """Stands for one method of a buffer. Devices that share the buffer share this too."""

    __slots__ = ("_buffer", "_method", "_note", "_notes")

    def __init__(self, buffer: Any, method: str, note: str) -> None:
        self._buffer = weakref.ref(buffer)  # a cycle would keep memory until the next collection
        self._method = getattr(type(buffer), method)
        self._note = note
        self._notes: dict[int, tuple[dict[int, str], int]] = {}

    def tell(self, notes: dict[int, str], serial: int) -> None:
        """A note under `serial` in `notes` from now on."""
        self._notes[id(notes)] = (notes, serial)

    def __call__(self, *args: Any, **named: Any) -> Any:
        for notes, serial in self._notes.values():
            notes[serial] = notes.get(serial) or self._note
        return self._method(self._buffer(), *args, **named)


def watch(buffer: Any, notes: dict[int, str], serial: int) -> None:
    """Notes under `serial` when the buffer is destroyed or mapped by someone else."""
    for method, note in (("destroy", DESTROYED), ("map_async", MAPPED)):
        watched = vars(buffer).get(method)
        if watched is None:
            watched = Watched(buffer, method, note)
            setattr(buffer, method, watched)
        watched.tell(notes, serial)


def destroy(buffer: Any) -> None:
    """Destroys a buffer of the device's own, without a note."""
    type(buffer).destroy(buffer)


def check(notes: dict[int, str], buffer: Any, serial: int, what: str) -> None:
    """Raises when a buffer cannot be used now."""
    note = notes.get(serial)
    if note:
        raise BindingError(f"{what} cannot be used: {note}")
    if note is not None:
        if buffer.map_state != "unmapped":
            raise BindingError(f"{what} cannot be used while its buffer is mapped; unmap it first")
        notes.pop(serial, None)
