"""Docstrings: every public name has one, and the examples in them are true."""

from __future__ import annotations

import doctest
import inspect
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu import device as devices
from dmlgpu import elements, functions, tensor
from dmlgpu.ops import (
    OPERATORS,
    fill,
    fold,
    gather_nd,
    index,
    movement,
    nonzero,
    padding,
    scatter,
    slice,
    sort,
)
from dmlgpu.plan.operator import Operator

CLASSES = [name for name in dml.__all__ if isinstance(getattr(dml, name), type)]
MOVING = [gather_nd, slice, movement, padding, fill, fold, index, scatter, nonzero, sort]
EXAMPLES = [tensor, devices, elements, functions, *MOVING]


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_attribute_is_documented(name: str) -> None:
    made = vars(getattr(dml, name))
    public = {key: value for key, value in made.items() if not key.startswith("_")}
    described = {
        key: value
        for key, value in public.items()
        if inspect.isfunction(value) or isinstance(value, (property, classmethod))
    }
    assert [key for key, value in described.items() if not inspect.getdoc(value)] == []


@pytest.mark.gpu
@pytest.mark.parametrize("module", EXAMPLES, ids=lambda module: module.__name__)
def test_the_examples_are_true(device: dml.Device, module: ModuleType) -> None:
    x = device.tensor(np.arange(6, dtype=np.int32).reshape(2, 3))
    names = {"dml": dml, "np": np, "device": device, "x": x}
    found = doctest.DocTestFinder().find(module, globs=names)
    examples = [test for test in found if test.examples]
    assert examples
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    for test in examples:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("family", MOVING, ids=lambda module: module.__name__)
def test_every_operator_that_moves_elements_has_an_example(family: ModuleType) -> None:
    """The site draws pictures from them."""
    docs = {o.name: (o.desc.__doc__ or "").partition("Example:\n")[2] for o in family.OPERATORS}
    assert [name for name, text in docs.items() if f"dml.{name.lower()}(" not in text] == []


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_the_function_of_an_operator_explains_its_arguments(operator: Operator[Any]) -> None:
    """Those that its description has from a class that several share are among them."""
    function = getattr(dml, operator.name.lower())
    if function is not getattr(functions, operator.name.lower(), None):  # not written by hand
        given = list(inspect.signature(function).parameters)
        text = inspect.getdoc(function) or ""
        told = re.findall(r"^    (\w+): \S", text.partition("Arguments:\n")[2], re.M)
        assert set(told) == set(given) - {"output_data_type", "output_sizes"}
