"""The registry's feature-level tables, row for row against the specification's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import oracle
import pytest
from strategies import DESCS, EXCLUSIVE, TABLES, row_at

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
    assert operator.desc is DESCS[name]


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
    tensors = {name for name in operator.desc.__annotations__ if name.endswith("_tensor")}
    for level, rows in operator.entry.support.items():
        assert rows.keys() == tensors, level.name


def smallest(name: str, rank: int, data_type: T, index_type: T = T.UINT32) -> Any:
    """One element, of this rank and type."""
    ones = (1,) * rank
    one = dml.TensorDesc(data_type, ones)
    kwargs: dict[str, Any] = {"input_tensor": one, "output_tensor": one}
    if name == "SLICE":
        kwargs |= {"offsets": (0,) * rank, "sizes": ones, "strides": ones}
    elif name == "SLICE1":
        kwargs |= {
            "input_window_offsets": (0,) * rank,
            "input_window_sizes": ones,
            "input_window_strides": ones,
        }
    elif name in EXCLUSIVE:
        kwargs |= {"axis": 0, "axis_direction": dml.AxisDirection.INCREASING}
        kwargs[EXCLUSIVE[name]] = False
    else:
        kwargs["indices_tensor"] = dml.TensorDesc(index_type, ones)
        kwargs |= {"input_dimension_count": 1, "indices_dimension_count": 1}
        if name == "GATHER_ND1":
            kwargs["batch_dimension_count"] = 0
    return DESCS[name](**kwargs)


def assert_verdict(name: str, level: L, desc: Any, fits: list[tuple[bool, bool]]) -> None:
    """Fits holds, per rank and type, whether the level allows it and whether any level does."""
    known = row_at(name, level) is not None
    if known and all(here for here, _ in fits):
        dml.validate(desc, level)
        return
    errors: set[type[dml.DmlError]] = set() if known else {dml.UnsupportedError}
    for here, ever in fits:
        if not here:
            errors.add(dml.UnsupportedError if ever else dml.InvalidDescError)
    with pytest.raises(tuple(errors), match=rf"^{name}\b"):
        dml.validate(desc, level)


@pytest.mark.parametrize("level", L, ids=lambda level: level.name)
@pytest.mark.parametrize("name", TABLES)
def test_validate_follows_the_table_for_every_type_and_rank(name: str, level: L) -> None:
    row, top = row_at(name, level), TABLES[name][max(TABLES[name])]["input_tensor"]
    ranks, types = row["input_tensor"] if row else (range(0), frozenset())
    for rank in range(1, 9):
        for data_type in (*oracle.NUMPY_TYPES, T.UINT4, T.INT4):
            fits = [(rank in ranks, rank in top[0]), (data_type in types, data_type in top[1])]
            assert_verdict(name, level, smallest(name, rank, data_type), fits)


@pytest.mark.parametrize("level", L, ids=lambda level: level.name)
@pytest.mark.parametrize("name", ["GATHER_ND", "GATHER_ND1"])
def test_validate_follows_the_table_for_index_types(name: str, level: L) -> None:
    row, top = row_at(name, level), TABLES[name][max(TABLES[name])]["indices_tensor"]
    types = row["indices_tensor"][1] if row else frozenset()
    for index_type in (*oracle.NUMPY_TYPES, T.UINT4, T.INT4):
        desc = smallest(name, 4, T.FLOAT32, index_type)
        assert_verdict(name, level, desc, [(index_type in types, index_type in top[1])])


def test_validate_without_a_level_uses_the_highest() -> None:
    dml.validate(smallest("CUMULATIVE_PRODUCT", 8, T.INT64))
