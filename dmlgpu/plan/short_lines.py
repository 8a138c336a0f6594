"""Work on lines shorter than 16-byte units that follow each other in memory.

An invocation has as many of them as end with a unit: a few units side by side, which come and go
through workgroup memory, so that neighbours load and store what are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value
from dmlgpu.plan.phases import Phase, decoded, dispatched, encoded
from dmlgpu.plan.values import UNIT_BITS, renamed

WG_SIZE = 128


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
    own, near = f"invocation * {units}u", f"invocation + $u * {WG_SIZE}u"
    code = [
        f"var<workgroup> wg_units: array<vec4<u32>, {WG_SIZE * units}>;",
        "fn make_lines(number: u32, invocation: u32) {",
        f"  let first = number * {WG_SIZE * units}u;",
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
    groups = -(-all_units // (WG_SIZE * units))
    work = (data_type, phases, [*code, "}"])
    return dispatched("whole_lines", groups, params, WG_SIZE, *work, adapter)


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
