"""Which kernel a scan gets, and what its passes hold: pure functions, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from test_plans import ADAPTERS, descriptions, every_plan, plan, running

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.plan import scan
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.lines import Scan
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
    keeps_running=True,
    max_workgroup_size=1024,
    max_workgroup_storage=49152,
    max_binding=1 << 31,
)
CPU = Adapter(is_cpu=True, subgroup_min=8, subgroup_max=8)


@pytest.mark.parametrize(
    ("shape", "axis", "kernel"),
    [
        ((65536, 4096), 1, "groups"),
        ((65536, 4096), 0, "columns_chain"),
        ((63, 4096), 0, "columns"),  # too short for tiles
        ((64, 4096), 0, "columns_chain"),
        ((255, 65536), 0, "columns"),  # 16,384 columns of 16 bytes, 64 for each step
        ((256, 65536), 0, "columns_chain"),
        ((4096, 131068), 0, "columns_chain"),
        ((4096, 131072), 0, "columns"),  # 32,768 columns fill a GPU
        ((64, 1024, 4096), 1, "columns"),
        ((1 << 22, 64), 1, "lanes"),
        ((1 << 28,), 0, "stream"),
        ((1 << 22,), 0, "linked"),  # 16 MiB
        (((1 << 22) + 1,), 0, "stream"),
        ((4096,), 0, "groups"),  # one tile
        ((4097,), 0, "linked"),
        ((1 << 22, 2), 0, "linked"),  # elements that are apart
        ((1 << 23, 2), 0, "groups"),  # 2,048 tiles of them
        ((255, 1 << 14), 1, "linked"),
        ((256, 1 << 14), 1, "groups"),  # a quarter of the lines that fill a GPU
        ((1023, 1 << 16), 1, "groups"),
        ((1023, (1 << 16) + 1), 1, "stream"),  # 17 tiles
        ((1024, 1 << 20), 1, "groups"),  # as many lines as fill a GPU
        ((128,), 0, "lanes"),  # a unit for each lane
        ((129,), 0, "rows"),
        ((1024,), 0, "rows"),  # two rounds of four units for each lane
        ((1025,), 0, "groups"),
        ((500, 5, 3), 1, "walk"),  # 1,500 lines of elements that are apart
        ((300, 5, 3), 1, "lanes"),
    ],
)
def test_a_gpu_chooses(shape: tuple[int, ...], axis: int, kernel: str) -> None:
    assert scan.choose(problem(shape, axis), GPU) == kernel


def test_without_subgroups_or_progress_long_lines_are_walked() -> None:
    chosen = {
        scan.choose(problem((1 << 28,), 0), Adapter()),
        scan.choose(problem((65536, 4096), 0), replace(GPU, keeps_running=False)),
        scan.choose(problem((65536, 4096), 0), replace(GPU, subgroup_min=16)),
    }
    assert chosen == {"walk"}
    waits = {
        n: scan.choose(problem((n, 4096), 0), replace(GPU, keeps_running=False)) for n in (512, 513)
    }
    assert waits == {512: "columns", 513: "walk"}


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
    assert scan.choose(problem(shape, axis), CPU) == kernel


@pytest.mark.parametrize(
    ("shape", "segments", "passes"),
    [
        ((1, 16_384), 1, 1),  # four tiles of 1,024 units
        ((1, 16_385), 5, 2),
        ((1, 1 << 20), 256, 2),  # one for each invocation to add up
        ((1, (1 << 20) + 1), 129, 2),  # two tiles to a segment
        ((1, 1 << 21), 256, 2),
        ((1, (1 << 21) + 1), 257, 3),
        ((64, 1 << 20), 128, 2),  # 8,192 segments in all
        ((255, 1 << 16), 16, 2),
        ((256, 1 << 16), 1, 1),  # enough lines for so few tiles
        ((256, (1 << 16) + 1), 17, 2),
        ((1023, 1 << 20), 9, 2),
        ((1024, 1 << 20), 1, 1),  # as many lines as fill a GPU
    ],
)
def test_few_long_lines_take_more_than_one_pass(
    shape: tuple[int, int], segments: int, passes: int
) -> None:
    made = scan.plan_scan(problem(shape, 1), replace(GPU, keeps_running=False))
    assert {dispatch.shader for dispatch in made.dispatches} == {"cumulative_groups"}
    entries = {1: ["scan"], 2: ["reduce", "scan_after"], 3: ["reduce", "scan", "scan_carried"]}
    assert [dispatch.entry for dispatch in made.dispatches] == entries[passes]
    assert [dispatch.constants.get("AFTER", 0) for dispatch in made.dispatches] == [
        int(dispatch.entry == "scan_after") for dispatch in made.dispatches
    ]
    assert made.dispatches[-1].params["segments"] == segments
    assert made.dispatches[-1].workgroups == shape[0] * segments
    assert sum(made.scratch.values()) == (4 * shape[0] * segments if passes > 1 else 0)


@pytest.mark.parametrize(
    ("data_type", "rows", "steps", "block"),
    [(T.FLOAT32, 32, 16, 16), (T.FLOAT16, 16, 28, 16), (T.UINT64, 32, 12, 1)],
    ids=["FLOAT32", "FLOAT16", "UINT64"],
)
def test_tiles_down_a_long_axis(data_type: T, rows: int, steps: int, block: int) -> None:
    """Tiles are 8 columns of 16 bytes by so many rows of so many steps.

    Where few tiles are side by side, their sums are published too, and added up in blocks.
    """
    made = scan.plan_scan(problem((70_000, 520), 0, data_type), GPU)
    (run,) = made.dispatches
    assert run.shader == "cumulative_columns_chain"
    columns = 520 * data_type.bits // 128
    across, down = -(-columns // 8), -(-70_000 // (steps * rows))
    assert (across < 32) == (block > 1)
    assert run.params["columns"] == columns
    assert (run.params["tiles_across"], run.params["tiles_down"]) == (across, down)
    assert run.workgroups == across * down
    tile = {"WG_SIZE": 8 * rows, "STEPS": steps, "BLOCK": block}
    assert run.constants == {**tile, "RANK": 1, "EXCLUSIVE": 0}
    pieces = 4 if data_type.bits == 64 else 2  # of 16 bits, each in a word with a flag
    sums = down // 16 + down if block > 1 else down
    words = 4 + across * sums * 8 * (128 // data_type.bits) * pieces
    assert made.scratch == {}
    assert made.shared == {"status": 4 * words}


@pytest.mark.parametrize(
    ("axis", "data_type", "rows", "steps", "down"),
    [
        (64, T.FLOAT32, 32, 2, 1),
        (257, T.FLOAT32, 32, 16, 1),
        (512, T.FLOAT32, 32, 16, 1),
        (513, T.FLOAT32, 32, 16, 2),
        (100, T.FLOAT16, 32, 4, 1),
        (1024, T.FLOAT16, 32, 8, 4),
        (1025, T.FLOAT16, 16, 16, 5),
        (8192, T.FLOAT16, 16, 16, 32),
        (8193, T.FLOAT16, 16, 28, 19),
        (400, T.INT64, 32, 12, 2),
    ],
)
def test_tiles_have_no_more_steps_than_the_axis_needs(
    axis: int, data_type: T, rows: int, steps: int, down: int
) -> None:
    (run,) = scan.plan_scan(problem((axis, 4096), 0, data_type), GPU).dispatches
    assert run.shader == "cumulative_columns_chain"
    assert (run.constants["WG_SIZE"], run.constants["STEPS"]) == (8 * rows, steps)
    assert run.params["tiles_down"] == down


def test_linked_tiles_publish_one_sum_each() -> None:
    made = scan.plan_scan(problem((3, 40_000), 1), GPU)
    (run,) = made.dispatches
    assert run.shader == "cumulative_linked"
    assert (run.params["tiles"], run.params["places"], run.workgroups) == (10, 30, 30)
    assert made.shared == {"status": 4 * (4 + 30 * 2)}
    wide = scan.plan_scan(problem((3, 40_000), 1, T.INT64), GPU)
    assert wide.shared == {"status": 4 * (4 + 60 * 4)}


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("backward", [False, True])
def test_ragged_lines_side_by_side_are_read_in_whole_units(
    adapter: Adapter, backward: bool
) -> None:
    """In place they are not: a unit that two lines share would be written before it is read."""

    def io(sizes: tuple[int, ...], strides: tuple[int, ...] | None = None) -> tuple[str, str]:
        tensor = dml.TensorDesc(T.FLOAT32, sizes, strides)
        made = plan(running("sum", tensor, len(sizes) - 1, axis_direction=int(backward)), adapter)
        in_place = made.dispatches if made.in_place is None else made.in_place.dispatches
        return made.dispatches[-1].slots["io"], in_place[-1].slots["io"]

    assert io((7, 1001)) == io((5, 3, 61)) == io((1, 4099)) == ("io_packed", "io_elements")
    assert io((7, 1000)) == ("io_units", "io_units")
    assert io((7, 3)) == ("io_elements", "io_elements")  # three lines in one unit
    assert io((7, 1001), (1004, 1)) == ("io_elements", "io_elements")  # a gap is not theirs
    one, several = (
        plan(
            running("sum", dml.TensorDesc(T.FLOAT32, (n, 1001)), 1, axis_direction=int(backward)),
            adapter,
        )
        for n in (1, 7)
    )
    assert one.dispatches[-1].constants["SHIFTED"] == backward
    assert several.dispatches[-1].constants["SHIFTED"] == 1
    assert several.dispatches[-1].params["axis_units"] == 251
    assert one.dispatches[-1].params["axis_units"] == 251
    seven = plan(
        running("sum", dml.TensorDesc(T.FLOAT32, (7, 1003)), 1, axis_direction=int(backward)),
        adapter,
    )
    assert seven.dispatches[-1].params["axis_units"] == 252  # from the last element of a unit
    tight = replace(adapter, max_binding=1 << 16)  # parts are not read in units, so may be in place
    parts = plan(running("sum", dml.TensorDesc(T.FLOAT32, (77, 1001)), 1), tight)
    assert {d.slots["io"] for d in parts.dispatches} == {"io_elements"}
    assert parts.in_place is None


@pytest.mark.parametrize(
    ("data_type", "most", "tile", "ahead", "near"),
    [
        (T.FLOAT32, 1024, 8192, 224, 4),
        (T.INT32, 256, 4096, 448, 1),
        (T.FLOAT16, 1024, 8192, 448, 1),
        (T.INT64, 1024, 2048, 448, 1),
    ],
    ids=["FLOAT32", "INT32-256", "FLOAT16", "INT64"],
)
def test_a_stream_reads_so_many_tiles_ahead(
    data_type: T, most: int, tile: int, ahead: int, near: int
) -> None:
    """Places are of tiles, of whole blocks of 32 tiles, and of whole blocks of 32 blocks."""
    size = 40_000_000
    made = scan.plan_scan(problem((2, size), 1, data_type), replace(GPU, max_workgroup_size=most))
    (run,) = made.dispatches
    assert run.shader == "cumulative_stream"
    tiles = -(-size // tile)
    places = tiles + tiles // 32 + tiles // 1024
    wanted = {"tiles": tiles, "blocks": tiles // 32, "line_places": places}
    wanted |= {"places": 2 * places, "all_tiles": 2 * tiles}
    assert wanted.items() <= run.params.items()
    assert run.workgroups == 2 * tiles + ahead
    assert run.constants["AT_ONCE"] == (near == 1)
    assert (run.constants["AHEAD"], run.constants["NEAR"], run.constants["FAN"]) == (
        ahead,
        near,
        32,
    )
    assert run.constants["WG_SIZE"] * 4 * 128 // data_type.bits == tile
    pieces = 4 if data_type.bits == 64 else 2
    assert made.shared == {"status": -(-(16 + 2 * places * pieces * 4) // 16) * 16}


def test_parts_that_wait_share_their_memory() -> None:
    small = replace(GPU, max_binding=1 << 27)
    made = scan.plan_scan(problem((8, 1 << 12, 4096), 1), small, 1 << 29)
    assert {d.shader for d in made.dispatches} == {"cumulative_columns_chain"}
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
            made = scan.plan_scan(problem((axis, columns), 0, data_type), roomy)
            waits = [d for d in made.dispatches if "status" in d.bindings]
            assert all(prod(grid(d.workgroups, 65535, "")) <= 1 << 20 for d in waits)
    for lines in (1, 8, 255, 1000, 1023):
        for size in (most // lines, min(most // lines, 1 << 22)):
            made = scan.plan_scan(problem((lines, size), 1, data_type), roomy)
            waits = [d for d in made.dispatches if "status" in d.bindings]
            assert all(prod(grid(d.workgroups, 65535, "")) <= 1 << 20 for d in waits)


def test_what_tiles_publish_through_is_one_binding() -> None:
    """Where it would not be, nobody waits: a sixteenth of a tensor of short columns is much."""
    for shape, axis, shader in (
        ((64, 4096), 0, "cumulative"),
        ((3, 40_000), 1, "cumulative_groups"),
    ):
        made = scan.plan_scan(problem(shape, axis), GPU)
        assert scan.plan_scan(problem(shape, axis), replace(GPU, max_binding=1 << 20)) == made
        tiny = replace(GPU, max_binding=made.shared["status"] - 16)
        shaders = {d.shader for d in scan._plan(problem(shape, axis), tiny).dispatches}
        assert shaders == {shader}


def test_a_line_too_long_for_a_binding_takes_passes() -> None:
    small = replace(GPU, max_binding=1 << 27)
    shaders = {d.shader for d in scan.plan_scan(problem((1 << 26,), 0), small, 1 << 28).dispatches}
    assert shaders == {"cumulative_groups"}


def test_each_adapter_gets_the_scans_it_can_run() -> None:
    """Most kernels need subgroups; those that wait need 32 lanes and an adapter that runs on.

    A CPU walks: its subgroups are a few lanes of one core.
    """
    scans = [desc for desc in descriptions() if hasattr(desc, "axis")]
    used = {
        name: {dispatch.shader for desc in scans for dispatch in plan(desc, adapter).dispatches}
        for name, adapter in ADAPTERS.items()
    }
    walks = {"cumulative", "cumulative_columns"}
    subgroups = {f"cumulative_{kernel}" for kernel in ("lanes", "rows", "groups")}
    waiting = {f"cumulative_{kernel}" for kernel in ("columns_chain", "linked", "stream")}
    assert used == {
        "least": walks,
        "software": walks,
        "discrete": walks | subgroups | waiting,
        "integrated": walks | subgroups,
        "mobile": walks | subgroups,
    }


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
def test_exact_halves_change_the_conversion_and_nothing_else(adapter: Adapter) -> None:
    for desc in descriptions():
        inexact = plan(desc, replace(adapter, exact_halves=False))
        exact = plan(desc, replace(adapter, exact_halves=True))
        if hasattr(desc, "axis") and desc.input_tensor.data_type == T.FLOAT16:
            assert exact.dispatches[-1].slots["num"] == "num_f16_hardware"
        assert _without_hardware(exact) == inexact


def _without_hardware(made: Plan) -> Plan:
    renamed = [
        replace(d, slots={k: v.replace("_hardware", "") for k, v in d.slots.items()})
        for d in made.dispatches
    ]
    in_place = None if made.in_place is None else _without_hardware(made.in_place)
    return replace(made, dispatches=tuple(renamed), in_place=in_place)


def test_segments_cover_their_lines_and_hand_on_a_partial_each() -> None:
    """As many passes down as up; between them one that needs no partials, or none at all."""
    for desc, made in every_plan():
        segmented = [d for d in made.dispatches if "segments" in d.params]
        if not segmented or segmented[0].spans:  # stretches are test_parts' matter
            continue
        levels = len(made.scratch)
        entries = ["reduce"] * levels + ["scan"] + ["scan_carried"] * levels
        if any(d.entry == "scan_after" for d in made.dispatches):
            entries[levels : levels + 2] = ["scan_after"]
        assert [d.entry for d in made.dispatches] == entries
        assert [d.params["segments"] == 1 for d in segmented] == [e == "scan" for e in entries]
        size = 8 if desc.input_tensor.data_type.bits == 64 else 4
        for level, (name, scratch) in enumerate(made.scratch.items()):
            down, up = segmented[level], segmented[-1 - level]
            assert down.bindings["partials"] == up.bindings["partials"] == name
            if up.entry == "scan_carried":
                assert segmented[level + 1].bindings["input"] == name
                assert segmented[-2 - level].bindings["output"] == name
            assert scratch == down.params["lines"] * down.params["segments"] * size
            assert down.params == up.params
        for d in segmented:
            full = d.params["segment_units"] * (d.params["segments"] - 1)
            assert full < d.params["axis_units"] <= full + d.params["segment_units"]
