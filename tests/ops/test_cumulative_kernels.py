"""Every scan kernel against NumPy, whichever of them this adapter would choose by itself.

Each kernel meets each type, in shapes and directions that take turns; HYPOTHESIS_PROFILE=long runs
every combination.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.plans import retune

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.compiled import CompiledOperator
from dmlgpu.ops import operator_of
from dmlgpu.plan import scan
from dmlgpu.plan.dispatch import LOOKS
from dmlgpu.plan.scan import choice, planner
from dmlgpu.plan.scan.lines import Scan, columns_of, is_run

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
TYPES = ("float32", "float16", "uint16", "int32", "uint64")  # one for each way to calculate
# Of the two cases of each type: backward, exclusive, product, in place.
TURNS = list(zip("0101010101", "0011001100", "0110100101", "1001011001", strict=True))
# One shader, slow to compile.
SHARED = {"groups": "0110011001", "passes": "1001100110"}

# kernel: shapes and axes it can take; sizes straddle tiles, rounds and workgroups
SHAPES: dict[str, list[tuple[tuple[int, ...], int]]] = {
    "walk": [((3, 5000), 1), ((5, 4999), 1), ((7, 300, 3), 1)],
    "rows": [
        *(((1000, 16), 1), ((333, 3), 1), ((5, 64), 1), ((77, 13), 1), ((2, 9000), 1)),
        *(((132, 2), 1), ((70, 11, 5), 1), ((2, 777), 1), ((9, 50), 1), ((3, 39), 1)),
    ],
    "runs": [
        *(((1000, 16), 1), ((700, 65), 1), ((5, 64), 1), ((77, 13), 1), ((9, 950), 1)),
        *(((33, 8), 1), ((70, 96), 1), ((2, 777), 1), ((90, 50), 1), ((300, 3), 1)),
    ],
    "groups": [((3, 4096), 1), ((2, 9000), 1), ((2, 777), 1), ((3, 1001, 2), 1)],
    "passes": [((2, 90_000), 1), ((2, 90_001), 1), ((2, 45_001, 2), 1)],  # groups in segments
    "columns": [((70, 64), 0), ((3, 37, 160), 1), ((1, 9, 8), 1), ((3, 37, 162), 1)],
    "columns_chain": [((1500, 64), 0), ((2, 1100, 72), 1), ((513, 264), 0), ((513, 66), 0)],
    "held": [((3, 30_000), 1), ((2, 33_001), 1), ((2, 9_001, 2), 1), ((600_000,), 0)],
    "stream": [((1, 90_000), 1), ((3, 40_009), 1), ((2, 5, 5_000), 2), ((70_008,), 0)],
}
SHADERS = {kernel: f"scan/{kernel}" for kernel in SHAPES}
SHADERS |= {"passes": "scan/groups", "held": "scan/stream"}
LEAST_LANES = 4  # of any subgroup
WAITING = {"columns_chain": 8, "held": 4, "stream": 4}  # for other workgroups: lanes they need
# Tiles of stream so small that few of them make a superblock.
STREAM_WG, STREAM_AHEAD = 64, dict.fromkeys((16, 32, 64), 5)
STREAM_FAN = 4  # as many lanes as every adapter has
# Tiles of columns_chain so small that they make several blocks.
SMALL_TILES = {bits: (128, 2) for bits in (16, 32, 64)}
# Steps of lines that start anywhere in 16 bytes.
RAGGED = {"walk": 5001, "rows": 77, "runs": 771, "groups": 9001, "passes": 90_001}
RAGGED |= {"held": 33_001, "stream": 40_009}


@dataclass(frozen=True)
class Case:
    kernel: str
    dtype: str
    shape: tuple[int, ...]
    axis: int
    backward: bool
    exclusive: bool
    product: bool
    in_place: bool

    def __str__(self) -> str:
        words = [self.kernel, self.dtype, "x".join(map(str, self.shape))]
        flags = ("backward", "exclusive", "product", "in_place")
        return "-".join([*words, *(flag for flag in flags if getattr(self, flag))])

    @property
    def desc(self) -> Any:
        tensor = dml.TensorDesc(T.from_numpy(self.dtype), self.shape)
        name = "Product" if self.product else "Summation"
        flag = "has_exclusive_product" if self.product else "has_exclusive_sum"
        made: Any = getattr(dml, f"Cumulative{name}Desc")
        return made(
            input_tensor=tensor,
            output_tensor=tensor,
            axis=self.axis,
            axis_direction=int(self.backward),
            **{flag: self.exclusive},
        )


def every_case() -> Iterator[Case]:
    for kernel, dtype in product(SHAPES, TYPES):
        for (shape, axis), *flags in product(SHAPES[kernel], *[(False, True)] * 4):
            if not (kernel in WAITING and flags[-1]):  # no plan waits in place
                yield Case(kernel, dtype, shape, axis, *flags)


def some_cases() -> Iterator[Case]:
    """Shapes, directions, operators and places in turn, out of step with each other."""
    for kernel in SHAPES:
        taken = [n for n, one in enumerate(SHARED.get(kernel, "1" * len(TURNS))) if one == "1"]
        for i, n in enumerate(taken):
            shape, axis = SHAPES[kernel][i % len(SHAPES[kernel])]
            *flags, in_place = (flag == "1" for flag in TURNS[n])
            in_place = in_place and kernel not in WAITING
            yield Case(kernel, TYPES[n // 2], shape, axis, *flags, in_place)


def ragged_cases() -> Iterator[Case]:
    """Several lines, and one from a whole unit on; the rest in turn."""
    for i, (kernel, dtype) in enumerate(product(RAGGED, ("float32", "float16", "uint64"))):
        size = RAGGED[kernel] + (4 if dtype == "float16" else 0)
        flags = (bool(i % 2), i // 2 % 2 == 1, i // 4 % 2 == 1, False)
        yield Case(kernel, dtype, (3, size), 1, *flags)
        yield Case(kernel, dtype, (size,), 0, False, i % 2 == 0, i // 2 % 2 == 0, False)


def late_cases() -> Iterator[Case]:
    """Kernels that wait, in each type; shapes and directions in turn, ragged lines among them."""
    types = ("float32", "float16", "int32", "int64")
    for i, (kernel, dtype) in enumerate(product(WAITING, types)):
        every = list(product(SHAPES[kernel][:2], (False, True), (False, True)))
        taken = every if LONG else [every[5 * i % 8]]
        for (shape, axis), backward, exclusive in taken:
            yield Case(kernel, dtype, shape, axis, backward, exclusive, False, False)


def test_some_cases_miss_no_kernel_type_shape_or_direction() -> None:
    cases = list(some_cases())
    assert set(cases) <= set(every_case())
    assert {(c.kernel, c.dtype) for c in cases} == set(product(SHAPES, TYPES))
    assert {(c.kernel, (c.shape, c.axis)) for c in cases} == {
        (kernel, shape) for kernel, shapes in SHAPES.items() for shape in shapes
    }
    shaders, both = set(SHADERS.values()), (False, True)
    met = [(SHADERS[c.kernel], c) for c in cases]
    assert {(s, c.dtype, c.product) for s, c in met} == set(product(shaders, TYPES, both))
    idle = shaders - {SHADERS[kernel] for kernel in WAITING}
    found = {(s, c.dtype, c.in_place) for s, c in met if s in idle}
    assert found == set(product(idle, TYPES, both))
    assert {(s, c.backward, c.exclusive) for s, c in met} == set(product(shaders, both, both))
    found_in = {(s, c.product, c.in_place) for s, c in met if s in idle}
    assert found_in == set(product(idle, both, both))


@pytest.fixture(scope="module")
def opened(device: dml.Device) -> Iterator[dml.Device]:
    """A device of these tests' own: it keeps pipelines that nothing else uses."""
    with dml.Device(device.adapter) as made:
        yield made


def values(case: Case) -> oracle.Array:
    """Numbers whose sums or products are exact in whatever order they are taken."""
    rng = np.random.default_rng(7)
    if not case.dtype.startswith("float"):
        x = rng.integers(0, np.iinfo(case.dtype).max, case.shape, case.dtype, endpoint=True)
        return x | 1 if case.product else x  # even factors would soon make every product 0
    if not case.product:
        x = rng.integers(-3, 4, case.shape).astype(case.dtype)
        return np.where(x == 0, x.dtype.type(-0.0), x)
    x = np.moveaxis(rng.choice([-1.0, 1.0], case.shape), case.axis, -1)
    x[..., ::14] *= 2  # and half as much before it doubles again
    x[..., 7::14] /= 2
    return np.ascontiguousarray(np.moveaxis(x, -1, case.axis)).astype(case.dtype)


def reference(case: Case, x: oracle.Array) -> oracle.Array:
    exact = oracle.scan(
        x,
        case.axis,
        decreasing=case.backward,
        exclusive=case.exclusive,
        product=case.product,
        accumulator=np.float64 if x.dtype.kind == "f" else x.dtype,
    )
    return exact.astype(x.dtype)


def assert_same_bits(found: oracle.Array, expected: oracle.Array) -> None:
    """The sign of zeros included."""
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def lanes(device: dml.Device) -> int:
    """Lanes of a subgroup, as far as they are known."""
    on_lavapipe = re.search(r"llvmpipe.* (\d+) bits", device.adapter.name)
    return int(on_lavapipe[1]) // 32 if on_lavapipe else device.context.facts.subgroup_min


def usable(kernel: str, device: dml.Device) -> bool:
    """Whether subgroups are large enough; on a software adapter the kernels that wait may be late.

    SwiftShader takes minutes to compile those.
    """
    if kernel in WAITING and "SwiftShader" in device.adapter.name:
        return False
    return kernel in ("walk", "columns") or lanes(device) >= WAITING.get(kernel, LEAST_LANES)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "case",
    list(every_case() if LONG else some_cases()),
    ids=str,
)
def test_kernel_agrees_with_numpy(
    case: Case, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(case, opened, monkeypatch)


@pytest.mark.gpu
@pytest.mark.parametrize("case", list(ragged_cases()), ids=str)
def test_kernel_agrees_with_numpy_on_ragged_lines(
    case: Case, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.kernel != "walk" and "SwiftShader" in opened.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile these kernels, and uses none of them")
    op = check(case, opened, monkeypatch)
    if case.kernel != "runs":
        assert {dispatch.slots["io"] for dispatch in op.plan.dispatches} >= {"io_packed"}


def apart_cases() -> Iterator[tuple[Case, int]]:
    """Kernels and types, with how far ahead of its results a line begins; the rest in turn."""
    types = ("float32", "float16", "uint64")
    kernels = [kernel for kernel in RAGGED if kernel != "runs"]  # whose lines are not apart
    for i, (kernel, dtype) in enumerate(product(kernels, types)):
        size = RAGGED[kernel] - i % 5  # some of them whole units
        flags = (i % 2 == 0, i // 2 % 2 == 0, False, False)
        yield Case(kernel, dtype, (2, 3, size), 2, *flags), (1, 3, 5, 7, 9)[i % 5]


@pytest.mark.gpu
@pytest.mark.parametrize(("case", "gap"), list(apart_cases()), ids=str)
def test_kernel_agrees_with_numpy_on_lines_that_begin_anywhere(
    case: Case, gap: int, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their results follow each other, in another order than the lines."""
    if case.kernel != "walk" and "SwiftShader" in opened.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile these kernels, and uses none of them")
    if not usable(case.kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {case.kernel}")
    pitch = case.shape[-1] + gap
    source = dml.TensorDesc(T.from_numpy(case.dtype), case.shape, (pitch, 2 * pitch, 1))
    desc = replace(case.desc, input_tensor=source)
    facts = replace(opened.context.facts, is_cpu=False)
    monkeypatch.setattr(opened.context, "facts", facts)
    retune(monkeypatch, scan, APART=dict.fromkeys(planner.APART, 8))
    op = compiled(case, opened, monkeypatch, desc=desc)
    assert {"source_apart"} <= {d.slots.get("source") for d in op.plan.dispatches}
    held = np.zeros(source.total_tensor_size_in_bytes // np.dtype(case.dtype).itemsize, case.dtype)
    steps = tuple(held.itemsize * n for n in source.effective_strides)
    x = values(case)
    np.lib.stride_tricks.as_strided(held, case.shape, steps)[...] = x
    given = opened.tensor(held).view(source)
    assert_same_bits(op(given).numpy(), reference(case, x))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "across", "pieces"),
    [
        ("float32", 162, "pairs"),
        ("float32", 161, "words"),
        ("float16", 164, "pairs"),
        ("float16", 162, "words"),
        ("uint64", 161, "pairs"),
    ],
)
@pytest.mark.parametrize("is_cpu", [False, True])
def test_columns_are_read_in_pieces_of_any_size(
    dtype: str,
    across: int,
    pieces: str,
    is_cpu: bool,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = replace(opened.context.facts, is_cpu=is_cpu)
    monkeypatch.setattr(opened.context, "facts", facts)
    case = Case("columns", dtype, (3, 37, across), 1, is_cpu, not is_cpu, False, is_cpu)
    (dispatch,) = check(case, opened, monkeypatch).plan.dispatches
    assert dispatch.slots["columns"] == f"columns_of_{pieces}"
    assert dispatch.constants["BATCH"] == (0 if is_cpu else 4)


def case_of_rows(
    kernel: str, dtype: str, shape: tuple[int, ...], backward: bool, exclusive: bool
) -> tuple[Case, bool]:
    """A scan down rows, and whether these begin within words; then it goes forward."""
    halves = dtype == "float16" and shape[-1] % 2 == 1
    backward = backward and not halves
    return Case(kernel, dtype, shape, len(shape) - 2, backward, exclusive, False, False), halves


def walk_in_frames(opened: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has even a few columns walked in frames, as on a GPU."""
    of = {"is_cpu": False, "subgroup_min": lanes(opened), "subgroup_max": lanes(opened)}
    monkeypatch.setattr(opened.context, "facts", replace(opened.context.facts, **of))
    retune(monkeypatch, scan, WALKERS=1)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (700, 161)),
        ("float32", (2, 300, 162)),  # rows of two matrices
        ("float32", (700, 33)),  # and tiles that have few columns
        ("int32", (700, 163)),
        ("float16", (700, 162)),
        ("float16", (3, 300, 166)),
        ("float16", (700, 161)),  # rows begin within words
        ("float16", (701, 97)),
        ("float16", (450, 96 * 2 + 1)),  # the first column of the next row begins a tile
        ("uint64", (2, 400, 83)),
    ],
)
@pytest.mark.parametrize("flags", ["000", "001", "011", "110"])
def test_rows_that_begin_anywhere_are_scanned_in_frames(
    dtype: str,
    shape: tuple[int, ...],
    flags: str,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In blocks or each tile for itself; the same bits where nothing arrives in time."""
    if not usable("columns_chain", opened):
        pytest.skip(f"{opened.adapter.name} cannot run columns_chain")
    backward, exclusive, in_blocks = (flag == "1" for flag in flags)
    case, halves = case_of_rows("columns_chain", dtype, shape, backward, exclusive)
    retune(monkeypatch, scan, TILE_SHAPES=SMALL_TILES)
    for width in (8, 16) if lanes(opened) >= 16 else (8,):
        retune(monkeypatch, scan, TILE_WIDTHS=(width,), LOOKS=LOOKS)
        in_time = check(case, opened, monkeypatch, in_blocks)
        (dispatch,) = in_time.plan.dispatches
        if dtype == "uint64" and in_blocks:  # of few wide elements frames would be no better
            assert dispatch.slots["columns"] == "columns_of_pairs"
            continue
        assert dispatch.slots["columns"] == "columns_in_frames"
        assert (dispatch.constants["HALVES"], dispatch.constants["COLUMNS"]) == (halves, width)
        assert dispatch.constants["BLOCK"] == (16 if in_blocks else 1)
        assert dispatch.params["tiles_down"] > 1
        retune(monkeypatch, scan, LOOKS=0)
        late = compiled(case, opened, monkeypatch, in_blocks)
        given = opened.tensor(np.random.default_rng(3).normal(0, 9, shape).astype(dtype))
        assert late(given).tobytes() == in_time(given).tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["columns", "columns_chain"])
def test_exclusive_sums_of_negative_zeros_are_zeros_in_frames_of_halves(
    kernel: str, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the column that begins with the first element of all."""
    if not usable(kernel, opened) or lanes(opened) not in choice.FRAME_WIDTHS:
        pytest.skip(f"{opened.adapter.name} has no subgroups for it")
    walk_in_frames(opened, monkeypatch)
    case = Case(kernel, "float16", (80, 65), 0, False, True, False, False)
    op = compiled(case, opened, monkeypatch)
    assert op.plan.dispatches[0].constants["HALVES"] == 1
    found = op(opened.tensor(np.full((80, 65), -0.0, np.float16))).numpy()
    assert not np.signbit(found).any()


@pytest.mark.gpu
@pytest.mark.parametrize("stores_words", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_frames_leave_alone_what_lies_beside_the_output(
    dtype: str, stores_words: bool, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row ends within a unit, of which the rest belongs to another."""
    monkeypatch.setattr(opened.context.gpu, "stores_words", stores_words)
    if not usable("columns_chain", opened):
        pytest.skip(f"{opened.adapter.name} cannot run columns_chain")
    case = Case("columns_chain", dtype, (701, 161), 0, False, False, False, False)
    op = compiled(case, opened, monkeypatch)
    x = values(case)
    held = opened.tensor(np.full(2 * x.size + 512, 7, dtype))
    out = opened.wrap(held.buffer, op.desc.output_tensor, 256)
    op(opened.tensor(x), out=out)
    assert_same_bits(out.numpy(), reference(case, x))
    first = 256 // x.itemsize
    end = first + -(-x.nbytes // 4) * 4 // x.itemsize
    around = held.numpy()
    assert (around[:first] == 7).all()
    assert (around[end:] == 7).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (3, 37, 161)),
        ("float32", (37, 163)),
        ("int32", (37, 162)),
        ("float16", (2, 37, 162)),
        ("float16", (37, 161)),  # rows begin within words
    ],
)
@pytest.mark.parametrize("flags", ["000", "010", "101"])
def test_many_columns_are_walked_in_frames(
    dtype: str,
    shape: tuple[int, ...],
    flags: str,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not in place, where a frame would read what the next one has written."""
    if lanes(opened) not in choice.FRAME_WIDTHS or "SwiftShader" in opened.adapter.name:
        pytest.skip(f"{opened.adapter.name} has no subgroups for it")
    backward, exclusive, in_place = (flag == "1" for flag in flags)
    walk_in_frames(opened, monkeypatch)
    case, _ = case_of_rows("columns", dtype, shape, backward, exclusive)
    plan = check(case, opened, monkeypatch).plan
    (dispatch,) = plan.dispatches
    assert dispatch.slots["columns"] == "columns_in_frames"
    assert plan.in_place is not None
    assert all(d.slots.get("columns") != "columns_in_frames" for d in plan.in_place.dispatches)
    if in_place:
        check(replace(case, in_place=True), opened, monkeypatch)


@pytest.mark.gpu
def test_columns_longer_than_loops_may_be_take_several_steps_a_turn(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = replace(opened.context.facts, is_cpu=True)
    monkeypatch.setattr(opened.context, "facts", facts)
    case = Case("columns", "uint32", (1, 65_541, 64), 1, False, False, False, False)
    (dispatch,) = check(case, opened, monkeypatch).plan.dispatches
    assert dispatch.constants["BATCH"] > 0


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kernel", SHAPES)
def test_sums_are_negative_zeros_while_nothing_else_came(
    kernel: str, dtype: str, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exclusive ones begin with +0.0, and have nothing else then."""
    if not usable(kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {kernel}")
    shape, axis = SHAPES[kernel][0]
    case = Case(kernel, dtype, shape, axis, False, False, False, False)
    x = np.full(shape, -0.0, dtype)
    late = np.moveaxis(x, axis, 0)[-shape[axis] // 3 :]
    late[0], late[1], late[5] = 1, -1, 0.0
    found = compiled(case, opened, monkeypatch)(opened.tensor(x)).numpy()
    assert_same_bits(found, reference(case, x))
    assert np.signbit(found).any()
    exclusive = compiled(replace(case, exclusive=True), opened, monkeypatch)
    zeros = exclusive(opened.tensor(np.full(shape, -0.0, dtype))).numpy()
    assert_same_bits(zeros, np.zeros(shape, dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "uint64"])
@pytest.mark.parametrize("kernel", ["rows", "groups", "held", "stream"])
def test_steps_across_lanes_are_written_out_where_their_number_is_known(
    kernel: str, dtype: str, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "SwiftShader" in opened.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile these kernels, and uses none of them")
    if "llvmpipe" in opened.adapter.name and lanes(opened) == 8:
        pytest.skip("Mesa 22.3 crashes on shuffles by a constant in subgroups of eight")
    facts = replace(opened.context.facts, subgroup_min=lanes(opened), subgroup_max=lanes(opened))
    monkeypatch.setattr(opened.context, "facts", facts)
    op = check(Case(kernel, dtype, *SHAPES[kernel][0], *[False] * 4), opened, monkeypatch)
    assert op.plan.dispatches[-1].slots["lane_steps"] == "lane_steps_known"


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_64_bits_by_words_and_by_the_adapters_own_integers(name: str, opened: dml.Device) -> None:
    x = np.random.default_rng(6).integers(1 << 63, size=(3, 700), dtype=np.uint64) | np.uint64(1)
    wanted = getattr(np, name)(x, 1)
    for wide in {False, opened.context.gpu.wide_integers}:
        facts = opened.context.facts
        opened.context.facts = replace(facts, wide_integers=wide)
        opened._compiled.clear()
        try:
            np.testing.assert_array_equal(getattr(opened.tensor(x), name)(1).numpy(), wanted)
        finally:
            opened.context.facts = facts
            opened._compiled.clear()


def compiled(
    case: Case,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    in_blocks: bool | None = None,
    desc: Any = None,
) -> CompiledOperator:
    """The kernel of the case, with sizes that make much of little: blocks, segments, tiles."""
    desc = desc or case.desc
    in_blocks = case.backward if in_blocks is None else in_blocks
    passes = 3 if case.kernel == "passes" else 1
    kernel = SHADERS[case.kernel].removeprefix("scan/")
    # In place there are no frames, so that rows which begin within words have no columns, and no
    # units that two lines share.
    in_columns = kernel in ("columns", "columns_chain")

    def chosen(s: Scan, _: Any) -> str:
        no_columns = in_columns and not s.alone and columns_of(s) is None
        return "walk" if no_columns or (kernel == "runs" and not is_run(s)) else kernel

    retune(monkeypatch, scan, choose=chosen)
    segment = 5 if case.exclusive else 1  # tiles
    retune(
        monkeypatch, scan, ALONE_TILES=segment if passes == 3 else 1 << 20, STREAM_FAN=STREAM_FAN
    )
    if case.kernel == "stream":
        retune(monkeypatch, scan, HELD_TILES=0, GROUP_WG=STREAM_WG, STREAM_AHEAD=STREAM_AHEAD)
    if case.backward:  # blocks, of small tiles; else each tile waits for the one above
        retune(monkeypatch, scan, TILE_SHAPES=SMALL_TILES)
    retune(monkeypatch, scan, UNITS_ACROSS=1 << 20 if in_blocks else 0)
    if kernel == "columns_chain":  # its frames are as wide as subgroups are
        facts = replace(opened.context.facts, subgroup_min=lanes(opened))
        monkeypatch.setattr(opened.context, "facts", facts)
    op = CompiledOperator(opened, operator_of(desc), desc)
    assert op.plan.dispatches[-1].shader == SHADERS[case.kernel]
    if SHADERS[case.kernel] == "scan/groups":
        assert len(op.plan.dispatches) == passes
    return op


def check(
    case: Case,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    in_blocks: bool | None = None,
) -> CompiledOperator:
    if not usable(case.kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {case.kernel}")
    op = compiled(case, opened, monkeypatch, in_blocks)
    x = values(case)
    given = opened.tensor(x)
    if case.in_place:
        assert op(given, out=given) is given
        assert_same_bits(given.numpy(), reference(case, x))
        return op
    first = op(given)
    assert_same_bits(first.numpy(), reference(case, x))
    other = np.roll(x, 14, case.axis)  # the second call finds what the first one left
    assert_same_bits(op(opened.tensor(other)).numpy(), reference(case, other))
    assert op(given).tobytes() == first.tobytes()  # the same bits every time
    return op


@pytest.mark.gpu
def test_stream_agrees_with_numpy_when_its_flags_come_again(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,096 calls later; the calls between reach few of the places and must wipe the others."""
    if not usable("stream", opened):
        pytest.skip(f"{opened.adapter.name} cannot run stream")
    retune(monkeypatch, scan, choose=lambda *_: "stream", STREAM_FAN=STREAM_FAN)

    def summed(size: int) -> CompiledOperator:
        d = dml.TensorDesc(T.INT32, (size,))
        return opened.compile(dml.CumulativeSummationDesc(input_tensor=d, output_tensor=d, axis=0))

    def flags() -> oracle.Array:
        storage = opened.context._scratch["status"].storage
        words = dml.TensorDesc(T.UINT32, (storage.size // 4,))
        return opened.wrap(storage.buffer, words).numpy()[4:] >> 16

    large, small = summed(600_000), summed(5_000)
    x, y = (np.arange(n, dtype=np.int32) for n in (600_000, 5_000))
    given, out = opened.tensor(y), opened.empty(small.desc.output_tensor)
    np.testing.assert_array_equal(large(opened.tensor(x)).numpy(), np.cumsum(x, dtype=np.int32))
    assert np.count_nonzero(flags()) >= 2 * 147  # a flag in each piece of each tile's sum
    for _ in range(4095):
        small(given, out=out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(y, dtype=np.int32))
    assert not flags()[2 * 2 :].any()
    np.testing.assert_array_equal(large(opened.tensor(-x)).numpy(), -np.cumsum(x, dtype=np.int32))


@pytest.mark.gpu
@pytest.mark.parametrize("case", list(late_cases()), ids=str)
def test_what_is_late_is_computed_with_the_same_bits(
    case: Case, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values whose sums depend on the order; as if nothing ever arrived, and as it comes."""
    if not usable(case.kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {case.kernel}")
    rng = np.random.default_rng(11)
    given = opened.tensor(rng.normal(0, 100, case.shape).astype(case.dtype))
    in_time = compiled(case, opened, monkeypatch)
    retune(monkeypatch, scan, LOOKS=0)
    late = compiled(case, opened, monkeypatch)
    assert late.plan.dispatches[0].constants["LOOKS"] == 0
    expected = in_time(given).tobytes()
    assert late(given).tobytes() == expected
    assert in_time(given).tobytes() == expected


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("kernel", "shape"), [("stream", (1 << 19,)), ("columns_chain", (1 << 13, 256))]
)
def test_kernels_that_wait_are_right_where_a_driver_ends_their_loops(
    kernel: str, shape: tuple[int, ...], opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lavapipe with several threads: its loops end while the workgroup they wait for is at work."""
    if not usable(kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {kernel}")
    retune(monkeypatch, scan, choose=lambda *_: kernel, STREAM_FAN=STREAM_FAN)
    d = dml.TensorDesc(T.INT32, shape)
    desc = dml.CumulativeSummationDesc(input_tensor=d, output_tensor=d, axis=0)
    op = CompiledOperator(opened, operator_of(desc), desc)
    x = np.random.default_rng(5).integers(-9, 9, shape, np.int32)
    given, expected = opened.tensor(x), np.cumsum(x, 0, dtype=np.int32)
    for _ in range(5):
        np.testing.assert_array_equal(op(given).numpy(), expected)


@pytest.mark.gpu
def test_kernels_that_wait_are_right_on_lavapipe_with_eight_lanes(device: dml.Device) -> None:
    """Where its subgroups have four by themselves, eight are asked for."""
    if "llvmpipe" not in device.adapter.name or lanes(device) >= WAITING["columns_chain"]:
        pytest.skip(f"{device.adapter.name} has lanes enough, or no more to give")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
    chosen = "columns_chain or held or stream"
    environment = {**os.environ, "LP_NATIVE_VECTOR_WIDTH": "256"}
    ran = subprocess.run(
        [*command, chosen, __file__],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"\n[5-9]\d passed, 4 skipped, \d+ deselected", ran.stdout), ran.stdout
