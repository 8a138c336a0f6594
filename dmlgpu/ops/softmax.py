"""DML_OPERATOR_ACTIVATION_SOFTMAX, LOG_SOFTMAX and HARDMAX, and their forms with axes.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_activation_softmax1_operator_desc
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of, from_catalogue
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.elements import halved, like_first
from dmlgpu.ops.rules import check_axes
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.reduce.accumulators import log_sum_exp, place_of_extreme, plain
from dmlgpu.plan.reduce.normalize import ByLine
from dmlgpu.plan.reduce.phases import Phase


class _Last(Description):
    """A function of lines along the last dimension.

    Fields:
        input_tensor (tensor): what is read; at most its last two dimensions have more than one
            element.
    """

    input_tensor: TensorDesc
    output_tensor: Output


class _Axes(Description):
    """A function of lines along some axes together.

    Fields:
        axes (UINT[]): the dimensions that make up a line together.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    axes: tuple[int, ...]


def check_last(d: _Last) -> None:
    """Leading dimensions do not count: at most two may have more than one element."""
    sizes = d.input_tensor.sizes
    if any(n != 1 for n in sizes[:-2]):
        raise InvalidDescError(
            f"{entry_of(type(d)).name}: input_tensor has sizes {sizes}; all but the last two "
            "dimensions must be 1, and the form with axes takes any"
        )


def check_any(d: _Axes) -> None:
    """Axes as those of reductions."""
    check_axes(entry_of(type(d)).name, d.axes, d.input_tensor.rank)


def infer_axes(given: Given) -> dict[str, TensorDesc]:
    """The input's; the last axis where none is given."""
    if given.axes is None:
        given.axes = (given.input_tensor.rank - 1,)
    return like_first(given)


def _axes(d: _Last | _Axes) -> tuple[int, ...]:
    return d.axes if isinstance(d, _Axes) else (d.input_tensor.rank - 1,)


def exponentials(number: str, result: str, expression: str, d: _Last | _Axes) -> ByLine:
    """By a line's largest element, and `number` of the sum `a` of exponentials relative to it."""
    kind = d.input_tensor.data_type
    most = plain(kind, "x", "max(a, b)", "-f32_infinity()")
    total = plain(kind, "x", "a + b", "0.0")
    power = "math_exp(f32_sub(x, s0))"
    if kind is DataType.FLOAT16:
        power, expression = power.replace("exp", "exp_falling"), halved(expression)
    return ByLine(
        source=d.input_tensor,
        output=d.output_tensor,
        axes=_axes(d),
        phases=(Phase(most), Phase(total, power, number)),
        result=result,
        accumulator=log_sum_exp(kind),
        types=(DataType.FLOAT32, DataType.FLOAT32),
        expression=expression,
    )


def hardmax(d: _Last | _Axes) -> ByLine:
    """By the place of the largest element of a line."""
    place = place_of_extreme(d.input_tensor.data_type, DataType.UINT32, largest=True)
    found = "select({0}, 0u, {0} == 0xffffffffu)"
    return ByLine(
        source=d.input_tensor,
        output=d.output_tensor,
        axes=_axes(d),
        phases=(Phase(place),),
        result=f"select(0.0, 1.0, {found.format('s0.place')} == i)",
        accumulator=place,
        types=(DataType.FLOAT32, DataType.UINT32),
        expression=f"select(0.0, 1.0, {found.format('w1')} == i)",
    )


TOTAL = "select(w1, f32_nan(), math_is_inf(w0))"  # inf - inf is among what is added up
softmax = partial(
    exponentials,
    "f32_div(1.0, a)",
    "v * s1",
    f"math_exp(f32_sub(x, w0)) * f32_quotient(1.0, {TOTAL})",
)
log_softmax = partial(
    exponentials,
    "math_log(a)",
    "f32_sub(f32_sub(x, s0), s1)",
    f"f32_sub(f32_sub(x, w0), math_log({TOTAL}))",
)


def both(name: str, says: str, work: Any) -> tuple[Operator[Any], Operator[Any]]:
    """An operator on lines along the last dimension, and the one on lines along some axes."""
    last = from_catalogue(f"ACTIVATION_{name}", _Last, f"{says} of the line.")
    axes = from_catalogue(f"ACTIVATION_{name}1", _Axes, f"{says} along the axes.")
    return Operator(last, like_first, work, check_last), Operator(axes, infer_axes, work, check_any)


OPERATORS: tuple[Operator[Any], ...] = (
    *both("SOFTMAX", "exp(x) over the sum of all exp(x)", softmax),
    *both("LOG_SOFTMAX", "the logarithm of the SOFTMAX", log_softmax),
    *both("HARDMAX", "0, but 1 at the first of the largest elements", hardmax),
)
