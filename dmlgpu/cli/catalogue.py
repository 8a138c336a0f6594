"""The catalogue: the operators' own feature-level tables as rows for people and for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlgpu.desc.levels import Allowed, FeatureLevel, ranks_text
from dmlgpu.desc.tensor import DataType
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops import OPERATORS
from dmlgpu.plan.operator import Operator

_HEADER = ("operator", "level", "ranks", "data types", "index types", "in place")


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


def types_short(types: frozenset[DataType]) -> str:
    """Data types with their widths gathered: FLOAT16/32, INT8/16."""
    widths: dict[str, list[int]] = {}
    for data_type in sorted(types, key=lambda t: (t.name.rstrip("0123456789"), t.bits)):
        widths.setdefault(data_type.name.rstrip("0123456789"), []).append(data_type.bits)
    return ", ".join(name + "/".join(map(str, bits)) for name, bits in widths.items())


def since(operator: Operator[Any]) -> FeatureLevel:
    """The level that brought the operator."""
    return min(operator.support)


def row_at(operator: Operator[Any], level: FeatureLevel) -> Mapping[str, Allowed] | None:
    """What each tensor may be at `level`; None when the operator came later."""
    known = [at for at in operator.support if at <= level]
    return operator.support[max(known)] if known else None


def entries(level: FeatureLevel) -> list[dict[str, Any]]:
    """What `level` allows, as plain data: one entry for each operator it has."""
    found = []
    for operator in OPERATORS:
        row = row_at(operator, level)
        if row is None:
            continue
        tensors = {
            field: {
                "data_types": [t.name for t in sorted(allowed.data_types)],
                "ranks": list(allowed.ranks),
            }
            for field, allowed in row.items()
        }
        found.append(
            {
                "name": operator.name,
                "value": operator.value,
                "since": level_text(since(operator)),
                "in_place": operator.in_place,
                "tensors": tensors,
            }
        )
    return found


def markdown() -> str:
    """Every operator and level as one table; a cell is empty where the level above still holds."""
    lines = [_line(_HEADER), _line(("---",) * len(_HEADER))]
    for operator in OPERATORS:
        before: tuple[str, ...] = ("",) * 3
        for level, row in operator.support.items():
            data, indices = row["input_tensor"], row.get("indices_tensor")
            cells = (
                ranks_text(data.ranks),
                types_short(data.data_types),
                types_short(indices.data_types) if indices else "-",
            )
            news = tuple("" if new == old else new for new, old in zip(cells, before, strict=True))
            first = level == since(operator)
            name = f"`{operator.name}`" if first else ""
            in_place = ("yes" if operator.in_place else "no") if first else ""
            lines.append(_line((name, level_text(level), *news, in_place)))
            before = cells
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
