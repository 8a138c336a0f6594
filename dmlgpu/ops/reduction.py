"""DML_OPERATOR_REDUCE, DML_OPERATOR_ARGMIN and DML_OPERATOR_ARGMAX: one value for each line.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_reduce_operator_desc
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.enumerations import AxisDirection, ReduceFunction
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.plan.elementwise import class_of, wgsl_type
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.reduce import Accumulator, Reduction, plain

__all__ = ["ArgmaxDesc", "ArgminDesc", "ReduceDesc"]


class ReduceDesc(Description):
    """DML_REDUCE_OPERATOR_DESC: a function of all elements along some axes.

    Fields:
        function (DML_REDUCE_FUNCTION): SUM, MULTIPLY, MIN, MAX, AVERAGE, L1, L2, SUM_SQUARE,
            LOG_SUM, LOG_SUM_EXP, ARGMIN or ARGMAX.
        input_tensor (tensor): what is read.
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
        input_tensor (tensor): what is read.
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
NOWHERE = "0xffffffffu"
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


def check_axes(name: str, axes: tuple[int, ...], rank: int) -> None:
    """Axes are distinct, at least one, and the tensor's."""
    if not axes:
        raise InvalidDescError(f"{name}: axes is empty; at least one axis is needed")
    for axis in axes:
        if axis >= rank:
            raise InvalidDescError(
                f"{name}: axes has {axis}; with tensors of {rank} dimensions each must be in "
                f"[0, {rank})"
            )
    if len(set(axes)) != len(axes):
        raise InvalidDescError(f"{name}: axes {axes} has an axis twice")


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
    return Reduction(d.input_tensor, d.output_tensor, d.axes, accumulator(d))


def accumulator(d: AnyDesc) -> Accumulator:
    """How the function of a description reduces."""
    kind = d.input_tensor.data_type
    if isinstance(d, ReduceDesc):
        if d.function in INDEX:
            return extreme(kind, d.output_tensor.data_type, d.function.name == "ARGMAX", False)
        return FUNCTIONS[d.function](kind)
    last = d.axis_direction is AxisDirection.DECREASING
    return extreme(kind, d.output_tensor.data_type, isinstance(d, ArgmaxDesc), last)


def _limit(data_type: DataType, largest: bool) -> str:
    """The largest or the smallest value of a data type, as WGSL."""
    kind = class_of(data_type)
    if kind == "f32":
        return "f32_infinity()" if largest else "-f32_infinity()"
    info = np.iinfo(data_type.numpy)
    value = int(info.max if largest else info.min)
    if kind == "i32":
        return f"{value}i" if value > -(2**31) else "(-2147483647i - 1i)"
    if kind == "u32":
        return f"{value}u"
    return f"vec2<u32>({value & 0xFFFFFFFF}u, {value >> 32 & 0xFFFFFFFF}u)"


def _extreme_value(largest: bool, data_type: DataType) -> Accumulator:
    combine = "T_max(a, b)" if largest else "T_min(a, b)"
    return plain(data_type, "x", combine, _limit(data_type, not largest))


def _sum(data_type: DataType, lift: str = "x", finish: str = "a") -> Accumulator:
    return plain(data_type, lift, "T_add(a, b)", "T_zero()", finish)


def extreme(data_type: DataType, output: DataType, largest: bool, last: bool) -> Accumulator:
    """A value and its place; of equal ones the first place, or the last.

    Before any element it is the worst value at no place, which the first index stands for.
    """
    value, kind = wgsl_type(data_type), class_of(data_type)
    wide = kind in ("i64", "u64")
    less = "i64_lt({}, {})" if kind == "i64" else "u64_lt({}, {})" if wide else "{} < {}"
    order = ("a.value", "b.value") if largest else ("b.value", "a.value")
    better = less.format(*order)
    same = "all(a.value == b.value)" if wide else "a.value == b.value"
    # Of elements in order, a later one must be better, or as good where the last one counts.
    taken = f"!({less.format(*reversed(order))})" if last else better
    place = f"(b.place > a.place || a.place == {NOWHERE})" if last else "b.place < a.place"
    if last:
        place = f"b.place != {NOWHERE} && {place}"
    declarations = (
        f"struct Extreme {{ value: {value}, place: u32 }}\n"
        "fn in_order(a: Extreme, b: Extreme) -> Extreme {\n"
        f"  if (b.place != {NOWHERE} && ({taken})) {{ return b; }}\n"
        "  return a;\n"
        "}\n"
        "fn any_order(a: Extreme, b: Extreme) -> Extreme {\n"
        f"  if ({better} || ({same} && {place})) {{ return b; }}\n"
        "  return a;\n"
        "}"
    )
    words: tuple[str, ...] = ("a.value.x", "a.value.y")
    if not wide:
        words = ("a.value" if kind == "u32" else "bitcast<u32>(a.value)",)
    places = len(words)
    unpacked = "vec2<u32>(w0, w1)" if wide else {"u32": "w0"}.get(kind, f"bitcast<{kind}>(w0)")
    to = class_of(output)
    found = f"select(a.place, 0u, a.place == {NOWHERE})"
    return Accumulator(
        type="Extreme",
        words=places + 1,
        identity=f"Extreme({_limit(data_type, not largest)}, {NOWHERE})",
        lift="Extreme(x, i)",
        combine="in_order(a, b)",
        join="any_order(a, b)",
        finish=found if to == "u32" else f"{to}_from_u32({found})",
        pack=(*words, "a.place"),
        unpack=f"Extreme({unpacked}, w{places})",
        declarations=declarations,
    )


def log_sum_exp(data_type: DataType) -> Accumulator:
    """The largest element, and the sum of the exponentials relative to it."""
    declarations = (
        "struct LogSum { most: f32, sum: f32 }\n"
        "fn rescaled(a: LogSum, most: f32) -> f32 {\n"
        "  if (a.sum == 0.0) { return 0.0; }\n"
        "  if (a.most == most) { return a.sum; }\n"
        "  return a.sum * math_exp(a.most - most);\n"
        "}\n"
        "fn joined(a: LogSum, b: LogSum) -> LogSum {\n"
        "  let most = max(a.most, b.most);\n"
        "  return LogSum(most, rescaled(a, most) + rescaled(b, most));\n"
        "}\n"
        "fn result(a: LogSum) -> f32 {\n"
        "  if (math_is_inf(a.most)) { return a.most; }\n"
        "  return a.most + math_log(a.sum);\n"
        "}"
    )
    return Accumulator(
        type="LogSum",
        words=2,
        identity="LogSum(-f32_infinity(), 0.0)",
        lift="LogSum(x, 1.0)",
        combine="joined(a, b)",
        finish="result(a)",
        pack=("bitcast<u32>(a.most)", "bitcast<u32>(a.sum)"),
        unpack="LogSum(bitcast<f32>(w0), bitcast<f32>(w1))",
        declarations=declarations,
    )


FUNCTIONS: dict[ReduceFunction, Callable[[DataType], Accumulator]] = {
    ReduceFunction.AVERAGE: partial(_sum, finish="f32_div(a, f32_from_u32(n))"),
    ReduceFunction.L1: partial(_sum, lift="T_abs(x)"),
    ReduceFunction.L2: partial(_sum, lift="T_mul(x, x)", finish="math_sqrt(a)"),
    ReduceFunction.LOG_SUM: partial(_sum, finish="math_log(a)"),
    ReduceFunction.LOG_SUM_EXP: log_sum_exp,
    ReduceFunction.MAX: partial(_extreme_value, True),
    ReduceFunction.MIN: partial(_extreme_value, False),
    ReduceFunction.MULTIPLY: lambda t: plain(t, "x", "T_mul(a, b)", "T_one()"),
    ReduceFunction.SUM: _sum,
    ReduceFunction.SUM_SQUARE: partial(_sum, lift="T_mul(x, x)"),
}
OPERATORS: tuple[Operator[Any], ...] = tuple(
    Operator(desc, infer, work, check) for desc in (ReduceDesc, ArgminDesc, ArgmaxDesc)
)
