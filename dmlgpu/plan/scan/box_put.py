"""The WGSL that writes a box from workgroup memory, in the order of the output."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from dmlgpu.plan.dispatch import of_eight
from dmlgpu.plan.scan.box_text import Spots, all_of, either, in_run, sum_of, when
from dmlgpu.plan.scan.boxes import Boxes


@dataclass(frozen=True, slots=True)
class Halves:
    """What halves are taken from: words of two, or a number each."""

    in_words: bool

    def bits(self, index: str) -> str:
        """Those of one half."""
        return f"half_at({index})" if self.in_words else f"encode(held[{index}]).x"

    def pair(self, low: str, high: str, *, is_word: bool) -> str:
        """Two halves as a word, which they may be where they are held."""
        if not self.in_words:
            return f"encode_pair(held[{low}], held[{high}])"
        if is_word:
            return f"held[({low}) / 2u]"
        return f"({self.bits(low)} | ({self.bits(high)} << 16u))"


def put_out(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Writes a box in the order of the output."""
    if boxes.writes_lines:
        return ["fn put_out(box: Box, done: u32, lane: u32) { }"]
    made = _sectors_put if boxes.margin else _pairs_put if boxes.in_pairs else _elements_put
    bodies = {whole: made(boxes, held, whole) for whole in (True, False)}
    return either("put_out(box: Box, done: u32, lane: u32)", bodies)


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
        f"  let at = {sum_of(at)};",
        f"  let spot = {sum_of([f'c{d} * {held[d]}u' for d in rows])};",
    ]
    wide = 2 if boxes.in_pairs else 1
    backward = boxes.dims[axis].out < 0
    stores = []
    for i in range(order.items):
        adds = [(order.of_item(d, i), d) for d in rows]
        row = sum_of(["at", *(f"{n}u * {of_eight('out_strides', d)}" for n, d in adds if n)])
        late = f"{kept - 1}u - at{i} % {kept}u" if backward else f"at{i} % {kept}u"
        k = spots.along(axis, i)
        more = sum(n * held[d] for n, d in adds)
        own = [f"spot + {more}u + (t{i} + {kept + j}u) * {held[axis]}u" for j in range(wide)]
        lines += [f"  let at{i} = {row};", f"  let t{i} = ({k}) * {wide}u - ({late});"]
        here = [
            f"{spots.along(d, i)} < {spots.left(d)}" for d in rows if not whole or order.leaves(d)
        ]
        here += [f"({k}) * {wide}u < STEPS"] if order.leaves(axis) else []
        if wide == 1:
            lines.append(f"  let v{i} = held[{own[0]}];")
            stored = f"put(at{i} + t{i} * {step}, v{i});"
        else:
            low, high = (1, 0) if backward else (0, 1)
            lines.append(f"  let pair{i} = encode_pair(held[{own[low]}], held[{own[high]}]);")
            stored = f"store_output((at{i} + (t{i} + {low}u) * {step}) / 2u, pair{i});"
        if whole:
            stores.append(when(all_of(here), stored))
            continue
        is_in = [f"in{i}_{j}" for j in range(wide)]
        for j, name in enumerate(is_in):
            inside = f"i32(t{i} + {j}u) < i32(left) && (done > 0u || i32(t{i} + {j}u) >= 0)"
            stores.append(f"  let {name} = {all_of([*here, inside])};")
        stores.append(when(all_of(is_in), stored))
        if wide == 2:  # one half of a word, at an end
            stores += [
                when(
                    f"{is_in[j]} && !{is_in[1 - j]}",
                    f"put(at{i} + (t{i} + {j}u) * {step}, held[{own[j]}]);",
                )
                for j in range(2)
            ]
    return [*lines, *stores]


def _elements_put(boxes: Boxes, held: tuple[int, ...], whole: bool) -> list[str]:
    """Writes element by element."""
    order = boxes.writes
    spots = Spots(boxes, order, held, "out_strides", run=boxes.write_run, whole=whole)
    every = range(order.items)
    return [
        *spots.declared(f"box.target_ + done * {of_eight('out_strides', boxes.axis)}"),
        *(f"  let v{i} = held[{spots.spot(i)}];" for i in every),
        *(when(spots.is_inside(i), f"put({spots.address(i)}, v{i});") for i in every),
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
    all_pairs = whole and on_words and prod(boxes.filled[d] for d in run) % 2 == 0
    rows = [d for d in order.loops if d != near]
    is_backward = boxes.dims[near].out < 0
    halves = Halves(boxes.in_words)
    is_word = on_words and not is_backward and (len(run) == 1 or boxes.filled[near] % 2 == 0)
    left = ["left" if d == boxes.axis else f"box.n{d}" for d in range(len(boxes.dims))]
    if whole:
        left = [f"{n}u" for n in boxes.filled]
    # A run ends where its last loop does: the others are whole.
    length = " * ".join([left[run[-1]], *(f"{boxes.filled[d]}u" for d in run[:-1])])
    checked = [d for d in rows if not whole or order.leaves(d)]
    address = [f"box.target_ + done * {of_eight('out_strides', boxes.axis)}"]
    address += [f"c{d} * {of_eight('out_strides', d)}" for d in rows]
    at_first, at_last = (" && box.is_first", " && box.is_last") if boxes.overlap else ("", "")
    firsts, pairs, stores, ends = [], [], [], []
    for i in range(order.items):
        adds = [(order.of_item(d, i), d) for d in rows]
        at = sum_of(["at", *(f"{k}u * {of_eight('out_strides', d)}" for k, d in adds if k)])
        more = sum(k * held[d] for k, d in adds)
        pair = f"c{near} + {order.of_item(near, i)}u"
        here = [f"{pair} < {order.box[near]}u"] if order.leaves(near) else []
        here += [f"c{d} + {k}u < {left[d]}" for k, d in adds if d in checked]

        def half(k: str, more: int = more) -> str:
            along = f"(n - 1u - ({k}))" if is_backward else f"({k})"
            # Numbers are held side by side, without a gap from row to row.
            rows_apart = run if boxes.in_words else run[:1]
            return sum_of([f"spot + {more}u", *in_run(boxes, held, rows_apart, along)])

        own = f"k{i}", f"k{i} + 1u"
        if not all_pairs:
            own = f"min({own[0]}, n - 1u)", f"min({own[1]}, n - 1u)"
        firsts += [
            f"  let at{i} = {at};",
            f"  let k{i} = 2u * ({pair}){'' if on_words else f' + (at{i} & 1u)'};",
            f"  let n{i} = {f'select(0u, n, {all_of(here)})' if here else 'n'};",
        ]
        pair = halves.pair(half(own[0]), half(own[1]), is_word=is_word)
        pairs.append(f"  let pair{i} = {pair};")
        stored = f"store_output((at{i} + k{i}) / 2u, pair{i});"
        stores.append(when(all_of(here) if all_pairs else f"k{i} + 1u < n{i}", stored))
        if not (all_pairs or (whole and boxes.overlap)):
            ends.append(
                f"  if (k{i} + 1u == n{i}{at_last}) {{"
                f" merge_output((at{i} + k{i}) / 2u, 0xffffu, pair{i} & 0xffffu); }}"
            )
        if not (on_words or (whole and boxes.overlap)):
            ends.append(
                f"  if (k{i} == 1u && n{i} > 0u{at_first}) {{"
                f" merge_output(at{i} / 2u, 0xffff0000u, {halves.bits(half('0u'))} << 16u); }}"
            )
    return [
        *(f"  let c{d} = {order.of_lane(d)};" for d in order.loops),
        f"  let left = min(box.steps - done, {boxes.box[-1]}u);",
        f"  let n = {length};",
        f"  let at = {sum_of(address)}{' - (n - 1u)' if is_backward else ''};",
        f"  let spot = {sum_of([f'c{d} * {held[d]}u' for d in rows])};",
        *firsts,
        *pairs,
        *stores,
        *ends,
    ]


def keep(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Keeps the last steps of every line for the next box, and waits for all invocations."""
    if not boxes.margin:
        return ["fn keep(lane: u32) { workgroupBarrier(); }"]
    order = boxes.order((boxes.axis, *boxes.own), (*boxes.box[:-1], boxes.margin))
    far = boxes.box[-1] * held[-1]
    takes, puts = [], []
    for i in range(order.items):
        to = sum(order.of_item(d, i) * held[d] for d in order.loops)
        here = [
            f"c{d} + {order.of_item(d, i)}u < {order.box[d]}u"
            for d in order.loops
            if order.leaves(d)
        ]
        takes.append(f"  let v{i} = held[spot + {to + far}u];")
        puts.append(when(all_of(here), f"held[spot + {to}u] = v{i};"))
    return [
        "fn keep(lane: u32) {",
        *(f"  let c{d} = {order.of_lane(d)};" for d in order.loops),
        f"  let spot = {sum_of([f'c{d} * {held[d]}u' for d in order.loops])};",
        *takes,
        "  workgroupBarrier();",
        *puts,
        "}",
    ]
