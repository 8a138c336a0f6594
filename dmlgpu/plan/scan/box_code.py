"""The WGSL of a scan by boxes: what is read, scanned and written by the invocations of a workgroup.

How a scan is cut into boxes is said in boxes.py; the kernel around this code is scan/boxes.wgsl.
What is written of a box is in box_put.py, and what differs for halves in box_halves.py.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dmlgpu.plan.dispatch import BANKS, Dispatch, Value, eight, of_eight
from dmlgpu.plan.loops import order_of
from dmlgpu.plan.scan import box_halves
from dmlgpu.plan.scan.box_order import held_steps, reach_of
from dmlgpu.plan.scan.box_put import keep, put_out
from dmlgpu.plan.scan.box_text import Lines, Spots, join_parts_code, read, sum_of, when
from dmlgpu.plan.scan.boxes import WG_SIZE, Boxes
from dmlgpu.plan.scan.lines import arithmetic, fold_params

NEAR = 16  # boxes along a loop, from one to the last of which little time passes


def dispatch(boxes: Boxes, entry: str, partials: str) -> Dispatch:
    """One pass over all boxes; partials lie line by line."""
    if entry == "reduce" and boxes.in_words:  # halves are added up as numbers, not as words
        boxes = replace(boxes, in_words=False, wg_size=WG_SIZE)
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
    passes = "boxes_summed" if entry == "reduce" else "boxes_scanned"
    slots = {**arithmetic(scan), "elements": f"elements_of_{scan.bits}", "passes": passes}
    constants = {"WG_SIZE": boxes.wg_size, "EXCLUSIVE": int(scan.exclusive)}
    code = "\n".join(_code(boxes, entry))
    return Dispatch("scan/boxes", count, params, bindings, slots, constants, entry, code=code)


def partial_strides(boxes: Boxes) -> list[int]:
    """Partials from one step of a loop to the next, and from one segment to the next."""
    strides, step = [0] * len(boxes.dims), boxes.segments
    for d in reversed(range(boxes.axis)):
        strides[d] = step
        step *= boxes.dims[d].size
    strides[-1] = 1
    return strides


def _code(boxes: Boxes, entry: str) -> list[str]:
    """The structure of a box in WGSL, and what is done with it."""
    lines = [
        f"const STEPS = {boxes.box[-1]}u;",
        f"const INSIDE = {boxes.filled[-1]}u;",  # steps of a whole box that there are
        f"const MARGIN = {boxes.margin}u;",
        f"const IS_ONE = {str(boxes.is_one).lower()};",
        f"const READS_LINES = {str(boxes.reads_lines).lower()};",
        f"const WRITES_LINES = {str(boxes.writes_lines).lower()};",
        *_box_at(boxes),
        *join_parts_code(boxes),
    ]
    if boxes.in_words:
        return [*lines, *box_halves.code(boxes)]
    held, size = _held(boxes)
    lines += [f"var<workgroup> held: array<Num, {size}>;", *_take_in(boxes, held)]
    lines += _on_lines(boxes, held)
    return lines if entry == "reduce" else [*lines, *put_out(boxes, held), *keep(boxes, held)]


def _held(boxes: Boxes) -> tuple[tuple[int, ...], int]:
    """Where elements are held in workgroup memory, and the size of that."""
    banks = BANKS // 2 if boxes.scan.bits == 64 else BANKS
    accesses = [boxes.on_lines]
    if not boxes.reads_lines:
        accesses.append(boxes.on_input)
    if not boxes.writes_lines:
        accesses.append(boxes.on_output)
    box = (*boxes.box[:-1], boxes.box[-1] + boxes.margin)
    in_one = len(boxes.write_run) if boxes.in_pairs else 1
    held = held_steps(
        box, boxes.filled, boxes.by_output, tuple(accesses), banks, boxes.room, in_one
    )
    return held, reach_of(box, held)


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


def _take_in(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """Reads a box in the order of the input, and holds it in workgroup memory."""
    if boxes.reads_lines:
        return []
    wide, order = boxes.wide, boxes.reads
    spots = Spots(boxes, order, held, "in_strides", wide, boxes.read_run)
    every = range(order.items)
    stores = [
        when(
            spots.is_held(i),
            " ".join(f"held[{spots.spot(i, k)}] = values.v{i * wide + k};" for k in range(wide)),
        )
        for i in every
    ]
    return [
        *read(boxes, spots.lanes(), [{d: spots.more(d, i) for d in order.loops} for i in every]),
        "fn hold(values: Values, lane: u32) {",
        *spots.coordinates(),
        *stores,
        "}",
    ]


def _on_lines(boxes: Boxes, held: tuple[int, ...]) -> list[str]:
    """What an invocation does with its lines, or with its part of one."""
    axis, lines = boxes.axis, Lines(boxes)
    steps = range(lines.steps)

    def where(j: int, t: int) -> str:
        return f"held[spot + {lines.behind(held, j, t)}u]"

    def value(j: int, t: int) -> str:
        return f"values.v{j * lines.steps + t}" if boxes.reads_lines else where(j, t)

    def put(j: int, t: int, result: str) -> str:
        if not boxes.writes_lines:
            return f"      {where(j, t)} = {result};"
        adds = [*((lines.more(d, j), d) for d in boxes.own), (t, axis)]
        at = sum_of(["to", *(f"{n}u * {of_eight('out_strides', d)}" for n, d in adds if n)])
        return f"      if ({t}u < left) {{ put({at}, {result}); }}"

    made = []
    if boxes.reads_lines:
        made = read(boxes, lines.declared(lines.steps), lines.items())
        made.append("fn hold(values: Values, lane: u32) { }")
    spot = f"  let spot = {lines.spot(held)};"
    to = ["box.target_", f"first * {of_eight('out_strides', axis)}"]
    to += [f"c{d} * {of_eight('out_strides', d)}" for d in boxes.own]
    made += [
        *lines.carries(),
        "fn scan_lines(values: Values, box: Box, done: u32, past: Carries, lane: u32) -> Carries {",
        *lines.declared(),
        # Steps of the invocation's part, from the first one on, that are inside.
        f"  let first = done + c{axis} * {lines.steps}u;",
        "  let left = max(box.steps, first) - first;",
        spot,
        f"  let to = {sum_of(to)};",
        "  var carries = past;",
    ]
    for j in lines.every:
        made.append(f"  let x{j}_0 = {value(j, 0)};")
        made += [f"  let x{j}_{t} = combine(x{j}_{t - 1}, {value(j, t)});" for t in steps[1:]]
    made += lines.joined()
    for j in lines.every:
        made += [
            f"  if ({lines.is_inside(j) if boxes.writes_lines else lines.is_held(j)}) {{",
            "    if (EXCLUSIVE) {",
            *(put(j, t, result) for t, result in enumerate(lines.results(j, exclusive=True))),
            "    } else {",
            *(put(j, t, result) for t, result in enumerate(lines.results(j, exclusive=False))),
            "    }",
            "  }",
        ]
    made += [
        "  return carries;",
        "}",
        "fn store_sums(values: Values, box: Box, lane: u32) {",
        *lines.declared(),
        spot,
    ]
    for j in lines.every:
        stored = f"store_partial({lines.partial(j)}, sum{j});"
        made += [
            f"  var own{j} = {value(j, 0)};",
            *(f"  own{j} = combine(own{j}, {value(j, t)});" for t in steps[1:]),
            f"  let sum{j} = join_parts(Sums(own{j}), no_sums(), lane).after.n0;",
            when(f"c{axis} == 0u && {lines.is_inside(j)}", stored),
        ]
    return [*made, "}"]
