"""DML_OPERATOR_ELEMENT_WISE_*: functions of two tensors' elements at the same place.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_add_operator_desc
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.enumerations import ScaleBias
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import UnsupportedError
from dmlgpu.ops.activation import check_fused_level, fused
from dmlgpu.ops.elements import Row, like_first, records, row, saturated
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.values import Expression, Operand, class_of


class Binary(Description):
    """A function of two elements.

    Fields:
        a_tensor (tensor): the left operand.
        b_tensor (tensor): the right operand, of the same sizes; strides of 0 broadcast.
    """

    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: Output


class ElementWisePowDesc(Description):
    """DML_ELEMENT_WISE_POW_OPERATOR_DESC: input to the power of exponent.

    Integers to integer powers are exact and wrap; to negative ones, all but 1 and -1 give 0.

    Fields:
        input_tensor (tensor): the base.
        exponent_tensor (tensor): the exponents, of the same sizes.
        scale_bias (DML_SCALE_BIAS): the base is multiplied by the scale and the bias is added,
            before the function.
    """

    input_tensor: TensorDesc
    exponent_tensor: TensorDesc
    output_tensor: Output
    scale_bias: ScaleBias | None = None


class ElementWiseAdd1Desc(Binary):
    """DML_ELEMENT_WISE_ADD1_OPERATOR_DESC: an activation of a + b.

    Fields:
        fused_activation (DML_OPERATOR_DESC): the activation, a description without tensors; None
            for the sum itself.
    """

    fused_activation: Description | None = None


def power(d: ElementWisePowDesc) -> str:
    """Between integers by squaring, else as FLOAT32, saturated to an integer base's type."""
    base, exponent = (class_of(t.data_type) for t in (d.input_tensor, d.exponent_tensor))
    if base != "f32" and exponent != "f32":
        bits = "bitcast<u32>(x)"
        minus_one = "0xffffffffu" if base == "i32" else "1u"
        power = f"math_ipow({bits}, e)"
        if exponent == "i32":
            power = f"math_ipow_signed({bits}, e, {minus_one})"
        return f"{base}_from_u32({power})"
    if base == "f32" and exponent == "i32":
        return "math_pow_whole(x, u32(abs(e)), e < 0i)"
    if base == "f32" and exponent == "u32":
        return "math_pow_whole(x, e, false)"
    value = f"math_pow(f32_from_{base}(x), e)"
    if base == "f32":
        return value
    return saturated(d.output_tensor.data_type, f"math_near_whole({value})")


def check_power_level(d: ElementWisePowDesc, level: FeatureLevel) -> None:
    """The exponents' type may be another from FL_3_0 on."""
    base, exponent = d.input_tensor.data_type, d.exponent_tensor.data_type
    if base is not exponent and level < FeatureLevel.FL_3_0:
        raise UnsupportedError(
            f"ELEMENT_WISE_POW: exponent_tensor is {exponent.name} and input_tensor {base.name}; "
            f"different types are allowed from FL_3_0, and the level in force is {level.name}"
        )


def add1(d: ElementWiseAdd1Desc) -> ElementWise:
    """The sum, then the activation, in FLOAT32 and rounded once."""
    inputs = {
        n: Operand.of(f"{n}_tensor", t) for n, t in zip("ab", d.inputs().values(), strict=True)
    }
    text, parameters = fused("ELEMENT_WISE_ADD1", d.fused_activation)
    made = Operand.of("output_tensor", d.output_tensor)
    expression = Expression(text, "let x = f32_add(a, b);")
    return ElementWise(inputs, ((made, expression),), parameters)


def check_add1(d: ElementWiseAdd1Desc) -> None:
    """The activation is one that can be fused."""
    fused("ELEMENT_WISE_ADD1", d.fused_activation)


def check_add1_level(d: ElementWiseAdd1Desc, level: FeatureLevel) -> None:
    """The activation exists at the level too."""
    check_fused_level("ELEMENT_WISE_ADD1", d.fused_activation, d.output_tensor, level)


binary = partial(row, Binary, "ELEMENT_WISE_")
ROWS = (
    binary("ADD", "a + b; integers wrap.", "T_add(a, b)"),
    binary("SUBTRACT", "a - b; integers wrap.", "T_sub(a, b)"),
    binary("MULTIPLY", "a * b; integers wrap.", "T_mul(a, b)"),
    binary("DIVIDE", "a / b; integers truncate, and x / 0 is x.", "T_div(a, b)"),
    binary("MAX", "the larger one.", "T_max(a, b)"),
    binary("MIN", "the smaller one.", "T_min(a, b)"),
    binary(
        "MEAN",
        "(a + b) / 2; the sum of integers wraps first.",
        {"f32": "(a + b) * 0.5", "i32": "i32_div(a + b, 2i)", "u32": "(a + b) / 2u"},
    ),
    Row(ElementWisePowDesc, power, check_level=check_power_level),
    binary("MODULUS_TRUNCATE", "the remainder with the sign of a.", "T_rem(a, b)"),
    binary("MODULUS_FLOOR", "the remainder with the sign of b.", "T_mod(a, b)"),
    binary("ATAN_YX", "the angle of the point with y = a and x = b.", "math_atan2(a, b)"),
    binary("DIFFERENCE_SQUARE", "(a - b) squared.", "T_mul(T_sub(a, b), T_sub(a, b))"),
)
OPERATORS: tuple[Operator[Any], ...] = (
    *records(ROWS),
    Operator(ElementWiseAdd1Desc, like_first, add1, check_add1, check_level=check_add1_level),
)
