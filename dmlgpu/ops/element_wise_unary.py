"""DML_OPERATOR_ELEMENT_WISE_*: functions of one tensor's elements.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_identity_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output, Scalar
from dmlgpu.desc.enumerations import RoundingMode, ScaleBias
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.ops.elements import Row, like_first, records, work
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Work
from dmlgpu.plan.values import converted


class Unary(Description):
    """A function of each element.

    Fields:
        input_tensor (tensor): what is read.
        output_tensor (tensor): what is written.
        scale_bias (DML_SCALE_BIAS): each element is multiplied by the scale and the bias is added,
            before the function.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    scale_bias: ScaleBias | None = None


class Plain(Description):
    """A function of each element, without scale and bias.

    Fields:
        input_tensor (tensor): what is read.
        output_tensor (tensor): what is written.
    """

    input_tensor: TensorDesc
    output_tensor: Output


class ElementWiseIdentityDesc(Unary):
    """DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC: a copy, x; from one layout to another too."""


class ElementWiseAbsDesc(Unary):
    """DML_ELEMENT_WISE_ABS_OPERATOR_DESC: |x|; the least integer stays as it is."""


class ElementWiseAcosDesc(Unary):
    """DML_ELEMENT_WISE_ACOS_OPERATOR_DESC: the inverse cosine; NaN outside [-1, 1]."""


class ElementWiseAsinDesc(Unary):
    """DML_ELEMENT_WISE_ASIN_OPERATOR_DESC: the inverse sine; NaN outside [-1, 1]."""


class ElementWiseAtanDesc(Unary):
    """DML_ELEMENT_WISE_ATAN_OPERATOR_DESC: the inverse tangent."""


class ElementWiseCeilDesc(Unary):
    """DML_ELEMENT_WISE_CEIL_OPERATOR_DESC: the least integer that is not below x."""


class ElementWiseFloorDesc(Unary):
    """DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC: the greatest integer that is not above x."""


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


class ElementWiseCosDesc(Unary):
    """DML_ELEMENT_WISE_COS_OPERATOR_DESC: the cosine of radians."""


class ElementWiseSinDesc(Unary):
    """DML_ELEMENT_WISE_SIN_OPERATOR_DESC: the sine of radians."""


class ElementWiseTanDesc(Unary):
    """DML_ELEMENT_WISE_TAN_OPERATOR_DESC: the tangent of radians."""


class ElementWiseExpDesc(Unary):
    """DML_ELEMENT_WISE_EXP_OPERATOR_DESC: e to the power of x."""


class ElementWiseLogDesc(Unary):
    """DML_ELEMENT_WISE_LOG_OPERATOR_DESC: the natural logarithm; NaN below 0."""


class ElementWiseConstantPowDesc(Unary):
    """DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC: x to the power of one exponent for all.

    Fields:
        exponent (FLOAT): the power.
    """

    exponent: float


class ElementWiseRecipDesc(Unary):
    """DML_ELEMENT_WISE_RECIP_OPERATOR_DESC: 1 / x."""


class ElementWiseSqrtDesc(Unary):
    """DML_ELEMENT_WISE_SQRT_OPERATOR_DESC: the square root; NaN below 0."""


class ElementWiseThresholdDesc(Unary):
    """DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC: max(x, min).

    Fields:
        min (FLOAT): the least result.
    """

    min: float


class ElementWiseSignDesc(Plain):
    """DML_ELEMENT_WISE_SIGN_OPERATOR_DESC: -1, 0 or 1; NaN and zeros of either sign give 0."""


class ElementWiseErfDesc(Unary):
    """DML_ELEMENT_WISE_ERF_OPERATOR_DESC: the error function."""


class ElementWiseSinhDesc(Unary):
    """DML_ELEMENT_WISE_SINH_OPERATOR_DESC: the hyperbolic sine."""


class ElementWiseCoshDesc(Unary):
    """DML_ELEMENT_WISE_COSH_OPERATOR_DESC: the hyperbolic cosine."""


class ElementWiseTanhDesc(Unary):
    """DML_ELEMENT_WISE_TANH_OPERATOR_DESC: the hyperbolic tangent."""


class ElementWiseAsinhDesc(Unary):
    """DML_ELEMENT_WISE_ASINH_OPERATOR_DESC: the inverse hyperbolic sine."""


class ElementWiseAcoshDesc(Unary):
    """DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC: the inverse hyperbolic cosine; NaN below 1."""


class ElementWiseAtanhDesc(Unary):
    """DML_ELEMENT_WISE_ATANH_OPERATOR_DESC: the inverse hyperbolic tangent; NaN outside [-1, 1]."""


class ElementWiseRoundDesc(Plain):
    """DML_ELEMENT_WISE_ROUND_OPERATOR_DESC: the nearest integer.

    HALVES_TO_NEAREST_EVEN takes the even one of two that are as near, TOWARD_INFINITY the one that
    is farther from zero; TOWARD_ZERO drops the fraction.

    Fields:
        rounding_mode (DML_ROUNDING_MODE): where a value between two integers goes.
    """

    rounding_mode: RoundingMode = RoundingMode.HALVES_TO_NEAREST_EVEN


class ElementWiseNegateDesc(Plain):
    """DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC: -x; the least integer stays as it is."""


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
    exact = {2.0: "f32_mul(x, x)", 0.5: "math_sqrt(x)", -1.0: "math_recip(x)", 1.0: "x"}
    exponent = float(converted(d.exponent, DataType.FLOAT32))
    text = "math_pow_positive(x, p_exponent)"
    if exponent.is_integer():
        text = "math_pow_positive(f32_abs(x), p_exponent)"
        text = f"math_copysign({text}, x)" if exponent % 2 else text
    return exact.get(d.exponent, text)


def check_identity(d: ElementWiseIdentityDesc) -> None:
    """FLOAT64 is copied, not calculated with."""
    if d.scale_bias is not None and d.input_tensor.data_type is DataType.FLOAT64:
        raise UnsupportedError(
            f"ELEMENT_WISE_IDENTITY: scale_bias is {d.scale_bias} and input_tensor is FLOAT64, a "
            "storage type that is not calculated with; cast it to FLOAT32 first"
        )


def identity(d: ElementWiseIdentityDesc) -> Work:
    """Without scale and bias a copy of bits; with them arithmetic."""
    if d.scale_bias is not None:
        return work(Row(ElementWiseIdentityDesc, "x"), False, d)
    return Move.between(d.input_tensor, d.output_tensor)


CLIP = "T_max(p_min, T_min(x, p_max))"
OPERATORS: tuple[Operator[Any], ...] = (
    Operator(ElementWiseIdentityDesc, like_first, identity, check_identity),
    *records(
        (
            Row(ElementWiseAbsDesc, "T_abs(x)"),
            Row(ElementWiseAcosDesc, "math_acos(x)"),
            Row(ElementWiseAsinDesc, "math_asin(x)"),
            Row(ElementWiseAtanDesc, "math_atan(x)"),
            Row(ElementWiseCeilDesc, "math_ceil(x)"),
            Row(ElementWiseFloorDesc, "math_floor(x)"),
            Row(ElementWiseCosDesc, "math_cos(x)"),
            Row(ElementWiseSinDesc, "math_sin(x)"),
            Row(ElementWiseTanDesc, "math_tan(x)"),
            Row(ElementWiseExpDesc, "math_exp(x)"),
            Row(ElementWiseLogDesc, "math_log(x)"),
            Row(ElementWiseConstantPowDesc, power),
            Row(ElementWiseRecipDesc, "math_recip(x)"),
            Row(ElementWiseSqrtDesc, "math_sqrt(x)"),
            Row(ElementWiseSignDesc, "T_sign(x)"),
            Row(ElementWiseErfDesc, "math_erf(x)"),
            Row(ElementWiseSinhDesc, "math_sinh(x)"),
            Row(ElementWiseCoshDesc, "math_cosh(x)"),
            Row(ElementWiseTanhDesc, "math_tanh(x)"),
            Row(ElementWiseAsinhDesc, "math_asinh(x)"),
            Row(ElementWiseAcoshDesc, "math_acosh(x)"),
            Row(ElementWiseAtanhDesc, "math_atanh(x)"),
            Row(ElementWiseRoundDesc, rounding),
            Row(ElementWiseNegateDesc, "T_neg(x)"),
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
