"""DML_OPERATOR_ELEMENT_WISE_IF, BIT_*, VALUE_SCALE_2D and CAST: choices, bits and conversions.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_if_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.element_wise_binary import Binary, binary
from dmlgpu.ops.element_wise_unary import Plain, plain
from dmlgpu.ops.elements import Row, like_first, records, truth_like_first
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Together, Work
from dmlgpu.plan.values import Expression, Operand, Parameter, class_of, limited, of_class


class ElementWiseIfDesc(Description):
    """DML_ELEMENT_WISE_IF_OPERATOR_DESC: a where the condition is not zero, else b.

    Fields:
        condition_tensor (tensor): bytes that say which one is taken.
        a_tensor (tensor): what is taken where the condition is not zero.
        b_tensor (tensor): what is taken elsewhere.
    """

    condition_tensor: TensorDesc
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: Output


class ValueScale2dDesc(Description):
    """DML_VALUE_SCALE_2D_OPERATOR_DESC: x * scale + the bias of its channel.

    Fields:
        input_tensor (tensor): images {N, C, H, W} with one channel or three.
        scale (FLOAT): the factor.
        bias (FLOAT[]): what is added, for each channel.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    scale: float
    bias: tuple[float, ...]


class CastDesc(Plain):
    """DML_CAST_OPERATOR_DESC: the same numbers in another data type.

    Floats become integers by truncation and saturate; NaN becomes 0. Integers become narrower ones
    by their low bits, and floats to the nearest, ties to even.
    """


def infer_if(given: Given) -> dict[str, TensorDesc]:
    """What is chosen from."""
    return {"output_tensor": TensorDesc(given.a_tensor.data_type, given.a_tensor.sizes)}


def shift(name: str, d: Binary) -> str:
    """A shift of raw bits by a count modulo the element's width."""
    width = d.a_tensor.data_type.bits
    kind = class_of(d.a_tensor.data_type)
    count = "b.x" if kind == "u64" else "b"
    return f"{kind}_{name}(a, {count} % {width}u)"


def bit_count(d: Plain) -> str:
    """How many bits of a word, or of two."""
    return f"u{64 if d.input_tensor.data_type.bits == 64 else 32}_count_ones(x)"


def check_value_scale(d: ValueScale2dDesc) -> None:
    """One bias for each channel, of which there are one or three."""
    channels = d.input_tensor.sizes[1]
    if len(d.bias) != channels or channels not in (1, 3):
        raise InvalidDescError(
            f"VALUE_SCALE_2D: bias has {len(d.bias)} entries and input_tensor {channels} channels; "
            "both must be 1 or 3"
        )


def value_scale(d: ValueScale2dDesc) -> Work:
    """Channel by channel, each with a bias of its own."""
    works = []
    for channel, bias in enumerate(d.bias):
        source = Operand.of("input_tensor", d.input_tensor).part(1, channel)
        output = Operand.of("output_tensor", d.output_tensor).part(1, channel)
        parameters = (
            Parameter("p_scale", DataType.FLOAT32, d.scale),
            Parameter("p_bias", DataType.FLOAT32, bias),
        )
        text = Expression("f32_add(f32_mul(x, p_scale), p_bias)")
        works.append(ElementWise({"x": source}, ((output, text),), parameters))
    return Together(tuple(works))


def infer_cast(given: Given) -> dict[str, TensorDesc]:
    """The input's sizes; the data type is what is asked for, or stays."""
    source: TensorDesc = given.input_tensor
    return {"output_tensor": TensorDesc(given.output_data_type or source.data_type, source.sizes)}


def cast(d: CastDesc) -> Work:
    """A copy where the type stays; else every value converted."""
    source, output = d.input_tensor, d.output_tensor
    if source.data_type is output.data_type:
        return Move.between(source, output)
    inputs = {"x": Operand.of("input_tensor", source)}
    made = Operand.of("output_tensor", output)
    text = of_class("x", source.data_type, output.data_type)
    if source.data_type.name.startswith("FLOAT") and not output.data_type.name.startswith("FLOAT"):
        text = limited(output.data_type, text)
    return ElementWise(inputs, ((made, Expression(text)),))


OPERATORS: tuple[Operator[Any], ...] = (
    *records(
        (
            Row(ElementWiseIfDesc, "select(b, a, c != 0u)", raw=True, infer=infer_if),
            binary(
                "BIT_AND", "the bits that both have, whatever they mean.", "T_and(a, b)", raw=True
            ),
            binary("BIT_OR", "the bits that one of them has.", "T_or(a, b)", raw=True),
            binary("BIT_XOR", "the bits that just one of them has.", "T_xor(a, b)", raw=True),
            plain("BIT_NOT", "every bit the other way.", "T_not(x)", raw=True),
            binary(
                "BIT_SHIFT_LEFT", "a << b; b counts modulo the width.", lambda d: shift("shl", d)
            ),
            binary(
                "BIT_SHIFT_RIGHT", "a >> b; b counts modulo the width.", lambda d: shift("shr", d)
            ),
            plain("BIT_COUNT", "how many bits are 1.", bit_count, raw=True, infer=truth_like_first),
        )
    ),
    Operator(ValueScale2dDesc, like_first, value_scale, check_value_scale),
    Operator(CastDesc, infer_cast, cast),
)
