"""DML_OPERATOR_ELEMENT_WISE_LOGICAL_*, IS_NAN and IS_INFINITY: results that are 0 or 1.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_logical_equals_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.enumerations import IsInfinityMode
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.ops.elements import Row, records, truth_like_first
from dmlgpu.plan.operator import Operator


class Comparison(Description):
    """Two elements compared.

    Fields:
        a_tensor (tensor): the left operand.
        b_tensor (tensor): the right operand, of the same sizes; strides of 0 broadcast.
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
    """

    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: Output


class ElementWiseLogicalAndDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC: whether both are not zero."""


class ElementWiseLogicalOrDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC: whether one of them is not zero."""


class ElementWiseLogicalXorDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC: whether just one of them is not zero."""


class ElementWiseLogicalNotDesc(Description):
    """DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC: whether an element is zero.

    Fields:
        input_tensor (tensor): what is looked at.
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
    """

    input_tensor: TensorDesc
    output_tensor: Output


class ElementWiseLogicalEqualsDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC: a == b; NaN equals nothing."""


class ElementWiseLogicalGreaterThanDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC: a > b."""


class ElementWiseLogicalLessThanDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC: a < b."""


class ElementWiseLogicalGreaterThanOrEqualDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC: a >= b."""


class ElementWiseLogicalLessThanOrEqualDesc(Comparison):
    """DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC: a <= b."""


class ElementWiseIsNanDesc(Description):
    """DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC: whether an element is not a number.

    Fields:
        input_tensor (tensor): what is looked at.
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
    """

    input_tensor: TensorDesc
    output_tensor: Output


class ElementWiseIsInfinityDesc(Description):
    """DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC: whether an element is infinite.

    Fields:
        input_tensor (tensor): what is looked at.
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
        infinity_mode (DML_IS_INFINITY_MODE): EITHER infinity, or the POSITIVE or NEGATIVE one.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    infinity_mode: IsInfinityMode = IsInfinityMode.EITHER


def infinity(d: ElementWiseIsInfinityDesc) -> str:
    """The test of a mode, on bits: drivers may take comparisons with infinities away."""
    signs = ("", " && !math_signbit(x)", " && math_signbit(x)")
    return f"select(0u, 1u, math_is_inf(x){signs[d.infinity_mode]})"


def _truth(condition: str) -> str:
    return f"select(0u, 1u, {condition})"


OPERATORS: tuple[Operator[Any], ...] = records(
    (
        Row(ElementWiseLogicalAndDesc, _truth("a != 0u && b != 0u")),
        Row(ElementWiseLogicalOrDesc, _truth("a != 0u || b != 0u")),
        Row(ElementWiseLogicalXorDesc, _truth("(a != 0u) != (b != 0u)")),
        Row(ElementWiseLogicalNotDesc, _truth("x == 0u")),
        Row(ElementWiseLogicalEqualsDesc, _truth("T_eq(a, b)"), infer=truth_like_first),
        Row(ElementWiseLogicalGreaterThanDesc, _truth("T_lt(b, a)"), infer=truth_like_first),
        Row(ElementWiseLogicalLessThanDesc, _truth("T_lt(a, b)"), infer=truth_like_first),
        Row(ElementWiseLogicalGreaterThanOrEqualDesc, _truth("T_le(b, a)"), infer=truth_like_first),
        Row(ElementWiseLogicalLessThanOrEqualDesc, _truth("T_le(a, b)"), infer=truth_like_first),
        Row(ElementWiseIsNanDesc, _truth("math_is_nan(x)"), infer=truth_like_first),
        Row(ElementWiseIsInfinityDesc, infinity, infer=truth_like_first),
    )
)
