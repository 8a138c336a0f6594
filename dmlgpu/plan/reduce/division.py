"""How the elements of a reduction are divided among invocations, for any layout.

Loops are taken in the order of memory, not of the description, so that neighbouring invocations
read neighbours whichever axes are kept and whatever the order of the output is:

- `along`: the innermost loop is reduced and long. Lanes walk along a line together.
- `across`: the innermost loop is kept. Neighbours are on neighbouring lines, and where there are
  only a few lines side by side, lanes take the steps behind them: element by element, or in units
  that hold several steps of all these lines. An invocation also has whole lines to itself, where
  these are so short that a few units hold some of them.
- `window`: as `across`, where rows of narrow elements begin anywhere in units. A lane takes rows
  that all begin at the same place in a unit, so it reads whole units, and what it has of other
  lines is left out in the end.
- `tile`: what lies side by side belongs to short pieces of many lines. Neighbours read neighbours
  as if all of it were kept, and a workgroup joins the pieces of each line in its own memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm, prod

from dmlgpu.desc.tensor import TensorDesc, packed_strides
from dmlgpu.plan.dispatch import BANKS, VECTOR, Adapter
from dmlgpu.plan.reading import Loop, Reading, folded
from dmlgpu.plan.traffic import SECTOR
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import UNIT_BITS

WG_SIZE = 256
LARGE_WG_SIZE = 512  # along few lines, so that fewer workgroups meet
CPU_WG_SIZE = 64
ROUND_BYTES = 1024  # of one segment that an invocation of a GPU loads
CPU_ROUNDS = 1024
# A software driver runs the invocations of a vector at once, one vector after the other. So those
# of a vector share a line, unless it is short, and each leaves a part of the result; steps across
# many lines are taken a few at a time, and all lines along before the next few: further rows lie
# in other pages, and nobody fetches them ahead.
CPU_LONG = 8  # loads of each that are worth a part of the result
CPU_STEPS = 16  # of a line, at least
CPU_LEFT = 8  # words that are read for each that is left for the next pass, at least
CPU_NEAR = 2048  # bytes of a row that the next one is not far behind, so that there may be many
CPU_TERMS = 64  # values that are combined without a loop
CPU_HALVES = 16  # of halves, which take several values each to be converted
CPU_LOADS = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)  # of a round: so shapes share kernels
CPU_SHAPED_FROM = 1 << 16  # bytes; of smaller tensors any shape is quicker than a kernel is made
CPU_PLAIN = 128  # steps of a line of these that an invocation takes
CPU_PLAIN_LOADS = (8, 1)  # of a round
CPU_TURNS = 64  # positions of an invocation
AT_ONCE = 8  # loads that an invocation has under way before it combines any
AT_ONCE_OF_UNITS = 4  # of 16 bytes each
CPU_AT_ONCE = 1  # of a CPU adapter, where loads are not waited for
GROUPS = 512  # large workgroups that a large GPU has at once
CPU_ENOUGH = 64  # vectors that keep all cores busy
HELD_UNITS = 4  # of whole lines that an invocation reduces by itself
FOLDED = 64  # units of short rows that are taken as one
SIDES = 8  # a workgroup has a multiple of so many positions side by side: so shapes share kernels
FEW = 32  # neighbours below which a row is too short for a whole subgroup
ROW_BYTES = 128  # of a row that is read at once without its neighbours
PLAIN_LOADS = 128  # of an invocation, at most, in a kernel that is not made for one shape
SHORT = 256  # elements side by side that a line is joined from in workgroup memory
SHORT_BYTES = 4096  # of the accumulators of a few lines that are joined there together
PLACE, LAYOUT, FIRST = 0, 1, 2  # steps of a loop: the place among those reduced, then tensors


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are divided among invocations.

    A position is what one invocation reads at each step: `columns` neighbouring accumulators, or
    one of `group` neighbouring elements.
    """

    kind: str  # along, across, window or tile
    kept: tuple[Loop, ...]  # lines, in the order of positions: steps of the output
    positions: tuple[Loop, ...]
    reduces: tuple[Loop, ...]  # what remains of each line, in groups
    steps: tuple[int, ...]  # between neighbours of a group
    reading: Reading | None  # None: what earlier passes left is read
    columns: int
    group: int
    threads: int  # positions in all
    length: int  # groups of a line that the lanes walk through
    wg: int
    row: int = 0  # elements of a row of positions whose last one is not full; 0: none are so
    run: int = 0  # elements of a run that begins or ends inside of a unit; 0: none do
    run_units: int = 0  # units that such a run touches at most
    thin: bool = False  # a group is several steps of all lines side by side
    ragged: bool = False  # the last group goes beyond the end of a line
    window: int = 0  # lines of a block whose rows begin anywhere in units
    fold: int = 1  # such rows that are taken as one
    pad: int = 0  # accumulators between the planes of a tile, so that neighbours differ in banks
    pieces: int = 1  # neighbours, `apart` from each other, that a tile joins for one line
    apart: int = 1
    is_ordered: bool = True  # later steps are later places
    spots: int = 1  # positions of one invocation
    at_once: int = AT_ONCE_OF_UNITS  # loads of each position
    lanes: int = 1  # invocations that share one position
    side: int = 1  # positions side by side in a workgroup
    per_group: int = 1  # positions of a workgroup
    segments: int = 1  # of a line, each of which one workgroup reduces
    # Loads are written as a loop, not one by one: compilers of CPU adapters take long otherwise.
    looped: bool = False
    is_plain: bool = False  # in powers of two, so that a few kernels serve all small tensors
    on_cpu: bool = False
    meets: bool = False  # the last workgroup of a line joins the segments of all
    turns: int = 1  # positions that an invocation of a CPU adapter takes one after the other
    over: int = 1  # partial results of a line that are read lie so far apart
    in_units: bool = False  # partial results of neighbouring lines are written as whole units

    @property
    def lines(self) -> int:
        """Output elements."""
        return prod(d.size for d in self.kept)

    @property
    def rounds(self) -> int:
        """Whole rounds of loads of each segment."""
        return (self.length - self.ragged) // (self.segments * self.lanes * self.at_once)

    @property
    def rest(self) -> int:
        """Loads of each lane for what is behind the whole rounds of all segments.

        On a GPU as many as in a round, so that shapes share kernels: some are made in vain. Of
        elements of which a load has many, a power of two.
        """
        lanes = self.segments * self.lanes
        left = -(-self.length // lanes) - self.rounds * self.at_once
        if not left or (self.on_cpu and not self.is_plain):
            return left
        is_light = self.is_plain or self.columns * self.group <= UNIT_BITS // 32
        wanted = self.at_once if is_light else 1 << (left - 1).bit_length()
        return max(left, min(self.at_once, wanted))

    @property
    def parts(self) -> int:
        """Partial results of each line."""
        return self.segments * self.lanes if self.on_cpu else self.segments

    @property
    def by_parts(self) -> bool:
        """Whether all first parts come first in memory, then all second ones."""
        return self.on_cpu and self.kind == "across"

    @property
    def plane(self) -> int:
        """Accumulators from one column to the next in workgroup memory."""
        if self.window:
            return self.lanes * (self.side + 1) + self.pad
        return self.wg * self.spots + self.pad

    @property
    def blocks(self) -> int:
        """Workgroups beside each other."""
        return -(-self.threads // self.per_group)

    @property
    def lines_per_group(self) -> int:
        """Lines of a workgroup, which joins the pieces of each."""
        return self.window or self.per_group * self.columns // self.pieces

    def joining(self, words: int, adapter: Adapter) -> Shape:
        """How the partial results of all segments are joined."""
        in_units = self.in_units and self.by_parts
        columns = 4 // words if in_units else 1
        made = Shape(
            "along",
            self.kept,
            (),
            (Loop(self.parts, (1,)),),
            (),
            None,
            columns,
            1,
            self.lines // columns,
            self.parts,
            CPU_WG_SIZE if adapter.is_cpu else self.wg,
            is_ordered=False,  # each segment has a share of what is behind all
            over=self.lines if self.by_parts else 1,
            in_units=in_units,
        )
        made = made.divided(4 * words, adapter)
        return made if adapter.is_cpu else replace(made, segments=1)

    def divided(
        self,
        loaded: int,
        adapter: Adapter,
        granule: int = 1,
        beside: int = FEW,
        is_heavy: bool = False,
        steps: int = 1,
        terms: int = CPU_TERMS,
    ) -> Shape:
        """The same with as many lanes and segments as keep the adapter busy.

        `loaded` bytes are read at once, a workgroup takes whole granules of positions, and
        `beside` positions lie side by side in memory. Of kernels that are heavy, with values of two
        words or ends to be left out, registers let fewer run at once.
        """
        if adapter.is_cpu:
            return self._on_cpu(steps, terms)
        if self.is_plain:
            return self._plainly()
        at_once = AT_ONCE_OF_UNITS if loaded >= UNIT_BITS // 8 else AT_ONCE
        at_once = max(1, min(at_once, AT_ONCE_OF_UNITS * UNIT_BITS // 8 // loaded))
        spots, along, tile = 1, self.kind == "along", self.kind == "tile"
        if not along:
            while spots * 2 * self.length <= at_once and spots * 2 * self.wg <= self.threads:
                spots *= 2
            spots = max(spots, -(-granule // self.wg))
        lanes, side = 1, self.wg
        few = beside < FEW and self.kind == "across"
        if beside * loaded >= ROW_BYTES and self.threads >= GROUPS * WG_SIZE:
            few = False  # there are so many rows that no lanes need to take the steps behind them
        least = beside if few else max(16, (2 - tile) * ROW_BYTES // loaded)
        least = 1 if along else -(-least // granule) * granule
        each = at_once * 4  # loads that are worth another lane
        while (
            spots == 1
            and lanes < self.length
            and lanes * 2 * least <= self.wg
            and (
                lanes * each < self.length
                or lanes * self.threads < GROUPS * WG_SIZE
                or (along and lanes * loaded < ROW_BYTES and lanes * 4 <= self.length + (lanes > 1))
            )
        ):
            lanes *= 2
        if along:
            side = self.wg // lanes
        elif spots == 1:
            granules = -(-self.threads // granule)
            most = least // granule if few else self.wg // lanes // granule
            side = -(-granules // -(-granules // most))  # the last one as full as others
            if not few and granule == 1:
                side = min(most, -(-side // SIDES) * SIDES)  # so that shapes share kernels
            side *= granule
            is_row = not tile and beside >= self.threads and 2 * self.threads <= self.wg
            in_words = loaded >= 4 * self.columns  # narrow ones were not faster so
            if is_row and in_words and side * loaded % SECTOR:
                side = self.threads  # what ends within a sector would be read twice
            lanes = min(self.wg // side, self.length)
        per_group = side * spots // granule * granule
        at_once = max(1, at_once // spots)
        rounds = -(-self.length // (lanes * at_once))
        # All at once, or many more: a few that come late would run alone.
        blocks = -(-self.threads // per_group)
        groups = GROUPS * LARGE_WG_SIZE // self.wg
        if loaded > UNIT_BITS // 8:
            groups *= 2  # more than a unit in each load: they do not run at once anyway
        elif is_heavy:
            groups = groups * 3 // 4
        segments = max(1, groups // blocks)
        if blocks > GROUPS:
            segments = -(-rounds * at_once * loaded // ROUND_BYTES)
        segments = min(rounds, segments)
        if segments == 1:  # about as many loads in each round, and none in vain
            own = -(-self.length // lanes)
            at_once = -(-own // -(-own * 4 // (at_once * 5)))
        return replace(
            self,
            spots=spots,
            at_once=at_once,
            lanes=lanes,
            side=side,
            per_group=per_group,
            segments=segments,
        )

    def _plainly(self) -> Shape:
        """The same with numbers of which there are few, whatever the sizes are."""
        few = min(16, 1 << (self.threads - 1).bit_length())
        lanes = min(1 << self.length.bit_length() - 1, self.wg // few)
        side = self.wg // lanes
        most = AT_ONCE if self.columns == 1 else AT_ONCE_OF_UNITS
        at_once = min(most, 1 << (-(-self.length // lanes) - 1).bit_length())
        return replace(self, lanes=lanes, side=side, per_group=side, at_once=at_once, segments=1)

    def _on_cpu(self, steps: int, terms: int) -> Shape:
        """The same for the vectors of a CPU adapter.

        Across lines segments have so many steps, of which so many values are combined at once.
        """
        lanes, at_once, wg = 1, CPU_AT_ONCE, self.wg
        threads = 1 << (self.threads - 1).bit_length() if self.is_plain else self.threads
        enough = -(-self.length * self.threads // (CPU_ENOUGH * VECTOR))  # loads of each vector
        if self.kind == "along":
            together = self.over == 1 and self.length >= VECTOR * CPU_LONG
            lanes = VECTOR if together else 1
            each = max(64, min(CPU_ROUNDS, enough * VECTOR // lanes))
            at_once = at_once if self.group > 1 or self.in_units else AT_ONCE_OF_UNITS
        else:
            lanes = max(1, VECTOR // threads)
            each = max(1, min(steps, max(64, enough), self.length // lanes))
            at_once = min(each, max(1, terms // self.columns))
            loads: Sequence[int] = CPU_LOADS
            if self.is_plain:
                loads, each = CPU_PLAIN_LOADS, max(1, min(CPU_PLAIN, self.length // lanes))
            at_once = next(n for n in loads if n <= at_once)
        segments = max(1, self.length // (lanes * each))
        side = threads
        if side * lanes > VECTOR:
            side = min(wg, -(-side * lanes // VECTOR) * VECTOR) // lanes
        most = self.threads * segments // (side * CPU_ENOUGH)
        each = -(-self.length // (lanes * segments))
        most = min(most, self.threads // side, CPU_TURNS, max(1, 4 * CPU_TURNS // each))
        turns = 1 << max(1, most).bit_length() - 1
        return replace(
            self,
            wg=-(-side * lanes // VECTOR) * VECTOR,
            lanes=lanes,
            at_once=at_once,
            segments=segments,
            turns=turns,
            side=side * turns,
            per_group=side * turns,
            on_cpu=True,
        )


@dataclass(frozen=True, slots=True)
class _Axis:
    """A loop of more than one step through all tensors, and whether it is reduced."""

    loop: Loop  # steps of the place, of the layout, of the operands
    out: int  # step of the output
    reduced: bool


def shape_of(
    layout: TensorDesc,
    output: TensorDesc,
    axes: Sequence[int],
    operands: Sequence[Operand],
    adapter: Adapter,
    *,
    words: int,
    placed: bool,
    looped: bool,
) -> Shape:
    """The division of a reduction whose accumulators have so many words.

    It follows the layout alone, not the operands', so that values combine in the same order
    whether or not they are written first. `placed` says that accumulators know their place.
    """
    words = 1 << (words - 1).bit_length()  # workgroup memory aligns what it holds
    sorted_axes, is_ordered = _in_memory(layout, output, axes, operands, placed)
    beside, pieces, short = _innermost(sorted_axes)
    unit = UNIT_BITS // layout.data_type.bits
    thin = not (adapter.is_cpu or placed) and _is_thin(sorted_axes, beside, pieces, short, unit)
    if pieces == 1 or thin:
        short = 0
    elif beside == 1:
        short = short if pieces <= SHORT else 0
    elif beside * layout.data_type.bits >= FEW * 32 or beside * pieces * 4 * words > SHORT_BYTES:
        short = 0

    def divided(short: int, wg: int, *, thin: bool = thin, is_plain: bool = False) -> Shape:
        outside = len(sorted_axes) - short
        held = [a for n, a in enumerate(sorted_axes) if not a.reduced or n >= outside]
        rest = [a for a in sorted_axes[:outside] if a.reduced]
        width = FIRST + len(operands)
        positions, reduces = _folded(held, width), _folded(rest, width)
        kept = folded([Loop(a.loop.size, (a.out,)) for a in held if not a.reduced])
        along = not short and sorted_axes != [] and sorted_axes[-1].reduced
        made = Shape(
            "tile" if short else "along" if along else "across",
            kept or (Loop(1, (0,)),),
            positions,
            reduces,
            (positions if not along else reduces)[-1].steps,
            None,
            1,
            1,
            prod(d.size for d in positions),
            prod(d.size for d in reduces),
            wg,
            pieces=pieces if short else 1,
            apart=beside if short else 1,
            is_ordered=is_ordered and not short,
            looped=looped,
            thin=thin,
            is_plain=is_plain,
            ragged=thin and pieces % (lcm(beside, unit) // beside) > 0,
        )
        if along:
            return _along(made, rest, held, operands, unit, adapter)
        whole = short > 0 and beside == 1 and pieces % unit == 0
        return _across(made, held, rest, operands, unit, words, adapter, whole, beside, placed)

    if adapter.is_cpu:
        is_small = prod(layout.sizes) * layout.data_type.bits < 8 * CPU_SHAPED_FROM
        return divided(0, CPU_WG_SIZE, is_plain=is_small)
    if prod(layout.sizes) * layout.data_type.bits < 8 * adapter.shaped_from:
        shape = divided(0, WG_SIZE, thin=False, is_plain=True)
        if shape.length <= PLAIN_LOADS * shape.lanes:
            return shape
    shape = divided(short, WG_SIZE)
    if shape.kind == "tile" and beside == shape.length == 1:
        short = 0  # each line is read by a few lanes
        shape = divided(short, WG_SIZE)
    large = min(LARGE_WG_SIZE, adapter.max_workgroup_size)
    room = adapter.max_workgroup_storage // (4 * words * shape.columns)
    is_long = shape.length > shape.lanes * shape.at_once
    is_large = shape.blocks <= GROUPS and is_long and large <= room
    return divided(short, large) if is_large and shape.kind == "along" and not shape.run else shape


def _in_memory(
    layout: TensorDesc,
    output: TensorDesc,
    axes: Sequence[int],
    operands: Sequence[Operand],
    placed: bool,
) -> tuple[list[_Axis], bool]:
    """The loops in the order of memory, and whether those reduced are in that of indices too."""
    sizes = layout.sizes
    steps = packed_strides(tuple(n if d in axes else 1 for d, n in enumerate(sizes)))
    made = []
    for d, size in enumerate(sizes):
        place = steps[d] if placed and d in axes else 0
        at = (t.effective_strides[d] for t in (layout, *(o.tensor for o in operands)))
        loop = Loop(size, (place, *at))
        if size > 1:
            made.append(_Axis(loop, output.effective_strides[d], d in axes))
    by_index = [a for a in made if a.reduced]
    # A loop that stands still comes first: whatever is inside of it is read side by side.
    made.sort(key=lambda a: (a.loop.steps[LAYOUT] != 0, -a.loop.steps[LAYOUT], -a.out))
    return made, by_index == [a for a in made if a.reduced]


def _innermost(axes: Sequence[_Axis]) -> tuple[int, int, int]:
    """Kept elements side by side, steps of the reduced run around them, and loops of both."""
    sizes, at = [1, 1], len(axes)
    for n, reduced in enumerate((False, True)):
        extent = 0
        while at and axes[at - 1].reduced is reduced:
            loop = axes[at - 1].loop
            if extent and loop.steps[LAYOUT] != extent:
                break
            extent = loop.size * loop.steps[LAYOUT]
            sizes[n] *= loop.size
            at -= 1
    return sizes[0], sizes[1], len(axes) - at


def _is_thin(axes: Sequence[_Axis], beside: int, pieces: int, short: int, unit: int) -> bool:
    """Whether long lines side by side are so few that units hold several steps of all of them."""
    outside = axes[: len(axes) - short]
    group = lcm(beside, unit) // beside
    return (
        1 < beside <= unit
        and group * beside <= HELD_UNITS * unit
        and pieces > SHORT
        and axes[-1].loop.steps[LAYOUT] == 1
        and not any(a.loop.steps[LAYOUT] % unit for a in outside)
        and not (pieces % group and any(a.reduced for a in outside))
    )


def _folded(axes: Sequence[_Axis], width: int) -> tuple[Loop, ...]:
    return folded([a.loop for a in axes]) or (Loop(1, (0,) * width),)


def _by_layout(axes: Sequence[_Axis]) -> tuple[Loop, ...]:
    """The loops as far as the layout and places go."""
    return folded([Loop(a.loop.size, a.loop.steps[:FIRST]) for a in axes]) or (Loop(1, (0, 0)),)


def _grouped(loops: Sequence[Loop], group: int) -> tuple[Loop, ...]:
    """The same loops, the innermost in steps of a group."""
    *outer, last = loops
    return (*outer, Loop(-(-last.size // group), tuple(s * group for s in last.steps)))


def _along(
    made: Shape,
    rest: Sequence[_Axis],
    held: Sequence[_Axis],
    operands: Sequence[Operand],
    unit: int,
    adapter: Adapter,
) -> Shape:
    """Lanes along lines, by units; where lines are not whole units, what is outside is left out."""
    *outer, inner = _by_layout(rest)
    strides = [d.steps[LAYOUT] for d in (*_by_layout(held), *outer)]
    last = made.reduces[-1]
    beside = inner.steps[LAYOUT] == 1
    aligned = not any(s % unit for s in strides)
    is_whole = aligned and inner.size % unit == 0
    group = unit if beside and (is_whole or not adapter.is_cpu) else 1
    ragged = group > 1 and aligned and not is_whole and not outer and inner.size > unit
    run = 0 if is_whole or ragged or group == 1 else inner.size
    run_units = -(-(inner.size + (0 if aligned else unit - 1)) // unit) if run else 0
    whole = Loop(-(-last.size // group) * group, last.steps)
    order: tuple[Loop, ...] = (*made.positions, *made.reduces[:-1], whole)
    if run:
        same = [all(d.steps[t + FIRST] == d.steps[LAYOUT] for d in order) for t in _range(operands)]
        # Units of what lies as the layout does begin where the layout's do.
        shift = tuple(int(not s) for s in same)
        order = (Loop(2, (0, 0, *shift)), Loop(group, last.steps))
    fits = last.size == inner.size if run or ragged else last.size % group == 0
    reading = _reading(operands, order, group, fits, shifts=not run)
    reduces = made.reduces
    if reading.is_scattered:
        pass
    elif run:
        reduces = made.reduces[:-1] or (Loop(1, (0,) * len(last.steps)),)
    else:
        reduces = _grouped(made.reduces, group)
    length = made.length // inner.size * run_units if run else -(-made.length // group)
    made = replace(made, reading=reading, group=group, reduces=reduces)
    made = replace(made, run=run, run_units=run_units, ragged=ragged)
    loaded = max(4, group * UNIT_BITS // unit // 8)
    return replace(made, length=length).divided(loaded, adapter, is_heavy=run > 0)


def _across(
    made: Shape,
    held: Sequence[_Axis],
    rest: Sequence[_Axis],
    operands: Sequence[Operand],
    unit: int,
    words: int,
    adapter: Adapter,
    is_whole: bool,
    beside: int,
    placed: bool,
) -> Shape:
    """Neighbours on neighbouring positions, which are units where rows begin on units."""
    *outer, inner = _by_layout(held)
    strides = [d.steps[LAYOUT] for d in (*outer, *_by_layout(rest))]
    aligned = inner.steps[LAYOUT] == 1 and not any(d % unit for d in strides if d)
    bits = UNIT_BITS // unit
    columns, group, granule = 1, 1, made.pieces * made.apart
    tile = made.kind == "tile"
    if made.thin:
        return _thin(made, operands, unit, beside, adapter)
    # Words are as fast one by one, and a unit of bytes makes too many results for an invocation.
    narrow = bits == 16 or (bits == 8 and inner.size < unit)
    narrow = narrow and not (adapter.is_cpu or made.is_plain)
    if narrow and made.kind == "across" and inner.steps[LAYOUT] == 1 and not aligned:
        windowed = _windowed(made, held, rest, operands, unit, words, placed, adapter)
        if windowed is not None:
            return windowed
    own = lcm(granule * (max(1, 32 // bits) if made.length < FEW else 1), unit)
    fits_storage = own // made.pieces * WG_SIZE * 4 * words <= adapter.max_workgroup_storage
    # Words that would meet in workgroup memory otherwise are faster there; what is narrower is not.
    units = HELD_UNITS * (2 if bits == 16 or (bits == 8 and made.apart == 1) else 1)
    can_hold = tile and own <= units * unit and fits_storage
    in_units = aligned and not (outer and inner.size % own)
    lines = made.positions
    if can_hold and not in_units and placed and made.pieces % unit and _counts_on(held):
        # Places begin anew with each line, so lines that follow each other are one loop.
        unplaced = [replace(a, loop=Loop(a.loop.size, (0, *a.loop.steps[1:]))) for a in held]
        *around, within = _by_layout(unplaced)
        steps_around = [d.steps[LAYOUT] for d in (*around, *_by_layout(rest))]
        is_run = within.steps[LAYOUT] == 1 and not any(d % unit for d in steps_around)
        if is_run and not (around and within.size % own):
            in_units, outer, inner = True, around, within
            lines = _folded(unplaced, FIRST + len(operands))
    if can_hold and in_units:
        # An invocation holds whole lines: nothing of them is joined in workgroup memory.
        tile, columns, group = False, own // made.pieces, made.pieces
        made = replace(made, kind="across", pieces=1)
    elif is_whole and aligned:
        group, made = unit, replace(made, pieces=made.pieces // unit)
        granule = made.pieces
    else:
        choices = [unit] if aligned else []
        if inner.steps[LAYOUT] == 1 and not adapter.is_cpu:
            in_halves = not (tile or any(d % (unit // 2) for d in strides))
            choices += [unit // 2] if bits < 32 or in_halves else []
            choices += [32 // bits] if bits < 32 else []
        room = adapter.max_workgroup_storage // (4 * words)
        for c in choices:
            ragged = inner.size % c and (outer or adapter.is_cpu)
            all_of = WG_SIZE * c
            joined = max(all_of, lcm(granule, c) * 2) * 3 // 2 + WG_SIZE + BANKS if tile else all_of
            if not (adapter.is_cpu or joined <= room) or (ragged and (tile or adapter.is_cpu)):
                continue
            columns = c
            break
        granule = lcm(granule, columns) // columns
    size = columns * group
    row = inner.size if inner.size % size and outer else 0
    last = lines[-1]
    fits = last.size % size == 0 or last.size == inner.size
    whole_row = Loop(-(-last.size // size) * size, last.steps)
    order = (*made.reduces, *lines[:-1], whole_row)
    reading = _reading(operands, order, size, fits)
    threads = made.threads // row * -(-row // size) if row else -(-made.threads // size)
    # One by one, elements have places of their own.
    positions = made.positions if reading.is_scattered else _grouped(lines, size)
    made = replace(made, reading=reading, columns=columns, group=group, positions=positions)
    made = replace(made, threads=threads, row=row)
    loaded = max(4, size * bits // 8)
    if tile:
        loaded = min(16, loaded)
    near = FEW if tile or group > 1 else -(-beside // columns)
    steps = max(CPU_STEPS, CPU_LEFT * 32 * words // bits)
    steps = CPU_ROUNDS if beside * bits <= CPU_NEAR * 8 else steps
    granule, terms = granule if tile else 1, CPU_HALVES if bits == 16 else CPU_TERMS
    heavy = words > 1
    shape = made.divided(loaded, adapter, granule, near, heavy, steps=steps, terms=terms)
    return _within(shape, words, granule, adapter) if tile else shape


def _counts_on(held: Sequence[_Axis]) -> bool:
    """Whether places count on along the run that is reduced, innermost in memory."""
    reduced = [a for a in held if a.reduced]
    return held[-1].reduced and [d.steps for d in _by_layout(reduced)] == [(1, 1)]


def _thin(
    made: Shape, operands: Sequence[Operand], unit: int, beside: int, adapter: Adapter
) -> Shape:
    """Lanes along all lines that lie side by side, in groups of steps that are whole units."""
    group = lcm(beside, unit) // beside
    *kept, row = made.positions
    *outer, run = made.reduces
    length = -(-made.length // group)
    fits = row.size == beside and run.steps == tuple(beside * s for s in row.steps)
    fits = fits and not (outer and run.size % group)
    size = group * beside
    reading = _reading(operands, (*outer, *kept, Loop(size, row.steps)), size, fits)
    if not reading.is_scattered:
        groups = Loop(-(-run.size // group), tuple(s * group for s in run.steps))
        rows = tuple(kept) or (Loop(1, (0,) * len(row.steps)),)
        made = replace(made, positions=rows, reduces=(*outer, groups))
    threads = made.lines // beside
    made = replace(made, reading=reading, columns=beside, group=group, apart=beside)
    made = replace(made, threads=threads, length=length)
    return made.divided(size * UNIT_BITS // unit // 8, adapter, beside=1)


def _windowed(
    made: Shape,
    held: Sequence[_Axis],
    rest: Sequence[_Axis],
    operands: Sequence[Operand],
    unit: int,
    words: int,
    placed: bool,
    adapter: Adapter,
) -> Shape | None:
    """Lanes on rows that begin at the same place in a unit; None where there are too few.

    Of short rows with nothing between them some are taken as one, which is whole units.
    """
    *outer, inner = _by_layout(held)
    *others, run = _by_layout(rest)
    size, step, count = inner.size, run.steps[LAYOUT], 1
    steps = [d.steps[LAYOUT] for d in others]
    ends = [d.size * d.steps[LAYOUT] for d in (*others[1:], run)]
    if any((s - end) % unit for s, end in zip(steps, ends, strict=False)):
        return None
    fold = _folds(size, unit) if step == size and not placed else 1
    if others and run.size % fold:
        fold = 1
    turn = unit // gcd(step * fold, unit)  # rows after which one begins at the same place again
    before = unit - gcd(unit, step * fold, *steps, *(d.steps[LAYOUT] for d in outer))
    side, most = -(-(size * fold + before) // unit), WG_SIZE // turn
    if side > most and fold == 1:
        count = -(-size // ((most - 1) * unit))
        size = -(-size // (count * unit)) * unit
        side = size // unit + 1
    lanes = turn * max(1, round(WG_SIZE / (side * turn)))
    if lanes * side > adapter.max_workgroup_size:
        lanes -= turn
    wg = -(-lanes * side // BANKS) * BANKS
    at_once, pad = AT_ONCE_OF_UNITS, BANKS // (unit * words)
    room = adapter.max_workgroup_storage // (4 * words)
    length = made.length // run.size * -(-run.size // fold)
    is_short = size * fold < unit or length < 2 * lanes * at_once
    if not lanes or is_short or (lanes * (side + 1) + pad) * unit + wg > room:
        return None
    *_, row = made.positions
    *_, loop = made.reduces
    same = [
        all(d.steps[t + FIRST] == d.steps[LAYOUT] for d in (*made.positions, *made.reduces))
        for t in _range(operands)
    ]
    # Units of what lies as the layout does begin where the layout's do.
    shift = tuple(int(not s) for s in same)
    order = (Loop(2, (0, 0, *shift)), Loop(unit, row.steps))
    fits = row.size == inner.size and loop.size == run.size
    if fold > 1:
        fits = fits and loop.steps == tuple(s * size for s in row.steps)
    reading = _reading(operands, order, unit, fits, shifts=False)
    if not reading.is_scattered:
        parts = ((count, size), (side, unit))
        each = [Loop(n, tuple(s * by for s in row.steps)) for n, by in parts]
        made = replace(made, positions=(*made.positions[:-1], *each))
        made = replace(made, reduces=_grouped(made.reduces, fold))
    blocks = prod(d.size for d in outer) * count
    groups = GROUPS * WG_SIZE // wg  # half as many as elsewhere: each holds a unit of results
    rounds = -(-length // (lanes * at_once))
    segments = max(1, groups // blocks)
    if blocks > groups:
        segments = -(-rounds * at_once * UNIT_BITS // 8 // ROUND_BYTES)
    return replace(
        made,
        kind="window",
        reading=reading,
        columns=unit,
        threads=blocks * side,
        length=length,
        ragged=run.size % fold > 0,
        wg=wg,
        row=inner.size,
        window=size,
        fold=fold,
        pad=pad,
        pieces=lanes * fold,
        apart=(side + 1) * unit,
        at_once=at_once,
        lanes=lanes,
        side=side,
        per_group=side,
        segments=min(rounds, segments),
    )


def _folds(size: int, unit: int) -> int:
    """Rows of so many elements that are taken as one; 1 where whole units would be too many."""
    rows = unit // gcd(size, unit)
    units = size * rows // unit
    return rows * max(1, FOLDED // units) if units < WG_SIZE else 1


def _within(shape: Shape, words: int, granule: int, adapter: Adapter) -> Shape:
    """The same with no more positions of an invocation than workgroup memory has room for."""
    room = adapter.max_workgroup_storage // (4 * words) - shape.wg - BANKS
    spots = shape.spots
    results = 1 + 1 / min(shape.pieces, 2)  # with more, fewer workgroups would have room
    while spots > 1 and spots * shape.wg * shape.columns * results > room:
        spots -= 1
    per_group = shape.side * spots // granule * granule
    pad = BANKS // (shape.columns * words)
    return replace(shape, spots=spots, per_group=per_group, pad=pad)


def _range(operands: Sequence[Operand]) -> range:
    return range(len(operands))


def _reading(
    operands: Sequence[Operand],
    order: Sequence[Loop],
    group: int,
    fits: bool,
    *,
    shifts: bool = True,
) -> Reading:
    """How a group is read whose elements are side by side where it `fits` the innermost loop."""
    if not fits:
        return Reading.scattered(operands, group)
    loops = [Loop(d.size, d.steps[FIRST:]) for d in order]
    made = Reading.along(operands, loops, group, "params.step{}")
    access = [
        "run"
        if shifts and a == "each" and o.bits < 32 <= group * o.bits and loops[-1].steps[t] == 1
        else a
        for t, (a, o) in enumerate(zip(made.access, operands, strict=True))
    ]
    return replace(made, access=tuple(access))
