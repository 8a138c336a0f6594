"""How workgroups that reduce segments of the same lines meet: the last one joins what all found.

Each of them publishes its partial results in memory that all calls of a device share, and then
counts itself. Nobody waits for a workgroup that has yet to come: whichever finds that all others
have counted joins their results, in the order of the segments, so that the bits of floats do not
depend on who was last.

WGSL does not say in which order a workgroup sees another's words. So every word carries a flag
beside 31 bits of a value, and the last workgroup looks for all of them, which are there at once or
as soon as a store takes to arrive. If some are still missing after LOOKS looks, it reduces all
segments of its lines by itself, so that the worst case is slow. Then it wipes the words, so that
zeros are left for the next call.
"""

from __future__ import annotations

import re

from dmlgpu.plan.dispatch import LOOKS
from dmlgpu.plan.reduce.accumulators import Accumulator, paired, tree
from dmlgpu.plan.reduce.division import Shape

PARTIALS = "partials"  # the shared memory: a count for each block of lines, then the words
# Words that one workgroup reads, about one for each clock; more are joined by a pass of their own,
# which takes 3 us on an H200.
MOST_WORDS = 1 << 11
MOST_BOUND = 6  # bindings of inputs, of the eight that every adapter has
AT_ONCE = 8  # partial results of a line that an invocation takes together, at most
FLAG, BITS = "0x80000000u", "0x7fffffffu"


def words(shape: Shape, acc: Accumulator) -> int:
    """Words that one segment of a block of lines is published in."""
    return shape.lines_per_group * (acc.words + 1)


def _divided(shape: Shape) -> tuple[int, int, int]:
    """Lines side by side, invocations for each, and results that these take together."""
    side = min(shape.lines_per_group, shape.wg)
    lanes = shape.wg // side
    own = -(-shape.segments // lanes)
    return side, lanes, -(-own // -(-own // AT_ONCE))


def functions(shape: Shape, acc: Accumulator) -> list[str]:
    """`publish` for one result of a workgroup, `published` for a few of a line, joined."""
    count, lines_of = acc.words + 1, shape.lines_per_group
    _, lanes, at_once = _divided(shape)
    lines = [
        f"#bind atomic {PARTIALS}: u32",
        f"override LOOKS: u32 = {LOOKS}; // 0: act as if words were missing, for tests",
        "var<private> looks_left: u32;",
        "var<private> is_late: bool;",
        "var<workgroup> wg_late: atomic<u32>;",
        "var<workgroup> wg_before: u32;",
        "fn partial_at(number: u32, own: u32) -> u32 {",
        f"  return params.blocks + (number * {lines_of}u + own) * {count}u;",
        "}",
        f"fn publish(number: u32, own: u32, a: {acc.type}) {{",
        "  let at = partial_at(number, own);",
    ]
    lines += [f"  let w{w} = {word};" for w, word in enumerate(acc.pack)]
    for i in range(count):
        parts = [f"(w{i - 1} >> {32 - i}u)"] if i else []
        parts += [f"(w{i} << {i}u)"] if i < acc.words else []
        word = f"{FLAG} | (({' | '.join(parts)}) & {BITS})"
        lines.append(f"  store_{PARTIALS}(at + {i}u, {word});")
    lines.append("}")
    lines.append(f"fn published(block: u32, own: u32, s: u32) -> {acc.type} {{")
    lines.append("  let first = partial_at(block * params.segments + s, own);")
    names = [[f"v{k}_{i}" for i in range(count)] for k in range(at_once)]
    for k in range(at_once):
        lines.append(f"  let there{k} = s + {k * lanes}u < params.segments;")
        lines.append(f"  let at{k} = first + {k * lanes * lines_of * count}u;")
        lines += [f"  var {name} = select({FLAG}, 0u, there{k});" for name in names[k]]
    lines.append("  loop {")
    for k in range(at_once):
        takes = [f"{name} |= load_{PARTIALS}(at{k} + {i}u);" for i, name in enumerate(names[k])]
        lines.append(f"    if (there{k}) {{ {' '.join(takes)} }}")
    all_of = " & ".join(name for each in names for name in each)
    lines += [
        f"    if (({all_of} & {FLAG}) != 0u) {{ break; }}",
        "    if (looks_left == 0u) { is_late = true; break; }",
        "    looks_left -= 1u;",
        "  }",
    ]
    for k in range(at_once):
        wipes = [f"store_{PARTIALS}(at{k} + {i}u, 0u);" for i in range(count)]
        lines.append(f"  if (there{k}) {{ {' '.join(wipes)} }}")
    terms = []
    for k in range(at_once):
        for w in range(acc.words):
            low, high = f"(v{k}_{w} & {BITS})", f"v{k}_{w + 1}"
            lines.append(f"  let w{w}_{k} = ({low} >> {w}u) | ({high} << {31 - w}u);")
        term = re.sub(r"\bw(\d+)\b", rf"w\1_{k}", acc.unpack)
        terms.append(f"if_there({term}, there{k})")
    return [*lines, f"  return {paired(terms, 'join')};", "}"]


def joins(shape: Shape, line: list[str], shuffles: bool) -> list[str]:
    """Functions by which a workgroup reduces its segment and, if it is the last, joins all.

    `line` are statements that find the number `line` of the line `own` of a block, and `is_line`,
    whether there is one. Lines that were finished without what was late are finished once more.
    """
    count = shape.lines_per_group
    side, lanes, at_once = _divided(shape)
    own = f"own = invocation % {side}u;"
    each = f"for (var {own} own < {count}u; own += {side}u) {{" if count > side else f"{{ let {own}"
    return [
        "fn join_segments(block: u32, invocation: u32) {",
        f"  let lane = invocation / {side}u;",
        "  looks_left = LOOKS;",
        f"  {each}",
        *line,
        f"    let end = select(0u, params.segments, is_line && lane < {lanes}u);",
        "    var total = identity();",
        f"    for (var s = lane; s < end; s += {lanes * at_once}u) {{",
        "      total = join(total, published(block, own, s));",
        "    }",
        *tree([("total", "wg_values[invocation{}]")], lanes, shuffles, apart=side),
        "    if (is_line && lane == 0u) { finish_line(line, total); }",
        "  }",
        "}",
        "fn reduce_segment(number: u32, invocation: u32) {",
        "  let block = number / params.segments;",
        "  publish_segment(number, invocation);",
        "  workgroupBarrier();",
        f"  if (invocation == 0u) {{ wg_before = add_{PARTIALS}(block, 1u); }}",
        "  if (workgroupUniformLoad(&wg_before) != params.segments - 1u) { return; }",
        "  if (invocation == 0u) {",
        f"    store_{PARTIALS}(block, 0u);",
        "    atomicStore(&wg_late, 0u);",
        "  }",
        "  is_late = LOOKS == 0u;",
        "  join_segments(block, invocation);",
        "  workgroupBarrier();",
        "  if (is_late) { atomicStore(&wg_late, 1u); }",
        "  if (workgroupUniformLoad(&wg_late) == 0u) { return; }",
        "  for (var s = 0u; s < params.segments; s += 1u) {",
        "    publish_segment(block * params.segments + s, invocation);",
        "    workgroupBarrier();",
        "  }",
        "  storageBarrier();",
        "  join_segments(block, invocation);",
        "}",
    ]
