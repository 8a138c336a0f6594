"""Which kernel a scan gets, and what its passes hold: pure functions, without a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from support.plans import ADAPTERS, descriptions, every_plan, plan, running

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.scan import choice
from dmlgpu.plan.scan.lines import Scan
from dmlgpu.plan.scan.planner import _plan, plan_scan
from dmlgpu.runtime.reach import grid


def problem(shape: tuple[int, ...], axis: int, data_type: T = T.FLOAT32) -> Scan:
    strides = dml.TensorDesc(data_type, shape).effective_strides
    return Scan.of(
        fold="sum",
        data_type=data_type,
        sizes=shape,
        in_strides=strides,
        out_strides=strides,
        axis=axis,
        backward=False,
        exclusive=False,
    )


GPU = Adapter(
    subgroup_min=32,
    subgroup_max=32,
    forward_progress=True,
    max_workgroup_size=1024,
    max_workgroup_storage=49152,
    max_binding=1 << 31,
)
PATIENT = replace(GPU, forward_progress=False)
CPU = Adapter(is_cpu=True, subgroup_min=8, subgroup_max=8)


@pytest.mark.parametrize(
    ("shape", "axis", "kernel"),
    [
        ((65536, 4096), 1, "runs"),  # a line for each workgroup
        ((65536, 4097), 1, "groups"),
        ((65536, 257), 1, "runs"),
        ((1 << 22, 3), 1, "runs"),
        ((65536, 4096), 0, "columns_chain"),
        ((63, 4096), 0, "columns"),  # too short for tiles
        ((64, 4096), 0, "columns_chain"),
        ((254, 65532), 0, "columns"),  # 16,383 columns of 16 bytes, 64 for each step
        ((255, 65532), 0, "columns_chain"),
        ((4096, 65532), 0, "columns_chain"),
        ((4096, 65536), 0, "columns"),  # 16,384 columns fill a GPU
        ((64, 1024, 4096), 1, "columns"),
        ((1 << 22, 64), 1, "runs"),
        ((1 << 28,), 0, "stream"),
        ((1 << 22,), 0, "stream"),
        ((4096,), 0, "runs"),  # one tile
        ((4097,), 0, "stream"),
        ((1 << 22, 2), 0, "stream"),  # elements that are apart
        ((1 << 23, 2), 0, "groups"),  # 2,048 tiles of them
        ((255, 1 << 14), 1, "stream"),
        ((256, 1 << 20), 1, "groups"),  # as many lines as fill a GPU
        ((128,), 0, "runs"),
        ((500, 5, 3), 1, "walk"),  # 1,500 lines of elements that are apart
        ((300, 5, 3), 1, "rows"),
    ],
)
def test_a_gpu_chooses(shape: tuple[int, ...], axis: int, kernel: str) -> None:
    assert choice.choose(problem(shape, axis), GPU) == kernel


@pytest.mark.parametrize(("size", "kernel"), [(1024, "rows"), (1025, "groups")])
def test_a_gpu_chooses_for_lines_with_gaps(size: int, kernel: str) -> None:
    """Two rounds of four units for each lane of a subgroup."""
    with_gaps = replace(problem((5000, size), 1), lines=(Dim(5000, 2048, 2048),))
    assert choice.choose(with_gaps, GPU) == kernel


@pytest.mark.parametrize(
    ("data_type", "size", "invocations", "lines"),
    [
        (T.FLOAT32, 64, 64, 16),
        (T.FLOAT32, 65, 64, 15),
        (T.FLOAT32, 257, 128, 7),
        (T.FLOAT32, 513, 224, 6),
        (T.FLOAT32, 1025, 224, 3),
        (T.FLOAT32, 2049, 160, 1),  # four fifths of its units; others are emptier
        (T.FLOAT16, 3, 64, 680),
        (T.INT64, 2048, 256, 1),
    ],
)
def test_workgroups_have_lines_that_fill_them(
    data_type: T, size: int, invocations: int, lines: int
) -> None:
    (dispatch,) = plan_scan(problem((90_000, size), 1, data_type), GPU, 1 << 28).dispatches
    assert dispatch.constants["WG_SIZE"] == invocations
    assert dispatch.params["group_lines"] == lines
    assert dispatch.workgroups == -(-90_000 // lines)
    wide = replace(GPU, subgroup_max=64)
    (dispatch,) = plan_scan(problem((90_000, size), 1, data_type), wide, 1 << 28).dispatches
    assert dispatch.constants["WG_SIZE"] % 64 == 0


@pytest.mark.parametrize(
    ("data_type", "across", "kernel"),
    [
        (T.FLOAT32, 70_000, "columns_of_units"),
        (T.FLOAT32, 70_002, "columns_of_pairs"),
        (T.FLOAT32, 30_002, ""),  # too few to fill a GPU
        (T.FLOAT32, 70_001, ""),  # words are single elements, as boxes read them
        (T.FLOAT16, 140_004, "columns_of_pairs"),
        (T.FLOAT16, 140_002, "columns_of_words"),
        (T.FLOAT16, 140_001, ""),  # rows begin inside words
        (T.INT64, 35_001, ""),
    ],
)
def test_columns_are_read_in_the_largest_pieces_that_rows_are_whole_numbers_of(
    data_type: T, across: int, kernel: str
) -> None:
    made = plan_scan(problem((100, across), 0, data_type), GPU, 1 << 28)
    assert [d.slots.get("columns", "") for d in made.dispatches] == [kernel]
    assert {d.shader for d in made.dispatches} == {"scan/columns" if kernel else "scan/boxes"}


@pytest.mark.parametrize(
    ("data_type", "shape", "kernel", "columns"),
    [
        (T.FLOAT32, (16_388, 4095), "columns_chain", "columns_in_frames"),
        (T.FLOAT32, (1000, 70_001), "columns_chain", "columns_in_frames"),
        (T.FLOAT32, (1000, 140_001), "columns", "columns_in_frames"),  # enough to fill a GPU
        (T.FLOAT16, (9000, 4098), "columns_chain", "columns_in_frames"),
        (T.FLOAT16, (9000, 4099), "columns_chain", "columns_in_frames"),  # begin within words
        (T.FLOAT16, (2, 9000, 4099), "boxes", ""),  # the end of a matrix has a word with the next
        (T.FLOAT16, (100, 300_001), "columns", "columns_in_frames"),
        (T.INT64, (9000, 2047), "columns_chain", "columns_in_frames"),
        (
            T.INT64,
            (90_000, 99),
            "columns_chain",
            "columns_of_pairs",
        ),  # few, of which a unit has two
        (T.INT64, (1000, 70_001), "boxes", ""),
    ],
)
def test_rows_that_begin_anywhere_have_frames(
    data_type: T, shape: tuple[int, ...], kernel: str, columns: str
) -> None:
    made = plan_scan(problem(shape, len(shape) - 2, data_type), GPU, 1 << 28)
    assert {d.shader for d in made.dispatches if "boxes" in d.shader or columns} == {
        f"scan/{kernel}"
    }
    assert {d.slots.get("columns", "") for d in made.dispatches} == {columns}
    if columns:
        assert made.in_place is not None
        assert all("columns_in_frames" not in d.slots.values() for d in made.in_place.dispatches)


def test_frames_are_as_wide_as_leaves_the_fewest_invocations_idle() -> None:
    widths = {
        across: plan_scan(problem((90_000, across), 0), GPU, 1 << 28).dispatches[0].constants
        for across in (65, 71, 99, 110)
    }
    assert {across: found["COLUMNS"] for across, found in widths.items()} == {
        65: 8,
        71: 8,
        99: 16,
        110: 16,
    }


def test_few_columns_load_further_ahead() -> None:
    batches = [
        plan_scan(problem((100, across), 0), GPU).dispatches[0].constants["BATCH"]
        for across in (131_068, 131_072)
    ]
    assert batches == [4, 2]


def test_without_subgroups_or_progress_long_columns_are_walked() -> None:
    chosen = {
        choice.choose(problem((1 << 28,), 0), Adapter()),
        choice.choose(problem((65536, 4096), 0), PATIENT),
        choice.choose(problem((65536, 4096), 0), replace(GPU, subgroup_min=16)),
    }
    assert chosen == {"walk"}
    by_steps = {n: choice.choose(problem((n, 4096), 0), PATIENT) for n in (1024, 1025)}
    assert by_steps == {1024: "columns", 1025: "walk"}


@pytest.mark.parametrize(
    ("shape", "axis", "kernel"),
    [
        ((4096, 4096), 0, "columns"),
        ((4096, 4096), 1, "walk"),
        ((4096, 64), 0, "columns"),
        ((4096, 60), 0, "walk"),  # 15 columns leave a CPU idle
        ((8 * 65_535, 64), 0, "columns"),
        ((8 * 65_535 + 1, 64), 0, "walk"),  # some drivers stop a loop there
    ],
)
def test_a_cpu_chooses_long_private_runs(shape: tuple[int, ...], axis: int, kernel: str) -> None:
    assert choice.choose(problem(shape, axis), CPU) == kernel


@pytest.mark.parametrize(
    ("shape", "passes"),
    [
        ((1, 16_384), 1),  # four tiles of 1,024 units
        ((1, 16_385), 3),
        ((1, 1 << 27), 3),
        ((255, 1 << 20), 3),
        ((256, 1 << 20), 1),  # as many lines as fill a GPU
    ],
)
def test_few_long_lines_take_three_passes_where_nobody_waits(
    shape: tuple[int, int], passes: int
) -> None:
    for data_type in (T.FLOAT32, T.FLOAT16) if passes == 1 else (T.FLOAT32, T.INT64):
        made = plan_scan(problem(shape, 1, data_type), PATIENT)
        assert {dispatch.shader for dispatch in made.dispatches} == {"scan/groups"}
        entries = {1: ["scan"], 3: ["reduce", "scan", "scan_carried"]}
        assert [dispatch.entry for dispatch in made.dispatches] == entries[passes]
        assert bool(made.scratch) == (passes > 1)


def test_no_plan_waits_in_place() -> None:
    """What is late is computed from the input, which is overwritten by then."""
    waiting = 0
    for desc in descriptions():
        made = plan(desc, ADAPTERS["discrete"])
        if made.waits:
            waiting += 1
            assert made.in_place is not None
            assert not made.in_place.waits
    assert waiting > 10
    for shape, axis in (((65536, 4096), 0), ((1 << 20,), 0), ((1 << 26,), 0)):
        made = plan_scan(problem(shape, axis), GPU)
        assert made.waits
        assert made.in_place == plan_scan(problem(shape, axis), PATIENT)


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("backward", [False, True])
def test_ragged_lines_side_by_side_are_read_in_whole_units(
    adapter: Adapter, backward: bool
) -> None:
    """In place they are not: a unit that two lines share would be written before it is read."""

    def planned(
        sizes: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        out_strides: tuple[int, ...] | None = None,
    ) -> Plan:
        tensor, made_of = (dml.TensorDesc(T.FLOAT32, sizes, s) for s in (out_strides, strides))
        asked = running("sum", made_of, len(sizes) - 1, tensor, axis_direction=int(backward))
        return plan(asked, adapter)

    def io(*sizes_and_strides: Any) -> tuple[str, str]:
        made = planned(*sizes_and_strides)
        in_place = made.dispatches if made.in_place is None else made.in_place.dispatches
        first, second = (
            "run" if d.shader == "scan/runs" else d.slots["io"]
            for d in (made.dispatches[-1], in_place[-1])
        )
        return first, second

    has_runs = adapter.subgroup_min >= 4 and not adapter.is_cpu
    packed = ("run" if has_runs else "io_packed", "io_elements")
    assert io((7, 1001)) == io((5, 3, 61)) == io((1, 4091)) == packed
    assert io((7, 10_001)) == ("io_packed", "io_elements")
    assert io((7, 1000)) == (("run", "run") if has_runs else ("io_units", "io_units"))
    short = ("run" if has_runs else "io_elements", "io_elements")
    assert io((7, 3)) == short  # three lines in one unit
    apart = ("io_elements" if adapter.is_cpu else "io_packed", "io_elements")
    assert io((7, 1001), (1004, 1)) == io((5, 3, 1000), (1001, 5005, 1)) == apart
    gap = (1004, 1)  # is not theirs
    assert io((7, 1001), gap, gap) == io((7, 1001), None, gap) == ("io_elements", "io_elements")
    one, several = (planned((n, 10_001)).dispatches[-1] for n in (1, 7))
    assert one.constants["SHIFTED"] == backward
    assert several.constants["SHIFTED"] == 1
    assert several.params["axis_units"] == one.params["axis_units"] == 2501
    # From the last element of a unit.
    assert planned((7, 10_003)).dispatches[-1].params["axis_units"] == 2502
    tight = replace(adapter, max_binding=1 << 16)  # parts are not read in units, so may be in place
    parts = plan(running("sum", dml.TensorDesc(T.FLOAT32, (77, 1001)), 1), tight)
    assert {d.slots["io"] for d in parts.dispatches} == {"io_elements"}
    assert parts.in_place is None


@pytest.mark.parametrize(
    ("size", "invocations"), [(4097, 160), (8300, 192), (9001, 192), (30_000, 256)]
)
def test_workgroups_have_no_more_subgroups_than_a_line_has_work_for(
    size: int, invocations: int
) -> None:
    """Tiles of a line are of equal size."""
    (dispatch,) = plan_scan(problem((5000, size), 1), GPU, 1 << 27).dispatches
    assert dispatch.shader == "scan/groups"
    assert dispatch.constants["WG_SIZE"] == invocations
    wide = replace(GPU, subgroup_max=64)
    (dispatch,) = plan_scan(problem((5000, size), 1), wide, 1 << 27).dispatches
    assert dispatch.constants["WG_SIZE"] % 64 == 0


def test_parts_that_wait_share_their_memory() -> None:
    small = replace(GPU, max_binding=1 << 27)
    made = plan_scan(problem((8, 1 << 12, 4096), 1), small, 1 << 29)
    assert {d.shader for d in made.dispatches} == {"scan/columns_chain"}
    assert len(made.dispatches) > 3
    assert {d.bindings["status"] for d in made.dispatches} == made.shared.keys() == {"status"}
    most = max(int(str(d.params["places"])) for d in made.dispatches)
    assert made.shared["status"] == 16 + most * 8
    assert not made.scratch


@pytest.mark.parametrize("data_type", [T.FLOAT16, T.INT32, T.INT64], ids=lambda t: t.name)
def test_no_call_takes_more_tickets_than_are_counted(data_type: T) -> None:
    """A count of 20 bits; the largest tensors of few columns are walked."""
    roomy = replace(GPU, max_binding=1 << 44)
    most = (1 << 32) - 1
    for columns in (8, 128, 4096, 32768 * 128 // data_type.bits - 8):
        for axis in (64, 1024, most // columns):
            made = plan_scan(problem((axis, columns), 0, data_type), roomy)
            waits = [d for d in made.dispatches if "status" in d.bindings]
            assert all(prod(grid(d.workgroups, 65535, "")) <= 1 << 20 for d in waits)
    for lines in (1, 8, 255, 1000, 1023):
        for size in (most // lines, min(most // lines, 1 << 22)):
            made = plan_scan(problem((lines, size), 1, data_type), roomy)
            waits = [d for d in made.dispatches if "status" in d.bindings]
            assert all(prod(grid(d.workgroups, 65535, "")) <= 1 << 20 for d in waits)


def test_what_tiles_publish_through_is_one_binding() -> None:
    """Where it would not be, nobody waits: a sixteenth of a tensor of short columns is much."""
    for shape, axis, shader in (
        ((64, 4096), 0, "scan/columns"),
        ((3, 40_000), 1, "scan/groups"),
    ):
        made = plan_scan(problem(shape, axis), GPU)
        assert plan_scan(problem(shape, axis), replace(GPU, max_binding=1 << 20)) == made
        tiny = replace(GPU, max_binding=made.shared["status"] - 16)
        shaders = {d.shader for d in _plan(problem(shape, axis), tiny).dispatches}
        assert shaders == {shader}


def test_a_line_too_long_for_a_binding_takes_passes() -> None:
    small = replace(GPU, max_binding=1 << 27)
    shaders = {d.shader for d in plan_scan(problem((1 << 26,), 0), small, 1 << 28).dispatches}
    assert shaders == {"scan/groups"}


def test_each_adapter_gets_the_scans_it_can_run() -> None:
    """Most kernels need subgroups; those that wait need 32 lanes and an adapter that runs on.

    A CPU walks: its subgroups are a few lanes of one core.
    """
    scans = [desc for desc in descriptions() if hasattr(desc, "axis")]
    used = {
        name: {dispatch.shader for desc in scans for dispatch in plan(desc, adapter).dispatches}
        for name, adapter in ADAPTERS.items()
    }
    walks = {"scan/walk", "scan/columns", "move/packed"}  # copied along an axis of one step
    subgroups = {f"scan/{kernel}" for kernel in ("runs", "rows", "groups")}
    waiting = {f"scan/{kernel}" for kernel in ("columns_chain", "stream")}
    assert used == {
        "least": walks,
        "software": walks - {"move/packed"} | {"move/copy"},
        "discrete": walks | subgroups | waiting,
        "integrated": walks | subgroups,
        "mobile": walks | subgroups,
    }


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize(
    ("fact", "types", "slot", "snippet"),
    [
        ("exact_floats", [T.FLOAT16], "num", "num_f16_hardware"),
        ("wide_integers", [T.INT64, T.UINT64], "fold", "fold_product_wide"),
    ],
)
def test_what_an_adapter_can_changes_the_arithmetic_and_nothing_else(
    fact: str, types: list[T], slot: str, snippet: str, adapter: Adapter
) -> None:
    """But for short runs on software adapters: those with wide integers put units together."""
    for desc in descriptions():
        without = plan(desc, replace(adapter, **{fact: False}))
        having = plan(desc, replace(adapter, **{fact: True}))
        if hasattr(desc, "axis") and desc.input_tensor.data_type in types:
            last = having.dispatches[-1]
            is_product = isinstance(desc, dml.CumulativeProductDesc)
            if not last.shader.startswith("move/") and (slot == "num" or is_product):
                assert last.slots[slot] == snippet
        if fact == "wide_integers" and adapter.is_cpu and _moves(having) != _moves(without):
            assert (_moves(without), _moves(having)) == ({"words"}, {"dense"})
            continue
        assert _with_own_arithmetic(having) == _with_own_arithmetic(without)


def _moves(made: Plan) -> set[str]:
    """The kernels of its moves."""
    return {d.slots["move"] for d in made.dispatches if "move" in d.slots}


def _with_own_arithmetic(made: Plan) -> Plan:
    """The plan without what says how numbers are computed, and moves without how they divide."""
    renamed = []
    for d in made.dispatches:
        slots = {k: re.sub("_(hardware|wide)$", "", v) for k, v in d.slots.items()}
        if d.shader.startswith("move/"):
            params = {k: v for k, v in d.params.items() if k not in ("magics", "shifts")}
            d = replace(d, params=params, code="")
            slots.pop("divide", None)
        renamed.append(replace(d, slots=slots))
    in_place = None if made.in_place is None else _with_own_arithmetic(made.in_place)
    return replace(made, dispatches=tuple(renamed), in_place=in_place)


def test_segments_cover_their_lines_and_hand_on_a_partial_each() -> None:
    """As many passes down as up; between them one that needs no partials."""
    for desc, made in every_plan():
        segmented = [d for d in made.dispatches if "segments" in d.params]
        if not segmented or segmented[0].spans:  # stretches are test_parts' matter
            continue
        levels = len(made.scratch)
        entries = ["reduce"] * levels + ["scan"] + ["scan_carried"] * levels
        assert [d.entry for d in made.dispatches] == entries
        assert [d.params["segments"] == 1 for d in segmented] == [e == "scan" for e in entries]
        size = 8 if desc.input_tensor.data_type.bits == 64 else 4
        for level, (name, scratch) in enumerate(made.scratch.items()):
            down, up = segmented[level], segmented[-1 - level]
            assert down.bindings["partials"] == up.bindings["partials"] == name
            assert segmented[level + 1].bindings["input"] == name
            assert segmented[-2 - level].bindings["output"] == name
            assert scratch == down.params["lines"] * down.params["segments"] * size
            assert down.params == up.params
        for d in segmented:
            full = d.params["segment_units"] * (d.params["segments"] - 1)
            assert full < d.params["axis_units"] <= full + d.params["segment_units"]


@pytest.mark.parametrize(
    ("shape", "axes", "axis", "is_one"),
    [
        ((700, 200, 130), (1, 2, 0), 0, True),  # 396 boxes, with runs of 64 bytes
        ((5, 855, 3925), (0, 2, 1), 1, True),  # 270, along the input's lines
        ((40, 5, 300, 40), (2, 1, 3, 0), 0, False),  # 45
        ((488, 21157, 13), (1, 0, 2), 0, False),  # pieces of 13 words stay together
    ],
)
def test_boxes_with_short_runs_are_better_than_three_passes(
    shape: tuple[int, ...], axes: tuple[int, ...], axis: int, is_one: bool
) -> None:
    strides = dml.TensorDesc(T.INT32, shape).effective_strides
    source = dml.TensorDesc(T.INT32, [shape[d] for d in axes], [strides[d] for d in axes])
    made = plan(running("sum", source, axis), GPU)
    assert [d.shader for d in made.dispatches if "boxes" in d.shader] == ["scan/boxes"] * (
        1 if is_one else 2
    )
