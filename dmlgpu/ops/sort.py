"""DML_OPERATOR_TOP_K and DML_OPERATOR_TOP_K1: the first elements of every line, in order.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_top_k_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_top_k1_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.enumerations import AxisDirection
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.views import replaced
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_axis, check_sizes, require
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.sort import Sort


class TopKDesc(Description):
    """DML_TOP_K_OPERATOR_DESC: the largest elements of every line, the largest first.

    Fields:
        output_value_tensor (tensor): the elements.
        output_index_tensor (tensor): where in its line each of them is.
        axis (UINT): the dimension along which the lines lie.
        k (UINT): how many elements of each line are wanted.

    Rules:
        - `k` is at least 1 and at most the input's size along `axis`; with all of it, lines are
          sorted.
        - The outputs have the input's sizes, but `k` along `axis`.
        - Of equal elements the one with the lower index comes first. -0.0 and 0.0 are equal, and
          every NaN is above infinity and equal to every other.

    Example:
        >>> x = [[13, 34, 22, 41], [25, 17, 44, 31]]
        >>> for made in dml.top_k(x, axis=1, k=2):
        ...     print(made.numpy())
        [[41 34]
         [44 31]]
        [[3 1]
         [2 3]]
    """

    input_tensor: TensorDesc
    output_value_tensor: Output
    output_index_tensor: Output
    axis: int
    k: int


class TopK1Desc(TopKDesc):
    """DML_TOP_K1_OPERATOR_DESC: the largest elements of every line, or the smallest, in order.

    Fields:
        axis_direction (DML_AXIS_DIRECTION): DECREASING, the largest elements and the largest first,
            or INCREASING, the smallest and the smallest first.

    Example:
        >>> x = [[13, 34, 22, 41], [25, 17, 44, 31]]
        >>> up = dml.AxisDirection.INCREASING
        >>> for made in dml.top_k1(x, axis=1, k=4, axis_direction=up):
        ...     print(made.numpy())
        [[13 22 34 41]
         [17 25 31 44]]
        [[0 2 1 3]
         [1 0 3 2]]
    """

    axis_direction: AxisDirection = AxisDirection.DECREASING


def check(d: TopKDesc) -> None:
    """The rules that the catalogue does not say."""
    name, sizes = entry_of(type(d)).name, d.input_tensor.sizes
    check_axis(name, d.axis, d.input_tensor.rank)
    if not 1 <= d.k <= sizes[d.axis]:
        raise InvalidDescError(
            f"{name}: k is {d.k}; input_tensor has size {sizes[d.axis]} along axis {d.axis}, and k "
            f"must be in [1, {sizes[d.axis]}]"
        )
    for field, tensor in d.outputs().items():
        check_sizes(name, field, tensor, replaced(sizes, d.axis, d.k))


def infer(given: Given) -> dict[str, TensorDesc]:
    """The input's sizes with `k` along the axis, and 32-bit indices."""
    require(given, "axis", "k")
    if given.k < 1:
        raise InvalidDescError(f"{given.operator}: k is {given.k}; it must be at least 1")
    source: TensorDesc = given.input_tensor
    sizes = replaced(source.sizes, min(given.axis, source.rank - 1), given.k)
    return {
        "output_value_tensor": TensorDesc(source.data_type, sizes),
        "output_index_tensor": TensorDesc(DataType.UINT32, sizes),
    }


def work(d: TopKDesc) -> Sort:
    """The order of each line, as far as it is wanted."""
    descending = not isinstance(d, TopK1Desc) or d.axis_direction is AxisDirection.DECREASING
    return Sort(d.input_tensor, d.output_value_tensor, d.output_index_tensor, d.axis, descending)


OPERATORS: tuple[Operator[Any], ...] = tuple(
    Operator(desc, infer, work, check) for desc in (TopKDesc, TopK1Desc)
)
