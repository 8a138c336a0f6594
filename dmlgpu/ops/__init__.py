"""The registry: the operator families of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlgpu.desc.catalogue import described_by
from dmlgpu.desc.description import Description, from_catalogue
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.ops import (
    activation,
    cumulative,
    element_wise_binary,
    element_wise_logical,
    element_wise_other,
    element_wise_unary,
    fill,
    fold,
    gather_nd,
    index,
    movement,
    nonzero,
    padding,
    random,
    reduction,
    scatter,
    slice,
    softmax,
    sort,
)
from dmlgpu.plan.operator import Operator

FAMILIES = (
    element_wise_unary,
    element_wise_binary,
    element_wise_logical,
    element_wise_other,
    activation,
    softmax,
    reduction,
    random,
    cumulative,
    gather_nd,
    slice,
    movement,
    padding,
    fill,
    fold,
    index,
    scatter,
    nonzero,
    sort,
)
OPERATORS: tuple[Operator[Any], ...] = tuple(
    operator for family in FAMILIES for operator in family.OPERATORS
)
BY_DESC: dict[type[Any], Operator[Any]] = {operator.desc: operator for operator in OPERATORS}
BY_NAME: dict[str, Operator[Any]] = {operator.name: operator for operator in OPERATORS}


def operator_of(desc: Any) -> Operator[Any]:
    """The operator that runs a description."""
    operator = BY_DESC.get(type(desc))
    if operator is not None:
        return operator
    if isinstance(desc, Description):
        found = described_by(type(desc).__name__)
        if found is not None:
            raise UnsupportedError(
                f"{found.name} is not built yet: its descriptions can be validated, not compiled"
            )
    raise InvalidDescError(
        f"desc is {type(desc).__name__}; it must be the description of an operator, such as "
        + ", ".join(sorted(d.__name__ for d in BY_DESC)[:3])
    )


def description_named(desc_name: str) -> type[Description] | None:
    """The description class of this name, for any of DirectML's operators."""
    found = described_by(desc_name)
    if found is None:
        return None
    operator = BY_NAME.get(found.name)
    return from_catalogue(found.name) if operator is None else operator.desc


def traffic(desc: Description) -> Mapping[str, int]:
    """The least bytes that a call must read and write, by tensor field."""
    return operator_of(desc).work(desc).traffic()
