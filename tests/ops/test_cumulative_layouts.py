"""Scans of layouts that a GPU takes box by box: views across their output, thin or odd columns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu as on_gpu
from support.layouts import run
from support.plans import ADAPTERS, running

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.ops import operator_of
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.scan import box_code, boxes, planner
from dmlgpu.plan.scan.lines import Scan
from dmlgpu.wgsl.assembly import binds

GPU = Adapter(subgroup_min=32, subgroup_max=32, forward_progress=True, max_binding=1 << 31)
TYPES = ("FLOAT32", "FLOAT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64")
Sizes = tuple[int, ...]


def strided(data_type: T, sizes: Sizes, order: Sizes, gap: int = 0) -> dml.TensorDesc:
    """A tensor whose dimensions lie in memory in that order, with so much room behind each."""
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step = step * sizes[d] + gap
    return dml.TensorDesc(data_type, sizes, strides)


def planned(
    sizes: Sizes, order: Sizes, axis: int, adapter: Adapter = GPU, data_type: T = T.FLOAT32
) -> Plan:
    desc = running("sum", strided(data_type, sizes, order), axis)
    made: Plan = operator_of(desc).work(desc).plan(adapter)
    return made


def kernels(made: Plan) -> list[str]:
    """All but those that scan the sums of segments."""
    others = [d for d in made.dispatches if d.bindings["input"] != planner.SUMS]
    return [f"{dispatch.shader} {dispatch.entry}" for dispatch in others]


SEGMENTED = ["scan/boxes reduce", "scan/boxes scan_carried"]


@pytest.mark.parametrize(
    ("sizes", "order", "axis", "wanted"),
    [
        ((8192, 2048), (1, 0), 0, SEGMENTED),  # 32 boxes side by side are too few
        ((65536, 128), (1, 0), 1, ["scan/boxes scan"]),
        ((128, 65536), (1, 0), 0, ["scan/boxes scan"]),
        ((512, 2048), (0, 1), 1, ["scan/runs main"]),
        ((64, 128, 128), (1, 0, 2), 2, ["scan/rows main"]),  # the same neighbours
        ((128, 64, 4), (1, 0, 2), 2, ["scan/rows main"]),  # too small to be worth it
        ((1024, 640, 4), (1, 0, 2), 2, ["scan/boxes scan"]),  # half a sector at a time
        ((1 << 20, 3), (1, 0), 1, ["scan/boxes scan"]),
        ((1 << 15, 50, 4), (0, 1, 2), 1, ["scan/boxes scan"]),  # columns of 16 bytes
        ((64, 40_001), (0, 1), 0, ["scan/boxes scan"]),  # rows that begin anywhere in 16 bytes
        ((30, 400_001), (0, 1), 0, ["scan/columns main"]),  # enough of them for whole units
        ((40_000, 19), (0, 1), 0, SEGMENTED),  # and are few
        ((20_000, 37), (0, 1), 0, SEGMENTED),
        ((20_000, 16), (0, 1), 0, SEGMENTED),
        ((8, 20_000, 16), (0, 1, 2), 1, ["scan/columns_chain main"]),  # more tiles side by side
        ((20_000, 40), (0, 1), 0, ["scan/columns_chain main"]),
        ((504, 925, 36), (0, 2, 1), 0, SEGMENTED),
        ((128, 128), (1, 0), 1, ["scan/rows main"]),
        ((1 << 20, 1), (0, 1), 1, ["move/packed main"]),  # nothing to add up
    ],
)
def test_what_boxes_are_for(sizes: Sizes, order: Sizes, axis: int, wanted: list[str]) -> None:
    assert kernels(planned(sizes, order, axis)) == wanted
    on_cpu = kernels(planned(sizes, order, axis, ADAPTERS["software"]))
    assert not any(name.startswith("scan/boxes") for name in on_cpu)


def test_a_few_boxes_take_one_pass_only_where_lines_lie_across() -> None:
    adapter = replace(GPU, max_workgroup_storage=49152, forward_progress=False)
    assert kernels(planned((575, 471, 62), (0, 2, 1), 0, adapter)) == ["scan/boxes scan"]
    columns = planned((43_276, 6203), (0, 1), 0, adapter, T.FLOAT16)
    assert kernels(columns) == SEGMENTED
    assert max(d.workgroups for d in columns.dispatches) > 1000


def test_segments_have_steps_enough_that_their_sums_are_few() -> None:
    made = planned((504, 925, 36), (0, 2, 1), 0)
    assert made.scratch["sums"] * 32 <= 4 * 504 * 925 * 36


def test_segments_are_two_boxes_or_more() -> None:
    """While one is scanned the next is on its way."""
    for data_type, sizes in ((T.INT64, (4, 1 << 20)), (T.FLOAT32, (3, 1 << 19))):
        made = planned(sizes, (1, 0), 1, data_type=data_type)
        assert len(made.dispatches) == 3
        for each in (made.dispatches[0], made.dispatches[-1]):
            assert "IS_ONE = false" in each.code


def test_in_place_ragged_lines_are_taken_in_boxes() -> None:
    """Units that two lines share cannot be, and element by element would be slow."""
    made = planned((3000, 1001), (0, 1), 1)
    assert kernels(made) == ["scan/runs main"]
    assert made.in_place is not None
    assert kernels(made.in_place) == ["scan/boxes scan"]


def test_a_scan_of_one_element_that_begins_with_nothing_is_no_copy() -> None:
    tensor = dml.TensorDesc(T.FLOAT32, (1 << 20, 1))
    desc = running("sum", tensor, 1, has_exclusive_sum=True)
    made = operator_of(desc).work(desc).plan(GPU)
    assert all(dispatch.shader.startswith("scan/") for dispatch in made.dispatches)


def random_scan(random: np.random.Generator, data_type: T) -> Scan:
    rank = int(random.integers(1, 5))
    elements = int(random.choice([5000, 1 << 20, 1 << 25]))
    sizes = tuple(max(1, round(elements**share)) for share in random.dirichlet([0.7] * rank))
    source, output = (
        strided(data_type, sizes, tuple(random.permutation(rank)), int(random.integers(2)))
        for _ in range(2)
    )
    return Scan.of(
        fold="sum",
        data_type=data_type,
        sizes=sizes,
        in_strides=source.effective_strides,
        out_strides=output.effective_strides,
        axis=int(random.integers(rank)),
        backward=bool(random.integers(2)),
        exclusive=bool(random.integers(2)),
    )


@pytest.mark.parametrize("storage", [16384, 49152])
def test_boxes_cover_a_scan_and_fit_workgroup_memory(storage: int) -> None:
    random = np.random.default_rng(7)
    for number in range(70):
        asked = random_scan(random, T[TYPES[number % len(TYPES)]])
        cut = boxes.boxes_of(asked, storage)
        steps = cut.box[-1]
        assert steps % cut.parts == 0
        assert cut.side_lanes * cut.parts <= cut.wg_size or cut.parts == 1
        assert cut.segment_steps % steps == 0
        assert (cut.segments - 1) * cut.segment_steps < asked.axis_size
        assert cut.segments * cut.segment_steps >= asked.axis_size
        for order in (cut.order(cut.by_input, cut.box), cut.order(cut.by_output, cut.box)):
            reached = {
                tuple(order.of_number(d, lane) + order.of_item(d, item) for d in order.loops)
                for item in range(order.items)
                for lane in range(order.active)
            }
            assert order.active <= boxes.WG_SIZE
            assert len(reached) == order.active * order.items  # each element once
            ends = [cut.box[d] for d in order.loops]
            inside = [c for c in reached if all(n < end for n, end in zip(c, ends, strict=True))]
            assert len(inside) == prod(ends)
        code = box_code.dispatch(cut, "scan", "").code
        sizes = [int(array.split(", ")[1].split(">")[0]) for array in code.split("array<")[1:]]
        assert sum(sizes) * (8 if asked.bits == 64 else 4) <= storage


@pytest.mark.parametrize("data_type", TYPES)
def test_boxes_are_read_without_conditions(data_type: str) -> None:
    """Loads in a branch would wait for each other; what is beyond an end is read as its last."""
    views = (((1000, 999), (1, 0), 0), ((70, 40_001), (0, 1), 0), ((1 << 20, 3), (1, 0), 1))
    for sizes, order, axis in views:
        for dispatch in planned(sizes, order, axis, data_type=T[data_type]).dispatches:
            if dispatch.shader == "scan/boxes":
                loads = dispatch.code.split("fn load_box")[1].split("\n}")[0]
                assert "load_input" in loads
                assert "if (" not in loads
                assert "select(" not in loads


def test_elements_of_64_bits_are_read_and_written_in_one_piece() -> None:
    for sizes, order, axis in (((1 << 16, 99), (1, 0), 1), ((1500, 5, 3), (0, 1, 2), 1)):
        (one,) = planned(sizes, order, axis, data_type=T.INT64).dispatches
        bound = binds(one.shader, one.slots, one.code)
        assert bound["input"] == ("read", "vec2<u32>")
        assert bound["output"] == ("write", "vec2<u32>")


def test_few_large_boxes_take_one_pass_where_there_is_room_for_them() -> None:
    small, large = (replace(GPU, max_workgroup_storage=n) for n in (16384, 49152))
    many = (575, 471, 62), (0, 2, 1), 0
    few = (575, 171, 62), (0, 2, 1), 0
    assert kernels(planned(*many, large)) == ["scan/boxes scan"]
    assert kernels(planned(*many, small)) == SEGMENTED
    assert kernels(planned(*few, large)) == SEGMENTED


@pytest.mark.parametrize("steps", [64, 30, 9])
def test_columns_that_begin_anywhere_have_an_invocation_for_each_line(steps: int) -> None:
    (one,) = planned((steps, 400_001), (0, 1), 0).dispatches
    assert "wg_sums[lane] = sum" not in one.code


@pytest.mark.parametrize(
    ("sizes", "order", "axis"),
    [
        ((1 << 17, 4, 3), (1, 0, 2), 2),  # rows of 3, four of which follow each other
        ((1 << 19, 3), (1, 0), 0),
        ((1 << 14, 78), (0, 1), 0),
        ((1 << 10, 633, 31), (1, 0, 2), 0),
    ],
)
def test_halves_that_follow_each_other_are_one_run(sizes: Sizes, order: Sizes, axis: int) -> None:
    """Only the ends of a box are parts of words, not those of its rows."""
    cut = cut_of(T.FLOAT16, sizes, order, axis)
    assert prod(cut.box[d] for d in cut.write_run) >= 128


def cut_of(data_type: T, sizes: Sizes, order: Sizes, axis: int) -> boxes.Boxes:
    """The boxes of a scan whose input lies in memory in that order."""
    asked = Scan.of(
        fold="sum",
        data_type=data_type,
        sizes=sizes,
        in_strides=strided(data_type, sizes, order).effective_strides,
        out_strides=dml.TensorDesc(data_type, sizes).effective_strides,
        axis=axis,
        backward=False,
        exclusive=False,
    )
    return boxes.boxes_of(asked, 49152)


@pytest.mark.parametrize(
    ("data_type", "sizes", "order", "axis", "box", "passes"),
    [
        (T.INT64, (1119, 29987), (1, 0), 1, (32, 64), 3),  # 140 large boxes for 132 cores
        (T.FLOAT32, (471, 575, 62), (1, 2, 0), 1, (16, 16, 32), 1),  # and 120
        (T.FLOAT16, (5001, 26838), (1, 0), 1, (64, 64), 3),  # there are none of halves
        (T.FLOAT16, (2581110, 52), (1, 0), 0, (52, 64), 3),  # in words, with twice the elements
        (T.FLOAT16, (16777216, 2), (0, 1), 0, (2, 1024), 3),  # but not of two lines
        (T.FLOAT32, (671, 100003), (1, 0), 0, (64, 64), 1),  # rows that begin within sectors
        (T.FLOAT32, (1342, 50000), (1, 0), 0, (32, 64), 1),  # and that do not
        (T.FLOAT16, (28, 18, 252289), (1, 0, 2), 0, (1, 512, 2), 1),  # neighbours on both sides
        (T.FLOAT16, (301, 89, 5001), (1, 0, 2), 0, (1, 128, 8), 1),  # of which there are few
        (T.FLOAT32, (1495, 3592, 25), (1, 2, 0), 1, (32, 25, 4), 3),  # not of one or two steps
        (T.FLOAT16, (1597831, 4, 21), (2, 1, 0), 1, (32, 21, 2), 1),  # half of four
        (T.INT32, (4, 7, 66577, 9), (1, 3, 0, 2), 0, (1, 64, 9, 2), 1),
    ],
)
def test_boxes_are_as_large_as_was_best(
    data_type: T, sizes: Sizes, order: Sizes, axis: int, box: Sizes, passes: int
) -> None:
    """Of several sizes that were measured."""
    cut = cut_of(data_type, sizes, order, axis)
    assert (cut.box, 3 if cut.segments > 1 else 1) == (box, passes)


def as_gpu(device: dml.Device) -> AbstractContextManager[dml.Device]:
    """A device that takes boxes; software adapters by themselves take none."""
    if "SwiftShader" in device.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile boxes, and uses none of them")
    return on_gpu(device, launch=0)


def wanted(values: Any, axis: int, product: bool, backward: bool, exclusive: bool) -> Any:
    """NumPy's running values; halves in FLOAT32."""
    wide = np.float32 if values.dtype == np.float16 else values.dtype
    walked = np.flip(values, axis) if backward else values
    made = (np.cumprod if product else np.cumsum)(walked.astype(wide), axis, dtype=wide)
    if exclusive:
        made = np.roll(made, 1, axis)
        made[(slice(None),) * axis + (0,)] = 1 if product else 0
    return (np.flip(made, axis) if backward else made).astype(values.dtype)


def few_values(source: dml.TensorDesc, order: Sizes) -> tuple[Any, bytes]:
    """Values whose sums are exact, and the bytes of a tensor that lies in memory in that order."""
    values = np.random.default_rng(6).integers(0, 3, source.sizes).astype(source.data_type.numpy)
    laid = np.ascontiguousarray(values.transpose(order)).tobytes()
    return values, laid.ljust(source.total_tensor_size_in_bytes, b"\0")


def check(device: dml.Device, random: np.random.Generator, data_type: T, sizes: Sizes) -> list[str]:
    """One scan of random layouts, exact in any order of additions; the kernels it took."""
    rank = len(sizes)
    axis, product = int(random.integers(rank)), bool(random.integers(4) == 0)
    backward, exclusive = (bool(random.integers(2)) for _ in range(2))
    source, output = (
        strided(data_type, sizes, tuple(random.permutation(rank)), int(random.integers(3)) // 2)
        for _ in range(2)
    )
    kind = "product" if product else "sum"
    flags = {"axis_direction": int(backward), f"has_exclusive_{kind}": exclusive}
    desc = running(kind, source, axis, output if random.integers(2) else None, **flags)
    values = random.integers(0, 3, sizes).astype(source.data_type.numpy)
    if product:
        values[random.random(sizes) < 0.9] = 1
    (got,) = run(device, desc, [values], random)
    np.testing.assert_array_equal(
        got, wanted(values, axis, product, backward, exclusive), str(desc)
    )
    return kernels(device.compile(desc).plan)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", TYPES)
def test_random_layouts(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, data_type: str
) -> None:
    monkeypatch.setattr(boxes, "FEW_BOXES", 1)
    random = np.random.default_rng([5, TYPES.index(data_type)])
    taken: list[str] = []
    with as_gpu(device) as gpu:
        for _ in range(4):
            rank = int(random.integers(2, 5))
            shares = random.dirichlet([0.7] * rank)
            sizes = tuple(max(2, round(3000**share)) for share in shares)
            taken += check(gpu, random, T[data_type], sizes)
    assert "scan/boxes scan" in taken


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("data_type", "sizes", "order", "axis"),
    [
        ("FLOAT32", (5000, 3), (0, 1), 0),
        ("FLOAT16", (5000, 3), (0, 1), 0),
        ("FLOAT16", (131, 90), (1, 0), 1),  # runs that begin anywhere in a word
        ("FLOAT16", (130, 90), (1, 0), 1),  # read by whole words, lines
        ("FLOAT16", (302, 90), (1, 0), 0),  # and along the axis
        ("INT64", (130, 90), (1, 0), 0),
        ("UINT32", (40, 7, 33), (2, 0, 1), 0),  # neither side is the axis
        ("FLOAT16", (3, 16, 5, 17), (3, 2, 1, 0), 1),
        ("UINT16", (500, 3, 6), (1, 0, 2), 2),
        ("FLOAT32", (6, 2, 1000), (1, 2, 0), 2),
        ("FLOAT32", (3000, 19), (0, 1), 0),  # lines that are neighbours on both sides
        ("INT64", (900, 2, 9), (1, 0, 2), 0),
        ("FLOAT16", (301, 67), (0, 1), 0),
        ("FLOAT16", (700, 4, 3), (1, 0, 2), 2),  # rows that follow each other as one run
        ("UINT16", (45, 4, 9), (1, 2, 0), 1),
        ("FLOAT16", (5, 40, 31), (1, 0, 2), 0),
        ("FLOAT16", (5000, 3), (1, 0), 0),
        ("INT64", (30, 513), (0, 1), 0),
        ("FLOAT32", (9000, 2), (0, 1), 0),  # parts of an odd number of steps
        ("FLOAT16", (9000, 4), (0, 1), 0),
    ],
)
def test_segments_and_in_place(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    data_type: str,
    sizes: Sizes,
    order: Sizes,
    axis: int,
) -> None:
    """A view, then the same in place: its output has the strides of the input."""
    monkeypatch.setattr(boxes, "FEW_BOXES", 1)
    tensor = strided(T[data_type], sizes, order)
    values = np.random.default_rng(3).integers(0, 2, sizes).astype(tensor.data_type.numpy)
    laid = np.ascontiguousarray(values.transpose(order)).tobytes()
    laid = laid.ljust(tensor.total_tensor_size_in_bytes)
    expected = wanted(values, axis, False, False, False)
    with as_gpu(device) as gpu:
        op = gpu.compile(running("sum", tensor, axis))
        assert any(name.startswith("scan/boxes") for name in kernels(op.plan))
        assert len(op.plan.dispatches) == 3 or sizes[axis] <= 1000
        np.testing.assert_array_equal(op(gpu.upload(tensor, laid)).numpy(), expected)
        held = gpu.upload(tensor, laid)
        gpu.compile(running("sum", tensor, axis, tensor))(held, out=held)
        np.testing.assert_array_equal(held.numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("data_type", "sizes", "gap"),
    [
        ("FLOAT32", (70, 68), 0),  # 4 more steps than there are have invocations
        ("INT32", (63, 151), 0),
        ("UINT32", (64, 150), 3),
        ("INT64", (133, 69), 0),
        ("UINT64", (48, 100), 1),
    ],
)
def test_lines_that_a_box_holds_are_not_walked(
    device: dml.Device,
    data_type: str,
    sizes: Sizes,
    gap: int,
    backward: bool,
    exclusive: bool,
) -> None:
    """Neighbours in the input that go along the output, written without regard to rows."""
    source = strided(T[data_type], sizes, (1, 0))
    output = strided(T[data_type], sizes, (0, 1), gap)
    values, laid = few_values(source, (1, 0))
    asked = {"axis_direction": int(backward), "has_exclusive_sum": exclusive}
    with as_gpu(device) as gpu:
        op = gpu.compile(running("sum", source, 1, output, **asked))
        (one,) = op.plan.dispatches
        assert "IS_ONE = true" in one.code
        np.testing.assert_array_equal(
            op(gpu.upload(source, laid)).numpy(), wanted(values, 1, False, backward, exclusive)
        )


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("sizes", "order", "axis", "gap"),
    [
        ((3, 98, 21), (0, 2, 1), 2, 0),  # 49 lines of 21: every other box begins inside a word
        ((5, 98, 21), (0, 2, 1), 2, 1),
        ((18, 111), (1, 0), 1, 0),
        ((51, 59), (1, 0), 1, 0),
        ((515, 75), (1, 0), 1, 1),  # an odd number, and room for one more behind it
        ((515, 29), (1, 0), 1, 1),
        ((75, 515), (1, 0), 0, 1),
    ],
)
def test_halves_beside_a_run_stay(
    device: dml.Device,
    sizes: Sizes,
    order: Sizes,
    axis: int,
    gap: int,
) -> None:
    """The word in which a run ends may hold the first of the next, or what is nobody's."""
    source = strided(T.UINT16, sizes, order)
    output = strided(T.UINT16, sizes, tuple(range(len(sizes))), gap)
    values, laid = few_values(source, order)
    before = np.full(output.total_tensor_size_in_bytes // 2 + 8, 0xABCD, np.uint16)
    expected = before.copy()
    view = np.lib.stride_tricks.as_strided(
        expected, sizes, [2 * n for n in output.effective_strides]
    )
    view[...] = wanted(values, axis, False, False, False)
    with as_gpu(device) as gpu:
        held = gpu.upload(dml.TensorDesc(T.UINT16, before.shape), before.tobytes())
        op = gpu.compile(running("sum", source, axis, output))
        assert any(name.startswith("scan/boxes") for name in kernels(op.plan))
        op(gpu.upload(source, laid), out=gpu.wrap(held.buffer, output, held.offset))
        np.testing.assert_array_equal(held.numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("data_type", "sizes", "order", "axis"),
    [
        ("FLOAT16", (64, 76), (1, 0), 1),  # words of two lines are read, of two steps written
        ("UINT16", (515, 75), (1, 0), 1),  # the last word is one line, lines begin inside words
        ("FLOAT16", (64, 600), (1, 0), 1),  # box by box
        ("FLOAT16", (64, 40, 4), (2, 0, 1), 2),
        ("FLOAT16", (76, 64), (1, 0), 0),  # words of two steps are read, of two lines written
        ("UINT16", (45, 128), (1, 0), 0),
        ("FLOAT16", (30, 12, 20), (1, 0, 2), 2),  # of two steps on both sides
        ("FLOAT16", (600, 6), (0, 1), 0),  # of two lines on both sides
        ("FLOAT16", (3000, 5, 8), (1, 0, 2), 0),
        ("UINT16", (9000, 10), (0, 1), 0),  # in three passes
        ("UINT16", (6, 64, 21), (0, 2, 1), 2),  # lines of one more step than words hold
    ],
)
def test_halves_are_held_as_words(
    device: dml.Device,
    data_type: str,
    sizes: Sizes,
    order: Sizes,
    axis: int,
    backward: bool,
    exclusive: bool,
) -> None:
    source = strided(T[data_type], sizes, order)
    values, laid = few_values(source, order)
    asked = {"axis_direction": int(backward), "has_exclusive_sum": exclusive}
    with as_gpu(device) as gpu:
        op = gpu.compile(running("sum", source, axis, **asked))
        *_, last = op.plan.dispatches
        goes_along = axis in (order[-1], len(sizes) - 1)  # words of steps, in one direction
        assert ("held: array<u32" in last.code) == (not (backward and goes_along))
        np.testing.assert_array_equal(
            op(gpu.upload(source, laid)).numpy(), wanted(values, axis, False, backward, exclusive)
        )
        if order == tuple(range(len(sizes))):
            both = gpu.upload(source, laid)
            gpu.compile(running("sum", source, axis, source, **asked))(both, out=both)
            expected = wanted(values, axis, False, backward, exclusive)
            np.testing.assert_array_equal(both.numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("data_type", "sizes"),
    [
        ("FLOAT32", (70, 403)),
        ("INT64", (33, 457)),
        ("UINT32", (40, 392)),
        ("INT32", (40, 391)),
        ("INT32", (2, 30_001)),
        ("FLOAT16", (70, 403)),
        ("UINT16", (40, 404)),
        ("FLOAT16", (3, 30_001)),
    ],
)
def test_walks_along_the_output_write_whole_sectors(
    device: dml.Device,
    data_type: str,
    sizes: Sizes,
    backward: bool,
) -> None:
    """The last steps of a box wait for the next one, in one pass and in the last of three."""
    source = strided(T[data_type], sizes, (1, 0))
    # Lines begin anywhere in a sector, odd ones behind the end of the one before.
    output = strided(T[data_type], sizes, (0, 1), gap=0 if sizes[1] % 2 else 3)
    values, laid = few_values(source, (1, 0))
    with as_gpu(device) as gpu:
        op = gpu.compile(running("sum", source, 1, output, axis_direction=int(backward)))
        *_, last = op.plan.dispatches
        assert "MARGIN = 0u" not in last.code
        np.testing.assert_array_equal(
            op(gpu.upload(source, laid)).numpy(), wanted(values, 1, False, backward, False)
        )


@pytest.mark.gpu
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    ("sizes", "order", "axis"),
    [
        ((330, 301), (1, 0), 0),  # in one pass
        ((4, 1003), (1, 0), 0),
        ((12_003, 111), (1, 0), 0),  # and in three
        ((3, 601, 129), (2, 0, 1), 1),
        ((6, 16, 406), (1, 0, 2), 0),  # lines that begin on words of the input
    ],
)
def test_boxes_of_halves_share_a_line_where_words_do(
    device: dml.Device,
    sizes: Sizes,
    order: Sizes,
    axis: int,
    exclusive: bool,
) -> None:
    """A word between two boxes is written whole by one of them; not in place, nor in even rows."""
    source = strided(T.FLOAT16, sizes, order)
    output = strided(T.FLOAT16, sizes, tuple(range(len(sizes))), gap=1 - sizes[-1] % 2)
    asked = running("sum", source, axis, output, has_exclusive_sum=exclusive)
    values = np.random.default_rng(8).integers(0, 2, sizes).astype(np.float16)
    laid = (
        np.ascontiguousarray(values.transpose(order))
        .tobytes()
        .ljust(source.total_tensor_size_in_bytes)
    )
    with as_gpu(device) as gpu:
        op = gpu.compile(asked)
        *_, last = op.plan.dispatches
        assert "box.is_last" in last.code
        assert op.plan.in_place is not None
        assert not any("is_last" in each.code for each in op.plan.in_place.dispatches)
        np.testing.assert_array_equal(
            op(gpu.upload(source, laid)).numpy(), wanted(values, axis, False, False, exclusive)
        )
        assert "box.is_last" not in op.plan.dispatches[0].code or len(op.plan.dispatches) == 1
    even = planned((*sizes[:-1], sizes[-1] + sizes[-1] % 2), order, axis, data_type=T.FLOAT16)
    assert not any("is_last" in each.code for each in even.dispatches)


@pytest.mark.gpu
def test_least_workgroup_memory(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "FEW_BOXES", 1)
    random = np.random.default_rng(11)
    with as_gpu(device) as gpu:
        gpu.context.facts = replace(gpu.context.facts, max_workgroup_storage=16384)
        for data_type in (T.FLOAT32, T.INT64):
            check(gpu, random, data_type, (70, 5, 41))


@pytest.mark.gpu
@pytest.mark.parametrize(("data_type", "across"), [("FLOAT32", 19), ("INT64", 9)])
def test_neighbours_on_both_sides(device: dml.Device, data_type: str, across: int) -> None:
    """Backward and exclusive, in boxes that need no workgroup memory for their elements."""
    tensor = dml.TensorDesc(T[data_type], (301, across))
    values = np.random.default_rng(4).integers(0, 3, tensor.sizes).astype(tensor.data_type.numpy)
    flags = {"axis_direction": 1, "has_exclusive_sum": True}
    with as_gpu(device) as gpu:
        op = gpu.compile(running("sum", tensor, 0, **flags))
        assert all(
            "READS_LINES = true" in d.code and "WRITES_LINES = true" in d.code
            for d in op.plan.dispatches
        )
        made = op(gpu.upload(tensor, values.tobytes())).numpy()
    np.testing.assert_array_equal(made, wanted(values, 0, False, True, True))


@pytest.mark.gpu
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("sizes", "axis"), [((130, 90), 0), ((9000, 2), 0)])
def test_zeros_keep_their_sign_in_boxes(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, sizes: Sizes, axis: int, exclusive: bool
) -> None:
    """In one pass, and in three: but for exclusive sums, which begin with +0.0."""
    monkeypatch.setattr(boxes, "FEW_BOXES", 1)
    for data_type in (T.FLOAT32, T.FLOAT16):
        tensor = strided(data_type, sizes, (1, 0) if axis == 0 and sizes[1] > 2 else (0, 1))
        zeros = np.full(sizes, -0.0, data_type.numpy)
        laid = zeros.tobytes().ljust(tensor.total_tensor_size_in_bytes)
        with as_gpu(device) as gpu:
            op = gpu.compile(running("sum", tensor, axis, has_exclusive_sum=exclusive))
            assert any(name.startswith("scan/boxes") for name in kernels(op.plan))
            found = op(gpu.upload(tensor, laid)).numpy()
        assert (np.signbit(found) != exclusive).all()
