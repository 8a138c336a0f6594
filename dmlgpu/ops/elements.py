"""What the element-wise families share: expressions as rows of a table, and their records.

An expression is WGSL over the values of the inputs. It may call any function of the number and
math libraries; `T_` stands for the class of the first input's values, `R_` for that of the output.
Attributes are named with `p_` in front.

Results that become FLOAT16 need no more than its 11 bits: there a call of math_exp is one of
math_exp_half, and so on for each function that the math library has in this second, faster form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, from_catalogue
from dmlgpu.desc.enumerations import ScaleBias
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.operator import Given, Operator, no_level_rules, no_rules
from dmlgpu.plan.values import Expression, Operand, Parameter, class_of, limited

# One text for all types, one for each class of values, or a choice by the description.
Text = str | Mapping[str, str] | Callable[[Any], str]
# Functions of the math library that have a faster form whose results are right in FLOAT16.
FASTER = (
    *("cos", "erf", "exp", "expm1", "gelu", "log", "recip", "sigmoid", "sin", "softplus", "sqrt"),
)
# The same of one that ends where FLOAT16 rounds to 1, and so before what is multiplied would.
FASTER_ALONE = "tanh"


@dataclass(frozen=True, slots=True)
class Row:
    """One element-wise operator: its description class, and what an output element is."""

    desc: type[Any]
    text: Text
    raw: bool = False  # on bits, whatever they mean
    check: Callable[[Any], None] = no_rules
    check_level: Callable[[Any, FeatureLevel], None] = no_level_rules
    infer: Callable[[Given], Mapping[str, TensorDesc]] | None = None
    derived: Callable[[Any], tuple[Parameter, ...]] = lambda desc: ()  # parameters from attributes


def row(base: Any, prefix: str, name: str, says: str, text: Text, **more: Any) -> Row:
    """A row whose description class has a base's fields and those the catalogue adds to them."""
    return Row(from_catalogue(prefix + name, base, says), text, **more)


def records(rows: tuple[Row, ...], attributes_as_tensor: bool = False) -> tuple[Operator[Any], ...]:
    """The operators of a table.

    `attributes_as_tensor` says that attributes are numbers of the input's data type; else they
    are FLOAT32.
    """
    return tuple(
        Operator(
            row.desc,
            row.infer or like_first,
            partial(work, row, attributes_as_tensor),
            row.check,
            check_level=row.check_level,
        )
        for row in rows
    )


def like_first(given: Given) -> dict[str, TensorDesc]:
    """The sizes and the data type of the first input."""
    first = next(v for n, v in vars(given).items() if n != "operator" and v is not None)
    return {"output_tensor": TensorDesc(first.data_type, first.sizes)}


def truth_like_first(given: Given) -> dict[str, TensorDesc]:
    """The sizes of the first input; 0 or 1 in a byte."""
    return {"output_tensor": TensorDesc(DataType.UINT8, like_first(given)["output_tensor"].sizes)}


def work(row: Row, attributes_as_tensor: bool, d: Description) -> ElementWise:
    """A description as element-wise work."""
    inputs = {
        _short(field): Operand.of(field, tensor, raw=row.raw and field != "condition_tensor")
        for field, tensor in d.inputs().items()
    }
    (field, tensor) = next(iter(d.outputs().items()))
    first = next(iter(inputs.values()))
    kind = first.data_type if attributes_as_tensor else DataType.FLOAT32
    parameters = tuple(
        Parameter(f"p_{name}", kind, value)
        for name, value in vars(d).items()
        if isinstance(value, (int, float)) and not isinstance(value, IntEnum)
    )
    parameters += row.derived(d)
    made = Operand.of(field, tensor, raw=row.raw)
    text = text_for(row.text, d, class_of(first.data_type))
    expression = Expression(halved(text) if made.data_type is DataType.FLOAT16 else text)
    scale_bias: ScaleBias | None = getattr(d, "scale_bias", None)
    if scale_bias is not None:
        steps, more = scaled(first.data_type, scale_bias)
        expression = Expression(expression.result, steps)
        parameters += more
        inputs = {"x_" if name == "x" else name: operand for name, operand in inputs.items()}
    return ElementWise(inputs, ((made, expression),), parameters)


def text_for(text: Text, desc: Any, kind: str) -> str:
    """The expression for a description whose first input has this class of values."""
    if isinstance(text, Mapping):
        return text[kind]
    return text if isinstance(text, str) else text(desc)


def halved(text: str) -> str:
    """An expression for FLOAT16, with the faster form of every function that has one."""
    text = re.sub(rf"\bmath_({'|'.join(FASTER)})(?=\()", r"math_\1_half", text)
    return re.sub(rf"^math_({FASTER_ALONE})(?=\(x\)$)", r"math_\1_half", text)


def _short(field: str) -> str:
    """The name of an input in expressions."""
    names = {"input_tensor": "x", "exponent_tensor": "e", "condition_tensor": "c"}
    return names.get(field, field.removesuffix("_tensor"))


def scaled(data_type: DataType, by: ScaleBias) -> tuple[str, tuple[Parameter, ...]]:
    """Statements that replace x by x * scale + bias, calculated in FLOAT32.

    Integers are converted, truncated toward zero and saturated to the tensor's type.
    """
    more = (
        Parameter("p_scale", DataType.FLOAT32, by.scale),
        Parameter("p_bias", DataType.FLOAT32, by.bias),
    )
    kind = class_of(data_type)
    value = f"f32_add(f32_mul(f32_from_{kind}(x_), p_scale), p_bias)"
    if kind == "f32":
        return "let x = f32_add(f32_mul(x_, p_scale), p_bias);", more
    return f"let x = {saturated(data_type, value)};", more


def saturated(data_type: DataType, value: str) -> str:
    """A FLOAT32 expression as an integer type: truncated toward zero, saturated, NaN as 0."""
    return limited(data_type, f"{class_of(data_type)}_from_f32({value})")
