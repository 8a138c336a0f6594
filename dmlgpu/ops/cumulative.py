"""DML_OPERATOR_CUMULATIVE_SUMMATION and DML_OPERATOR_CUMULATIVE_PRODUCT: scans along one axis.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_cumulative_summation_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_cumulative_product_operator_desc
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.enumerations import AxisDirection
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.ops.elements import like_first
from dmlgpu.ops.rules import check_axis
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.scan import AxisScan

__all__ = ["CumulativeProductDesc", "CumulativeSummationDesc"]


class Cumulative(Description):
    """A scan along one axis.

    Fields:
        output_tensor (tensor): what is written; may be the input itself.
        axis (UINT): the dimension to walk along.
        axis_direction (DML_AXIS_DIRECTION): INCREASING or DECREASING.

    Rules:
        - Both tensors have the same data type, rank and sizes.
        - `axis` is below the rank.
        - Integers wrap at their width. FLOAT16 is accumulated in FLOAT32 and rounded once.
        - In place, the two tensors are the same bytes with the same strides.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    axis: int
    axis_direction: AxisDirection = AxisDirection.INCREASING


class CumulativeSummationDesc(Cumulative):
    """DML_CUMULATIVE_SUMMATION_OPERATOR_DESC: running sums along one axis.

        out[k] = in[0] + ... + in[k]              inclusive
        out[k] = in[0] + ... + in[k - 1]          exclusive; the first element is 0

    with k along `axis`, counted from the far end where `axis_direction` is DECREASING.

    Fields:
        has_exclusive_sum (BOOL): whether an element is left out of its own sum.
    """

    has_exclusive_sum: bool = False


class CumulativeProductDesc(Cumulative):
    """DML_CUMULATIVE_PRODUCT_OPERATOR_DESC: running products along one axis.

        out[k] = in[0] * ... * in[k]              inclusive
        out[k] = in[0] * ... * in[k - 1]          exclusive; the first element is 1

    with k along `axis`, counted from the far end where `axis_direction` is DECREASING.

    Fields:
        has_exclusive_product (BOOL): whether an element is left out of its own product.
    """

    has_exclusive_product: bool = False


def check(d: Cumulative) -> None:
    """The rule that the catalogue does not say."""
    check_axis(entry_of(type(d)).name, d.axis, d.input_tensor.rank)


def work(fold: str, flag: str, d: Cumulative) -> AxisScan:
    """The scan of every line along the axis; DECREASING walks from the other end."""
    return AxisScan(
        fold=fold,
        source=d.input_tensor,
        output=d.output_tensor,
        axis=d.axis,
        backward=d.axis_direction is AxisDirection.DECREASING,
        exclusive=bool(getattr(d, flag)),
    )


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(
        CumulativeProductDesc, like_first, partial(work, "product", "has_exclusive_product"), check
    ),
    Operator(CumulativeSummationDesc, like_first, partial(work, "sum", "has_exclusive_sum"), check),
)
