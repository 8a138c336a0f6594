"""Feature levels, and the one reader of the operators' feature-level tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError, shown


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


def ranks_text(ranks: range) -> str:
    """A range of ranks as the documents write it."""
    first, last = ranks[0], ranks[-1]
    return str(first) if first == last else f"{first} to {last}"


def types_text(types: frozenset[DataType]) -> str:
    """Data types in the order of their enumeration values."""
    return ", ".join(t.name for t in sorted(types))


def types_short(types: frozenset[DataType]) -> str:
    """Data types with their widths gathered: FLOAT16/32, INT8/16."""
    widths: dict[str, list[int]] = {}
    for data_type in sorted(types, key=lambda t: (t.name.rstrip("0123456789"), t.bits)):
        widths.setdefault(data_type.name.rstrip("0123456789"), []).append(data_type.bits)
    return ", ".join(name + "/".join(map(str, bits)) for name, bits in widths.items())


def level_text(level: FeatureLevel) -> str:
    """A level as the documents write it: 3.0."""
    return f"{level >> 12}.{level >> 8 & 15}"


def level_named(text: str) -> FeatureLevel:
    """The level that `3.0` or `FL_3_0` names."""
    wanted = text.upper().removeprefix("FL_").replace("_", ".")
    for level in FeatureLevel:
        if level_text(level) == wanted:
            return level
    known = ", ".join(level_text(level) for level in FeatureLevel)
    raise InvalidDescError(f"level is {text!r}; it must be one of {known}")


def row_at(support: Support, level: FeatureLevel) -> Mapping[str, Allowed] | None:
    """What each tensor may be at `level`; None when the operator came later."""
    known = [at for at in support if at <= level]
    return support[max(known)] if known else None


def check_support(
    name: str, support: Support, tensors: Mapping[str, TensorDesc], level: FeatureLevel
) -> None:
    """Raises unless the operator `name` and each of its tensors exist at `level`."""
    row = row_at(support, level)
    if row is None:
        raise UnsupportedError(
            f"{name} needs feature level {min(support).name}; the level in force is {level.name}"
        )
    for field, tensor in tensors.items():
        plain = field.partition("[")[0]
        allowed = row.get(plain)
        if allowed is None:
            later = [at for at, cells in support.items() if plain in cells]
            if not later:
                continue
            raise UnsupportedError(
                f"{name}: {field} is given; it is allowed from {min(later).name}, and the level in "
                f"force is {level.name}"
            )
        where = f"{name}: {field}"
        if tensor.rank not in allowed.ranks:
            later = [
                at for at, c in support.items() if plain in c and tensor.rank in c[plain].ranks
            ]
            ranks = f"{level.name} allows {ranks_text(allowed.ranks)}"
            _refuse(f"{where} has {tensor.rank} dimensions", later, ranks, "")
        if tensor.data_type not in allowed.data_types:
            kind = tensor.data_type
            later = [at for at, c in support.items() if plain in c and kind in c[plain].data_types]
            types = f"{level.name} allows {types_text(allowed.data_types)}"
            never = ", which it has at no level"
            _refuse(f"{where} is {kind.name}", later, types, never)


def _refuse(what: str, later: list[FeatureLevel], allowed: str, never: str) -> None:
    if later:
        raise UnsupportedError(f"{what}, allowed from {min(later).name}; {allowed}")
    raise InvalidDescError(f"{what}{never}; {allowed}")
