"""Moves through workgroup memory, for layouts whose neighbours are not neighbours on both sides.

A tile is a box in the space of the loops: long enough along the loops that step least through the
source and along those that step least through the output. A workgroup reads it in the order of the
source and writes it in the order of the output, so that both are walked by whole sectors. That
serves transposes, permutations of all kinds and short innermost axes alike.

Workgroup memory holds rows, each of them what the loops of the source's run reach from one place.
The plan writes the kernel out: loops would keep loads from being under way at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.cached import cached_property
from dmlgpu.plan.dispatch import Dispatch, Plan, Value, eight, funnel, of_eight
from dmlgpu.plan.loops import Dim, order_of

WG_SIZE = 256
EDGE = 1024  # bits of a run that keep both sides in whole sectors
ELEMENTS = 2048  # of a tile, where they are words: 8 loads per invocation
WORDS = 5120  # that a tile holds at most, where an adapter has the room
SECTOR = 256  # bits that are read together: more between two of a row are two rows
STEPS = 4  # elements from one to the next, up to which a row is read with what lies between
BLOCKED = 512  # bits of a run of the output, from which on it is put together in registers
FULL = 1.2  # work of tiles, over what is in them, from which on they are made smaller


@dataclass(frozen=True)
class Tile:
    """The box of a move: how many steps of each loop, and how the two sides walk them.

    Elements have 32 bits at most: one of 64 is two words, and which of them is the last loop.
    """

    dims: tuple[Dim, ...]
    bits: int
    box: tuple[int, ...]  # steps of each loop
    by_words: bool  # rows are held as words of several elements, and as elements otherwise
    is_pair: bool  # the last loop is over the two words of an element
    out_base: int

    @property
    def per_word(self) -> int:
        """Elements of a word."""
        return 32 // self.bits

    @cached_property
    def by_output(self) -> list[int]:
        """The loops of the box, that which steps least through the output first."""
        return [d for d in order_of([d.out for d in self.dims]) if self.box[d] > 1] or [0]

    @cached_property
    def by_source(self) -> list[int]:
        """The loops of the box, that which steps least through the source first."""
        return [d for d in order_of([d.source for d in self.dims]) if d in self.by_output]

    @cached_property
    def run(self) -> list[int]:
        """The loops of a row: of words, those that need not much more than what they take."""
        first, *others = self.by_source
        if not self.by_words:
            if self.is_pair and others:
                return [first, others[0]]
            return [first]
        found = [first]
        for d in others:
            step, span = abs(self.dims[d].source), self.span(found)
            if step > STEPS * span or (step - span) * self.bits > SECTOR:
                break
            found.append(d)
        return found

    def span(self, run: Sequence[int]) -> int:
        """Elements from the first to the last that a run reaches."""
        return 1 + sum((self.box[d] - 1) * abs(self.dims[d].source) for d in run)

    @cached_property
    def in_blocks(self) -> bool:
        """Whether words of the source are made words of the output before they are held.

        A block is as many words of the source, from rows that are neighbours in the output, as a
        word has elements: turned by shifts, it is as many words of the output.
        """
        inner = self.by_output[0]
        is_long = self.box[inner] * self.bits >= BLOCKED
        return self.by_words and is_long and inner not in self.run

    @cached_property
    def rows(self) -> list[int]:
        """The loops over rows, neighbours of the output being neighbours.

        In blocks, a row is what one place in the source's runs has: there are as many of them.
        """
        first = int(self.in_blocks)
        return [d for d in self.by_output[first:] if d not in self.run]

    @cached_property
    def out_run(self) -> list[int]:
        """The loops of a run of the output: it goes on where one begins that the last one ends."""
        found = [self.by_output[0]]
        for d in () if self.in_blocks else self.by_output[1:]:
            last = found[-1]
            whole = self.box[last] == self.dims[last].size
            if not whole or self.dims[d].out != self.dims[last].size * self.dims[last].out:
                break
            found.append(d)
        return found

    @property
    def count(self) -> int:
        """Elements."""
        return prod(self.box)

    @property
    def row_words(self) -> int:
        """Words of a row."""
        if self.in_blocks:
            return -(-self.box[self.by_output[0]] // self.per_word)
        if self.by_words:
            return -(-self.span(self.run) // self.per_word)
        return prod(self.box[d] for d in self.run)

    @property
    def pitch(self) -> int:
        """Words from one row to the next, so that neighbours lie in different banks."""
        wanted, every = (2, 4) if self.is_pair else (1, 2)
        return self.row_words + (wanted - self.row_words) % every

    @property
    def row_count(self) -> int:
        """Rows."""
        places = self.span(self.run) if self.in_blocks else 1
        return places * prod(self.box[d] for d in self.rows)

    @property
    def words(self) -> int:
        """Words of workgroup memory, and one that is read with the last."""
        return self.row_at(self.row_count - 1) + self.pitch + 1

    def row_at(self, row: int) -> int:
        """Where a row begins: elements of a word are of rows side by side, hence one more bank."""
        return row * self.pitch + (row // 32 if self.per_word > 1 else 0)

    @property
    def is_whole(self) -> bool:
        """Whether every run of a tile begins and ends with a word of the output."""
        steps = [d.out for n, d in enumerate(self.dims) if n not in self.out_run]
        length = prod(self.box[d] for d in self.out_run)
        ends = prod(self.dims[d].size for d in self.out_run)
        return not any(n % self.per_word for n in (self.out_base, length, ends, *steps))

    @property
    def own(self) -> tuple[int, ...]:
        """Steps from one tile to the next: fewer where a word has elements of both."""
        own = list(self.box)
        last = self.out_run[-1]
        if not self.is_whole and self.box[last] < self.dims[last].size:
            inner = prod(self.box[d] for d in self.out_run[:-1])
            own[last] -= -(-(self.per_word - 1) // inner)
        return tuple(own)

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each loop."""
        steps = zip(self.dims, self.box, self.own, strict=True)
        return tuple(1 + -(-(dim.size - box) // own) for dim, box, own in steps)

    @property
    def run_words(self) -> int:
        """Words of the output that a run may have: fewer where it goes on in other tiles."""
        length = prod(self.box[d] for d in self.out_run)
        last = self.out_run[-1]
        if self.is_whole or self.box[last] < self.dims[last].size:
            return -(-length // self.per_word)
        return (length + self.per_word - 2) // self.per_word + 1


def tile_of(bits: int, dims: tuple[Dim, ...], out_base: int, storage: int) -> Tile:
    """The tile of a move in `storage` bytes of workgroup memory."""
    is_pair = bits == 64
    if is_pair:
        dims = (*(d.scaled(2, 1) for d in dims), Dim(2, 1, 1))
        bits, out_base = 32, 2 * out_base
    nearest = min((abs(d.source) for d in dims if d.source), default=0)
    by_words = bits < 32 and 0 < nearest <= STEPS
    most = (EDGE // bits) ** 2 if by_words else ELEMENTS
    tile = Tile(dims, bits, (1,) * len(dims), by_words, is_pair, out_base)
    room = min(WORDS, storage // 4)
    while True:
        made = replace(tile, box=_box(most, bits, dims))
        if made.words <= room:
            return made
        most //= 2


def _box(most: int, bits: int, dims: tuple[Dim, ...]) -> tuple[int, ...]:
    """Steps of each loop: an edge along each side, then as many as there may be in all."""
    by_output = order_of([d.out for d in dims])
    by_source = order_of([d.source for d in dims])
    box = [1] * len(dims)
    edge = EDGE // bits
    for order in (by_output, by_source):
        length = 1
        for d in order:
            if length >= edge:
                break
            box[d] = max(box[d], _steps(dims[d].size, -(-edge // length)))
            length *= box[d]
    while prod(box) > most:
        d = box.index(max(box))
        box[d] = 1 << (box[d] - 1).bit_length() - 1
    for d in (*by_output, *by_source):  # what is left makes runs longer
        while box[d] > 1 and box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    for d in by_output:  # and then there are more of them
        while box[d] < dims[d].size and 2 * prod(box) <= most:
            box[d] = min(2 * box[d], dims[d].size)
    per_word = 32 // bits
    for d, dim in enumerate(dims):  # tiles of a loop hardly overlap
        tiles = -(-dim.size // box[d])
        if tiles * box[d] > FULL * dim.size:
            words = -(-dim.size // (tiles * per_word))
            box[d] = min(box[d], words * per_word)
    return tuple(box)


def _steps(size: int, wanted: int) -> int:
    """`wanted` steps as a power of two; all where there are hardly more."""
    steps = 1 << (wanted - 1).bit_length()
    return size if size <= steps + steps // 2 else steps


def dispatch(tile: Tile, source_base: int, bindings: dict[str, str]) -> Plan:
    """One workgroup for each tile."""
    dims = tile.dims[: len(tile.dims) - tile.is_pair]
    tiles = prod(tile.counts)
    params: dict[str, Value] = {
        "count": tiles,
        "source_base": source_base * (1 + tile.is_pair),
        "out_base": tile.out_base,
        "sizes": eight([d.size for d in dims]),
        "counts": eight(tile.counts[: len(dims)]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([abs(d.source) for d in dims]),
    }
    shared = tile.per_word > 1 and not tile.is_whole
    slots = {"output": "words_shared" if shared else "words_alone"}
    taken = _taken_blocks if tile.in_blocks else _taken
    put = _put_words if tile.per_word > 1 else _put_elements
    code = "\n".join([*_declared(tile), *taken(tile, source_base), *put(tile)])
    constants = {"WG_SIZE": WG_SIZE}
    return Plan((Dispatch("move/tile", tiles, params, bindings, slots, constants, code=code),))


def _declared(tile: Tile) -> list[str]:
    """Workgroup memory, and where tile `number` begins on both sides.

    The last tile of a loop ends where the loop does and makes some of the one before again, so that
    all tiles are whole.
    """
    lines = [
        f"var<workgroup> held: array<u32, {tile.words}>;",
        "struct Tile { source: u32, output: u32, begins: bool, ends: bool, }",
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var first = 0u;",
        "  var tile = Tile(params.source_base, params.out_base, true, true);",
    ]
    cut = [d for d in range(len(tile.dims)) if tile.counts[d] > 1]
    for d in reversed(range(len(tile.dims))):
        step = _step(tile, "source", d)
        if d in cut:
            number = f"rest % {of_eight('counts', d)}" if d != cut[0] else "rest"
            left = f"{of_eight('sizes', d)} - {tile.box[d]}u"
            lines.append(f"  first = min({number} * {tile.own[d]}u, {left});")
            lines += [f"  rest /= {of_eight('counts', d)};"] if d != cut[0] else []
            lines.append(f"  tile.output += first * {_step(tile, 'out', d)};")
            sign = "-" if tile.dims[d].source < 0 else "+"
            lines.append(f"  tile.source {sign}= first * {step};")
            if d == tile.out_run[-1]:
                lines.append(f"  tile.begins = first == 0u; tile.ends = first == {left};")
        if tile.dims[d].source < 0:
            lines.append(f"  tile.source -= {tile.box[d] - 1}u * {step};")
    return [*lines, "  return tile;", "}"]


def _step(tile: Tile, side: str, d: int) -> str:
    return "1u" if tile.is_pair and d == len(tile.dims) - 1 else of_eight(f"{side}_strides", d)


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


def _work(count: int) -> tuple[int, str]:
    """Rounds of a workgroup, and the number of what an invocation does in each.

    What is beyond the last is the last again, so that no load is in a branch.
    """
    number = "(lane + $u * WG_SIZE)"
    if count % WG_SIZE:
        number = f"min(lane + $u * WG_SIZE, {count - 1}u)"
    return -(-count // WG_SIZE), number


def _taken(tile: Tile, source_base: int) -> list[str]:
    """How a tile is read: rows of words, or elements."""
    loops = tile.rows if tile.by_words else [*tile.run, *tile.rows]
    steps = [f"k{d} * {_step(tile, 'source', d)}" for d in loops]
    per_row, per_word, bits = tile.row_words, tile.per_word, tile.bits
    n, number = _work(per_row * tile.row_count)
    lines = [
        "fn source_at(number: u32, tile: Tile) -> u32 {",
        *_digits("number", loops, tile.box, "k"),
        f"  return tile.source + {_sum(steps)};",
        "}",
        "fn take_in(tile: Tile, lane: u32) {",
        f"  #repeat {n}: let r$ = {number} / {per_row}u; let w$ = {number} % {per_row}u;",
    ]
    if tile.by_words:
        lines.append(f"  #repeat {n}: let e$ = source_at(r$, tile);")
        lines += _words_at(tile, source_base, n, "e$", "w$", "v$")
    else:
        value = "load_input(e$)"
        if bits < 32:
            mask = (1 << bits) - 1
            value = f"(load_input(e$ / {per_word}u) >> (e$ % {per_word}u * {bits}u)) & {mask}u"
        lines.append(f"  #repeat {n}: let e$ = source_at({number}, tile);")
        lines.append(f"  #repeat {n}: let v$ = {value};")
    lines.append(f"  #repeat {n}: held[{_row(tile, 'r$')} + w$] = v$;")
    return [*lines, "}"]


def _row(tile: Tile, row: str) -> str:
    """Where a row begins in workgroup memory, as `Tile.row_at` has it."""
    further = f" + ({row}) / 32u" if tile.per_word > 1 and tile.row_count > 32 else ""
    return f"({row}) * {tile.pitch}u{further}"


def _words_at(tile: Tile, source_base: int, n: int, row: str, word: str, name: str) -> list[str]:
    """Statements that read word `word` of rows that begin with element `row`."""
    per_word, bits = tile.per_word, tile.bits
    starts = [source_base, *(d.source for i, d in enumerate(tile.dims) if i not in tile.run)]
    for d in tile.run:
        dim, is_cut = tile.dims[d], tile.counts[d] > 1
        starts += [dim.source * tile.own[d], dim.source * (dim.size - tile.box[d])] * is_cut
        starts += [dim.source * (tile.box[d] - 1)] * (dim.source < 0)
    at = f"{row} / {per_word}u + {word}"
    if not any(start % per_word for start in starts):
        return [f"  #repeat {n}: let {name} = load_input({at});"]
    return [
        f"  #repeat {n}: let {name}_a = load_input({at}); let {name}_b = load_input({at} + 1u);",
        f"  #repeat {n}: let {name}_s = {row} % {per_word}u * {bits}u;"
        f" let {name} = {funnel(f'{name}_a', f'{name}_b', f'{name}_s')};",
    ]


def _taken_blocks(tile: Tile, source_base: int) -> list[str]:
    """How a tile is read in blocks."""
    along, inner, per_word, box = len(tile.dims), tile.by_output[0], tile.per_word, tile.box
    places = tile.span(tile.run)
    blocks = [*box, -(-places // per_word)]  # of what is along the runs, too
    blocks[inner] = -(-box[inner] // per_word)
    loops = [along, inner, *tile.rows]
    n, number = _work(prod(blocks[d] for d in loops))
    steps = [f"k{d} * {_step(tile, 'source', d)}" for d in tile.rows]
    rows, step = [f"k{along} * {per_word}u"], places
    for d in tile.rows:
        rows.append(f"k{d} * {step}u")
        step *= box[d]
    row = f"min(block.word * {per_word}u + i, {box[inner] - 1}u)"
    if tile.dims[inner].source < 0:
        row = f"({box[inner] - 1}u - {row})"
    lines = [
        "struct Block { source: u32, along: u32, row: u32, word: u32, }",
        "fn block_at(number: u32, tile: Tile) -> Block {",
        *_digits("number", loops, blocks, "k"),
        f"  return Block(tile.source + {_sum(steps)}, k{along}, {_sum(rows)}, k{inner});",
        "}",
        "fn row_of(block: Block, i: u32) -> u32 {",
        f"  return block.source + {row} * {_step(tile, 'source', inner)};",
        "}",
        "fn take_in(tile: Tile, lane: u32) {",
        f"  #repeat {n}: let b$ = block_at({number}, tile);",
    ]
    for i in range(per_word):
        lines.append(f"  #repeat {n}: let e$_{i} = row_of(b$, {i}u);")
        lines += _words_at(tile, source_base, n, f"e$_{i}", "b$.along", f"v$_{i}")
    values = ", ".join(f"v$_{i}" for i in range(per_word))
    lines.append(f"  #repeat {n}: let t$ = turned{tile.bits}(vec{per_word}<u32>({values}));")
    for j in range(per_word):
        stored = f"held[{_row(tile, f'b$.row + {j}u')} + b$.word] = t$[{j}];"
        if places % per_word:  # of the last block, not all are rows
            stored = f"if (b$.along * {per_word}u + {j}u < {places}u) {{ {stored} }}"
        lines.append(f"  #repeat {n}: {stored}")
    return [*lines, "}"]


def _held(tile: Tile, loops: Sequence[int], name: str) -> tuple[str, str]:
    """The row, and the element in it, of steps of some loops: both in the order of the source."""

    def k(d: int) -> str:
        return f"({tile.box[d] - 1}u - {name}{d})" if tile.dims[d].source < 0 else f"{name}{d}"

    rows: list[str] = []
    within = rows if tile.in_blocks else []
    step = tile.span(tile.run) if tile.in_blocks else 1
    for d in tile.rows:
        rows += [f"{k(d)} * {step}u"] if d in loops else []
        step *= tile.box[d]
    step = 1
    for d in tile.run:
        apart = abs(tile.dims[d].source) if tile.by_words else step
        within += [f"{k(d)} * {apart}u"] if d in loops else []
        step *= tile.box[d]
    return _sum(rows), _sum([] if tile.in_blocks else within)


def _put_elements(tile: Tile) -> list[str]:
    """How a tile is written element by element."""
    loops = tile.by_output
    row, within = _held(tile, loops, "c")
    n, number = _work(tile.count)
    steps = [f"c{d} * {_step(tile, 'out', d)}" for d in loops]
    return [
        "fn output_at(number: u32, tile: Tile) -> vec2<u32> {",  # the address, and where it is held
        *_digits("number", loops, tile.box, "c"),
        f"  return vec2<u32>(tile.output + {_sum(steps)}, {_row(tile, row)} + {within});",
        "}",
        "fn put_out(tile: Tile, lane: u32) {",
        f"  #repeat {n}: let t$ = output_at({number}, tile);",
        f"  #repeat {n}: let v$ = held[t$.y];",
        f"  #repeat {n}: store_output(t$.x, v$);",
        "}",
    ]


def _put_words(tile: Tile) -> list[str]:
    """How a tile is written word by word.

    A word is made by a tile that has all of it. One that also has elements of other runs is made by
    the tile in which its run begins or ends, and put together with what is there.
    """
    run, rest = tile.out_run, [d for d in tile.by_output if d not in tile.out_run]
    per_word, bits = tile.per_word, tile.bits
    length = prod(tile.box[d] for d in run)
    words = tile.run_words
    n, number = _work(tile.count // length * words)
    row, within = _held(tile, rest, "c")
    steps = [f"c{d} * {_step(tile, 'out', d)}" for d in rest]
    lines = [
        "fn put_word(number: u32, tile: Tile) {",
        *_digits(f"(number / {words}u)", rest, tile.box, "c"),
        f"  let base = tile.output + {_sum(steps)};",
        f"  let row = {row};",
        f"  let within = {within};",
    ]
    if tile.is_whole:
        lines.append(f"  let before = number % {words}u * {per_word}u;")
        lines.append(f"  let word = (base + before) / {per_word}u;")
        lines += _made_word(tile, length)
        lines.append("  put(word, 0xffffffffu, bits);")
    else:
        begun = f"u32(!tile.begins && base % {per_word}u != 0u)"
        full = f"{length - per_word}u" if length >= per_word else "0u"
        lines += [
            f"  let word = base / {per_word}u + number % {words}u + {begun};",
            f"  let before = word * {per_word}u - base;",  # wraps where the run begins in the word
            *_made_word(tile, length),
            "  var own = 0xffffffffu;",
            f"  if (before > {full} || {length}u < {per_word}u) {{",
            f"    let skipped = select(0u, base % {per_word}u, before > {length}u);",
            f"    let end = clamp(i32({length}u - before), 0i, {per_word}i);",
            f"    let ends = end < {per_word}i;",
            f"    own = select((1u << (u32(end) * {bits}u % 32u)) - 1u, own, !ends);",
            f"    own &= 0xffffffffu << (skipped * {bits}u);",
            "    if ((skipped > 0u && !tile.begins) || (ends && !tile.ends)) { own = 0u; }",
            "  }",
            "  put(word, own, bits & own);",
        ]
    return [
        *lines,
        "}",
        "fn put_out(tile: Tile, lane: u32) {",
        f"  #repeat {n}: put_word({number}, tile);",
        "}",
    ]


def _made_word(tile: Tile, length: int) -> list[str]:
    """The word whose first element is number `before` of a run; of others there is no matter."""
    per_word, bits = tile.per_word, tile.bits
    if tile.in_blocks:
        lines = [f"  let at = {_row(tile, 'row')};"]
        if tile.is_whole:
            return [*lines, f"  let bits = held[at + before / {per_word}u];"]
        return [
            *lines,
            f"  let start = i32(before) >> {per_word.bit_length() - 1}u;",
            f"  let s = before % {per_word}u * {bits}u;",
            f"  let low = held[at + u32(clamp(start, 0i, {tile.row_words}i))];",
            f"  let high = held[at + u32(clamp(start + 1i, 0i, {tile.row_words}i))];",
            f"  let bits = {funnel('low', 'high', 's')};",
        ]
    row, within = _held(tile, tile.out_run, "k$_")
    number = "before + $u" if tile.is_whole else f"min(before + $u, {length - 1}u)"
    each = " ".join(_digits(f"({number})", tile.out_run, tile.box, "k$_"))
    held, value = "e$", "h$"
    if tile.by_words:
        mask = (1 << bits) - 1
        held, value = f"e$ / {per_word}u", f"((h$ >> (e$ % {per_word}u * {bits}u)) & {mask}u)"
    return [
        f"  #repeat {per_word}: {each} let row$ = row + {row}; let e$ = within + {within};",
        f"  #repeat {per_word}: let h$ = held[{_row(tile, 'row$')} + {held}];",
        "  var bits = 0u;",
        f"  #repeat {per_word}: bits |= {value} << $u * {bits}u;",
    ]
