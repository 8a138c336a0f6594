"""The catalogue and the description classes: all of DirectML's operators, built or not."""

from __future__ import annotations

import runpy
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from expected import EXPECTED
from hypothesis import given, settings
from support.cases import Case
from support.generate import cases, grouped

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu import TensorDesc
from dmlgpu.desc.catalogue import entry, names
from dmlgpu.desc.description import fields, from_catalogue
from dmlgpu.ops import BY_NAME, description_named, operator_of


def told(name: str) -> list[tuple[str, str, str, bool]]:
    """Names, kinds and directions in the catalogue's order, and what may be left out."""
    return [
        (field, kind.removeprefix("optional "), direction, kind.startswith("optional "))
        for field, kind, direction in entry(name).fields
    ]


def test_there_are_177_operators() -> None:
    assert len(names()) == len(set(names())) == 177
    values = [entry(name).value for name in names()]
    assert values == sorted(set(values))


def test_the_catalogue_is_what_the_survey_of_the_documents_says() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "catalogue.py"))
    assert tool["MADE"].read_text(encoding="utf-8") == tool["made"]()


@pytest.mark.parametrize("name", names())
def test_a_description_has_the_fields_that_the_catalogue_says(name: str) -> None:
    desc = description_named(entry(name).desc_name)
    assert desc is not None
    assert getattr(dml, entry(name).desc_name) is desc
    for made in {desc, from_catalogue(name)}:
        assert [(f.name, f.kind, f.direction, f.optional) for f in fields(made)] == told(name)


def f32(*sizes: int) -> TensorDesc:
    return TensorDesc(T.FLOAT32, sizes)


def join(*inputs: TensorDesc, output: TensorDesc, axis: int = 1) -> Any:
    return from_catalogue("JOIN")(input_tensors=inputs, output_tensor=output, axis=axis)


def gemm(c: TensorDesc | None, output: TensorDesc) -> Any:
    return from_catalogue("GEMM")(
        a_tensor=f32(1, 1, 2, 3),
        b_tensor=f32(1, 1, 3, 4),
        c_tensor=c,
        output_tensor=output,
        trans_a=dml.MatrixTransform.NONE,
        trans_b=0,
        alpha=1,
        beta=0.5,
        fused_activation=None,
    )


def test_tensors_of_an_operator_that_is_not_built_may_be_left_out() -> None:
    dml.validate(gemm(None, f32(1, 1, 2, 4)))
    dml.validate(gemm(f32(1, 1, 2, 4), f32(1, 1, 2, 4)), L.FL_1_0)
    assert gemm(None, f32(1, 1, 2, 4)).trans_b is dml.MatrixTransform.NONE
    assert "c_tensor" not in gemm(None, f32(1, 1, 2, 4)).inputs()


def test_arrays_of_tensors_are_checked_one_by_one() -> None:
    one, two, out = f32(1, 2, 2, 2), f32(1, 3, 2, 2), f32(1, 5, 2, 2)
    dml.validate(join(one, two, output=out), L.FL_1_0)
    assert list(join(one, two, output=out).inputs()) == ["input_tensors[0]", "input_tensors[1]"]
    wrong = TensorDesc(T.INT8, (1, 3, 2, 2))
    with pytest.raises(dml.UnsupportedError, match=r"^JOIN: input_tensors\[1\] is INT8, allowed"):
        dml.validate(join(one, wrong, output=out), L.FL_1_0)
    with pytest.raises(dml.InvalidDescError, match=r"^JOIN: input_tensors\[1\] is INT8; .*FLOAT32"):
        dml.validate(join(one, wrong, output=out))
    with pytest.raises(dml.InvalidDescError, match=r"^JOIN: input_tensors is empty"):
        dml.validate(join(output=out))
    with pytest.raises(dml.InvalidDescError, match=r"^JOIN: input_tensors\[0\] is 5; it must be"):
        dml.validate(join(5, output=out))  # type: ignore[arg-type]


def test_equal_sizes_are_checked_for_an_operator_that_is_not_built() -> None:
    name = "LOCAL_RESPONSE_NORMALIZATION"
    assert name not in BY_NAME

    def made(x: TensorDesc, y: TensorDesc) -> Any:
        numbers = {"cross_channel": True, "local_size": 3, "alpha": 1e-4, "beta": 0.75, "bias": 1}
        return from_catalogue(name)(input_tensor=x, output_tensor=y, **numbers)

    dml.validate(made(f32(1, 2, 3, 4), f32(1, 2, 3, 4)), L.FL_1_0)
    message = rf"^{name}: output_tensor has sizes \(1, 2, 3, 5\); input_tensor has \(1, 2, 3, 4\)"
    with pytest.raises(dml.InvalidDescError, match=message):
        dml.validate(made(f32(1, 2, 3, 4), f32(1, 2, 3, 5)))
    with pytest.raises(dml.InvalidDescError, match=rf"^{name}: input_tensor has 2 dimensions"):
        dml.validate(made(f32(3, 4), f32(3, 4)))


def test_an_operator_that_is_not_built_is_not_run() -> None:
    name = next(name for name in reversed(names()) if name not in BY_NAME)
    made = object.__new__(from_catalogue(name))
    with pytest.raises(dml.UnsupportedError, match=rf"^{name} is not built yet"):
        operator_of(made)
    with pytest.raises(dml.UnsupportedError, match="belongs to no operator that is built"):
        dml.infer(from_catalogue(name))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_what_is_inferred_is_valid_and_holds_all_there_is(name: str) -> None:
    operator = BY_NAME[name]
    tensors = [field.name for field in operator.fields if field.is_tensor]
    alone = {n for group in grouped(operator.entry, tensors) if len(group) == 1 for n in group}

    @settings(max_examples=40)
    @given(cases(name))
    def run(case: Case) -> None:
        outputs = [field.name for field in operator.outputs]
        given = {k: v for k, v in case.kwargs.items() if k not in outputs and v is not None}
        made = dml.infer(operator.desc, **given, **EXPECTED[name].asked(case.desc))
        dml.validate(made)
        for field, output in made.outputs().items():
            drawn = case.desc.outputs()[field]
            assert output.data_type is drawn.data_type or field in alone
            assert output.is_packed
            sizes = zip_longest(output.sizes[::-1], drawn.sizes[::-1], fillvalue=1)
            assert all(n >= m for n, m in sizes)  # where ranks are free, leading 1s may differ

    run()
