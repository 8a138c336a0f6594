"""Moves through workgroup memory, for layouts whose neighbours are not neighbours on both sides.

A tile is a box in the space of the loops: long enough along the loops that step least through the
source and along those that step least through the output. A workgroup reads it in the order of the
source and writes it in the order of the output, so that both are walked by whole sectors. That
serves transposes, permutations of all kinds and short innermost axes alike.

An invocation takes in a block of the box: a word of the source, and as much along the output as
whole words of it need. In registers the block is put into the order of the output, by shifts that
the plan knows, and workgroup memory holds runs of the output as words.

The output is written in whole units. Where runs do not begin with units, a unit is made by a tile
that holds all of it; of one in which a run ends, the tile with that end also reads what follows.
Where rows are cut into short runs, the same is done for sectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from dmlgpu.desc.cached import cached_property
from dmlgpu.plan.loops import Dim, closed, count, extent, order_of
from dmlgpu.plan.traffic import SECTOR
from dmlgpu.plan.words import UNIT_BITS

WG_SIZE = 256  # and fewer where a tile has fewer blocks
SUBGROUP = 32  # invocations of which a workgroup has a multiple
WRITTEN = 256  # bits that memory takes at once
# What two tiles share of a run at most, so that both write it by that, and how many runs of tiles
# are in a row at least: where these begin within units, which is worth it for words, and where not.
SHARED = {False: (7 / 32, 8), True: (1 / 8, 3)}
EDGE = 1024  # bits of a run that keep both sides in whole sectors
TILE = 65536  # bits of a tile: of larger ones too few are under way; half of it may do for words
PER_LANE = 8  # words of a tile for each invocation
WORDS = 5120  # that a tile holds at most, where an adapter has the room
BLOCK_WORDS = 40  # of a block at most, which lie in registers
GAPS = 2  # times an edge, where half of what is read or more is left out
STEPS = 4  # elements from one to the next, up to which a row is read with what lies between
PAGE, PAGES = 1 << 22, 128  # bits between rows that are far apart, and most such rows of long runs
FAR = 1 << 16  # bits between rows, from which on pieces of a sector are too short
SCATTERED = 1.5  # times the work, where pieces are as short as that or in too many pages
REPEATS = 8  # steps of a loop that stays where it is in the source, up to which it is read once
FOLLOWING = 5  # words that hold what follows a run, where it may begin within a word
SIDE = 32  # blocks along the first loop that are taken side by side at least
OVERLAP = 1.1  # times what there is that tiles take in, from which on longer ones may be better
SHORT = 512  # bits of a run of the output that is cut no more while others can be
LONG = 320  # bits of a run of the output that is long enough to end within units


@dataclass(frozen=True)
class Tile:
    """The box of a move: how many steps of each loop, and how the two sides walk them.

    Elements have 32 bits at most: wider ones are several words, and which of them is the last loop.
    """

    dims: tuple[Dim, ...]
    bits: int
    box: tuple[int, ...]  # steps of each loop
    block: tuple[int, ...]  # of these, what one invocation takes in at once
    out_run: tuple[int, ...]  # the loops of a run of the output, which go on where one ends
    end: int  # elements of the output, gaps included
    at_once: int  # words of an element, which are read at once

    @property
    def per_word(self) -> int:
        """Elements of a word."""
        return 32 // self.bits

    @property
    def unit(self) -> int:
        """Elements of a unit."""
        return UNIT_BITS // self.bits

    @cached_property
    def rest(self) -> tuple[int, ...]:
        """The loops over runs of the output."""
        return tuple(d for d in _by_output(self.dims, self.box) if d not in self.out_run)

    @cached_property
    def run(self) -> tuple[int, ...]:
        """The loops that together need not much more of the source than what they take."""
        found: list[int] = []
        span = 1
        for d in self.nearest:
            step = abs(self.dims[d].source)
            gap = (step - span) * self.bits
            if step == 0 or step > STEPS * span or (found and gap > 8 * SECTOR):
                break
            found.append(d)
            span += (self.box[d] - 1) * step
        return tuple(found)

    @property
    def nearest(self) -> list[int]:
        """The loops of a box by their steps through the source."""
        return [d for d in order_of([d.source for d in self.dims]) if self.box[d] > 1]

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Blocks along each loop; the last may reach beyond the box."""
        return tuple(-(-n // b) for n, b in zip(self.box, self.block, strict=True))

    @cached_property
    def order(self) -> list[int]:
        """The loops with several blocks, in the order in which invocations take these.

        First those of a run of the source, or where a block has all of that, the nearest other.
        """
        several = [d for d in range(len(self.dims)) if self.blocks[d] > 1]
        run = [d for d in self.run if d in several]
        nearest = [d for d in self.nearest if d in several]
        loops = [*(run or nearest[:1]), *_by_output(self.dims, self.box)]
        return [d for d in dict.fromkeys(loops) if d in several]

    @cached_property
    def lanes(self) -> dict[int, int]:
        """Blocks along each loop that invocations take side by side, those behind in further turns.

        At least SIDE of the first loop, which are neighbours in the source, and so that the fewest
        are idle: each has about PER_LANE words, so that what a turn adds to addresses is known.
        """
        dealt: list[tuple[int, ...]] = [()]
        for d in self.order:
            n = self.blocks[d]
            shares = {-(-n // turns) for turns in range(1, n + 1)}
            if d == self.order[0]:
                shares = {share for share in shares if share >= min(n, SIDE)}
            dealt = [(*t, share) for t in dealt for share in shares if prod(t) * share <= WG_SIZE]
        best = max(dealt, key=self._busy)
        return dict(zip(self.order, best, strict=True))

    def _busy(self, lanes: tuple[int, ...]) -> tuple[bool, float, int]:
        """How good it is to deal blocks like this.

        Best are some PER_LANE words or half of them for each invocation, then few that are idle.
        """
        pairs = zip(self.order, lanes, strict=True)
        turns = prod(-(-self.blocks[d] // n) for d, n in pairs)
        wg = -(-prod(lanes) // SUBGROUP) * SUBGROUP
        words = prod(self.box) * self.bits / (32 * wg)
        is_right = PER_LANE / 2 <= words <= PER_LANE
        busy = round(prod(self.blocks) / (turns * wg), 1)
        return is_right, busy, -wg if is_right else wg

    @property
    def wg_size(self) -> int:
        """Invocations of a workgroup: whole subgroups."""
        return -(-prod(self.lanes.values()) // SUBGROUP) * SUBGROUP

    @property
    def length(self) -> int:
        """Elements of a run of the output."""
        return prod(self.box[d] for d in self.out_run)

    @property
    def runs(self) -> int:
        """Runs of a tile."""
        return prod(self.box[d] for d in self.rest)

    @property
    def whole(self) -> int:
        """Elements of such a run in all tiles."""
        return prod(self.dims[d].size for d in self.out_run)

    @cached_property
    def places(self) -> dict[int, int]:
        """Elements from one step of a loop of a run to the next."""
        steps, step = {}, 1
        for d in self.out_run:
            steps[d] = step
            step *= self.box[d]
        return steps

    @cached_property
    def is_open(self) -> bool:
        """Whether the output is one run of whole units, whose last tile may end beyond it."""
        is_one = self.whole == count(self.dims) == extent(self.dims)
        return is_one and (self.length % self.unit == 0 or self.length == self.whole)

    @property
    def reaches_beyond(self) -> bool:
        """Whether tiles have units behind the end of the output."""
        return self.is_open or extent(self.dims) > self.end

    @cached_property
    def in_units(self) -> bool:
        """Whether every run of a tile begins and ends with a unit of the output."""
        steps = [d.out for n, d in enumerate(self.dims) if n not in self.out_run]
        ends = (self.length, self.whole, *steps)
        return self.is_open or not any(n % self.unit for n in ends)

    @cached_property
    def sector(self) -> int:
        """Elements that runs of a tile begin and end with: of a sector, or only of a unit.

        Memory takes half a sector more slowly than a whole one. Where runs of all tiles together
        begin and end it is a unit in any case. Long runs have few ends, and short ones many others.
        """
        sector, unit = WRITTEN // self.bits, self.unit
        most, least = SHARED[self.in_units]
        is_long = not self.in_units and self.length * self.bits > EDGE
        if self.is_open or is_long or self.whole < least * self.length:
            return unit
        steps = [d.out for n, d in enumerate(self.dims) if n not in self.out_run]
        is_apart = any(n % sector for n in (self.length, *steps))
        is_worth = self._shared(sector) <= most * self.box[self.out_run[-1]]
        return sector if is_apart and is_worth else unit

    def _shared(self, sector: int) -> int:
        """Steps of a run that two tiles have, so that one of them has all of each `sector`."""
        place = self.places[self.out_run[-1]]
        begins = self.unit if self.in_units else 1  # a multiple of which runs begin at
        steps = begins // gcd(place, begins)
        return -(-(sector - begins) // (place * steps)) * steps

    @property
    def work(self) -> float:
        """What tiles take in, over what there is: more where they overlap, and for ends of runs."""
        ends = 0.0 if self.in_units else self.unit / self.whole
        return prod(self.counts) * prod(self.box) / count(self.dims) * (1 + ends)

    @property
    def is_long(self) -> bool:
        """Whether a tile is read and written in runs that keep both sides in whole sectors."""
        read = prod(self.box[d] for d in self.run) if self.run else self.length
        return min(2 * read, self.length) * self.bits >= EDGE

    @property
    def is_scattered(self) -> bool:
        """Whether pieces of rows of the source are too short, or lie in too many pages.

        Halves of sectors are, and sectors of rows that lie far apart.
        """
        pieces = prod(self.box[d] for d in self.run) * self.bits
        is_cut = any(self.box[d] < self.dims[d].size for d in self.run)
        longest = max(self.out_run, key=lambda d: self.box[d])
        is_far = abs(self.dims[longest].source) * self.bits >= FAR
        least = 8 * SECTOR if is_far else 4 * SECTOR
        steps = zip(self.box, self.dims, strict=True)
        pages = prod(n for n, dim in steps if abs(dim.source) * self.bits >= PAGE)
        return (is_cut and pieces <= least) or pages > PAGES

    @property
    def is_whole(self) -> bool:
        """Whether a tile has all of its runs, whose ends it makes then."""
        return self.length == self.whole

    @cached_property
    def own(self) -> tuple[int, ...]:
        """Steps from one tile to the next: fewer where a unit or a sector has elements of both."""
        own = list(self.box)
        last = self.out_run[-1]
        if self.box[last] < self.dims[last].size:
            own[last] -= self._shared(self.sector)
        return tuple(own)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each loop."""
        steps = zip(self.dims, self.box, self.own, strict=True)
        return tuple(1 + -(-(dim.size - box) // own) for dim, box, own in steps)

    @property
    def group(self) -> int:
        """Words of a unit that are held apart, each in a plane, so that banks differ."""
        return UNIT_BITS // 32 if self.in_units else 1

    @cached_property
    def run_words(self) -> int:
        """Words from a run to the next: as whole blocks and units have it, or with what follows."""
        last = self.out_run[-1]
        words = -(-self.places[last] * self.blocks[last] * self.block[last] // self.per_word)
        if self.in_units:
            return -(-words // self.group) * self.group
        return max(words, self.length // self.per_word + FOLLOWING) | 1  # odd: banks differ

    @cached_property
    def pitches(self) -> dict[int, tuple[int, int]]:
        """Words from one run to the next along a loop, within a block and from block to block.

        Blocks along the first loop that invocations share lie so that these use different banks.
        """
        step, found = self.run_words, {}
        apart = next((d for d in self.order if d not in self.out_run), None)
        for d in self.rest:
            found[d] = (step, step * self.block[d])
            if d == apart:
                found[d] = (step, found[d][1] + self._skew(found[d][1]))
            step = found[d][1] * self.blocks[d]
        return found

    def _skew(self, step: int) -> int:
        """Words that blocks along the first loop are moved apart, for the fewest conflicts."""
        first, *others = self.order
        apart = self.group
        if apart == 1 and first in self.rest and others[:1] == [self.out_run[0]]:
            apart = 32 // min(32, 1 << (self.blocks[first] - 1).bit_length())
        return (apart - step) % (2 * apart)

    @cached_property
    def plane(self) -> int:
        """Words of a plane; the next one begins in another bank."""
        outer = self.rest[-1:]
        words = max([self.run_words, *(self.pitches[d][1] * self.blocks[d] for d in outer)])
        units = words // self.group
        if not self.in_units:
            return units + FOLLOWING
        units += self.sector // self.unit - 1  # what is behind the last run is read, not written
        return units + (32 // self.group - units) % 32

    @property
    def words(self) -> int:
        """Words of workgroup memory."""
        return self.plane * self.group

    def starts_words(self, source_base: int) -> bool:
        """Whether every row of a block begins with a word of the source."""
        starts = [source_base]
        for d, dim in enumerate(self.dims):
            steps = [self.own[d], dim.size - self.box[d]] * (self.counts[d] > 1)
            steps += [self.block[d]] * (self.blocks[d] > 1)
            steps += [self.block[d] - 1] * (dim.source < 0)
            steps += [1] * (self.block[d] > 1 and d not in self.run)
            starts += [dim.source * step for step in steps]
        return not any(start % self.per_word for start in starts)


def _by_output(dims: Sequence[Dim], box: Sequence[int]) -> list[int]:
    """The loops of a box, first the one that walks the output element by element."""
    return [d for d in order_of([d.out for d in dims]) if box[d] > 1 or dims[d].out == 1]


def _out_run(dims: Sequence[Dim], box: Sequence[int]) -> tuple[int, ...]:
    """Loops of a box that the output walks without a gap."""
    first, *others = _by_output(dims, box)
    found = [first]
    for d in others:
        last = found[-1]
        if box[last] < dims[last].size or dims[d].out != dims[last].size * dims[last].out:
            break
        found.append(d)
    return tuple(found)


def tile_of(bits: int, dims: tuple[Dim, ...], storage: int) -> Tile:
    """The tile of a move in `storage` bytes of workgroup memory."""
    dims = tuple(d for d in dims if d.size > 1)
    if all(d.out != 1 for d in dims):  # runs of one element
        dims = (*dims, Dim(1, 1, 1))
    at_once = max(1, bits // 32)
    if at_once > 1:
        dims = (*(d.scaled(at_once, 1) for d in dims), Dim(at_once, 1, 1))
        bits = 32
    room = min(WORDS, storage // 4)
    large, small = (_fitting(bits, dims, n, room, at_once) for n in (TILE, TILE // 2))
    fits = bits == 32 and small.in_units and small.is_long and small.out_run == large.out_run
    return small if fits else large


def _fitting(bits: int, dims: tuple[Dim, ...], most: int, room: int, at_once: int) -> Tile:
    """A tile of at most so many bits, and words of workgroup memory."""
    # Gaps between runs that begin within units are moved, too.
    whole = closed(dims, UNIT_BITS // bits)
    made = _in_blocks(bits, whole, _box(most // bits, bits, whole), extent(dims), at_once)
    if made.work > OVERLAP and bits < 32 and not made.in_units:
        long = _in_blocks(bits, whole, _box(most // bits, bits, whole, 2), extent(dims), at_once)
        work = long.work * (SCATTERED if long.is_scattered else 1)
        made = long if work < 0.95 * made.work else made
    return made if made.words <= room else _fitting(bits, dims, most // 2, room, at_once)


def _in_blocks(
    bits: int, dims: tuple[Dim, ...], box: tuple[int, ...], end: int, at_once: int
) -> Tile:
    """A box with its blocks: those that read most, in the longest runs, and are not too large."""
    out_run = _out_run(dims, box)
    tiles = []
    for n in reversed(range(1, len(out_run) + 1)):
        if n < len(out_run) and prod(box[d] for d in out_run[:n]) * bits < LONG:
            break
        tile = Tile(dims, bits, box, (1,) * len(box), out_run[:n], end, at_once)
        for wanted in (at_once,) if at_once > 1 else [n for n in (4, 2, 1) if n * bits <= 32]:
            tiles.append(replace(tile, block=_block(tile, wanted)))
    fitting = [tile for tile in tiles if prod(tile.block) * bits <= 32 * BLOCK_WORDS]
    if not fitting:
        return min(tiles, key=lambda tile: prod(tile.block))
    return min(fitting, key=lambda tile: tile.work)


def _block(tile: Tile, wanted: int) -> tuple[int, ...]:
    """Steps of a block: `wanted` elements of the source, and whole words of the output.

    What loops repeat along which the source stays where it is, as far as there is room for it.
    """
    dims, box, run, out_run, per_word = tile.dims, tile.box, tile.run, tile.out_run, tile.per_word
    stays = [d for d, dim in enumerate(dims) if dim.source == 0]
    block = [1] * len(box)
    inner = 1
    for d in out_run:  # a run goes on at whole words, after so many steps of a loop
        need = per_word // gcd(inner, per_word)
        block[d] = need if box[d] % need == 0 or d == out_run[-1] else box[d]
        inner *= block[d]
    needs = tuple(block)
    length = 1
    for d in run:
        block[d] = _multiple(needs[d], -(-wanted // length), box[d], d in out_run[:-1])
        length *= block[d]
    for d in stays:
        # Neighbours in a run are better taken side by side.
        most = 4 if d in out_run else BLOCK_WORDS
        room = most * per_word * block[d] // prod(block)
        block[d] = _multiple(needs[d], room, box[d], d in out_run[:-1])
    return tuple(block)


def _multiple(need: int, wanted: int, size: int, is_whole: bool) -> int:
    """About `wanted` steps out of `size`, in multiples of `need`; without a rest if so asked."""
    steps = max(need, min(wanted, -(-size // need) * need) // need * need)
    return next(n for n in range(steps, 0, -need) if not is_whole or size % n == 0)


def _box(most: int, bits: int, dims: tuple[Dim, ...], stretch: int = 1) -> tuple[int, ...]:
    """Steps of each loop: an edge along each side, then as many as there may be in all.

    Stretched, runs of the output are so many times as long, and those of the source shorter.
    """
    by_output = order_of([d.out for d in dims])
    by_source = order_of([d.source for d in dims])
    box = [1] * len(dims)
    for d, dim in enumerate(dims):
        if dim.source == 0 and dim.size * prod(box) <= REPEATS:
            box[d] = dim.size
    unit, long, short = UNIT_BITS // bits, EDGE * stretch // bits, EDGE // stretch**2 // bits
    out, source = [d.out for d in dims], [d.source for d in dims]
    for steps, edge, enough in ((out, long, long), (source, short, 1 + short // 2)):
        span = 1
        for d in order_of(steps):
            if span >= enough or not steps[d]:
                break
            is_thin = bits == 32 and steps is source and abs(steps[d]) >= 2 * span
            reach = edge * GAPS if is_thin else edge
            box[d] = max(box[d], _steps(dims[d].size, 1 + -(-(reach - span) // abs(steps[d]))))
            span += (box[d] - 1) * abs(steps[d])
    while prod(box) > most:
        run = _out_run(dims, box)
        kept = run if prod(box[d] for d in run) * bits <= SHORT else ()
        d = max(
            range(len(dims)), key=lambda d: (1 < box[d] < dims[d].size and d not in kept, box[d])
        )
        some = most * box[d] // prod(box) // unit * unit
        half = 1 << (box[d] - 1).bit_length() - 1
        box[d] = some if half < some < box[d] else half
    for d in (*by_output, *by_source):  # what is left makes runs longer
        while box[d] > 1 and box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    for d in by_output:  # and then there are more of them
        while box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    run = _out_run(dims, box)
    own = Tile(dims, bits, tuple(box), (1,) * len(box), run, extent(dims), 1).own
    for d, dim in enumerate(dims):  # tiles of a loop hardly overlap by more than they must
        # Of narrower elements a unit is too much of a run: longer ones are tried for these.
        again = box[d] - own[d] if bits == 32 else 0
        tiles = -(-(dim.size - again) // (box[d] - again))
        even = -(-(dim.size - again) // tiles) + again
        group = unit if unit <= box[d] and d in by_output[:2] else 32 // bits
        if bits == 32 and d not in run:
            group = 1
        box[d] = min(box[d], -(-even // group) * group)
    return tuple(box)


def _steps(size: int, wanted: int) -> int:
    """`wanted` steps as a power of two; all where there are hardly more."""
    steps = 1 << (wanted - 1).bit_length()
    return size if size <= steps + steps // 2 else steps
