"""Operands that lie across the output: read through workgroup memory, a tile at a time.

Where neighbours of the output are far apart in an input, and neighbours of the input belong to
another loop, as in `x + y.T`, each read of 16 bytes would use one element of them. A workgroup
reads a tile of such an operand along the loop where its elements are side by side, and makes the
groups of that tile from what it holds.

Narrow elements that are side by side there are held as words in the order of the output: squares
of as many rows and columns as a word has elements are turned in registers.

Words of what is held lie in planes, the words of a group in one each, so that invocations side by
side take words side by side.

A row of a tile is a piece of the innermost loops of the output. Where rows are no multiple of a
group, a group belongs to the tile in which it begins; the tile reads as many elements beyond its
own as such a group needs, from the next row where a row ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.plan.dispatch import BANKS, Adapter, of_eight
from dmlgpu.plan.reading import Loop, Reading
from dmlgpu.plan.rows import quotient
from dmlgpu.plan.traffic import SECTOR
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import element_at, funnel

# Invocations of a workgroup at most: a tile has most groups where elements are bytes.
MOST_INVOCATIONS, MOST_FOR_BYTES = 256, 512
SUBGROUP = 32  # invocations that take their turns together, on most GPUs
ALONG = 64  # elements of a tile along the output, where the other loop has enough steps
RUN = 1024  # bits that a tile reads side by side; at most ALONG parts of words
RUN_OF_MADE = 2048  # the same where a result as wide is held, and not what it is made of
OWN = 8  # groups in a row of a tile at least, where the last of them goes on in the next row
FAR = 512  # bits: less than that side by side is read from sectors of its own
FEW = 8  # elements of a row that is one side of a tile, at least
# Bytes of the output between neighbours of an operand from which on caches hold what was read no
# more when the other part of it is used.
FORGOTTEN = 1 << 22
FEW_TILES = 4  # tiles along a loop, up to which the last one could leave much undone
MOST_GROUPS = 4  # groups that an invocation makes together
# Elements of so many bits times their step are loaded one by one from too many lines of a cache;
# whole words are, however near.
BITS_APART = 4


@dataclass(frozen=True, slots=True)
class Tile:
    """A piece of a row of the output by `steps` of another loop."""

    loop: int  # the other one
    steps: int
    row: int  # the outermost loop of a row
    inner: tuple[int, ...]  # sizes of the loops inside of that, which are taken whole
    own: int  # elements along a row
    beyond: int  # elements behind these that a group which begins in the tile may need
    group: int  # elements that an invocation makes at once
    operands: tuple[int, ...]  # that are held
    turned: tuple[int, ...]  # of these, the ones that are held as words
    aligned: tuple[int, ...]  # of those, the ones whose runs begin with words
    most: int  # invocations of a workgroup
    made: int = 0  # bits of a result that is held instead of what it is made of; 0: none is

    @property
    def along(self) -> int:
        """Elements that are held of each row."""
        return self.own + self.beyond

    def per_cell(self, t: int, bits: int) -> int:
        """Elements in a word that is held."""
        return 32 // bits if t in self.turned else 1

    def takes(self, t: int, bits: int) -> int:
        """Elements that are taken in, or squares of as many rows and columns as a word has."""
        per = self.per_cell(t, bits)
        return -(-self.steps // per) * -(-self.along // per)

    def planes(self, t: int, bits: int) -> int:
        """Words of a group, each held in a plane of its own: neighbours take neighbouring words."""
        return max(1, self.group // self.per_cell(t, bits))

    def pitch(self, t: int, bits: int) -> int:
        """Words of a plane from one row to the next: odd, so that banks differ."""
        cells = -(-self.along // self.per_cell(t, bits)) + 1
        return -(-cells // self.planes(t, bits)) | 1

    def part(self, t: int, bits: int) -> int:
        """Words of a plane that hold every row whose number leaves the same rest.

        The rows of a square, which are put one after the other, lie that far apart.
        """
        per = self.per_cell(t, bits)
        return self.pitch(t, bits) * -(-self.steps // per) + (BANKS // per if per > 1 else 0)

    def plane(self, t: int, bits: int) -> int:
        """Words of a plane."""
        return self.part(t, bits) * self.per_cell(t, bits)

    def words(self, t: int, bits: int) -> int:
        """Words of workgroup memory that an operand needs."""
        return self.plane(t, bits) * self.planes(t, bits) * max(1, bits // 32)

    @property
    def groups(self) -> int:
        """Groups that can begin in a row of the tile."""
        return -(-self.own // self.group)

    @property
    def all_groups(self) -> int:
        """Groups that can begin in the tile."""
        return self.groups * self.steps

    @property
    def at_once(self) -> int:
        """Groups that an invocation makes together, so that their loads are all under way."""
        return min(MOST_GROUPS, -(-self.all_groups // self.most))

    @property
    def invocations(self) -> int:
        """As many as share all groups evenly."""
        return in_subgroups(-(-self.all_groups // self.at_once), self.most)

    @property
    def holds_words(self) -> bool:
        """Whether several elements are held in a word."""
        return bool(self.turned)

    def counts(self, loops: Sequence[Loop]) -> list[int]:
        """Tiles along each loop; those along a row count at its outermost one."""
        counts = [loop.size for loop in loops[: self.row]]
        counts[self.loop] = -(-counts[self.loop] // self.steps)
        length = prod(loop.size for loop in loops[self.row :])
        return [*counts, -(-length // self.own)] + [1] * len(self.inner)

    def held_by(self, reading: Reading) -> Reading:
        """The same reading, with the operands of the tile taken from workgroup memory."""
        access = list(reading.access)
        rows = reading.rows
        for t in range(len(access)):
            if t in self.operands:
                access[t] = "held_run" if t in self.turned else "held"
                if self.made and (t or t not in self.turned):
                    access[t] = "made"
        if rows:
            rows = replace(rows, is_whole=not self.beyond)
        return replace(reading, access=tuple(access), rows=rows, on=frozenset())

    def code(self, reading: Reading, rank: int, tensors: int, result: str) -> list[str]:
        """The tile in WGSL: where it begins in each tensor, and how it is read.

        `result` is what is made of the elements or the words `v{t}_$` of the operands, where that
        is held.
        """
        starts = " ".join(f"at{t}: u32, next{t}: u32, turn{t}: u32," for t in range(tensors))
        lines = [
            f"struct Tile {{ {starts} first: u32, left: u32, own: u32, across: u32, end: u32, }}",
            *_tile_at(self, tensors, reading.wide),
            *(line for t in range(tensors) for line in _spot(self, t, rank)),
        ]
        taken = []
        for t in self.operands:
            bits, load = reading.operands[t].bits, reading.load_of(t)
            if not (self.made and t):
                lines += _held(self, t, self.made or bits, reading.is_even(t))
            in_words = t in self.turned
            put = _put_words if in_words else _put_elements
            if in_words:
                taken += _take_words(self, t, bits, load, reading.wide)
            else:
                taken += _take_elements(self, t, bits, load)
            if not self.made:
                taken += put(self, t, bits, f"v{t}")
        if self.made:
            rounds = -(-self.takes(0, self.made) // self.invocations)
            for end in [f"_{i}_$" for i in range(32 // bits)] if in_words else ["_$"]:
                made = result.replace("_$", end)
                taken.append(f"  #repeat {rounds}: let made{end} = {made};")
            taken += put(self, 0, self.made, "made")
        return [*lines, "fn take_in(tile: Tile, lane: u32) {", *taken, *_mend(self, reading), "}"]

    def places(self, reading: Reading, tensors: int) -> list[str]:
        """Statements from the number of a group to its addresses, and to what is held of it."""
        group, per_row, rows = self.group, self.groups, reading.rows
        lines = [f"  let b = place / {per_row}u;"]
        outputs = range(len(reading.operands), tensors)
        if rows is None:
            lines.append(f"  let a = place % {per_row}u * {group}u;")
            lines.append("  let number = 0u;")
        else:  # the output is packed: its addresses number the elements
            lines += [
                f"  let begin = spot{outputs[0]}(tile, b, 0u);",
                f"  let number = (begin + {group - 1}u) / {group}u + place % {per_row}u;",
                f"  let first = number * {group}u;",
                "  let a = first - begin;",
            ]
            inner = f"{self.inner[-1]}u" if self.inner else ""
            left = f"{inner} - (tile.first + a) % {inner}" if inner else "tile.left - a"
            lines.append(f"  let left = {left};")
        lines.append("  let inside = a < tile.own && b < tile.across;")
        for t in self.operands:
            first = f"a / {self.per_cell(t, reading.operands[t].bits)}u"
            first = f"place % {per_row}u" if reading.is_even(t) else first
            lines.append(f"  let first{t} = {first};")
        for t in range(tensors):
            if rows is None:
                lines.append(f"  let at{t}_ = spot{t}(tile, b, a);")
            elif t in outputs:
                lines.append(f"  let at{t}_ = first;")
            elif rows.steps[t] is None:
                lines.append(f"  let at{t}_ = params.start{t} + first * {rows.stride(t)};")
            elif t not in self.operands:
                lines.append(f"  let row{t}_0 = spot{t}(tile, b, a);")
                for i in range(1, rows.count):
                    ahead = f"(left + {(i - 1) * rows.length}u)"
                    back = f" - {ahead} * {rows.stride(t)}" if rows.steps[t] else ""
                    lines.append(f"  let row{t}_{i} = spot{t}(tile, b, a + {ahead}){back};")
        return lines


def in_subgroups(invocations: int, most: int) -> int:
    """Whole subgroups that have so many invocations, at most `most`."""
    return min(most, -(-invocations // SUBGROUP) * SUBGROUP)


def not_for_tiles(loops: Sequence[Loop], operands: Sequence[Operand]) -> list[int]:
    """The operands that lie across and are better moved into the output's order before.

    A tile serves those of one loop, and of narrow ones that are far apart along the output only
    such as have whole sectors side by side along it: the others would be read in parts of words.
    """
    far = by_loop(loops, operands)
    fit = [
        [t for t in found if not _is_in_pieces(loops, loop, t, operands[t])]
        for loop, found in far.items()
    ]
    best = max(fit, key=len, default=[])
    return [t for found in far.values() for t in found if t not in best]


def _is_in_pieces(loops: Sequence[Loop], loop: int, t: int, operand: Operand) -> bool:
    """Whether narrow elements that are far apart have less than a sector side by side."""
    if operand.bits >= 32 or not _run(loops, t, operand)[2]:
        return False
    return abs(loops[loop].steps[t]) != 1 or loops[loop].size * operand.bits < 8 * SECTOR


def by_loop(loops: Sequence[Loop], operands: Sequence[Operand]) -> dict[int, list[int]]:
    """The operands that lie across the output, by the loops along which they should be read."""
    far: dict[int, list[int]] = {}
    for t, operand in enumerate(operands):
        loop = _side_by_side(loops, t, operand) if operand.field else None
        if loop is not None:
            far.setdefault(loop, []).append(t)
    return far


def tile_of(
    loops: Sequence[Loop],
    operands: Sequence[Operand],
    group: int,
    beyond: int,
    adapter: Adapter,
    made: int = 0,
) -> Tile | None:
    """The tile for the operands that lie across, as far as workgroup memory holds them.

    Where all of them do in one way, a result of `made` bits is held in their place.
    """
    last = len(loops) - 1
    far = by_loop(loops, operands)
    if not far:
        return None
    loop = max(far, key=lambda d: len(far[d]))
    bits = max(operands[t].bits for t in far[loop])
    turned = tuple(t for t in far[loop] if operands[t].bits < 32 and loops[loop].steps[t] == 1)
    whole = made > 0 and len(far[loop]) == len(operands) > made // bits
    columns, most = ALONG, RUN // bits
    if whole and not turned:
        most = max(SUBGROUP, RUN_OF_MADE // bits if made == bits else most)
    if bits < 32 and len(turned) < len(far[loop]):
        most = min(ALONG, most)
    row, length = last, loops[-1].size
    while row - 1 > loop and length <= ALONG:
        if length >= ALONG // 2 and length * loops[loop].size >= columns * most // 2:
            break
        row -= 1
        length *= loops[row].size
    inner = tuple(d.size for d in loops[row + 1 :])
    if length < FEW or prod(inner) > ALONG:
        return None
    beyond = beyond if length % group else 0
    if beyond and OWN * group > columns:
        columns, most = OWN * group, most * columns // (OWN * group)
    steps = _all_or(most, loops[loop].size)
    own = _all_or(columns * most // steps - beyond, length)
    own = own if own == length or beyond else own // group * group
    if own == length:
        steps = _all_or(max(steps, columns * most // (own + beyond) // 4 * 4), loops[loop].size)
    lanes = MOST_FOR_BYTES if bits == 8 and not beyond else MOST_INVOCATIONS
    lanes = min(lanes, adapter.max_workgroup_size)
    others = [d for n, d in enumerate(loops) if n != loop]
    even = [t for t in turned if begins_words(operands[t], t, others)]
    aligned = () if beyond else tuple(even)
    tile = Tile(loop, steps, row, inner, own, beyond, group, (), turned, aligned, lanes)
    is_made = len(turned) == len(operands) and made == bits and not beyond
    if whole and (is_made or not turned):
        tile = replace(tile, operands=tuple(far[loop]), made=made)
        fits = 4 * tile.words(0, made) <= adapter.max_workgroup_storage
        return tile if fits else tile_of(loops, operands, group, beyond, adapter)
    held, left = [], adapter.max_workgroup_storage
    for t in far[loop]:
        left -= 4 * tile.words(t, operands[t].bits)
        if left >= 0:
            held.append(t)
    return replace(tile, operands=tuple(held)) if held else None


def begins_words(operand: Operand, t: int, loops: Sequence[Loop]) -> bool:
    """Whether operand `t` begins with a word wherever these loops lead."""
    return not any(n * operand.bits % 32 for n in (operand.start, *(d.steps[t] for d in loops)))


def _all_or(some: int, size: int) -> int:
    """So many steps, all where there are hardly more, or fewer so that a few tiles are alike."""
    if size <= some + some // 4:
        return size
    tiles = -(-size // some)
    return min(some, -(-size // (4 * tiles)) * 4) if tiles <= FEW_TILES else some


def _run(loops: Sequence[Loop], t: int, operand: Operand) -> tuple[list[int], int, bool]:
    """The loops that are not part of what an operand has side by side along the output.

    Then the innermost of these, and whether that is so little that each sector is read for it.
    """
    steps = [abs(loop.steps[t]) for loop in loops]
    last = len(loops) - 1
    wanted = [d for d in range(last) if steps[d] and loops[d].size > 1]
    run, d = 1, last  # elements of the operand from the first one to where the next is far away
    while d >= 0 and steps[d] * operand.bits <= max(run * operand.bits, FAR // 2):
        run += (loops[d].size - 1) * steps[d]
        wanted = [other for other in wanted if other != d]
        d -= 1
    if d < 0 or not wanted:
        return [n for n in range(last) if 0 < steps[n] < steps[last]], last, False
    return wanted, d, run * operand.bits < FAR


def _side_by_side(loops: Sequence[Loop], t: int, operand: Operand) -> int | None:
    """The loop along which an operand should be read, if that is not how the output goes."""
    steps = [abs(loop.steps[t]) for loop in loops]
    wanted, d, is_far = _run(loops, t, operand)
    if is_far:
        wanted = [n for n in wanted if 4 * steps[n] <= steps[d]]
    else:  # each sector is used by several rows of the output
        wanted = [n for n in wanted if steps[n] < steps[-1]]
    if not wanted:
        return None
    loop = min(wanted, key=lambda n: steps[n])
    apart = loops[loop].steps[-1] * operand.bits // 8
    is_slow = operand.bits >= 32 or BITS_APART * steps[-1] >= operand.bits
    return loop if is_far or is_slow or apart >= FORGOTTEN else None


def _held(tile: Tile, t: int, bits: int, is_even: bool) -> list[str]:
    """Workgroup memory of an operand, and functions that find its words and take them.

    `cell` is a word of a row; where every group has words of its own, `held` takes the number of
    the group.
    """
    per, planes, plane = tile.per_cell(t, bits), tile.planes(t, bits), tile.plane(t, bits)
    row = f"row % {per}u * {tile.part(t, bits)}u + row / {per}u * {tile.pitch(t, bits)}u"
    at = f"{row} + first + k * {plane}u" if is_even else f"cell{t}(row, first + k)"
    column = f"cell % {planes}u * {plane}u + cell / {planes}u"
    lines = [
        f"fn column{t}(cell: u32) -> u32 {{ return {column}; }}",
        f"fn cell{t}(row: u32, cell: u32) -> u32 {{ return {row} + column{t}(cell); }}",
    ]
    for part in parts_of(bits):
        lines.append(f"var<workgroup> words{t}{part}: array<u32, {plane * planes}>;")
        head = f"fn held{t}{part}(row: u32, first: u32, k: u32) -> u32"
        lines.append(f"{head} {{ return words{t}{part}[{at}]; }}")
    return lines


def _take_elements(tile: Tile, t: int, bits: int, load: str) -> list[str]:
    """Statements that take in an operand element by element, the other loop's neighbours first."""
    rounds = -(-tile.takes(t, bits) // tile.invocations)
    reach = f"tile.own + {tile.beyond}u" if tile.beyond else "tile.own"
    # What lies beyond the work is read as its last element, so that no load is in a branch.
    spot = f"spot{t}(tile, min(b{t}_$, tile.across - 1u), min(a{t}_$, {reach} - 1u))"
    return [
        f"  #repeat {rounds}: let a{t}_$ = (lane + $u * {tile.invocations}u) / {tile.steps}u; "
        f"let b{t}_$ = (lane + $u * {tile.invocations}u) % {tile.steps}u;",
        f"  #repeat {rounds}: let at{t}_$ = {spot};",
        f"  #repeat {rounds}: let v{t}_$ = {element_at(bits, load, f'at{t}_$')};",
    ]


def _put_elements(tile: Tile, t: int, bits: int, value: str) -> list[str]:
    """Statements that hold the bits of elements."""
    count, puts = tile.along * tile.steps, put_at(t, bits, f"b{t}_$, a{t}_$", f"{value}_$")
    return [line for put in puts for line in in_turns(count, tile.invocations, put)]


def put_at(t: int, bits: int, cell: str, value: str) -> list[str]:
    """Statements that hold the bits of one element in a cell."""
    parts = zip(parts_of(bits), "xy", strict=False)
    return [f"words{t}{part}[cell{t}({cell})] = {value}.{word};" for part, word in parts]


def parts_of(bits: int) -> Sequence[str]:
    """What the names of an element's words end with."""
    return ("", "_high") if bits == 64 else ("",)


def _take_words(tile: Tile, t: int, bits: int, load: str, wide: bool) -> list[str]:
    """Statements that take in squares of `per` rows and columns, by words along the other loop.

    A row that ends is followed as if the other loop did not end there; see `_mend`.
    """
    per, is_aligned = 32 // bits, t in tile.aligned
    across = -(-tile.steps // per)
    rounds = -(-tile.takes(t, bits) // tile.invocations)
    lines = [
        f"  #repeat {rounds}: let a{t}_$ = (lane + $u * {tile.invocations}u) / {across}u; "
        f"let b{t}_$ = (lane + $u * {tile.invocations}u) % {across}u;",
    ]
    for i in range(per):
        at = f"at{t}_{i}_$"
        column = f"a{t}_$ * {per}u + {i}u"
        lines.append(f"  #repeat {rounds}: let {at} = ahead{t}(tile, b{t}_$ * {per}u, {column});")
    for i in range(per):
        for j in range(1 if is_aligned else 2):
            word = f"{load}(at{t}_{i}_$ / {per}u + {j}u)"
            lines.append(f"  #repeat {rounds}: let l{t}_{i}_{j}_$ = {word};")
    for i in range(per):
        shift = f"at{t}_{i}_$ % {per}u * {bits}u"
        low, high = (f"l{t}_{i}_{j}_$" for j in range(2))
        word = low if is_aligned else funnel(low, high, f"({shift})", wide=wide)
        lines.append(f"  #repeat {rounds}: let v{t}_{i}_$ = {word};")
    return lines


def _put_words(tile: Tile, t: int, bits: int, value: str) -> list[str]:
    """Statements that hold squares, turned: rows of the output are words then."""
    per, pitch = 32 // bits, tile.pitch(t, bits)
    squares = tile.takes(t, bits)
    rounds = -(-squares // tile.invocations)
    words = ", ".join(f"{value}_{i}_$" for i in range(per))
    lines = [f"  #repeat {rounds}: let t{t}_$ = turned{bits}(vec{per}<u32>({words}));"]
    square = f"column{t}(a{t}_$) + b{t}_$ * {pitch}u"
    lines.append(f"  #repeat {rounds}: let s{t}_$ = {square};")
    for row in range(per):
        put = f"words{t}[s{t}_$ + {row * tile.part(t, bits)}u] = t{t}_$[{row}];"
        lines += in_turns(squares, tile.invocations, put)
    return lines


def _mend(tile: Tile, reading: Reading) -> list[str]:
    """Statements that put right what follows the last row of the other loop, where words are held.

    Few tiles have that row and its end.
    """
    turned = [t for t in tile.operands if t in tile.turned]
    if not tile.beyond or not turned:
        return []
    lines = ["  workgroupBarrier();"]
    for t in turned:
        bits = reading.operands[t].bits
        per, mask = 32 // bits, (1 << bits) - 1
        lines += [
            f"  let mended{t} = tile.left / {per}u + lane;",
            f"  let ends{t} = min(tile.left + {tile.beyond}u, {tile.along}u);",
            f"  if (tile.end < tile.across && mended{t} * {per}u < ends{t}) {{",
            f"    let spot = cell{t}(tile.end, mended{t});",
            f"    var word = words{t}[spot];",
        ]
        for k in range(per):
            n = f"(mended{t} * {per}u + {k}u)"
            element = element_at(bits, reading.load_of(t), f"at{k}")
            placed = f"(word & {0xFFFFFFFF ^ mask << k * bits}u) | ({element}.x << {k * bits}u)"
            lines += [
                f"    let at{k} = spot{t}(tile, tile.end, {n});",
                f"    word = select(word, {placed}, {n} >= tile.left);",
            ]
        lines += [f"    words{t}[spot] = word;", "  }"]
    return lines


def in_turns(count: int, invocations: int, text: str) -> list[str]:
    """A statement for each of `count` things that the invocations take in turn."""
    whole, rest = divmod(count, invocations)
    lines = [f"  #repeat {whole}: {text}"]
    if rest:
        lines.append(f"  if (lane < {rest}u) {{ {text.replace('$', str(whole))} }}")
    return lines


def _tile_at(tile: Tile, tensors: int, by_product: bool) -> list[str]:
    """Where tile `number` begins, and how far its next rows are where a row ends."""
    row = tile.row
    length = " * ".join([of_eight("sizes", row), *(f"{n}u" for n in tile.inner)])
    lines = [
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var tile = Tile();",
        f"  var next = {quotient('rest', 'counts', row, by_product=by_product)};",
        f"  tile.first = (rest - next * {of_eight('counts', row)}) * {tile.own}u;",
        f"  tile.left = {length} - tile.first;",
        f"  tile.own = min(tile.left, {tile.own}u);",
        *(f"  tile.at{t} = params.start{t};" for t in range(tensors)),
    ]
    for d in reversed(range(row)):
        own = f" * {tile.steps}u" if d == tile.loop else ""
        lines.append("  rest = next;")
        if d:
            lines.append(f"  next = {quotient('rest', 'counts', d, by_product=by_product)};")
        else:
            lines.append("  next = 0u;")
        lines.append(f"  let c{d} = (rest - next * {of_eight('counts', d)}){own};")
        lines += [f"  tile.at{t} += c{d} * {of_eight(f'strides{t}', d)};" for t in range(tensors)]
    size, first = of_eight("sizes", tile.loop), f"c{tile.loop}"
    lines.append(f"  tile.across = min({size} - {first}, {tile.steps}u);")
    lines.append(f"  tile.end = {size} - {first} - 1u;")
    for name, at_end in (("next", "false"), ("turn", "true")) if tile.beyond else ():
        ends: list[int] = []
        for d in reversed(range(1, row)):
            here = at_end if d == tile.loop else f"c{d} + 1u == {of_eight('sizes', d)}"
            before = f"{name}_{d + 1} && " if ends else ""
            lines.append(f"  let {name}_{d} = {before}{here};")
            ends.append(d)
        for t in range(tensors):
            ahead = of_eight(f"strides{t}", row - 1)
            for d in ends:
                strides = of_eight(f"strides{t}", d - 1), of_eight(f"strides{t}", d)
                jump = f"{strides[0]} - {of_eight('sizes', d)} * {strides[1]}"
                ahead += f" + select(0u, {jump}, {name}_{d})"
            lines.append(f"  tile.{name}{t} = {ahead};")
    return [*lines, "  return tile;", "}"]


def _spot(tile: Tile, t: int, rank: int) -> list[str]:
    """Functions from a place in the tile to an address: element `a` from its first on, row `b`.

    `ahead` is the same for all rows: it does not know of the end of the other loop.
    """
    lines = []
    for name, there in (
        ("spot", f"select(tile.next{t}, tile.turn{t}, b == tile.end)"),
        ("ahead", f"tile.next{t}"),
    ):
        lines += [
            f"fn {name}{t}(tile: Tile, b: u32, a: u32) -> u32 {{",
            f"  var at = tile.at{t} + b * {of_eight(f'strides{t}', tile.loop)};",
            "  var rest = tile.first + a;",
        ]
        if tile.beyond:
            lines += [
                f"  at += select(0u, {there}, a >= tile.left);",
                "  rest = select(rest, a - tile.left, a >= tile.left);",
            ]
        for d in reversed(range(tile.row + 1, rank)):
            size = tile.inner[d - tile.row - 1]
            lines.append(f"  at += rest % {size}u * {of_eight(f'strides{t}', d)};")
            lines.append(f"  rest /= {size}u;")
        lines += [f"  return at + rest * {of_eight(f'strides{t}', tile.row)};", "}"]
    return lines
