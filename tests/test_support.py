"""The registry's feature-level tables, row for row against the specification's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from support.generate import smallest
from support.tables import TABLES

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.ops import OPERATORS

BY_NAME = {operator.name: operator for operator in OPERATORS}
# name: (DirectML's enumeration value, may the output be the input)
FACTS = {
    "SLICE": (60, False),
    "SLICE1": (111, False),
    "GATHER_ND": (108, False),
    "GATHER_ND1": (140, False),
    "CUMULATIVE_SUMMATION": (105, True),
    "CUMULATIVE_PRODUCT": (145, True),
}


def plain(table: Any) -> dict[L, dict[str, tuple[set[int], set[T]]]]:
    return {
        level: {f: (set(row.ranks), set(row.data_types)) for f, row in rows.items()}
        for level, rows in table.items()
    }


def test_the_registry_holds_these_operators() -> None:
    assert FACTS.keys() <= BY_NAME.keys()
    assert len(BY_NAME) == len(OPERATORS)
    values = [operator.entry.value for operator in OPERATORS]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("name", FACTS)
def test_operator_facts(name: str) -> None:
    operator = BY_NAME[name]
    assert (operator.entry.value, bool(operator.entry.alias)) == FACTS[name]


@pytest.mark.parametrize("name", TABLES)
def test_tables_equal_the_specification(name: str) -> None:
    expected = {
        level: {field: (set(ranks), set(types)) for field, (ranks, types) in row.items()}
        for level, row in TABLES[name].items()
    }
    assert plain(BY_NAME[name].entry.support) == expected


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_no_level_is_narrower_than_the_one_before(operator: Any) -> None:
    table = plain(operator.entry.support)
    assert list(table) == sorted(table)
    for (_, before), (level, after) in pairwise(sorted(table.items())):
        assert before.keys() == after.keys()
        for field, (ranks, types) in before.items():
            assert ranks <= after[field][0], (level.name, field)
            assert types <= after[field][1], (level.name, field)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_tensor_field_has_a_row_at_every_level(operator: Any) -> None:
    tensors = {field.name for field in operator.fields if field.is_tensor}
    for level, rows in operator.entry.support.items():
        assert rows.keys() == tensors, level.name


def test_validate_without_a_level_uses_the_highest() -> None:
    wide = smallest("CUMULATIVE_PRODUCT", 8, {"input_tensor": T.INT64, "output_tensor": T.INT64})
    dml.validate(wide)
    with pytest.raises(dml.UnsupportedError):
        dml.validate(wide, L.FL_4_1)
