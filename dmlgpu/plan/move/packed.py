"""Moves on a GPU in the order of the output: unit by unit, each made in registers.

A unit of 16 bytes begins in one row of the innermost loop and may go on in the next. Elements
narrower than a word that lie side by side in the source, or a few apart, are shifted out of its
words; others are read one by one, and once for a row where the source stays where it is. Where
index tuples say where rows begin, each row of a unit is looked up.

A unit is one word, or one element that is wider, where elements are apart in the source and each is
stored once: lanes side by side then read what is near, and few of them meet in a bank of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value, eight, of_eight
from dmlgpu.plan.loops import Dim, closed, count, extent
from dmlgpu.plan.rows import DIVISION, Rows, divisors
from dmlgpu.plan.words import UNIT_BITS, element_at, funnel, param_lines, word_type, words_of

WG_SIZE = 256
GATHER_WG_SIZE = 128  # and two units for each invocation, as measured
INDICES = "indices_tensor"
MOST_REPEATS = 4  # stores of a unit that is made once, as shaders/move/packed.wgsl has them
STEPS = 4  # elements from one to the next, up to which they are shifted out of words
APART = 3  # elements from one to the next, from which on a unit is a word if it is stored once
TURNING = 16  # units of a row, below which every subgroup has some that go on in the next
# Bytes of a picked row from which on workgroups take pieces of all rows in turn, and most rows: one
# that is picked twice is then read twice at about the same time, and comes from memory once.
IN_TURN, MOST_IN_TURN = 1 << 14, 1 << 12
# Bytes that each step of a loop reads which stays where it is in the source, from which on its
# steps are made in turn, too: caches do not hold as much until the next one.
READ_AGAIN = 1 << 24


@dataclass(frozen=True, slots=True)
class Gather:
    """What a gather adds to a copy: index tuples that pick the source."""

    indices: TensorDesc
    index_step: int  # elements of the indices from one coordinate of a tuple to the next
    sizes: tuple[int, ...]  # of the input dimensions the coordinates select from
    strides: tuple[int, ...]
    kept: int  # how many of the last loops step through the block that one tuple picks
    field: str = INDICES

    @property
    def function(self) -> str:
        """The function of the number library that makes a coordinate of an index value."""
        name = self.indices.data_type.name.lower()
        return f"index_{name.replace('uint', 'u').replace('int', 'i')}"

    @property
    def bits(self) -> int:
        """Width of an index value."""
        return self.indices.data_type.bits

    @property
    def params(self) -> dict[str, Value]:
        """Parameters of a kernel that looks tuples up."""
        return {
            "index_step": self.index_step,
            "gather_sizes": eight(self.sizes),
            "gather_strides": eight(self.strides),
        }

    def resolve(self) -> list[str]:
        """The function that adds to an address what the coordinates of a tuple say."""
        every = range(len(self.sizes))
        at = [f"{self.function}(i{k}, {of_eight('gather_sizes', k)})" for k in every]
        terms = [f"{at[k]} * {of_eight('gather_strides', k)}" for k in every]
        return [
            f"#bind read indices: {word_type(self.bits)}",
            "fn resolve(source: u32, tuple_at: u32) -> u32 {",
            *(f"  let i{k} = load_indices(tuple_at + {k}u * params.index_step);" for k in every),
            f"  return {' + '.join(['source', *terms])};",
            "}",
        ]


def dispatch(
    bits: int,
    dims: tuple[Dim, ...],
    base: int,
    bindings: Mapping[str, str],
    adapter: Adapter,
    gather: Gather | None = None,
    period: int = 0,
) -> Dispatch:
    """One or two units for each invocation; `base` is the element of the source to begin with.

    What lies between runs of the output is moved like elements. No element of a row has an index
    tuple of its own. If `period` is given, rows of a unit and more repeat so many elements, with a
    unit more of them in the source.
    """
    unit = _unit(bits, dims, gather)
    units = -(-extent(dims) * bits // unit)
    dims = closed(dims)
    again = Repeats.of(bits, dims, units)
    is_more = gather or unit < UNIT_BITS or any(map(_stays, dims))
    at_once = 2 if again.times == 1 and is_more else 1
    wg = GATHER_WG_SIZE if gather else WG_SIZE
    sizes, last = [d.size for d in dims], dims[-1]
    sizes[again.loop] = again.steps
    group, steps = unit // bits, [last.source, *([0] if gather else [])]
    in_one = len(sizes) == 1 or last.size % group == 0
    wide = adapter.wide_integers
    rows = Rows.of(group, sizes, steps, in_one=in_one, by_product=wide, is_periodic=period > 0)
    divided = [*sizes, period] if period else sizes
    params: dict[str, Value] = {
        "count": units,
        "made": again.made,
        "apart": again.apart,
        "start0": base,
        "sizes": eight(divided),
        "strides0": eight([d.source for d in dims]),
        **(divisors(divided) if rows.by_product else {}),
    }
    if gather:
        params |= {"start1": 0, "strides1": eight([d.tuple_ for d in dims]), **gather.params}
    groups, shared = -(-again.made // (wg * at_once)), _IN_ORDER
    turning = _in_turn(bits, dims, sizes, gather, period)
    if turning >= 0:
        length = dims[turning].out
        most = -(-length // group) + (length % group > 0)  # units that end in one step
        pieces = -(-most // (wg * at_once))
        params |= {"rows": sizes[turning], "pieces": pieces, "length": length}
        groups, shared = prod(sizes[: turning + 1]) * pieces, _IN_TURN.replace("GROUP", str(group))
    loads = 4 * abs(last.source) + 1  # of a unit that is shifted out of words
    is_turning = not (in_one or gather) and last.source != 0 and last.size < TURNING * group
    is_near = unit == UNIT_BITS and abs(last.source) <= STEPS
    is_shifted = bits < 32 and last.size >= group and is_near
    is_shifted = is_shifted and not (is_turning and group < 2 * loads)
    in_units = is_shifted and not (gather or period) and in_one and _starts_units(bits, dims, base)
    bound = "vec4<u32>" if bits == UNIT_BITS or in_units else word_type(bits)
    lines = [
        *param_lines(params),
        f"#bind read input: {bound}",
        f"#bind write output: {_UNITS[unit]}",
        f"alias Unit = {_UNITS[unit]};",
        *(DIVISION if rows.by_product else ()),
        *(_row(bits, last.source, in_units=in_units, wide=rows.by_product) if is_shifted else ()),
        *again.place(),
        shared,
        *(gather.resolve() if gather else ()),
        "fn unit_at(number: u32) -> Unit {",
        *rows.places(),
        *(f"  let from{i} = {_begin(i, gather)};" for i in range(rows.count)),
        *(_joined(bits, rows) if is_shifted else _elements(bits, rows)),
        "}",
    ]
    constants = {"WG_SIZE": wg, "BITS": bits, "AT_ONCE": at_once, "REPEATS": again.times}
    return Dispatch("move/packed", groups, params, bindings, {}, constants, code="\n".join(lines))


_UNITS = {32: "u32", 64: "vec2<u32>", UNIT_BITS: "vec4<u32>"}


def _unit(bits: int, dims: tuple[Dim, ...], gather: Gather | None) -> int:
    """Bits that an invocation makes at a time."""
    is_apart = abs(dims[-1].source) >= APART and not gather and not any(map(_stays, dims))
    return max(bits, 32) if is_apart else UNIT_BITS


_IN_ORDER = """\
fn units_of(group: u32) -> vec2<u32> {
  return vec2<u32>(group * AT_ONCE * WG_SIZE, params.made - 1u);
}"""
_IN_TURN = """\
fn units_of(group: u32) -> vec2<u32> {
  let before = group / (params.rows * params.pieces) * params.rows;
  let turn = group - before * params.pieces;
  let row = before + turn % params.rows;
  let begin = row * params.length / GROUPu;
  let next = (row + 1u) * params.length / GROUPu; // a unit belongs to the row that it ends in
  let end = select(next, params.made, next + 1u >= params.made || next <= begin); // it may wrap
  return vec2<u32>(begin + turn / params.rows * AT_ONCE * WG_SIZE, end - 1u);
}"""


def _in_turn(
    bits: int, dims: tuple[Dim, ...], sizes: Sequence[int], gather: Gather | None, period: int
) -> int:
    """The loop whose steps workgroups make in turn, since these read the same; -1: none.

    Rows of whole units that tuples pick, or all that lies within a loop that stays. Of a loop so
    many steps are made as `sizes` has; those behind are stored with them.
    """
    for d, dim in enumerate(dims[:-1]):
        if not 1 < sizes[d] <= MOST_IN_TURN:
            continue
        if gather:
            is_row = d == len(dims) - 2 and bits == UNIT_BITS and dim.tuple_
            if is_row and dims[-1].size * bits // 8 >= IN_TURN:
                return d
        elif not dim.source:
            read = count(tuple(inner for inner in dims[d + 1 :] if inner.source))
            read = read // dims[-1].size * period if period else read
            if read * bits // 8 >= READ_AGAIN:
                return d
    return -1


def _stays(dim: Dim) -> bool:
    """Whether a loop stays where it is in the source."""
    return not (dim.source or dim.tuple_)


def _begin(i: int, gather: Gather | None) -> str:
    """WGSL of where row `i` of a unit begins."""
    return f"resolve(row0_{i}, row1_{i})" if gather else f"row0_{i}"


@dataclass(frozen=True, slots=True)
class Repeats:
    """A loop that stays where it is in the source: what some steps of it make is stored again."""

    loop: int
    steps: int  # that are made
    times: int
    made: int  # units
    apart: int  # units from one time to the next

    @classmethod
    def of(cls, bits: int, dims: tuple[Dim, ...], units: int) -> Repeats:
        """The outermost loop that stays and whose steps come in whole units, a few at a time."""
        for d, dim in enumerate(dims[:-1]):
            step = dim.out * bits
            whole = UNIT_BITS // gcd(step, UNIT_BITS)
            steps = -(-dim.size // (MOST_REPEATS * whole)) * whole
            if d:  # others go on behind it
                shares = (dim.size // n for n in range(MOST_REPEATS, 0, -1) if dim.size % n == 0)
                steps = next((n for n in shares if n % whole == 0), dim.size)
            if not _stays(dim) or steps >= dim.size:
                continue
            if d == 0 or dims[d - 1].out * bits % UNIT_BITS == 0:
                apart, outer = steps * step // UNIT_BITS, count(dims[:d])
                made = min(units, outer * apart)
                return cls(d, steps, -(-dim.size // steps), made, apart)
        return cls(0, dims[0].size, 1, units, units)

    def place(self) -> list[str]:
        """The function from a unit that is made to where it is stored first."""
        behind = f"number / params.apart * {self.times - 1}u * params.apart"
        outer = self.loop and self.times > 1
        return [
            "fn first_place(number: u32) -> u32 {",
            f"  return number{f' + {behind}' if outer else ''};",
            "}",
        ]


def _elements(bits: int, rows: Rows) -> list[str]:
    """Statements that return a unit of elements, read one by one or once for a row."""
    if bits == UNIT_BITS:
        return ["  return load_input(from0);"]
    every, step = range(rows.group), rows.steps[0]
    places = {f"e{k}": rows.address(0, k, "from") for k in every} if step else {}
    read = {f"v{k}": f"e{k}" for k in every}
    if not step:
        read = {f"r{i}": f"from{i}" for i in range(rows.count)}
    lines = [f"  let {name} = {at};" for name, at in places.items()]
    lines += [f"  let {name} = {element_at(bits, 'load_input', at)};" for name, at in read.items()]
    words = words_of(bits, [f"v{k}" if step else rows.of_rows("r", k) for k in every])
    return [*lines, f"  return Unit({', '.join(words)});"]


def _joined(bits: int, rows: Rows) -> list[str]:
    """Statements that return a unit in which one row ends and another may begin.

    The other is read in a branch, unless that is a single load.
    """
    if rows.count == 1:
        return ["  return row_at(from0);"]
    branch = [f"  if (left >= {rows.group}u) {{ return a; }}"] if rows.steps[0] else []
    return [
        "  let a = row_at(from0);",
        *branch,
        f"  let mine = first_elements(min(left, {rows.group}u));",
        "  return (a & mine) | (row_at(from1) & ~mine);",
    ]


def _starts_units(bits: int, dims: tuple[Dim, ...], base: int) -> bool:
    """Whether what a unit is shifted out of begins with a unit of the source, in every row."""
    *outer, last = dims
    starts = [base + min(0, (UNIT_BITS // bits - 1) * last.source), *(d.source for d in outer)]
    return last.source != 0 and not any(start * bits % UNIT_BITS for start in starts)


def _row(bits: int, step: int, *, in_units: bool, wide: bool) -> list[str]:
    """The function from an element to a unit of those that follow it in its row.

    Element addresses wrap at 2^32, so word addresses must wrap where those do.
    """
    group, per_word = UNIT_BITS // bits, 32 // bits
    if not step:
        ones = sum(1 << at for at in range(0, 32, bits))
        made = [f"{element_at(bits, 'load_input', 'e')}.x * {ones}u"]
        lines = []
    else:
        lowest = min(0, (group - 1) * step)
        words = range(4 * abs(step))
        per = group if in_units else per_word
        at = f"(first / {per}u + {{}}u) & {0xFFFFFFFF // per}u"
        lines = [f"  let first = e - {-lowest}u;"]
        if in_units:
            lines += [f"  let u{k} = load_input({at.format(k)});" for k in range(abs(step))]
            lines += [f"  let w{k} = u{k // 4}[{k % 4}];" for k in words]
        else:
            pairs = [(f"u{k}", f"u{k + 1}") for k in words]
            lines += [
                f"  let shift = first % {per_word}u * {bits}u;",
                *(f"  let u{k} = load_input({at.format(k)});" for k in (*words, len(words))),
                *(f"  let w{k} = {funnel(*pairs[k], 'shift', wide=wide)};" for k in words),
            ]
        found = [divmod((step * k - lowest) * bits, 32) for k in range(group)]
        pieces = ((k * bits, f"w{word}", place) for k, (word, place) in enumerate(found))
        made = list(put_together(bits, pieces).values())
    return [
        "fn row_at(e: u32) -> vec4<u32> {",
        *lines,
        f"  return vec4<u32>({', '.join(made)});",
        "}",
    ]


def put_together(bits: int, pieces: Iterable[tuple[int, str, int]]) -> dict[int, str]:
    """Words made of elements: for each its place in bits, the word that has it, and where."""
    made: dict[int, dict[tuple[str, int], int]] = {}
    for place, name, source in pieces:
        word, to = divmod(place, 32)
        moved, key = made.setdefault(word, {}), (name, to - source)
        moved[key] = moved.get(key, 0) | ((1 << bits) - 1) << to
    return {
        word: " | ".join(_moved(*key, mask) for key, mask in moved.items())
        for word, moved in made.items()
    }


def _moved(name: str, up: int, mask: int) -> str:
    """WGSL of some bits of a word, moved up or down by so many."""
    value = f"({name} << {up}u)" if up > 0 else f"({name} >> {-up}u)" if up else name
    left = (0xFFFFFFFF << up) & 0xFFFFFFFF if up > 0 else 0xFFFFFFFF >> -up
    return value if left == mask else f"({value} & {mask}u)"
