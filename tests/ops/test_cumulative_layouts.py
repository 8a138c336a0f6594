"""Scans of layouts that a GPU changes first: views across their output, and a few thin columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu
from support.plans import ADAPTERS

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.ops import operator_of
from dmlgpu.plan import scan
from dmlgpu.plan.dispatch import Adapter

GPU = Adapter(subgroup_min=32, subgroup_max=32, forward_progress=True, max_binding=1 << 31)


def described(
    sizes: tuple[int, ...], order: tuple[int, ...], axis: int, data_type: T = T.FLOAT32
) -> dml.CumulativeSummationDesc:
    """A sum along an axis of a view whose dimensions lie in memory in that order."""
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step *= sizes[d]
    return dml.CumulativeSummationDesc(
        input_tensor=dml.TensorDesc(data_type, sizes, strides),
        output_tensor=dml.TensorDesc(data_type, sizes),
        axis=axis,
    )


def shaders(desc: dml.CumulativeSummationDesc, adapter: Adapter) -> list[str]:
    plan = operator_of(desc).work(desc).plan(adapter)
    return [dispatch.shader for dispatch in plan.dispatches]


@pytest.mark.parametrize(
    ("sizes", "order", "axis", "first", "last"),
    [
        ((512, 2048), (1, 0), 1, "move/tile", "scan/groups"),
        ((1024, 1024), (1, 0), 0, "move/tile", "scan/columns"),
        ((512, 2048), (0, 1), 1, "scan/groups", "scan/groups"),
        ((64, 128, 128), (1, 0, 2), 2, "scan/rows", "scan/rows"),  # the same neighbours
        ((1 << 20, 3), (0, 1), 0, "move/tile", "move/tile"),
        ((3, 1 << 20), (1, 0), 1, "scan/linked", "scan/linked"),  # one sector holds neighbours
        ((128, 128), (1, 0), 1, "scan/rows", "scan/rows"),  # too small to be worth it
    ],
)
def test_what_is_moved_first(
    sizes: tuple[int, ...], order: tuple[int, ...], axis: int, first: str, last: str
) -> None:
    made = shaders(described(sizes, order, axis), GPU)
    assert made[0] == first
    assert made[-1] == last
    assert any(name.startswith("scan/") for name in made)
    on_cpu = shaders(described(sizes, order, axis), ADAPTERS["software"])
    assert not any(name.startswith("move/") for name in on_cpu)


CASES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((40, 64), (1, 0), 1),
    ((40, 64), (1, 0), 0),
    ((33, 7, 40), (2, 0, 1), 2),
    ((33, 7, 20), (2, 1, 0), 0),
    ((3, 16, 5, 17), (3, 2, 1, 0), 1),
    ((500, 3), (0, 1), 0),
    ((2, 301, 5), (0, 1, 2), 1),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("sizes", "order", "axis"), CASES)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16", "INT64"])
def test_values(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    order: tuple[int, ...],
    axis: int,
    data_type: str,
) -> None:
    monkeypatch.setattr(scan, "WORTH_MOVING", 1)
    desc = described(sizes, order, axis, T[data_type])
    values = (
        np.random.default_rng(5).integers(0, 3, sizes).astype(desc.input_tensor.data_type.numpy)
    )
    wanted: Any = np.cumsum(values, axis, dtype=values.dtype)
    with as_gpu(device) as gpu:
        op = gpu.compile(desc)
        assert op.plan.dispatches[0].shader.startswith("move/")
        laid = np.ascontiguousarray(values.transpose(order)).tobytes()
        held = gpu.upload(
            desc.input_tensor, laid.ljust(desc.input_tensor.total_tensor_size_in_bytes)
        )
        np.testing.assert_array_equal(op(held).numpy(), wanted)
