"""TensorDesc, DataType and the other enumerations: facts, and the rules every tensor obeys."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.draws import input_strides, sizes

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc

DATA_TYPE_VALUES = {
    "UNKNOWN": 0,
    "FLOAT32": 1,
    "FLOAT16": 2,
    "UINT32": 3,
    "UINT16": 4,
    "UINT8": 5,
    "INT32": 6,
    "INT16": 7,
    "INT8": 8,
    "FLOAT64": 9,
    "UINT64": 10,
    "INT64": 11,
    "UINT4": 12,
    "INT4": 13,
}
LEVELS = "10 20 21 30 31 40 41 50 51 52 60 61 62 63 64"


@pytest.mark.gpu
def test_masks_are_not_lost(device: dml.Device) -> None:
    masked = np.ma.array([1, 2], mask=[True, False])
    for use in (lambda: device.tensor(masked), lambda: device.tensor([1, 2]) + masked):
        with pytest.raises(dml.InvalidTypeError, match="a masked array, whose mask would be lost"):
            use()
    assert device.tensor(np.ma.array([1, 2])).tolist() == [1, 2]


def test_data_types_have_directmls_values() -> None:
    assert {t.name: int(t) for t in T} == DATA_TYPE_VALUES


def test_feature_levels_have_directmls_values() -> None:
    expected = {f"FL_{n[0]}_{n[1]}": int(f"{n}00", 16) for n in LEVELS.split()}
    assert expected["FL_6_4"] == 0x6400
    assert {level.name: int(level) for level in dml.FeatureLevel} == expected
    assert list(dml.FeatureLevel) == sorted(dml.FeatureLevel)


def test_the_small_enumerations() -> None:
    assert {d.name: int(d) for d in dml.AxisDirection} == {"INCREASING": 0, "DECREASING": 1}
    assert int(dml.TensorFlags.NONE) == 0
    assert int(dml.TensorFlags.OWNED_BY_DML) == 1


@pytest.mark.parametrize(("data_type", "dtype"), oracle.NUMPY_TYPES.items())
def test_data_types_and_numpy_types_correspond(data_type: T, dtype: np.dtype[Any]) -> None:
    assert T.from_numpy(dtype) is data_type
    assert T.from_numpy(dtype.type) is data_type
    assert np.dtype(data_type.numpy) == dtype


@pytest.mark.parametrize("dtype", [np.bool_, np.complex64, "U4", "M8[s]", object])
def test_numpy_types_without_a_counterpart_are_refused(dtype: Any) -> None:
    with pytest.raises(dml.InvalidDescError):
        T.from_numpy(np.dtype(dtype))


@pytest.mark.parametrize(
    ("data_type", "shape", "strides", "least"),
    [
        (T.FLOAT32, (1, 1, 3, 5), None, 60),
        (T.FLOAT32, (1, 1, 3, 5), (15, 1, 5, 1), 60),
        (T.FLOAT32, (2, 3), (0, 1), 12),
        (T.FLOAT32, (2, 3), (5, 1), 32),
        (T.FLOAT16, (3,), None, 8),
        (T.UINT8, (3, 3), None, 12),
        (T.INT64, (3,), None, 24),
        (T.UINT4, (5,), None, 4),
        (T.INT4, (9,), None, 8),
        (T.FLOAT32, (2**16, 2**14), None, 2**32),
        (T.UINT64, (2,), (2**32 - 2,), 8 * (2**32 - 1)),
    ],
)
def test_minimum_sizes(
    data_type: T, shape: tuple[int, ...], strides: tuple[int, ...] | None, least: int
) -> None:
    desc = TensorDesc(data_type, shape, strides)
    assert desc.minimum_size_in_bytes == least
    assert desc.total_tensor_size_in_bytes == least


@given(sizes().flatmap(lambda s: st.tuples(st.just(s), input_strides(s))), st.sampled_from(T))
def test_facts_of_any_tensor(layout: tuple[Any, Any], data_type: T) -> None:
    shape, strides = layout
    if data_type not in oracle.NUMPY_TYPES:
        return
    desc = TensorDesc(data_type, shape, strides)
    assert desc.rank == len(shape)
    assert desc.element_count == int(np.prod(shape))
    assert tuple(desc.effective_strides) == oracle.strides_of(shape, strides)
    assert desc.minimum_size_in_bytes == oracle.minimum_size(data_type, shape, strides)
    assert desc == TensorDesc(data_type, shape, strides)
    assert hash(desc) == hash(TensorDesc(data_type, shape, strides))


def test_the_documents_layouts() -> None:
    assert TensorDesc(T.FLOAT32, (1, 1, 3, 5)).effective_strides == (15, 15, 5, 1)
    assert TensorDesc(T.FLOAT32, (1, 1, 3, 5), (15, 1, 5, 1)).effective_strides == (15, 1, 5, 1)


def test_a_description_is_frozen() -> None:
    desc = TensorDesc(T.FLOAT32, (2, 3))
    with pytest.raises(AttributeError):
        desc.sizes = (3, 2)  # type: ignore[misc]


def identity(source: TensorDesc, target: TensorDesc) -> dml.SliceDesc:
    ones = (1,) * len(source.sizes)
    return dml.SliceDesc(
        input_tensor=source,
        output_tensor=target,
        offsets=(0,) * len(source.sizes),
        sizes=source.sizes,
        strides=ones,
    )


NAMED = r"^(SLICE: {field}|TensorDesc)\b.*"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"sizes": (2, 0)}, r"sizes\[1\].*\b0\b"),
    ({"sizes": (2, -3)}, r"sizes\[1\].*-3\b"),
    ({"sizes": (2**32, 1)}, rf"sizes\[0\].*\b{2**32}\b"),
    ({"sizes": ()}, r"(sizes|dimensions).*|\b0\b"),
    ({"sizes": (1,) * 9}, r"\b9\b"),
    ({"data_type": T.UNKNOWN}, r"data_type.*UNKNOWN|UNKNOWN"),
    ({"strides": (3,)}, r"strides.*\b1\b"),
    ({"strides": (3, 1, 1)}, r"strides.*\b3\b"),
    ({"strides": (-3, 1)}, r"strides\[0\].*-3\b"),
    ({"strides": (2**32, 1)}, rf"strides\[0\].*\b{2**32}\b"),
    ({"strides": (2**32 - 1, 1)}, r""),
    ({"total_tensor_size_in_bytes": 20}, r"total_tensor_size_in_bytes.*\b20\b.*\b24\b"),
    ({"total_tensor_size_in_bytes": 26}, r"total_tensor_size_in_bytes.*\b26\b.*\b4\b"),
    ({"total_tensor_size_in_bytes": 2**64}, r"total_tensor_size_in_bytes"),
    ({"guaranteed_base_offset_alignment": 24}, r"guaranteed_base_offset_alignment.*\b24\b"),
    ({"guaranteed_base_offset_alignment": 2}, r"guaranteed_base_offset_alignment.*\b2\b"),
    ({"guaranteed_base_offset_alignment": -16}, r"guaranteed_base_offset_alignment.*-16\b"),
]


@pytest.mark.parametrize("field", ["input_tensor", "output_tensor"])
@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refused_tensors(changes: dict[str, Any], message: str, field: str) -> None:
    fields: dict[str, Any] = {"data_type": T.FLOAT32, "sizes": (2, 3)}

    def validate() -> None:
        good, bad = TensorDesc(**fields), TensorDesc(**(fields | changes))
        dml.validate(identity(bad, good) if field == "input_tensor" else identity(good, bad))

    with pytest.raises(dml.InvalidDescError, match=NAMED.format(field=field) + message):
        validate()


@pytest.mark.parametrize("strides", [(0, 1), (1, 0), (1, 1), (2, 1), (0, 0)], ids=str)
def test_an_output_that_overlaps_itself_is_refused(strides: tuple[int, int]) -> None:
    good = TensorDesc(T.FLOAT32, (2, 3))
    with pytest.raises(dml.InvalidDescError, match=r"^SLICE: output_tensor.*strides"):
        dml.validate(identity(good, TensorDesc(T.FLOAT32, (2, 3), strides)))
    dml.validate(identity(TensorDesc(T.FLOAT32, (2, 3), strides), good))


def test_a_layout_made_to_be_hard_is_refused_soon() -> None:
    """Whether it overlaps itself is not found out by trying millions of sums."""
    hard = TensorDesc(
        T.UINT8,
        (8, 20, 8, 3, 551, 583),
        (2606525, 2004785, 2988689, 1347305, 1845135, 1704315),
    )
    began = time.process_time()
    assert hard.overlaps_itself
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((2, 2), (3, 2)),
        ((3, 2), (2, 3)),
        ((2, 3), (1, 2)),
        ((2, 3), (7, 2)),
        ((1, 3), (0, 1)),
        ((2, 1), (1, 0)),
        ((1, 1), (0, 0)),
        ((3, 5), (5, 3)),
        ((1, 2), (2**32 - 1, 1)),
    ],
)
def test_an_output_whose_elements_are_distinct_is_accepted(
    shape: tuple[int, int], strides: tuple[int, int]
) -> None:
    places = oracle.addresses(shape, strides)
    distinct = np.unique(places).size == places.size
    source, target = TensorDesc(T.UINT8, shape), TensorDesc(T.UINT8, shape, strides)
    if distinct:
        dml.validate(identity(source, target))
    else:
        with pytest.raises(dml.InvalidDescError, match="output_tensor"):
            dml.validate(identity(source, target))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=5))
def test_overlap_of_outputs_is_judged_exactly(dims: list[tuple[int, int]]) -> None:
    shape, strides = (tuple(column) for column in zip(*dims, strict=True))
    places = oracle.addresses(shape, strides)
    desc = identity(TensorDesc(T.INT32, shape), TensorDesc(T.INT32, shape, strides))
    if np.unique(places).size == places.size:
        dml.validate(desc)
    else:
        with pytest.raises(dml.InvalidDescError, match=r"^SLICE: output_tensor.*strides"):
            dml.validate(desc)


def test_validation_of_a_huge_tensor_allocates_nothing() -> None:
    sizes = (2**16 - 1, 2**16 + 1)  # 2**32 - 1 elements, the most there may be
    huge = TensorDesc(T.FLOAT64, sizes, (1, 2**16 - 1))
    dml.validate(identity(huge, huge))
    with pytest.raises(dml.InvalidDescError, match=rf"\b{2**32 - 1}\b"):
        dml.validate(identity(huge, TensorDesc(T.FLOAT64, sizes, (1, 2**16))))
    one = TensorDesc(T.UINT8, (1, 1))
    with pytest.raises(dml.InvalidDescError, match=rf"\b{2**32 - 1}\b"):
        dml.validate(identity(TensorDesc(T.UINT8, (2**16, 2**16)), one))


def test_an_owned_output_is_refused() -> None:
    good = TensorDesc(T.FLOAT32, (2, 3))
    owned = TensorDesc(T.FLOAT32, (2, 3), flags=dml.TensorFlags.OWNED_BY_DML)
    dml.validate(identity(owned, good))
    with pytest.raises(dml.InvalidDescError, match=r"^SLICE: output_tensor.*OWNED_BY_DML"):
        dml.validate(identity(good, owned))
