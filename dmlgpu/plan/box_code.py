"""The WGSL of a scan by boxes: what is read, scanned and written by the invocations of a workgroup.

How a scan is cut into boxes is said in boxes.py; the kernel around this code is scan/boxes.wgsl.
What is written of a box is in box_put.py, and what differs for halves in box_halves.py.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dmlgpu.plan import box_halves
from dmlgpu.plan.box_put import keep, put_out
from dmlgpu.plan.box_text import Spots, join_parts_code, read, sum_of, when
from dmlgpu.plan.boxes import WG_SIZE, Access, Boxes, held_steps
from dmlgpu.plan.dispatch import BANKS, Dispatch, Value, eight, of_eight
from dmlgpu.plan.lines import arithmetic, fold_params
from dmlgpu.plan.loops import order_of

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
    axis, each = boxes.axis, [1] * len(boxes.dims)
    banks = BANKS // 2 if boxes.scan.bits == 64 else BANKS
    accesses: list[Access] = [
        (boxes.down, (axis,), (*each[:-1], boxes.box[-1] // boxes.parts)),
    ]

    def groups_of(run: tuple[int, ...], number: int) -> tuple[int, ...]:
        return tuple(number if d == run[0] else 1 for d in range(len(each)))

    if not boxes.reads_lines:
        run = boxes.read_run
        accesses.append((boxes.reads, run, groups_of(run, boxes.wide)))
    if not boxes.writes_lines:
        run = boxes.write_run
        accesses.append((boxes.writes, run, groups_of(run, 2 if boxes.in_pairs else 1)))
    box = (*boxes.box[:-1], boxes.box[-1] + boxes.margin)
    in_one = len(boxes.write_run) if boxes.in_pairs else 1
    held = held_steps(
        box, boxes.filled, boxes.by_output, tuple(accesses), banks, boxes.room, in_one
    )
    return held, 1 + sum((b - 1) * h for b, h in zip(box, held, strict=True))


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
    axis, parts, own, order = boxes.axis, boxes.parts, boxes.own, boxes.down
    steps = boxes.box[-1] // parts
    number = range(order.items)  # lines of an invocation
    declared = [f"  let c{d} = {order.of_lane(d)};" for d in order.loops]

    def where(j: int, t: int) -> str:
        more = sum(order.of_item(d, j) * held[d] for d in own)
        return f"held[spot + {more + t * held[axis]}u]"

    def partial(j: int) -> str:
        adds = [f"(c{d} + {order.of_item(d, j)}u) * {of_eight('partial_strides', d)}" for d in own]
        return sum_of(["box.partial", *adds])

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
        return sum_of(["to", *(f"{n}u * {of_eight('out_strides', d)}" for n, d in adds if n)])

    at = [f"c{d} * {held[d]}u" for d in own]
    # An idle invocation reads what the last part does, and writes nothing.
    at.append(f"min(c{axis}, {parts - 1}u) * {steps * held[axis]}u + {boxes.margin * held[axis]}u")
    spot = f"  let spot = {sum_of(at)};"
    to = ["box.target_", f"first * {of_eight('out_strides', axis)}"]
    to += [f"c{d} * {of_eight('out_strides', d)}" for d in own]
    every = [(j, t, j * steps + t) for j in number for t in range(steps)]
    lines = []
    values = {(j, t): f"values.v{i}" if boxes.reads_lines else where(j, t) for j, t, i in every}
    if boxes.reads_lines:
        lanes = [*declared[:-1], f"  let c{axis} = {order.of_lane(axis)} * {steps}u;"]
        items = [{**{d: order.of_item(d, j) for d in own}, axis: t} for j, t, _ in every]
        lines += [*read(boxes, lanes, items), "fn hold(values: Values, lane: u32) { }"]

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
        *(when(is_inside(j), f"carries.n{j} = load_partial({partial(j)});") for j in number),
        "  return carries;",
        "}",
        f"fn scan_lines{taking} {{",
        *declared,
        # Steps of the invocation's part, from the first one on, that are inside.
        f"  let first = done + c{axis} * {steps}u;",
        "  let left = max(box.steps, first) - first;",
        *(f"  let here{j} = {is_inside(j)};" for j in number),
        spot,
        f"  let to = {sum_of(to)};",
        "  var carries = before;",
    ]
    for j in number:
        lines.append(f"  let x{j}_0 = {values[j, 0]};")
        for t in range(1, steps):
            lines.append(f"  let x{j}_{t} = combine(x{j}_{t - 1}, {values[j, t]});")
    for j in number:
        start = f"joined{j}.start.n0"
        sums = [f"combine({start}, x{j}_{t})" for t in range(steps)]
        lines += [
            f"  let joined{j} = join_parts(Sums(x{j}_{steps - 1}), Sums(carries.n{j}), lane);",
            f"  carries.n{j} = joined{j}.after.n0;",
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
            f"  let sum{j} = join_parts(Sums(own{j}), no_sums(), lane).after.n0;",
            when(f"c{axis} == 0u && {is_inside(j)}", stored),
        ]
    return [*lines, "}"]
