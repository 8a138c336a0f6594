"""Every operator of the registry on random descriptions, valid ones and wrong ones."""

from __future__ import annotations

import os
from typing import Any

import pytest
from expected import EXPECTED
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracle
from support.cases import Case
from support.generate import Fault, cases, check, descriptions, faults, smallest, smallest_support

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.desc.catalogue import entry, names
from dmlgpu.desc.description import entry_of, from_catalogue
from dmlgpu.ops import BY_NAME, OPERATORS

NAMES = sorted(BY_NAME)
PAIRS = [
    (operator.name, data_type)
    for operator in OPERATORS
    for data_type in sorted(
        next(
            operator.entry.support[max(operator.entry.support)][field.name].data_types
            for field in operator.fields
            if field.is_tensor
        )
    )
    if data_type.bits >= 8
]


def test_every_operator_has_an_expected_value() -> None:
    assert {operator.name for operator in OPERATORS} - EXPECTED.keys() == set()
    assert EXPECTED.keys() - BY_NAME.keys() == set()


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.facts
@pytest.mark.parametrize("name", NAMES)
def test_random_descriptions(execute: Any, name: str, pytestconfig: pytest.Config) -> None:
    """With the adapter's own facts fewer, for every type has some of its own below."""
    most, few = settings().max_examples, 0
    if "HYPOTHESIS_PROFILE" not in os.environ:
        few = EXPECTED[name].examples
        most = most // 3 if pytestconfig.getoption("--facts") == "own" else most

    @settings(max_examples=min(few or most, most))
    @given(cases(name))
    def run(case: Case) -> None:
        check(case, execute)

    run()


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "data_type"), PAIRS, ids=lambda v: getattr(v, "name", v))
def test_a_few_descriptions_of_each_type(execute: Any, name: str, data_type: T) -> None:
    @settings(max_examples=4)
    @given(cases(name, types={data_type}, most=100))
    def run(case: Case) -> None:
        check(case, execute)

    run()


@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_field_is_refused_in_a_sentence(name: str) -> None:
    @settings(max_examples=100)
    @given(faults(name))
    def run(fault: Fault) -> None:
        oracle.assert_refused(fault.validate, fault.operator, fault.error)

    run()


def verdict(desc: Any, level: L) -> set[type[dml.DmlError]]:
    """The errors that the table allows `validate` to raise; none where it allows everything."""
    support = entry_of(type(desc)).support_of(desc)
    known = [at for at in support if at <= level]
    found: set[type[dml.DmlError]] = set() if known else {dml.UnsupportedError}
    for name, tensor in desc.tensors().items():
        cells = {at: row[name.partition("[")[0]] for at, row in support.items()}
        here = cells[max(known)] if known else None
        for value, column in ((tensor.rank, "ranks"), (tensor.data_type, "data_types")):
            if here is None or value not in getattr(here, column):
                ever = any(value in getattr(cell, column) for cell in cells.values())
                found.add(dml.UnsupportedError if ever else dml.InvalidDescError)
    # What the table leaves out: before 3.0 the types of a power are one.
    if isinstance(desc, dml.ElementWisePowDesc) and level < L.FL_3_0:
        types = {desc.input_tensor.data_type, desc.exponent_tensor.data_type}
        found |= {dml.UnsupportedError} if len(types) > 1 else set()
    return found


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_validate_follows_the_table_for_every_level_rank_and_type(operator: Any) -> None:
    """One tensor takes every type in turn, together with those that share it."""
    support = smallest_support(operator.entry)
    usual = {name: min(cell.data_types) for name, cell in support[min(support)].items()}
    shared = [set(fact.tensors) for fact in operator.entry.same if "data_type" in fact.of]
    for name in usual:
        group = set().union({name}, *(tensors for tensors in shared if name in tensors))
        for rank in range(1, 9):
            for data_type in (*oracle.NUMPY_TYPES, T.UINT4, T.INT4):
                types = usual | dict.fromkeys(group, data_type)
                desc = smallest(operator.name, rank, types)
                for level in L:
                    errors = verdict(desc, level)
                    if not errors:
                        dml.validate(desc, level)
                        continue
                    with pytest.raises(tuple(errors), match=rf"^{operator.name}\b"):
                        dml.validate(desc, level)


ELEMENT_WISE = [
    name
    for name in names()
    if entry(name).family.startswith("element_wise")
    and not any(kind.endswith(" array") for _, kind, _ in entry(name).fields)
]


@pytest.mark.parametrize("name", ELEMENT_WISE)
def test_element_wise_descriptions_need_no_rule_of_their_own(name: str) -> None:
    """The catalogue alone is enough to draw them, whether the operator is built or not."""
    desc_type = BY_NAME[name].desc if name in BY_NAME else from_catalogue(name)

    @settings(max_examples=10)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        kwargs, _ = data.draw(descriptions(desc_type, most=100))
        dml.validate(desc_type(**kwargs))

    run()
