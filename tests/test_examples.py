"""The documents' worked examples, through descriptions and through functions, for every type.

tests/examples.jsonl holds the data lines of the operator specification as they stand there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.tables import IDX4, TABLES, row_at

import dmlgpu as dml
from dmlgpu import AxisDirection, TensorDesc
from dmlgpu import DataType as T
from dmlgpu.ops import BY_NAME

LINES = Path(__file__).with_name("examples.jsonl").read_text(encoding="utf-8").splitlines()
EXAMPLES = [json.loads(line) for line in LINES]


def fits(values: oracle.Array, data_type: T) -> bool:
    dtype = oracle.NUMPY_TYPES[data_type]
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return bool(values.min() >= info.min and values.max() <= info.max)
    return bool((values.astype(dtype) == values).all())


def types_that_fit(example: dict[str, Any], key: str, candidates: frozenset[T]) -> list[T]:
    values = np.array(example[key])
    return [t for t in sorted(candidates) if fits(values, t)]


def cases() -> Iterator[Any]:
    """Each example with each data type, and with each index type for the gathers."""
    for example in EXAMPLES:
        candidates = TABLES[example["op"]][max(TABLES[example["op"]])]["input_tensor"][1]
        index_types: list[T | None] = [None]
        if "indices" in example:
            index_types = list(types_that_fit(example, "indices", IDX4))
        for data_type in types_that_fit(example, "expect", candidates):
            for index_type in index_types:
                name = f"{example['id']}-{data_type.name}"
                name += f"-{index_type.name}" if index_type else ""
                yield pytest.param(example, data_type, index_type, id=name)


CASES = list(cases())


def arrays(example: dict[str, Any], data_type: T, index_type: T | None) -> list[oracle.Array]:
    found = [np.array(example["input"], oracle.NUMPY_TYPES[data_type])]
    if index_type is not None:
        found.append(np.array(example["indices"], oracle.NUMPY_TYPES[index_type]))
    return found


def describe(example: dict[str, Any], inputs: list[oracle.Array], out: oracle.Array) -> Any:
    kwargs: dict[str, Any] = {
        "input_tensor": TensorDesc(T.from_numpy(inputs[0].dtype), inputs[0].shape),
        "output_tensor": TensorDesc(T.from_numpy(out.dtype), out.shape),
    }
    op = example["op"]
    if "offsets" in example:
        prefix = "input_window_" if op == "SLICE1" else ""
        kwargs |= {f"{prefix}{k}": tuple(example[k]) for k in ("offsets", "sizes", "strides")}
    elif "indices" in example:
        kwargs["indices_tensor"] = TensorDesc(T.from_numpy(inputs[1].dtype), inputs[1].shape)
        kwargs["input_dimension_count"] = example["I"]
        kwargs["indices_dimension_count"] = example["N"]
        if op == "GATHER_ND1":
            kwargs["batch_dimension_count"] = example["B"]
    else:
        kwargs["axis"] = example["axis"]
        kwargs["axis_direction"] = AxisDirection[example["direction"]]
        flag = next(field.name for field in BY_NAME[op].fields if field.kind == "bool")
        kwargs[flag] = example["exclusive"]
    return BY_NAME[op].desc(**kwargs)


def call(example: dict[str, Any], inputs: list[Any]) -> dml.Tensor:
    op = example["op"]
    if "offsets" in example:
        window = (example["offsets"], example["sizes"], example["strides"])
        if op == "SLICE":
            return dml.slice(*inputs, *window)
        return dml.slice1(*inputs, *window, example["output_sizes"])
    if op == "GATHER_ND":
        return dml.gather_nd(*inputs, example["I"], example["N"])
    if op == "GATHER_ND1":
        counts = (example["I"], example["N"])
        return dml.gather_nd1(*inputs, *counts, batch_dimension_count=example["B"])
    run = {
        "CUMULATIVE_SUMMATION": dml.cumulative_summation,
        "CUMULATIVE_PRODUCT": dml.cumulative_product,
    }[op]
    direction = AxisDirection[example["direction"]]
    return run(*inputs, example["axis"], direction, example["exclusive"])


def test_there_are_25_examples() -> None:
    assert len(EXAMPLES) == 25
    assert {example["op"] for example in EXAMPLES} == TABLES.keys()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_the_oracle_gives_the_documents_numbers(example: dict[str, Any]) -> None:
    x, expect = np.array(example["input"]), np.array(example["expect"])
    if example["op"] == "SLICE":
        out = oracle.slice_(x, example["offsets"], example["sizes"], example["strides"])
    elif example["op"] == "SLICE1":
        out = oracle.slice1(
            x, example["offsets"], example["sizes"], example["strides"], example["output_sizes"]
        )
    elif "indices" in example:
        indices = np.array(example["indices"])
        counts = (example["I"], example["N"], example["B"])
        out = oracle.gather_nd(x, indices, *counts)
        assert oracle.gather_nd_sizes(x.shape, indices.shape, *counts) == expect.shape
    else:
        out = oracle.scan(
            x,
            example["axis"],
            decreasing=example["direction"] == "DECREASING",
            exclusive=example["exclusive"],
            product=example["op"] == "CUMULATIVE_PRODUCT",
            accumulator=np.int64,
        )
    np.testing.assert_array_equal(out, expect)
    assert out.shape == expect.shape


@pytest.mark.parametrize(("example", "data_type", "index_type"), CASES)
def test_examples_are_valid_at_the_levels_that_know_them(
    example: dict[str, Any], data_type: T, index_type: T | None
) -> None:
    out = np.array(example["expect"], oracle.NUMPY_TYPES[data_type])
    desc = describe(example, arrays(example, data_type, index_type), out)
    for level in dml.FeatureLevel:
        row = row_at(example["op"], level)
        if row is not None and all(
            getattr(desc, field).rank in ranks and getattr(desc, field).data_type in types
            for field, (ranks, types) in row.items()
        ):
            dml.validate(desc, level)
        else:
            with pytest.raises(dml.UnsupportedError):
                dml.validate(desc, level)


@pytest.mark.gpu
@pytest.mark.parametrize(("example", "data_type", "index_type"), CASES)
def test_examples_through_descriptions(
    device: dml.Device, example: dict[str, Any], data_type: T, index_type: T | None
) -> None:
    inputs = arrays(example, data_type, index_type)
    expect = np.array(example["expect"], oracle.NUMPY_TYPES[data_type])
    op = device.compile(describe(example, inputs, expect))
    out = op(*(device.tensor(array) for array in inputs)).numpy()
    assert out.dtype == expect.dtype
    assert out.tolist() == expect.tolist()
    assert op(*inputs).numpy().tolist() == expect.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize(("example", "data_type", "index_type"), CASES)
def test_examples_through_functions(
    device: dml.Device, example: dict[str, Any], data_type: T, index_type: T | None
) -> None:
    inputs = arrays(example, data_type, index_type)
    expect = np.array(example["expect"], oracle.NUMPY_TYPES[data_type])
    out = call(example, [device.tensor(array) for array in inputs]).numpy()
    assert out.dtype == expect.dtype
    # A gather that is told its counts answers in the natural rank, without the leading ones.
    assert out.reshape(expect.shape).tolist() == expect.tolist()
    if "indices" not in example:
        assert out.shape == expect.shape
