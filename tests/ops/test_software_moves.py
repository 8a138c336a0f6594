"""Moves of software adapters: long rows that are parts of an output, frames, places by products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import moves
from support.layouts import random_values, run, same_bits
from support.plans import ADAPTERS, copy, one, plan

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.plan.move.layout import LONG_ROW

SOFTWARE = ADAPTERS["software"]
TYPES = [T.UINT8, T.FLOAT16, T.INT32, T.FLOAT64]
types = pytest.mark.parametrize("data_type", TYPES)
MODES = list(dml.PaddingMode)


@pytest.fixture
def software(device: dml.Device) -> Iterator[dml.Device]:
    """A device that moves elements as software adapters do, small as tensors may be."""
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=True, launch=0)
        yield made


def join(pieces: list[TensorDesc], output: TensorDesc) -> dml.JoinDesc:
    return dml.JoinDesc(input_tensors=pieces, output_tensor=output, axis=output.rank - 1)


@pytest.mark.gpu
@types
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(300, 257), (259, 16, 513), (512, 256), (1, 1, 261)])
def test_long_rows_are_joined(
    software: dml.Device, data_type: T, step: int, sizes: tuple[int, ...]
) -> None:
    """Between each other and gaps, wherever in 16 bytes they begin and end."""
    rng = np.random.default_rng(step)
    pieces = [random_values(rng, data_type, (3, 2, n)) for n in sizes]
    wanted = np.concatenate(pieces, 2)
    for gap in (0, 5):
        whole = sum(sizes) + gap
        rows = [step * n + gap for n in sizes]
        tensors = [
            TensorDesc(data_type, (3, 2, n), (2 * row, row, step))
            for n, row in zip(sizes, rows, strict=True)
        ]
        output = TensorDesc(data_type, wanted.shape, (2 * whole + gap, whole, 1))
        (got,) = run(software, join(tensors, output), [pieces], rng)
        same_bits(got, wanted)


@pytest.mark.gpu
@types
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("sizes", "pads"),
    [
        ((5, 300), ((1, 2), (3, 1))),
        ((2, 3, 513), ((0, 1), (2, 0), (0, 7))),
        ((300, 4), ((2, 1), (0, 0))),
        ((2, 70, 5), ((0, 0), (3, 3), (0, 0))),
        ((3, 256), ((0, 0), (0, 1))),
    ],
)
def test_frames_are_made_around_rows(
    software: dml.Device,
    data_type: T,
    mode: dml.PaddingMode,
    sizes: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
) -> None:
    """Of packed tensors, and of rows with gaps between them."""
    rng = np.random.default_rng(len(sizes))
    start, end = zip(*pads, strict=True)
    x = random_values(rng, data_type, sizes)
    raw = f"u{x.itemsize}"
    wanted = moves.padded(x.view(raw), start, end, mode, x.dtype.type(3).view(raw)).view(x.dtype)
    for gap in (0, 9):
        strides = [np.cumprod([1, *(s[:0:-1])])[::-1] for s in (sizes, wanted.shape)]
        source, output = (
            TensorDesc(data_type, shape, [*(int(n) * (1 + gap) for n in step[:-1]), 1])
            for shape, step in zip((sizes, wanted.shape), strides, strict=True)
        )
        desc = dml.PaddingDesc(
            input_tensor=source,
            output_tensor=output,
            padding_mode=mode,
            padding_value=3,
            start_padding=start,
            end_padding=end,
        )
        (got,) = run(software, desc, [x], rng)
        same_bits(got, wanted)


@pytest.mark.gpu
@types
def test_gradients_of_windows_are_rows_in_zeros(software: dml.Device, data_type: T) -> None:
    rng = np.random.default_rng(1)
    x = random_values(rng, data_type, (4, 300))
    wanted = np.zeros((7, 400), x.dtype)
    wanted[2:6, 33:333] = x
    desc = dml.SliceGradDesc(
        input_gradient_tensor=TensorDesc(data_type, x.shape),
        output_gradient_tensor=TensorDesc(data_type, wanted.shape),
        input_window_offsets=(2, 33),
        input_window_sizes=x.shape,
        input_window_strides=(1, 1),
    )
    (got,) = run(software, desc, [x], rng)
    same_bits(got, wanted)


INDICES: list[Any] = [
    np.s_[1:-1, 3:-2],
    np.s_[::-1, 5:],
    np.s_[2:, 300:0:-1],
    np.s_[::3, 1::2],
    np.s_[1:4],
    np.s_[:, 7:9],
    np.s_[3, 1:],
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "int16", "bool", "float32", "int64"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_rows_are_assigned_to_parts(software: dml.Device, dtype: str, index: Any) -> None:
    """Of the same type, which are copied, and of others; numbers; rows for all."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2 if dtype == "bool" else 100, (7, 531)).astype(dtype)
    given = rng.integers(0, 2, x[index].shape)
    others = [given.astype(dtype), given.astype("float32"), 1, given[-1:].astype(dtype)]
    for other in [*others, given.astype(dtype)[..., ::-1]]:
        wanted, made = x.copy(), software.tensor(x)
        wanted[index] = other
        made[index] = software.tensor(other) if isinstance(other, np.ndarray) else other
        np.testing.assert_array_equal(made.numpy(), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
@pytest.mark.parametrize("sizes", [(5, 1027), (3, 7, 130), (41, 3), (2, 5, 9, 2), (1031,)])
def test_groups_go_on_in_the_next_row(
    software: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    """Of rows that are no multiple of a group, with operands that lie otherwise."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 50, sizes).astype(dtype)
    row, column = x[..., -1:].copy(), x[:1].copy()
    turned = np.ascontiguousarray(x.T).T
    g, across = software.tensor(x), software.tensor(np.ascontiguousarray(x.T)).T
    for other, tensor in ((row, None), (column, None), (turned, across)):
        tensor = software.tensor(other) if tensor is None else tensor
        np.testing.assert_array_equal((g + tensor).numpy(), x + other)
        np.testing.assert_array_equal((g > tensor).numpy(), x > other)
        np.testing.assert_array_equal(
            dnp.where(g > 20, g, tensor).numpy(), np.where(x > 20, x, other)
        )


def kernels(desc: Any) -> list[str]:
    """The kernel of each dispatch on a software adapter."""
    made = plan(desc, SOFTWARE).dispatches
    return [d.slots.get("move", d.shader) for d in made]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((LONG_ROW * 16, LONG_ROW * 16), ["rows"] * 2),
        ((LONG_ROW * 16 + 1, LONG_ROW * 16), ["rows", "part_words"] * 2),
        ((LONG_ROW * 16 - 1, LONG_ROW * 16), ["part_words", "rows", "part_words"]),
    ],
)
def test_only_long_rows_are_parts_of_whole_units(sizes: tuple[int, ...], wanted: list[str]) -> None:
    pieces = [TensorDesc(T.UINT8, (9, n)) for n in sizes]
    desc = join(pieces, TensorDesc(T.UINT8, (9, sum(sizes))))
    assert kernels(desc) == wanted
    for name in ("least", "discrete"):
        made = plan(desc, ADAPTERS[name]).dispatches
        assert all(d.slots.get("move", d.shader) in ("move/windows", "part_units") for d in made)


@pytest.mark.parametrize(
    ("sizes", "pad", "wanted"),
    [
        ((1024, 1024), 1, ["elementwise/elements"] * 4 + ["rows", "part_words"]),
        ((1024, 1024), 1000, ["move/framed"]),  # most is not of the source
        ((500, 500), 1, ["move/framed"]),  # too little for several dispatches
        ((40_000, 30), 1, ["move/framed"]),  # short rows
    ],
)
def test_few_elements_around_rows_are_made_apart(
    sizes: tuple[int, int], pad: int, wanted: list[str]
) -> None:
    padded = tuple(n + 2 * pad for n in sizes)
    desc = dml.PaddingDesc(
        input_tensor=TensorDesc(T.UINT8, sizes),
        output_tensor=TensorDesc(T.UINT8, padded),
        padding_mode=dml.PaddingMode.CONSTANT,
        padding_value=0,
        start_padding=(pad, pad),
        end_padding=(pad, pad),
    )
    assert kernels(desc) == wanted


def test_places_are_found_by_products_where_there_are_wide_integers() -> None:
    """On software adapters; not where there is one loop, which divides nothing."""
    wide = replace(SOFTWARE, wide_integers=True)
    matrix = TensorDesc(T.UINT8, (7, 9, 3))
    permuted = copy(matrix, strides=(27, 1, 9))
    assert one(permuted, wide).slots["divide"] == "divide_by_product"
    assert "divided" in one(permuted, wide).code
    assert "divide" not in one(permuted, SOFTWARE).slots
    assert "divide" not in one(copy(TensorDesc(T.UINT8, (99,)), steps=(3,)), wide).slots
