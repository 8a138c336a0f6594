"""The elements of a box among lanes and items, and where they are held in workgroup memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from dmlgpu.desc.cached import cached_property

SIDE_BY_SIDE = 32  # lanes that read or write together
FEW_PIECES = 4  # to cut a loop into evenly; of more pieces the last may be shorter
PADS = (0, 1, 2, 4, 8)  # elements, or words of halves, that may be left free behind a loop's steps


@lru_cache(maxsize=256)
def _lanes(loops: tuple[int, ...], box: tuple[int, ...], wg_size: int) -> dict[int, int]:
    """Lanes side by side along each loop, so that few of a workgroup are idle."""
    found, left = {}, wg_size
    for i, d in enumerate(loops):
        size, others = box[d], prod(box[k] for k in loops[i + 1 :])
        least = -(-size // left)
        best = 0.0
        for items in range(least, least + FEW_PIECES):
            lanes = -(-size // items)
            busy = min(left // lanes, others) * size / items
            if busy > best and (items == least or lanes >= SIDE_BY_SIDE):
                found[d], best = lanes, busy
        left //= found[d]
    return found


@dataclass(frozen=True)
class Order:
    """The elements of a box among lanes and items, the first loop counting fastest.

    Along each loop lanes have consecutive coordinates, and the next item goes on behind them.
    """

    loops: tuple[int, ...]
    box: tuple[int, ...]
    wg_size: int

    def lanes(self, d: int) -> int:
        """Lanes side by side along a loop."""
        return self._lanes[d]

    @cached_property
    def _lanes(self) -> dict[int, int]:
        return _lanes(self.loops, self.box, self.wg_size)

    @cached_property
    def _before(self) -> dict[int, int]:
        """Lanes from one step of each loop to the next."""
        return {d: prod(self._lanes[k] for k in self.loops[:i]) for i, d in enumerate(self.loops)}

    @property
    def active(self) -> int:
        """Lanes that have something to do."""
        return prod(self._lanes.values())

    @property
    def items(self) -> int:
        """Elements of an invocation."""
        return prod(-(-self.box[d] // n) for d, n in self._lanes.items())

    @property
    def busy(self) -> float:
        """Elements over those that all lanes of a workgroup could have."""
        return prod(self.box[d] for d in self.loops) / (self.items * self.wg_size)

    def of_number(self, d: int, lane: int) -> int:
        """The coordinate of a lane along a loop."""
        return lane // self._before[d] % self.lanes(d)

    def of_lane(self, d: int) -> str:
        """The coordinate of a lane along a loop, in WGSL; that of a later item where it is idle."""
        if d == self.loops[-1]:
            return f"lane / {self._before[d]}u"
        return f"lane / {self._before[d]}u % {self.lanes(d)}u"

    def of_item(self, d: int, item: int) -> int:
        """What an item adds to the coordinate along a loop."""
        lanes = self._lanes
        for k in self.loops:
            items = -(-self.box[k] // lanes[k])
            if k == d:
                return item % items * lanes[k]
            item //= items
        return 0

    def leaves(self, d: int) -> bool:
        """Whether lanes or items reach beyond the box along a loop."""
        lanes = self.lanes(d)
        idle = d == self.loops[-1] and self.active < self.wg_size
        return idle or self.box[d] % lanes > 0


def _along(
    d: int, number: int, run: tuple[int, ...], of: tuple[int, ...], filled: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Coordinates of group `number` of a loop, or of a run; groups have `of` elements."""
    if d != run[0]:
        return [(d, number * of[d])]
    found, rest = [], number * of[d]
    for k in run[:-1]:
        found.append((k, rest % filled[k]))
        rest //= filled[k]
    return [*found, (run[-1], rest)]


# What the lanes of a subgroup reach at a time: their order, loops that are one run, and elements of
# each loop that a lane has.
Access = tuple[Order, tuple[int, ...], tuple[int, ...]]


def reach_of(box: Sequence[int], held: Sequence[int]) -> int:
    """Elements from the first of a box to its last, where it is held by these steps."""
    return 1 + sum((b - 1) * h for b, h in zip(box, held, strict=True))


@lru_cache(maxsize=256)
def held_steps(
    box: tuple[int, ...],
    filled: tuple[int, ...],
    loops: tuple[int, ...],
    accesses: tuple[Access, ...],
    banks: int,
    room: int,
    in_one: int,
    in_word: int = 1,
) -> tuple[int, ...]:
    """Where elements are held: steps of the loops in workgroup memory, with the fewest conflicts.

    The loops that step least come first, and the first `in_one` have nothing free between them.
    Lanes of an access should meet in as few of the banks as possible. A whole box has `filled`
    steps of the loops. With `in_word` elements in a word every row of the first loop begins a word.
    """
    spots = [
        [
            [
                place
                for d in order.loops
                for place in _along(d, order.of_number(d, lane), run, of, filled)
            ]
            for lane in range(min(banks, order.active))
        ]
        for order, run, of in accesses
    ]
    best: tuple[int, tuple[int, ...]] | None = None
    for pads in product(*([(0,)] * (in_one - 1) + [PADS] * (len(loops) - in_one))):
        held, step = [0] * len(box), 1
        for d, pad in zip(loops, (*pads, 0), strict=True):
            held[d] = step
            step = (-(-step * box[d] // in_word) + pad) * in_word
        if reach_of(box, held) > room:
            continue
        conflicts = 0
        for lanes_at in spots:
            met = Counter(sum(n * held[d] for d, n in lane) // in_word % banks for lane in lanes_at)
            conflicts += max(met.values())
        if best is None or conflicts < best[0]:
            best = conflicts, tuple(held)
        if conflicts == len(spots):
            break
    assert best is not None
    return best[1]
