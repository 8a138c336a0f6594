"""The WGSL of boxes of halves that are held as they are in tensors, two in a word.

An invocation has the two lines of a word that is read or written, or else an even number of steps.
So it takes whole words and makes whole words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from dmlgpu.plan.box_put import keep, put_out
from dmlgpu.plan.box_text import all_of, read_pairs, sum_of, when
from dmlgpu.plan.boxes import Access, Boxes, held_steps
from dmlgpu.plan.dispatch import BANKS, of_eight

Line = Mapping[int, int]  # which of two lines, along each loop of pairs


def code(boxes: Boxes) -> list[str]:
    """What is done with a box of halves."""
    own = Own(boxes)
    before, after = _held(boxes)
    reach = max(
        sum((n - 1) * h for n, h in zip(boxes.box, held, strict=True)) for held in (before, after)
    )
    return [
        f"var<workgroup> held: array<u32, {reach // 2 + 1}>;",
        "fn half_at(e: u32) -> u32 { return (held[e / 2u] >> (e % 2u * 16u)) & 0xffffu; }",
        *_take_in(boxes, own, before),
        *_carries(own),
        *_scan_lines(own, before, after),
        *put_out(boxes, after),
        *keep(boxes, after),
    ]


def _held(boxes: Boxes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where halves are held before lines are added up, and afterwards.

    In the order of the input, and of the output, each with words along the loop that comes first;
    the same where that is the same loop, or where nothing is held before.
    """
    near_in, near_out, axis = boxes.by_input[0], boxes.by_output[0], boxes.axis
    each = [2 if d in boxes.pairs else 1 for d in range(axis)]
    down: Access = (boxes.down, (axis,), (*each, boxes.box[-1] // boxes.parts))

    def by_words(near: int) -> tuple[int, ...]:
        return tuple(2 if d == near else 1 for d in range(axis + 1))

    reads: Access = (boxes.reads, (near_in,), by_words(near_in))
    writes: Access = (boxes.writes, boxes.write_run, by_words(near_out))
    room, is_read = boxes.room + boxes.room // 4, not boxes.reads_lines  # rows are made even
    same = near_in == near_out and is_read
    accesses = (down, reads, writes) if same else (down, writes)
    after = held_steps(boxes.box, boxes.filled, boxes.by_output, accesses, BANKS, room, 1, 2)
    if same or not is_read:
        return after, after
    accesses = (down, reads)
    return held_steps(boxes.box, boxes.filled, boxes.by_input, accesses, BANKS, room, 1, 2), after


@dataclass(frozen=True, slots=True)
class Own:
    """The lines and steps of an invocation."""

    boxes: Boxes

    @property
    def steps(self) -> int:
        """Steps of an invocation, of each of its lines."""
        return self.boxes.box[-1] // self.boxes.parts

    def lines(self) -> Iterator[tuple[int, Line]]:
        """An item, and which of its lines."""
        pairs = self.boxes.pairs
        for item in range(self.boxes.down.items):
            for which in product(range(2), repeat=len(pairs)):
                yield item, dict(zip(pairs, which, strict=True))

    def name(self, item: int, line: Line) -> int:
        """The number of a line."""
        number = item
        for d in self.boxes.pairs:
            number = 2 * number + line[d]
        return number

    def more(self, d: int, item: int, line: Line) -> int:
        """What a line adds to the coordinate along a loop."""
        own = self.boxes.down.of_item(d, item)
        return 2 * own + line[d] if d in self.boxes.pairs else own

    def declared(self, axis_times: int = 1) -> list[str]:
        """Coordinates of the first line, and of the part."""
        order, axis = self.boxes.down, self.boxes.axis
        times = {d: 2 for d in self.boxes.pairs} | {axis: axis_times}
        return [f"  let c{d} = {order.of_lane(d)} * {times.get(d, 1)}u;" for d in order.loops]

    def spot(self, held: tuple[int, ...]) -> str:
        """The word where an invocation's first half is held; an idle one has the last part's."""
        axis, last = self.boxes.axis, self.boxes.parts - 1
        at = [f"c{d} * {held[d]}u" for d in self.boxes.own]
        at.append(f"min(c{axis}, {last}u) * {self.steps * held[axis]}u")
        return f"({sum_of(at)}) / 2u"

    def word(self, held: tuple[int, ...], item: int, line: Line, t: int) -> int:
        """How many words behind that a line's step is."""
        more = sum(self.more(d, item, line) * held[d] for d in self.boxes.own)
        return (more + t * held[self.boxes.axis]) // 2

    def is_held(self, item: int, line: Line) -> str:
        """Whether a line is in the box, and its part."""
        boxes, order = self.boxes, self.boxes.down
        checked = (d for d in boxes.own if order.leaves(d) or (d in line and boxes.box[d] % 2))
        inside = (f"c{d} + {self.more(d, item, line)}u < {boxes.box[d]}u" for d in checked)
        return all_of([f"c{boxes.axis} < {boxes.parts}u", *inside])


def _take_in(boxes: Boxes, own: Own, held: tuple[int, ...]) -> list[str]:
    """Reads the words of a box, and holds them as they are where others add them up."""
    if boxes.reads_lines:
        near = boxes.by_input[0]
        items = [
            {**{d: own.more(d, item, line) for d in boxes.own}, boxes.axis: t}
            for item, line in own.lines()
            if not line[near]
            for t in range(own.steps)
        ]
        lanes = own.declared(own.steps)
        return [*read_pairs(boxes, lanes, items), "fn hold(values: Values, lane: u32) { }"]
    order, near = boxes.reads, boxes.by_input[0]
    times = {d: 2 if d == near else 1 for d in order.loops}
    lanes = [f"  let c{d} = {order.of_lane(d)} * {times[d]}u;" for d in order.loops]
    items = [{d: order.of_item(d, i) * times[d] for d in order.loops} for i in range(order.items)]
    spot = [f"c{d} * {held[d]}u" for d in order.loops]
    stores = []
    for i, item in enumerate(items):
        here = (f"c{d} + {item[d]}u < {boxes.filled[d]}u" for d in order.loops if order.leaves(d))
        at = sum(n * held[d] for d, n in item.items()) // 2
        stores.append(when(all_of(list(here)), f"held[spot + {at}u] = values.v{i};"))
    return [
        *read_pairs(boxes, lanes, items),
        "fn hold(values: Values, lane: u32) {",
        *lanes,
        f"  let spot = ({sum_of(spot)}) / 2u;",
        *stores,
        "}",
    ]


def _carries(own: Own) -> list[str]:
    """What comes before each line of an invocation."""
    names = [own.name(item, line) for item, line in own.lines()]
    loads = []
    for item, line in own.lines():
        adds = [(d, own.more(d, item, line)) for d in own.boxes.own]
        inside = [f"c{d} + {n}u < box.n{d}" for d, n in adds]
        at = [f"(c{d} + {n}u) * {of_eight('partial_strides', d)}" for d, n in adds]
        loaded = f"carries.n{own.name(item, line)} = load_partial({sum_of(['box.partial', *at])});"
        loads.append(when(all_of([own.is_held(item, line), *inside]), loaded))
    return [
        f"struct Carries {{ {' '.join(f'n{j}: Num,' for j in names)} }}",
        "fn no_carries() -> Carries {",
        f"  return Carries({', '.join('identity()' for _ in names)});",
        "}",
        "fn load_carries(box: Box, lane: u32) -> Carries {",
        *own.declared(),
        "  var carries = no_carries();",
        *loads,
        "  return carries;",
        "}",
    ]


def _scan_lines(own: Own, before: tuple[int, ...], after: tuple[int, ...]) -> list[str]:
    """Adds up the lines of an invocation, or its part of them."""
    boxes, steps = own.boxes, own.steps
    near_in, near_out, axis = boxes.by_input[0], boxes.by_output[0], boxes.axis
    lines = [
        "fn scan_lines(values: Values, box: Box, done: u32, past: Carries, lane: u32) -> Carries {",
        *own.declared(),
        f"  let spot_in = {own.spot(before)};",
        f"  let spot_out = {own.spot(after)};",
        "  var carries = past;",
    ]
    number, values = 0, {}
    for item, line in own.lines():
        if line.get(near_in):
            continue
        j = own.name(item, line)
        for t in range(0, steps, 2 if near_in == axis else 1):
            word = f"w{j}_{t}"
            taken = f"held[spot_in + {own.word(before, item, line, t)}u]"
            lines.append(f"  let {word} = {f'values.v{number}' if boxes.reads_lines else taken};")
            number += 1
            other = (j, t + 1) if near_in == axis else (own.name(item, {**line, near_in: 1}), t)
            values[j, t], values[other] = f"{word} & 0xffffu", f"{word} >> 16u"
    for item, line in own.lines():
        j = own.name(item, line)
        for t in range(steps):
            value = f"decode(vec2<u32>({values[j, t]}, 0u))"
            lines.append(f"  let x{j}_{t} = {f'combine(x{j}_{t - 1}, {value})' if t else value};")
    for item in range(boxes.down.items):
        names = [own.name(item, line) for i, line in own.lines() if i == item]
        sums = ", ".join(f"x{j}_{steps - 1}" for j in names)
        carried = ", ".join(f"carries.n{j}" for j in names)
        lines.append(f"  let joined{item} = join_parts(Sums({sums}), Sums({carried}), lane);")
        lines += [f"  carries.n{j} = joined{item}.after.n{h};" for h, j in enumerate(names)]
        lines += [f"  let s{j} = joined{item}.start.n{h};" for h, j in enumerate(names)]
    if boxes.parts == 1 and before != after and not boxes.reads_lines:
        lines.append("  workgroupBarrier();")  # all that is held elsewhere has been taken
    stores: dict[bool, list[str]] = {True: [], False: []}
    for item, line in own.lines():
        if line.get(near_out):
            continue
        j = own.name(item, line)
        beside = own.name(item, {**line, near_out: 1}) if near_out != axis else j
        for is_exclusive, made in stores.items():
            words = []
            for t in range(0, steps, 2 if near_out == axis else 1):
                pair = (j, t), (beside, t + 1 if near_out == axis else t)
                low, high = (_result(*one, is_exclusive=is_exclusive) for one in pair)
                at = own.word(after, item, line, t)
                words.append(f"held[spot_out + {at}u] = encode_pair({low}, {high});")
            made.append(when(own.is_held(item, line), " ".join(words)))
    return [
        *lines,
        "  if (EXCLUSIVE) {",
        *stores[True],
        "  } else {",
        *stores[False],
        "  }",
        "  return carries;",
        "}",
    ]


def _result(j: int, t: int, *, is_exclusive: bool) -> str:
    """Step `t` of line `j`, once it is known what comes before."""
    if is_exclusive and t == 0:
        return f"s{j}"
    return f"combine(s{j}, x{j}_{t - is_exclusive})"
