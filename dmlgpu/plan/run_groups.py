"""How many lines that follow each other in memory a workgroup takes as one run of 16-byte units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dmlgpu.plan.dispatch import Adapter

# As measured on an NVIDIA H200.
WG_SIZES = (64, 96, 128, 160, 192, 224, 256)
FILLED = 0.85  # of a workgroup's units: fewer invocations are better than fuller ones


class Group(NamedTuple):
    """A workgroup of a run."""

    wg_size: int
    rounds: int  # units of an invocation
    lines: int


def run_group(
    size: int,
    unit: int,
    adapter: Adapter,
    *,
    rounds: Sequence[int],
    together: int = 1,
    before: int = 0,
) -> Group | None:
    """The smallest workgroup that lines of `size` elements fill well, or else the fullest.

    A unit has `unit` elements. A workgroup takes a multiple of `together` lines, and up to `before`
    elements of its first unit are not theirs. None where no workgroup has room for so many.
    """
    found: list[tuple[float, Group]] = []
    for each in rounds:
        for wg_size in WG_SIZES:
            if wg_size % adapter.subgroup_max:
                continue
            room = wg_size * each * unit
            lines = (room - before) // (size * together) * together
            if lines:
                found.append((lines * size / room, Group(wg_size, each, lines)))
                if found[-1][0] >= FILLED:
                    return found[-1][1]
    return max(found)[1] if found else None
