"""Every scan kernel against NumPy, whichever of them this adapter would choose by itself.

Each kernel meets each type, in shapes and directions that take turns; HYPOTHESIS_PROFILE=long runs
every combination.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import oracle
import pytest
from test_plans import ADAPTERS, descriptions, every_plan, plan

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import scan
from dmlgpu.compiled import CompiledOperator
from dmlgpu.device import operator_of
from dmlgpu.operator import Adapter

TYPES = ("float32", "float16", "uint16", "int32", "uint64")  # one for each way to calculate
# Of the two cases of each type: backward, exclusive, product, in place.
TURNS = list(zip("0101010101", "0011001100", "0110100101", "1001011001", strict=True))
SHARED = {"groups": "0110011001", "passes": "1001100110"}  # one shader, slow to compile

# kernel: shapes and axes it can take; sizes straddle tiles, rounds and workgroups
SHAPES: dict[str, list[tuple[tuple[int, ...], int]]] = {
    "walk": [((3, 5000), 1), ((7, 300, 3), 1)],
    "rows": [((5, 64), 1), ((2, 9000), 1), ((2, 777), 1)],
    "groups": [((3, 4096), 1), ((2, 9000), 1), ((2, 777), 1), ((3, 1001, 2), 1)],
    "passes": [((2, 90_000), 1), ((2, 90_001), 1), ((2, 45_001, 2), 1)],  # groups in segments
    "lanes": [((1000, 16), 1), ((640, 8), 1), ((333, 3), 1), ((132, 2), 1), ((70, 11, 5), 1)],
    "columns": [((70, 64), 0), ((3, 37, 160), 1), ((1, 9, 8), 1)],
    "columns_early": [((72, 64), 0), ((3, 37, 160), 1), ((1, 9, 8), 1)],  # as on a GPU
    "columns_chain": [((1500, 64), 0), ((2, 1100, 72), 1), ((513, 264), 0)],
}
SHADERS = {kernel: f"cumulative_{kernel}" for kernel in SHAPES}
SHADERS |= {"walk": "cumulative", "passes": "cumulative_groups"}
SHADERS |= {"columns_early": "cumulative_columns"}
CHOICES = {"passes": "groups", "columns_early": "columns"}
LEAST_LANES = 4  # of any subgroup: a line that `lanes` takes has no more units


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


def shapes_for(kernel: str, dtype: str) -> list[tuple[tuple[int, ...], int]]:
    per_unit = 16 // np.dtype(dtype).itemsize
    longest = LEAST_LANES * per_unit if kernel == "lanes" else 1 << 30
    return [(shape, axis) for shape, axis in SHAPES[kernel] if shape[axis] <= longest]


def every_case() -> Iterator[Case]:
    for kernel, dtype in product(SHAPES, TYPES):
        for (shape, axis), *flags in product(shapes_for(kernel, dtype), *[(False, True)] * 4):
            yield Case(kernel, dtype, shape, axis, *flags)


def some_cases() -> Iterator[Case]:
    """Shapes, directions, operators and places in turn, out of step with each other."""
    for kernel in SHAPES:
        taken = [n for n, one in enumerate(SHARED.get(kernel, "1" * len(TURNS))) if one == "1"]
        for i, n in enumerate(taken):
            dtype = TYPES[n // 2]
            fitting = shapes_for(kernel, dtype)
            shape, axis = fitting[i % len(fitting)]
            yield Case(kernel, dtype, shape, axis, *(flag == "1" for flag in TURNS[n]))


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
    assert {(s, c.dtype, c.in_place) for s, c in met} == set(product(shaders, TYPES, both))
    assert {(s, c.backward, c.exclusive) for s, c in met} == set(product(shaders, both, both))
    assert {(s, c.product, c.in_place) for s, c in met} == set(product(shaders, both, both))


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
        return rng.integers(-3, 4, case.shape).astype(case.dtype)
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


def usable(kernel: str, facts: Adapter) -> bool:
    """Single-pass kernels wait for other workgroups, which only some adapters keep running."""
    if kernel == "columns_chain":
        return facts.keeps_running and facts.subgroup_min >= scan.CHAIN_LANES
    return kernel in ("walk", "columns", "columns_early") or facts.subgroup_min >= LEAST_LANES


@pytest.mark.gpu
@pytest.mark.parametrize(
    "case",
    list(every_case() if os.environ.get("HYPOTHESIS_PROFILE") == "long" else some_cases()),
    ids=str,
)
def test_kernel_agrees_with_numpy(
    case: Case, opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not usable(case.kernel, opened.gpu.facts):
        pytest.skip(f"{opened.adapter.name} cannot run {case.kernel}")
    in_passes = case.kernel == "passes"
    monkeypatch.setattr(scan, "choose", lambda *_: CHOICES.get(case.kernel, case.kernel))
    if SHADERS[case.kernel] == "cumulative_columns":
        facts = replace(opened.gpu.facts, is_cpu=case.kernel == "columns")
        monkeypatch.setattr(opened.gpu, "facts", facts)
    if in_passes:
        monkeypatch.setattr(scan, "ONE_PASS", 0)
        monkeypatch.setattr(scan, "GROUP_TILES", 5)
    op = CompiledOperator(opened, operator_of(case.desc), case.desc)
    assert op.plan.dispatches[-1].shader == SHADERS[case.kernel]
    if SHADERS[case.kernel] == "cumulative_groups":
        assert len(op.plan.dispatches) == (3 if in_passes else 1)
    x = values(case)
    expected = reference(case, x)
    given = opened.tensor(x)
    if case.in_place:
        assert op(given, out=given) is given
        np.testing.assert_array_equal(given.numpy(), expected)
        return
    first = op(given)
    np.testing.assert_array_equal(first.numpy(), expected)
    assert op(given).tobytes() == first.tobytes()  # the same bits every time


def problem(shape: tuple[int, ...], axis: int, data_type: T = T.FLOAT32) -> scan.Scan:
    strides = dml.TensorDesc(data_type, shape).effective_strides
    return scan.Scan.of(
        fold="sum",
        data_type=data_type,
        sizes=shape,
        in_strides=strides,
        out_strides=strides,
        axis=axis,
        backward=False,
        exclusive=False,
    )


GPU = Adapter(subgroup_min=32, subgroup_max=32, keeps_running=True, max_workgroup_storage=49152)
CPU = Adapter(is_cpu=True, subgroup_min=8, subgroup_max=8)


@pytest.mark.parametrize(
    ("shape", "axis", "kernel"),
    [
        ((65536, 4096), 1, "groups"),
        ((65536, 4096), 0, "columns_chain"),
        ((512, 4096), 0, "columns"),  # short enough for few columns
        ((513, 4096), 0, "columns_chain"),
        ((64, 1024, 4096), 1, "columns"),
        ((513, 65532), 0, "columns_chain"),
        ((513, 65536), 0, "columns"),  # 16,384 columns of 16 bytes
        ((1 << 22, 64), 1, "lanes"),
        ((1 << 28,), 0, "groups"),
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
    ("shape", "segments"),
    [
        ((1, 65_536), 1),  # 16 tiles of 1,024 units
        ((1, 65_537), 9),  # 17 tiles, two to a segment
        ((64, 1 << 20), 128),  # 8,192 segments in all
        ((1023, 1 << 20), 9),
        ((1024, 1 << 20), 1),  # as many lines as fill a GPU
    ],
)
def test_few_long_lines_take_three_passes(shape: tuple[int, int], segments: int) -> None:
    made = scan.plan_scan(problem(shape, 1), GPU)
    assert {dispatch.shader for dispatch in made.dispatches} == {"cumulative_groups"}
    entries = ["reduce", "scan", "scan_carried"] if segments > 1 else ["scan"]
    assert [dispatch.entry for dispatch in made.dispatches] == entries
    assert made.dispatches[-1].params["segments"] == segments
    assert made.dispatches[-1].workgroups == shape[0] * segments
    assert sum(made.scratch.values()) == (4 * shape[0] * segments if segments > 1 else 0)


@pytest.mark.parametrize(
    ("data_type", "rows"),
    [(T.FLOAT32, 32), (T.FLOAT16, 16), (T.UINT64, 16)],
    ids=["FLOAT32", "FLOAT16", "UINT64"],
)
def test_a_single_pass_clears_all_that_it_publishes_through(data_type: T, rows: int) -> None:
    """Tiles are 8 columns of 16 bytes by so many rows of 16 steps."""
    made = scan.plan_scan(problem((70_000, 520), 0, data_type), GPU)
    clear, run = made.dispatches
    assert (clear.shader, run.shader) == ("cumulative_clear", "cumulative_columns_chain")
    columns = 520 * data_type.bits // 128
    across, down = -(-columns // 8), -(-70_000 // (16 * rows))
    assert run.params["columns"] == columns
    assert (run.params["tiles_across"], run.params["tiles_down"]) == (across, down)
    assert run.workgroups == across * down
    assert run.constants == {"WG_SIZE": 8 * rows, "RANK": 1, "EXCLUSIVE": 0}
    pieces = 4 if data_type.bits == 64 else 2  # of 16 bits, each in a word with a flag
    words = 4 + across * down * 8 * (128 // data_type.bits) * pieces
    assert made.scratch == {"status": 4 * words}
    assert clear.params == {"count": words // 4}
    assert clear.workgroups == -(-words // 4 // 256)


def test_each_adapter_gets_the_scans_it_can_run() -> None:
    """Most kernels need subgroups; the one that waits needs 32 lanes and an adapter that runs on.

    A CPU walks: its subgroups are a few lanes of one core.
    """
    scans = [desc for desc in descriptions() if hasattr(desc, "axis")]
    used = {
        name: {dispatch.shader for desc in scans for dispatch in plan(desc, adapter).dispatches}
        for name, adapter in ADAPTERS.items()
    }
    walks = {"cumulative", "cumulative_columns"}
    subgroups = {f"cumulative_{kernel}" for kernel in ("lanes", "rows", "groups")}
    assert used == {
        "least": walks,
        "software": walks,
        "discrete": walks | subgroups | {"cumulative_columns_chain", "cumulative_clear"},
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
    """As many passes down as up, and between them one that needs no partials."""
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
