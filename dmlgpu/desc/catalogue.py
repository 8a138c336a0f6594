"""The catalogue: what DirectML's documents say of each of its 177 operators, read from one file.

Feature-level tables, equal-size facts and in-place execution of every operator come from here,
whether the library runs the operator or not. tools/catalogue.py makes the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dmlgpu.desc.levels import Allowed, FeatureLevel, Support, level_named
from dmlgpu.desc.tensor import DataType

_FILE = Path(__file__).with_name("catalogue.json")
# A second name that DirectML itself has for the same struct.
SYNONYMS = {"SCATTER": "SCATTER_ELEMENTS"}


@dataclass(frozen=True, slots=True)
class Same:
    """Tensors that must share some of: data_type, rank, sizes."""

    tensors: tuple[str, ...]
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One operator of the catalogue."""

    name: str  # DirectML's, without DML_OPERATOR_
    value: int  # its number in DML_OPERATOR_TYPE
    since: FeatureLevel
    family: str
    fields: tuple[tuple[str, str, str], ...]  # name, kind, direction
    support: Support
    support_by: Mapping[str, Mapping[str, Support]]  # tables by an attribute and its value's name
    same: tuple[Same, ...]
    alias: Mapping[str, tuple[str, ...]]  # for each output, the inputs that it may lie on

    @property
    def desc_name(self) -> str:
        """The class of its descriptions: GatherNd1Desc."""
        return desc_name(self.name)

    def name_of(self, desc: Any) -> str:
        """The operator's name; with the attribute that decides on its table, where one does."""
        told = (f" with {key} {getattr(desc, key).name}" for key in self.support_by)
        return f"{self.name}{''.join(told)}"

    def support_of(self, desc: Any) -> Support:
        """The table for a description: REDUCE has one for each function."""
        for attribute, tables in self.support_by.items():
            return tables[getattr(desc, attribute).name]
        return self.support


def desc_name(name: str) -> str:
    """The class that describes an operator: GatherNd1Desc for GATHER_ND1."""
    return "".join(part.capitalize() for part in name.split("_")) + "Desc"


@cache
def _raw() -> dict[str, dict[str, Any]]:
    entries = json.loads(_FILE.read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in entries}


@cache
def names() -> tuple[str, ...]:
    """Every operator, in the order of DML_OPERATOR_TYPE."""
    return tuple(_raw())


@cache
def entry(name: str) -> Entry:
    """The entry of an operator."""
    raw = _raw()[name]
    return Entry(
        name=raw["name"],
        value=raw["value"],
        since=level_named(raw["since"]),
        family=raw["family"],
        fields=tuple((n, kind, direction) for n, kind, direction in raw["fields"]),
        support=_support(raw["levels"]),
        support_by={
            attribute: {value: _support(tables) for value, tables in by_value.items()}
            for attribute, by_value in raw.get("levels_by", {}).items()
        },
        same=tuple(Same(tuple(fact["tensors"]), tuple(fact["of"])) for fact in raw["same"]),
        alias={output: tuple(inputs) for output, inputs in raw["alias"].items()},
    )


def _support(tables: Mapping[str, Mapping[str, tuple[str, str]]]) -> Support:
    return {
        level_named(level): {name: _allowed(*cell) for name, cell in row.items()}
        for level, row in tables.items()
    }


@cache
def _allowed(ranks: str, types: str) -> Allowed:
    first, _, last = ranks.partition("-")
    return Allowed(
        range(int(first), int(last or first) + 1),
        frozenset(DataType[name] for name in types.split()),
    )


@cache
def desc_names() -> Mapping[str, str]:
    """Operators by the names of their description classes, synonyms included."""
    own = {name: name for name in names()}
    return {desc_name(name): meant for name, meant in (own | SYNONYMS).items()}


def described_by(class_name: str) -> Entry | None:
    """The operator whose description class has this name; None where there is none."""
    name = desc_names().get(class_name)
    return None if name is None else entry(name)
