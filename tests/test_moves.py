"""Moves: every way to run a copy, against NumPy, on layouts of all kinds.

Each way meets each width of elements, in layouts that take turns; HYPOTHESIS_PROFILE=long runs
every combination.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.plans import copy, retune, rows

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu import device as device_module
from dmlgpu.compiled import CompiledOperator
from dmlgpu.desc.cached import Cache
from dmlgpu.ops import operator_of
from dmlgpu.plan import move
from dmlgpu.plan.loops import widen
from dmlgpu.plan.move.kernels import RUN
from dmlgpu.plan.move.planner import COPY_BYTES as BYTES

BY_ELEMENT = ("sparse", "dense", "dense in runs")
PACKED = ("packed", "packed in 32 bits")  # with 64-bit integers in shaders, and without
ANYHOW = (*BY_ELEMENT, "tile", *PACKED)
ANY_PIECE = (*BY_ELEMENT, *PACKED)
BY_UNIT = ("units", "units in runs")
BY_ROW = ("rows in units", "rows in elements")
EVERY = ("copies", *BY_UNIT, "packed in units", *ANYHOW, *BY_ROW)
BY_PIECE = ("short", "short in runs")
BY_TUPLE = ("tuples", "tuples in runs")
ALONE = ("sparse", "dense", "elements", "dense in runs")  # with index tuples of their own
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
    "rank_8": (
        ("copies", *BY_UNIT, *ANYHOW),
        (2, 3, 2, 3, 2, 3, 2, 16),
        {"steps": (-1, 1) * 4},
    ),
    "long": (EVERY, (16 * 769,), {}),  # the last workgroup's second units are beyond the end
    "long_odd": (ANYHOW + BY_ROW, (16 * 769 + 5,), {}),
    "odd": (ANYHOW + BY_ROW, (3, 65, 67), {"offsets": (1, 2, 3), "windows": (2, 63, 61)}),
    "odd_padded": (ANYHOW + BY_ROW, (19, 37), {"strides": (41, 1)}),
    "reversed": (ANYHOW + BY_ROW, (5, 333), {"steps": (1, -1)}),
    "every_second": (
        ANYHOW + BY_ROW,
        (3, 400),
        {"offsets": (0, 1), "windows": (3, 399), "steps": (1, 2)},
    ),
    "reversed_units": (BY_ELEMENT + PACKED, (5, 7, 48), {"steps": (-1, 1, -1)}),
    "every_second_unit": (BY_ELEMENT + PACKED, (3, 416), {"windows": (3, 415), "steps": (1, 2)}),
    "every_second_to_the_end": (BY_ELEMENT + PACKED, (16 * 769 * 2 - 1,), {"steps": (2,)}),
    "every_third": (ANYHOW, (3, 400), {"steps": (-1, 3)}),
    "one_channel": (PACKED, (7, 41, 4), {"offsets": (0, 0, 3), "windows": (7, 41, 1)}),
    "every_seventh_backwards": (PACKED, (3, 5, 401), {"steps": (1, -1, -7)}),
    "every_eighth_to_the_end": (PACKED, (8 * 4099 + 3,), {"offsets": (2,), "steps": (8,)}),
    "transposed": (ANYHOW, (40, 23), {"strides": (1, 40)}),
    "transposed_tiles": (("tile",), (130, 197), {"strides": (1, 131)}),
    "channels_last": (("tile",), (3, 40, 97), {"strides": (1, 3 * 97, 3)}),
    "channels_first": (("tile",), (40, 97, 3), {"strides": (97, 1, 40 * 97)}),
    "pixels_mirrored": (("tile",), (40, 97, 3), {"steps": (1, -1, 1)}),
    "turned_units": (("tile in units",), (37, 70, 16), {"strides": (16, 37 * 16, 1)}),
    "turned_units_backwards": (
        ("tile in units",),
        (5, 7, 33, 16),
        {"strides": (16, 80, 560, 1), "steps": (1, -1, -2, 1)},
    ),
    "all_turned": (("tile",), (5, 6, 7, 8), {"strides": (1, 5, 30, 210), "steps": (1, -1, 1, -1)}),
    "interleaved": (("sparse",), (2, 2), {"strides": (3, 2)}),
    "repeated_rows": (BY_ELEMENT + PACKED, (37, 54), {"source": (0, 1)}),
    "repeated_windows": (
        BY_ELEMENT + PACKED,
        (9, 5, 27),
        {"source": (0, 27, 1), "steps": (1, 1, -1)},
    ),
    "repeated_backwards": (
        BY_ELEMENT + PACKED,
        (21, 3, 70),
        {"source": (0, 70, 1), "steps": (1, 1, -2)},
    ),
    "repeated_often": (BY_ELEMENT + PACKED, (1001, 33), {"source": (0, 1)}),
    "repeated_in_blocks": (PACKED, (3, 41, 32), {"source": (32, 0, 1)}),
    "repeated_in_odd_blocks": (PACKED, (5, 41, 3), {"source": (3, 0, 1)}),
    "repeated_pixels": (PACKED, (7, 2, 33, 2), {"source": (33, 0, 1, 0)}),
    "repeated_elements": (PACKED, (5, 3, 90), {"source": (3, 1, 0)}),
    "every_fourth_backwards": (PACKED, (3, 400), {"steps": (1, -4)}),
}
GATHERS: dict[str, tuple[Any, ...]] = {  # ways, sizes, index sizes, output strides
    "rows": (("packed in units", *BY_UNIT, *ANY_PIECE, *BY_ROW, *BY_PIECE), (50, 32), (140, 1)),
    "blocks": (("packed in units", *BY_UNIT, *ANY_PIECE, *BY_ROW, *BY_PIECE), (6, 5, 48), (7, 2)),
    "odd_rows": (ANY_PIECE + BY_ROW, (50, 33), (140, 1)),
    "short_rows": ((*ANY_PIECE, "words"), (50, 7), (140, 1)),
    "gaps": (ANY_PIECE, (50, 9), (70, 1), (13, 1)),
    "elements": (ALONE + BY_TUPLE, (50, 33), (700, 2)),
    "odd_elements": (ALONE + BY_TUPLE, (50, 33), (701, 2)),
    "singles": (ALONE + BY_TUPLE, (997, 1), (1203, 1)),
    "triples": (ALONE, (7, 5, 9), (700, 3)),
    "quadruples": (ALONE, (7, 5, 3, 4), (700, 4)),
    "gapped": (ALONE, (7, 5, 3), (61, 9, 3), (130, 13, 1)),
    "turned": (ALONE, (7, 5, 3), (61, 9, 3), (1, 1, 61)),
}


def cases(layouts: dict[str, Any], every: bool = LONG) -> list[tuple[str, str, int]]:
    """(layout, way, width): one width for each layout and way, or all."""
    return [
        (layout, way, width)
        for i, (layout, (ways, *_)) in enumerate(layouts.items())
        for way, (k, width) in product(ways, enumerate(WIDTHS))
        if every or way not in EVERY or k == (i + EVERY.index(way)) % len(WIDTHS)
    ]


@pytest.mark.parametrize(("layouts", "ways"), [(LAYOUTS, EVERY), (GATHERS, (*ANY_PIECE, "words"))])
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
        """A GPU does words, tiles, packed and `elements`; all else is what a CPU does."""
        kernel, _, group = way.partition(" in ")
        special = kernel in ("rows", "short", "tuples")
        on_cpu = kernel not in ("words", "tile", "packed", "elements")
        facts = replace(self.device.context.facts, is_cpu=on_cpu)
        if group == "32 bits":
            facts = replace(facts, wide_integers=False)
        self.patch.setattr(self.device.context, "facts", facts)
        retune(
            self.patch,
            move,
            COPY_BYTES=1 if way == "copies" else 1 << 40,
            SPARSE_FACTOR=1 << 20,
            run_units=lambda units: RUN if group == "runs" else 1,
        )
        if way != "copies":
            retune(self.patch, move, choose=lambda layout: kernel)
        retune(self.patch, move, CPU_SHARES=2 if group == "runs" else 2048)
        by_element = kernel in ("dense", "words", "tile") and group != "units"
        if by_element or group == "elements" or way in PACKED:
            retune(self.patch, move, widen=lambda *given, most: widen(*given, most=0))
        if kernel == "sparse":
            retune(self.patch, move, is_nested=lambda dims: False)
        op = CompiledOperator(self.device, operator_of(desc), desc)
        (dispatch,) = op.plan.dispatches
        assert bool(op.plan.copies) == (way == "copies")
        assert (
            way == "copies" or dispatch.slots.get("move", dispatch.shader.split("/")[1]) == kernel
        )
        if special:
            assert group != "runs" or dispatch.params["run"] > 1
        else:
            assert dispatch.constants.get("RUN", 1) == (RUN if group == "runs" else 1)
        return op

    def run(self, op: CompiledOperator, *inputs: bytes) -> bytes:
        """The output's bytes; those around it must stay as they are."""
        tensors = [
            self.device.upload(desc, data)
            for desc, data in zip(op.desc.inputs().values(), inputs, strict=True)
        ]
        size = op.desc.output_tensor.total_tensor_size_in_bytes
        before = oracle.random_bytes(size + 512, 1)
        arena = self.device.upload(TensorDesc(T.UINT8, (size + 512,)), before)
        op(*tensors, out=self.device.wrap(arena.buffer, op.desc.output_tensor, 256))
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


# What a tile holds, and how its runs lie in the output: width, sizes, layout, and whether they
# begin with units, within them ("ragged"), or are one run whose last tile may not be full ("open");
# those cut from long rows may begin and end with whole sectors.
TILES: dict[str, tuple[int, tuple[int, ...], dict[str, Any], str]] = {
    "squares": (8, (144, 208), {"strides": (1, 160)}, "units"),
    "squares_backwards": (16, (136, 208), {"strides": (1, 136), "steps": (-1, -1)}, "units"),
    "odd_squares": (8, (131, 197), {"strides": (1, 131), "steps": (-1, 1)}, "ragged"),
    "planes": (8, (97, 41, 9), {"source": (41, 1, 97 * 41)}, "open"),
    "planes_backwards": (16, (997, 35), {"source": (1, 997), "steps": (-1, 1)}, "open"),
    "pixels": (8, (9, 997), {"source": (1, 9)}, "ragged"),
    "windows": (8, (997, 10), {"offsets": (0, 4), "windows": (997, 6)}, "open"),
    "steps_in_planes": (
        8,
        (301, 5, 34),
        {"source": (34, 301 * 34, 1), "offsets": (0, 0, 1), "windows": (301, 5, 29)}
        | {"steps": (1, 1, 2)},
        "ragged",
    ),
    "repeated_pixels": (16, (7, 2, 33, 2), {"source": (33, 0, 1, 0)}, "open"),
    "far_apart": (8, (6, 1031), {"source": (5, 31), "strides": (1031, 1)}, "ragged"),
    "pairs": (64, (67, 235), {"source": (1, 67), "steps": (1, -1)}, "ragged"),
    "words": (32, (64, 9, 9), {"source": (126, 1, 9), "steps": (1, 1, -1)}, "open"),
    "odd_words": (32, (64, 40, 4), {"offsets": (0, 0, 1), "windows": (64, 40, 2)}, "open"),
    "words_apart": (32, (9, 1), {"strides": (2, 1)}, "open"),
    "elements_apart": (16, (40, 9), {"strides": (2, 80)}, "open"),
    "bytes_apart": (8, (40, 3), {"source": (1, 40), "strides": (6, 2)}, "open"),
    "odd_images": (16, (3, 5, 67, 77), {"source": (25795, 1, 385, 5)}, "ragged"),
    "long_pixels": (8, (37, 3, 45), {"source": (1, 37 * 45, 37)}, "ragged"),
    "gaps_within_units": (8, (70, 33), {"source": (1, 70), "strides": (37, 1)}, "open"),
    "gaps_of_units": (8, (70, 33), {"source": (1, 70), "strides": (48, 1)}, "ragged"),
    "repeated_often": (8, (8, 8, 8, 23, 57), {"source": (0, 0, 0, 1, 23)}, "ragged"),
    "half_sectors": (32, (70, 1204), {"source": (1, 70)}, "sectors"),
    "half_sectors_of_bytes": (8, (200, 1040), {"source": (1, 200), "steps": (-1, 1)}, "sectors"),
    "half_sectors_of_halves": (16, (128, 1032), {"source": (1, 128)}, "sectors"),
    "half_sectors_of_pairs": (64, (40, 1006), {"source": (1, 40), "steps": (1, -1)}, "sectors"),
    "odd_sectors": (32, (48, 1205), {"source": (1, 48)}, "ragged sectors"),
    "pieces_of_5_words": (32, (30, 50, 5), {"source": (5, 150, 1)}, "ragged"),
    "odd_pairs": (64, (5, 31, 9), {"source": (1, 5, 155), "steps": (1, 1, -1)}, "ragged"),
}


@pytest.mark.gpu
@pytest.mark.parametrize("way", ["tile", "tile in 32 bits"])
@pytest.mark.parametrize("layout", TILES)
def test_every_kind_of_tile(forced: Forced, layout: str, way: str) -> None:
    bits, sizes, how, written = TILES[layout]
    how = dict(how)
    desc = copy(TensorDesc(T[f"UINT{bits}"], sizes, how.pop("source", None)), **how)
    data, x = bits_of(desc.input_tensor)
    op = forced.compile(desc, way)
    code = op.plan.dispatches[0].code
    found = "open" if "params.tail" in code else "ragged" if "is_next" in code else "units"
    if "% tile.begin" in code:
        found = "ragged sectors" if found == "ragged" else "sectors"
    assert found == written
    windows = (desc.input_window_offsets, desc.input_window_sizes, desc.input_window_strides)
    expected = oracle.slice1(x, *windows, desc.output_tensor.sizes)
    oracle.assert_same_elements(forced.run(op, data), desc.output_tensor, expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("layout", "way", "bits"), cases(GATHERS))
def test_every_way_to_gather(forced: Forced, layout: str, way: str, bits: int) -> None:
    _, sizes, index_sizes, *strides = GATHERS[layout]
    index_type = INDEX_TYPES[WIDTHS.index(bits)]
    desc = rows(TensorDesc(T[f"UINT{bits}"], sizes), index_sizes, index_type, *strides)
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
    monkeypatch.setattr(opened.context, "facts", replace(opened.context.facts, is_cpu=True))
    desc, x, expected = rows_of_copies()
    op = CompiledOperator(opened, operator_of(desc), desc)
    assert len(op.plan.copies) == 4
    apart = op(opened.tensor(x))
    (bound,) = op._executable.calls.values()
    assert (len(bound.copies), len(bound.dispatches)) == (4, 0)
    size = x.nbytes + expected.nbytes
    arena = opened.upload(TensorDesc(T.UINT8, (size,)), x.tobytes() + bytes(expected.nbytes))
    given = opened.wrap(arena.buffer, desc.input_tensor)
    together = op(given, out=opened.wrap(arena.buffer, desc.output_tensor, x.nbytes))
    _, bound = op._executable.calls.values()
    assert (len(bound.copies), len(bound.dispatches)) == (0, 1)
    assert apart.tobytes() == together.tobytes() == expected.tobytes()
    assert arena.tobytes() == x.tobytes() + expected.tobytes()


@pytest.mark.gpu
def test_copies_and_dispatches_run_in_the_order_of_their_calls(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened.context, "facts", replace(opened.context.facts, is_cpu=True))
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
    if "timestamp-query" not in opened.wgpu_device.features:
        pytest.skip(f"{opened.adapter.name} has no timestamps")
    monkeypatch.setattr(opened.context, "facts", replace(opened.context.facts, is_cpu=True))
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
    for name in ("compile", "internal"):
        make = getattr(opened, name)
        noting = partial(lambda make, desc: made.append(desc) or make(desc), make)
        monkeypatch.setattr(opened, name, noting)
    monkeypatch.setattr(opened, "remembered", Cache(4096))
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
        lambda: x[::-1].copy(),
        lambda: x.T.copy(),
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
    monkeypatch.setattr(device_module, "REMEMBERED_LIMIT", 4)
    monkeypatch.setattr(opened, "remembered", Cache(4096))
    x = opened.tensor(np.arange(32, dtype=np.int32))
    for first in (*range(12), *range(12)):
        assert x[first:].numpy()[0] == first
        assert len(opened.remembered) <= 4
