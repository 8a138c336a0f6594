"""Moves through workgroup memory, for layouts whose neighbours are not neighbours on both sides.

A tile is a box in the space of the loops: long enough along the loops that step least through the
source and along those that step least through the output. A workgroup reads it in the order of the
source and writes it in the order of the output, so that both are walked by whole sectors. That
serves transposes, permutations of all kinds and short innermost axes alike.

An invocation takes in a block of the box: 16 bytes of the source where they lie side by side, and
as much along the output as whole words of it need. In registers the block is put into the order of
the output, by shifts that the plan knows, and workgroup memory holds runs of the output as words.
Where a block of whole words would be too large, it holds each element in a word of its own.

The plan writes the kernel out: loops would keep loads from being under way at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from dmlgpu.desc.cached import cached_property
from dmlgpu.plan.dispatch import Dispatch, Plan, Value, eight, funnel, of_eight
from dmlgpu.plan.loops import Dim, count, extent, order_of

WG_SIZE = 256  # and fewer where a tile has fewer blocks
LEAST_WG_SIZE = 32
READ = 32  # bits that an invocation reads side by side: more is read from too many lines at once
UNIT = 128  # bits that an invocation writes, where runs are whole units
EDGE = 1024  # bits of a run that keep both sides in whole sectors
TILE = 65536  # bits of a tile: of larger ones too few are under way; half where runs are long still
PER_LANE = 8  # words of a tile for each invocation
WORDS = 5120  # that a tile holds at most, where an adapter has the room
BLOCK_WORDS = 40  # of a block at most, which lie in registers
SECTOR = 256  # bits that are read together: more between two of a row are two rows
STEPS = 4  # elements from one to the next, up to which a row is read with what lies between
REPEATS = 8  # steps of a loop that stays where it is in the source, up to which it is read once
LONG = 512  # bits of a run of the output, from which on its ends are few enough to be put together
FULL = 1.08  # work of tiles, over what is in them, from which on they are made smaller
BUSY = 0.9  # of a workgroup's invocations, from which on each may keep its column of the output


@dataclass(frozen=True)
class Tile:
    """The box of a move: how many steps of each loop, and how the two sides walk them.

    Elements have 32 bits at most: one of 64 is two words, and which of them is the last loop.
    """

    dims: tuple[Dim, ...]
    bits: int
    box: tuple[int, ...]  # steps of each loop
    block: tuple[int, ...]  # of these, what one invocation takes in at once
    out_run: tuple[int, ...]  # the loops of a run of the output, which go on where one ends
    is_packed: bool  # runs are held as words; else each element has a word
    is_alone: bool  # nothing follows the output that a unit could reach

    @property
    def per_word(self) -> int:
        """Elements of a word."""
        return 32 // self.bits

    @property
    def per_cell(self) -> int:
        """Elements of what is held in a word."""
        return self.per_word if self.is_packed else 1

    @cached_property
    def rest(self) -> tuple[int, ...]:
        """The loops over runs of the output."""
        return tuple(d for d in _by_output(self.dims, self.box) if d not in self.out_run)

    @cached_property
    def run(self) -> tuple[int, ...]:
        """The loops along which the source is read with what lies between."""
        return _source_run(self.dims, self.bits, self.box)

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Blocks along each loop; the last may reach beyond the box."""
        return tuple(-(-n // b) for n, b in zip(self.box, self.block, strict=True))

    @cached_property
    def order(self) -> list[int]:
        """The loops with several blocks, in the order in which invocations take these."""
        nearest = [d for d in order_of([d.source for d in self.dims]) if self.box[d] > 1]
        loops = [*(self.run or nearest[:1]), *_by_output(self.dims, self.box)]
        return [d for d in dict.fromkeys(loops) if self.blocks[d] > 1]

    @property
    def wg_size(self) -> int:
        """Invocations of a workgroup: each has a block at least, and about PER_LANE words."""
        wanted = min(prod(self.blocks), -(-prod(self.box) * self.bits // (32 * PER_LANE)))
        return min(WG_SIZE, max(LEAST_WG_SIZE, 1 << (wanted - 1).bit_length()))

    @property
    def length(self) -> int:
        """Elements of a run of the output."""
        return prod(self.box[d] for d in self.out_run)

    @cached_property
    def places(self) -> dict[int, int]:
        """Elements from one step of a loop of a run to the next."""
        steps, step = {}, 1
        for d in self.out_run:
            steps[d] = step
            step *= self.box[d]
        return steps

    @cached_property
    def pitches(self) -> dict[int, tuple[int, int]]:
        """Words from one run to the next along a loop, within a block and from block to block.

        Blocks along the first loop that invocations share lie so that these use different banks.
        """
        step, found = self.run_cells, {}
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
        if self.per_unit > 1 or first in self.out_run or not others or others[0] in self.rest:
            return self.per_unit * (1 - step // self.per_unit % 2)
        side = min(32, 1 << (self.blocks[first] - 1).bit_length())
        return (32 // side - step) % 32

    @cached_property
    def per_unit(self) -> int:
        """Words that are held of each unit, where the output is written in these; else 1."""
        return UNIT // (self.bits * self.per_cell) if self.in_units else 1

    @cached_property
    def run_cells(self) -> int:
        """Words that hold a run, as whole blocks and units have it."""
        last = self.out_run[-1]
        cells = -(-self.places[last] * self.blocks[last] * self.block[last] // self.per_cell)
        return -(-cells // self.per_unit) * self.per_unit

    @cached_property
    def plane(self) -> int:
        """Words in which one word of each unit is held, neighbours in different banks.

        All that is held where there are no units.
        """
        outer = self.rest[-1:]
        cells = max([self.run_cells, *(self.pitches[d][1] * self.blocks[d] for d in outer)])
        units = cells // self.per_unit
        return units + (32 // self.per_unit - units) % 32 if self.per_unit > 1 else units

    @property
    def words(self) -> int:
        """Words of workgroup memory, with one before the first run and one behind the last."""
        return self.plane * self.per_unit + 2 * (self.per_unit == 1)

    def _starts_with(self, group: int) -> bool:
        """Whether every run of a tile begins and ends with a group of elements of the output."""
        steps = [d.out for n, d in enumerate(self.dims) if n not in self.out_run]
        ends = prod(self.dims[d].size for d in self.out_run)
        return not any(n % group for n in (self.length, ends, *steps))

    @cached_property
    def is_open(self) -> bool:
        """Whether the output is one run of whole units, whose last tile may end beyond it."""
        one = prod(self.dims[d].size for d in self.out_run) == count(self.dims)
        one = one and extent(self.dims) == count(self.dims)
        whole = self.length * self.bits % UNIT == 0 or self.length == count(self.dims)
        return self.is_alone and one and whole

    @cached_property
    def in_units(self) -> bool:
        """Whether runs are written in whole units."""
        return self.is_open or self._starts_with(UNIT // self.bits)

    @property
    def is_long(self) -> bool:
        """Whether a tile is read and written in runs that keep both sides in whole sectors."""
        read = prod(self.box[d] for d in self.run) if self.run else self.length
        return min(2 * read, self.length) * self.bits >= EDGE

    @cached_property
    def is_whole(self) -> bool:
        """Whether no word of the output belongs to two runs or two tiles."""
        return self.in_units or self._starts_with(self.per_word)

    @cached_property
    def own(self) -> tuple[int, ...]:
        """Steps from one tile to the next: fewer where a word has elements of both."""
        own = list(self.box)
        last = self.out_run[-1]
        if not self.is_whole and self.box[last] < self.dims[last].size:
            own[last] -= -(-(self.per_word - 1) // self.places[last])
        return tuple(own)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each loop."""
        steps = zip(self.dims, self.box, self.own, strict=True)
        return tuple(1 + -(-(dim.size - box) // own) for dim, box, own in steps)

    @property
    def run_words(self) -> int:
        """Words of the output that a run may have: fewer where it goes on in other tiles."""
        last = self.out_run[-1]
        if self.is_whole or self.box[last] < self.dims[last].size:
            return -(-self.length // self.per_word)
        return (self.length + self.per_word - 2) // self.per_word + 1

    def is_aligned(self, source_base: int) -> bool:
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


def _source_run(dims: Sequence[Dim], bits: int, box: Sequence[int]) -> tuple[int, ...]:
    """Loops of a box that together need not much more of the source than what they take."""
    found: list[int] = []
    span = 1
    for d in order_of([d.source for d in dims]):
        step = abs(dims[d].source)
        if box[d] == 1:
            continue
        if step == 0 or step > STEPS * span or (found and (step - span) * bits > SECTOR):
            break
        found.append(d)
        span += (box[d] - 1) * step
    return tuple(found)


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


def tile_of(bits: int, dims: tuple[Dim, ...], storage: int, *, is_alone: bool) -> Tile:
    """The tile of a move in `storage` bytes of workgroup memory."""
    dims = tuple(d for d in dims if d.size > 1)
    if all(d.out != 1 for d in dims):  # runs of one element
        dims = (*dims, Dim(1, 1, 1))
    if bits == 64:
        dims = (*(d.scaled(2, 1) for d in dims), Dim(2, 1, 1))
        bits = 32
    room = min(WORDS, storage // 4)
    large, small = (_fitting(bits, dims, n, room, is_alone) for n in (TILE, TILE // 2))
    fits = small.in_units and small.is_long and small.out_run == large.out_run
    return small if fits else large


def _fitting(bits: int, dims: tuple[Dim, ...], most: int, room: int, is_alone: bool) -> Tile:
    """A tile of at most so many bits, and words of workgroup memory."""
    made = _in_blocks(bits, dims, _box(most // bits, bits, dims), is_alone)
    return made if made.words <= room else _fitting(bits, dims, most // 2, room, is_alone)


def _in_blocks(bits: int, dims: tuple[Dim, ...], box: tuple[int, ...], is_alone: bool) -> Tile:
    """A box with its blocks: of whole words of the output where they are not too large for that."""
    run, out_run = _source_run(dims, bits, box), _out_run(dims, box)
    runs = [out_run]
    if box[out_run[0]] * bits >= LONG:
        runs.append(out_run[:1])
    stays = [d for d, dim in enumerate(dims) if dim.source == 0]
    for outer in runs:
        wanted = max(1, READ // bits)
        while wanted:
            block = _block(box, run, outer, stays, wanted, 32 // bits)
            if prod(block) * bits <= 32 * BLOCK_WORDS:
                return Tile(dims, bits, box, block, outer, True, is_alone)
            wanted //= 2
    block = _block(box, run, out_run, stays, max(1, READ // bits), 1)
    return Tile(dims, bits, box, block, out_run, False, is_alone)


def _block(
    box: Sequence[int],
    run: Sequence[int],
    out_run: Sequence[int],
    stays: Sequence[int],
    wanted: int,
    per_word: int,
) -> tuple[int, ...]:
    """Steps of a block: `wanted` elements of the source, and whole words of the output.

    What loops repeat along which the source stays where it is, as far as there is room for it.
    """
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
        most = (
            4 if d in out_run else BLOCK_WORDS
        )  # neighbours in a run are better taken side by side
        room = most * per_word * block[d] // prod(block)
        block[d] = _multiple(needs[d], room, box[d], d in out_run[:-1])
    return tuple(block)


def _multiple(need: int, wanted: int, size: int, is_whole: bool) -> int:
    """About `wanted` steps out of `size`, in multiples of `need`; without a rest if so asked."""
    steps = max(need, min(wanted, -(-size // need) * need) // need * need)
    return next(n for n in range(steps, 0, -need) if not is_whole or size % n == 0)


def _box(most: int, bits: int, dims: tuple[Dim, ...]) -> tuple[int, ...]:
    """Steps of each loop: an edge along each side, then as many as there may be in all."""
    by_output = order_of([d.out for d in dims])
    by_source = order_of([d.source for d in dims])
    box = [d.size if d.source == 0 and d.size <= REPEATS else 1 for d in dims]
    edge, unit = EDGE // bits, UNIT // bits
    for order, enough in ((by_output, edge), (by_source, 1 + edge // 2)):
        length = 1
        for d in order:
            if length >= enough:
                break
            box[d] = max(box[d], _steps(dims[d].size, -(-edge // length)))
            length *= box[d]
    while prod(box) > most:
        d = max(range(len(dims)), key=lambda d: (1 < box[d] < dims[d].size, box[d]))
        some = most * box[d] // prod(box) // unit * unit
        half = 1 << (box[d] - 1).bit_length() - 1
        box[d] = some if half < some < box[d] else half
    for d in (*by_output, *by_source):  # what is left makes runs longer
        while box[d] > 1 and box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    for d in by_output:  # and then there are more of them
        while box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    for d, dim in enumerate(dims):  # tiles of a loop hardly overlap
        tiles = -(-dim.size // box[d])
        if tiles * box[d] > FULL * dim.size:
            group = unit if unit <= box[d] else 32 // bits
            box[d] = min(box[d], -(-dim.size // (tiles * group)) * group)
    return tuple(box)


def _steps(size: int, wanted: int) -> int:
    """`wanted` steps as a power of two; all where there are hardly more."""
    steps = 1 << (wanted - 1).bit_length()
    return size if size <= steps + steps // 2 else steps


def dispatch(tile: Tile, source_base: int, bindings: dict[str, str]) -> Plan:
    """One workgroup for each tile; `source_base` in elements of the tile."""
    tiles = prod(tile.counts)
    unit = UNIT // tile.bits
    params: dict[str, Value] = {
        "count": tiles,
        "source_base": source_base,
        "end": -(-count(tile.dims) // unit),
        "tail": (count(tile.dims) - 1) % unit + 1,
        "sizes": eight([d.size for d in tile.dims][:8]),
        "counts": eight(tile.counts[:8]),
        "out_strides": eight([d.out for d in tile.dims][:8]),
        "source_strides": eight([abs(d.source) for d in tile.dims][:8]),
    }
    kind = "words_alone" if tile.is_whole else "words_shared"
    if tile.in_units:
        kind = "units_open" if tile.is_open else "units_alone"
    put = _put_units if tile.in_units else _put_words
    code = "\n".join([*_declared(tile), *_taken(tile, source_base), *put(tile)])
    constants = {"WG_SIZE": tile.wg_size} | ({"BITS": tile.bits} if tile.is_open else {})
    return Plan(
        (Dispatch("move/tile", tiles, params, bindings, {"output": kind}, constants, code=code),)
    )


def _declared(tile: Tile) -> list[str]:
    """Workgroup memory, and where tile `number` begins on both sides.

    The last tile of a loop ends where the loop does and makes some of the one before again, so that
    all tiles are whole. Only where the output is one run it ends beyond that.
    """
    lines = [
        f"var<workgroup> held: array<u32, {tile.words}>;",
        "struct Tile { source: u32, output: u32, begins: bool, ends: bool, }",
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var first = 0u;",
        "  var tile = Tile(params.source_base, 0u, true, true);",
    ]
    cut = [d for d in range(len(tile.dims)) if tile.counts[d] > 1]
    # Tiles that follow one another are neighbours on both sides: first the loop with the fewest.
    # Last are those of which a tile has one step, and which step further than all others.
    furthest = max((d.out for d, n in zip(tile.dims, tile.box, strict=True) if n > 1), default=0)
    cut.sort(key=lambda d: (tile.dims[d].out > furthest, tile.counts[d], -d))
    for d in cut:
        is_last = d == cut[-1]
        number = "rest" if is_last else f"rest % {of_eight('counts', d)}"
        left = f"{of_eight('sizes', d)} - {tile.box[d]}u"
        begin = f"{number} * {tile.own[d]}u"
        if not (tile.is_open and d == tile.out_run[-1]):
            begin = f"min({begin}, {left})"
        lines.append(f"  first = {begin};")
        lines += [] if is_last else [f"  rest /= {of_eight('counts', d)};"]
        lines.append(f"  tile.output += first * {of_eight('out_strides', d)};")
        sign = "-" if tile.dims[d].source < 0 else "+"
        lines.append(f"  tile.source {sign}= first * {_stride(tile, d)};")
        if d == tile.out_run[-1]:
            lines.append(f"  tile.begins = first == 0u; tile.ends = first == {left};")
    for d, dim in enumerate(tile.dims):
        if dim.source < 0:
            lines.append(f"  tile.source -= {tile.block[d] - 1}u * {_stride(tile, d)};")
    return [*lines, "  return tile;", "}"]


def _stride(tile: Tile, d: int) -> str:
    """How far a step of a loop goes in the source; along its runs the text has it."""
    if d in tile.run:
        return f"{abs(tile.dims[d].source)}u"
    return of_eight("source_strides", d)


def _digits(number: str, loops: Sequence[int], sizes: Sequence[int], name: str) -> list[str]:
    """Statements that take a number apart: steps of the loops, the first counting fastest."""
    lines, rest = [], number
    for i, d in enumerate(loops):
        if i == len(loops) - 1:
            lines.append(f"  let {name}{d} = {rest};")
        else:
            lines.append(f"  let {name}{d} = {rest} % {sizes[d]}u;")
            lines.append(f"  let {name}_from{d} = {rest} / {sizes[d]}u;")
            rest = f"{name}_from{d}"
    return lines


def _sum(terms: Sequence[str]) -> str:
    return " + ".join(terms) or "0u"


def _taken(tile: Tile, source_base: int) -> list[str]:
    """How a tile is read, block by block, and held in the order of the output.

    What is beyond the last block is the last again, so that no load is in a branch.
    """
    across = [d for d in range(len(tile.dims)) if tile.block[d] > 1 and d not in tile.run]
    blocks, wg = prod(tile.blocks), tile.wg_size
    number = (
        "(lane + $u * WG_SIZE)" if blocks % wg == 0 else f"min(lane + $u * WG_SIZE, {blocks - 1}u)"
    )
    n = -(-blocks // wg)
    source, steps = "tile.source", []
    for d in tile.order:
        sign = "-" if tile.dims[d].source < 0 else "+"
        source += f" {sign} k{d} * {tile.block[d]}u * {_stride(tile, d)}"
        in_run = d in tile.places
        steps.append(
            tile.block[d] * tile.places[d] // tile.per_cell if in_run else tile.pitches[d][1]
        )
    group, cells = tile.per_unit, dict(_cells(tile, across))
    is_regular = not any(step % group for step in steps)  # blocks begin with units
    steps = [step // group for step in steps] if is_regular else steps
    held = _sum([f"k{d} * {step}u" for d, step in zip(tile.order, steps, strict=True)])
    is_same = not is_regular and not any(cell % group for cell in cells)
    held = f"cell_at({held})" if is_same else held if group > 1 else f"1u + {held}"
    lines = [
        "fn cell_at(cell: u32) -> u32 {",
        f"  return cell % {group}u * {tile.plane}u + cell / {group}u;",
        "}",
        "fn block_at(number: u32, tile: Tile) -> vec2<u32> {",  # in the source, and in what is held
        *_digits("number", tile.order, tile.blocks, "k"),
        f"  return vec2<u32>({source}, {held});",
        "}",
        "fn take_in(tile: Tile, lane: u32) {",
        f"  #repeat {n}: let b$ = block_at({number}, tile);",
    ]
    is_aligned, per_word, bits = tile.is_aligned(source_base), tile.per_word, tile.bits
    reached = [sum(at) for at in product(*(_offsets(tile, d) for d in tile.run))]
    words = sorted({at // per_word for at in reached})
    raw = words
    if not is_aligned and len(reached) > 1:
        raw = sorted({word + more for word in words for more in (0, 1)})
    # A block that reaches beyond the box may begin before the source, where addresses wrap.
    wraps = any(
        tile.dims[d].source < 0 and (tile.is_open or tile.box[d] % tile.block[d]) for d in tile.run
    )
    shifted = []
    for i, rows in enumerate(product(*(_offsets(tile, d, step=1) for d in across))):
        terms = [f"{s}u * {_stride(tile, d)}" for s, d in zip(rows, across, strict=True) if s]
        lines.append(f"  #repeat {n}: let e$_{i} = {_sum(['b$.x', *terms])};")
        for word in raw:
            at = f"e$_{i} / {per_word}u + {word}u"
            at = f"({at}) & {0xFFFFFFFF // per_word}u" if wraps and per_word > 1 else at
            lines.append(f"  #repeat {n}: let l$_{i}_{word} = load_input({at});")
        shift = f"(e$_{i} % {per_word}u * {bits}u)"
        for word in words:
            low, high = f"l$_{i}_{word}", f"l$_{i}_{word + 1}"
            value = funnel(low, high, shift) if len(reached) > 1 else f"{low} >> {shift}"
            shifted.append(f"  #repeat {n}: let v$_{i}_{word} = {low if is_aligned else value};")
    lines += shifted
    for cell, value in cells.items():
        at = f"b$.y + {cell % group * tile.plane + cell // group}u"
        at = at if is_regular or is_same else f"cell_at(b$.y + {cell}u)"
        lines.append(f"  #repeat {n}: held[{at}] = {value};")
    return [*lines, "}"]


def _offsets(tile: Tile, d: int, step: int = 0) -> list[int]:
    """Where the steps of a block along a loop lie in the source, the lowest being 0."""
    steps = range(tile.block[d])
    step = step or abs(tile.dims[d].source)
    return [step * (tile.block[d] - 1 - k if tile.dims[d].source < 0 else k) for k in steps]


def _cells(tile: Tile, across: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The words of a block that are held: how far behind its first, and made of what."""
    bits, per_word, per_cell = tile.bits, tile.per_word, tile.per_cell
    rows = {at: i for i, at in enumerate(product(*(range(tile.block[d]) for d in across)))}
    pieces: dict[int, dict[tuple[str, int], int]] = {}
    for at in product(*map(range, tile.block)):
        row = rows[tuple(at[d] for d in across)]
        word, place = divmod(sum(_offsets(tile, d)[at[d]] for d in tile.run), per_word)
        cell, to = divmod(sum(at[d] * tile.places[d] for d in tile.out_run), per_cell)
        cell += sum(at[d] * tile.pitches[d][0] for d in tile.rest)
        moved = pieces.setdefault(cell, {})
        key = f"v$_{row}_{word}", (to - place) * bits
        moved[key] = moved.get(key, 0) | ((1 << bits) - 1) << (to * bits)
    for cell, moved in pieces.items():
        yield cell, " | ".join(_moved(name, up, mask) for (name, up), mask in moved.items())


def _moved(name: str, up: int, mask: int) -> str:
    """WGSL of some bits of a word, moved up or down by so many."""
    value = f"({name} << {up}u)" if up > 0 else f"({name} >> {-up}u)" if up else name
    left = (0xFFFFFFFF << up) & 0xFFFFFFFF if up > 0 else 0xFFFFFFFF >> -up
    return value if left == mask else f"({value} & {mask}u)"


def _spread(tile: Tile, columns: int, name: str) -> list[str]:
    """Statements that call `name` with each run and each column of what it is written in.

    Where that keeps most of them busy, invocations keep their column from run to run.
    """
    wg, runs = tile.wg_size, prod(tile.box[d] for d in tile.rest)
    teams = wg // columns
    if teams * columns >= BUSY * wg:
        n, row, column = (
            -(-runs // teams),
            f"lane / {columns}u + {teams}u * $u",
            f"lane % {columns}u",
        )
        row = row if runs % teams == 0 and wg % columns == 0 else f"min({row}, {runs - 1}u)"
    else:
        n, number = -(-runs * columns // wg), "lane + $u * WG_SIZE"
        number = number if runs * columns % wg == 0 else f"min({number}, {runs * columns - 1}u)"
        row = f"{number} / {columns}u" if "min" in number else f"({number}) / {columns}u"
        column = row.replace("/", "%")
        row, column = (row, column) if runs > 1 else ("0u", number)
    return [
        "fn put_out(tile: Tile, lane: u32) {",
        f"  #repeat {n}: {name}({row}, {column}, tile);",
        "}",
    ]


def _run_at(tile: Tile) -> list[str]:
    """Statements that find run `run`: its address `base`, and `at`, where it is held.

    There is a word before the first run, which is read where a run begins within a word.
    """
    held = []
    for d in tile.rest:
        step, far = (pitch // tile.per_unit for pitch in tile.pitches[d])
        whole = far == step * tile.block[d]
        apart = f"(c{d} / {tile.block[d]}u * {far}u + c{d} % {tile.block[d]}u * {step}u)"
        held.append(f"c{d} * {step}u" if whole else apart)
    steps = [f"c{d} * {of_eight('out_strides', d)}" for d in tile.rest]
    return [
        *_digits("run", tile.rest, tile.box, "c"),
        f"  let base = {_sum(['tile.output', *steps])};",
        f"  let at = {_sum(held if tile.per_unit > 1 else ['1u', *held])};",
    ]


def _word(tile: Tile, cells: Sequence[str]) -> str:
    """WGSL of a word of which these cells are held."""
    return " | ".join(f"(held[{cell}] << {k * tile.bits}u)" for k, cell in enumerate(cells))


def _put_units(tile: Tile) -> list[str]:
    """How a tile is written in whole units."""
    unit = UNIT // tile.bits
    cells = [f"at + column + {k * tile.plane}u" for k in range(tile.per_unit)]
    size = tile.per_unit // 4
    words = [_word(tile, cells[k : k + size]) for k in range(0, tile.per_unit, size)]
    return [
        "fn put_unit(run: u32, column: u32, tile: Tile) {",
        *_run_at(tile),
        f"  put(base / {unit}u + column, vec4<u32>({', '.join(words)}));",
        "}",
        *_spread(tile, -(-tile.length // unit), "put_unit"),
    ]


def _put_words(tile: Tile) -> list[str]:
    """How a tile is written word by word.

    A word is made by a tile that has all of it. One that also has elements of other runs is made by
    the tile in which its run begins or ends, and put together with what is there.
    """
    per_word, bits, length = tile.per_word, tile.bits, tile.length
    lines = ["fn put_word(run: u32, column: u32, tile: Tile) {", *_run_at(tile)]
    if tile.is_whole:
        cells = per_word // tile.per_cell
        each = [f"at + column * {cells}u + {k}u" for k in range(cells)]
        lines.append(f"  put(base / {per_word}u + column, {_word(tile, each)});")
    else:
        full = max(0, length - per_word)
        made = funnel("held[at + low]", "held[at + low + 1u]", f"(before % {per_word}u * {bits}u)")
        if not tile.is_packed:
            each = [f"at + min(before + {k}u, {length - 1}u)" for k in range(per_word)]
            made = _word(tile, each)
        lines += [
            f"  let begun = u32(!tile.begins && base % {per_word}u != 0u);",
            f"  let word = base / {per_word}u + column + begun;",
            f"  let before = word * {per_word}u - base;",  # wraps where the run begins in the word
            f"  let low = u32(i32(before) >> {per_word.bit_length() - 1}u);",
            f"  let bits = {made};",
            f"  var own = select(0u, 0xffffffffu, before <= {full}u && {length}u >= {per_word}u);",
            "  if ((tile.begins || tile.ends) && own == 0u) {",
            f"    let skipped = select(0u, base % {per_word}u, before > {length}u);",
            f"    let end = clamp(i32({length}u - before), 0i, {per_word}i);",
            f"    let ends = end < {per_word}i;",
            f"    own = select((1u << (u32(end) * {bits}u % 32u)) - 1u, 0xffffffffu, !ends);",
            f"    own &= 0xffffffffu << (skipped * {bits}u);",
            "    if ((skipped > 0u && !tile.begins) || (ends && !tile.ends)) { own = 0u; }",
            "  }",
            "  put(word, own, bits & own);",
        ]
    return [*lines, "}", *_spread(tile, tile.run_words, "put_word")]
