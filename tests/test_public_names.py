"""The public names: all that are promised, nothing more by accident."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest
from support.promises import ATTRIBUTES, DESCS, ERRORS, FUNCTIONS, METHODS, PROMISED

import dmlgpu as dml


def names(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_every_promised_name_is_public() -> None:
    assert PROMISED - set(dml.__all__) == {"slice"}
    assert callable(dml.slice)
    assert "slice" in dir(dml)


def test_all_has_no_name_twice_and_no_private_one() -> None:
    assert len(dml.__all__) == len(set(dml.__all__))
    assert [name for name in dml.__all__ if name.startswith("_")] == ["__version__"]


def test_nothing_leaks_into_the_package() -> None:
    """Beside the public names there are only the package's own modules.

    `slice` is public, but `from dmlgpu import *` must not hide Python's own.
    """
    assert dml.scatter is not None
    assert dml.ScatterDesc is dml.ScatterElementsDesc
    extra = {
        name
        for name, value in vars(dml).items()
        if not name.startswith("_")
        and name not in dir(dml)  # what was asked for before stays
        and not (isinstance(value, ModuleType) and value.__name__ == f"dmlgpu.{name}")
    }
    assert extra == set()
    assert "slice" not in dml.__all__


@pytest.mark.parametrize("name", sorted(set(dml.__all__) - {"__version__"}))
def test_a_public_name_is_this_librarys_and_documented(name: str) -> None:
    value = getattr(dml, name)
    assert value.__module__.startswith("dmlgpu.")
    text = inspect.getdoc(value) or f"{name}("
    assert not text.startswith(f"{name}(")  # what a dataclass without one would say


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_promised_arguments(name: str) -> None:
    assert names(getattr(dml, name)) == FUNCTIONS[name].split()


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_the_promised_arguments(name: str) -> None:
    for method, expected in METHODS[name].items():
        given = names(getattr(getattr(dml, name), method))
        assert given[: len(expected.split())] == expected.split(), method


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_classes_have_the_promised_attributes(name: str) -> None:
    assert [a for a in ATTRIBUTES[name] if not hasattr(getattr(dml, name), a)] == []


@pytest.mark.parametrize("name", DESCS)
def test_descriptions_are_frozen_and_keyword_only(name: str) -> None:
    desc = getattr(dml, name)
    parameters = inspect.signature(desc).parameters
    tensors = ["input_tensor", "indices_tensor", "output_tensor"]
    if not name.startswith("Gather"):
        tensors.remove("indices_tensor")
    assert list(parameters) == tensors + DESCS[name]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())
    assert desc.__dataclass_params__.frozen


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_promised_bases_and_codes(name: str) -> None:
    base, also, code = ERRORS[name]
    error = getattr(dml, name)
    assert issubclass(error, getattr(dml, base))
    assert issubclass(error, also)
    assert error.hresult == code


def test_levels_have_directmls_values() -> None:
    assert (min(dml.FeatureLevel), max(dml.FeatureLevel)) == (0x1000, 0x6400)
    assert all(level == int(level.name[3:].replace("_", ""), 16) << 8 for level in dml.FeatureLevel)
