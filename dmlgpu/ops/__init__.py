"""The registry: every operator of the library, in the order of their names."""

from __future__ import annotations

from typing import Any

from dmlgpu.operator import Operator
from dmlgpu.ops.cumulative import CUMULATIVE_PRODUCT, CUMULATIVE_SUMMATION
from dmlgpu.ops.gather_nd import GATHER_ND, GATHER_ND1
from dmlgpu.ops.slice import SLICE, SLICE1

OPERATORS: tuple[Operator[Any], ...] = (
    CUMULATIVE_PRODUCT,
    CUMULATIVE_SUMMATION,
    GATHER_ND,
    GATHER_ND1,
    SLICE,
    SLICE1,
)
BY_DESC: dict[type[Any], Operator[Any]] = {operator.desc: operator for operator in OPERATORS}
