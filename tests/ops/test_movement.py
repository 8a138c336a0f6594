"""JOIN, SPLIT, PADDING and their family: bit-exact against NumPy loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import moves
from support.layouts import as_gpu, layout, random_values, run, same_bits, small_bindings
from support.plans import ADAPTERS, copy, one, plan, retune

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.desc.tensor import packed_strides
from dmlgpu.plan import move
from dmlgpu.plan.dispatch import eight
from dmlgpu.plan.move import packed
from dmlgpu.plan.move.planner import LAID

TYPES = (T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64)
Rng = np.random.Generator


def rng_of(seed: int) -> Rng:
    return np.random.default_rng(seed)


def sizes_of(rng: Rng, rank: int, most: int = 7) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, most + 1, rank))


def moved(
    device: dml.Device, rng: Rng, desc: type, x: Any, sizes: Sequence[int], **named: Any
) -> Any:
    """The result of an operator with one input, both tensors in random layouts."""
    data_type = T.from_numpy(x.dtype)
    made = desc(
        input_tensor=layout(rng, data_type, x.shape),
        output_tensor=layout(rng, data_type, sizes),
        **named,
    )
    (got,) = run(device, made, [x], rng)
    return got


seeds = pytest.mark.parametrize("seed", range(8))
few = pytest.mark.parametrize("seed", range(4))


@pytest.mark.gpu
@seeds
def test_join_puts_pieces_behind_each_other(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type = TYPES[seed % 4]
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    sizes = list(sizes_of(rng, rank, 9))
    pieces = []
    for _ in range(int(rng.integers(1, 5))):
        sizes[axis] = int(rng.integers(1, 40))
        pieces.append(random_values(rng, data_type, tuple(sizes)))
    wanted = np.concatenate(pieces, axis)
    desc = dml.JoinDesc(
        input_tensors=[layout(rng, data_type, p.shape) for p in pieces],
        output_tensor=layout(rng, data_type, wanted.shape),
        axis=axis,
    )
    (got,) = run(device, desc, [pieces], rng)
    same_bits(got, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.INT8, T.UINT16, T.UINT32, T.FLOAT64])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (16, 32, 16), (4, 64, 1)])
def test_pieces_of_a_joined_row_do_not_touch_each_other(
    device: dml.Device, data_type: T, sizes: tuple[int, ...]
) -> None:
    rng = rng_of(3)
    for rows in (1, 5):
        pieces = [random_values(rng, data_type, (rows, n)) for n in sizes]
        got = np.asarray(dml.join([device.tensor(p) for p in pieces], axis=1))
        same_bits(got, np.concatenate(pieces, 1))


@pytest.mark.gpu
def test_one_tensor_may_be_joined_to_itself(device: dml.Device) -> None:
    x = device.tensor(np.arange(5, dtype=np.uint8))
    assert dml.join([x, x, x], -1).tolist() == list(range(5)) * 3
    assert dml.join([[1, 2], [3]], 0).tolist() == [1, 2, 3]


@pytest.mark.gpu
@seeds
def test_split_is_the_inverse_of_join(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type = TYPES[seed % 4]
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    cuts = [int(n) for n in rng.integers(1, 30, int(rng.integers(1, 4)))]
    sizes = list(sizes_of(rng, rank))
    sizes[axis] = sum(cuts)
    x = random_values(rng, data_type, tuple(sizes))
    wanted = np.split(x, np.cumsum(cuts)[:-1], axis)
    desc = dml.SplitDesc(
        input_tensor=layout(rng, data_type, x.shape),
        output_tensors=[layout(rng, data_type, w.shape) for w in wanted],
        axis=axis,
    )
    for got, piece in zip(run(device, desc, [x], rng), wanted, strict=True):
        same_bits(got, piece)


@pytest.mark.gpu
def test_split_as_a_function(device: dml.Device) -> None:
    a, b = dml.split(device.tensor(np.arange(6).reshape(2, 3)), [1, 2], axis=-1)
    assert (a.tolist(), b.tolist()) == ([[0], [3]], [[1, 2], [4, 5]])
    (c,) = dml.split([1, 2], [2], 0)
    assert c.tolist() == [1, 2]


@pytest.mark.gpu
def test_a_split_into_one_piece_returns_a_tuple_too(device: dml.Device) -> None:
    line = dml.TensorDesc(T.INT32, (2,))
    op = device.compile(dml.SplitDesc(input_tensor=line, output_tensors=[line], axis=0))
    x, room = device.tensor(np.array([1, 2], np.int32)), device.empty(line)
    (piece,) = op(x)
    (given,) = op(x, out=(room,))
    assert given is room
    assert piece.tolist() == given.tolist() == [1, 2]


@pytest.mark.gpu
@pytest.mark.parametrize("mode", dml.PaddingMode)
@few
def test_padding_is_numpys(device: dml.Device, mode: dml.PaddingMode, seed: int) -> None:
    rng = rng_of(seed)
    data_type = TYPES[seed]
    rank = int(rng.integers(1, 5))
    x = random_values(rng, data_type, sizes_of(rng, rank))
    start = tuple(int(n) for n in rng.integers(0, 20, rank) * rng.integers(0, 2, rank))
    end = tuple(int(n) for n in rng.integers(0, 20, rank) * rng.integers(0, 2, rank))
    value = x.reshape(-1)[0] if mode == 0 and data_type is not T.FLOAT16 else x.dtype.type(3)
    if np.isnan(value):
        value = x.dtype.type(1.5)
    raw = f"u{x.itemsize}"
    wanted = moves.padded(x.view(raw), start, end, mode, np.array(value).view(raw))
    desc: Any = dml.Padding1Desc
    got = moved(
        device,
        rng,
        desc,
        x,
        wanted.shape,
        padding_mode=mode,
        padding_value_data_type=data_type,
        padding_value=value.item(),
        start_padding=start,
        end_padding=end,
    )
    same_bits(got, wanted.view(x.dtype))


PADDED = [
    ((5, 100), ((1, 1), (1, 1))),
    ((4, 1101), ((1, 0), (3, 1))),
    ((2, 400, 3), ((0, 0), (2, 1), (0, 0))),
    ((3, 4, 33), ((0, 0), (2, 0), (0, 40))),
    ((2, 5, 17, 3), ((0, 0), (1, 2), (3, 1), (0, 0))),
    ((1, 2, 40), ((5, 0), (0, 0), (17, 17))),
    ((70,), ((0, 3),)),
    ((6, 16), ((1, 0), (0, 0))),
]


@pytest.mark.gpu
@pytest.mark.parametrize("mode", dml.PaddingMode)
@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize(("sizes", "pads"), PADDED)
def test_padding_of_packed_rows(
    device: dml.Device,
    mode: dml.PaddingMode,
    data_type: T,
    sizes: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
) -> None:
    """Rows that begin anywhere, in an output without gaps."""
    rng = rng_of(len(sizes))
    start, end = zip(*pads, strict=True)
    x = random_values(rng, data_type, sizes)
    raw = f"u{x.itemsize}"
    wanted = moves.padded(x.view(raw), start, end, mode, x.dtype.type(3).view(raw))
    got = dml.padding(device.tensor(x), mode, 3, start, end)
    same_bits(np.asarray(got), wanted.view(x.dtype))
    wider = TensorDesc(data_type, sizes, packed_strides((*sizes[:-1], sizes[-1] + 7)))
    desc = dml.PaddingDesc(
        input_tensor=wider,
        output_tensor=TensorDesc(data_type, wanted.shape),
        padding_mode=mode,
        padding_value=3,
        start_padding=start,
        end_padding=end,
    )
    (got,) = run(device, desc, [x], rng)
    same_bits(got, wanted.view(x.dtype))


@pytest.mark.parametrize(
    ("data_type", "sizes", "pads", "mode", "kernel", "rows"),
    [
        (T.UINT8, (9, 14), (1, 1), 0, "move/framed", (11, 16)),
        (T.UINT8, (9, 13), (1, 1), 0, "elementwise/elements", ()),
        (T.INT64, (9, 2), (1, 0), 0, "move/framed", (22,)),
        (T.INT64, (9, 2), (1, 0), 2, "move/framed", (11, 2)),
        (T.UINT8, (5, 9, 9, 3), (0, 1, 1, 0), 0, "move/framed", (5, 11, 33)),
        (T.UINT8, (5, 9, 9, 3), (0, 1, 1, 0), 1, "move/framed", (5, 11, 33)),
        (T.UINT8, (5, 9, 9, 17), (0, 1, 1, 0), 1, "move/framed", (5, 11, 11, 17)),
        (T.FLOAT32, (2, 3, 4, 5), (0, 1, 0, 0), 0, "move/framed", (2, 100)),
        (T.FLOAT32, (2, 3, 4, 5), (0, 0, 0, 2), 4, "move/framed", (24, 9)),
    ],
)
def test_paddings_of_rows_are_made_in_units(
    data_type: T,
    sizes: tuple[int, ...],
    pads: tuple[int, ...],
    mode: int,
    kernel: str,
    rows: tuple[int, ...],
) -> None:
    """Of rows as long as a unit at least; dimensions that stay together are one row."""
    desc = dml.PaddingDesc(
        input_tensor=TensorDesc(data_type, sizes),
        output_tensor=TensorDesc(data_type, [n + 2 * p for n, p in zip(sizes, pads, strict=True)]),
        padding_mode=dml.PaddingMode(mode),
        padding_value=0,
        start_padding=pads,
        end_padding=pads,
    )
    for adapter in ADAPTERS.values():
        dispatch = one(desc, adapter)
        assert dispatch.shader == kernel
        if rows:
            assert dispatch.params["sizes"] == eight(rows)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        (np.uint8, -3.7, 0),
        (np.uint8, 300.0, 255),
        (np.int8, -3.7, -3),
        (np.int32, float("nan"), 0),
        (np.float16, 1e9, np.inf),
        (np.float32, 0.1, np.float32(0.1)),
    ],
)
def test_paddings_number_is_converted_to_the_tensors_type(
    device: dml.Device, dtype: Any, value: float, wanted: Any
) -> None:
    x = device.tensor(np.ones(2, dtype))
    got = dml.padding(x, dml.PaddingMode.CONSTANT, value, [1], [1])
    assert got.tolist() == np.array([wanted, 1, 1, wanted], dtype).tolist()


@pytest.mark.gpu
def test_padding1_keeps_every_bit_of_its_number(device: dml.Device) -> None:
    x = device.tensor(np.array([7], np.uint64))
    got = dml.padding1(x, dml.PaddingMode.CONSTANT, 2**64 - 3, [0], [2])
    assert got.tolist() == [7, 2**64 - 3, 2**64 - 3]


@pytest.mark.gpu
@seeds
def test_tile_repeats(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type = TYPES[seed % 4]
    rank = (1, 2, 3, 4, 5, 6, 7, 8)[seed]
    x = random_values(rng, data_type, sizes_of(rng, rank, 5 if rank < 5 else 2))
    repeats = tuple(int(n) for n in rng.integers(1, 4 if rank < 5 else 3, rank))
    wanted = np.tile(x.view(f"u{x.itemsize}"), repeats).view(x.dtype)
    same_bits(moved(device, rng, dml.TileDesc, x, wanted.shape, repeats=repeats), wanted)


@pytest.mark.gpu
def test_a_tile_beyond_a_binding_is_made_once(device: dml.Device) -> None:
    """On a GPU: parts would each read all of the input again."""
    x = random_values(rng_of(2), T.INT64, (20, 16))
    with small_bindings(device, 4096) as small:
        got = dml.tile(small.tensor(x), (2, 1))
        same_bits(np.asarray(got), np.tile(x, (2, 1)))
    half = TensorDesc(T.INT64, (20, 16))
    desc = dml.TileDesc(
        input_tensor=half, output_tensor=TensorDesc(T.INT64, (40, 16)), repeats=(2, 1)
    )
    assert len(plan(desc, replace(ADAPTERS["discrete"], max_binding=4096)).dispatches) == 1
    assert len(plan(desc, replace(ADAPTERS["discrete"], max_binding=2048)).dispatches) > 1


@pytest.mark.gpu
def test_tile_of_more_loops_than_a_move_has(device: dml.Device) -> None:
    x = np.arange(2**8, dtype=np.uint16).reshape((2,) * 8)
    same_bits(np.asarray(dml.tile(device.tensor(x), (2,) * 8)), np.tile(x, (2,) * 8))


@pytest.mark.gpu
@pytest.mark.parametrize("order", dml.DepthSpaceOrder)
@few
def test_depth_to_space_and_back(device: dml.Device, seed: int, order: dml.DepthSpaceOrder) -> None:
    rng = rng_of(seed)
    block = (1, 2, 3, 2)[seed]
    n, c, h, w = sizes_of(rng, 4, 4)
    x = random_values(rng, TYPES[seed], (n, c * block**2, h, w))
    wanted = moves.depth_to_space(x, block, order)
    named: dict[str, Any] = {"block_size": block, "order": order}
    got = moved(device, rng, dml.DepthToSpace1Desc, x, wanted.shape, **named)
    same_bits(got, wanted)
    same_bits(moved(device, rng, dml.SpaceToDepth1Desc, wanted, x.shape, **named), x)
    if order == 0:
        forward = dml.depth_to_space(device.tensor(x), block)
        same_bits(np.asarray(forward), wanted)
        same_bits(np.asarray(dml.space_to_depth(forward, block)), x)


@pytest.mark.gpu
def test_blocks_and_repeats_with_the_kernels_of_a_gpu(device: dml.Device) -> None:
    rng = rng_of(9)
    with as_gpu(device) as gpu:
        for data_type in (T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64):
            x = random_values(rng, data_type, (2, 12, 3, 5))
            wanted = moves.depth_to_space(x, 2, 0)
            named: dict[str, Any] = {"block_size": 2}
            same_bits(moved(gpu, rng, dml.DepthToSpaceDesc, x, wanted.shape, **named), wanted)
            same_bits(moved(gpu, rng, dml.SpaceToDepthDesc, wanted, x.shape, **named), x)
            pads = [(0, 0), (2, 1), (1, 2), (4, 7)]
            wanted = np.pad(x.view(f"u{x.itemsize}"), pads, "reflect").view(x.dtype)
            got = dml.padding(gpu.tensor(x), 2, 0, *zip(*pads, strict=True))
            same_bits(np.asarray(got), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64])
def test_repeats_are_laid_out_or_made_in_turn(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, data_type: T
) -> None:
    monkeypatch.setattr(packed, "READ_AGAIN", 1)
    monkeypatch.setattr(packed, "WG_SIZE", 32)
    x = random_values(rng_of(7), data_type, (5 * 31 * 44,))
    with as_gpu(device, launch=0) as gpu:
        for sizes, strides, steps in (
            ((5, 33, 31, 22), (1364, 0, 44, 2), (1, 1, 1, 1)),
            ((5, 41, 30, 2), (1364, 0, 44, 1), (1, 1, 1, 1)),
            ((5, 5, 31, 37), (0, 1364, 44, 1), (1, -1, 2, 1)),
            ((5, 7, 31, 13), (1364, 0, 44, 1), (1, 1, 1, 1)),
            ((2, 3, 5, 31, 44), (0, 0, 1364, 44, 1), (1, 1, 1, -1, 3)),
        ):
            source = TensorDesc(data_type, sizes, strides)
            apart = tuple(step * x.itemsize for step in strides)
            seen = np.lib.stride_tricks.as_strided(x, sizes, apart, writeable=False)
            got = gpu.compile(copy(source, steps=steps))(gpu.tensor(x).view(source))
            same_bits(np.asarray(got), seen[tuple(slice(None, None, n) for n in steps)])


@pytest.mark.gpu
@pytest.mark.parametrize(("data_type", "long_row"), [(T.UINT8, 16), (T.FLOAT16, 0)])
@pytest.mark.parametrize(
    ("sizes", "strides", "steps"),
    [
        ((3, 37, 3), (9, 0, 1), (1, 1, -1)),  # shorter than a unit
        ((7, 90, 21), (50, 0, 2), (1, 1, 1)),
        ((4, 41, 4, 9), (80, 0, 18, 2), (1, 1, -1, -1)),  # two loops within
        ((2, 5, 60, 3, 5), (0, 31, 0, 10, 1), (1, -1, 1, 1, -2)),  # and one more that stays
        ((4, 67, 16), (40, 0, 2), (1, 1, 1)),  # repeats that end with units
        ((3, 2, 50, 22), (60, 150, 0, 2), (1, 1, 1, 1)),  # outer loops in another order
    ],
)
def test_narrow_rows_that_are_repeated_are_laid_out(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    data_type: T,
    long_row: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    steps: tuple[int, ...],
) -> None:
    retune(monkeypatch, move, SMALLER=2, LONG_ROW=long_row)
    x = random_values(rng_of(8), data_type, (400,))
    source = TensorDesc(data_type, sizes, strides)
    apart = tuple(step * x.itemsize for step in strides)
    seen = np.lib.stride_tricks.as_strided(x, sizes, apart, writeable=False)
    with as_gpu(device, launch=0) as gpu:
        compiled = gpu.compile(copy(source, steps=steps))
        got = compiled(gpu.tensor(x).view(source))
        same_bits(np.asarray(got), seen[tuple(slice(None, None, n) for n in steps)])
    is_apart = abs(strides[-1] * steps[-1]) > 1
    assert (LAID in compiled.plan.scratch) == (data_type is T.UINT8 or is_apart)


@pytest.mark.gpu
def test_long_rows_are_joined_and_split(device: dml.Device) -> None:
    rng = rng_of(4)
    pieces = [random_values(rng, T.FLOAT32, (3, n)) for n in (600, 1024, 513)]
    whole = dml.join([device.tensor(p) for p in pieces], 1)
    same_bits(np.asarray(whole), np.concatenate(pieces, 1))
    for piece, got in zip(pieces, dml.split(whole, [600, 1024, 513], 1), strict=True):
        same_bits(np.asarray(got), piece)


@pytest.mark.gpu
@seeds
def test_slice_grad_puts_back_what_slice1_took(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    rank = int(rng.integers(1, 5))
    sizes = sizes_of(rng, rank, 9)
    offsets = tuple(int(rng.integers(n)) for n in sizes)
    windows = tuple(int(rng.integers(1, n - o + 1)) for n, o in zip(sizes, offsets, strict=True))
    strides = tuple(int(s) for s in rng.choice([-3, -2, -1, 1, 1, 2], rank))
    if seed == 0:
        offsets, windows, strides = (0,) * rank, sizes, (1,) * rank
    taken = tuple(1 + (w - 1) // abs(s) for w, s in zip(windows, strides, strict=True))
    x = random_values(rng, TYPES[seed % 4], taken)
    wanted = moves.slice_grad(x, sizes, offsets, windows, strides)
    desc = dml.SliceGradDesc(
        input_gradient_tensor=layout(rng, TYPES[seed % 4], x.shape),
        output_gradient_tensor=layout(rng, TYPES[seed % 4], sizes),
        input_window_offsets=offsets,
        input_window_sizes=windows,
        input_window_strides=strides,
    )
    same_bits(run(device, desc, [x], rng)[0], wanted)


@pytest.mark.gpu
@few
def test_reverse_subsequences(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    rank = int(rng.integers(1, 4))
    axis = int(rng.integers(rank))
    x = random_values(rng, TYPES[seed], sizes_of(rng, rank, 6))
    n = x.shape[axis]
    lines = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    wide = T.UINT64 if seed % 2 else T.UINT32
    lengths = rng.integers(0, n + 3, lines).astype(wide.numpy)
    if wide is T.UINT64:
        lengths.reshape(-1)[0] = 2**40
    wanted = moves.reverse_subsequences(x, lengths, axis)
    desc = dml.ReverseSubsequencesDesc(
        input_tensor=layout(rng, TYPES[seed], x.shape),
        sequence_lengths_tensor=layout(rng, wide, lines),
        output_tensor=layout(rng, TYPES[seed], x.shape),
        axis=axis,
    )
    same_bits(run(device, desc, [x, lengths], rng)[0], wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", TYPES)
def test_reversed_rows_are_written_in_units(device: dml.Device, data_type: T) -> None:
    """Elements that are each looked up once, on a GPU; rows begin anywhere."""
    rng = rng_of(5)
    for n in (48, 53):
        x = random_values(rng, data_type, (7, n))
        lengths = rng.integers(0, n + 3, (7, 1)).astype(np.uint32)
        tensors = device.tensor(x), device.tensor(lengths)
        got = np.asarray(dml.reverse_subsequences(*tensors, axis=1))
        same_bits(got, moves.reverse_subsequences(x, lengths, 1))
        desc = dml.ReverseSubsequencesDesc(
            input_tensor=tensors[0].desc,
            sequence_lengths_tensor=tensors[1].desc,
            output_tensor=tensors[0].desc,
            axis=1,
        )
        assert "write out0: vec4<u32>" in one(desc, ADAPTERS["discrete"]).code


def made_of_nothing(
    device: dml.Device, rng: Rng, desc: type, data_type: T, sizes: Any, **n: Any
) -> Any:
    made = desc(output_tensor=layout(rng, data_type, sizes), **n)
    (got,) = run(device, made, [], rng)
    return got


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.INT16, T.FLOAT16, T.FLOAT32, T.INT64, T.FLOAT64])
def test_fill_value_constant(device: dml.Device, data_type: T) -> None:
    rng = rng_of(int(data_type))
    numbers = (0, 1.5, -1, 2.0**20)
    if not data_type.name.startswith("FLOAT"):
        numbers = (0, np.iinfo(data_type.numpy).min, np.iinfo(data_type.numpy).max)
    for value in numbers:
        with np.errstate(over="ignore"):
            wanted = np.full((5, 7), value).astype(data_type.numpy)
        named = {"value_data_type": data_type, "value": value}
        got = made_of_nothing(device, rng, dml.FillValueConstantDesc, data_type, (5, 7), **named)
        same_bits(got, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.INT16, T.FLOAT16, T.FLOAT32, T.INT64, T.UINT64])
def test_fill_value_sequence(device: dml.Device, data_type: T) -> None:
    rng = rng_of(int(data_type))
    sizes = (7, 3, 5)
    for start, delta in ((10, -2), (0, 1), (250, 2**40 + 3), (1.5, 0.25)):
        if isinstance(start, float) and not data_type.name.startswith("FLOAT"):
            continue
        if data_type is T.FLOAT16 and delta > 2**16:
            continue
        wanted = moves.sequence(sizes, start, delta, np.dtype(data_type.numpy))
        named = {"value_data_type": data_type, "value_start": start, "value_delta": delta}
        got = made_of_nothing(device, rng, dml.FillValueSequenceDesc, data_type, sizes, **named)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("offset", [-9, -1, 0, 2, 100])
def test_diagonal_matrix(device: dml.Device, offset: int) -> None:
    rng = rng_of(offset + 9)
    for data_type in (T.UINT8, T.FLOAT32, T.FLOAT64):
        named = {"offset": offset, "value": 2.75}
        got = made_of_nothing(device, rng, dml.DiagonalMatrixDesc, data_type, (2, 3, 5), **named)
        value = np.array(2.75).astype(data_type.numpy)
        same_bits(got, np.stack([np.eye(3, 5, offset, data_type.numpy) * value] * 2))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("begin", "end"), [(0, 1), (-2, 3), (3, -2), (-(2**31), 1), (1, 2**31 - 1), (0, 0), (1, 0)]
)
def test_diagonal_matrix1(device: dml.Device, begin: int, end: int) -> None:
    rng = rng_of(begin % 7)
    sizes = (2, 5, 6)
    for k, data_type in enumerate((T.UINT8, T.INT64, T.FLOAT32)):
        x = random_values(rng, data_type, sizes) if k else None
        use = moves.diagonals(sizes, begin, end)
        value = np.array(7).astype(data_type.numpy)
        wanted = np.where(use, value, np.zeros(sizes, value.dtype) if x is None else x)
        desc = dml.DiagonalMatrix1Desc(
            input_tensor=None if x is None else layout(rng, data_type, sizes),
            output_tensor=layout(rng, data_type, sizes),
            value_data_type=data_type,
            value=7,
            diagonal_fill_begin=begin,
            diagonal_fill_end=end,
        )
        same_bits(run(device, desc, [x], rng)[0], wanted)


def windows_of(rng: Rng, spatial: int) -> dict[str, tuple[int, ...]]:
    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(low, high, spatial))

    return {
        "window_sizes": some(1, 4),
        "strides": some(1, 4),
        "dilations": some(1, 3),
        "start_padding": some(0, 3),
        "end_padding": some(0, 3),
    }


@pytest.mark.gpu
@few
def test_unfold_and_fold(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed + 5)
    spatial = (1, 2, 2, 4)[seed]
    named = windows_of(rng, spatial)
    image = (2, 3, *(int(n) for n in rng.integers(5, 8 if spatial < 4 else 6, spatial)))
    data_type = (T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64)[seed]
    x = random_values(rng, data_type, image)
    wanted = moves.unfold(x, named)
    got = moved(device, rng, dml.UnfoldDesc, x, wanted.shape, **named)
    same_bits(got, wanted)
    columns = rng.integers(0, 50, wanted.shape).astype(x.dtype)
    got = moved(device, rng, dml.FoldDesc, columns, image, **named)
    same_bits(got, moves.fold(columns, image, named))


WINDOWED: dict[str, tuple[Any, ...]] = {
    "side by side": ((2, 2), (2, 2), (1, 1), (0, 0), (0, 0)),
    "every place": ((3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    "every second": ((3, 3), (2, 2), (1, 1), (1, 1), (0, 1)),
    "between others": ((2, 3), (3, 2), (2, 3), (0, 2), (1, 0)),
    "a stride that a dilation divides": ((4, 2), (4, 6), (2, 4), (0, 1), (0, 0)),
    "many": ((5, 4), (1, 1), (1, 1), (2, 0), (2, 0)),
    "far apart": ((2,), (70000,), (3,), (0,), (0,)),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT32, T.INT64])
def test_windows_of_packed_images(device: dml.Device, data_type: T, name: str) -> None:
    rng = rng_of(7)
    keys = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")
    named = dict(zip(keys, WINDOWED[name], strict=True))
    image = (2, 3, 12, 24) if len(named["strides"]) == 2 else (1, 1, 140004)
    x = random_values(rng, data_type, image)
    wanted = moves.unfold(x, named)
    same_bits(np.asarray(dml.unfold(device.tensor(x), **named)), wanted)
    columns = rng.integers(0, 50, wanted.shape).astype(x.dtype)
    got = dml.fold(device.tensor(columns), **named, output_sizes=image)
    same_bits(np.asarray(got), moves.fold(columns, image, named))


@pytest.mark.gpu
@pytest.mark.parametrize(("window", "end"), [(2, 0), (2, 1), (3, 0)])
def test_what_one_window_holds_keeps_its_bits(device: dml.Device, window: int, end: int) -> None:
    """By a move or by sums, of which negative zeros are one."""
    columns = device.tensor(np.full((1, window, 3), -0.0, np.float32))
    named = {"dilations": (1,), "start_padding": (0,), "end_padding": (end,)}
    sizes = (1, 1, 4 + window - end)
    got = dml.fold(columns, (window,), (2,), **named, output_sizes=sizes)
    assert np.signbit(np.asarray(got)).all()


@pytest.mark.parametrize(
    ("name", "unfold", "fold"),
    [
        ("side by side", "move/tile", "move/tile"),
        ("every place", "move/framed", "elementwise/elements"),
        ("every second", "move/framed", "elementwise/elements"),
    ],
)
def test_windows_are_moved_where_nothing_is_added(name: str, unfold: str, fold: str) -> None:
    keys = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")
    named = dict(zip(keys, WINDOWED[name], strict=True))
    image = TensorDesc(T.FLOAT32, (2, 3, 64, 64))
    x = np.zeros(image.sizes, np.float32)
    columns = TensorDesc(T.FLOAT32, moves.unfold(x, named).shape)
    there: Any = dml.UnfoldDesc(input_tensor=image, output_tensor=columns, **named)
    back: Any = dml.FoldDesc(input_tensor=columns, output_tensor=image, **named)
    assert [one(d, ADAPTERS["discrete"]).shader for d in (there, back)] == [unfold, fold]


@pytest.mark.gpu
def test_unfold_with_steps_left_out(device: dml.Device) -> None:
    x = np.arange(9).reshape(1, 1, 3, 3)
    made = dml.infer(dml.UnfoldDesc, input_tensor=device.tensor(x).desc, window_sizes=(2, 2))
    assert made.output_tensor.sizes == (1, 4, 4)
    got = device.compile(made)(device.tensor(x))
    assert got.tolist() == [[[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]]


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [(1, 1), (2, 3), (3, 1), (1, 4)])
@pytest.mark.parametrize("data_type", [T.FLOAT32, T.FLOAT16])
def test_upsample_2d(device: dml.Device, scale: tuple[int, int], data_type: T) -> None:
    rng = rng_of(scale[0])
    width, height = scale
    x = rng.normal(size=(2, 3, 4, 5)).astype(data_type.numpy)
    nearest = moves.upsample(x, width, height, linear=False)
    modes = dml.InterpolationMode
    named = {"scale_size": dml.Size2D(width, height), "interpolation_mode": modes.NEAREST_NEIGHBOR}
    got = moved(device, rng, dml.Upsample2dDesc, x, nearest.shape, **named)
    same_bits(got, nearest)
    named["interpolation_mode"] = modes.LINEAR
    wanted = moves.upsample(x.astype(np.float32), width, height, linear=True)
    got = moved(device, rng, dml.Upsample2dDesc, x, nearest.shape, **named)
    tolerance = 1e-6 if data_type is T.FLOAT32 else 2e-3
    np.testing.assert_allclose(got.astype(np.float32), wanted, tolerance, tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("columns", "padding", "wanted"),
    [
        ((1, 9, 4), 0, [[0, 5, 13, 9], [14, 38, 54, 32], [38, 86, 102, 56], [26, 57, 65, 35]]),
        (
            (1, 9, 8),
            1,
            [[26, 70, 102, 60], [78, 183, 231, 129], [84, 195, 243, 135], [82, 182, 214, 116]],
        ),
        (
            (1, 18, 8),
            1,
            [
                [170, 358, 390, 204],
                [294, 615, 663, 345],
                [300, 627, 675, 351],
                [226, 470, 502, 260],
            ],
        ),
    ],
)
def test_fold_as_documented(
    device: dml.Device, columns: tuple[int, ...], padding: int, wanted: list[list[int]]
) -> None:
    x = np.arange(np.prod(columns), dtype=np.float32).reshape(columns)
    ones, rows = (1, 1), (padding, 0)
    sizes = (1, columns[1] // 9, 4, 4)
    got = dml.fold(device.tensor(x), (3, 3), ones, ones, rows, rows, output_sizes=sizes)
    assert got.tolist()[0][-1] == wanted


@pytest.mark.gpu
def test_slice_grad_as_documented(device: dml.Device) -> None:
    x = device.tensor(np.array([[1, 3], [9, 11]], np.int32))
    got = dml.slice_grad(x, (0, 0), (4, 4), (2, 2), output_sizes=(4, 4))
    assert got.tolist() == [[1, 0, 3, 0], [0, 0, 0, 0], [9, 0, 11, 0], [0, 0, 0, 0]]


@pytest.mark.gpu
def test_a_sequence_may_descend_in_an_unsigned_type(device: dml.Device) -> None:
    named = {"value_data_type": T.UINT8, "value_start": 10, "value_delta": -2}
    assert dml.fill_value_sequence(**named, output_sizes=(7,)).tolist() == [10, 8, 6, 4, 2, 0, 254]


@pytest.mark.gpu
def test_tensors_larger_than_a_binding(device: dml.Device) -> None:
    rng = rng_of(0)
    with small_bindings(device, 4096) as small:
        for data_type in (T.UINT8, T.FLOAT32):
            pieces = [random_values(rng, data_type, (n, 37)) for n in (30, 111, 64)]
            tensors = [small.tensor(p) for p in pieces]
            whole = dml.join(tensors, 0)
            assert whole.desc.total_tensor_size_in_bytes > 4096
            same_bits(np.asarray(whole), np.concatenate(pieces))
            cut = dml.split(whole, [111, 30, 64], 0)
            same_bits(np.concatenate([np.asarray(c) for c in cut]), np.concatenate(pieces))
            turned = [t.transpose(1, 0) for t in tensors]
            same_bits(np.asarray(dml.join(turned, 1)), np.concatenate([p.T for p in pieces], 1))
        x = random_values(rng, T.UINT16, (50, 50))
        padded = dml.padding(small.tensor(x), dml.PaddingMode.WRAP, 0, (3, 1), (2, 7))
        same_bits(np.asarray(padded), np.pad(x, ((3, 2), (1, 7)), "wrap"))
        filled = dml.fill_value_constant(T.UINT8, 7, output_sizes=(70, 100))
        assert np.all(np.asarray(filled) == 7)
        same_bits(np.asarray(dml.tile(small.tensor(x), (1, 2))), np.tile(x, (1, 2)))


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.INT32])
def test_elements_that_are_repeated_are_joined(device: dml.Device, data_type: T) -> None:
    """Wherever in 16 bytes the first of them goes, and however far apart the others do."""
    rng = rng_of(11)
    for sizes, axis in (((13, 8, 4, 1), 3), ((6, 3, 13, 2), 0), ((5, 7, 3, 2), 1)):
        once = random_values(rng, data_type, (1, sizes[1], 1, sizes[3]))
        pieces = [random_values(rng, data_type, sizes), np.broadcast_to(once, sizes)] * 2
        tensors = [
            TensorDesc(data_type, sizes, None if n % 2 == 0 else (0, sizes[3], 0, 1))
            for n in range(4)
        ]
        wanted = np.concatenate(pieces, axis)
        output = layout(rng, data_type, wanted.shape)
        desc = dml.JoinDesc(input_tensors=tensors, output_tensor=output, axis=axis)
        with as_gpu(device) as gpu:
            same_bits(run(gpu, desc, [pieces], rng)[0], wanted)
