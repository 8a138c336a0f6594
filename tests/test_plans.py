"""Plans without a GPU: folding, widening, the choice of kernel, workgroups, passes and the grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from math import prod
from typing import Any

import pytest
from support.plans import ADAPTERS, copy, descriptions, every_plan, one, plan, rows, running

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, eight
from dmlgpu.plan.loops import Dim, count, extent, fold, is_nested, widen
from dmlgpu.runtime.reach import grid
from dmlgpu.wgsl.assembly import Shader, assemble, binds
from dmlgpu.wgsl.params import pack_params


def test_every_dispatch_fits_its_shader() -> None:
    """Slots, parameters, constants, bindings and entry are those the WGSL declares."""
    assembled: dict[Any, Shader] = {}
    for desc, made in every_plan():
        assert made.dispatches
        tensors = {f.name for f in fields(desc) if f.name.endswith("_tensor")}
        for dispatch in made.dispatches:
            key = (dispatch.shader, tuple(dispatch.slots.items()), dispatch.code)
            if key not in assembled:
                assembled[key] = assemble(dispatch.shader, dispatch.slots, code=dispatch.code)
            shader = assembled[key]
            pack_params(shader.label, shader.params, dispatch.params)
            assert all(f"override {name}:" in shader.text for name in dispatch.constants)
            assert f"\nfn {dispatch.entry}(" in shader.text
            assert set(dispatch.bindings) <= {bound.name for bound in shader.bindings}
            assert set(dispatch.bindings.values()) <= {
                *tensors,
                *made.scratch,
                *made.shared,
                "report",
            }


def table(n: int, data_type: T = T.FLOAT32) -> TensorDesc:
    """Rows of 100."""
    return TensorDesc(data_type, (n, 100))


ROWS: dict[str, Callable[[int], Any]] = {
    "copy": lambda n: copy(table(n)),
    "window": lambda n: copy(table(n), offsets=(0, 1), windows=(n, 98)),
    "reversed": lambda n: copy(table(n), steps=(1, -1)),
    "reversed bytes": lambda n: copy(table(n, T.UINT8), steps=(1, -1)),
    "rows gathered from more": lambda n: rows(table(n), (7, 1), T.INT32),
    "more rows gathered": lambda n: rows(table(50), (n, 1), T.INT64),
    "more elements gathered": lambda n: rows(table(50), (n, 2), T.INT32),
    "joined": lambda n: dml.JoinDesc(
        input_tensors=(table(n), table(n)), output_tensor=TensorDesc(T.FLOAT32, (n, 200)), axis=1
    ),
    "running sum": lambda n: running("sum", table(n), 1),
    "sum": lambda n: dml.ElementWiseAddDesc(
        a_tensor=table(n), b_tensor=table(n), output_tensor=table(n)
    ),
    "a row to every row": lambda n: dml.ElementWiseAddDesc(
        a_tensor=table(n),
        b_tensor=TensorDesc(T.FLOAT32, (n, 100), (0, 1)),
        output_tensor=table(n),
    ),
    "cast": lambda n: dml.CastDesc(input_tensor=table(n), output_tensor=table(n, T.FLOAT16)),
}


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("made", ROWS.values(), ids=ROWS)
def test_more_rows_of_one_length_need_no_other_pipeline(
    made: Callable[[int], Any], adapter: Adapter
) -> None:
    """Of moves, element-wise work and scans along rows: the number of rows is a parameter.

    Tiles, reductions and scans across rows do have sizes in their text (decision 14). How many
    pipelines these may take is held in test_small_shapes.py.
    """
    found = [plan(made(n), adapter).dispatches for n in (3, 301, 3000)]
    kernels = [[(d.shader, d.slots, d.constants, d.code, d.entry) for d in ds] for ds in found]
    assert kernels == kernels[:1] * 3
    assert len({repr([sorted(d.params.items()) for d in ds]) for ds in found}) == 3


@pytest.mark.parametrize(
    ("dims", "folded"),
    [
        ([Dim(4, 6, 6), Dim(2, 3, 3), Dim(3, 1, 1)], [Dim(24, 1, 1)]),
        ([Dim(4, 3, 12), Dim(1, 77, 77), Dim(3, 1, 1)], [Dim(4, 3, 12), Dim(3, 1, 1)]),
        ([Dim(2, 1, 4), Dim(4, 2, 1)], [Dim(4, 2, 1), Dim(2, 1, 4)]),
        ([Dim(4, 3, 0), Dim(3, 1, 0)], [Dim(12, 1, 0)]),
        ([Dim(4, 3, -3), Dim(3, 1, -1)], [Dim(12, 1, -1)]),
        ([Dim(4, 3, 3), Dim(3, 1, -1)], [Dim(4, 3, 3), Dim(3, 1, -1)]),
        ([Dim(4, 3, 3, 1), Dim(3, 1, 1, 0)], [Dim(4, 3, 3, 1), Dim(3, 1, 1, 0)]),
        ([Dim(4, 3, 0, 3), Dim(3, 1, 0, 1)], [Dim(12, 1, 0, 1)]),
        ([Dim(1, 5, 5), Dim(1, 1, 1)], [Dim(1, 1, 1)]),
    ],
    ids=[
        "packed",
        "a size of 1 does not count",
        "ordered by the output",
        "broadcast",
        "both reversed",
        "one reversed",
        "one index tuple per row",
        "one index tuple per element",
        "one element",
    ],
)
def test_folding(dims: list[Dim], folded: list[Dim]) -> None:
    assert fold(dims) == tuple(folded)
    assert count(tuple(folded)) == prod(dim.size for dim in dims)


def test_extent_counts_gaps() -> None:
    assert extent((Dim(3, 10, 0), Dim(4, 2, 0))) == 1 + 20 + 6


@pytest.mark.parametrize(
    ("dims", "nested"),
    [
        ((Dim(3, 4, 4), Dim(4, 1, 1)), True),
        ((Dim(3, 8, 4), Dim(4, 1, 1)), True),
        ((Dim(3, 8, 4), Dim(4, 2, 1)), False),  # no element at the odd addresses
        ((Dim(4, 3, 1), Dim(3, 2, 1)), False),  # rows reach into each other
        ((Dim(2, 7, 1), Dim(3, 2, 1), Dim(2, 1, 1)), False),  # a row of 7 holds no whole pairs
    ],
)
def test_nesting(dims: tuple[Dim, ...], nested: bool) -> None:
    assert is_nested(dims) == nested


@pytest.mark.parametrize(
    ("bits", "dims", "offset", "widened"),
    [
        (8, (Dim(64, 1, 1),), 0, (128, (Dim(4, 1, 1),), 16)),
        (8, (Dim(64, 1, 1),), 4, (32, (Dim(16, 1, 1),), 4)),
        (8, (Dim(64, 1, 1),), 8, (32, (Dim(16, 1, 1),), 4)),  # 64 bits are no better than 32
        (8, (Dim(64, 1, 1),), 2, (16, (Dim(32, 1, 1),), 2)),
        (8, (Dim(64, 1, 1),), 3, (8, (Dim(64, 1, 1),), 1)),
        (8, (Dim(62, 1, 1),), 0, (16, (Dim(31, 1, 1),), 2)),
        (16, (Dim(64, 1, 1),), 0, (128, (Dim(8, 1, 1),), 8)),
        (16, (Dim(5, 64, 72), Dim(64, 1, 1)), 8, (128, (Dim(5, 8, 9), Dim(8, 1, 1)), 8)),
        (16, (Dim(5, 64, 66), Dim(64, 1, 1)), 8, (32, (Dim(5, 32, 33), Dim(32, 1, 1)), 2)),
        (16, (Dim(5, 64, 65), Dim(64, 1, 1)), 8, (16, (Dim(5, 64, 65), Dim(64, 1, 1)), 1)),
        (16, (Dim(64, 1, -1),), 0, (16, (Dim(64, 1, -1),), 1)),
        (16, (Dim(64, 1, 1, 1),), 0, (16, (Dim(64, 1, 1, 1),), 1)),
        (32, (Dim(64, 1, 1),), 0, (128, (Dim(16, 1, 1),), 4)),
        (32, (Dim(5, 16, -8), Dim(8, 1, 1)), 32, (128, (Dim(5, 4, -2), Dim(2, 1, 1)), 4)),
        (32, (Dim(66, 1, 1),), 0, (32, (Dim(66, 1, 1),), 1)),
        (64, (Dim(64, 1, 1),), 0, (128, (Dim(32, 1, 1),), 2)),
        (64, (Dim(63, 1, 1),), 0, (64, (Dim(63, 1, 1),), 1)),
    ],
)
def test_widening(
    bits: int, dims: tuple[Dim, ...], offset: int, widened: tuple[int, tuple[Dim, ...], int]
) -> None:
    assert widen(bits, dims, offset) == widened


@pytest.mark.parametrize(
    ("bits", "wide", "size", "grouped"),
    [(8, 32, 16, 4), (16, 32, 32, 2), (32, 32, 64, 1), (64, 64, 64, 1)],
)
def test_widening_stops_where_it_is_told(bits: int, wide: int, size: int, grouped: int) -> None:
    """Elements that are written one by one gain nothing beyond a word."""
    assert widen(bits, (Dim(64, 1, 1),), 0, most=32) == (wide, (Dim(size, 1, 1),), grouped)


def test_every_start_limits_widening() -> None:
    """The strides that index values are multiplied with are starts too."""
    dims = (Dim(5, 64, 0, 1), Dim(64, 1, 1))
    assert widen(8, dims, 0, 640, 64) == (128, (Dim(5, 4, 0, 1), Dim(4, 1, 1)), 16)
    assert widen(8, dims, 0, 644, 64) == (32, (Dim(5, 16, 0, 1), Dim(16, 1, 1)), 4)


def test_a_reversed_slice_starts_at_the_far_end() -> None:
    desc = copy(TensorDesc(T.INT32, (4, 10)), offsets=(1, 2), windows=(2, 6), steps=(1, -1))
    dispatch = one(desc)
    assert dispatch.params["start0"] == 1 * 10 + 7
    strides = dispatch.params["strides0"]
    assert isinstance(strides, tuple)
    assert strides[:2] == (10, 0xFFFFFFFF)


@pytest.mark.parametrize("index_type", [T.INT32, T.UINT32, T.INT64, T.UINT64])
def test_a_gather_decodes_its_index_type(index_type: T) -> None:
    dispatch = one(rows(TensorDesc(T.FLOAT32, (100, 8, 32)), (5, 2), index_type))
    name = index_type.name.lower().replace("uint", "u").replace("int", "i")
    assert dispatch.shader == "move/packed"
    assert dispatch.code.count(f"index_{name}(") == 2
    sizes, strides = dispatch.params["gather_sizes"], dispatch.params["gather_strides"]
    assert isinstance(sizes, tuple)
    assert isinstance(strides, tuple)
    assert (sizes[:2], strides[:2]) == ((100, 8), (8 * 32 // 4, 32 // 4))  # in units
    assert dispatch.constants["BITS"] == 128
    assert dispatch.params["count"] == 5 * 32 * 4 // 16


@pytest.mark.parametrize(
    ("last", "bits", "row", "block", "units"),
    [(32, 128, 8, 64, 40), (33, 32, 33, 264, 42), (34, 32, 34, 272, 43)],
)
def test_a_gather_steps_in_units_where_all_blocks_are_whole(
    last: int, bits: int, row: int, block: int, units: int
) -> None:
    """Blocks of 33 and 34 words start within a unit: they move by the word.

    Five of them fill 41.25 and 42.5 units of the output.
    """
    dispatch = one(rows(TensorDesc(T.FLOAT32, (100, 8, last)), (5, 2), T.INT32))
    assert dispatch.constants["BITS"] == bits
    params = dispatch.params
    assert params["sizes"] == eight([5, row])
    assert params["gather_strides"] == eight([block, row])
    assert params["strides1"] == eight([2, 0])
    assert params["index_step"] == 1
    assert params["count"] == units


def test_batches_step_through_the_input() -> None:
    desc = dml.GatherNd1Desc(
        input_tensor=TensorDesc(T.FLOAT32, (3, 10, 4)),
        indices_tensor=TensorDesc(T.INT32, (3, 2, 1)),
        output_tensor=TensorDesc(T.FLOAT32, (3, 2, 4)),
        input_dimension_count=3,
        indices_dimension_count=3,
        batch_dimension_count=1,
    )
    params = one(desc).params
    assert params["sizes"] == eight([3, 2, 1])
    assert params["strides0"] == eight([10, 0, 1])  # rows of one unit
    assert params["strides1"] == eight([2, 1, 0])
    assert params["gather_strides"] == eight([1])


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("sizes", [(1, 1 << 24), (1 << 24, 1), (1 << 28, 1), (64, 1 << 20)])
@pytest.mark.parametrize("data_type", [T.FLOAT32, T.FLOAT16, T.INT64], ids=lambda t: t.name)
def test_long_lines_take_few_passes_and_little_scratch(
    adapter: Adapter, sizes: tuple[int, int], data_type: T
) -> None:
    source = TensorDesc(data_type, sizes)
    roomy = replace(adapter, max_binding=1 << 32)
    made = plan(running("sum", source, axis=int(sizes[1] > 1)), roomy)
    in_groups = adapter.subgroup_min > 0 and not adapter.is_cpu
    passes = (1,) if adapter.forward_progress else (3,) if in_groups else (3, 5, 7)
    assert len(made.dispatches) in passes
    less = 512 if in_groups else 64
    held = sum(made.scratch.values()) + sum(made.shared.values())
    assert held <= source.total_tensor_size_in_bytes // less


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize(("sizes", "axis"), [((1000, 16), 1), ((16, 1000), 0), ((1, 1), 0)])
def test_short_lines_take_one_pass(adapter: Adapter, sizes: tuple[int, int], axis: int) -> None:
    made = plan(running("product", TensorDesc(T.FLOAT32, sizes), axis), adapter)
    assert len(made.dispatches) == 1
    assert not made.scratch
    assert not made.shared


def test_no_loop_on_a_software_adapter_passes_65535_steps() -> None:
    """Mesa 22.3's lavapipe leaves a loop after 65,535 iterations."""
    for desc in descriptions():
        for dispatch in plan(desc, ADAPTERS["software"]).dispatches:
            assert reach(dispatch)[0] <= 65_535 * reach(dispatch)[1]


def reach(dispatch: Dispatch) -> tuple[int, int]:
    """How far the loop of a scan goes on a software adapter, and how far in one turn."""
    far, turn = dispatch.params.get("segment_units", 0), 1
    if dispatch.shader == "scan/columns":
        far, turn = dispatch.params["axis_size"], 4 * dispatch.constants["BATCH"] or 1
    assert isinstance(far, int)
    return far, turn


@pytest.mark.parametrize(
    ("steps", "turn"),
    [
        (65_535, 1),  # the loop takes a step at a time as long as it can
        (65_536, 8),
        (524_280, 8),  # 65,535 turns
    ],
)
def test_columns_on_a_software_adapter_take_more_steps_in_a_turn(steps: int, turn: int) -> None:
    dispatch = one(running("sum", TensorDesc(T.FLOAT32, (steps, 64)), 0), ADAPTERS["software"])
    assert dispatch.shader == "scan/columns"
    assert reach(dispatch) == (steps, turn)


def test_columns_that_would_take_more_turns_are_cut() -> None:
    made = plan(running("sum", TensorDesc(T.FLOAT32, (524_281, 64)), 0), ADAPTERS["software"])
    assert {dispatch.shader for dispatch in made.dispatches} == {"scan/walk"}
    assert all(reach(dispatch)[0] <= 65_535 for dispatch in made.dispatches)


def test_scratch_is_written_before_it_is_read() -> None:
    for _, made in every_plan():
        written: set[str] = set()
        for dispatch in made.dispatches:
            used = {n: to for n, to in dispatch.bindings.items() if to in made.scratch}
            modes = binds(dispatch.shader, dispatch.slots) if used else {}
            written |= {to for name, to in used.items() if modes[name][0] != "read"}
            assert set(used.values()) <= written
        assert written == set(made.scratch)


@pytest.mark.parametrize(
    ("workgroups", "folded"),
    [
        (1, (1, 1)),
        (65_535, (65_535, 1)),
        (65_536, (32_768, 2)),
        (131_071, (43_691, 3)),
        (65_535**2, (65_535, 65_535)),
    ],
)
def test_the_grid_folds_above_65535(workgroups: int, folded: tuple[int, int]) -> None:
    x, y = grid(workgroups, 65_535, "SLICE")
    assert (x, y) == folded
    assert workgroups <= x * y < workgroups + y


def test_more_workgroups_than_the_grid_holds_are_refused() -> None:
    message = r"^SLICE: 4294836226 workgroups are needed; this adapter runs 4294836225$"
    with pytest.raises(dml.DeviceError, match=message):
        grid(65_535**2 + 1, 65_535, "SLICE")
