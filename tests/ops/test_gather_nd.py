"""GATHER_ND and GATHER_ND1: bit-exact gathers against NumPy, and everything they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracle
from support.cases import Case
from support.draws import Draw, Kwargs
from support.generate import Fault, change, check, own_faults
from support.tables import IDX4

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.ops import BY_NAME

Invalid, Unsupported = dml.InvalidDescError, dml.UnsupportedError
EVERY_TYPE = sorted(oracle.NUMPY_TYPES)
INDEX_TYPES = sorted(IDX4)


def gather(
    data_type: T,
    index_type: T,
    x: tuple[int, ...],
    indices: tuple[int, ...],
    counts: tuple[int, int, int],
    *,
    x_strides: tuple[int, ...] | None = None,
    index_strides: tuple[int, ...] | None = None,
    out_strides: tuple[int, ...] | None = None,
    mode: str = "edges",
) -> Case:
    kwargs = {
        "input_tensor": dml.TensorDesc(data_type, x, x_strides),
        "indices_tensor": dml.TensorDesc(index_type, indices, index_strides),
        "output_tensor": dml.TensorDesc(
            data_type, oracle.gather_nd_sizes(x, indices, *counts), out_strides
        ),
        "input_dimension_count": counts[0],
        "indices_dimension_count": counts[1],
        "batch_dimension_count": counts[2],
    }
    return Case("GATHER_ND1", kwargs, seed=11, mode=mode)


# input sizes, indices sizes, (real input dims, real index dims, batch dims)
SHAPES: dict[str, tuple[Any, ...]] = {
    "scalars": ((31, 7), (53, 2), (2, 2, 0)),
    "odd_rows": ((9, 37), (14, 1), (2, 2, 0)),
    "blocks": ((5, 3, 7), (1, 6, 1), (3, 2, 0)),
    "batched": ((3, 4, 5, 6), (3, 4, 2, 1), (4, 4, 2)),
    "field_example": ((3, 4, 5, 6, 7), (1, 1, 1, 2, 3), (5, 3, 0)),
    "eight_coordinates": ((2, 3, 1, 2, 3, 2, 1, 2), (1, 1, 1, 1, 1, 1, 9, 8), (8, 2, 0)),
    "one_tuple": ((4,), (1,), (1, 1, 0)),
}


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("index_type", INDEX_TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_pair_of_types(execute: Any, shape: str, index_type: T, data_type: T) -> None:
    check(gather(data_type, index_type, *SHAPES[shape]), execute)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64])
@pytest.mark.parametrize("index_type", [T.UINT32, T.INT64])
@pytest.mark.parametrize(
    "strides",
    [
        {"x_strides": (1, 9)},
        {"x_strides": (0, 1)},
        {"x_strides": (3, 2)},
        {"index_strides": (0, 1)},
        {"index_strides": (5, 3)},
        {"out_strides": (1, 14)},
        {"out_strides": (41, 1)},
        {"out_strides": (5, 71)},
    ],
    ids=str,
)
def test_layouts(execute: Any, strides: dict[str, Any], index_type: T, data_type: T) -> None:
    check(gather(data_type, index_type, *SHAPES["odd_rows"], **strides), execute)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("data_type", "index_type"), [(T.UINT8, T.INT64), (T.FLOAT32, T.UINT32), (T.INT16, T.INT32)]
)
def test_an_output_that_interleaves_without_nesting(
    execute: Any, data_type: T, index_type: T
) -> None:
    shape = ((3, 2), (2, 1), (2, 2, 0))
    check(gather(data_type, index_type, *shape, out_strides=(3, 2)), execute)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int64])
def test_many_short_rows(device: dml.Device, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 100, (11, 3)).astype(dtype)
    indices = rng.integers(-11, 11, (70_001, 1))
    out = dml.gather_nd(device.tensor(x), device.tensor(indices)).numpy()
    assert np.array_equal(out, x[indices[:, 0]])


@pytest.mark.gpu
def test_more_than_65535_workgroups_of_scalars(device: dml.Device) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2**32, 1009, np.uint32)
    indices = rng.integers(0, 1009, (17_000_000, 1), np.uint32)
    out = dml.gather_nd(device.tensor(x), device.tensor(indices)).numpy()
    assert np.array_equal(out, x[indices[:, 0]])


@pytest.mark.gpu
def test_more_than_65535_workgroups_of_rows(device: dml.Device) -> None:
    # 64 invocations of 16 bytes each are 1 KiB of output: 80 MB needs more than 65,535 such groups.
    x = np.frombuffer(oracle.random_bytes(120_000_000, 3), np.uint8).reshape(3, -1)
    out = dml.gather_nd(device.tensor(x), device.tensor(np.array([[2], [0]], np.int32))).numpy()
    assert np.array_equal(out, x[[2, 0]])


def f32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.FLOAT32, sizes)


def u32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.UINT32, sizes)


BASE: dict[str, Kwargs] = {
    "GATHER_ND": {
        "input_tensor": f32(1, 2, 2, 2),
        "indices_tensor": u32(1, 1, 2, 2),
        "output_tensor": f32(1, 1, 2, 2),
        "input_dimension_count": 3,
        "indices_dimension_count": 2,
    },
    "GATHER_ND1": {
        "input_tensor": f32(1, 3, 2, 2),
        "indices_tensor": u32(1, 3, 2, 2),
        "output_tensor": f32(1, 1, 3, 2),
        "input_dimension_count": 3,
        "indices_dimension_count": 3,
        "batch_dimension_count": 1,
    },
}
BOTH = ("GATHER_ND", "GATHER_ND1")
NO_BATCH: dict[str, Kwargs] = {"GATHER_ND": {}, "GATHER_ND1": {"batch_dimension_count": 0}}


def typed(operator: str, data_type: T, *fields: str) -> Kwargs:
    fields = fields or ("input_tensor", "output_tensor")
    return {field: change(BASE[operator][field], data_type=data_type) for field in fields}


def ranked(rank: int) -> Kwargs:
    """One coordinate into one element, every tensor of this rank."""
    ones = (1,) * rank
    return {
        "input_tensor": lambda: f32(*ones),
        "indices_tensor": lambda: u32(*ones),
        "output_tensor": lambda: f32(*ones),
        "input_dimension_count": 1,
        "indices_dimension_count": 1,
    }


def common_rejected(op: str) -> list[tuple[Kwargs, L, type[Exception], str]]:
    return [
        ({"input_dimension_count": 0}, L.FL_6_4, Invalid, r"input_dimension_count.*\b0\b"),
        ({"input_dimension_count": 5}, L.FL_6_4, Invalid, r"input_dimension_count.*\b5\b"),
        ({"input_dimension_count": -1}, L.FL_6_4, Invalid, r"input_dimension_count.*-1\b"),
        ({"indices_dimension_count": 0}, L.FL_6_4, Invalid, r"indices_dimension_count.*\b0\b"),
        ({"indices_dimension_count": 5}, L.FL_6_4, Invalid, r"indices_dimension_count.*\b5\b"),
        ({"indices_dimension_count": 2**32}, L.FL_6_4, Invalid, rf"indices_.*{2**32}"),
        ({"indices_tensor": u32(1, 2, 2)}, L.FL_6_4, Invalid, r"indices_tensor.*\b3\b"),
        ({"output_tensor": f32(1, 1, 1, 2, 2)}, L.FL_6_4, Invalid, r"output_tensor.*\b5\b"),
        ({"output_tensor": f32(1, 2, 2, 2)}, L.FL_6_4, Invalid, r"output_tensor"),
        (typed(op, T.FLOAT16, "output_tensor"), L.FL_6_4, Invalid, "output_tensor.*FLOAT16"),
        (typed(op, T.INT16, "indices_tensor"), L.FL_6_4, Invalid, "indices_tensor.*INT16"),
        (typed(op, T.FLOAT32, "indices_tensor"), L.FL_6_4, Invalid, "indices_tensor.*FLOAT32"),
        (typed(op, T.INT4), L.FL_6_4, Invalid, "input_tensor.*INT4"),
        (typed(op, T.FLOAT64), L.FL_4_0, Unsupported, "input_tensor.*FLOAT64.*FL_4_1.*FL_4_0"),
    ]


REJECTED = [(op, *row) for op in BOTH for row in common_rejected(op)] + [
    # Three coordinates per tuple, two real input dimensions.
    (
        "GATHER_ND",
        {
            "input_tensor": f32(1, 1, 2, 2),
            "indices_tensor": u32(1, 1, 2, 3),
            "output_tensor": f32(1, 1, 1, 2),
            "input_dimension_count": 2,
        },
        L.FL_6_4,
        Invalid,
        r"indices_tensor.*\b3\b",
    ),
    ("GATHER_ND1", {"batch_dimension_count": -1}, L.FL_6_4, Invalid, r"batch_.*-1\b"),
    ("GATHER_ND1", {"batch_dimension_count": 3}, L.FL_6_4, Invalid, r"batch_.*\b3\b"),
    (
        "GATHER_ND1",
        {
            "input_tensor": f32(2, 2, 2, 2),
            "indices_tensor": u32(1, 1, 2, 2),
            "output_tensor": f32(1, 1, 1, 2),
            "input_dimension_count": 4,
            "indices_dimension_count": 2,
            "batch_dimension_count": 2,
        },
        L.FL_6_4,
        Invalid,
        r"batch_dimension_count.*\b2\b",
    ),
    # One batch dimension leaves two input dimensions; the tuples have three coordinates.
    (
        "GATHER_ND1",
        {"indices_tensor": u32(1, 3, 2, 3)},
        L.FL_6_4,
        Invalid,
        r"indices_tensor.*\b3\b.*\b2\b",
    ),
    (
        "GATHER_ND1",
        {"indices_tensor": u32(1, 2, 2, 2), "output_tensor": f32(1, 1, 2, 2)},
        L.FL_6_4,
        Invalid,
        r"indices_tensor.*\b2\b.*\b3\b|input_tensor.*\b3\b.*\b2\b",
    ),
    ("GATHER_ND", {"input_tensor": f32(2, 2, 2, 2)}, L.FL_6_4, Invalid, r"input_tensor.*\b2\b"),
    ("GATHER_ND", {"indices_tensor": u32(1, 3, 2, 2)}, L.FL_6_4, Invalid, r"indices_.*\b3\b"),
    # The sizes that the pages' printed formula gives.
    ("GATHER_ND1", {"output_tensor": f32(3, 2, 2, 2)}, L.FL_6_4, Invalid, r"output_tensor"),
    # Real output rank (3 - 1) + 3 in tensors of rank 4.
    (
        "GATHER_ND",
        {
            "input_tensor": f32(2, 2, 2, 2),
            "indices_tensor": u32(1, 3, 3, 1),
            "output_tensor": f32(3, 2, 2, 2),
            "input_dimension_count": 4,
            "indices_dimension_count": 3,
        },
        L.FL_6_4,
        Invalid,
        r"\b5\b",
    ),
    ("GATHER_ND", {}, L.FL_2_0, Unsupported, "FL_2_1.*FL_2_0"),
    ("GATHER_ND1", {}, L.FL_2_1, Unsupported, "FL_3_0.*FL_2_1"),
    *(
        (
            "GATHER_ND",
            typed("GATHER_ND", index_type, "indices_tensor"),
            L.FL_2_1,
            Unsupported,
            rf"indices_tensor.*\b{index_type.name}\b.*FL_3_0.*FL_2_1",
        )
        for index_type in (T.INT32, T.INT64, T.UINT64)
    ),
    ("GATHER_ND", ranked(5), L.FL_2_1, Unsupported, r"_tensor.*\b5\b.*FL_"),
    ("GATHER_ND", ranked(2), L.FL_2_1, Unsupported, r"_tensor.*\b2\b.*FL_"),
]


@pytest.mark.parametrize(("operator", "changes", "level", "error", "message"), REJECTED)
def test_rejected(
    operator: str, changes: Kwargs, level: L, error: type[dml.DmlError], message: str
) -> None:
    fault = Fault(operator, BASE[operator] | changes, error, level)
    with pytest.raises(error, match=rf"^{operator}\b.*({message})") as caught:
        fault.validate()
    assert type(caught.value) is error


@pytest.mark.parametrize("operator", BOTH)
def test_nine_dimensions_are_rejected(operator: str) -> None:
    with pytest.raises(Invalid, match=rf"^({operator}|TensorDesc)\b.*\b9\b"):
        Fault(operator, BASE[operator] | ranked(9) | NO_BATCH[operator]).validate()


def test_the_documents_field_example_has_these_sizes() -> None:
    for operator in BOTH:
        desc = BY_NAME[operator].desc(
            input_tensor=f32(3, 4, 5, 6, 7),
            indices_tensor=u32(1, 1, 1, 2, 3),
            output_tensor=f32(1, 1, 2, 6, 7),
            input_dimension_count=5,
            indices_dimension_count=3,
            **NO_BATCH[operator],
        )
        dml.validate(desc, L.FL_3_0)


def wrong(draw: Draw, kwargs: Kwargs) -> list[Kwargs]:
    """One field of a valid description changed so that one rule of the gathers breaks."""
    source, indices, target = (kwargs[f] for f in kwargs if f.endswith("_tensor"))
    rank = source.rank
    d = draw(st.integers(0, rank - 1))
    wrong_out = (*target.sizes[:d], target.sizes[d] + 1, *target.sizes[d + 1 :])
    other = draw(st.sampled_from([t for t in EVERY_TYPE if t != source.data_type]))
    no_index = draw(st.sampled_from(sorted(set(T) - IDX4 - {T.UNKNOWN})))
    count = draw(st.sampled_from((0, rank + 1, -1, 2**32)))
    wide = (*indices.sizes[:-1], kwargs["input_dimension_count"] + 1)
    changes: list[Kwargs] = [
        {"input_dimension_count": count},
        {"indices_dimension_count": count},
        {"output_tensor": change(target, sizes=wrong_out, strides=None)},
        {"output_tensor": change(target, data_type=other)},
        {"indices_tensor": change(indices, data_type=no_index)},
        {"indices_tensor": change(indices, sizes=wide, strides=None)},
    ]
    if rank < 8:
        field = draw(st.sampled_from([f for f in kwargs if f.endswith("_tensor")]))
        longer = (1, *kwargs[field].sizes)
        changes.append({field: change(kwargs[field], sizes=longer, strides=None)})
    padded = [
        field
        for field, real in (("input_tensor", "input"), ("indices_tensor", "indices"))
        if kwargs[f"{real}_dimension_count"] < rank
    ]
    for field in padded:
        changes.append({field: change(kwargs[field], sizes=(2, *kwargs[field].sizes[1:]))})
    batch = kwargs.get("batch_dimension_count")
    if batch is not None:
        real = min(kwargs["input_dimension_count"], kwargs["indices_dimension_count"])
        changes.append({"batch_dimension_count": draw(st.sampled_from((-1, real, 2**32)))})
    if batch:
        at = rank - kwargs["indices_dimension_count"]
        fewer = (*indices.sizes[:at], indices.sizes[at] + 1, *indices.sizes[at + 1 :])
        changes.append({"indices_tensor": change(indices, sizes=fewer, strides=None)})
    return changes


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults("GATHER_ND", wrong))
def test_random_faults_of_gather_nd(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults("GATHER_ND1", wrong))
def test_random_faults_of_gather_nd1(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)
