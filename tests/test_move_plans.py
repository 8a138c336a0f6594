"""Plans of moves: which kernel copies what, and how much of it one invocation takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.plans import ADAPTERS, copy, one, plan, rows

from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.plan.dispatch import Copy, Dispatch, eight
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move.layout import LONG_ROW
from dmlgpu.plan.move.planner import COPY_BYTES as BYTES
from dmlgpu.plan.move.planner import COPY_RUNS as RUNS
from dmlgpu.plan.move.tile import tile_of
from dmlgpu.plan.rows import divisors
from dmlgpu.wgsl.source import expanded

SOFTWARE = ADAPTERS["software"]


@pytest.mark.parametrize(
    ("bits", "units", "workgroups"), [(8, 192, 1), (16, 384, 2), (32, 768, 3), (64, 1536, 6)]
)
@pytest.mark.parametrize("adapter", ["least", "discrete"])
def test_a_whole_copy_is_one_loop_of_16_byte_units(
    bits: int, units: int, workgroups: int, adapter: str
) -> None:
    """On a GPU each invocation takes one of them: of 3,072 elements here."""
    dispatch = one(copy(TensorDesc(T[f"UINT{bits}"], (2, 3, 512))), ADAPTERS[adapter])
    assert dispatch.shader == "move/packed"
    assert dispatch.constants == {"WG_SIZE": 256, "BITS": 128, "AT_ONCE": 1, "REPEATS": 1}
    assert dispatch.workgroups == workgroups
    assert dispatch.params["count"] == units
    assert dispatch.params["sizes"] == eight([units])
    assert "load_input(from0)" in dispatch.code


@pytest.mark.parametrize(
    ("strides", "at_once", "repeats"),
    [((4096, 1, 0), 2, 1), ((0, 64, 1), 1, 4), ((4096, 64, 1), 1, 1)],
)
def test_a_gpu_writes_two_units_where_little_is_read(
    strides: tuple[int, ...], at_once: int, repeats: int
) -> None:
    """Not where it repeats a unit, which writes more of them already."""
    source = TensorDesc(T.UINT32, (8, 64, 64), strides)
    constants = one(copy(source), ADAPTERS["discrete"]).constants
    assert (constants["AT_ONCE"], constants["REPEATS"]) == (at_once, repeats)


@pytest.mark.parametrize(
    ("units", "run", "workgroups"), [(262_143, 1, 1024), (262_144, 16, 64), (262_145, 16, 65)]
)
def test_a_cpu_takes_many_units_in_runs(units: int, run: int, workgroups: int) -> None:
    """Where that leaves 64 workgroups of 256, and no other kernel serves: every third element."""
    desc = copy(TensorDesc(T.UINT8, (48 * units - 2,)), steps=(3,))
    dispatch = one(desc, SOFTWARE)
    assert dispatch.slots == {"move": "dense"}
    assert dispatch.constants["RUN"] == run
    assert dispatch.params["count"] == units
    assert dispatch.workgroups == workgroups


LONG = 16 * LONG_ROW  # bytes of the shortest row that is a loop of its own


@pytest.mark.parametrize(
    ("data_type", "sizes", "how", "kernel"),
    [
        (T.UINT8, (LONG,), {}, "rows"),
        (T.UINT8, (LONG - 1,), {}, "dense"),
        (T.UINT8, (9, LONG + 1), {"windows": (9, LONG)}, "rows"),
        (T.UINT8, (9, LONG), {"windows": (9, LONG - 1)}, "dense"),
        (T.UINT8, (9, LONG), {"steps": (1, -1)}, "rows"),
        (T.UINT8, (9, 2 * LONG), {"steps": (1, 2)}, "rows"),
        (T.UINT8, (9, 3 * LONG), {"steps": (1, 3)}, "dense"),
        (T.UINT8, (9, 3 * LONG), {"steps": (1, -2)}, "dense"),
        (T.UINT64, (9, LONG // 8), {"steps": (1, -1)}, "rows"),
        (T.UINT32, (9, LONG), {"strides": (1, 9)}, "dense"),  # permuted
        (T.UINT32, (9, LONG), {"windows": (9, 8)}, "short"),
        (T.UINT32, (9, 3, LONG), {"windows": (9, 2, 8)}, "units"),  # three loops
        (T.UINT32, (9, LONG), {"windows": (9, 7)}, "dense"),
        (T.UINT32, (9, LONG), {"strides": (LONG * 8, 1)}, "sparse"),
    ],
)
def test_a_cpu_runs_kernels_without_branches_where_rows_allow(
    data_type: T, sizes: tuple[int, ...], how: dict[str, Any], kernel: str
) -> None:
    desc = copy(TensorDesc(data_type, sizes), **how)
    assert one(desc, SOFTWARE).slots["move"] == kernel
    for name in ("least", "discrete", "integrated", "mobile"):
        assert kernel_of(one(desc, ADAPTERS[name])) in ("tile", "packed", "sparse")


def kernel_of(dispatch: Dispatch) -> str:
    """The snippet that moves elements, or the kernel that does it all."""
    return dispatch.slots.get("move", dispatch.shader.removeprefix("move/"))


@pytest.mark.parametrize(
    ("units", "rows_", "run", "team", "pieces", "workgroups"),
    [
        (LONG_ROW, 3, 16, 2, 3, 1),  # as few as are worth a loop
        (255, 1, 64, 8, 4, 1),
        (64, 1024, 64, 2, 1024, 32),
        (64, 2048, 64, 1, 2048, 32),
        (100, 1 << 16, 64, 1, 2 << 16, 2048),
        (128, 1 << 16, 128, 2, 1 << 16, 2048),
        (1 << 20, 1, 512, 8, 2048, 256),
    ],
)
def test_long_rows_are_cut_into_pieces_for_teams(
    units: int, rows_: int, run: int, team: int, pieces: int, workgroups: int
) -> None:
    """A share each for some thousand invocations; those of a team walk the same piece.

    The pieces of a row have all of it, and none of them is empty. A workgroup has 64 invocations.
    """
    desc = copy(TensorDesc(T.UINT32, (rows_, 4 * units)), steps=(1, -1))
    dispatch = one(desc, SOFTWARE)
    assert dispatch.params["count"] == pieces
    assert (pieces // rows_ - 1) * run < units <= pieces // rows_ * run
    assert dispatch.constants == {
        "WG_SIZE": 64,
        "RANK": 1 if rows_ == 1 else 2,
        "BITS": 32,
        "STEP": -1,
        "EDGES": 0,
        "ALIGNED": 1,
    }
    assert (dispatch.params["run"], dispatch.params["team"]) == (run, team)
    assert dispatch.workgroups == workgroups


@pytest.mark.parametrize(
    ("sizes", "how", "edges", "aligned"),
    [
        ((9, 512), {"steps": (1, -1)}, 0, 1),
        ((9, 512), {"steps": (1, 2)}, 0, 1),
        ((9, 520), {"windows": (9, 511), "steps": (1, 2)}, 0, 0),  # rows start within units
        ((9, 528), {"offsets": (0, 1), "windows": (9, 512)}, 0, 0),
        ((9, 528), {"offsets": (0, 1), "windows": (9, 512), "steps": (1, -1)}, 0, 0),
        ((9, 528), {"windows": (9, 511)}, 1, 0),
        ((9, 512), {"strides": (520, 1)}, 1, 0),
        ((513,), {}, 1, 0),
    ],
)
def test_a_plan_says_where_rows_lie_on_units(
    sizes: tuple[int, ...], how: dict[str, Any], edges: int, aligned: int
) -> None:
    constants = one(copy(TensorDesc(T.UINT8, sizes), **how), SOFTWARE).constants
    assert (constants["EDGES"], constants["ALIGNED"]) == (edges, aligned)


@pytest.mark.parametrize(("most", "kernel"), [(1 << 16, "rows"), ((1 << 16) - 256, "dense")])
def test_tensors_beyond_a_binding_are_moved_the_general_way(most: int, kernel: str) -> None:
    """Loads that choose between windows are much to compile for kernels that load often."""
    desc = copy(TensorDesc(T.UINT8, (16, 1 << 12)), steps=(1, -1))
    made = plan(desc, replace(SOFTWARE, max_binding=most))
    assert {dispatch.slots["move"] for dispatch in made.dispatches} == {kernel}


def test_rows_with_edges_are_cut_into_longer_pieces() -> None:
    desc = copy(TensorDesc(T.UINT8, (1 << 12, 1 << 12)), windows=(1 << 12, (1 << 12) - 4))
    assert one(desc, SOFTWARE).params["run"] == 256


def test_gathers_of_long_rows_start_where_the_tuples_say() -> None:
    whole = one(rows(TensorDesc(T.UINT8, (9, 512)), (5, 1), T.INT32), SOFTWARE)
    assert (whole.constants["BITS"], whole.constants["ALIGNED"]) == (128, 1)
    assert whole.slots["move"] == "rows"
    assert whole.slots["indices"] == "indices_words"
    odd = one(rows(TensorDesc(T.UINT8, (9, 513)), (5, 1), T.INT32), SOFTWARE)
    assert (odd.constants["BITS"], odd.constants["EDGES"]) == (8, 1)


@pytest.mark.parametrize(("units", "chunk"), [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (8, 4)])
@pytest.mark.parametrize(
    ("pieces", "run", "workgroups"), [(5, 1, 1), (4095, 1, 64), (4096, 2, 32), (1 << 20, 16, 1024)]
)
def test_short_rows_are_taken_whole(
    units: int, chunk: int, pieces: int, run: int, workgroups: int
) -> None:
    desc = rows(TensorDesc(T.FLOAT32, (900, 4 * units)), (pieces, 1), T.INT64)
    dispatch = one(desc, SOFTWARE)
    assert dispatch.slots["move"] == "short"
    assert dispatch.params["count"] == pieces
    assert dispatch.constants == {"WG_SIZE": 64, "CHUNK": chunk, "TUPLE": 1}
    assert (dispatch.params["run"], dispatch.params["team"]) == (run, 8)
    assert dispatch.workgroups == workgroups


@pytest.mark.parametrize(
    ("pieces", "units", "run", "workgroups"),
    [(3, 1, 1, 1), (5, 2, 1, 1), (1 << 14, 4096, 2, 32), (1 << 22, 1 << 20, 16, 1024)],
)
def test_scalars_are_gathered_a_unit_at_a_time(
    pieces: int, units: int, run: int, workgroups: int
) -> None:
    desc = rows(TensorDesc(T.FLOAT32, (90, 70)), (pieces, 2), T.UINT32)
    dispatch = one(desc, SOFTWARE)
    assert dispatch.slots["move"] == "tuples"
    assert dispatch.params["count"] == units
    assert dispatch.constants == {"WG_SIZE": 64, "BITS": 32, "TUPLE": 2}
    assert (dispatch.params["run"], dispatch.params["team"]) == (run, 8)
    assert dispatch.workgroups == workgroups


@pytest.mark.parametrize(
    ("sizes", "strides", "kernel", "made", "workgroups"),
    [
        ((64, 64), None, "packed", 1024, 4),
        ((64, 64), (100, 1), "packed", 1591, 7),  # padded rows: 6,364 words
        ((64, 64), (101, 1), "packed", 1607, 7),  # rows that start within a unit: 6,427 words
        ((64, 63), (64, 1), "packed", 1024, 4),  # rows that end within a unit
        ((64, 64), (1000, 1), "sparse", 4096, 16),  # mostly gaps
        ((64, 64), (128, 2), "sparse", 4096, 16),  # no run of neighbours
        ((2, 3), (2, 3), "sparse", 6, 1),  # rows interleave
    ],
    ids=["packed", "padded", "101", "63", "far apart", "every second", "interleaved"],
)
def test_the_layout_of_the_output_picks_the_kernel(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, kernel: str, made: int, workgroups: int
) -> None:
    """What lies between the elements is made, too, or else each is stored by itself.

    An invocation makes a unit of four words or stores an element; a workgroup has 256 of them.
    """
    dispatch = one(copy(TensorDesc(T.UINT32, sizes), strides=strides))
    assert kernel_of(dispatch) == kernel
    assert (dispatch.params["count"], dispatch.workgroups) == (made, workgroups)


@pytest.mark.parametrize(
    ("data_type", "sizes", "how", "rows_"),
    [
        (T.UINT8, (64, 4096), {"steps": (1, 3), "windows": (64, 3070)}, 1),
        (T.UINT8, (64, 4096), {"steps": (1, 3), "windows": (64, 3067)}, 2),  # rows end within
        (T.UINT8, (64, 3072), {"steps": (1, 3), "strides": (1040, 1)}, 1),  # gaps of a unit
        (T.FLOAT16, (64, 3072), {"steps": (1, 3), "strides": (1028, 1)}, 1),  # of whole words
        (T.FLOAT16, (64, 3072), {"steps": (1, 3), "strides": (1027, 1)}, 2),  # rows start within
        (T.FLOAT16, (64, 3072), {"steps": (1, 2), "strides": (1540, 1)}, 2),
        (T.FLOAT32, (3001,), {"steps": (3,)}, 1),  # the last unit is not full
        (T.INT64, (3, 6), {"steps": (1, 3)}, 1),
        (T.INT64, (3, 8), {"steps": (1, 3)}, 1),  # a unit is an element
        (T.INT64, (3, 9), {"steps": (1, 2)}, 2),
        (T.UINT8, (40, 3, 90), {"repeated": True}, 2),
        (T.UINT8, (40, 3, 7), {"repeated": True}, 4),  # short ones
    ],
)
def test_units_that_stay_in_one_row_do_not_reach_for_the_next(
    data_type: T, sizes: tuple[int, ...], how: dict[str, Any], rows_: int
) -> None:
    strides = (3, 1, 0) if how.pop("repeated", False) else None
    dispatch = one(copy(TensorDesc(data_type, sizes, strides), **how))
    assert kernel_of(dispatch) == "packed"
    unit_at = dispatch.code.partition("fn unit_at")[2].partition("}")[0]
    assert unit_at.count("let row0_") == rows_


@pytest.mark.parametrize(
    ("data_type", "step", "loads"),
    [
        (T.UINT8, 1, 5),
        (T.UINT8, -2, 9),
        (T.UINT8, 2, 9),
        (T.UINT8, 3, 4),  # a word, one by one
        (T.FLOAT16, -1, 5),
        (T.FLOAT16, -3, 2),
        (T.FLOAT32, -1, 4),
        (T.FLOAT32, 3, 1),
        (T.INT64, 3, 1),
    ],
)
def test_narrow_elements_are_shifted_out_of_words(data_type: T, step: int, loads: int) -> None:
    code = one(copy(TensorDesc(data_type, (9, 3841)), windows=(9, 3840), steps=(1, step))).code
    assert code.count("load_input(") == loads


@pytest.mark.parametrize(
    ("data_type", "row", "step", "loads"),
    [
        (T.FLOAT16, 79, 1, 8),  # less than shifting two rows takes
        (T.FLOAT16, 257, 1, 5),  # few units have two rows
        (T.UINT8, 79, 1, 5),
        (T.UINT8, 79, -2, 16),
    ],
)
def test_elements_of_short_rows_are_read_by_the_fewest_loads(
    data_type: T, row: int, step: int, loads: int
) -> None:
    """Almost every subgroup has a unit that goes on in the next row, and then all read both."""
    reach = (row - 1) * abs(step) + 1
    desc = copy(TensorDesc(data_type, (900, reach + 2)), windows=(900, reach), steps=(1, step))
    assert one(desc).code.count("load_input(") == loads


@pytest.mark.parametrize(
    ("data_type", "sizes", "offset", "step", "loads"),
    [
        (T.UINT8, (9, 3840), 0, 2, 2),
        (T.FLOAT16, (9, 3840), 0, -1, 1),
        (T.FLOAT16, (3833,), 0, 2, 2),  # the last unit goes on behind the row
        (T.UINT8, (9, 3840), 1, 2, 9),  # begins within a unit
        (T.UINT8, (9, 3847), 0, 2, 9),  # and so do rows, which end within one
    ],
)
def test_narrow_elements_are_shifted_out_of_units(
    data_type: T, sizes: tuple[int, ...], offset: int, step: int, loads: int
) -> None:
    """Where every unit of the output begins with one of the source."""
    rest = (0,) * (len(sizes) - 1)
    windows = (*sizes[:-1], sizes[-1] - offset)
    how = {"offsets": (*rest, offset), "windows": windows, "steps": (*(1 for _ in rest), step)}
    code = one(copy(TensorDesc(data_type, sizes), **how)).code
    assert code.count("load_input(") == loads


@pytest.mark.parametrize(
    ("data_type", "sizes", "how", "kernel"),
    [
        (T.UINT32, (64, 4096), {"strides": (1, 64)}, "tile"),
        (T.UINT8, (3, 64, 40), {"strides": (1, 120, 3)}, "tile"),  # channels to the end
        (T.UINT8, (64, 40, 3), {"strides": (40, 1, 64 * 40)}, "tile"),  # and to the front
        (T.UINT8, (64, 40, 3), {"steps": (1, -1, 1)}, "tile"),  # pixels stay together
        (T.UINT8, (64, 40, 3), {"steps": (1, 1, -1)}, "tile"),
        (T.UINT8, (64, 40, 16), {"steps": (1, -1, 1)}, "packed"),
        (T.UINT8, (64, 40, 17), {"steps": (1, -1, 1)}, "packed"),
        (T.UINT8, (64, 4096), {"steps": (1, -1)}, "packed"),
        (T.UINT8, (64, 4096), {"steps": (1, 5)}, "packed"),
        (T.UINT8, (40, 9), {"strides": (10, 1)}, "tile"),
        (T.UINT64, (64, 40, 2), {"strides": (2, 128, 1)}, "tile"),  # units of 16 bytes
        (T.UINT64, (64, 40, 2), {"steps": (1, 2, 1)}, "packed"),
        (T.UINT64, (64, 40, 8), {"strides": (8, 64 * 8, 1)}, "tile"),  # and pieces of up to 64
        (T.UINT64, (64, 40, 10), {"strides": (10, 64 * 10, 1)}, "packed"),
        (T.UINT32, (64, 40, 15), {"strides": (15, 64 * 15, 1)}, "tile"),
        (T.UINT32, (64, 40, 17), {"strides": (17, 64 * 17, 1)}, "packed"),
        (T.UINT8, (64, 40, 39), {"strides": (39, 64 * 39, 1)}, "tile"),  # of bytes less
        (T.UINT8, (64, 40, 41), {"strides": (41, 64 * 41, 1)}, "packed"),
        # More where what lies beside them is wanted when caches no longer have it.
        (T.UINT32, (200000, 4, 25), {"strides": (25, 25 * 200000, 1)}, "tile"),
        (T.UINT16, (200000, 4, 51), {"strides": (51, 51 * 200000, 1)}, "tile"),
        (T.UINT32, (100000, 4, 25), {"strides": (25, 25 * 100000, 1)}, "packed"),
        (T.UINT32, (200000, 4, 33), {"strides": (33, 33 * 200000, 1)}, "packed"),
        (T.UINT8, (400000, 4, 51), {"strides": (51, 51 * 400000, 1)}, "packed"),
    ],
)
def test_tiles_serve_layouts_whose_neighbours_differ(
    data_type: T, sizes: tuple[int, ...], how: dict[str, Any], kernel: str
) -> None:
    """On a GPU, where the innermost loops of source and output are not the same, or short."""
    assert kernel_of(one(copy(TensorDesc(data_type, sizes), **how))) == kernel


@pytest.mark.parametrize(
    ("sizes", "strides", "order"),
    [
        ((99000, 234), (1, 99000), [1, 0]),  # few columns: their rows are read together
        ((234, 99000), (1, 234), [0, 1]),
        ((4096, 4096), (1, 4096), [1, 0]),  # as many: along the output
        ((9, 65536, 3), (3 * 65536, 1, 65536), [1, 0]),  # images one after the other
        ((20000, 2, 287), (1, 300 * 20000, 20000), [1, 2, 0]),  # but not the parts of their rows
        ((4, 20, 99000), (25, 1, 100), [0, 2]),  # nor what is read from the same lines
    ],
)
def test_tiles_that_follow_one_another_are_neighbours(
    sizes: tuple[int, ...], strides: tuple[int, ...], order: list[int]
) -> None:
    """The loops by which the number of a tile is taken apart, the fastest first."""
    dispatch = one(copy(TensorDesc(T.UINT32, sizes, strides)), ADAPTERS["discrete"])
    firsts = [line for line in dispatch.code.splitlines() if line.startswith("  tile.output +=")]
    assert [int(line[-3]) for line in firsts] == order


@pytest.mark.parametrize(
    ("times", "row", "units", "made", "repeats"),
    [
        (1000, 64, 4000, 1000, 4),
        (1000, 54, 3375, 864, 4),
        (3, 64, 12, 4, 3),
        (2, 50, 7, 7, 1),
        (7, 56, 25, 7, 4),
    ],
)
def test_what_is_repeated_is_made_once(
    times: int, row: int, units: int, made: int, repeats: int
) -> None:
    """In whole units, and as often as an invocation stores one: all of them are stored."""
    dispatch = one(copy(TensorDesc(T.UINT8, (times, row), (0, 1))))
    assert (dispatch.params["made"], dispatch.constants["REPEATS"]) == (made, repeats)
    assert dispatch.params["count"] == units <= made * repeats


@pytest.mark.parametrize(
    ("times", "row", "units", "made", "repeats"),
    [(12, 64, 240, 60, 4), (12, 56, 210, 70, 3), (7, 64, 140, 140, 1), (3, 56, 53, 53, 1)],
)
def test_what_is_repeated_within_others_is_made_once(
    times: int, row: int, units: int, made: int, repeats: int
) -> None:
    """Where it is whole units and is made again and again without a rest."""
    dispatch = one(copy(TensorDesc(T.UINT8, (5, times, row), (row, 0, 1))))
    assert (dispatch.params["made"], dispatch.constants["REPEATS"]) == (made, repeats)
    assert dispatch.params["count"] == units == made * repeats


@pytest.mark.parametrize(
    ("channels", "data_type", "lanes", "loads"),
    [(3, T.FLOAT32, 96, 8), (4, T.FLOAT32, 128, 8), (3, T.UINT8, 256, 6), (7, T.FLOAT32, 128, 7)],
)
def test_tiles_have_enough_loads_under_way(
    channels: int, data_type: T, lanes: int, loads: int
) -> None:
    """Not so many invocations that each has few words, however long the loop that they share."""
    image = TensorDesc(data_type, (9, 65536, channels), (channels * 65536, 1, 65536))
    dispatch = one(copy(image), ADAPTERS["discrete"])
    text, _ = expanded(dispatch.shader, dispatch.slots, dispatch.code)
    assert dispatch.constants["WG_SIZE"] == lanes
    assert sum(line.count("= load_input(") for line in text) == loads


@pytest.mark.parametrize(
    ("bits", "dims", "work"),
    [
        (8, ((142, 1890392, -2), (472598, 4, -288), (4, 1, -136108800)), 1.21),
        (8, ((26, 2581345, 906), (151, 17095, 2), (1315, 13, 26576), (13, 1, 35000592)), 1.14),
        (32, ((2, 16777339, 185748), (61909, 271, 1), (271, 1, 371496)), 1.13),
        (32, ((259, 64777, -1), (64777, 1, -262)), 1.06),
    ],
)
def test_tiles_take_in_little_more_than_there_is(
    bits: int, dims: tuple[tuple[int, int, int], ...], work: float
) -> None:
    """They have whole units of a run, and overlap by hardly more than these need."""
    assert 1 <= tile_of(bits, tuple(Dim(*d) for d in dims), 49152).work <= work


@pytest.mark.parametrize(
    ("dims", "steps"),
    [
        (((1946, 8622, -5), (8622, 1, 19490)), (16, 128)),  # one word of five
        (((834, 20128, 26), (16, 1258, 1), (1258, 1, 21762)), (2, 16, 64)),  # 16 of 26
    ],
)
def test_tiles_reach_further_where_most_is_left_out(
    dims: tuple[tuple[int, int, int], ...], steps: tuple[int, ...]
) -> None:
    assert tile_of(32, tuple(Dim(*d) for d in dims), 49152).box == steps


@pytest.mark.parametrize(
    ("bits", "dims", "sector"),
    [
        (32, ((500, 67108, 1), (67108, 1, 500)), 8),  # rows begin within sectors, tiles need not
        (32, ((500, 67112, 1), (67112, 1, 500)), 4),  # all rows begin with one
        (32, ((48, 67107, 1), (67107, 1, 48)), 8),
        (32, ((480, 67107, 1), (67107, 1, 480)), 4),  # long runs have few ends
        (32, ((480, 60, 1), (60, 1, 480)), 4),  # and short rows many others
        (64, ((873, 19200, 19200), (64, 300, 5), (60, 5, 320), (5, 1, 1)), 4),
    ],
)
def test_tiles_write_whole_sectors_where_that_is_worth_it(
    bits: int, dims: tuple[tuple[int, int, int], ...], sector: int
) -> None:
    tile = tile_of(bits, tuple(Dim(*d) for d in dims), 49152)
    assert tile.sector == sector
    assert tile.work < 1.3


def test_tiles_whose_units_overlap_are_long() -> None:
    """Bytes across odd rows: 15 of 128 in a row would be read twice, and so they are 256."""
    across = (Dim(1623, 165395, 1), Dim(165395, 1, 1623))
    assert tile_of(8, across, 49152).length == 256


@pytest.mark.parametrize(
    ("step", "apart", "box"),
    [
        (1, 4099, (32, 256)),
        (1, 32771, (64, 128)),  # sectors of rows that lie far apart are too short
        (3, 32771, (64, 128)),  # longer runs would be read from less than sectors
        (1, 800003, (64, 128)),  # and from pages of their own
    ],
)
def test_tiles_are_no_longer_than_their_source_allows(
    step: int, apart: int, box: tuple[int, int]
) -> None:
    across = (Dim(apart // step, 487, step), Dim(487, 1, apart))
    assert tile_of(8, across, 49152).box == box


def test_neighbours_of_a_tile_read_what_is_nearest() -> None:
    """A block has all of an element of 64 bits; the next one lies 40 bytes behind it."""
    tile = tile_of(64, (Dim(12926, 649, -5), Dim(649, 1, 193890)), 49152)
    assert tile.run == (2,)
    assert tile.order[0] == 0


@pytest.mark.parametrize(("sizes", "is_early"), [((83, 300), True), ((3000, 83), False)])
def test_what_follows_runs_is_read_with_a_tile_that_has_all_of_them(
    sizes: tuple[int, int], is_early: bool
) -> None:
    across = TensorDesc(T.UINT8, sizes[::-1], (1, sizes[1]))
    code = one(copy(across), ADAPTERS["discrete"]).code
    assert (code.index("var next0 ") < code.index("workgroupBarrier")) is is_early


@pytest.mark.parametrize(
    ("sizes", "strides", "steps", "dispatches"),
    [
        ((2, 39999, 253), (506, 0, 2), (1, 1, 1), 2),
        ((2, 40000, 253), (506, 0, 2), (1, 1, 1), 1),  # each unit is stored four times
        ((2, 39999, 253), (506, 0, 1), (1, 1, 1), 1),  # neighbours
        ((2, 700, 253), (506, 0, 2), (1, 1, 1), 1),  # another dispatch would take longer
        ((39999, 2, 253), (506, 0, 2), (1, 1, 1), 1),  # repeated too seldom
        ((100, 820, 175, 2), (2840, 0, 16, 1), (1, 1, 1, 1), 2),  # short rows
        ((100, 175, 820, 2), (2840, 16, 0, 1), (1, 1, 1, 1), 1),  # that nothing could join
    ],
)
def test_what_is_repeated_is_laid_out_before(
    sizes: tuple[int, ...], strides: tuple[int, ...], steps: tuple[int, ...], dispatches: int
) -> None:
    made = plan(copy(TensorDesc(T.FLOAT32, sizes, strides), steps=steps), ADAPTERS["discrete"])
    assert len(made.dispatches) == dispatches
    assert ("laid" in made.scratch) is (dispatches > 1)


@pytest.mark.parametrize(
    ("times", "rows", "is_in_turn"), [(5, 77777, True), (5, 65537, False), (4, 77780, False)]
)
def test_steps_that_read_the_same_are_made_in_turn(times: int, rows: int, is_in_turn: bool) -> None:
    """Where caches do not hold 16 MiB of one until the next, and not all are made at once."""
    source = TensorDesc(T.FLOAT32, (times, rows, 57), (0, 69, 1))
    made = one(copy(source), ADAPTERS["discrete"])
    assert ("pieces" in made.params) is is_in_turn


@pytest.mark.parametrize("times", [2, 9, 90])
@pytest.mark.parametrize("strides", [(1, 0), (0, 1)])
def test_elements_that_are_repeated_need_no_tile(times: int, strides: tuple[int, int]) -> None:
    repeated = TensorDesc(T.UINT8, (40, times), strides)
    assert kernel_of(one(copy(repeated))) == "packed"


def test_long_runs_are_buffer_copies_on_a_cpu() -> None:
    """One for each run of the output."""
    run, row = BYTES, BYTES + 64
    desc = copy(
        TensorDesc(T.UINT32, (3, row // 4)), offsets=(1, 8), windows=(2, run // 4), steps=(-1, 1)
    )
    assert plan(desc, SOFTWARE).copies == (
        Copy("input_tensor", 2 * row + 32, "output_tensor", 0, run),
        Copy("input_tensor", row + 32, "output_tensor", run, run),
    )
    for name in ("least", "discrete", "integrated", "mobile"):
        assert plan(desc, ADAPTERS[name]).copies == ()


@pytest.mark.parametrize(
    ("data_type", "sizes", "how", "copies"),
    [
        (T.UINT8, (9 * BYTES,), {}, 1),
        (T.UINT8, (9 * BYTES,), {"offsets": (4,), "windows": (BYTES,)}, 1),
        (T.UINT8, (9 * BYTES,), {"offsets": (2,), "windows": (BYTES,)}, 0),  # within a word
        (T.UINT8, (9 * BYTES,), {"offsets": (4,), "windows": (BYTES + 2,)}, 0),
        (T.UINT16, (9 * BYTES,), {"offsets": (2,), "windows": (BYTES // 2,)}, 1),
        (T.UINT16, (9 * BYTES,), {"offsets": (1,), "windows": (BYTES // 2,)}, 0),
        (T.UINT32, (8, BYTES), {"offsets": (0, 1), "windows": (8, BYTES // 4)}, 8),
        (T.UINT32, (8, BYTES), {"offsets": (0, 1), "windows": (8, BYTES // 4 - 1)}, 0),
        (T.UINT64, (8, BYTES), {"offsets": (0, 1), "windows": (8, BYTES // 8)}, 8),
        (T.UINT64, (8, BYTES), {"offsets": (0, 1), "windows": (8, BYTES // 8 - 1)}, 0),
        (T.UINT32, (8, BYTES), {"steps": (1, -1)}, 0),
        (T.UINT32, (8, BYTES), {"steps": (1, 2)}, 0),
        (T.UINT32, (8, BYTES), {"strides": (1, 8)}, 0),
        (T.UINT32, (8, BYTES), {"strides": (BYTES + 1, 1)}, 8),
        (T.UINT32, (RUNS, BYTES // 2), {"windows": (RUNS, BYTES // 4)}, RUNS),
        (T.UINT32, (RUNS + 1, BYTES // 2), {"windows": (RUNS + 1, BYTES // 4)}, 0),
    ],
)
def test_only_few_long_runs_of_whole_words_are_buffer_copies(
    data_type: T, sizes: tuple[int, ...], how: dict[str, Any], copies: int
) -> None:
    made = plan(copy(TensorDesc(data_type, sizes), **how), SOFTWARE)
    assert len(made.copies) == copies
    assert len(made.dispatches) == 1  # for tensors that share a buffer


def test_a_gather_is_never_a_buffer_copy() -> None:
    assert plan(rows(TensorDesc(T.UINT32, (8, 4096)), (2, 1), T.INT32), SOFTWARE).copies == ()


@pytest.mark.parametrize(
    ("data_type", "index_type", "coordinates", "packed"),
    [
        (T.UINT8, T.UINT32, 2, True),
        (T.FLOAT16, T.INT64, 2, True),
        (T.FLOAT32, T.INT64, 1, True),
        (T.INT64, T.INT32, 2, True),
        (T.INT64, T.INT32, 1, False),  # two tuples are half a unit
        (T.FLOAT32, T.INT32, 3, False),  # tuples that lie across units
        (T.FLOAT32, T.UINT32, 4, True),
        (T.FLOAT32, T.INT64, 4, False),  # tuples of more than a unit
    ],
)
def test_elements_with_tuples_of_their_own(
    data_type: T, index_type: T, coordinates: int, packed: bool
) -> None:
    """A GPU makes them as element-wise work, a CPU by units, from units of tuples where it can."""
    desc = rows(TensorDesc(data_type, (9,) * coordinates + (1,)), (1001, coordinates), index_type)
    dispatch = one(desc, ADAPTERS["discrete"])
    assert dispatch.shader == "elementwise/elements"
    assert dispatch.bindings["look0"] == "input_tensor"
    on_cpu = one(desc, SOFTWARE).slots
    assert on_cpu["resolve"] == ("resolve_loop" if coordinates > 3 else "resolve_at_once")
    kernel, indices = ("tuples", "units") if packed else ("dense", "words")
    assert (on_cpu["move"], on_cpu["indices"]) == (kernel, f"indices_{indices}")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 641, 1 << 20, (1 << 31) - 1, (1 << 32) - 1])
def test_a_division_by_a_product_is_exact(size: int) -> None:
    """As rows.DIVISION says it, in 32 bits."""
    made = divisors([size])
    (magic, *_), (shift, *_) = made["magics"], made["shifts"]
    near = [k * size + d for k in (0, 1, 2, ((1 << 32) - 1) // size) for d in (-1, 0, 1)]
    for n in (0, 1, 12345, (1 << 32) - 1, *near):
        if 0 <= n < 1 << 32:
            t = n * magic >> 32
            assert (n if magic == 0 else (t + (n - t >> 1)) >> shift) == n // size
