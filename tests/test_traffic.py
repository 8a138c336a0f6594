"""The least traffic of descriptions, against sectors counted one by one."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from support.plans import every_plan

import dmlgpu as dml
from dmlgpu.desc.tensor import packed_strides
from dmlgpu.ops import traffic
from dmlgpu.plan.traffic import SECTOR

F32 = dml.DataType.FLOAT32


def counted(desc: dml.TensorDesc, addresses: np.ndarray[Any, Any]) -> int:
    """Bytes of the sectors that hold these elements."""
    item = desc.data_type.bits // 8
    touched = np.unique(addresses.reshape(-1) * item // SECTOR).size * SECTOR
    return min(int(touched), desc.total_tensor_size_in_bytes)


def addresses(desc: dml.TensorDesc) -> np.ndarray[Any, Any]:
    grids = np.indices(desc.sizes)
    return np.tensordot(np.array(desc.effective_strides), grids, 1)


@pytest.mark.parametrize("data_type", ["UINT8", "FLOAT16", "FLOAT32", "INT64"])
@pytest.mark.parametrize(
    ("sizes", "strides", "window"),
    [
        ((64, 128), None, np.s_[:, :]),
        ((64, 128), None, np.s_[:, ::2]),
        ((64, 128), None, np.s_[::2, :]),
        ((64, 128), None, np.s_[::-1, 3:99]),
        ((64, 128), None, np.s_[5:6, ::-1]),
        ((8, 64, 256), None, np.s_[::3, 1:, 64:128]),
        ((64, 256), None, np.s_[:, ::128]),
        ((64, 128), (256, 1), np.s_[:, :]),
        ((64, 128), (1, 64), np.s_[:, :]),
        ((64, 128), (0, 1), np.s_[:, :]),
    ],
)
def test_a_slice_reads_its_sectors(
    data_type: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None, window: Any
) -> None:
    source = dml.TensorDesc(dml.DataType[data_type], sizes, strides)
    spans = [range(n)[s] for n, s in zip(sizes, window, strict=True)]
    desc = dml.Slice1Desc(
        input_tensor=source,
        output_tensor=dml.TensorDesc(source.data_type, [len(span) for span in spans]),
        input_window_offsets=[min(span) for span in spans],
        input_window_sizes=[max(span) - min(span) + 1 for span in spans],
        input_window_strides=[span.step for span in spans],
    )
    dml.validate(desc)
    found = traffic(desc)
    exact = counted(source, addresses(source)[window])
    rows = prod(len(span) for span in spans[:-1])
    assert exact <= found["input_tensor"] + SECTOR
    assert found["input_tensor"] <= exact + rows * SECTOR
    assert found["output_tensor"] == prod(desc.output_tensor.sizes) * source.data_type.bits // 8


def test_slice_and_slice1_agree() -> None:
    source = dml.TensorDesc(F32, (32, 64))
    out = dml.TensorDesc(F32, (16, 30))
    given: dict[str, Any] = {"input_tensor": source, "output_tensor": out}
    one = dml.SliceDesc(**given, offsets=(1, 2), sizes=(16, 30), strides=(1, 2))
    two = dml.Slice1Desc(
        **given,
        input_window_offsets=(1, 2),
        input_window_sizes=(16, 60),
        input_window_strides=(1, 2),
    )
    assert traffic(one) == traffic(two)


def test_a_backward_slice_that_stops_early_reads_the_far_end() -> None:
    source = dml.TensorDesc(dml.DataType.UINT8, (256,))
    desc = dml.Slice1Desc(
        input_tensor=source,
        output_tensor=dml.TensorDesc(dml.DataType.UINT8, (32,)),
        input_window_offsets=(0,),
        input_window_sizes=(250,),
        input_window_strides=(-1,),
    )
    assert traffic(desc)["input_tensor"] == counted(source, np.arange(218, 250))


@pytest.mark.parametrize(
    ("sizes", "indices", "read"),
    [
        ((1000, 64), (100, 1), 100 * 256),  # rows
        ((1000, 2), (100, 1), 100 * SECTOR),  # each alone in its sector
        ((1000, 2), (5000, 1), 8000),  # more than there are: all of it, once
        ((100, 100), (50, 2), 50 * SECTOR),
    ],
)
def test_a_gather_reads_pieces_and_indices(
    sizes: tuple[int, int], indices: tuple[int, int], read: int
) -> None:
    natural = (indices[0], *sizes[indices[1] :])
    desc = dml.GatherNdDesc(
        input_tensor=dml.TensorDesc(F32, sizes),
        indices_tensor=dml.TensorDesc(dml.DataType.INT64, indices),
        output_tensor=dml.TensorDesc(F32, (1,) * (2 - len(natural)) + natural),
        input_dimension_count=2,
        indices_dimension_count=2,
    )
    dml.validate(desc)
    found = traffic(desc)
    assert found["input_tensor"] == read
    assert found["indices_tensor"] == prod(indices) * 8
    assert found["output_tensor"] == prod(natural) * 4


def test_a_broadcast_input_is_read_once() -> None:
    desc = dml.CumulativeSummationDesc(
        input_tensor=dml.TensorDesc(F32, (1024, 64), (0, 1)),
        output_tensor=dml.TensorDesc(F32, (1024, 64), packed_strides((1024, 64))),
        axis=0,
    )
    assert traffic(desc) == {"input_tensor": 256, "output_tensor": 1024 * 64 * 4}


def test_no_description_reads_more_than_it_has() -> None:
    for desc, _ in every_plan():
        for name, nbytes in traffic(desc).items():
            assert 0 < nbytes <= getattr(desc, name).total_tensor_size_in_bytes
