"""Ten seconds: the library imports, an adapter is there, and each kind of work runs once on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.generate import check, smallest, smallest_support

import dmlgpu as dml
from dmlgpu.desc.description import fields
from dmlgpu.ops import OPERATORS

pytestmark = pytest.mark.smoke


def one_of_each_kind() -> dict[str, Case]:
    """The first operator of each kind of work, with one element in each tensor."""
    found: dict[str, Case] = {}
    for operator in OPERATORS:
        support = smallest_support(operator.entry)
        row = support[max(support)]
        types = {name: min(cell.data_types) for name, cell in row.items()}
        rank = max(2, *(cell.ranks[0] for cell in row.values()))
        desc = smallest(operator.name, rank, types)
        kwargs = {field.name: getattr(desc, field.name) for field in fields(operator.desc)}
        kind = type(operator.work(desc)).__name__
        found.setdefault(kind, Case(operator.name, kwargs, seed=1, mode="exact"))
    return found


KINDS = one_of_each_kind()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_work_runs(execute: Any, kind: str) -> None:
    check(KINDS[kind], execute)


@pytest.mark.gpu
def test_an_array_comes_back(device: dml.Device) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(device.tensor(x)[::-1].numpy(), x[::-1])


def test_a_description_is_validated_without_an_adapter() -> None:
    x = dml.TensorDesc(dml.DataType.FLOAT32, (2, 3))
    desc = dml.infer(dml.CumulativeSummationDesc, input_tensor=x, axis=1)
    dml.validate(desc)
    with pytest.raises(dml.UnsupportedError):
        dml.validate(desc, dml.FeatureLevel.FL_1_0)
