"""Operands that lie across short rows of the output, such as pixels: many rows at a time.

In `x + y` with `y` in planes and `x` in pixels, neighbours of a row are a plane apart in `y`, and
those of a plane a row apart in the output. A workgroup reads as many whole rows as make a long run
of the packed output, and holds their elements in the order of that run.

Elements of a group are held in a plane of workgroup memory each, so that invocations side by side
take words side by side. A group belongs to the run in which it begins; where that does not end with
a group, a few elements behind it are held as well.

Elements narrower than a word are read by words, of as many rows. Where runs begin with groups these
are turned in registers, and held as the words of the output that they are together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, lcm, prod

from dmlgpu.plan.dispatch import BANKS, Adapter, of_eight
from dmlgpu.plan.elementwise import across
from dmlgpu.plan.reading import Loop, Reading, places
from dmlgpu.plan.rows import quotient
from dmlgpu.plan.traffic import SECTOR
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import element_at, funnel

# Numbers that were tuned on an NVIDIA H200.
SHORT = {8: 16, 16: 24, 32: 24, 64: 24}  # by bits: elements of a row at most
NARROW = 8  # halves of a row, up to which tiles that turn squares of them are slower
TURNED = 16  # words that are turned together at most
MOST = 2048  # words of a run
LEAST = 512  # fewer are not worth a workgroup


@dataclass(frozen=True, slots=True)
class Run:
    """Some whole rows of a packed output, one behind the other."""

    loop: int  # around the rows
    rows: int
    sizes: tuple[int, ...]  # of the loops inside of that
    group: int  # elements that an invocation makes at once
    beyond: int  # elements behind the run that a group which begins in it may need
    operands: tuple[int, ...]  # that are held
    in_words: tuple[int, ...]  # of these, the ones that are read by words
    turned: tuple[int, ...]  # of those, the ones that are held as words of the output
    aligned: tuple[int, ...]  # and the ones whose planes begin with words
    most: int  # invocations of a workgroup
    made: int = 0  # bits of a result that is held instead of what it is made of; 0: none is

    @property
    def holds_words(self) -> bool:
        """Whether results are held as words: never, each has a cell of its own."""
        return False

    @property
    def length(self) -> int:
        """Elements of a row."""
        return prod(self.sizes)

    @property
    def all_groups(self) -> int:
        """Groups that can begin in the run."""
        return self.rows * self.length // self.group

    @property
    def at_once(self) -> int:
        """Groups that an invocation makes together, so that their loads are all under way."""
        return -(-self.all_groups // self.most)

    @property
    def invocations(self) -> int:
        """As many as share all groups evenly."""
        return across.in_subgroups(-(-self.all_groups // self.at_once), self.most)

    def counts(self, loops: Sequence[Loop]) -> list[int]:
        """Runs along each loop."""
        counts = [loop.size for loop in loops[: self.loop]]
        return [*counts, -(-loops[self.loop].size // self.rows)] + [1] * len(self.sizes)

    def per_word(self, t: int, bits: int) -> int:
        """Elements that are read together: neighbours along the loop around rows."""
        return 32 // bits if t in self.in_words else 1

    def per_cell(self, t: int, bits: int) -> int:
        """Elements that are held in one word."""
        return 32 // bits if t in self.turned else 1

    def planes(self, t: int, bits: int) -> int:
        """Words of a group, each held in a plane of its own."""
        return self.group // self.per_cell(t, bits)

    def plane(self, t: int, bits: int) -> int:
        """Words of a plane: so many that those which are put together meet in few banks."""
        per, planes = self.per_cell(t, bits), self.planes(t, bits)
        words = -(-(self._nobodys // per + 1) // planes)
        apart = self.length * self.per_word(t, bits) // per
        return words + _padding(words, planes, apart)

    def words(self, t: int, bits: int) -> int:
        """Words of workgroup memory that an operand needs."""
        return self.plane(t, bits) * self.planes(t, bits) * max(1, bits // 32)

    def held_by(self, reading: Reading) -> Reading:
        """The same reading, with the operands of the run taken from workgroup memory."""
        access = list(reading.access)
        for t in self.operands:
            access[t] = "made" if self.made else "held_run" if t in self.turned else "held"
        assert reading.rows is not None
        # Products that stand for quotients are known for numbers of runs alone.
        rows = replace(reading.rows, is_whole=True, by_product=False)
        return replace(reading, access=tuple(access), rows=rows, on=frozenset())

    def code(self, reading: Reading, rank: int, tensors: int, result: str) -> list[str]:
        """The run in WGSL: where it begins, and how it is read.

        `result` is what is made of the elements `v{t}_$` of the operands, where that is held.
        """
        widths = [(t, reading.operands[t].bits) for t in self.operands]
        begins = " ".join(f"at{t}: u32," for t in self.operands)
        made = [(0, self.made)] if self.made else widths
        taken = []
        for t, bits in widths:
            take = self._taken_blocks if t in self.turned else self._taken
            taken += take(t, bits, reading)
        if self.made:
            taken += self._made(widths[0][1], result)
        values = "made" if self.made else "v{}"
        puts = []
        for t, bits in made:
            if t in self.turned:
                puts += self._put_blocks(t, bits)
            else:
                puts += self._put(t, bits, widths[0][1], values)
        behind, put_behind = self._behind(reading, rank, result) if self.beyond else ([], [])
        return [
            f"struct Tile {{ begin: u32, rows: u32, is_last: bool, {begins} }}",
            *self._tile_at(len(reading.operands), reading.wide),
            *(line for t, bits in made for line in self._held(t, bits)),
            *(line for t, _ in widths for line in self._spot(t)),
            "fn take_in(tile: Tile, lane: u32) {",
            *taken,
            *behind,
            *puts,
            *put_behind,
            "}",
        ]

    def places(self, reading: Reading, tensors: int) -> list[str]:
        """Statements from the number of a group to its addresses, and to what is held of it."""
        rows, group, outputs = reading.rows, self.group, len(reading.operands)
        assert rows is not None
        others = (t for t, step in enumerate(rows.steps) if step is not None)
        is_long = all(t in self.operands for t in others)
        lines = [
            f"  let number = (tile.begin + {group - 1}u) / {group}u + place;",
            *([f"  let first = number * {group}u;"] if is_long else rows.places()),
            f"  let inside = first - tile.begin < tile.rows * {self.length}u;",
            "  let b = 0u;",
            *(f"  let first{t} = number - tile.begin / {group}u;" for t in self.operands),
        ]
        for t in range(tensors):
            if t >= outputs:
                lines.append(f"  let at{t}_ = first;")
            elif rows.steps[t] is None:
                lines.append(f"  let at{t}_ = params.start{t} + first * {rows.stride(t)};")
        return lines

    def _held(self, t: int, bits: int) -> Iterator[str]:
        """Workgroup memory, and functions that find its words and take them."""
        plane, planes = self.plane(t, bits), self.planes(t, bits)
        cell = f"place % {planes}u * {plane}u + place / {planes}u"
        yield f"fn cell{t}(place: u32) -> u32 {{ return {cell}; }}"
        for part in across.parts_of(bits):
            yield f"var<workgroup> words{t}{part}: array<u32, {plane * planes}>;"
            head = f"fn held{t}{part}(row: u32, first: u32, k: u32) -> u32"
            yield f"{head} {{ return words{t}{part}[first + k * {plane}u]; }}"

    def _tile_at(self, output: int, by_product: bool) -> list[str]:
        """Where run `number` begins; `begin` is its place in the output, which is packed."""
        walked = {"begin": output, **{f"at{t}": t for t in self.operands}}
        lines = [
            "fn tile_at(number: u32) -> Tile {",
            "  var next = number;",
            "  var tile = Tile();",
        ]
        lines += [f"  tile.{name} = params.start{t};" for name, t in walked.items()]
        for d in reversed(range(self.loop + 1)):
            rows = f" * {self.rows}u" if d == self.loop else ""
            up = quotient(f"rest{d}", "counts", d, by_product=by_product) if d else "0u"
            lines += [
                f"  let rest{d} = next;",
                f"  next = {up};",
                f"  let c{d} = (rest{d} - next * {of_eight('counts', d)}){rows};",
            ]
            lines += [
                f"  tile.{k} += c{d} * {of_eight(f'strides{t}', d)};" for k, t in walked.items()
            ]
        return [
            *lines,
            f"  let left = {of_eight('sizes', self.loop)} - c{self.loop};",
            f"  tile.rows = min(left, {self.rows}u);",
            f"  tile.is_last = left < {self.rows + -(-self.beyond // self.length)}u;",
            "  return tile;",
            "}",
        ]

    def _spot(self, t: int) -> list[str]:
        """A function from a row and an element of it to an address."""
        lines = [
            f"fn spot{t}(tile: Tile, row: u32, element: u32) -> u32 {{",
            f"  var at = tile.at{t} + row * {of_eight(f'strides{t}', self.loop)};",
            "  var rest = element;",
        ]
        for n, size in reversed(list(enumerate(self.sizes))):
            stride = of_eight(f"strides{t}", self.loop + 1 + n)
            lines += [f"  at += rest % {size}u * {stride};", f"  rest /= {size}u;"]
        return [*lines, "  return at;", "}"]

    def _rounds(self, t: int, bits: int) -> int:
        return -(-self.rows * self.length // self.per_word(t, bits) // self.invocations)

    def _taken(self, t: int, bits: int, reading: Reading) -> list[str]:
        """Statements that read an operand, neighbouring rows first.

        What lies beyond the work is read as its last row, so that no load is in a branch.
        """
        per, rounds, load = self.per_word(t, bits), self._rounds(t, bits), reading.load_of(t)
        number, rows = f"(lane + $u * {self.invocations}u)", self.rows // per
        row = f"r{t}_$" if per == 1 else f"r{t}_$ * {per}u"
        inside = f"min({row}, tile.rows - 1u)" if per == 1 else row
        column = f"min(c{t}_$, {self.length - 1}u)"
        lines = [
            f"let c{t}_$ = {number} / {rows}u; let r{t}_$ = {number} % {rows}u;",
            f"let at{t}_$ = spot{t}(tile, {inside}, {column});",
        ]
        if per == 1:
            lines.append(f"let v{t}_$ = {element_at(bits, load, f'at{t}_$')};")
        else:
            lines += self._word(t, bits, "_$", reading)
            mask = (1 << bits) - 1
            lines += [
                f"let v{t}_{i}_$ = vec2<u32>((w{t}_$ >> {i * bits}u) & {mask}u, 0u);"
                for i in range(per)
            ]
        return [f"  #repeat {rounds}: {line}" for line in lines]

    def _word(self, t: int, bits: int, end: str, reading: Reading) -> list[str]:
        """Statements that read a word of elements from `at{t}` on."""
        per, load = 32 // bits, reading.load_of(t)
        words = [f"l{t}_{j}{end}" for j in range(1 if t in self.aligned else 2)]
        lines = [f"let {x} = {load}(at{t}{end} / {per}u + {j}u);" for j, x in enumerate(words)]
        shift = f"(at{t}{end} % {per}u * {bits}u)"
        word = funnel(words[0], words[1], shift, wide=reading.wide) if words[1:] else words[0]
        return [*lines, f"let w{t}{end} = {word};"]

    def _taken_blocks(self, t: int, bits: int, reading: Reading) -> list[str]:
        """Statements that read as many rows as a word has elements: a word of each of their places.

        What lies beyond the work is read too, and goes nowhere.
        """
        per, length = 32 // bits, self.length
        rounds = -(-self.rows // per // self.invocations)
        lines = [f"let r{t}_$ = lane + $u * {self.invocations}u;"]
        ends = [f"_{c}_$" for c in range(length)]
        row = f"min(r{t}_$, {self.rows // per - 1}u) * {per}u"
        lines += [f"let at{t}{end} = spot{t}(tile, {row}, {c}u);" for c, end in enumerate(ends)]
        lines += [line for end in ends for line in self._word(t, bits, end, reading)]
        return [f"  #repeat {rounds}: {line}" for line in lines]

    def _put_blocks(self, t: int, bits: int) -> list[str]:
        """Statements that hold such rows as words of the output."""
        per, length, mask = 32 // bits, self.length, (1 << bits) - 1
        lines = []
        for word in range(length):
            elements = (divmod(word * per + i, length) for i in range(per))
            made = " | ".join(
                f"(((w{t}_{c}_$ >> {r * bits}u) & {mask}u) << {i * bits}u)"
                for i, (r, c) in enumerate(elements)
            )
            put = f"words{t}[cell{t}(r{t}_$ * {length}u + {word}u)] = {made};"
            lines += across.in_turns(self.rows // per, self.invocations, put)
        return lines

    def _ends(self, t: int, bits: int) -> list[str]:
        """What the names of elements end with that are read together."""
        per = self.per_word(t, bits)
        return [f"_{i}_$" for i in range(per)] if per > 1 else ["_$"]

    def _made(self, bits: int, result: str) -> list[str]:
        """Statements that make elements of the result of those that were read."""
        rounds = self._rounds(0, bits)
        return [
            f"  #repeat {rounds}: let made{end} = {result.replace('_$', end)};"
            for end in self._ends(0, bits)
        ]

    def _put(self, t: int, bits: int, read: int, value: str) -> list[str]:
        """Statements that hold elements, which were read by words of `read` bits each.

        Loads would wait for each other if what follows them were in a branch. So rows beyond the
        work are the last one again; those of a word are held where nobody takes from, be it behind
        the run or, where something else is held there, in a cell behind that.
        """
        width = read if self.made else bits
        per = self.per_word(t, width)
        lines = []
        for i, end in enumerate(self._ends(t, width)):
            row = f"r{t}_$ * {per}u + {i}u" if per > 1 else f"min(r{t}_$, tile.rows - 1u)"
            place = f"({row}) * {self.length}u + c{t}_${self._lead}"
            if per > 1 and self.beyond:
                place = f"select({self._nobodys}u, {place}, {row} < tile.rows)"
            put = " ".join(across.put_at(t, bits, place, f"{value.format(t)}{end}"))
            lines += across.in_turns(self.rows * self.length // per, self.invocations, put)
        return lines

    @property
    def _nobodys(self) -> int:
        """The number of a cell behind all others."""
        return self.rows * self.length + 2 * self.beyond

    @property
    def _lead(self) -> str:
        """Cells before the first element, so that groups begin with the first plane."""
        return f" + tile.begin % {self.group}u" if self.beyond else ""

    def _behind(self, reading: Reading, rank: int, result: str) -> tuple[list[str], list[str]]:
        """Statements that read what follows the run in the output, and that hold it.

        The last invocations do that, which have the least to read. Where the loop around rows ends
        before that, it goes on at the next step of another loop.
        """
        first, length = self.invocations - self.beyond, self.length
        lines = [
            *(f"  var behind{t} = vec2<u32>();" for t in self.operands),
            f"  let place = tile.rows * {length}u + lane - {first}u;",
            f"  if (lane >= {first}u) {{",
        ]
        lines += [
            f"    var at{t} = spot{t}(tile, place / {length}u, place % {length}u);"
            for t in self.operands
        ]
        number = "min(tile.begin + place, params.elements - 1u)"
        walks = [(f"far{t}", f"params.start{t}", f"strides{t}") for t in self.operands]
        lines += [
            "    if (tile.is_last) {",
            *(f"    {line}" for line in places(rank, "sizes", number, walks)),
            *(f"      at{t} = far{t};" for t in self.operands),
            "    }",
        ]
        for t in self.operands:
            element = element_at(reading.operands[t].bits, reading.load_of(t), f"at{t}")
            lines.append(f"    behind{t} = {element};")
        widths = [(t, reading.operands[t].bits, f"behind{t}") for t in self.operands]
        if self.made:
            value = result
            for t in self.operands:
                value = value.replace(f"v{t}_$", f"behind{t}")
            widths = [(0, self.made, value)]
        place = f"place{self._lead}"
        puts = [put for t, bits, value in widths for put in across.put_at(t, bits, place, value)]
        return [*lines, "  }"], [f"  if (lane >= {first}u) {{ {' '.join(puts)} }}"]


def _is_short(length: int, bits: int, *, is_turned: bool, group: int) -> bool:
    """Whether rows are better taken as a run than in tiles, or element by element.

    Of bytes that are held one by one only such as meet in no bank of workgroup memory, unless what
    is made of them is wider.
    """
    if length > SHORT[bits] or is_turned:
        return is_turned
    if bits == 8:
        return group < 16 or length.bit_count() == 1
    return bits > 16 or length <= NARROW or length % 4 > 0


@lru_cache(maxsize=256)
def _padding(words: int, planes: int, apart: int) -> int:
    """Words to add to planes, so that elements so far `apart` are in different banks."""
    places = [divmod(n * apart, planes) for n in range(BANKS)]

    def met(more: int) -> int:
        return max(Counter((p * (words + more) + w) % BANKS for w, p in places).values())

    return min(range(BANKS), key=met)


def run_of(
    loops: Sequence[Loop], operands: Sequence[Operand], group: int, adapter: Adapter, made: int
) -> Run | None:
    """The run for operands that lie across the rows of a packed output.

    Where all operands do, and are not turned, a result of `made` bits is held in their place. None
    where rows are long, or where operands lie across in several ways.
    """
    far = across.by_loop(loops, operands)
    if len(far) != 1:
        return None
    ((loop, held),) = far.items()
    widths = {operands[t].bits for t in held}
    length = prod(d.size for d in loops[loop + 1 :])
    beyond = group - 1 if any(d.steps[-1] % group for d in loops[:loop]) else 0
    in_words = [t for t in held if operands[t].bits < 32 and loops[loop].steps[t] == 1]
    turned = [
        t
        for t in in_words
        if not beyond and length <= TURNED and group * operands[t].bits % 32 == 0
    ]
    if len(held) < len(operands) or len(turned) == len(held):
        made = 0
    elif made:
        turned = []
        in_words = in_words if len(widths) == 1 and len(in_words) == len(held) else []
    if not _is_short(length, min(widths), is_turned=len(turned) == len(held), group=group):
        return None
    # Rows that are a multiple of a group together, and of a sector of what is read.
    whole = lcm(group // gcd(length, group), *(8 * SECTOR // bits for bits in widths))
    per = min(32 // operands[t].bits if t in turned else 1 for t in held)
    most = 32 * MOST * per // max(32, *widths)
    rows = min(most // length, loops[loop].size + whole - 1) // whole * whole
    if rows * length < LEAST:
        return None
    others = [d for d in loops if d is not loops[loop]]
    run = Run(
        loop,
        rows,
        tuple(d.size for d in loops[loop + 1 :]),
        group,
        beyond,
        tuple(held),
        tuple(in_words),
        tuple(turned),
        tuple(t for t in in_words if across.begins_words(operands[t], t, others)),
        min(across.MOST_INVOCATIONS, adapter.max_workgroup_size),
        made,
    )
    words = run.words(0, made) if made else sum(run.words(t, operands[t].bits) for t in held)
    return run if 4 * words <= adapter.max_workgroup_storage else None
