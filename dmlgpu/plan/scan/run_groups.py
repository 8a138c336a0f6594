"""How many lines that follow each other in memory a workgroup takes as one run of 16-byte units."""

from __future__ import annotations

from typing import NamedTuple

from dmlgpu.plan.dispatch import Adapter

# As measured on an NVIDIA H200.
WG_SIZES = (64, 96, 128, 160, 192, 224, 256)
FILLED = 0.85  # of a workgroup's units: fewer invocations are better than fuller ones


class Group(NamedTuple):
    """A workgroup of a run."""

    wg_size: int
    lines: int


def run_group(
    size: int, unit: int, adapter: Adapter, *, rounds: int, before: int = 0
) -> Group | None:
    """The smallest workgroup that lines of `size` elements fill well, or else the fullest.

    A unit has `unit` elements, up to `before` of a workgroup's first one are not its own, and an
    invocation has `rounds` units. None where no workgroup has room for a line.
    """
    found: list[tuple[float, Group]] = []
    for wg_size in WG_SIZES:
        if wg_size % adapter.subgroup_max:
            continue
        room = wg_size * rounds * unit
        lines = (room - before) // size
        if lines:
            found.append((lines * size / room, Group(wg_size, lines)))
            if found[-1][0] >= FILLED:
                return found[-1][1]
    return max(found)[1] if found else None
