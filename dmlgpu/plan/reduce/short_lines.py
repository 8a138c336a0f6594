"""Work on short lines that follow each other in memory.

An invocation has as many of them as end with a unit: a few units side by side, which come and go
through workgroup memory, so that neighbours load and store what are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value
from dmlgpu.plan.reduce.phases import Phase, decoded, dispatched, encoded
from dmlgpu.plan.values import renamed
from dmlgpu.plan.words import UNIT_BITS

FEW_UNITS = 2  # of an invocation, up to which workgroups have twice as many
WG_SIZE = 64
# By bits: most elements of one invocation, as measured on an NVIDIA H200. Of a softmax of 128 MiB,
# lines of 14 FLOAT16 take 79 us so and 115 with lanes that share a line, of 15 101 and 109; of 10
# FLOAT32 81 and 95, but of 7 100 and 85.
HELD = {32: 20, 16: 120}


def suits(data_type: DataType, size: int) -> bool:
    """Whether lines of `size` elements are so short that one invocation has all of one, or more.

    Of lines that are whole units, those of three have no good number of lanes that share one.
    """
    unit = UNIT_BITS // data_type.bits
    return lcm(size, unit) <= HELD[data_type.bits] and (size % unit > 0 or size == 3 * unit)


def dispatch(
    data_type: DataType,
    size: int,
    count: int,
    phases: Sequence[Phase],
    result: str,
    adapter: Adapter,
) -> Dispatch:
    """One pass over `count` lines of `size` elements; see `ByLine` for phases and result."""
    unit = UNIT_BITS // data_type.bits
    held = lcm(size, unit)
    units, lines = held // unit, held // size
    all_units = -(-count * size // unit)
    params: dict[str, Value] = {"units": all_units}
    wg_size = WG_SIZE * (2 if units <= FEW_UNITS else 1)
    own, near = f"invocation * {units}u", f"invocation + $u * {wg_size}u"
    code = [
        f"var<workgroup> wg_units: array<vec4<u32>, {wg_size * units}>;",
        "fn make_lines(number: u32, invocation: u32) {",
        f"  let first = number * {wg_size * units}u;",
        f"  #repeat {units}: let n$ = load_source(min(first + {near}, params.units - 1u));",
        f"  #repeat {units}: wg_units[{near}] = n$;",
        "  workgroupBarrier();",
        f"  #repeat {units}: let u$ = wg_units[{own} + $u];",
    ]
    for k in range(units):
        code += decoded(data_type, k)
    for line in range(lines):
        code += _numbers(line, size, unit, phases)
    for k in range(units):
        results = []
        for e in range(k * unit, k * unit + unit):
            line, i = divmod(e, size)
            numbers = {f"s{p}": f"s{p}_{line}" for p in range(len(phases))}
            element = {"x": f"x{k}_{e % unit}", "v": f"v{len(phases) - 1}_{e}", "i": f"{i}u"}
            results.append(renamed(result, {**numbers, **element}))
        code += encoded(data_type, results, f"wg_units[{own} + {k}u] = {{}};")
    inside = f"if (first + {near} < params.units) {{"
    code += [
        "  workgroupBarrier();",
        f"  #repeat {units}: {inside} store_made(first + {near}, wg_units[{near}]); }}",
    ]
    groups = -(-all_units // (wg_size * units))
    work = (data_type, phases, [*code, "}"])
    return dispatched("whole_lines", groups, params, wg_size, *work, adapter)


def _numbers(line: int, size: int, unit: int, phases: Sequence[Phase]) -> list[str]:
    """What each phase finds of a line."""
    code = []
    for p, phase in enumerate(phases):
        earlier = {f"s{q}": f"s{q}_{line}" for q in range(p)}
        total = phase.accumulator.identity
        for i in range(size):
            e = line * size + i
            names = {"x": f"x{e // unit}_{e % unit}", **earlier}
            code.append(f"  let v{p}_{e} = {renamed(phase.value, names)};")
            code.append(f"  let a{p}_{e} = combine{p}({total}, lift{p}(v{p}_{e}, {i}u));")
            total = f"a{p}_{e}"
        code.append(f"  let s{p}_{line} = {renamed(phase.number, {'a': total})};")
    return code
