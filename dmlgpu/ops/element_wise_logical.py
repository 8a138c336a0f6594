"""DML_OPERATOR_ELEMENT_WISE_LOGICAL_*, IS_NAN and IS_INFINITY: results that are 0 or 1.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_element_wise_logical_equals_operator_desc
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.enumerations import IsInfinityMode
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.ops.element_wise_binary import Binary
from dmlgpu.ops.elements import Row, records, row, truth_like_first
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.values import truth


class Comparison(Binary):
    """Two elements compared.

    Fields:
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
    """


class Test(Description):
    """A question to each element.

    Fields:
        input_tensor (tensor): what is looked at.
        output_tensor (tensor): what is written: 1 where it is so, 0 elsewhere.
    """

    input_tensor: TensorDesc
    output_tensor: Output


class ElementWiseIsInfinityDesc(Test):
    """DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC: whether an element is infinite.

    Fields:
        infinity_mode (DML_IS_INFINITY_MODE): EITHER infinity, or the POSITIVE or NEGATIVE one.
    """

    infinity_mode: IsInfinityMode = IsInfinityMode.EITHER


def infinity(d: ElementWiseIsInfinityDesc) -> str:
    """The test of a mode, on bits: drivers may take comparisons with infinities away."""
    signs = ("", " && !math_signbit(x)", " && math_signbit(x)")
    return truth(f"math_is_inf(x){signs[d.infinity_mode]}")


compared = partial(row, Comparison, "ELEMENT_WISE_LOGICAL_")
tested = partial(row, Test, "ELEMENT_WISE_")
OPERATORS: tuple[Operator[Any], ...] = records(
    (
        compared("AND", "whether both are not zero.", truth("a != 0u && b != 0u")),
        compared("OR", "whether one of them is not zero.", truth("a != 0u || b != 0u")),
        compared("XOR", "whether just one of them is not zero.", truth("(a != 0u) != (b != 0u)")),
        tested("LOGICAL_NOT", "whether an element is zero.", truth("x == 0u")),
        compared(
            "EQUALS", "a == b; NaN equals nothing.", truth("T_eq(a, b)"), infer=truth_like_first
        ),
        compared("GREATER_THAN", "a > b.", truth("T_lt(b, a)"), infer=truth_like_first),
        compared("LESS_THAN", "a < b.", truth("T_lt(a, b)"), infer=truth_like_first),
        compared("GREATER_THAN_OR_EQUAL", "a >= b.", truth("T_le(b, a)"), infer=truth_like_first),
        compared("LESS_THAN_OR_EQUAL", "a <= b.", truth("T_le(a, b)"), infer=truth_like_first),
        tested(
            "IS_NAN",
            "whether an element is not a number.",
            truth("math_is_nan(x)"),
            infer=truth_like_first,
        ),
        Row(ElementWiseIsInfinityDesc, infinity, infer=truth_like_first),
    )
)
