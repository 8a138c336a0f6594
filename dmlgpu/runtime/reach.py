"""How a dispatch reaches its tensors: bytes of buffers, the bindings over them, and the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dmlgpu.errors import DeviceError
from dmlgpu.gpu.memory import Storage
from dmlgpu.plan.parts import ALIGNMENT, UNIT_BYTES
from dmlgpu.wgsl.assembly import Access, StorageBinding


class Range(NamedTuple):
    """Bytes of a buffer that one name of a shader stands for."""

    storage: Storage
    offset: int
    size: int
    whole: bool

    @property
    def padded(self) -> int:
        """The size, rounded up to 16 bytes."""
        return -(-self.size // UNIT_BYTES) * UNIT_BYTES

    @property
    def has_room(self) -> bool:
        """Whether the buffer has all of its last 16 bytes."""
        return self.offset + self.padded <= self.storage.size

    def is_padded(self, *, is_read: bool) -> bool:
        """Whether its last 16 bytes may be reached whole: they are its own, or only read."""
        return self.whole or (is_read and self.has_room)

    def part(self, span: tuple[int, int] | None) -> Range:
        """Some of the bytes; those behind the last are not there."""
        if span is None:
            return self
        start, end = span
        size = min(end, self.size) - start
        return Range(self.storage, self.offset + start, size, self.whole and end >= self.size)


def reach(
    named: Mapping[str, Range],
    modes: Mapping[str, tuple[str, str]],
    alignment: int,
    max_binding: int,
    *,
    in_pairs: bool = False,
    stores_words: bool = True,
) -> tuple[dict[str, Access], dict[str, tuple[int, int]]]:
    """How a shader reaches each name's bytes, and the (start, end) each binding spans.

    A buffer that is written can be bound only once, so every name in it shares that binding.
    """
    writers = {id(r.storage.buffer): name for name, r in named.items() if modes[name][0] != "read"}
    spans: dict[str, tuple[int, int]] = {}
    owner: dict[str, str] = {}
    cut_short: set[str] = set()
    for name, r in named.items():
        target = writers.get(id(r.storage.buffer), name)
        owner[name] = target
        is_padded = r.is_padded(is_read=id(r.storage.buffer) not in writers)
        if r.size % UNIT_BYTES and not is_padded:
            cut_short.add(target)
        start = r.offset // alignment * alignment
        low, high = spans.get(target, (start, 0))
        end = r.offset + (r.padded if is_padded else r.size)
        spans[target] = (min(low, start), max(high, end))
    # Bindings that are written are cut short by a tensor whose last 16 bytes are not all its own.
    # Whatever shares one with it is reached word by word: an array of vectors would end before
    # those bytes, or write over them. So are those of which words are stored alone, where that
    # would store whole vectors.
    if not stores_words:
        cut_short |= {owner[name] for name in named if modes[name][0] == "words"}
    access: dict[str, Access] = {}
    for name, r in named.items():
        target = owner[name]
        start, end = spans[target]
        scalar = modes[name][1] != "u32" and target in cut_short
        units = -(-(end - start) // UNIT_BYTES)
        each = max_binding // ALIGNMENT * (ALIGNMENT // UNIT_BYTES)
        windows = -(-units // each) if end - start > max_binding else 1
        access[name] = Access(
            alias="" if target == name else target,
            offset=r.offset != start,
            scalar=scalar,
            windows=1 if target != name else windows,
            window_units=each if windows > 1 and target == name else 0,
            in_pairs=in_pairs,
        )
    return access, spans


def window(
    spans: Mapping[str, tuple[int, int]], access: Mapping[str, Access], bound: StorageBinding
) -> tuple[int, int]:
    """(offset, size) of one binding."""
    start, end = spans[bound.name]
    how = access[bound.name]
    if how.windows == 1:
        return start, end - start
    step = UNIT_BYTES * how.window_units
    first = start + bound.window * step
    return first, min(step, end - first)


def grid(workgroups: int, most: int, operator: str) -> tuple[int, int]:
    """A workgroup count folded into two dimensions of at most `most` each."""
    rows = -(-workgroups // most)
    if rows > most:
        raise DeviceError(
            f"{operator}: {workgroups} workgroups are needed; this adapter runs {most * most}"
        )
    return -(-workgroups // rows), rows
