"""What kernels share that find numbers of lines while they hold the elements of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value
from dmlgpu.plan.reduce.accumulators import Accumulator
from dmlgpu.plan.values import float_slots
from dmlgpu.plan.words import UNIT_BITS, element_bits, param_lines, words_of


@dataclass(frozen=True, slots=True)
class Phase:
    """One number of a line: an accumulator over a value of each element.

    `value` is WGSL over the element `x` and what earlier phases found, `s0`, `s1`, ...; the
    accumulator's own `x` stands for it. `number` is what is kept of the accumulator `a` at the end.
    """

    accumulator: Accumulator
    value: str = "x"
    number: str = "a"


def dispatched(
    shader: str,
    groups: int,
    params: Mapping[str, Value],
    wg_size: int,
    data_type: DataType,
    phases: Sequence[Phase],
    code: Sequence[str],
    adapter: Adapter,
) -> Dispatch:
    """A kernel over the units of both tensors, with the functions of all phases."""
    bound = ["#bind read source: vec4<u32>", "#bind write made: vec4<u32>"]
    return Dispatch(
        f"reduce/{shader}",
        groups,
        params,
        {"source": "input_tensor", "made": "output_tensor"},
        float_slots([data_type], adapter.exact_floats),
        {"WG_SIZE": wg_size},
        code="\n".join([*param_lines(params), *bound, *_functions(phases), *code]),
    )


def _functions(phases: Sequence[Phase]) -> list[str]:
    """`lift{p}`, `combine{p}` and `join{p}` of each phase."""
    lines = []
    for p, phase in enumerate(phases):
        acc = phase.accumulator
        if acc.declarations:
            lines.append(acc.declarations)
        both = f"(a: {acc.type}, b: {acc.type}) -> {acc.type}"
        lines.append(f"fn combine{p}{both} {{ return {acc.combine}; }}")
        lines.append(f"fn join{p}{both} {{ return {acc.join or acc.combine}; }}")
        lines.append(f"fn lift{p}(x: f32, i: u32) -> {acc.type} {{ return {acc.lift}; }}")
    return lines


def decoded(data_type: DataType, k: int) -> list[str]:
    """Statements that make the elements `x{k}_..` of unit `u{k}`; of halves four at once."""
    unit, name = UNIT_BITS // data_type.bits, data_type.name.lower()
    each = [element_bits(data_type.bits, j, f"u{k}") for j in range(unit)]
    if data_type is not DataType.FLOAT16:
        return [f"  let x{k}_{j} = {name}_decode({bits});" for j, bits in enumerate(each)]
    lines = []
    for j in range(0, unit, 4):
        four = ", ".join(f"({bits}).x" for bits in each[j : j + 4])
        lines.append(f"  let h{k}_{j} = {name}_decode4(vec4<u32>({four}));")
        lines += [f"  let x{k}_{j + i} = h{k}_{j}[{i}];" for i in range(4)]
    return lines


def encoded(data_type: DataType, results: Sequence[str], use: str) -> list[str]:
    """A block that makes a unit of results and has a `use` of it, {}; of halves four at once."""
    name, unit = data_type.name.lower(), len(results)
    lines = ["  {"]
    if data_type is not DataType.FLOAT16:
        lines += [f"    let y{j} = {name}_encode({result});" for j, result in enumerate(results)]
    else:
        for j in range(0, unit, 4):
            four = ", ".join(results[j : j + 4])
            lines.append(f"    let h{j} = {name}_encode4(vec4<f32>({four}));")
            lines += [f"    let y{j + i} = vec2<u32>(h{j}[{i}], 0u);" for i in range(4)]
    words = words_of(UNIT_BITS // unit, [f"y{j}" for j in range(unit)])
    made = f"vec4<u32>({', '.join(words)})"
    return [*lines, f"    {use.format(made)}", "  }"]
