"""Descriptions from words: `--input float32:1x1x4x4 --axis 1`, one option for each field.

Options come from the operator's record: they carry the field's name in kebab case, with a short
name where one is clear, and the text that the description's own documentation has for the field.
What is left out is completed as the record infers it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Field, field_texts
from dmlgpu.desc.enumerations import ENUMERATIONS
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops import BY_NAME
from dmlgpu.plan.operator import Operator

TENSOR = "TYPE:SIZES[:STRIDES]"
LIST = "N,N,..."
# What a short name leaves out of a field's own: --strides for input_window_strides.
AFFIXES = re.compile(r"^(input_window_|has_|axis_)|(_tensors?|_sum|_product)$")


def tensor(text: str) -> TensorDesc:
    """`float32:1x1x4x4`, or with strides in elements `float32:4x4:8x1`."""
    kind, *rest = text.split(":")
    if len(rest) not in (1, 2):
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be {TENSOR}")
    data_type = DataType.__members__.get(kind.upper())
    if data_type is None or data_type.bits < 8:
        known = ", ".join(t.name.lower() for t in sorted(DataType) if t.bits >= 8)
        raise argparse.ArgumentTypeError(f"the type is {kind!r}; it must be one of {known}")
    try:
        return TensorDesc(data_type, *map(integers, rest))
    except InvalidDescError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("TensorDesc: ")) from None


def integers(text: str) -> tuple[int, ...]:
    """`1,1,-2,2`, or `1x1x4x4`."""
    parts = re.split("[,x]", text)
    if not all(re.fullmatch(r"-?\d+", part) for part in parts):
        raise argparse.ArgumentTypeError(
            f"it is {text!r}; it must be whole numbers with commas or x between them"
        )
    return tuple(map(int, parts))


def reals(text: str) -> tuple[float, ...]:
    """`1.5,-2`."""
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"it is {text!r}; it must be numbers with commas between them"
        ) from None


def scalar(text: str) -> int | float:
    """An integer where it is one, else a real number."""
    return int(text) if re.fullmatch(r"-?\d+", text) else reals(text)[0]


def member(enumeration: type[IntEnum], text: str) -> IntEnum:
    """A member by its name, in any case."""
    found = enumeration.__members__.get(text.upper())
    if found is None:
        known = " or ".join(name.lower() for name in enumeration.__members__)
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be {known}")
    return found


def activation(text: str) -> Description:
    """A fused activation: `relu`, or with its fields `elu:alpha=0.5`."""
    name, _, fields = text.partition(":")
    pairs = dict(part.partition("=")[::2] for part in fields.split(",") if part)
    operator = BY_NAME.get(f"ACTIVATION_{name.upper().removeprefix('ACTIVATION_')}")
    if operator is None:
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be an activation such as relu")
    try:
        made: Description = operator.desc(**{n: reals(value)[0] for n, value in pairs.items()})
    except TypeError as error:
        told = str(error).rpartition("__init__() ")[2]
        raise argparse.ArgumentTypeError(f"it is {text!r}: {told}") from None
    return made


def _kind(field: Field) -> tuple[Callable[[str], Any], str] | None:
    """How a field is read from words, and what stands for it in the help; None: it is not."""
    if field.kind.startswith("enum "):
        names: dict[str, type[IntEnum]] = {**ENUMERATIONS, "DML_TENSOR_DATA_TYPE": DataType}
        return partial(member, names[field.kind.removeprefix("enum ")]), "WORD"
    kinds: dict[str, tuple[Callable[[str], Any], str]] = {
        "tensor": (tensor, TENSOR),
        "tensor array": (lambda text: tuple(map(tensor, text.split(","))), f"{TENSOR},..."),
        "uint": (int, "N"),
        "int": (int, "N"),
        "float": (float, "X"),
        "scalar union": (scalar, "X"),
        "uint array": (integers, LIST),
        "int array": (integers, LIST),
        "float array": (reals, "X,X,..."),
        "scale bias": (reals, "SCALE,BIAS"),
        "size 2d": (integers, "WIDTH,HEIGHT"),
        "operator desc": (activation, "NAME[:FIELD=X,...]"),
    }
    return kinds.get(field.kind)


def names(field: Field, fields: tuple[Field, ...]) -> tuple[str, ...]:
    """The options of a field; the short one first: it is the one that messages use."""
    full = "--" + field.name.replace("_", "-")
    short = AFFIXES.sub("", AFFIXES.sub("", field.name))
    others = {AFFIXES.sub("", AFFIXES.sub("", f.name)) for f in fields if f is not field}
    if short == field.name or short in others:
        return (full,)
    return ("--" + short.replace("_", "-"), full)


def add_options(parser: Any, operator: Operator[Any]) -> None:
    """The options of one operator's description."""
    group = parser.add_argument_group("description")
    told = field_texts(operator.desc)
    for field in operator.fields:
        facts: dict[str, Any] = {"dest": field.name, "default": None}
        facts["help"] = told.get(field.name, field.kind).rstrip(".")
        if field.kind == "bool":
            facts["action"] = "store_true"
        else:
            kind = _kind(field)
            if kind is None:
                continue
            facts["type"], facts["metavar"] = kind
            needed = field.direction == "in" or field.name in ("axis", "axes")
            facts["required"] = needed and field.required and not field.optional
        group.add_argument(*names(field, operator.fields), **facts)


def describe(operator: Operator[Any], args: argparse.Namespace) -> Any:
    """The description that the options give, completed."""
    given = {field.name: getattr(args, field.name, None) for field in operator.fields}
    return operator.complete({name: value for name, value in given.items() if value is not None})
