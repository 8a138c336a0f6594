"""What `dmlgpu operators` lists: the catalogue of operators as rows for people and for scripts."""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.levels import FeatureLevel, level_text, ranks_text, row_at, types_short
from dmlgpu.ops import OPERATORS

_HEADER = ("operator", "level", "ranks", "data types", "index types", "in place")


def entries(level: FeatureLevel) -> list[dict[str, Any]]:
    """What `level` allows, as plain data: one entry for each operator it has."""
    found = []
    for operator in OPERATORS:
        row = row_at(operator.entry.support, level)
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
                "value": operator.entry.value,
                "since": level_text(operator.entry.since),
                "in_place": bool(operator.entry.alias),
                "tensors": tensors,
            }
        )
    return found


def columns(entry: Entry, level: FeatureLevel) -> tuple[str, str, str]:
    """Ranks and data types of the first input, and data types of indices, at a level it has."""
    row = row_at(entry.support, level) or {}
    first = next(iter(row.values()))
    indices = row.get("indices_tensor")
    return (
        ranks_text(first.ranks),
        types_short(first.data_types),
        types_short(indices.data_types) if indices else "-",
    )


def markdown() -> str:
    """Every operator and level as one table; a cell is empty where the level above still holds."""
    lines = [_line(_HEADER), _line(("---",) * len(_HEADER))]
    for operator in OPERATORS:
        before: tuple[str, ...] = ("",) * 3
        for level in operator.entry.support:
            cells = columns(operator.entry, level)
            news = tuple("" if new == old else new for new, old in zip(cells, before, strict=True))
            first = level == operator.entry.since
            name = f"`{operator.name}`" if first else ""
            in_place = ("yes" if operator.entry.alias else "no") if first else ""
            lines.append(_line((name, level_text(level), *news, in_place)))
            before = cells
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
