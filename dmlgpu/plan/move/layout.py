"""What decides which kernel a move gets, and the table of choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import prod

from dmlgpu.plan.dispatch import Adapter
from dmlgpu.plan.loops import Dim, closed, count, extent
from dmlgpu.plan.move.packed import READ_AGAIN, Gather, Repeats
from dmlgpu.plan.words import UNIT_BITS

LONG_ROW = 16  # units, from which on a row is worth cutting into pieces
PIECE = 512  # bits of a run, up to which it is less than what memory is read by
NARROW_PIECE = 320  # the same of elements that are less than a word
LATE_PIECE = 1024  # where caches have let go of what lies beside it; not of bytes in odd rows
SHORT_RUN = 128  # bits of a run, up to which its elements are moved with those of others
LAID_ROW = 1024  # bits that must be neighbours then: there are none where less is repeated
LAID_AGAIN = 32  # times that elements are read, from which on they are laid out before
SMALLER = 16  # times that repeated rows of narrow elements are smaller than what is made of them
LAYING = 32  # times that an output is larger, than where another dispatch is worth it elsewhere


@dataclass(frozen=True, slots=True)
class Layout:
    """What decides which kernel a move gets: its loops, in elements of `bits` bits."""

    bits: int
    dims: tuple[Dim, ...]
    base: int  # element of the source where the loops start
    gather: Gather | None
    adapter: Adapter
    is_dense: bool  # an output address names its coordinates, and gaps between elements are few
    in_windows: bool  # a tensor is bound in several pieces, among which every load chooses
    out_base: int | None = None  # element of the output where a part of it starts; None: all of it

    @property
    def on_cpu(self) -> bool:
        """Whether the adapter is software."""
        return self.adapter.is_cpu

    @property
    def is_small(self) -> bool:
        """Whether no kernel is made for its shape."""
        return count(self.dims) * self.bits < 8 * self.adapter.shaped_from

    @property
    def by_tuples(self) -> bool:
        """Whether every element of a run has an index tuple of its own."""
        return self.dims[-1].tuple_ != 0

    @property
    def is_short(self) -> bool:
        """Whether runs are so short that most of what is loaded at once belongs to others."""
        return self.dims[-1].size * self.bits <= SHORT_RUN

    @property
    def picks_afar(self) -> bool:
        """Whether index tuples pick from more than caches hold."""
        if self.gather is None:
            return False
        picked = zip(self.gather.sizes, self.gather.strides, strict=True)
        return max(n * abs(step) for n, step in picked) * self.bits // 8 >= READ_AGAIN

    @property
    def is_stepped(self) -> bool:
        """Whether neighbours of a run are so near in the source that units of it are rearranged."""
        return self.dims[-1].source in (1, -1, 2)

    @property
    def has_long_rows(self) -> bool:
        """Whether units are rearranged in runs that are worth cutting into pieces."""
        last = self.dims[-1]
        return self.is_stepped and last.out == 1 and last.size * self.bits >= 128 * LONG_ROW

    @property
    def is_permuted(self) -> bool:
        """Whether another loop than the output's innermost steps least through the source.

        A short piece that is a run on both sides counts as an element.
        """
        last = self.dims[-1]
        is_piece = last.source == 1 and last.size * self.bits <= self._piece
        loops = self.dims[:-1] if is_piece else self.dims
        steps = [abs(d.source) for d in loops if d.size > 1]
        return bool(steps) and steps[-1] > min((step for step in steps if step), default=0)

    @property
    def _piece(self) -> int:
        """Bits of a run, up to which it is less than what memory is read by.

        What lies beside it in the source may be wanted soon, or when it must be read again.
        """
        length = self.dims[-1].size
        beside = [d for d in self.dims[:-1] if d.size > 1 and 0 < abs(d.source) < 2 * length]
        if self.bits > 8 and any(d.out * self.bits >= 8 * READ_AGAIN for d in beside):
            return LATE_PIECE
        return PIECE if self.bits >= 32 else NARROW_PIECE

    @property
    def stays(self) -> bool:
        """Whether a loop stays where it is in the source."""
        return any(not d.source for d in self.dims)

    @property
    def stores_repeats(self) -> bool:
        """Whether what is made once is stored several times: each part would make it again."""
        return not self.dims[0].source and choose(self) == "packed"

    @property
    def is_worth_laying(self) -> bool:
        """Whether a few words that are apart in the source are read again and again.

        A load of neighbours that are apart reaches as many lines of a cache as there are, which
        takes longer than what is written. Narrow elements are shifted out of words instead, and
        what is stored often is read seldom.
        """
        if self.on_cpu or self.gather or self.in_windows or self.bits not in (32, 64):
            return False
        made, last = count(self.dims), self.dims[-1]
        again = made // count(tuple(d for d in self.dims if d.source))
        if again < LAID_AGAIN or made * self.bits < 8 * LAYING * self.adapter.worth_a_dispatch:
            return False
        row = prod(d.size for d in takewhile(lambda d: d.source, reversed(self.dims)))
        is_apart = abs(last.source) > 1 or self.is_short
        if not is_apart or row * self.bits < LAID_ROW or choose(self) != "packed":
            return False
        return self._stored_times <= 2

    @property
    def is_worth_repeating(self) -> bool:
        """Whether rows of narrow elements, which are short or apart, are read again and again.

        What a unit goes on to, or each of its elements, would be looked up for all that is written.
        Short rows of halves have few in a unit, and what is stored often is read seldom.
        """
        if self.on_cpu or self.gather or self.in_windows or self.bits >= 32:
            return False
        dims, d = self.dims, innermost_stay(self.dims)
        inner, last = dims[d + 1 :], dims[-1]
        if d < 1 or not inner or not (dims[d].out == count(inner) == extent(inner)):
            return False
        is_apart, is_long = abs(last.source) > 1, last.size * self.bits >= UNIT_BITS * LONG_ROW
        bytes_gain, halves_gain = is_apart or not is_long, is_apart and is_long
        if not (bytes_gain if self.bits == 8 else halves_gain):
            return False
        row, made = count(inner), count(dims) * self.bits
        if dims[d].size * row * self.bits < UNIT_BITS or choose(self) != "packed":
            return False
        laid = count(tuple(dim for dim in dims if dim.source)) * copies_of_row(self.bits, row)
        is_worth = (
            made >= 8 * LAYING * self.adapter.worth_a_dispatch
            and SMALLER * laid * self.bits <= made
        )
        return is_worth and self._stored_times <= 2

    @property
    def _stored_times(self) -> int:
        """How often a unit is stored that is made once."""
        units = -(-extent(self.dims) * self.bits // UNIT_BITS)
        return Repeats.of(self.bits, closed(self.dims), units).times

    @property
    def starts_units(self) -> bool:
        """Whether runs start where units of the source do; or end there, backwards."""
        *outer, last = self.dims
        starts = [self.base + (last.source < 0), *(d.source for d in outer)]
        starts += self.gather.strides if self.gather else ()
        return not any(start * self.bits % 128 for start in starts)

    @property
    def tuples_fill_units(self) -> bool:
        """Whether tuples lie side by side in parts of 16 bytes, one unit needing 16 at least."""
        if not self.gather or len(self.dims) > 1:
            return False
        coordinates = len(self.gather.sizes)
        words = coordinates * self.gather.bits // 32
        together = coordinates == 1 or self.gather.index_step == 1
        packed = self.dims[-1].tuple_ == coordinates and together
        return packed and words in (1, 2, 4) and 128 // self.bits * words >= 4


# From top to bottom: the first kernel whose condition holds; then why it is there, with the row of
# the benchmarks that it is 15 % faster on than what would follow. Kernels for CPUs load often;
# where each load chooses a window, compiling them takes minutes.
Choice = tuple[Callable[[Layout], bool], str, str]
CHOICES: tuple[Choice, ...] = (
    (
        lambda m: not m.is_dense,
        "sparse",
        "any output, of which it writes only the elements",
    ),
    (
        lambda m: (
            not (m.on_cpu or m.gather or m.is_small)
            and (m.is_permuted or (m.is_short and m.bits < 128 and len(m.dims) > 1 and not m.stays))
        ),
        "tile",
        "transpose float32 bandwidth: whole sectors on both sides, where dense is 0.12 of a copy",
    ),
    (
        lambda m: not (m.on_cpu or m.bits == 128) and m.is_short and m.picks_afar,
        "words",
        "gather pixels of 3 bytes uint8 bandwidth: 0.53 ms, packed 0.72; a palette 0.57 and 0.30",
    ),
    (
        lambda m: not m.on_cpu,
        "packed",
        "slice window uint8 bandwidth: 0.13 ms, dense 0.99; one channel of 4 0.31 and 3.5",
    ),
    (
        lambda m: not m.in_windows and m.by_tuples and m.tuples_fill_units,
        "tuples",
        "gather scalars float16 bandwidth, lavapipe 25.0: 34 ms, dense 41; uint8 3.7 times as fast",
    ),
    (
        lambda m: not (m.in_windows or m.by_tuples) and m.has_long_rows,
        "rows",
        "slice window uint8 bandwidth, lavapipe 25.0: 8.9 ms, dense 15.2",
    ),
    (
        lambda m: not (m.in_windows or m.by_tuples) and m.bits == 128 and _two(m),
        "short",
        "gather rows of 16 float32 bandwidth, lavapipe 25.0: 12.4 ms, units 14.7",
    ),
    (
        lambda m: m.bits == 128,
        "units",
        "crop 32 of 64 channels float32 bandwidth, lavapipe 25.0: 5.2 ms, rows 6.6",
    ),
    (
        lambda m: (
            m.is_short
            and not (m.is_stepped or m.gather or m.in_windows)
            and (m.bits < 32 or not m.adapter.wide_integers)  # lavapipe has those
        ),
        "words",
        "NCHW to NHWC, 3 channels uint8 bandwidth, lavapipe 25.0: 139 ms, dense 182; SwiftShader "
        "246 and 1897, and float32 127 and 188; float32 on lavapipe 25.0 61 and 36",
    ),
    (lambda m: True, "dense", "any output that has its elements side by side, in whole units"),
)


def choose(layout: Layout) -> str:
    """The kernel for a layout, by the last part of its shader's name."""
    return next(kernel for holds, kernel, _ in CHOICES if holds(layout))


def innermost_stay(dims: Sequence[Dim]) -> int:
    """The innermost loop that stays where it is in the source; -1: none."""
    return next((d for d in reversed(range(len(dims))) if not dims[d].source), -1)


def copies_of_row(bits: int, row: int) -> int:
    """How often a row lies there so that a unit may begin with any element of the first."""
    return 1 + -(-(UNIT_BITS // bits - 1) // row)


def _two(layout: Layout) -> bool:
    return len(layout.dims) == 2
