"""DML_OPERATOR_REDUCE, DML_OPERATOR_ARGMIN and DML_OPERATOR_ARGMAX: one value for each line.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_reduce_operator_desc
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.enumerations import AxisDirection, ReduceFunction
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_axes
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.reduce import Reduction
from dmlgpu.plan.reduce.accumulators import (
    Accumulator,
    average,
    extreme,
    log_sum_exp,
    place_of_extreme,
    product,
    total,
)

__all__ = ["ArgmaxDesc", "ArgminDesc", "ReduceDesc"]


class ReduceDesc(Description):
    """DML_REDUCE_OPERATOR_DESC: a function of all elements along some axes.

    Fields:
        function (DML_REDUCE_FUNCTION): SUM, MULTIPLY, MIN, MAX, AVERAGE, L1, L2, SUM_SQUARE,
            LOG_SUM, LOG_SUM_EXP, ARGMIN or ARGMAX.
        output_tensor (tensor): what is written: size 1 along the axes.
        axes (UINT[]): the dimensions that are reduced.

    Rules:
        - The output has the input's sizes, but 1 along the axes.
        - Axes are distinct, at least one.
        - Integers wrap. FLOAT16 is accumulated in FLOAT32 and rounded once.
        - ARGMIN and ARGMAX give the first index, counted row by row over the reduced axes.
    """

    function: ReduceFunction
    input_tensor: TensorDesc
    output_tensor: Output
    axes: tuple[int, ...]


class _Arg(Description):
    """The place of an extreme.

    Fields:
        output_tensor (tensor): what is written: size 1 along the axes.
        axes (UINT[]): the dimensions that are searched together.
        axis_direction (DML_AXIS_DIRECTION): the first of equal ones, or the last if DECREASING.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    axes: tuple[int, ...]
    axis_direction: AxisDirection = AxisDirection.INCREASING


class ArgminDesc(_Arg):
    """DML_ARGMIN_OPERATOR_DESC: where the smallest element is, along some axes."""


class ArgmaxDesc(_Arg):
    """DML_ARGMAX_OPERATOR_DESC: where the largest element is, along some axes."""


AnyDesc = ReduceDesc | ArgminDesc | ArgmaxDesc
INDEX = (ReduceFunction.ARGMIN, ReduceFunction.ARGMAX)


def check(d: AnyDesc) -> None:
    """The rules that the catalogue does not say."""
    name = entry_of(type(d)).name
    check_axes(name, d.axes, d.input_tensor.rank)
    wanted = _reduced(d.input_tensor.sizes, d.axes)
    if d.output_tensor.sizes != wanted:
        raise InvalidDescError(
            f"{name}: output_tensor has sizes {d.output_tensor.sizes}; the input's with 1 along "
            f"the axes are {wanted}"
        )
    if isinstance(d, ReduceDesc) and d.function not in INDEX:
        given, made = d.input_tensor.data_type, d.output_tensor.data_type
        if given != made:
            raise InvalidDescError(
                f"{name}: output_tensor is {made.name}; input_tensor is {given.name}, and the two "
                "must be equal"
            )


def _reduced(sizes: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if d in axes else n for d, n in enumerate(sizes))


def infer(given: Given) -> dict[str, TensorDesc]:
    """The input's sizes with 1 along the axes, all axes where none are given."""
    source: TensorDesc = given.input_tensor
    if given.axes is None:
        given.axes = tuple(range(source.rank))
    index = getattr(given, "function", ReduceFunction.ARGMAX) in INDEX
    data_type = DataType.UINT32 if index else source.data_type
    return {"output_tensor": TensorDesc(data_type, _reduced(source.sizes, given.axes))}


def work(d: AnyDesc) -> Reduction:
    """One accumulator for each line."""
    return Reduction.of(d.input_tensor, d.output_tensor, d.axes, accumulator(d))


def accumulator(d: AnyDesc) -> Accumulator:
    """How the function of a description reduces."""
    kind = d.input_tensor.data_type
    if isinstance(d, ReduceDesc):
        if d.function in INDEX:
            return place_of_extreme(kind, d.output_tensor.data_type, d.function.name == "ARGMAX")
        return FUNCTIONS[d.function](kind)
    last = d.axis_direction is AxisDirection.DECREASING
    return place_of_extreme(kind, d.output_tensor.data_type, isinstance(d, ArgmaxDesc), last)


FUNCTIONS: dict[ReduceFunction, Callable[[DataType], Accumulator]] = {
    ReduceFunction.AVERAGE: average,
    ReduceFunction.L1: partial(total, lift="T_abs(x)"),
    ReduceFunction.L2: partial(total, lift="T_mul(x, x)", finish="math_sqrt(a)"),
    ReduceFunction.LOG_SUM: partial(total, finish="math_log(a)"),
    ReduceFunction.LOG_SUM_EXP: log_sum_exp,
    ReduceFunction.MAX: partial(extreme, largest=True),
    ReduceFunction.MIN: partial(extreme, largest=False),
    ReduceFunction.MULTIPLY: product,
    ReduceFunction.SUM: total,
    ReduceFunction.SUM_SQUARE: partial(total, lift="T_mul(x, x)"),
}
OPERATORS: tuple[Operator[Any], ...] = tuple(
    Operator(desc, infer, work, check) for desc in (ReduceDesc, ArgminDesc, ArgmaxDesc)
)
