"""DML_OPERATOR_ELEMENT_WISE_*: functions of one tensor's elements.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_identity_operator_desc
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dmlgpu.desc.description import Description, Output, Scalar
from dmlgpu.desc.enumerations import RoundingMode, ScaleBias
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.ops.elements import Row, like_first, records, row, work
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Work
from dmlgpu.plan.values import Parameter, converted

POWER = 124.9  # log2 of a power, or of its inverse, that is far from the ends of the range
NORMAL = -126, 127.99  # log2 of the least and of about the greatest normal number


class Unary(Description):
    """A function of each element.

    Fields:
        scale_bias (DML_SCALE_BIAS): each element is multiplied by the scale and the bias is added,
            before the function.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    scale_bias: ScaleBias | None = None


class Plain(Description):
    """A function of each element, without scale and bias."""

    input_tensor: TensorDesc
    output_tensor: Output


class ElementWiseClipDesc(Unary):
    """DML_ELEMENT_WISE_CLIP_OPERATOR_DESC: max(min, min(x, max)).

    A bound that the tensors' data type cannot hold becomes the nearest one that it can.

    Fields:
        min (FLOAT): the least result.
        max (FLOAT): the greatest result.
    """

    min: float
    max: float


class ElementWiseClip1Desc(Unary):
    """DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC: as CLIP, with bounds of the tensors' own type.

    Fields:
        min_max_data_type (DML_TENSOR_DATA_TYPE): the data type of min and max: the tensors' own.
        min (DML_SCALAR_UNION): the least result.
        max (DML_SCALAR_UNION): the greatest result.
    """

    min_max_data_type: DataType
    min: Scalar
    max: Scalar


class ElementWiseConstantPowDesc(Unary):
    """DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC: x to the power of one exponent for all.

    Fields:
        exponent (FLOAT): the power.
    """

    exponent: float


class ElementWiseThresholdDesc(Unary):
    """DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC: max(x, min).

    Fields:
        min (FLOAT): the least result.
    """

    min: float


class ElementWiseRoundDesc(Plain):
    """DML_ELEMENT_WISE_ROUND_OPERATOR_DESC: the nearest integer.

    HALVES_TO_NEAREST_EVEN takes the even one of two that are as near, TOWARD_INFINITY the one that
    is farther from zero; TOWARD_ZERO drops the fraction.

    Fields:
        rounding_mode (DML_ROUNDING_MODE): where a value between two integers goes.
    """

    rounding_mode: RoundingMode = RoundingMode.HALVES_TO_NEAREST_EVEN


def check_clip1(d: ElementWiseClip1Desc) -> None:
    """The bounds have the tensors' type."""
    if d.min_max_data_type != d.output_tensor.data_type:
        raise InvalidDescError(
            f"ELEMENT_WISE_CLIP1: min_max_data_type is {d.min_max_data_type.name}; output_tensor "
            f"is {d.output_tensor.data_type.name}, and the two must be equal"
        )


def infer_clip1(given: Given) -> dict[str, TensorDesc]:
    """The input's; so is the type of the bounds, where it is not said."""
    if given.min_max_data_type is None:
        given.min_max_data_type = given.input_tensor.data_type
    return like_first(given)


def rounding(d: ElementWiseRoundDesc) -> str:
    """The function of a rounding mode."""
    names = ("math_round_even(x)", "math_trunc(x)", "math_round_away(x)")
    return names[d.rounding_mode]


def power(d: ElementWiseConstantPowDesc) -> str:
    """Common exponents have results that are right to the last bit.

    Powers of whole numbers are those of magnitudes, but for the sign; of others, negative bases
    have none, and hardly any is given.
    """
    root = "select(math_sqrt(x), abs(x), x == 0.0 || math_is_inf(x))"  # of -0 and of -infinity
    exact = {2.0: "f32_mul(x, x)", 0.5: root, -1.0: "math_recip(x)", 1.0: "x"}
    exponent = float(converted(d.exponent, DataType.FLOAT32))
    if not math.isfinite(exponent):
        return "math_pow(x, p_exponent)"
    text = "math_pow_positive(x, p_exponent, p_least, p_range)"
    if exponent.is_integer():
        text = text.replace("x", "f32_abs(x)", 1)
        text = f"math_copysign({text}, x)" if exponent % 2 else text
    return exact.get(d.exponent, text)


def bounds(d: ElementWiseConstantPowDesc) -> tuple[Parameter, ...]:
    """Bits of the least base whose power is easily reckoned, and how many more have such a power.

    It is a normal number, and so is its power.
    """
    exponent = abs(float(converted(d.exponent, DataType.FLOAT32)))
    most = POWER / exponent if exponent > 0 else math.inf
    ends = np.exp2(np.clip([-most, most], *NORMAL)).astype(np.float32)
    least, last = ends.view(np.uint32).tolist()
    return (
        Parameter("p_least", DataType.UINT32, least),
        Parameter("p_range", DataType.UINT32, last - least),
    )


def check_identity(d: Unary) -> None:
    """FLOAT64 is copied, not calculated with."""
    if d.scale_bias is not None and d.input_tensor.data_type is DataType.FLOAT64:
        raise UnsupportedError(
            f"ELEMENT_WISE_IDENTITY: scale_bias is {d.scale_bias} and input_tensor is FLOAT64, a "
            "storage type that is not calculated with; cast it to FLOAT32 first"
        )


def identity(d: Unary) -> Work:
    """Without scale and bias a copy of bits; with them arithmetic."""
    if d.scale_bias is not None:
        return work(IDENTITY, False, d)
    return Move.between(d.input_tensor, d.output_tensor)


unary = partial(row, Unary, "ELEMENT_WISE_")
plain = partial(row, Plain, "ELEMENT_WISE_")
IDENTITY = unary("IDENTITY", "a copy, x; from one layout to another too.", "x")
CLIP = "T_max(p_min, T_min(x, p_max))"
OPERATORS: tuple[Operator[Any], ...] = (
    Operator(IDENTITY.desc, like_first, identity, check_identity),
    *records(
        (
            unary("ABS", "|x|; the least integer stays as it is.", "T_abs(x)"),
            unary("ACOS", "the inverse cosine; NaN outside [-1, 1].", "math_acos(x)"),
            unary("ASIN", "the inverse sine; NaN outside [-1, 1].", "math_asin(x)"),
            unary("ATAN", "the inverse tangent.", "math_atan(x)"),
            unary("CEIL", "the least integer that is not below x.", "math_ceil(x)"),
            unary("FLOOR", "the greatest integer that is not above x.", "math_floor(x)"),
            unary("COS", "the cosine of radians.", "math_cos(x)"),
            unary("SIN", "the sine of radians.", "math_sin(x)"),
            unary("TAN", "the tangent of radians.", "math_tan(x)"),
            unary("EXP", "e to the power of x.", "math_exp(x)"),
            unary("LOG", "the natural logarithm; NaN below 0.", "math_log(x)"),
            Row(ElementWiseConstantPowDesc, power, derived=bounds),
            unary("RECIP", "1 / x.", "math_recip(x)"),
            unary("SQRT", "the square root; NaN below 0.", "math_sqrt(x)"),
            plain("SIGN", "-1, 0 or 1; NaN and zeros of either sign give 0.", "T_sign(x)"),
            unary("ERF", "the error function.", "math_erf(x)"),
            unary("SINH", "the hyperbolic sine.", "math_sinh(x)"),
            unary("COSH", "the hyperbolic cosine.", "math_cosh(x)"),
            unary("TANH", "the hyperbolic tangent.", "math_tanh(x)"),
            unary("ASINH", "the inverse hyperbolic sine.", "math_asinh(x)"),
            unary("ACOSH", "the inverse hyperbolic cosine; NaN below 1.", "math_acosh(x)"),
            unary("ATANH", "the inverse hyperbolic tangent; NaN outside [-1, 1].", "math_atanh(x)"),
            Row(ElementWiseRoundDesc, rounding),
            plain("NEGATE", "-x; the least integer stays as it is.", "T_neg(x)"),
        )
    ),
    *records(
        (
            Row(ElementWiseClipDesc, CLIP),
            Row(ElementWiseClip1Desc, CLIP, check=check_clip1, infer=infer_clip1),
            Row(ElementWiseThresholdDesc, "T_max(x, p_min)"),
        ),
        attributes_as_tensor=True,
    ),
)
