"""The WGSL of boxes of halves that are held as they are in tensors, two in a word.

An invocation has the two lines of a word that is read or written, or else an even number of steps.
So it takes whole words and makes whole words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from dmlgpu.plan.dispatch import BANKS
from dmlgpu.plan.scan.box_order import held_steps, reach_of
from dmlgpu.plan.scan.box_put import keep, put_out
from dmlgpu.plan.scan.box_text import Lines, Spots, read_pairs, sum_of, when
from dmlgpu.plan.scan.boxes import Boxes


def code(boxes: Boxes) -> list[str]:
    """What is done with a box of halves."""
    lines = Lines(boxes)
    before, after = _held(boxes)
    reach = max(reach_of(boxes.box, held) for held in (before, after))
    return [
        f"var<workgroup> held: array<u32, {-(-reach // 2)}>;",
        "fn half_at(e: u32) -> u32 { return (held[e / 2u] >> (e % 2u * 16u)) & 0xffffu; }",
        *_take_in(boxes, lines, before),
        *lines.carries(),
        *_scan_lines(lines, before, after),
        *put_out(boxes, after),
        *keep(boxes, after),
    ]


def _held(boxes: Boxes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where halves are held before lines are added up, and afterwards.

    In the order of the input, and of the output, each with words along the loop that comes first;
    the same where that is the same loop, or where nothing is held before.
    """
    down, reads, writes = boxes.on_lines, boxes.on_input, boxes.on_output
    room, is_read = boxes.room + boxes.room // 4, not boxes.reads_lines  # rows are made even
    same = boxes.by_input[0] == boxes.by_output[0] and is_read
    accesses = (down, reads, writes) if same else (down, writes)
    after = held_steps(boxes.box, boxes.filled, boxes.by_output, accesses, BANKS, room, 1, 2)
    if same or not is_read:
        return after, after
    accesses = (down, reads)
    return held_steps(boxes.box, boxes.filled, boxes.by_input, accesses, BANKS, room, 1, 2), after


def _take_in(boxes: Boxes, lines: Lines, held: tuple[int, ...]) -> list[str]:
    """Reads the words of a box, and holds them as they are where others add them up."""
    if boxes.reads_lines:
        read = read_pairs(boxes, lines.declared(lines.steps), lines.items())
        return [*read, "fn hold(values: Values, lane: u32) { }"]
    order = boxes.reads
    spots = Spots(boxes, order, held, "in_strides", 2, boxes.read_run)
    items = [{d: spots.more(d, i) for d in order.loops} for i in range(order.items)]
    spot = [f"c{d} * {held[d]}u" for d in order.loops]
    stores = []
    for i, item in enumerate(items):
        at = sum(n * held[d] for d, n in item.items()) // 2
        stores.append(when(spots.is_held(i), f"held[spot + {at}u] = values.v{i};"))
    return [
        *read_pairs(boxes, spots.lanes(), items),
        "fn hold(values: Values, lane: u32) {",
        *spots.lanes(),
        f"  let spot = ({sum_of(spot)}) / 2u;",
        *stores,
        "}",
    ]


def _scan_lines(lines: Lines, before: tuple[int, ...], after: tuple[int, ...]) -> list[str]:
    """Adds up the lines of an invocation, or its part of them."""
    boxes, steps = lines.boxes, lines.steps
    along_input, along_output = (
        near == boxes.axis for near in (boxes.by_input[0], boxes.by_output[0])
    )
    made = [
        "fn scan_lines(values: Values, box: Box, done: u32, past: Carries, lane: u32) -> Carries {",
        *lines.declared(),
        f"  let spot_in = ({lines.spot(before)}) / 2u;",
        f"  let spot_out = ({lines.spot(after)}) / 2u;",
        "  var carries = past;",
    ]
    words: dict[tuple[int, int], str] = {}  # by line and step, its half of one
    for number, pair in enumerate(_pairs(lines, along=along_input)):
        (j, t), _ = pair
        taken = f"held[spot_in + {lines.behind(before, j, t) // 2}u]"
        made.append(f"  let w{number} = {f'values.v{number}' if boxes.reads_lines else taken};")
        words |= {pair[0]: f"w{number} & 0xffffu", pair[1]: f"w{number} >> 16u"}
    for j in lines.every:
        for t in range(steps):
            value = f"decode(vec2<u32>({words[j, t]}, 0u))"
            made.append(f"  let x{j}_{t} = {f'combine(x{j}_{t - 1}, {value})' if t else value};")
    made += lines.joined()
    if boxes.parts == 1 and before != after and not boxes.reads_lines:
        made.append("  workgroupBarrier();")  # all that is held elsewhere has been taken
    for exclusive, head in ((True, "  if (EXCLUSIVE) {"), (False, "  } else {")):
        made.append(head)
        results = {j: lines.results(j, exclusive=exclusive) for j in lines.every}
        for j, own in groupby(_pairs(lines, along=along_output), key=lambda pair: pair[0][0]):
            stores = (
                f"held[spot_out + {lines.behind(after, j, t) // 2}u]"
                f" = encode_pair({results[j][t]}, {results[beside][then]});"
                for (_, t), (beside, then) in own
            )
            made.append(when(lines.is_held(j), " ".join(stores)))
    return [*made, "  }", "  return carries;", "}"]


def _pairs(lines: Lines, *, along: bool) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The line and the step of both halves of each word, which goes along the lines or across."""
    if along:
        for j in lines.every:
            yield from (((j, t), (j, t + 1)) for t in range(0, lines.steps, 2))
        return
    for j in lines.every[::2]:
        yield from (((j, t), (j + 1, t)) for t in range(lines.steps))
