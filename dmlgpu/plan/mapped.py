"""Mapped copies: every output element is the source element that rules per dimension lead to.

What a Move's loops cannot say: coordinates that are divided, taken modulo something, mirrored, or
that lie outside of the source, where a constant takes their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter, converted


@dataclass(frozen=True, slots=True)
class Rule:
    """How a coordinate `c$` of the output becomes one of the source, as WGSL.

    `$` stands for the number of the dimension. `before` holds statements, `inside` says whether
    there is such an element in the source, and `values` are parameters, named with `p_` in front.
    """

    source: str
    before: str = ""
    inside: str = ""
    values: Mapping[str, int] = field(default_factory=dict)
    start: int = 0  # added to the coordinate, modulo 2^32


def mapped(
    source: tuple[str, TensorDesc],
    output: tuple[str, TensorDesc],
    rules: Mapping[int, Rule],
    otherwise: int = 0,
) -> ElementWise:
    """A copy of a source in which the coordinates of some dimensions are changed by rules.

    Both tensors, given with their fields, have one rank. `otherwise` are the bits of the elements
    outside of the source.
    """
    sizes, strides = output[1].sizes, source[1].effective_strides
    plain = [0 if d in rules else stride for d, stride in enumerate(strides)]
    inputs = {"base": Operand.place(sizes, plain)}
    raw = RAW[output[1].data_type.bits]
    parameters = [Parameter("p_otherwise", raw, otherwise)]
    steps, conditions, at = [], [], ["base"]
    for d, rule in rules.items():
        texts = (rule.source, rule.before, rule.inside)
        where, before, inside = (text.replace("$", str(d)) for text in texts)
        inputs[f"c{d}"] = coordinate(sizes, d, rule.start)
        steps.append(before)
        at.append(f"({where}) * p_step{d}")
        if inside:
            conditions.append(f"({inside})")
        parameters.append(Parameter(f"p_step{d}", DataType.UINT32, strides[d]))
        parameters += [
            Parameter(f"p_{name}{d}", DataType.UINT32, value) for name, value in rule.values.items()
        ]
    result = f"x_at({' + '.join(at)})"
    if conditions:
        # Read wherever it is, since loads under a condition would wait for one another.
        result = f"select(p_otherwise, {result}, {' && '.join(conditions)})"
    made = Operand.of(*output, raw=True)
    lookups = {"x": Operand.of(*source, raw=True)}
    expression = Expression(result, " ".join(steps))
    return ElementWise(inputs, ((made, expression),), tuple(parameters), lookups)


def coordinate(sizes: tuple[int, ...], dimension: int, start: int = 0) -> Operand:
    """The coordinate of an element along one dimension, plus `start` modulo 2^32."""
    steps = [int(d == dimension) for d in range(len(sizes))]
    return Operand.place(sizes, steps, start & 0xFFFFFFFF)


def bits_of(value: int | float, data_type: DataType) -> int:
    """The bits of a number as an element; integers beyond the type keep their low bits."""
    if data_type.name.startswith("FLOAT"):
        with np.errstate(over="ignore"):
            made = np.array(value).astype(data_type.numpy)
        return int(made.view(f"u{data_type.bits // 8}"))
    whole = value if isinstance(value, int) else int(converted(value, data_type))
    return whole & ((1 << data_type.bits) - 1)
