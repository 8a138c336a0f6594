"""The WGSL of a scan by boxes: what is read, scanned and written by the invocations of a workgroup.

How a scan is cut into boxes is said in boxes.py; the kernel around this code is scan/boxes.wgsl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from dmlgpu.plan.boxes import GROUP_SUMS, Boxes, Order, held_steps
from dmlgpu.plan.dispatch import BANKS, Dispatch, Value, eight, funnel, of_eight
from dmlgpu.plan.lines import arithmetic, fold_params
from dmlgpu.plan.loops import order_of

NEAR = 16  # boxes along a loop, from one to the last of which little time passes
PARTS_TOGETHER = 16  # parts of a line that are added up before others are


def dispatch(boxes: Boxes, entry: str, partials: str) -> Dispatch:
    """One pass over all boxes; partials lie line by line, or where lines are many step by step."""
    scan, dims = boxes.scan, boxes.dims
    bindings = {"input": scan.input, "output": scan.output, "partials": partials}
    if entry == "scan":
        del bindings["partials"]
    if entry == "reduce":
        del bindings["output"]
    count = prod(boxes.counts)
    params: dict[str, Value] = {
        "count": count,
        "segment_steps": boxes.segment_steps,
        "in_base": scan.in_base,
        "out_base": scan.out_base,
        "sizes": eight([d.size for d in dims]),
        "counts": eight(boxes.counts),
        "in_strides": eight([d.source for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "partial_strides": eight(partial_strides(boxes)),
        **fold_params(scan),
    }
    slots = {**arithmetic(scan), "elements": f"elements_of_{scan.bits}"}
    constants = {"WG_SIZE": boxes.wg_size, "EXCLUSIVE": int(scan.exclusive)}
    code = "\n".join(_code(boxes))
    return Dispatch("scan/boxes", count, params, bindings, slots, constants, entry, code=code)


def partial_strides(boxes: Boxes) -> list[int]:
    """Partials from one step of a loop to the next, and from one segment to the next."""
    strides, step = [0] * len(boxes.dims), boxes.segments
    for d in reversed(range(boxes.axis)):
        strides[d] = step
        step *= boxes.dims[d].size
    strides[-1] = 1
    return strides


def _sum(terms: Sequence[str]) -> str:
    return " + ".join(terms) or "0u"


def _code(boxes: Boxes) -> list[str]:
    """The structure of a box in WGSL, and what is done with it."""
    scan, box = boxes.scan, boxes.box
    banks = BANKS // 2 if scan.bits == 64 else BANKS
    accesses: list[tuple[Order, tuple[int, ...], int]] = [
        (boxes.down, (boxes.axis,), box[-1] // boxes.parts)
    ]
    if not boxes.reads_lines:
        accesses.append((boxes.reads, boxes.read_run, boxes.wide))
    if not boxes.writes_lines:
        accesses.append((boxes.writes, boxes.write_run, 2 if boxes.in_pairs else 1))
    box = (*box[:-1], box[-1] + boxes.margin)
    in_one = len(boxes.write_run) if boxes.in_pairs else 1
    held = held_steps(
        box, boxes.filled, boxes.by_output, tuple(accesses), banks, boxes.room, in_one
    )
    size = 1 + sum((b - 1) * h for b, h in zip(box, held, strict=True))
    return [
        f"const STEPS = {boxes.box[-1]}u;",
        f"const INSIDE = {boxes.filled[-1]}u;",  # steps of a whole box that there are
        f"const MARGIN = {boxes.margin}u;",
        f"const GROUP_SUMS = {GROUP_SUMS}u;",
        f"var<workgroup> held: array<Num, {size}>;",
        f"const IS_ONE = {str(boxes.is_one).lower()};",
        f"const READS_LINES = {str(boxes.reads_lines).lower()};",
        f"const WRITES_LINES = {str(boxes.writes_lines).lower()};",
        *_box_at(boxes),
        *_join_parts(boxes),
        *_take_in(boxes, held),
        *_on_lines(boxes, held),
        *_put_out(boxes, held),
        *_keep(boxes, held),
    ]


def _box_at(boxes: Boxes) -> list[str]:
    """Where the boxes of workgroup `number` begin, and how many steps of each loop are left."""
    axis = boxes.axis
    members = [*("source", "target_", "partial", "steps"), *(f"n{d}" for d in range(axis))]
    flags = ["whole"]
    near = boxes.by_output[0]
    whole = [
        f"box.n{d} == {boxes.box[d]}u"
        for d in range(axis)
        if (boxes.counts[d] - 1) * boxes.strides[d] + boxes.box[d] != boxes.dims[d].size
    ]
    if boxes.overlap:  # the first and the last of a row write its ends, which are halves of words
        flags += ["is_first", "is_last"]
        whole += ["!box.is_first", "!box.is_last"]
    lines = [
        f"struct Box {{ {' '.join(f'{name}: bool,' for name in flags)}"
        f" {' '.join(f'{name}: u32,' for name in members)} }}",
        "fn box_at(number: u32) -> Box {",
        "  var rest = number;",
        "  var next = 0u;",
        "  var first = 0u;",
        "  var box = Box();",
        "  box.source = params.in_base;",
        "  box.target_ = params.out_base;",
    ]
    # In the order of the output, but segments last, and boxes that are not walked along a loop of
    # few first: so those which are neighbours in the input are near in time too.
    few = NEAR if boxes.is_one else 0
    order = sorted(
        order_of([d.out for d in boxes.dims]), key=lambda d: (d == axis, boxes.counts[d] > few)
    )
    last = next((d for d in reversed(order) if boxes.counts[d] > 1), -1)
    for d in order:
        own = "params.segment_steps" if d == axis else f"{boxes.strides[d]}u"
        most = "params.segment_steps" if d == axis else f"{boxes.box[d]}u"
        left = "steps" if d == axis else f"n{d}"
        if boxes.counts[d] == 1:  # a division less
            lines.append(f"  box.{left} = {of_eight('sizes', d)};")
            continue
        number = f"(rest - next * {of_eight('counts', d)})"
        at = number if d == axis else "first"  # partial results are of segments, not of steps
        lines += [
            "  next = 0u;" if d == last else f"  next = rest / {of_eight('counts', d)};",
            f"  first = {number} * {own};",
            f"  box.source += first * {of_eight('in_strides', d)};",
            f"  box.target_ += first * {of_eight('out_strides', d)};",
            f"  box.{left} = min({of_eight('sizes', d)} - first, {most});",
            f"  box.partial += {at} * {of_eight('partial_strides', d)};",
            "  rest = next;",
        ]
        if boxes.overlap and d == near:
            lines += [
                "  box.is_first = first == 0u;",
                f"  box.is_last = first + {own} + 1u >= {of_eight('sizes', d)};",
            ]
    return [*lines, f"  box.whole = {' && '.join(whole) or 'true'};", "  return box;", "}"]


@dataclass(frozen=True, slots=True)
class Spots:
    """The elements of an invocation: where they are in a tensor and in workgroup memory."""

    boxes: Boxes
    order: Order
    held: tuple[int, ...]
    strides: str
    wide: int = 1  # elements of an item, along the first loop of the order
    run: tuple[int, ...] = ()  # loops that the first one of the order stands for
    whole: bool = False  # the box is inside the tensor

    def declared(self, start: str) -> list[str]:
        """Coordinates of the lane, and where its first element is."""
        at = [start, *(f"c{d} * {of_eight(self.strides, d)}" for d in self.order.loops)]
        return [
            *self.coordinates(),
            f"  let left = min(max(box.steps, done) - done, {self.boxes.box[-1]}u);",
            f"  let at = {_sum(at)};",
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
        return [*self.lanes(), f"  let spot = {_sum(at)};"]

    def more(self, d: int, item: int) -> int:
        """What an item adds to the coordinate along a loop."""
        return self.order.of_item(d, item) * (self.wide if d == self.order.loops[0] else 1)

    def along(self, d: int, item: int) -> str:
        """The coordinate of an item along a loop."""
        return f"c{d} + {self.more(d, item)}u"

    def is_inside(self, item: int) -> str:
        """Whether an item is an element of the tensor."""
        return " && ".join(
            f"{self.along(d, item)} < {self.left(d)}"
            for d in self.order.loops
            if not self.whole or self.order.leaves(d)
        )

    def is_held(self, item: int) -> str:
        """Whether an item is in the box."""
        return " && ".join(
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
        return _sum(["at", *(f"{n}u * {of_eight(self.strides, d)}" for n, d in adds if n)])

    def spot(self, item: int, element: int = 0) -> str:
        """Where an element of an item is held."""
        first, *others = self.order.loops
        more = sum(self.more(d, item) * self.held[d] for d in others)
        if not self._is_run(first):
            return f"spot + {more + (self.more(first, item) + element) * self.held[first]}u"
        rest, terms = f"(c{first} + {self.more(first, item) + element}u)", [f"spot + {more}u"]
        for k in self.run[:-1]:
            terms.append(f"{rest} % {self.boxes.filled[k]}u * {self.held[k]}u")
            rest = f"{rest} / {self.boxes.filled[k]}u"
        return _sum([*terms, f"{rest} * {self.held[self.run[-1]]}u"])


def _all(conditions: Sequence[str]) -> str:
    return " && ".join(conditions)


def _when(condition: str, statement: str) -> str:
    return f"  if ({condition}) {{ {statement} }}" if condition else f"  {statement}"


def _take_in(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Reads a box in the order of the input, and holds it in workgroup memory."""
    if boxes.reads_lines:
        return []
    wide, order = boxes.wide, boxes.reads
    spots = Spots(boxes, order, held, "in_strides", wide, boxes.read_run)
    every = range(order.items)
    stores = [
        _when(
            spots.is_held(i),
            " ".join(f"held[{spots.spot(i, k)}] = values.v{i * wide + k};" for k in range(wide)),
        )
        for i in every
    ]
    return [
        *_read(boxes, spots.lanes(), [{d: spots.more(d, i) for d in order.loops} for i in every]),
        "fn hold(values: Values, lane: u32) {",
        *spots.coordinates(),
        *stores,
        "}",
    ]


def _read(boxes: Boxes, lanes: list[str], items: Sequence[Mapping[int, int]]) -> list[str]:
    """Words of a box that an invocation reads, and the elements in them, taken when needed.

    `lanes` declares its coordinates, to which `items` add along each loop. Beyond the tensor the
    last element of a loop is read again: no load is in a branch, and what comes behind the end of
    an axis, or in lines that are not there, goes nowhere.
    """
    axis, wide = boxes.axis, 1 if boxes.reads_lines else boxes.wide
    run = () if boxes.reads_lines else boxes.read_run
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
        found.append(f"  let at{i} = {_sum(['box.source', *adds])};")
    reads = [_words(boxes, wide, i) for i in range(len(items))]
    values = [value for _, _, elements in reads for value in elements]
    every = range(len(values))
    return [
        f"struct Loaded {{ {' '.join(f'w{i}: {reads[0][0]},' for i in range(len(reads)))} }}",
        f"struct Values {{ {' '.join(f'v{i}: Num,' for i in every)} }}",
        f"fn no_values() -> Values {{ return Values({', '.join('identity()' for _ in every)}); }}",
        "fn added(a: Values, b: Values) -> Values {",
        f"  return Values({', '.join(f'combine(a.v{i}, b.v{i})' for i in every)});",
        "}",
        "fn load_box(box: Box, done: u32, lane: u32) -> Loaded {",
        *found,
        f"  return Loaded({', '.join(words for _, words, _ in reads)});",
        "}",
        "fn values_of(loaded: Loaded, box: Box, done: u32, lane: u32) -> Values {",
        *(found if boxes.scan.bits == 16 else []),
        f"  return Values({', '.join(values)});",
        "}",
    ]


def _either(head: str, bodies: dict[bool, list[str]]) -> list[str]:
    """A function that is one of two: of a box inside the tensor, or of one that reaches beyond."""
    return [
        f"fn {head} {{",
        "  if (box.whole && done + INSIDE <= box.steps && done >= MARGIN) {",
        *bodies[True],
        "  } else {",
        *bodies[False],
        "  }",
        "}",
    ]


def _words(boxes: Boxes, wide: int, i: int) -> tuple[str, str, list[str]]:
    """How item `i` is read: the type of its words, these words, and the elements in them."""
    if boxes.scan.bits == 64:
        return "vec2<u32>", f"load_input(at{i})", [f"decode(loaded.w{i})"]
    if boxes.scan.bits == 32:
        return "u32", f"load_input(at{i})", [f"decode(vec2<u32>(loaded.w{i}, 0u))"]
    first = f"load_input(at{i} / 2u)"
    if wide == 1:
        half = f"(loaded.w{i} >> (at{i} % 2u * 16u)) & 0xffffu"
        return "u32", first, [f"decode(vec2<u32>({half}, 0u))"]
    run = boxes.read_run
    steps = [d.source for k, d in enumerate(boxes.dims) if k not in run and d.size > 1]
    length = prod((boxes.box[d] for d in run[:-1]), start=boxes.strides[run[-1]])
    pair = f"loaded.w{i}"
    kind = "u32"
    if any(n % 2 for n in (boxes.scan.in_base, length, *steps)):
        # A pair that begins inside a word ends in the next one.
        kind, first = "vec2<u32>", f"vec2<u32>({first}, load_input((at{i} + 1u) / 2u))"
        pair = f"({funnel(f'{pair}.x', f'{pair}.y', f'(at{i} % 2u * 16u)')})"
    halves = [f"{pair} & 0xffffu", f"{pair} >> 16u"]
    return kind, first, [f"decode(vec2<u32>({half}, 0u))" for half in halves]


def _join_parts(boxes: Boxes) -> list[str]:
    """What comes before each part of a line in a box, from the sums of all parts.

    One invocation for some parts of a line adds up their sums, for all others; then come the sums
    of those, where there are several for a line.
    """
    parts, lines = boxes.parts, boxes.lines
    head = "fn join_parts(sum: Num, before: Num, lane: u32) -> Joined {"
    if parts == 1:
        return [head, "  return Joined(before, combine(before, sum));", "}"]
    groups = -(-parts // PARTS_TOGETHER)
    together = -(-parts // groups)
    every = range(together)
    # Those of the last ones that are not there change nothing.
    is_there = {i: f"part < {groups - 1}u" for i in every if (groups - 1) * together + i >= parts}
    made = [
        head,
        f"  let part = lane / {lines}u;",
        f"  let line = lane - part * {lines}u;",
        "  wg_sums[lane] = sum;",
        "  workgroupBarrier();",
        f"  if (part < {groups}u) {{",
        f"    let at = part * {together * lines}u + line;",
    ]
    for i in every:
        own = f"wg_sums[at + {i * lines}u]"
        if i in is_there:
            own = f"wg_sums[min(at + {i * lines}u, {boxes.wg_size - 1}u)]"
            own = f"select(identity(), {own}, {is_there[i]})"
        made.append(f"    let s{i} = {own};")
    made.append("    var all = s0;")
    for i in range(1, together):
        stored = f"wg_sums[at + {i * lines}u] = all;"
        made += ["  " + _when(is_there.get(i, ""), stored), f"    all = combine(all, s{i});"]
    made += [
        "    wg_group_sums[lane] = all;",
        "  }",
        "  workgroupBarrier();",
        f"  let group = part / {together}u;",
        f"  let start = select(wg_sums[lane], identity(), part == group * {together}u);",
        "  var above = before;",
        "  var after = before;",
    ]
    for i in range(groups):
        if i:
            made.append(f"  above = select(above, after, group == {i}u);")
        made.append(f"  after = combine(after, wg_group_sums[line + {i * lines}u]);")
    return [*made, "  return Joined(combine(above, start), after);", "}"]


def _on_lines(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """What an invocation does with its lines, or with its part of one."""
    axis, parts, own, order = boxes.axis, boxes.parts, boxes.own, boxes.down
    steps = boxes.box[-1] // parts
    number = range(order.items)  # lines of an invocation
    declared = [f"  let c{d} = {order.of_lane(d)};" for d in order.loops]

    def where(j: int, t: int) -> str:
        more = sum(order.of_item(d, j) * held[d] for d in own)
        return f"held[spot + {more + t * held[axis]}u]"

    def partial(j: int) -> str:
        adds = [f"(c{d} + {order.of_item(d, j)}u) * {of_eight('partial_strides', d)}" for d in own]
        return _sum(["box.partial", *adds])

    def is_held(j: int) -> str:
        checks = [
            f"c{d} + {order.of_item(d, j)}u < {boxes.box[d]}u" for d in own if order.leaves(d)
        ]
        return " && ".join([f"c{axis} < {parts}u", *checks])

    def is_inside(j: int) -> str:
        return " && ".join(
            [is_held(j), *(f"c{d} + {order.of_item(d, j)}u < box.n{d}" for d in own)]
        )

    def address(j: int, t: int) -> str:
        adds = [*((order.of_item(d, j), d) for d in own), (t, axis)]
        return _sum(["to", *(f"{n}u * {of_eight('out_strides', d)}" for n, d in adds if n)])

    at = [f"c{d} * {held[d]}u" for d in own]
    # An idle invocation reads what the last part does, and writes nothing.
    at.append(f"min(c{axis}, {parts - 1}u) * {steps * held[axis]}u + {boxes.margin * held[axis]}u")
    spot = f"  let spot = {_sum(at)};"
    to = ["box.target_", f"first * {of_eight('out_strides', axis)}"]
    to += [f"c{d} * {of_eight('out_strides', d)}" for d in own]
    every = [(j, t, j * steps + t) for j in number for t in range(steps)]
    lines = []
    values = {(j, t): f"values.v{i}" if boxes.reads_lines else where(j, t) for j, t, i in every}
    if boxes.reads_lines:
        lanes = [*declared[:-1], f"  let c{axis} = {order.of_lane(axis)} * {steps}u;"]
        items = [{**{d: order.of_item(d, j) for d in own}, axis: t} for j, t, _ in every]
        lines += [*_read(boxes, lanes, items), "fn hold(values: Values, lane: u32) { }"]

    def put(j: int, t: int, result: str) -> str:
        if boxes.writes_lines:
            stored = f"put({address(j, t)}, {result});"
            return f"    if ({t}u < left) {{ {stored} }}"
        return f"    {where(j, t)} = {result};"

    taking = "(values: Values, box: Box, done: u32, before: Carries, lane: u32) -> Carries"
    members = " ".join(f"n{j}: Num," for j in number)
    nothing = ", ".join("identity()" for _ in number)
    lines += [
        f"struct Carries {{ {members} }}",
        f"fn no_carries() -> Carries {{ return Carries({nothing}); }}",
        "fn load_carries(box: Box, lane: u32) -> Carries {",
        *declared,
        "  var carries = no_carries();",
        *(_when(is_inside(j), f"carries.n{j} = load_partial({partial(j)});") for j in number),
        "  return carries;",
        "}",
        f"fn scan_lines{taking} {{",
        *declared,
        # Steps of the invocation's part, from the first one on, that are inside.
        f"  let first = done + c{axis} * {steps}u;",
        "  let left = max(box.steps, first) - first;",
        *(f"  let here{j} = {is_inside(j)};" for j in number),
        spot,
        f"  let to = {_sum(to)};",
        "  var carries = before;",
    ]
    for j in number:
        lines.append(f"  let x{j}_0 = {values[j, 0]};")
        for t in range(1, steps):
            lines.append(f"  let x{j}_{t} = combine(x{j}_{t - 1}, {values[j, t]});")
    for j in number:
        start = f"joined{j}.start"
        sums = [f"combine({start}, x{j}_{t})" for t in range(steps)]
        lines += [
            f"  let joined{j} = join_parts(x{j}_{steps - 1}, carries.n{j}, lane);",
            f"  carries.n{j} = joined{j}.after;",
            f"  if ({f'here{j}' if boxes.writes_lines else is_held(j)}) {{",
            "    if (EXCLUSIVE) {",
            *("  " + put(j, t, result) for t, result in enumerate([start, *sums[:-1]])),
            "    } else {",
            *("  " + put(j, t, result) for t, result in enumerate(sums)),
            "    }",
            "  }",
        ]
    lines += [
        "  return carries;",
        "}",
        "fn store_sums(values: Values, box: Box, lane: u32) {",
        *declared,
        spot,
    ]
    for j in number:
        stored = f"store_partial({partial(j)}, sum{j});"
        lines += [
            f"  var own{j} = {values[j, 0]};",
            *(f"  own{j} = combine(own{j}, {values[j, t]});" for t in range(1, steps)),
            f"  let sum{j} = join_parts(own{j}, identity(), lane).after;",
            _when(f"c{axis} == 0u && {is_inside(j)}", stored),
        ]
    return [*lines, "}"]


def _put_out(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Writes a box in the order of the output."""
    if boxes.writes_lines:
        return ["fn put_out(box: Box, done: u32, lane: u32) { }"]
    made = _sectors_put if boxes.margin else _pairs_put if boxes.in_pairs else _elements_put
    bodies = {whole: made(boxes, held, whole) for whole in (True, False)}
    return _either("put_out(box: Box, done: u32, lane: u32)", bodies)


def _sectors_put(boxes: Boxes, held: tuple[int, ...], whole: bool) -> list[str]:
    """Writes whole sectors: of each line, the last few steps wait for the next box of the walk.

    Of halves, words: those that hold one end of a line, or of a segment, are merged.
    """
    order, axis, kept = boxes.writes, boxes.axis, boxes.margin
    spots = Spots(boxes, order, held, "out_strides", whole=whole)
    rows = [d for d in order.loops if d != axis]
    step = of_eight("out_strides", axis)
    at = [f"box.target_ + done * {step}", *(f"c{d} * {of_eight('out_strides', d)}" for d in rows)]
    lines = [
        *spots.lanes(),
        "  let left = box.steps - done;",  # less than none in a box behind the end
        f"  let at = {_sum(at)};",
        f"  let spot = {_sum([f'c{d} * {held[d]}u' for d in rows])};",
    ]
    wide = 2 if boxes.in_pairs else 1
    backward = boxes.dims[axis].out < 0
    stores = []
    for i in range(order.items):
        adds = [(order.of_item(d, i), d) for d in rows]
        row = _sum(["at", *(f"{n}u * {of_eight('out_strides', d)}" for n, d in adds if n)])
        late = f"{kept - 1}u - at{i} % {kept}u" if backward else f"at{i} % {kept}u"
        k = spots.along(axis, i)
        more = sum(n * held[d] for n, d in adds)
        own = [f"held[spot + {more}u + (t{i} + {kept + j}u) * {held[axis]}u]" for j in range(wide)]
        lines += [
            f"  let at{i} = {row};",
            f"  let t{i} = ({k}) * {wide}u - ({late});",
            *(f"  let v{i}_{j} = {value};" for j, value in enumerate(own)),
        ]
        here = [
            f"{spots.along(d, i)} < {spots.left(d)}" for d in rows if not whole or order.leaves(d)
        ]
        here += [f"({k}) * {wide}u < STEPS"] if order.leaves(axis) else []
        puts = [f"put(at{i} + (t{i} + {j}u) * {step}, v{i}_{j});" for j in range(wide)]
        stored = puts[0]
        if wide == 2:
            low, high = (1, 0) if backward else (0, 1)
            word = f"(at{i} + (t{i} + {low}u) * {step}) / 2u"
            stored = f"store_output({word}, encode_pair(v{i}_{low}, v{i}_{high}));"
        if whole:
            stores.append(_when(_all(here), stored))
            continue
        is_in = [f"in{i}_{j}" for j in range(wide)]
        for j, name in enumerate(is_in):
            inside = f"i32(t{i} + {j}u) < i32(left) && (done > 0u || i32(t{i} + {j}u) >= 0)"
            stores.append(f"  let {name} = {_all([*here, inside])};")
        stores.append(_when(_all(is_in), stored))
        if wide == 2:  # one half of a word, at an end
            stores += [_when(f"{is_in[j]} && !{is_in[1 - j]}", puts[j]) for j in range(2)]
    return [*lines, *stores]


def _keep(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Keeps the last steps of every line for the next box, and waits for all invocations."""
    if not boxes.margin:
        return ["fn keep(lane: u32) { workgroupBarrier(); }"]
    order = boxes.order((boxes.axis, *boxes.own), (*boxes.box[:-1], boxes.margin))
    far = boxes.box[-1] * held[-1]
    takes, puts = [], []
    for i in range(order.items):
        to = sum(order.of_item(d, i) * held[d] for d in order.loops)
        here = (
            f"c{d} + {order.of_item(d, i)}u < {order.box[d]}u"
            for d in order.loops
            if order.leaves(d)
        )
        takes.append(f"  let v{i} = held[spot + {to + far}u];")
        puts.append(_when(" && ".join(here), f"held[spot + {to}u] = v{i};"))
    return [
        "fn keep(lane: u32) {",
        *(f"  let c{d} = {order.of_lane(d)};" for d in order.loops),
        f"  let spot = {_sum([f'c{d} * {held[d]}u' for d in order.loops])};",
        *takes,
        "  workgroupBarrier();",
        *puts,
        "}",
    ]


def _elements_put(boxes: Boxes, held: tuple[int, ...], whole: bool) -> list[str]:
    """Writes element by element."""
    order = boxes.writes
    spots = Spots(boxes, order, held, "out_strides", run=boxes.write_run, whole=whole)
    every = range(order.items)
    return [
        *spots.declared(f"box.target_ + done * {of_eight('out_strides', boxes.axis)}"),
        *(f"  let v{i} = held[{spots.spot(i)}];" for i in every),
        *(_when(spots.is_inside(i), f"put({spots.address(i)}, v{i});") for i in every),
    ]


def _pairs_put(boxes: Boxes, held: tuple[int, ...], whole: bool) -> list[str]:
    """Writes halves in pairs, as they share words; a run begins and ends anywhere in a word.

    An invocation writes the words that begin with elements 2k of a run, or with 2k + 1 where the
    run begins inside a word. The first of those then also writes the run's first element. All of
    them are under way before the ends of runs, which others write to as well. Where boxes overlap
    each word is whole in one of them, and only rows have ends.
    """
    order, run, on_words = boxes.writes, boxes.write_run, boxes.begins_on_words
    near = run[0]
    all_pairs = whole and on_words  # nothing but whole words
    rows = [d for d in order.loops if d != near]
    is_backward = boxes.dims[near].out < 0
    left = ["left" if d == boxes.axis else f"box.n{d}" for d in range(len(boxes.dims))]
    if whole:
        left = [f"{n}u" for n in boxes.filled]
    # A run ends where its last loop does: the others are whole.
    length = " * ".join([left[run[-1]], *(f"{boxes.box[d]}u" for d in run[:-1])])
    checked = [d for d in rows if not whole or order.leaves(d)]
    address = [f"box.target_ + done * {of_eight('out_strides', boxes.axis)}"]
    address += [f"c{d} * {of_eight('out_strides', d)}" for d in rows]
    at_first, at_last = (" && box.is_first", " && box.is_last") if boxes.overlap else ("", "")
    firsts, pairs, stores, ends = [], [], [], []
    for i in range(order.items):
        adds = [(order.of_item(d, i), d) for d in rows]
        at = _sum(["at", *(f"{k}u * {of_eight('out_strides', d)}" for k, d in adds if k)])
        more = sum(k * held[d] for k, d in adds)
        pair = f"c{near} + {order.of_item(near, i)}u"
        here = [f"{pair} < {order.box[near]}u"] if order.leaves(near) else []
        here += [f"c{d} + {k}u < {left[d]}" for k, d in adds if d in checked]

        def half(k: str, more: int = more) -> str:
            along = f"(n - 1u - ({k}))" if is_backward else f"({k})"
            return f"held[spot + {more}u + {along} * {held[near]}u]"

        own = f"k{i}", f"k{i} + 1u"
        if not all_pairs:
            own = f"min({own[0]}, n - 1u)", f"min({own[1]}, n - 1u)"
        firsts += [
            f"  let at{i} = {at};",
            f"  let k{i} = 2u * ({pair}){'' if on_words else f' + (at{i} & 1u)'};",
            f"  let n{i} = {f'select(0u, n, {_all(here)})' if here else 'n'};",
        ]
        pairs.append(f"  let pair{i} = encode_pair({half(own[0])}, {half(own[1])});")
        stored = f"store_output((at{i} + k{i}) / 2u, pair{i});"
        stores.append(_when(_all(here) if all_pairs else f"k{i} + 1u < n{i}", stored))
        if not (all_pairs or (whole and boxes.overlap)):
            ends.append(
                f"  if (k{i} + 1u == n{i}{at_last}) {{"
                f" merge_output((at{i} + k{i}) / 2u, 0xffffu, pair{i} & 0xffffu); }}"
            )
        if not (on_words or (whole and boxes.overlap)):
            ends.append(
                f"  if (k{i} == 1u && n{i} > 0u{at_first}) {{"
                f" merge_output(at{i} / 2u, 0xffff0000u, encode({half('0u')}).x << 16u); }}"
            )
    return [
        *(f"  let c{d} = {order.of_lane(d)};" for d in order.loops),
        f"  let left = min(box.steps - done, {boxes.box[-1]}u);",
        f"  let n = {length};",
        f"  let at = {_sum(address)}{' - (n - 1u)' if is_backward else ''};",
        f"  let spot = {_sum([f'c{d} * {held[d]}u' for d in rows])};",
        *firsts,
        *pairs,
        *stores,
        *ends,
    ]
