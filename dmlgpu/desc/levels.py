"""Feature levels, and the one reader of the operators' feature-level tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError, shown

if TYPE_CHECKING:
    from dmlgpu.plan.operator import Operator


class FeatureLevel(IntEnum):
    """DML_FEATURE_LEVEL: each level is a strict superset of the ones before."""

    FL_1_0 = 0x1000
    FL_2_0 = 0x2000
    FL_2_1 = 0x2100
    FL_3_0 = 0x3000
    FL_3_1 = 0x3100
    FL_4_0 = 0x4000
    FL_4_1 = 0x4100
    FL_5_0 = 0x5000
    FL_5_1 = 0x5100
    FL_5_2 = 0x5200
    FL_6_0 = 0x6000
    FL_6_1 = 0x6100
    FL_6_2 = 0x6200
    FL_6_3 = 0x6300
    FL_6_4 = 0x6400


def feature_level(value: Any) -> FeatureLevel:
    """`value` as a FeatureLevel."""
    try:
        return FeatureLevel(value)
    except Exception:  # an object's own comparison may raise anything
        raise InvalidDescError(
            f"feature_level is {shown(value)}; it must be one of FeatureLevel.FL_1_0 .. FL_6_4"
        ) from None


@dataclass(frozen=True, slots=True)
class Allowed:
    """One cell of a "Tensor support" table: what one tensor may be."""

    ranks: range
    data_types: frozenset[DataType]


Support = Mapping[FeatureLevel, Mapping[str, Allowed]]

RANK_4 = range(4, 5)
RANK_4_5 = range(4, 6)
RANK_1_8 = range(1, 9)

T6 = frozenset(
    {
        DataType.FLOAT32,
        DataType.FLOAT16,
        DataType.INT32,
        DataType.INT16,
        DataType.UINT32,
        DataType.UINT16,
    }
)
T8 = T6 | {DataType.INT8, DataType.UINT8}
T11 = T8 | {DataType.FLOAT64, DataType.INT64, DataType.UINT64}


def ranks_text(ranks: range) -> str:
    """A range of ranks as the documents write it."""
    first, last = ranks[0], ranks[-1]
    return str(first) if first == last else f"{first} to {last}"


def types_text(types: frozenset[DataType]) -> str:
    """Data types in the order of their enumeration values."""
    return ", ".join(t.name for t in sorted(types))


def check_support(operator: Operator[Any], desc: Any, level: FeatureLevel) -> None:
    """Raises unless the operator and each tensor of `desc` exist at `level`."""
    since = min(operator.support)
    if level < since:
        raise UnsupportedError(
            f"{operator.name} needs feature level {since.name}; the level in force is {level.name}"
        )
    row = operator.support[max(at for at in operator.support if at <= level)]
    for field, allowed in row.items():
        tensor: TensorDesc = getattr(desc, field)
        _check_rank(operator, field, tensor, allowed, level)
        _check_type(operator, field, tensor, allowed, level)


def _check_rank(
    operator: Operator[Any], field: str, tensor: TensorDesc, allowed: Allowed, level: FeatureLevel
) -> None:
    if tensor.rank in allowed.ranks:
        return
    later = [at for at, row in operator.support.items() if tensor.rank in row[field].ranks]
    where = f"{operator.name}: {field} has {tensor.rank} dimensions"
    if later:
        raise UnsupportedError(
            f"{where}, allowed from {min(later).name}; "
            f"{level.name} allows {ranks_text(allowed.ranks)}"
        )
    raise InvalidDescError(f"{where}; {level.name} allows {ranks_text(allowed.ranks)}")


def _check_type(
    operator: Operator[Any], field: str, tensor: TensorDesc, allowed: Allowed, level: FeatureLevel
) -> None:
    if tensor.data_type in allowed.data_types:
        return
    name = tensor.data_type.name
    later = [
        at for at, row in operator.support.items() if tensor.data_type in row[field].data_types
    ]
    where = f"{operator.name}: {field} is {name}"
    if later:
        raise UnsupportedError(
            f"{where}, allowed from {min(later).name}; "
            f"{level.name} allows {types_text(allowed.data_types)}"
        )
    raise InvalidDescError(
        f"{where}, which this operator has at no level; "
        f"{level.name} allows {types_text(allowed.data_types)}"
    )
