"""Folding: the fewest dimensions that describe which source element each output address takes.

All numbers are in elements. A `Dim` steps through the output, the source and (for gathers) the
index tuples at once; dimensions that step together in all three become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod


@dataclass(frozen=True, slots=True)
class Dim:
    """One loop of a copy: `size` steps of `out`, `source` and `tuple_` elements."""

    size: int
    out: int
    source: int
    tuple_: int = 0

    def scaled(self, numerator: int, denominator: int) -> Dim:
        """The same loop with the data elements in another unit."""
        return replace(
            self,
            out=self.out * numerator // denominator,
            source=self.source * numerator // denominator,
        )


def fold(dims: list[Dim]) -> tuple[Dim, ...]:
    """`dims` with size-1 loops dropped, ordered by output stride, and merged where possible."""
    loops = sorted((d for d in dims if d.size > 1), key=lambda d: -d.out)
    folded: list[Dim] = []
    for dim in loops:
        if folded:
            outer = folded[-1]
            steps = (dim.out * dim.size, dim.source * dim.size, dim.tuple_ * dim.size)
            if (outer.out, outer.source, outer.tuple_) == steps:
                folded[-1] = replace(dim, size=outer.size * dim.size)
                continue
        folded.append(dim)
    return tuple(folded) or (Dim(1, 1, 1),)


def order_of(steps: Sequence[int]) -> list[int]:
    """Loops by their steps, the least first; last those that stay: they bring no neighbours."""
    return sorted(range(len(steps)), key=lambda d: (steps[d] == 0, abs(steps[d])))


def extent(dims: tuple[Dim, ...]) -> int:
    """Output elements from the first to the last one written, gaps included."""
    return 1 + sum((d.size - 1) * d.out for d in dims)


def count(dims: tuple[Dim, ...]) -> int:
    """Output elements written."""
    return prod(d.size for d in dims)


def resized(dims: tuple[Dim, ...], sizes: tuple[int, ...]) -> tuple[Dim, ...]:
    """The same loops with other numbers of steps."""
    return tuple(replace(d, size=size) for d, size in zip(dims, sizes, strict=True))


def is_nested(dims: tuple[Dim, ...]) -> bool:
    """Whether an output address names its coordinates by dividing by the strides in turn.

    Each stride must also be a multiple of the next, so that a walk along the addresses leaves an
    outer coordinate only where it leaves the inner ones.
    """
    if dims[-1].out != 1:
        return False
    return all(
        d.out >= extent(dims[i + 1 :]) and d.out % dims[i + 1].out == 0
        for i, d in enumerate(dims[:-1])
    )


def closed(dims: tuple[Dim, ...], group: int = 0) -> tuple[Dim, ...]:
    """Loops that walk what lies between their runs, too; not where that is whole groups."""
    inner = [
        d if group and outer.out % group == 0 else replace(d, size=outer.out // d.out)
        for outer, d in pairwise(dims)
    ]
    return (*dims[:1], *inner)


def widen(
    bits: int, dims: tuple[Dim, ...], *starts: int, most: int = 128
) -> tuple[int, tuple[Dim, ...], int]:
    """The widest elements, up to 128 bits, that move as one: (bits, dims, how many fit in one).

    Neighbours travel together when the innermost loop walks both tensors one by one and every
    other step and every one of `starts` keeps pairs together.
    """
    given = bits, dims
    grouped = 1
    offsets = starts
    while bits < most:
        *outer, last = dims
        whole = (last.size, *offsets, *(d.out for d in outer), *(d.source for d in outer))
        if (last.out, last.source, last.tuple_) != (1, 1, 0) or any(n % 2 for n in whole):
            break
        dims = (*(d.scaled(1, 2) for d in outer), replace(last, size=last.size // 2))
        offsets = tuple(n // 2 for n in offsets)
        bits *= 2
        grouped *= 2
    if bits == 64 and given[0] < 64:  # two words side by side are no better than two words
        return widen(given[0], given[1], *starts, most=32)
    return bits, dims, grouped
