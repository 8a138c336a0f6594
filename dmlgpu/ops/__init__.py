"""The registry: the operator families of the library."""

from __future__ import annotations

from typing import Any

from dmlgpu.ops import cumulative, gather_nd, slice
from dmlgpu.plan.operator import Operator

FAMILIES = (cumulative, gather_nd, slice)
OPERATORS: tuple[Operator[Any], ...] = tuple(
    operator for family in FAMILIES for operator in family.OPERATORS
)
BY_DESC: dict[type[Any], Operator[Any]] = {operator.desc: operator for operator in OPERATORS}
