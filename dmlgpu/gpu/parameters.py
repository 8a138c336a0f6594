"""Parameters that are others in every call: places in uniform buffers that are written anew.

A write reaches its place before what is submitted next, and after all that was submitted before.
So a place may be written again as soon as the call that it was written for is submitted.
"""

from __future__ import annotations

from typing import NamedTuple

from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.objects import UNIFORM, Buffer
from dmlgpu.gpu.private import write_now

SIZE = 256  # bytes of a place, where every adapter lets bindings begin
PLACES = 64  # of one buffer


class Place(NamedTuple):
    """Bytes of a uniform buffer."""

    buffer: Buffer
    offset: int


class Parameters:
    """The places of one device; a buffer is let go with the last of its places."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._free: list[Place] = []

    def place(self, size: int) -> Place:
        """Room for the parameters of a call."""
        count, width = (PLACES, SIZE) if size <= SIZE else (1, size)
        if count > 1:
            try:
                return self._free.pop()
            except IndexError:
                pass
        with self._gpu.doing(f"allocating {count * width} bytes of parameters"):
            buffer = self._gpu.device.create_buffer(size=count * width, usage=UNIFORM)
        made = [Place(buffer, n * width) for n in range(count)]
        self._free += made[1:]
        return made[0]

    def write(self, place: Place, data: bytes) -> None:
        """Writes a place that no call uses which waits to be submitted."""
        with self._gpu.doing(f"writing {len(data)} bytes of parameters"):
            write_now(self._gpu.device, place.buffer, place.offset, data)
