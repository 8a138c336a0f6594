"""Description: the base of all operator descriptions, whose annotations say what each field is.

A description is a frozen dataclass of keyword-only fields in DirectML's order. From the annotation
of a field comes how its value is read, whether it is a tensor, and whether it may be left out:

    input_tensor: TensorDesc              a tensor that is read
    output_tensor: Output                 a tensor that is written
    bias_tensor: TensorDesc | None        an optional tensor
    input_tensors: tuple[TensorDesc, ...] an array of tensors
    axis: int                             UINT
    offset: Int                           INT
    alpha: float                          FLOAT
    value: Scalar                         DML_SCALAR_UNION
    axes: tuple[int, ...]                 UINT array; tuple[Int, ...] and tuple[float, ...] likewise
    mode: RoundingMode                    an enumeration
    scale_bias: ScaleBias | None          DML_SCALE_BIAS
    fused_activation: Description | None  another operator's description, without tensors
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from dataclasses import fields as dataclass_fields
from enum import IntEnum
from functools import cache, partial
from types import FunctionType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    TypeAlias,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from dmlgpu.desc import values
from dmlgpu.desc.catalogue import Entry, described_by, entry
from dmlgpu.desc.enumerations import ENUMERATIONS, ScaleBias, Size2D
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.values import exact
from dmlgpu.errors import InvalidDescError, shown

Output: TypeAlias = Annotated[TensorDesc, "out"]
Int: TypeAlias = Annotated[int, "INT"]
Scalar: TypeAlias = Annotated[int | float, "DML_SCALAR_UNION"]

UINT = (0, values.UINT32_MAX)
INT = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a description, as its annotation says it."""

    name: str
    kind: str  # in the words of the catalogue: tensor, tensor array, uint, enum DML_..., ...
    direction: str  # in, out, attribute
    optional: bool
    required: bool  # the class gives no value for it
    read: Callable[[str, Any], Any] | None  # turns what is given into what is kept; not for tensors

    @property
    def argument(self) -> str:
        """What functions call it: `x` for `input_tensor`, `indices` for `indices_tensor`."""
        return "x" if self.name == "input_tensor" else self.name.removesuffix("_tensor")

    @property
    def is_tensor(self) -> bool:
        """Whether it holds a tensor or an array of them."""
        return self.direction != "attribute"

    @property
    def is_array(self) -> bool:
        """Whether it holds several values."""
        return self.kind.endswith(" array")


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Description:
    """What an operator is asked to do: its tensors' descriptions and its attributes.

    Fields that classes say no more about:

    Fields:
        input_tensor (tensor): what is read.
        output_tensor (tensor): what is written.
    """

    def __init_subclass__(cls) -> None:
        if "__annotations__" in vars(cls):
            dataclass(frozen=True, kw_only=True, eq=False, unsafe_hash=True)(cls)
        elif "__init__" not in vars(cls) and isinstance(init := cls.__init__, FunctionType):
            # A class without fields of its own has its base's.
            own = FunctionType(init.__code__, init.__globals__, "__init__", None, init.__closure__)
            own.__kwdefaults__, own.__annotations__ = init.__kwdefaults__, init.__annotations__
            own.__qualname__ = f"{cls.__qualname__}.__init__"  # as Python's messages name it
            cls.__init__ = own  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        where = entry_of(type(self)).name
        for field in fields(type(self)):
            value = getattr(self, field.name)
            if field.read is not None:
                if value is None and field.optional:
                    continue
                value = field.read(f"{where}: {field.name}", value)
            elif field.is_array and value is not None:
                value = values.sequence(f"{where}: {field.name}", value, "tensor descriptions")
            else:
                continue
            object.__setattr__(self, field.name, value)

    def __eq__(self, other: object) -> bool:
        """Whether both do the same, to the sign of a zero."""
        if type(self) is not type(other):
            return NotImplemented
        mine: Any = self  # a dataclass, as all that are derived from this
        names = [f.name for f in dataclass_fields(mine)]
        return all(exact(getattr(self, n)) == exact(getattr(other, n)) for n in names)

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The tensors that are read, by field: `input_tensor`, or `input_tensors[0]`."""
        return dict(_tensors(self, "in"))

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The tensors that are written, by field."""
        return dict(_tensors(self, "out"))

    def tensors(self) -> Mapping[str, TensorDesc]:
        """All tensors, by field, in the description's order."""
        return dict(_tensors(self, "in", "out"))


def _tensors(desc: Description, *directions: str) -> Iterator[tuple[str, TensorDesc]]:
    for field in fields(type(desc)):
        if field.direction not in directions:
            continue
        value = getattr(desc, field.name)
        if field.is_array:
            yield from ((f"{field.name}[{i}]", tensor) for i, tensor in enumerate(value))
        elif value is not None:
            yield field.name, value


def entry_of(desc: type[Any]) -> Entry:
    """The operator of the catalogue that a description class belongs to."""
    found: Entry | None = vars(desc).get("_entry")
    if found is not None:
        return found
    if issubclass(desc, Description):
        found = described_by(desc.__name__)
    if found is None:
        raise InvalidDescError(f"desc is {desc.__name__}; it must be an operator's description")
    desc._entry = found  # looked up once
    return found


def fields(desc: type[Any]) -> tuple[Field, ...]:
    """The fields of a description class, in order."""
    found: tuple[Field, ...] | None = vars(desc).get("_fields")
    if found is None:
        hints = get_type_hints(desc, include_extras=True)
        found = tuple(
            _field(f.name, hints[f.name], f.default is MISSING) for f in dataclass_fields(desc)
        )
        desc._fields = found  # read once
    return found


def field_texts(desc: type[Any]) -> dict[str, str]:
    """What the docstrings of a description and of its bases say of each field."""
    found: dict[str, str] = {}
    for kind in reversed(desc.__mro__):
        listed = (kind.__doc__ or "").partition("Fields:\n")[2].partition("\n\n")[0]
        joined = re.sub(r"\n {12,}", " ", listed)
        found |= re.findall(r"^\s+(\w+) \([^)]*\): (.*)$", joined, re.M)
    return found


def _field(name: str, hint: Any, required: bool) -> Field:
    optional = False
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        optional = True
        (hint,) = (arg for arg in get_args(hint) if arg is not NoneType)
    several = get_origin(hint) is tuple
    if several:
        hint = get_args(hint)[0]
    kind, direction, read = _one(hint)
    if several:
        kind = f"{kind} array"
        if read is not None:
            read = partial(_each, read, kind)
    return Field(name, kind, direction, optional, required, read)


def _one(hint: Any) -> tuple[str, str, Callable[[str, Any], Any] | None]:
    """Kind, direction and reader of a single value of an annotation."""
    if hint is TensorDesc:
        return "tensor", "in", None
    if hint == Output:
        return "tensor", "out", None
    if hint in _READ:
        kind, read = _READ[hint]
        return kind, "attribute", read
    raise TypeError(f"an annotation that no field can have: {hint!r}")


def _each(read: Callable[[str, Any], Any], kind: str, name: str, given: Any) -> tuple[Any, ...]:
    words = {"uint array": "integers", "int array": "integers", "float array": "numbers"}
    items = values.sequence(name, given, words.get(kind, "descriptions"))
    return tuple(read(f"{name}[{i}]", item) for i, item in enumerate(items))


def _member(enumeration: type[IntEnum], name: str, value: Any) -> IntEnum:
    return values.member(name, enumeration, value)


def _scale_bias(name: str, value: Any) -> ScaleBias:
    if isinstance(value, ScaleBias):
        return ScaleBias(
            values.real(f"{name}.scale", value.scale), values.real(f"{name}.bias", value.bias)
        )
    pair = values.reals(name, value)
    if len(pair) != 2:
        raise InvalidDescError(f"{name} has {len(pair)} entries; it must be ScaleBias(scale, bias)")
    return ScaleBias(*pair)


def _size_2d(name: str, value: Any) -> Size2D:
    pair = (value.width, value.height) if isinstance(value, Size2D) else value
    sizes = values.integers(name, pair, *UINT)
    if len(sizes) != 2:
        raise InvalidDescError(f"{name} has {len(sizes)} entries; it must be Size2D(width, height)")
    return Size2D(*sizes)


def _description(name: str, value: Any) -> Description:
    if not isinstance(value, Description):
        raise InvalidDescError(f"{name} is {shown(value)}; it must be an operator's description")
    return value


# What an annotation is in the catalogue's words, and how its values are read.
_READ: dict[Any, tuple[str, Callable[[str, Any], Any]]] = {
    bool: ("bool", values.boolean),
    int: ("uint", lambda name, value: values.integer(name, value, *UINT)),
    Int: ("int", lambda name, value: values.integer(name, value, *INT)),
    float: ("float", values.real),
    Scalar: ("scalar union", values.scalar),
    ScaleBias: ("scale bias", _scale_bias),
    Size2D: ("size 2d", _size_2d),
    DataType: ("enum DML_TENSOR_DATA_TYPE", partial(_member, DataType)),
    Description: ("operator desc", _description),
    **{made: (f"enum {name}", partial(_member, made)) for name, made in ENUMERATIONS.items()},
}
_KINDS = {kind: hint for hint, (kind, _) in _READ.items()}


@cache
def from_catalogue(name: str, base: type[Any] = Description, says: str = "") -> type[Description]:
    """A description class of what the catalogue says beyond a base; `says` is what it is for.

    Operators that are not built have no other class.
    """
    facts = entry(name)
    annotations: dict[str, Any] = {}
    body: dict[str, Any] = {"__module__": "dmlgpu"}
    told = f": {says}" if says else "; the operator is not built yet."
    body["__doc__"] = f"DML_{name}_OPERATOR_DESC{told}"
    for field, kind, direction in facts.fields:
        if field in getattr(base, "__dataclass_fields__", {}):
            continue
        plain = kind.removeprefix("optional ")
        single = plain.removesuffix(" array")
        hint = _KINDS.get(single, Output if direction == "out" else TensorDesc)
        if plain != single:
            hint = tuple.__class_getitem__((hint, ...))
        if plain != kind:
            hint = hint | None
            body[field] = None
        annotations[field] = hint
    if annotations:
        body["__annotations__"] = annotations
    return type(facts.desc_name, (base,), body)
