"""Moves: how a copy is planned, and every way to run it against NumPy on layouts of all kinds.

Each way meets each width of elements, in layouts that take turns; HYPOTHESIS_PROFILE=long runs
every combination.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import oracle
import pytest
from test_plans import ADAPTERS, copy, one, plan, rows

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc, move
from dmlgpu import device as device_module
from dmlgpu.compiled import CompiledOperator
from dmlgpu.device import operator_of
from dmlgpu.layout import widen
from dmlgpu.move import COPY_BYTES as BYTES
from dmlgpu.move import COPY_RUNS as RUNS
from dmlgpu.move import RUN, WG_SIZE
from dmlgpu.operator import eight

SOFTWARE = ADAPTERS["software"]
MANY = 64 * RUN * WG_SIZE  # units


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("adapter", ["least", "software", "discrete"])
def test_a_whole_copy_is_one_loop_of_16_byte_units(bits: int, adapter: str) -> None:
    """On a GPU each invocation takes two of them, on a CPU one unless there are very many."""
    pairs = int(adapter != "software")
    dispatch = one(copy(TensorDesc(T[f"UINT{bits}"], (2, 3, 512))), ADAPTERS[adapter])
    units = 2 * 3 * 512 * bits // 128
    assert dispatch.shader == "slice"
    assert dispatch.slots == {"move": "move_units"}
    assert dispatch.constants == {"WG_SIZE": WG_SIZE, "RANK": 1, "PAIRS": pairs, "RUN": 1}
    assert dispatch.workgroups == -(-units // ((1 + pairs) * WG_SIZE))
    assert dispatch.params == {
        "count": units,
        "source_base": 0,
        "sizes": eight([units]),
        "out_strides": eight([1]),
        "source_strides": eight([1]),
    }


@pytest.mark.parametrize(("units", "run"), [(MANY - 1, 1), (MANY, RUN), (MANY + 1, RUN)])
@pytest.mark.parametrize("odd", [0, 1])
def test_a_cpu_takes_many_units_in_runs(units: int, run: int, odd: int) -> None:
    """A run for each of 64 workgroups; with an odd byte behind them the units are not whole."""
    desc = copy(TensorDesc(T.UINT8, (16 * units - odd,)))
    dispatch = one(desc, SOFTWARE)
    expected = {"move": "move_dense", "tuples": "tuples_loop"} if odd else {"move": "move_units"}
    assert dispatch.slots == expected
    assert (dispatch.constants["RUN"], dispatch.constants["PAIRS"]) == (run, 0)
    assert dispatch.params["count"] == units
    assert dispatch.workgroups == -(-units // (run * WG_SIZE))
    on_gpu = one(desc, ADAPTERS["discrete"])
    assert (on_gpu.constants["RUN"], on_gpu.constants["PAIRS"]) == (1, 1)
    assert on_gpu.workgroups == -(-units // (2 * WG_SIZE))


@pytest.mark.parametrize(
    ("sizes", "strides", "kernel", "rest"),
    [
        ((64, 64), None, "move_units", {}),
        ((64, 64), (100, 1), "move_units", {}),  # padded rows
        ((64, 64), (101, 1), "move_dense", {"STEP": 1}),  # rows that start within a unit
        ((64, 63), (64, 1), "move_dense", {"STEP": 1}),  # rows that end within a unit
        ((64, 64), (1, 64), "move_dense", {"STEP": 0}),  # permuted: each address has its element
        ((64, 64), (1000, 1), "move_sparse", {}),  # mostly gaps
        ((64, 64), (128, 2), "move_sparse", {"RANK": 1}),  # no run of neighbours
        ((2, 3), (2, 3), "move_sparse", {}),  # rows interleave
    ],
    ids=["packed", "padded", "101", "63", "permuted", "far apart", "every second", "interleaved"],
)
def test_the_layout_of_the_output_picks_the_kernel(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, kernel: str, rest: dict[str, int]
) -> None:
    dispatch = one(copy(TensorDesc(T.UINT32, sizes), strides=strides))
    tuples = {"tuples": "tuples_loop"} if kernel == "move_dense" else {}
    assert dispatch.slots == {"move": kernel, **tuples}
    constants = {"WG_SIZE": WG_SIZE, "RANK": 2 if strides else 1, **rest}
    if kernel != "move_units":
        constants["BITS"] = 32
    if kernel == "move_dense":
        constants["TUPLE_PER_ELEMENT"] = 0
    if kernel == "move_sparse":
        assert dispatch.params["count"] == prod(sizes)
        assert dispatch.workgroups == -(-prod(sizes) // WG_SIZE)
    else:
        constants |= {"PAIRS": 1, "RUN": 1}
    assert dispatch.constants == constants


def test_long_runs_are_buffer_copies_on_a_cpu() -> None:
    """(source, target, size) in bytes, one for each run of the output."""
    run, row = BYTES, BYTES + 64
    desc = copy(
        TensorDesc(T.UINT32, (3, row // 4)), offsets=(1, 8), windows=(2, run // 4), steps=(-1, 1)
    )
    assert plan(desc, SOFTWARE).copies == ((2 * row + 32, 0, run), (row + 32, run, run))
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
        (T.UINT32, (RUNS, BYTES), {"windows": (RUNS, BYTES // 4)}, RUNS),
        (T.UINT32, (RUNS + 1, BYTES), {"windows": (RUNS + 1, BYTES // 4)}, 0),
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


BY_ELEMENT = ("sparse", "dense", "dense in pairs", "dense in runs")
BY_UNIT = ("units", "units in pairs", "units in runs")
EVERY = ("copies", *BY_UNIT, *BY_ELEMENT)
WIDTHS = (8, 16, 32, 64)
INDEX_TYPES = (T.INT64, T.UINT32, T.INT32, T.UINT64)
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
LAYOUTS: dict[str, tuple[tuple[str, ...], tuple[int, ...], dict[str, Any]]] = {
    "rows": (EVERY, (5, 7, 48), {"offsets": (1, 2, 16), "windows": (4, 5, 32)}),
    "backwards": (EVERY, (5, 7, 48), {"windows": (4, 5, 32), "steps": (-1, -2, 1)}),
    "padded": (EVERY, (4, 5, 32), {"strides": (240, 48, 1)}),
    "turned": (EVERY, (4, 5, 32), {"strides": (32, 128, 1)}),
    "repeated": (EVERY, (4, 5, 32), {"source": (0, 32, 1)}),
    "far_apart": (EVERY, (4, 5, 32), {"strides": (4000, 800, 1)}),
    "rank_8": (EVERY, (2, 3, 2, 3, 2, 3, 2, 16), {"steps": (-1, 1) * 4}),
    "long": (EVERY, (16 * 769,), {}),  # the last workgroup's second units are beyond the end
    "long_odd": (BY_ELEMENT, (16 * 769 + 5,), {}),
    "odd": (BY_ELEMENT, (3, 65, 67), {"offsets": (1, 2, 3), "windows": (2, 63, 61)}),
    "odd_padded": (BY_ELEMENT, (19, 37), {"strides": (41, 1)}),
    "reversed": (BY_ELEMENT, (5, 333), {"steps": (1, -1)}),
    "every_second": (
        BY_ELEMENT,
        (3, 400),
        {"offsets": (0, 1), "windows": (3, 399), "steps": (1, 2)},
    ),
    "every_third": (BY_ELEMENT, (3, 400), {"steps": (-1, 3)}),
    "transposed": (BY_ELEMENT, (40, 23), {"strides": (1, 40)}),
    "interleaved": (("sparse",), (2, 2), {"strides": (3, 2)}),
}
GATHERS: dict[str, tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]] = {
    "rows": (BY_UNIT + BY_ELEMENT, (50, 32), (140, 1)),
    "blocks": (BY_UNIT + BY_ELEMENT, (6, 5, 48), (7, 2)),
    "odd_rows": (BY_ELEMENT, (50, 33), (140, 1)),
    "elements": (BY_ELEMENT, (50, 33), (700, 2)),
}


def cases(layouts: dict[str, Any], every: bool = LONG) -> list[tuple[str, str, int]]:
    """(layout, way, width): one width for each layout and way, or all."""
    return [
        (layout, way, width)
        for i, (layout, (ways, *_)) in enumerate(layouts.items())
        for way, (k, width) in product(ways, enumerate(WIDTHS))
        if every or k == (i + EVERY.index(way)) % len(WIDTHS)
    ]


@pytest.mark.parametrize(("layouts", "ways"), [(LAYOUTS, EVERY), (GATHERS, BY_ELEMENT)])
def test_every_way_meets_every_width(layouts: dict[str, Any], ways: tuple[str, ...]) -> None:
    assert {case[1:] for case in cases(layouts, every=False)} >= set(product(ways, WIDTHS))


@pytest.fixture(scope="module")
def opened(device: dml.Device) -> Iterator[dml.Device]:
    """A device of these tests' own, for they change what it knows of its adapter."""
    with dml.Device(device.adapter) as made:
        yield made


class Forced:
    """Compiles descriptions so that their elements move in a given way."""

    def __init__(self, device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
        self.device = device
        self.patch = monkeypatch

    def compile(self, desc: Any, way: str) -> CompiledOperator:
        """Pairs are what a GPU does; copies and runs are what a CPU does."""
        kernel, _, group = way.partition(" in ")
        facts = replace(self.device.gpu.facts, is_cpu=group != "pairs")
        self.patch.setattr(self.device.gpu, "facts", facts)
        self.patch.setattr(move, "COPY_BYTES", 1 if way == "copies" else 1 << 40)
        self.patch.setattr(move, "SPARSE_FACTOR", 1 << 20)
        self.patch.setattr(move, "run_units", lambda units: RUN if group == "runs" else 1)
        if kernel == "dense":
            self.patch.setattr(move, "widen", lambda *given, most: widen(*given, most=0))
        if kernel == "sparse":
            self.patch.setattr(move, "is_nested", lambda dims: False)
        op = CompiledOperator(self.device, operator_of(desc), desc)
        (dispatch,) = op.plan.dispatches
        assert dispatch.constants.get("PAIRS", 0) == (group == "pairs")
        assert dispatch.constants.get("RUN", 1) == (RUN if group == "runs" else 1)
        assert bool(op.plan.copies) == (way == "copies")
        assert way == "copies" or dispatch.slots["move"] == f"move_{kernel}"
        return op

    def run(self, op: CompiledOperator, *inputs: bytes) -> bytes:
        """The output's bytes; those around it must stay as they are."""
        tensors = [
            self.device.upload(desc, data)
            for desc, data in zip(op.input_descs, inputs, strict=True)
        ]
        size = op.output_desc.total_tensor_size_in_bytes
        before = oracle.random_bytes(size + 512, 1)
        arena = self.device.upload(TensorDesc(T.UINT8, (size + 512,)), before)
        op(*tensors, out=self.device.wrap(arena.buffer, op.output_desc, 256))
        after = arena.tobytes()
        assert (after[:256], after[256 + size :]) == (before[:256], before[256 + size :])
        return after[256 : 256 + size]


@pytest.fixture
def forced(opened: dml.Device, monkeypatch: pytest.MonkeyPatch) -> Forced:
    return Forced(opened, monkeypatch)


def bits_of(desc: TensorDesc, seed: int = 0) -> tuple[bytes, oracle.Array]:
    """Random bits for a tensor, as bytes and as the elements in them."""
    data = oracle.random_bytes(desc.total_tensor_size_in_bytes, seed)
    return data, oracle.read(data, desc, oracle.bits_of(desc.data_type))


@pytest.mark.gpu
@pytest.mark.parametrize(("layout", "way", "bits"), cases(LAYOUTS))
def test_every_way_to_slice(forced: Forced, layout: str, way: str, bits: int) -> None:
    _, sizes, how = LAYOUTS[layout]
    how = dict(how)
    desc = copy(TensorDesc(T[f"UINT{bits}"], sizes, how.pop("source", None)), **how)
    data, x = bits_of(desc.input_tensor)
    out = forced.run(forced.compile(desc, way), data)
    windows = (desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides)
    expected = oracle.slice1(x, *windows, desc.output_tensor.sizes)
    oracle.assert_same_elements(out, desc.output_tensor, expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("layout", "way", "bits"), cases(GATHERS))
def test_every_way_to_gather(forced: Forced, layout: str, way: str, bits: int) -> None:
    _, sizes, index_sizes = GATHERS[layout]
    index_type = INDEX_TYPES[WIDTHS.index(bits)]
    desc = rows(TensorDesc(T[f"UINT{bits}"], sizes), index_sizes, index_type)
    data, x = bits_of(desc.input_tensor)
    most = np.array(sizes[: index_sizes[-1]])
    least = -most if index_type in (T.INT32, T.INT64) else 0 * most
    values = np.random.default_rng(2).integers(least, most, index_sizes)
    values = values.astype(index_type.numpy).reshape(desc.indices_tensor.sizes)
    out = forced.run(forced.compile(desc, way), data, values.tobytes())
    expected = oracle.gather_nd(x, values, x.ndim, len(index_sizes))
    oracle.assert_same_elements(out, desc.output_tensor, expected)


def rows_of_copies() -> tuple[Any, oracle.Array, oracle.Array]:
    """A slice that a CPU runs as buffer copies, an input and its output."""
    x = np.arange(5 * BYTES, dtype=np.uint32).reshape(5, BYTES)
    desc = copy(TensorDesc(T.UINT32, x.shape), offsets=(1, 3), windows=(4, BYTES // 2))
    return desc, x, x[1:, 3 : 3 + BYTES // 2]


@pytest.mark.gpu
def test_copies_need_two_buffers(opened: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one buffer the kernel runs instead, and gives the same bytes."""
    monkeypatch.setattr(opened.gpu, "facts", replace(opened.gpu.facts, is_cpu=True))
    desc, x, expected = rows_of_copies()
    op = CompiledOperator(opened, operator_of(desc), desc)
    assert len(op.plan.copies) == 4
    apart = op(opened.tensor(x))
    (bound,) = op._calls.values()
    assert (len(bound.copies), len(bound.dispatches)) == (4, 0)
    size = x.nbytes + expected.nbytes
    arena = opened.upload(TensorDesc(T.UINT8, (size,)), x.tobytes() + bytes(expected.nbytes))
    given = opened.wrap(arena.buffer, desc.input_tensor)
    together = op(given, out=opened.wrap(arena.buffer, desc.output_tensor, x.nbytes))
    _, bound = op._calls.values()
    assert (len(bound.copies), len(bound.dispatches)) == (0, 1)
    assert apart.tobytes() == together.tobytes() == expected.tobytes()
    assert arena.tobytes() == x.tobytes() + expected.tobytes()


@pytest.mark.gpu
def test_copies_and_dispatches_run_in_the_order_of_their_calls(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened.gpu, "facts", replace(opened.gpu.facts, is_cpu=True))
    desc, x, _ = rows_of_copies()
    op = CompiledOperator(opened, operator_of(desc), desc)
    given, out = opened.tensor(x), opened.empty(desc.output_tensor)
    results = []
    for _ in range(3):
        given = dml.cumulative_summation(given, axis=0)
        results.append(dml.cumulative_summation(op(given, out=out), axis=1))
    for result in results:
        x = np.cumsum(x, axis=0, dtype=np.uint32)
        expected = np.cumsum(x[1:, 3 : 3 + BYTES // 2], axis=1, dtype=np.uint32)
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.gpu
def test_copies_are_timed(opened: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if "timestamp-query" not in opened.gpu.device.features:
        pytest.skip(f"{opened.adapter.name} has no timestamps")
    monkeypatch.setattr(opened.gpu, "facts", replace(opened.gpu.facts, is_cpu=True))
    desc, x, expected = rows_of_copies()
    op = CompiledOperator(opened, operator_of(desc), desc)
    given = opened.tensor(x)
    with opened.profile() as profile:
        first, second = op(given), op(given)
    assert [call.name for call in profile.calls] == ["SLICE1", "SLICE1"]
    assert all(call.nbytes >= 2 * expected.nbytes for call in profile.calls)
    assert all(call.end >= call.start > 0 for call in profile.calls)
    assert first.tobytes() == second.tobytes() == expected.tobytes()


@pytest.mark.gpu
def test_functions_compile_once_for_the_same_arguments(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    compile_ = opened.compile
    monkeypatch.setattr(opened, "compile", lambda desc: made.append(desc) or compile_(desc))
    monkeypatch.setattr(opened, "remembered", {})
    x = opened.tensor(np.arange(12, dtype=np.int32).reshape(3, 4))
    wide = opened.tensor(np.arange(12, dtype=np.int64).reshape(3, 4))
    rows_ = opened.tensor(np.array([[2], [0]], np.int32))
    calls = [
        lambda: dml.slice(x, [0, 1], (2, 2), [1, 2]),
        lambda: dml.slice(x, [0, 1], (2, 2), [1, 1]),
        lambda: dml.slice1(x, [0, 1], [2, 2], [1, 1]),
        lambda: dml.slice1(x, [0, 1], [2, 2], [1, 1], [1, 2]),
        lambda: dml.slice(wide, [0, 1], (2, 2), [1, 2]),
        lambda: dml.gather_nd(x, rows_),
        lambda: dml.gather_nd1(x, rows_),
        lambda: dml.cumulative_summation(x, 1),
        lambda: dml.cumulative_summation(x, 1, exclusive=True),
        lambda: dml.cumulative_product(x, 1),
        lambda: x[1:],
        lambda: x[1],
    ]
    first = [call().numpy() for call in calls]
    assert len(made) == len(calls)
    for call, result in zip(calls, first, strict=True):
        again = call()
        assert again.shape == result.shape
        np.testing.assert_array_equal(again.numpy(), result)
    dml.slice(x, (0, 1), [2, 2], (1, 2))  # a tuple or a list
    assert len(made) == len(calls)
    for _ in range(2):
        with pytest.raises(dml.InvalidDescError, match=r"^SLICE: offsets\[0\]"):
            dml.slice(x, [3, 1], [2, 2], [1, 1])
    assert len(made) == len(calls) + 2  # what is refused is refused again


@pytest.mark.gpu
def test_functions_do_not_remember_without_end(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "COMPILED_LIMIT", 4)
    monkeypatch.setattr(opened, "remembered", {})
    x = opened.tensor(np.arange(32, dtype=np.int32))
    for first in (*range(12), *range(12)):
        assert x[first:].numpy()[0] == first
        assert len(opened.remembered) <= 4
