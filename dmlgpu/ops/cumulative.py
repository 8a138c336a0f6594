"""DML_OPERATOR_CUMULATIVE_SUMMATION and DML_OPERATOR_CUMULATIVE_PRODUCT: scans along one axis.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_cumulative_summation_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_cumulative_product_operator_desc
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from dmlgpu.desc.levels import RANK_1_8, RANK_4, Allowed, FeatureLevel
from dmlgpu.desc.tensor import UINT32_MAX, DataType, TensorDesc, integer, member
from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.plan.lines import Scan
from dmlgpu.plan.operator import Adapter, Operator, Plan, rank_of, same_type
from dmlgpu.plan.scan import plan_scan

__all__ = ["AxisDirection", "CumulativeProductDesc", "CumulativeSummationDesc"]

# UINT16 comes from the older text of both pages, INT32 from the newer one: both are accepted.
FIVE = frozenset(
    {DataType.FLOAT32, DataType.FLOAT16, DataType.INT32, DataType.UINT32, DataType.UINT16}
)
SEVEN = FIVE | {DataType.INT64, DataType.UINT64}

SUMMATION_SUPPORT = {
    level: {name: Allowed(ranks, types) for name in ("input_tensor", "output_tensor")}
    for level, ranks, types in (
        (FeatureLevel.FL_2_1, RANK_4, FIVE),
        (FeatureLevel.FL_4_0, RANK_1_8, FIVE),
        (FeatureLevel.FL_5_0, RANK_1_8, SEVEN),
    )
}
PRODUCT_SUPPORT = {
    FeatureLevel.FL_3_1: SUMMATION_SUPPORT[FeatureLevel.FL_2_1],
    FeatureLevel.FL_4_0: SUMMATION_SUPPORT[FeatureLevel.FL_4_0],
    FeatureLevel.FL_5_0: SUMMATION_SUPPORT[FeatureLevel.FL_5_0],
}


class AxisDirection(IntEnum):
    """DML_AXIS_DIRECTION."""

    INCREASING = 0
    DECREASING = 1


@dataclass(frozen=True, kw_only=True)
class CumulativeSummationDesc:
    """DML_CUMULATIVE_SUMMATION_OPERATOR_DESC: running sums along one axis.

        out[k] = in[0] + ... + in[k]              inclusive
        out[k] = in[0] + ... + in[k - 1]          exclusive; the first element is 0

    with k along `axis`, counted from the far end where `axis_direction` is DECREASING.

    Fields:
        input_tensor (tensor): what is read.
        output_tensor (tensor): what is written; may be the input itself.
        axis (UINT): the dimension to walk along.
        axis_direction (DML_AXIS_DIRECTION): INCREASING or DECREASING.
        has_exclusive_sum (BOOL): whether an element is left out of its own sum.

    Rules:
        - Both tensors have the same data type, rank and sizes.
        - `axis` is below the rank.
        - Integers wrap at their width. FLOAT16 is accumulated in FLOAT32 and rounded once.
        - In place, the two tensors are the same bytes with the same strides.
    """

    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    axis_direction: AxisDirection = AxisDirection.INCREASING
    has_exclusive_sum: bool = False

    def __post_init__(self) -> None:
        _to_fields("CUMULATIVE_SUMMATION", self, "has_exclusive_sum")


@dataclass(frozen=True, kw_only=True)
class CumulativeProductDesc:
    """DML_CUMULATIVE_PRODUCT_OPERATOR_DESC: running products along one axis.

        out[k] = in[0] * ... * in[k]              inclusive
        out[k] = in[0] * ... * in[k - 1]          exclusive; the first element is 1

    with k along `axis`, counted from the far end where `axis_direction` is DECREASING.

    Fields:
        input_tensor (tensor): what is read.
        output_tensor (tensor): what is written; may be the input itself.
        axis (UINT): the dimension to walk along.
        axis_direction (DML_AXIS_DIRECTION): INCREASING or DECREASING.
        has_exclusive_product (BOOL): whether an element is left out of its own product.

    Rules:
        - Both tensors have the same data type, rank and sizes.
        - `axis` is below the rank.
        - Integers wrap at their width. FLOAT16 is accumulated in FLOAT32 and rounded once.
        - In place, the two tensors are the same bytes with the same strides.
    """

    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    axis_direction: AxisDirection = AxisDirection.INCREASING
    has_exclusive_product: bool = False

    def __post_init__(self) -> None:
        _to_fields("CUMULATIVE_PRODUCT", self, "has_exclusive_product")


AnyDesc = CumulativeSummationDesc | CumulativeProductDesc


def _to_fields(operator: str, desc: AnyDesc, flag: str) -> None:
    put: Any = partial(object.__setattr__, desc)
    put("axis", integer(f"{operator}: axis", desc.axis, 0, UINT32_MAX))
    name = f"{operator}: axis_direction"
    put("axis_direction", member(name, AxisDirection, desc.axis_direction))
    value = getattr(desc, flag)
    if not isinstance(value, (int, np.bool_)):
        raise InvalidDescError(f"{operator}: {flag} is {shown(value)}; it must be True or False")
    put(flag, bool(value))


def check(operator: str, d: AnyDesc) -> None:
    """The rules that the table does not say."""
    same_type(operator, d)
    rank = rank_of(operator, d, ("input_tensor", "output_tensor"))
    if d.output_tensor.sizes != d.input_tensor.sizes:
        raise InvalidDescError(
            f"{operator}: output_tensor has sizes {d.output_tensor.sizes}; input_tensor has "
            f"{d.input_tensor.sizes}, and the two must be equal"
        )
    if d.axis >= rank:
        raise InvalidDescError(
            f"{operator}: axis is {d.axis}; with tensors of {rank} dimensions it must be in "
            f"[0, {rank})"
        )


def plan(fold: str, flag: str, d: AnyDesc, adapter: Adapter) -> Plan:
    """The scan of every line along the axis; DECREASING walks from the other end."""
    source, output = d.input_tensor, d.output_tensor
    scan = Scan.of(
        fold=fold,
        data_type=source.data_type,
        sizes=source.sizes,
        in_strides=source.effective_strides,
        out_strides=output.effective_strides,
        axis=d.axis,
        backward=d.axis_direction is AxisDirection.DECREASING,
        exclusive=bool(getattr(d, flag)),
    )
    largest = max(source.total_tensor_size_in_bytes, output.total_tensor_size_in_bytes)
    return plan_scan(scan, adapter, largest)


CUMULATIVE_SUMMATION = Operator(
    "CUMULATIVE_SUMMATION",
    105,
    CumulativeSummationDesc,
    SUMMATION_SUPPORT,
    partial(check, "CUMULATIVE_SUMMATION"),
    partial(plan, "sum", "has_exclusive_sum"),
    in_place=True,
)
CUMULATIVE_PRODUCT = Operator(
    "CUMULATIVE_PRODUCT",
    145,
    CumulativeProductDesc,
    PRODUCT_SUPPORT,
    partial(check, "CUMULATIVE_PRODUCT"),
    partial(plan, "product", "has_exclusive_product"),
    in_place=True,
)
OPERATORS: tuple[Operator[Any], ...] = (CUMULATIVE_PRODUCT, CUMULATIVE_SUMMATION)
