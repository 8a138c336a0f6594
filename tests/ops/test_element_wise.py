"""Element-wise work whose operands lie across the output: what a GPU makes in tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu, same_bits

import dmlgpu as dml

pytestmark = pytest.mark.gpu

SHAPES = [(64, 64), (8, 8), (100, 36), (33, 65), (3, 40, 24), (2, 9, 5, 16)]


def add(data_type: dml.DataType, sizes: tuple[int, ...], *across: bool) -> dml.ElementWiseAddDesc:
    """A sum whose operands lie across where it is said."""
    packed = dml.TensorDesc(data_type, sizes)
    strides = np.cumprod((1, *sizes[:-1])).tolist()
    a, b = (dml.TensorDesc(data_type, sizes, strides) if far else packed for far in across)
    return dml.ElementWiseAddDesc(a_tensor=a, b_tensor=b, output_tensor=packed)


def values(desc: dml.TensorDesc) -> tuple[bytes, Any]:
    """Numbers as a description lays them out, and as NumPy sees them."""
    drawn = np.random.default_rng(3).integers(0, 50, desc.sizes).astype(desc.data_type.numpy)
    laid = drawn if desc.strides is None else np.asfortranarray(drawn)
    return laid.tobytes("A").ljust(desc.total_tensor_size_in_bytes, b"\0"), drawn


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16", "UINT8", "INT64"])
@pytest.mark.parametrize("across", [(False, True), (True, False), (True, True)])
def test_operands_across(
    device: dml.Device, data_type: str, sizes: tuple[int, ...], across: tuple[bool, bool]
) -> None:
    desc = add(dml.DataType[data_type], sizes, *across)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        op = gpu.compile(desc)
        result = op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b))
        same_bits(result.numpy(), x + y)


def test_a_tile_is_made_where_neighbours_are_far_apart(device: dml.Device) -> None:
    with as_gpu(device) as gpu:
        for sizes, across, kernel in [
            ((64, 64), (False, True), "tiles"),
            ((64, 64), (False, False), "elements"),
            ((4, 64), (True, True), "elements"),  # too few steps to read side by side
        ]:
            op = gpu.compile(add(dml.DataType.FLOAT32, sizes, *across))
            assert [d.shader for d in op.plan.dispatches] == [f"elementwise/{kernel}"]
    if device.context.facts.is_cpu:
        op = device.compile(add(dml.DataType.FLOAT32, (64, 64), False, True))
        assert op.plan.dispatches[0].shader == "elementwise/elements"


def test_what_does_not_fit_workgroup_memory_is_read_where_it_lies(device: dml.Device) -> None:
    desc = add(dml.DataType.INT64, (64, 64), True, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    for storage, held in [(16384, 1), (8191, 0)]:
        with as_gpu(device) as gpu:
            gpu.context.facts = replace(gpu.context.facts, max_workgroup_storage=storage)
            op = gpu.compile(desc)
            assert op.plan.dispatches[0].code.count("var<workgroup> held") == 2 * held
            same_bits(op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b)).numpy(), x + y)


def test_in_place_across(device: dml.Device) -> None:
    desc = add(dml.DataType.FLOAT32, (70, 40), False, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        held = gpu.upload(desc.a_tensor, a)
        gpu.compile(desc)(held, gpu.upload(desc.b_tensor, b), out=held)
        same_bits(held.numpy(), x + y)


def test_large_operands_across_are_made_in_parts(device: dml.Device) -> None:
    desc = add(dml.DataType.FLOAT32, (96, 128), False, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        gpu.context.gpu.max_binding = 16384
        gpu.context.facts = replace(gpu.context.facts, max_binding=16384)
        op = gpu.compile(desc)
        same_bits(op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b)).numpy(), x + y)
