"""Pieces of WGSL that boxes of scans are written with: where elements are, what is read, sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from dmlgpu.plan.dispatch import of_eight
from dmlgpu.plan.scan.box_order import Order
from dmlgpu.plan.scan.boxes import Boxes
from dmlgpu.plan.words import funnel

PARTS_TOGETHER = 16  # parts of a line that are added up before others are


def sum_of(terms: Sequence[str]) -> str:
    """Terms that are added, in WGSL."""
    return " + ".join(terms) or "0u"


def all_of(conditions: Iterable[str]) -> str:
    """Conditions that hold together, in WGSL."""
    return " && ".join(conditions)


def when(condition: str, statement: str) -> str:
    """A statement under a condition, if there is one."""
    return f"  if ({condition}) {{ {statement} }}" if condition else f"  {statement}"


def either(head: str, bodies: dict[bool, list[str]]) -> list[str]:
    """A function that is one of two: of a whole box, or of one that lacks lines or steps."""
    return [
        f"fn {head} {{",
        "  if (box.whole && done + INSIDE <= box.steps && done >= MARGIN) {",
        *bodies[True],
        "  } else {",
        *bodies[False],
        "  }",
        "}",
    ]


@dataclass(frozen=True, slots=True)
class Spots:
    """The elements of an invocation: where they are in a tensor and in workgroup memory."""

    boxes: Boxes
    order: Order
    held: tuple[int, ...]
    strides: str
    wide: int = 1  # elements of an item, along the first loop of the order
    run: tuple[int, ...] = ()  # loops that the first one of the order stands for
    whole: bool = False  # the box has all of its lines, and as many steps as it is filled with

    def declared(self, start: str) -> list[str]:
        """Coordinates of the lane, and where its first element is."""
        at = [start, *(f"c{d} * {of_eight(self.strides, d)}" for d in self.order.loops)]
        return [
            *self.coordinates(),
            f"  let left = min(max(box.steps, done) - done, {self.boxes.box[-1]}u);",
            f"  let at = {sum_of(at)};",
        ]

    def lanes(self) -> list[str]:
        """Coordinates of the lane."""
        loops = self.order.loops
        times = f" * {self.wide}u" if self.wide > 1 else ""
        return [
            f"  let c{d} = {self.order.of_lane(d)}{times if d == loops[0] else ''};" for d in loops
        ]

    def coordinates(self) -> list[str]:
        """Coordinates of the lane, and where its first element is held, but for those of a run."""
        at = [f"c{d} * {self.held[d]}u" for d in self.order.loops if not self._is_run(d)]
        at.append(f"{self.boxes.margin * self.held[-1]}u")
        return [*self.lanes(), f"  let spot = {sum_of(at)};"]

    def more(self, d: int, item: int) -> int:
        """What an item adds to the coordinate along a loop."""
        return self.order.of_item(d, item) * (self.wide if d == self.order.loops[0] else 1)

    def along(self, d: int, item: int) -> str:
        """The coordinate of an item along a loop."""
        return f"c{d} + {self.more(d, item)}u"

    def is_inside(self, item: int) -> str:
        """Whether an item is an element of the tensor."""
        return all_of(
            f"{self.along(d, item)} < {self.left(d)}"
            for d in self.order.loops
            if not self.whole or self.order.leaves(d)
        )

    def is_held(self, item: int) -> str:
        """Whether an item is in the box."""
        return all_of(
            f"{self.along(d, item)} < {self.size(d)}u"
            for d in self.order.loops
            if self.order.leaves(d)
        )

    def size(self, d: int) -> int:
        """Steps of a loop in the box, or elements of the run that it stands for."""
        return prod(self.boxes.filled[k] for k in (self.run if d in self.run[:1] else (d,)))

    def _is_run(self, d: int) -> bool:
        """Whether a loop stands for several whose elements are not held in the same order."""
        return d in self.run[:1] and any(
            self.held[k] != self.held[inner] * self.boxes.filled[inner]
            for inner, k in pairwise(self.run)
        )

    def left(self, d: int) -> str:
        """Steps of a loop from the box's first on, or elements of the run that it stands for."""
        if self.whole:
            return f"{self.size(d)}u"
        last, inner = d, 1  # a run ends where its last loop does: the others are whole
        if d in self.run[:1]:
            last, inner = self.run[-1], prod(self.boxes.filled[k] for k in self.run[:-1])
        left = "left" if last == self.boxes.axis else f"box.n{last}"
        return f"{left} * {inner}u" if inner > 1 else left

    def address(self, item: int) -> str:
        """Where an item is in the tensor."""
        adds = [(self.more(d, item), d) for d in self.order.loops]
        return sum_of(["at", *(f"{n}u * {of_eight(self.strides, d)}" for n, d in adds if n)])

    def spot(self, item: int, element: int = 0) -> str:
        """Where an element of an item is held."""
        first, *others = self.order.loops
        more = sum(self.more(d, item) * self.held[d] for d in others)
        if not self._is_run(first):
            return f"spot + {more + (self.more(first, item) + element) * self.held[first]}u"
        number = f"(c{first} + {self.more(first, item) + element}u)"
        return sum_of([f"spot + {more}u", *in_run(self.boxes, self.held, self.run, number)])


def in_run(boxes: Boxes, held: tuple[int, ...], run: tuple[int, ...], k: str) -> list[str]:
    """Where element `k` of a run is held, from its first one on, as terms of a sum."""
    *inner, last = run
    terms = []
    for d in inner:
        terms.append(f"{k} % {boxes.filled[d]}u * {held[d]}u")
        k = f"{k} / {boxes.filled[d]}u"
    return [*terms, f"{k} * {held[last]}u"]


def read(boxes: Boxes, lanes: list[str], items: Sequence[Mapping[int, int]]) -> list[str]:
    """Words of a box that an invocation reads, and the elements in them, taken when needed."""
    wide = 1 if boxes.reads_lines else boxes.wide
    reads = [_words(boxes, wide, i) for i in range(len(items))]
    values = [f"decode({bits})" for *_, elements in reads for bits in elements]
    every = range(len(values))
    return [
        *_loads(boxes, lanes, items, reads),
        f"struct Values {{ {' '.join(f'v{i}: Num,' for i in every)} }}",
        f"fn no_values() -> Values {{ return Values({', '.join('identity()' for _ in every)}); }}",
        "fn added(a: Values, b: Values) -> Values {",
        f"  return Values({', '.join(f'combine(a.v{i}, b.v{i})' for i in every)});",
        "}",
        "fn values_of(loaded: Loaded, box: Box, done: u32, lane: u32) -> Values {",
        *(_addresses(boxes, lanes, items) if boxes.scan.bits == 16 else []),
        f"  return Values({', '.join(values)});",
        "}",
    ]


def read_pairs(boxes: Boxes, lanes: list[str], items: Sequence[Mapping[int, int]]) -> list[str]:
    """Pairs of halves that an invocation reads, each as a word wherever it begins."""
    every = range(len(items))
    reads = [(*_pair(boxes, i)[:2], [""]) for i in every]
    return [
        *_loads(boxes, lanes, items, reads),
        f"struct Values {{ {' '.join(f'v{i}: u32,' for i in every)} }}",
        "fn values_of(loaded: Loaded, box: Box, done: u32, lane: u32) -> Values {",
        *_addresses(boxes, lanes, items),
        f"  return Values({', '.join(_pair(boxes, i)[2] for i in every)});",
        "}",
    ]


def _addresses(boxes: Boxes, lanes: list[str], items: Sequence[Mapping[int, int]]) -> list[str]:
    """Where the items of an invocation are in the input.

    `lanes` declares its coordinates, to which `items` add along each loop. Beyond the tensor the
    last element of a loop is read again: no load is in a branch, and what comes behind the end of
    an axis, or in lines that are not there, goes nowhere.
    """
    axis, run = boxes.axis, () if boxes.reads_lines else boxes.read_run
    found = list(lanes)
    loops = sorted({axis, *items[0]} - {*run[1:]})
    for d in loops:
        # A run ends where its last loop does: the others are whole.
        last, inner = d, 1
        if d in run[:1]:
            last, inner = run[-1], prod(boxes.box[k] for k in run[:-1])
        along = [f"c{d}"] if d in items[0] else []
        end = f"box.n{last}"
        if last == axis:
            along, end = [f"done * {inner}u" if inner > 1 else "done", *along], "box.steps"
        end = f"{end} * {inner}u" if inner > 1 else end
        found += [
            f"  let a{d}_{n} = min({' + '.join([*along, f'{n}u'])}, {end} - 1u)"
            f" * {of_eight('in_strides', d)};"
            for n in sorted({item.get(d, 0) for item in items})
        ]
    for i, item in enumerate(items):
        adds = (f"a{d}_{item.get(d, 0)}" for d in loops)
        found.append(f"  let at{i} = {sum_of(['box.source', *adds])};")
    return found


def _loads(
    boxes: Boxes,
    lanes: list[str],
    items: Sequence[Mapping[int, int]],
    reads: Sequence[tuple[str, str, list[str]]],
) -> list[str]:
    """The words of a box as they are read, before anything is done with them."""
    return [
        f"struct Loaded {{ {' '.join(f'w{i}: {reads[0][0]},' for i in range(len(reads)))} }}",
        "fn load_box(box: Box, done: u32, lane: u32) -> Loaded {",
        *_addresses(boxes, lanes, items),
        f"  return Loaded({', '.join(words for _, words, _ in reads)});",
        "}",
    ]


def _words(boxes: Boxes, wide: int, i: int) -> tuple[str, str, list[str]]:
    """How item `i` is read: the type of its words, these words, and the elements in them."""
    if boxes.scan.bits == 64:
        return "vec2<u32>", f"load_input(at{i})", [f"loaded.w{i}"]
    if boxes.scan.bits == 32:
        return "u32", f"load_input(at{i})", [f"vec2<u32>(loaded.w{i}, 0u)"]
    if wide == 1:
        half = f"(loaded.w{i} >> (at{i} % 2u * 16u)) & 0xffffu"
        return "u32", f"load_input(at{i} / 2u)", [f"vec2<u32>({half}, 0u)"]
    kind, words, pair = _pair(boxes, i)
    return (
        kind,
        words,
        [f"vec2<u32>({half}, 0u)" for half in (f"{pair} & 0xffffu", f"{pair} >> 16u")],
    )


def _pair(boxes: Boxes, i: int) -> tuple[str, str, str]:
    """How item `i`, two halves, is read: the type of its words, these words, and both as a word."""
    first, pair = f"load_input(at{i} / 2u)", f"loaded.w{i}"
    run = boxes.read_run
    steps = [d.source for k, d in enumerate(boxes.dims) if k not in run and d.size > 1]
    length = prod((boxes.box[d] for d in run[:-1]), start=boxes.strides[run[-1]])
    if not any(n % 2 for n in (boxes.scan.in_base, length, *steps)):
        return "u32", first, pair
    # A pair that begins inside a word ends in the next one.
    words = f"vec2<u32>({first}, load_input((at{i} + 1u) / 2u))"
    return "vec2<u32>", words, f"({funnel(f'{pair}.x', f'{pair}.y', f'(at{i} % 2u * 16u)')})"


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that an invocation adds up, or its parts of them, by number."""

    boxes: Boxes

    @property
    def every(self) -> range:
        """All of them; those of one item, `lines_each`, follow each other."""
        return range(self.boxes.down.items * self.boxes.lines_each)

    @property
    def steps(self) -> int:
        """Steps of an invocation, of each of its lines."""
        return self.boxes.box[-1] // self.boxes.parts

    def more(self, d: int, j: int) -> int:
        """What a line adds to the coordinate along a loop."""
        item, beside = divmod(j, self.boxes.lines_each)
        own = self.boxes.down.of_item(d, item)
        return 2 * own + beside if d == self.boxes.pair else own

    def items(self) -> list[dict[int, int]]:
        """What the lines and steps add to coordinates, of an element each or of a word of two."""
        every = self.every[:: self.boxes.lines_each]
        own = [{d: self.more(d, j) for d in self.boxes.own} for j in every]
        return [{**line, self.boxes.axis: t} for line in own for t in range(self.steps)]

    def declared(self, axis_times: int = 1) -> list[str]:
        """Coordinates of the first line, and of the part, or of its first step."""
        order = self.boxes.down
        times = {self.boxes.pair: " * 2u", self.boxes.axis: f" * {axis_times}u"}
        return [f"  let c{d} = {order.of_lane(d)}{times.get(d, '')};" for d in order.loops]

    def spot(self, held: tuple[int, ...]) -> str:
        """Where the first element is held; an idle invocation has that of the last part."""
        axis, last = self.boxes.axis, self.boxes.parts - 1
        at = [f"c{d} * {held[d]}u" for d in self.boxes.own]
        at.append(f"min(c{axis}, {last}u) * {self.steps * held[axis]}u")
        return sum_of([*at, f"{self.boxes.margin * held[axis]}u"])

    def behind(self, held: tuple[int, ...], j: int, t: int) -> int:
        """How many elements behind that a line's step is."""
        more = sum(self.more(d, j) * held[d] for d in self.boxes.own)
        return more + t * held[self.boxes.axis]

    def is_held(self, j: int) -> str:
        """Whether a line is in the box, and its part."""
        boxes, order = self.boxes, self.boxes.down
        checked = [
            d for d in boxes.own if order.leaves(d) or (d == boxes.pair and boxes.box[d] % 2)
        ]
        inside = (f"c{d} + {self.more(d, j)}u < {boxes.box[d]}u" for d in checked)
        return all_of([f"c{boxes.axis} < {boxes.parts}u", *inside])

    def is_inside(self, j: int) -> str:
        """Whether a line is one of the tensor's."""
        own = (f"c{d} + {self.more(d, j)}u < box.n{d}" for d in self.boxes.own)
        return all_of([self.is_held(j), *own])

    def partial(self, j: int) -> str:
        """Where the sum of a line's segment is."""
        strides = ((d, of_eight("partial_strides", d)) for d in self.boxes.own)
        return sum_of(["box.partial", *(f"(c{d} + {self.more(d, j)}u) * {n}" for d, n in strides)])

    def carries(self) -> list[str]:
        """What comes before each line, as a structure."""
        loads = (f"carries.n{j} = load_partial({self.partial(j)});" for j in self.every)
        return [
            f"struct Carries {{ {' '.join(f'n{j}: Num,' for j in self.every)} }}",
            "fn no_carries() -> Carries {",
            f"  return Carries({', '.join('identity()' for _ in self.every)});",
            "}",
            "fn load_carries(box: Box, lane: u32) -> Carries {",
            *self.declared(),
            "  var carries = no_carries();",
            *(when(self.is_inside(j), load) for j, load in zip(self.every, loads, strict=True)),
            "  return carries;",
            "}",
        ]

    def joined(self) -> list[str]:
        """What comes before each line's part, s$, and the carries behind the box, from sums x$."""
        made, each = [], self.boxes.lines_each
        for item in range(self.boxes.down.items):
            own = range(item * each, (item + 1) * each)
            sums = ", ".join(f"x{j}_{self.steps - 1}" for j in own)
            carried = ", ".join(f"carries.n{j}" for j in own)
            made.append(f"  let joined{item} = join_parts(Sums({sums}), Sums({carried}), lane);")
            for h, j in enumerate(own):
                made += [
                    f"  carries.n{j} = joined{item}.after.n{h};",
                    f"  let s{j} = joined{item}.start.n{h};",
                ]
        return made

    def results(self, j: int, *, exclusive: bool) -> list[str]:
        """The running sums of a line's steps."""
        sums = [f"combine(s{j}, x{j}_{t})" for t in range(self.steps)]
        return [f"s{j}", *sums[:-1]] if exclusive else sums


def join_parts_code(boxes: Boxes) -> list[str]:
    """What comes before each part of a line in a box, from the sums of all parts.

    One invocation for some parts of its lines adds up their sums, for all others; then come the
    sums of those, where there are several for a line.
    """
    parts, lanes, lines, each = (
        boxes.parts,
        boxes.wg_size,
        boxes.side_lanes,
        range(boxes.lines_each),
    )
    made = [
        f"struct Sums {{ {' '.join(f'n{h}: Num,' for h in each)} }}",
        # What comes before the steps of an invocation, and all of a line up to the end of the box.
        "struct Joined { start: Sums, after: Sums, }",
        f"fn no_sums() -> Sums {{ return Sums({', '.join('identity()' for _ in each)}); }}",
        "fn combined(a: Sums, b: Sums) -> Sums {",
        f"  return Sums({', '.join(f'combine(a.n{h}, b.n{h})' for h in each)});",
        "}",
    ]
    head = "fn join_parts(sums: Sums, before: Sums, lane: u32) -> Joined {"
    if parts == 1:
        return [*made, head, "  return Joined(before, combined(before, sums));", "}"]
    groups = -(-parts // PARTS_TOGETHER)
    together = -(-parts // groups)
    every = range(together)
    # Those of the last ones that are not there change nothing.
    is_there = {i: f"part < {groups - 1}u" for i in every if (groups - 1) * together + i >= parts}
    made += [
        f"var<workgroup> wg_sums: array<Num, {lanes * len(each)}>;",  # of each invocation's steps
        f"var<workgroup> wg_group_sums: array<Num, {groups * lines * len(each)}>;",
        head,
        f"  let part = lane / {lines}u;",
        f"  let line = lane - part * {lines}u;",
        *(f"  wg_sums[lane + {h * lanes}u] = sums.n{h};" for h in each),
        "  workgroupBarrier();",
        f"  if (part < {groups}u) {{",
        f"    let at = part * {together * lines}u + line;",
    ]
    for h in each:
        for i in every:
            own = f"wg_sums[at + {i * lines + h * lanes}u]"
            if i in is_there:
                own = f"wg_sums[min(at + {i * lines}u, {lanes - 1}u) + {h * lanes}u]"
                own = f"select(identity(), {own}, {is_there[i]})"
            made.append(f"    let s{h}_{i} = {own};")
        made.append(f"    var all{h} = s{h}_0;")
    for i in range(1, together):
        for h in each:
            stored = f"wg_sums[at + {i * lines + h * lanes}u] = all{h};"
            made += [
                "  " + when(is_there.get(i, ""), stored),
                f"    all{h} = combine(all{h}, s{h}_{i});",
            ]
    starts = ", ".join(f"wg_sums[lane + {h * lanes}u]" for h in each)
    made += [
        *(f"    wg_group_sums[lane + {h * groups * lines}u] = all{h};" for h in each),
        "  }",
        "  workgroupBarrier();",
        f"  let group = part / {together}u;",
        f"  var start = Sums({starts});",
        f"  if (part == group * {together}u) {{ start = no_sums(); }}",
        "  var above = before;",
        "  var after = before;",
    ]
    for i in range(groups):
        if i:
            made.append(f"  if (group == {i}u) {{ above = after; }}")
        sums = ", ".join(f"wg_group_sums[line + {(h * groups + i) * lines}u]" for h in each)
        made.append(f"  after = combined(after, Sums({sums}));")
    return [*made, "  return Joined(combined(above, start), after);", "}"]
