"""Parts of a call: pieces of its loops in which each tensor fits one binding.

An adapter binds only so many bytes of a buffer at once. A call on larger tensors becomes several,
each over a few steps of the outer loops and bound to the bytes it reaches. Where loops cannot be
cut that way (an axis scanned across the whole tensor, rows picked at random), the tensor is bound
in several windows instead, which costs a choice at every access; see wgsl.Access.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

from dmlgpu.desc.views import replaced
from dmlgpu.plan.dispatch import Plan

UNIT_BYTES = 16  # bytes: a binding starts on a multiple of it, and should end on one
ALIGNMENT = 256  # bytes: every adapter lets a binding start on a multiple of it
MOST_PARTS = 4096


@dataclass(frozen=True, slots=True)
class Walk:
    """How the loops step through one tensor, in elements of `bits` bits."""

    field: str
    bits: int
    start: int
    steps: tuple[int, ...]  # elements from one step of a loop to the next, for each loop
    based: bool  # the kernel is told where to start, so a part may begin inside its binding

    def reach(self, sizes: Sequence[int], skip: int = 0) -> tuple[int, int]:
        """Lowest and highest element relative to the start, over the loops from `skip` on."""
        ends = [(n - 1) * s for n, s in zip(sizes[skip:], self.steps[skip:], strict=True)]
        return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)

    def nbytes(self, sizes: Sequence[int], skip: int) -> int:
        """Bytes from the lowest to the highest element over the loops from `skip` on."""
        low, high = self.reach(sizes, skip)
        return -(-(high - low + 1) * self.bits // 8)

    def granule(self, loop: int, alignment: int) -> int:
        """Fewest steps of a loop that move the tensor by whole multiples of `alignment` bytes."""
        if self.based:
            return 1
        return 8 * alignment // gcd(8 * alignment, self.steps[loop] * self.bits)


@dataclass(frozen=True, slots=True)
class Part:
    """Some steps of every loop, the bytes of each tensor they reach and where each begins there."""

    first: tuple[int, ...]  # the step of each loop at which the part begins
    sizes: tuple[int, ...]
    spans: Mapping[str, tuple[int, int]]  # by field, in bytes
    starts: Mapping[str, int]  # by field, in elements from the start of its span


def split(
    sizes: Sequence[int], walks: Sequence[Walk], most: int, loops: int
) -> tuple[Part, ...] | None:
    """Parts over the first `loops` loops with at most `most` bytes of each tensor, or None."""
    room = room_in(most)
    for alignment in (ALIGNMENT, UNIT_BYTES):
        parts: list[Part] = []
        try:
            for first, cut in _cut(tuple(sizes), walks, room, loops, alignment, 0):
                parts.append(part_of(first, cut, walks))
                if len(parts) > MOST_PARTS:
                    return None
        except _NoWayError:
            continue
        return tuple(parts)
    return None


def room_in(most: int) -> int:
    """Bytes of a tensor that fit a binding of `most` bytes wherever they begin and end."""
    return most - ALIGNMENT - UNIT_BYTES


class _NoWayError(Exception):
    """The loops cannot be cut."""


def _cut(
    sizes: tuple[int, ...], walks: Sequence[Walk], room: int, loops: int, alignment: int, at: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(first steps, numbers of steps) of each part, the loops before `at` being of one step."""
    nowhere = (0,) * len(sizes)
    if all(walk.nbytes(sizes, at) <= room for walk in walks):
        yield nowhere, sizes
        return
    if at == loops:
        raise _NoWayError
    most = min(_steps_that_fit(walk, sizes, room, at) for walk in walks)
    granule = lcm(*(walk.granule(at, alignment) for walk in walks))
    if most >= granule:
        least = -(-sizes[at] // (most // granule * granule))  # parts, of about the same size
        chunk = -(-sizes[at] // (least * granule)) * granule
        for first in range(0, sizes[at], chunk):
            steps = min(chunk, sizes[at] - first)
            yield replaced(nowhere, at, first), replaced(sizes, at, steps)
        return
    if most or granule > 1:
        raise _NoWayError
    inner = list(_cut(replaced(sizes, at, 1), walks, room, loops, alignment, at + 1))
    for first in range(sizes[at]):
        for place, cut in inner:
            yield replaced(place, at, first), cut


def _steps_that_fit(walk: Walk, sizes: tuple[int, ...], room: int, at: int) -> int:
    """Steps of loop `at`, inner loops whole, that reach at most `room` bytes; 0 if not even one."""
    left = room - walk.nbytes(sizes, at + 1)
    if left < 0:
        return 0
    return 1 + 8 * left // (abs(walk.steps[at]) * walk.bits) if walk.steps[at] else sizes[at]


def part_of(first: tuple[int, ...], sizes: tuple[int, ...], walks: Sequence[Walk]) -> Part:
    """The part of `sizes` steps from `first` on."""
    spans, starts = {}, {}
    for walk in walks:
        start = walk.start + sum(f * s for f, s in zip(first, walk.steps, strict=True))
        low, high = walk.reach(sizes)
        down_to = ALIGNMENT if walk.based else UNIT_BYTES
        begin = (start + low) * walk.bits // 8 // down_to * down_to
        end = -(-(start + high + 1) * walk.bits // 8 // UNIT_BYTES) * UNIT_BYTES
        spans[walk.field] = (begin, end)
        starts[walk.field] = start - 8 * begin // walk.bits
    return Part(first, sizes, spans, starts)


def in_turn(plans: Sequence[Plan], handed_on: Mapping[str, int] | None = None) -> Plan:
    """Plans one after the other, and the scratch memory in which they hand results on.

    Their own scratch memory serves in turn, so no plan may use a name of what is handed on.
    """
    made = joined(plans, [{}] * len(plans))
    handed_on = handed_on or {}
    assert made.scratch.keys().isdisjoint(handed_on), (made.scratch, handed_on)
    return replace(made, scratch={**made.scratch, **handed_on})


def joined(plans: Sequence[Plan], spans: Sequence[Mapping[str, tuple[int, int]]]) -> Plan:
    """The plans of all parts in a row, each bound to its spans; scratch memory serves in turn."""
    dispatches = []
    scratch: dict[str, int] = {}
    shared: dict[str, int] = {}
    for plan, span in zip(plans, spans, strict=True):
        dispatches += [replace(one, spans={**one.spans, **span}) for one in plan.dispatches]
        for held, needed in ((scratch, plan.scratch), (shared, plan.shared)):
            for name, size in needed.items():
                held[name] = max(size, held.get(name, 0))
    return Plan(tuple(dispatches), scratch, shared=shared)
