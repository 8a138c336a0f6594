"""Element-wise work on pixels and planes: operands that lie across short rows of the output."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu, same_bits
from support.plans import ADAPTERS, plan

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu import DataType as T
from dmlgpu.plan.dispatch import BANKS, Adapter, Plan
from dmlgpu.plan.elementwise import short_rows
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.values import Operand

# Rows of any length, runs that end within a group and others, a last run that is not full, and
# a last run that has fewer rows than the group before it needs.
SIZES = [
    *((900, 2), (4001, 3), (7, 333, 3), (3, 704, 7), (5, 600, 4), (3, 259, 2), (3, 130, 3, 5)),
    *((3, 673, 3), (3, 1025, 2), (5, 1027, 4)),
]
TYPES = ["float32", "float16", "uint8", "int64"]
Array = np.ndarray[Any, Any]


def planes(dtype: str, sizes: tuple[int, ...], seed: int) -> tuple[dml.TensorDesc, Array, Array]:
    """An operand with rows side by side: its description, its memory, and what is seen of it."""
    lines = sizes[-2] if len(sizes) < 4 else sizes[1]
    rows = sizes[:-2] if len(sizes) < 4 else sizes[:1]
    length = prod(sizes) // lines // prod(rows)
    laid = np.random.default_rng(seed).integers(0, 50, (*rows, length, lines)).astype(dtype)
    seen = np.moveaxis(laid, -1, len(rows)).reshape(sizes)
    steps = np.moveaxis(laid, -1, len(rows)).strides
    inner = np.cumprod((lines, *reversed(sizes[len(rows) + 2 :])))[::-1] * laid.itemsize
    strides = [n // laid.itemsize for n in (*steps[: len(rows) + 1], *inner)]
    return dml.TensorDesc(T.from_numpy(dtype), sizes, strides), laid, seen


def ran(gpu: dml.Device, desc: Any, arrays: list[Array]) -> Array:
    """The result of a description whose operands are these arrays, as they lie in memory."""
    op = gpu.compile(desc)
    has_bytes = any(tensor.data_type.bits == 8 for tensor in desc.inputs().values())
    image = desc.output_tensor.sizes[1:]
    if not has_bytes or len(image) == 1 or prod(image) % 16 == 0:
        assert is_run(op.plan)
    tensors = []
    for tensor, laid in zip(desc.inputs().values(), arrays, strict=True):
        size = tensor.total_tensor_size_in_bytes
        tensors.append(gpu.upload(tensor, laid.tobytes()[:size].ljust(size, b"\0")))
    return op(*tensors).numpy()


def is_run(made: Plan) -> bool:
    """Whether rows are taken together."""
    return [d.shader for d in made.dispatches] == ["elementwise/tiles"] and (
        "tile.rows" in made.dispatches[0].code
    )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_planes_and_pixels(device: dml.Device, dtype: str, sizes: tuple[int, ...]) -> None:
    y, laid, seen = planes(dtype, sizes, 1)
    packed = dml.TensorDesc(T.from_numpy(dtype), sizes)
    x = np.random.default_rng(2).integers(0, 50, sizes).astype(dtype)
    row = np.arange(sizes[-1]).astype(dtype)
    of_row = dml.TensorDesc(packed.data_type, sizes, [0] * (len(sizes) - 1) + [1])
    of_line = dml.TensorDesc(packed.data_type, sizes, [*packed.effective_strides[:-1], 0])
    with as_gpu(device) as gpu:
        for a, held, wanted in [
            (packed, x, x + seen),
            (of_row, row, row + seen),
            (of_line, x, x[..., :1] + seen),
        ]:
            desc = dml.ElementWiseAddDesc(a_tensor=a, b_tensor=y, output_tensor=packed)
            same_bits(ran(gpu, desc, [held, laid]), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_results_are_held_where_all_operands_lie_across(
    device: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    (a, x, seen_x), (b, y, seen_y) = (planes(dtype, sizes, seed) for seed in (1, 2))
    packed, truth = (dml.TensorDesc(kind, sizes) for kind in (a.data_type, T.UINT8))
    with as_gpu(device) as gpu:
        added = dml.ElementWiseAddDesc(a_tensor=a, b_tensor=b, output_tensor=packed)
        same_bits(ran(gpu, added, [x, y]), seen_x + seen_y)
        less = dml.ElementWiseLogicalLessThanDesc(a_tensor=a, b_tensor=b, output_tensor=truth)
        same_bits(ran(gpu, less, [x, y]), (seen_x < seen_y).astype(np.uint8))
        for kind in ("float32", "float16", "uint8", "int64"):
            made = dml.TensorDesc(T.from_numpy(kind), sizes)
            if kind == dtype:
                continue  # a move
            cast = dml.CastDesc(input_tensor=a, output_tensor=made)
            same_bits(ran(gpu, cast, [x]), seen_x.astype(kind))


@pytest.mark.gpu
def test_operands_of_several_widths(device: dml.Device) -> None:
    sizes = (3, 301, 5)
    (a, x, seen_x), (c, z, seen_z) = planes("float32", sizes, 1), planes("uint8", sizes, 2)
    packed = dml.TensorDesc(T.FLOAT32, sizes)
    y = np.random.default_rng(3).uniform(-9, 9, sizes).astype(np.float32)
    desc = dml.ElementWiseIfDesc(
        condition_tensor=c, a_tensor=a, b_tensor=packed, output_tensor=packed
    )
    with as_gpu(device) as gpu:
        same_bits(ran(gpu, desc, [z, x, y]), np.where(seen_z != 0, seen_x, y))


@pytest.mark.gpu
@pytest.mark.parametrize("height", [40, 37])
def test_images_are_normalized_in_one_kernel(device: dml.Device, height: int) -> None:
    images = np.random.default_rng(4).integers(0, 256, (3, 3, height, 41)).astype(np.uint8)
    mean = np.array([120, 115, 100], np.float32)

    def normalized(x: Any, mean: Any) -> Any:
        return (dnp.astype(x, dnp.float32) - mean) * 0.25

    with as_gpu(device) as gpu:
        laid = gpu.tensor(images)
        pixels = dml.TensorDesc(T.UINT8, (3, height, 41, 3), (123 * height, 41, 1, 41 * height))
        given = laid.view(pixels), gpu.tensor(mean)
        found = dml.fuse(normalized)(*given).numpy()
        same_bits(found, normalized(*given).numpy())
        same_bits(
            found, (images.transpose(0, 2, 3, 1).astype(np.float32) - mean) * np.float32(0.25)
        )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TYPES)
def test_pixels_are_made_in_place(device: dml.Device, dtype: str) -> None:
    sizes = (3, 333, 3)
    y, laid, seen = planes(dtype, sizes, 1)
    packed = dml.TensorDesc(T.from_numpy(dtype), sizes)
    x = np.random.default_rng(2).integers(0, 50, sizes).astype(dtype)
    size = y.total_tensor_size_in_bytes
    with as_gpu(device) as gpu:
        op = gpu.compile(dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=y, output_tensor=packed))
        held = gpu.tensor(x)
        op(held, gpu.upload(y, laid.tobytes().ljust(size, b"\0")), out=held)
        same_bits(held.numpy(), x + seen)


@pytest.mark.gpu
def test_what_a_binding_does_not_hold_is_made_without_runs(device: dml.Device) -> None:
    sizes = (8, 512, 4)
    y, laid, seen = planes("float32", sizes, 1)
    packed = dml.TensorDesc(T.FLOAT32, sizes)
    desc = dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=y, output_tensor=packed)
    x = np.random.default_rng(2).integers(0, 50, sizes).astype(np.float32)
    with as_gpu(device) as gpu:
        gpu.context.gpu.max_binding = 32768
        gpu.context.facts = replace(gpu.context.facts, max_binding=32768)
        op = gpu.compile(desc)
        assert {d.shader for d in op.plan.dispatches} == {"elementwise/elements"}
        result = op(gpu.upload(packed, x.tobytes()), gpu.upload(y, laid.tobytes()))
        same_bits(result.numpy(), x + seen)


@pytest.mark.parametrize(
    ("kind", "length", "wanted"),
    [
        (T.FLOAT32, 2, True),
        (T.FLOAT32, 24, True),
        (T.FLOAT32, 25, False),  # long enough for tiles
        (T.FLOAT16, 8, True),
        (T.FLOAT16, 16, True),
        (T.FLOAT16, 20, False),  # too many words for an invocation: turned in squares
        (T.UINT8, 3, True),
        (T.UINT8, 17, False),
    ],
)
def test_rows_are_taken_together_where_they_are_short(kind: T, length: int, wanted: bool) -> None:
    sizes = (1 << 16, length)
    across = dml.TensorDesc(kind, sizes, (1, sizes[0]))
    packed = dml.TensorDesc(kind, sizes)
    desc = dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=across, output_tensor=packed)
    assert is_run(plan(desc, ADAPTERS["discrete"])) == wanted


LENGTHS = {
    **dict.fromkeys((T.FLOAT32, T.FLOAT16, T.INT64), (2, 3, 4, 5, 6, 7, 9)),
    T.UINT8: (2, 3, 4, 5, 6, 7),
}


@pytest.mark.parametrize(
    ("kind", "length"), [(k, n) for k, every in LENGTHS.items() for n in every]
)
def test_neighbours_are_held_in_different_banks(kind: T, length: int) -> None:
    run = run_across(kind, length)
    plane, planes = run.plane(1, kind.bits), run.planes(1, kind.bits)
    apart = length * run.per_word(1, kind.bits) // run.per_cell(1, kind.bits)
    places = [divmod(n * apart, planes) for n in range(BANKS)]
    banks = [(n * plane + word) % BANKS for word, n in places]
    assert max(map(banks.count, banks)) <= 2


def test_runs_are_whole_groups_and_fit_workgroup_memory() -> None:
    for kind, lengths in LENGTHS.items():
        for length in lengths:
            run = run_across(kind, length)
            assert run.rows * length % run.group == 0
            assert 4 * run.words(1, kind.bits) <= 16384


def run_across(kind: T, length: int) -> short_rows.Run:
    """The run of an operand in planes, added to another in pixels."""
    sizes = (1 << 16, length)
    across = dml.TensorDesc(kind, sizes, (1, sizes[0]))
    given = {"x": dml.TensorDesc(kind, sizes), "y": across}
    operands = [Operand.of(name, tensor) for name, tensor in given.items()]
    loops = (Loop(sizes[0], (length, 1, length)), Loop(length, (1, sizes[0], 1)))
    run = short_rows.run_of(loops, operands, 128 // kind.bits, Adapter(), 0)
    assert run is not None
    return run
