"""What `dmlgpu operators` lists: the operators at a level, as rows for people and for scripts."""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.levels import FeatureLevel, level_text, ranks_text, row_at, types_short
from dmlgpu.ops import OPERATORS


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


def columns(entry: Entry, level: FeatureLevel) -> tuple[str, str]:
    """Ranks and data types of the tensors at a level that has the operator."""
    row = row_at(entry.support, level) or {}
    ranks = {field: ranks_text(allowed.ranks) for field, allowed in row.items()}
    types = {field: types_short(allowed.data_types) for field, allowed in row.items()}
    return _first_and_others(ranks), _first_and_others(types)


def _first_and_others(told: dict[str, str]) -> str:
    """What holds for the first tensor, and what for those by name that differ from it."""
    first, *rest = dict.fromkeys(told.values())
    named = [
        f"{', '.join(f.removesuffix('_tensor') for f, t in told.items() if t == text)}: {text}"
        for text in rest
    ]
    return "; ".join([first, *named])
