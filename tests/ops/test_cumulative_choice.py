"""Which kernel a scan gets, and what its passes hold: pure functions, without a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_plans import ADAPTERS, descriptions, every_plan, plan

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import scan
from dmlgpu.lines import Scan
from dmlgpu.operator import Adapter


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
        ((128, 4096), 0, "columns"),  # short enough for few columns
        ((129, 4096), 0, "columns_chain"),
        ((64, 1024, 4096), 1, "columns"),
        ((513, 65532), 0, "columns_chain"),
        ((513, 65536), 0, "columns"),  # 16,384 columns of 16 bytes
        ((1 << 22, 64), 1, "lanes"),
        ((1 << 28,), 0, "stream"),
        ((1 << 23,), 0, "stream"),  # 32 MiB
        (((1 << 23) - 4,), 0, "groups"),  # three passes
        (((1 << 23) + 1,), 0, "groups"),  # not whole units
        ((1023, 1 << 14), 1, "stream"),
        ((1024, 1 << 14), 1, "groups"),  # as many lines as fill a GPU
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
    ("data_type", "rows", "steps"),
    [(T.FLOAT32, 32, 16), (T.FLOAT16, 16, 28), (T.UINT64, 16, 16)],
    ids=["FLOAT32", "FLOAT16", "UINT64"],
)
def test_a_single_pass_clears_all_that_it_publishes_through(
    data_type: T, rows: int, steps: int
) -> None:
    """Tiles are 8 columns of 16 bytes by so many rows of so many steps."""
    made = scan.plan_scan(problem((70_000, 520), 0, data_type), GPU)
    clear, run = made.dispatches
    assert (clear.shader, run.shader) == ("cumulative_clear", "cumulative_columns_chain")
    columns = 520 * data_type.bits // 128
    across, down = -(-columns // 8), -(-70_000 // (steps * rows))
    assert run.params["columns"] == columns
    assert (run.params["tiles_across"], run.params["tiles_down"]) == (across, down)
    assert run.workgroups == across * down
    tile = {"WG_SIZE": 8 * rows, "STEPS": steps, "AT_ONCE": int(data_type is T.FLOAT16)}
    assert run.constants == {**tile, "RANK": 1, "EXCLUSIVE": 0}
    pieces = 4 if data_type.bits == 64 else 2  # of 16 bits, each in a word with a flag
    words = 4 + across * down * 8 * (128 // data_type.bits) * pieces
    assert made.scratch == {"status": 4 * words}
    assert clear.params == {"count": words // 4}
    assert clear.workgroups == -(-words // 4 // 256)


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
    clear, run = made.dispatches
    assert (clear.shader, run.shader) == ("cumulative_clear", "cumulative_stream")
    tiles = -(-size // tile)
    places = tiles + tiles // 32 + tiles // 1024
    wanted = {"tiles": tiles, "blocks": tiles // 32, "places": places, "all_tiles": 2 * tiles}
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
    assert made.scratch == {"status": -(-(16 + 2 * places * pieces * 4) // 16) * 16}


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
    waiting = {f"cumulative_{kernel}" for kernel in ("columns_chain", "stream", "clear")}
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
        renamed = [
            replace(d, slots={k: v.replace("_hardware", "") for k, v in d.slots.items()})
            for d in exact.dispatches
        ]
        assert replace(exact, dispatches=tuple(renamed)) == inexact


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
