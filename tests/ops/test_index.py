"""GATHER, SCATTER_ELEMENTS and their family against NumPy loops, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import moves
from support.layouts import as_gpu, layout, random_values, run, same_bits, small_bindings
from support.plans import ADAPTERS, one, plan, retune

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu.ops.scatter import work_scatter
from dmlgpu.plan import elementwise, move
from dmlgpu.plan import gather as gathers
from dmlgpu.plan.move import packed

Invalid = dml.InvalidDescError
TYPES = (T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64)
INDEX_TYPES = (T.INT64, T.UINT32, T.INT32, T.UINT64)
Rng = np.random.Generator

seeds = pytest.mark.parametrize("seed", range(8))
few = pytest.mark.parametrize("seed", range(4))


def rng_of(seed: int) -> Rng:
    return np.random.default_rng(seed)


def sizes_of(rng: Rng, rank: int, most: int = 6) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, most + 1, rank))


def indices_of(rng: Rng, data_type: T, sizes: Sequence[int], n: int, *, wild: bool = False) -> Any:
    """Index values for a dimension of `n`, negative ones where the type has them.

    Wild ones may lie outside of it, by one or by as much as the type allows.
    """
    signed = data_type.name.startswith("INT")
    values = rng.integers(-n if signed else 0, n, sizes)
    made = values.astype(data_type.numpy)
    if wild:
        info = np.iinfo(data_type.numpy)
        bad = np.array([n, n + 1, info.max, info.min if signed else n, -n - 1 if signed else n])
        bad = np.array([int(b) & (2**data_type.bits - 1) for b in bad], np.uint64)
        bad = bad.astype(f"u{data_type.bits // 8}").view(data_type.numpy)
        made = np.where(rng.random(tuple(sizes)) < 0.3, rng.choice(bad, sizes), made)
    return made.astype(data_type.numpy)


@pytest.mark.gpu
@pytest.mark.facts
@seeds
def test_gather_takes_slices(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type, index_type = TYPES[seed % 4], INDEX_TYPES[seed // 2]
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    sizes = (*(1,) * 2, *sizes_of(rng, rank))  # room for the dimensions of the indices
    meant = int(rng.integers(0, 4))
    index = indices_of(rng, index_type, sizes_of(rng, meant, 5), sizes[2 + axis], wild=True)
    x = random_values(rng, data_type, sizes[2:])
    whole = max(len(sizes), rank - 1 + meant)
    index = index.reshape((1,) * (whole - meant) + index.shape)
    x = x.reshape((1,) * (whole - rank) + x.shape)
    wanted = moves.gather(x, index, axis + whole - rank, meant)
    desc = dml.GatherDesc(
        input_tensor=layout(rng, data_type, x.shape),
        indices_tensor=layout(rng, index_type, index.shape),
        output_tensor=layout(rng, data_type, wanted.shape),
        axis=axis + whole - rank,
        index_dimensions=meant,
    )
    same_bits(run(device, desc, [x, index], rng)[0], wanted)


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize(
    ("shape", "index_shape", "axis"),
    [((5,), (2, 3, 2), 0), ((1, 5), (2, 3), 1), ((4, 3, 2), (5,), -2), ((1, 1, 4), (1,), 2)],
)
def test_the_function_gather_is_numpys_take(
    device: dml.Device, shape: tuple[int, ...], index_shape: tuple[int, ...], axis: int
) -> None:
    rng = rng_of(1)
    x = random_values(rng, T.INT32, shape)
    index = indices_of(rng, T.INT64, index_shape, shape[axis])
    got = np.asarray(dml.gather(device.tensor(x), index, axis))
    same_bits(got, np.take(x, index, axis))


@pytest.mark.gpu
@pytest.mark.facts
def test_elements_are_picked_backwards(device: dml.Device) -> None:
    rng = rng_of(2)
    x, index = random_values(rng, T.FLOAT16, (5, 7, 33)), rng.integers(-33, 33, 21)
    got = device.tensor(x)[::-1, ::-2, device.tensor(index)]
    same_bits(np.asarray(got), x[::-1, ::-2, index])


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("shape", [(13, 10), (1, 7, 33), (64, 64), (101, 7), (3, 1001)])
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.FLOAT32], ids=lambda t: t.name)
def test_rows_that_share_their_indices(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    data_type: T,
    shape: tuple[int, ...],
) -> None:
    """On a GPU some rows are made at once, the last of which may be beyond the end."""
    retune(monkeypatch, elementwise, MANY=1)
    rng = rng_of(3)
    x, index = random_values(rng, data_type, shape), rng.integers(0, shape[-1], shape[-1] + 1)
    with dml.Device(device.adapter) as made:
        made.context.facts = device.context.facts
        got = dml.gather(made.tensor(x), made.tensor(index), len(shape) - 1)
        same_bits(np.asarray(got), np.take(x, index, -1))


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("shape", [(5, 128), (7, 101), (13, 150), (34, 66)])
def test_lines_that_workgroups_hold(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    data_type: T,
    shape: tuple[int, ...],
) -> None:
    """Rows that end within a group go on with the next line, forwards and backwards."""
    monkeypatch.setattr(gathers, "HELD", 1)
    monkeypatch.setattr(gathers, "HELD_NARROW", 1)
    monkeypatch.setattr(gathers, "MANY", 1)
    monkeypatch.setattr(gathers, "HOLDING", 8)
    retune(monkeypatch, elementwise, MANY=1)
    rng = rng_of(5)
    x, length = random_values(rng, data_type, shape), shape[-1]
    index = indices_of(rng, T.INT64, (length + 3,), length)
    beside = indices_of(rng, T.UINT32, shape, length)
    with dml.Device(device.adapter) as made:
        made.context.facts = device.context.facts
        source, picked = made.tensor(x), made.tensor(index)
        same_bits(np.asarray(dml.gather(source, picked, 1)), np.take(x, index, 1))
        same_bits(np.asarray(source[::-1, picked]), x[::-1, index])
        got = np.asarray(dml.gather_elements(source, made.tensor(beside), 1))
        same_bits(got, np.take_along_axis(x, beside.astype(np.int64), 1))


@pytest.mark.parametrize(
    ("data_type", "sizes", "picks", "held"),
    [
        (T.UINT8, (2048, 2499), 2499, 0),  # caches have it
        (T.UINT8, (2048, 2500), 2500, 4),
        (T.UINT8, (2048, 8192), 8192, 2),  # as many as leave room for caches
        (T.UINT8, (2048, 24572), 24572, 1),
        (T.UINT8, (2048, 24576), 24576, 0),  # does not fit with what may begin within a word
        (T.UINT8, (2048, 8192), 4096, 2),
        (T.UINT8, (2048, 8192), 4095, 0),  # fewer than half of a line
        (T.UINT8, (1023, 8192), 8192, 1),  # workgroups for all
        (T.UINT8, (511, 8192), 8192, 0),
        (T.FLOAT32, (2048, 2047), 2047, 0),
        (T.FLOAT32, (2048, 2048), 2048, 1),
        (T.INT64, (2048, 3072), 3072, 1),
        (T.INT64, (2048, 3073), 3073, 0),
    ],
)
def test_a_gpus_workgroups_hold_lines_that_leave_the_caches(
    data_type: T, sizes: tuple[int, int], picks: int, held: int
) -> None:
    desc = dml.GatherDesc(
        input_tensor=dml.TensorDesc(data_type, sizes),
        indices_tensor=dml.TensorDesc(T.INT64, (1, picks)),
        output_tensor=dml.TensorDesc(data_type, (sizes[0], picks)),
        axis=1,
        index_dimensions=1,
    )
    made = one(desc, ADAPTERS["discrete"])
    repeats = re.findall(r"#repeat (\d): hold_line", made.code)
    assert repeats == ([str(held)] if held else [])
    if held:
        assert held * made.workgroups >= sizes[0] > (held - 1) * made.workgroups


@pytest.mark.parametrize(("picks", "invocations"), [(8191, 512), (8192, 1024), (24572, 1024)])
def test_workgroups_that_hold_a_line_of_few_groups_are_smaller(
    picks: int, invocations: int
) -> None:
    desc = dml.GatherDesc(
        input_tensor=dml.TensorDesc(T.UINT8, (2048, picks)),
        indices_tensor=dml.TensorDesc(T.INT64, (1, picks)),
        output_tensor=dml.TensorDesc(T.UINT8, (2048, picks)),
        axis=1,
        index_dimensions=1,
    )
    assert one(desc, ADAPTERS["discrete"]).constants["WG_SIZE"] == invocations


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 128), 0), ((9, 784), 0), ((3, 4, 144), 1), ((2, 3, 4, 80), 2)]
)
def test_long_rows_are_picked_piece_by_piece(
    device: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
    data_type: T,
    shape: tuple[int, ...],
    axis: int,
) -> None:
    """On a GPU workgroups take rows in turn, the last piece of which may be short."""
    monkeypatch.setattr(packed, "IN_TURN", 1)
    monkeypatch.setattr(packed, "GATHER_WG_SIZE", 8)
    rng = rng_of(6)
    x = random_values(rng, data_type, shape)
    index = indices_of(rng, T.INT64, (shape[axis] + 2,), shape[axis])
    with dml.Device(device.adapter) as made:
        made.context.facts = device.context.facts
        got = dml.gather(made.tensor(x), made.tensor(index), axis)
        same_bits(np.asarray(got), np.take(x, index, axis))


@pytest.mark.parametrize(
    ("rows", "length", "in_turn"),
    [
        (4096, 16384, True),
        (4097, 16384, False),
        (4096, 16368, False),
        (3, 40016, True),
        (3, 40001, False),  # rows that begin within units
    ],
)
def test_a_gpus_workgroups_take_long_rows_in_turn(rows: int, length: int, in_turn: bool) -> None:
    desc = dml.GatherDesc(
        input_tensor=dml.TensorDesc(T.UINT8, (7, length)),
        indices_tensor=dml.TensorDesc(T.INT64, (1, rows)),
        output_tensor=dml.TensorDesc(T.UINT8, (rows, length)),
        axis=0,
        index_dimensions=1,
    )
    made = one(desc, ADAPTERS["discrete"])
    assert ("pieces" in made.params) is in_turn
    if in_turn:
        assert made.workgroups == rows * -(-length // (16 * 2 * 128))


def test_a_gpu_reads_indices_once_for_several_rows_of_narrow_elements() -> None:
    def gathered(data_type: T, *sizes: int) -> int:
        desc = dml.GatherDesc(
            input_tensor=dml.TensorDesc(data_type, sizes),
            indices_tensor=dml.TensorDesc(T.INT64, (1, sizes[1])),
            output_tensor=dml.TensorDesc(data_type, sizes),
            axis=1,
            index_dimensions=1,
        )
        return one(desc, ADAPTERS["discrete"]).code.count("store_out0(")

    assert gathered(T.UINT8, 1 << 12, 1024) == 4
    assert gathered(T.UINT8, 1 << 8, 1024) == 1  # too few to fill a GPU
    assert gathered(T.FLOAT16, 1 << 11, 20000) == 1  # rows that leave the caches
    assert gathered(T.FLOAT32, 1 << 12, 1024) == 1


@pytest.mark.gpu
@pytest.mark.facts
@seeds
def test_gather_elements(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type, index_type = TYPES[seed % 4], INDEX_TYPES[seed // 2]
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    x = random_values(rng, data_type, sizes_of(rng, rank))
    count = int(rng.integers(1, 30))
    sizes = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    n = x.shape[axis]
    index = indices_of(rng, index_type, sizes, n, wild=True)
    wanted = moves.gather_elements(x, index, axis)
    desc = dml.GatherElementsDesc(
        input_tensor=layout(rng, data_type, x.shape),
        indices_tensor=layout(rng, index_type, sizes),
        output_tensor=layout(rng, data_type, sizes),
        axis=axis,
    )
    same_bits(run(device, desc, [x, index], rng)[0], wanted)


@pytest.mark.gpu
@pytest.mark.facts
@seeds
def test_scatter_elements_keeps_the_last_update(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type, index_type = TYPES[seed % 4], INDEX_TYPES[seed // 2]
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(rank))
    x = random_values(rng, data_type, sizes_of(rng, rank))
    sizes = (*x.shape[:axis], int(rng.integers(1, 50)), *x.shape[axis + 1 :])
    n = x.shape[axis]
    index = indices_of(rng, index_type, sizes, n, wild=True)
    updates = random_values(rng, data_type, sizes)
    wanted = moves.scatter_elements(x, index, updates, axis)
    desc = dml.ScatterDesc(
        input_tensor=layout(rng, data_type, x.shape),
        indices_tensor=layout(rng, index_type, sizes),
        updates_tensor=layout(rng, data_type, sizes),
        output_tensor=layout(rng, data_type, x.shape),
        axis=axis,
    )
    same_bits(run(device, desc, [x, index, updates], rng)[0], wanted)


@pytest.mark.gpu
@pytest.mark.facts
def test_many_updates_of_few_places_are_the_same_on_every_run(device: dml.Device) -> None:
    rng = rng_of(0)
    x = device.tensor(np.zeros(3, np.uint8))
    index = rng.integers(0, 3, 20_000)
    updates = rng.integers(0, 256, 20_000).astype(np.uint8)
    last = [int(updates[np.flatnonzero(index == k)[-1]]) for k in range(3)]
    where, what = device.tensor(index), device.tensor(updates)
    for _ in range(5):
        assert dml.scatter_elements(x, where, what, 0).tolist() == last
    assert dml.scatter(x, where, what, 0).tolist() == last
    assert dml.ScatterElementsDesc is dml.ScatterDesc


@pytest.mark.gpu
@pytest.mark.facts
@seeds
def test_scatter_nd_puts_blocks(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type, index_type = TYPES[seed % 4], INDEX_TYPES[seed // 2]
    real = int(rng.integers(1, 5))
    coordinates = int(rng.integers(1, real + 1))
    sizes = sizes_of(rng, real, 4)
    if seed % 2:  # rows of whole units
        sizes = (*sizes[:-1], 32)
    tuples = sizes_of(rng, int(rng.integers(0, 3)), 6)
    x = random_values(rng, data_type, sizes)
    index = np.stack(
        [indices_of(rng, index_type, tuples, n, wild=True) for n in sizes[:coordinates]], -1
    )
    updates = random_values(rng, data_type, (*tuples, *sizes[coordinates:]))
    rank = max(real, index.ndim, updates.ndim, 1)

    def led(array: Any) -> Any:
        return array.reshape((1,) * (rank - array.ndim) + array.shape)

    x, index, updates = led(x), led(index), led(updates)
    desc = dml.ScatterNdDesc(
        input_tensor=layout(rng, data_type, x.shape),
        indices_tensor=layout(rng, index_type, index.shape),
        updates_tensor=layout(rng, data_type, updates.shape),
        output_tensor=layout(rng, data_type, x.shape),
        input_dimension_count=real,
        indices_dimension_count=len(tuples) + 1,
    )
    wanted = moves.scatter_nd(x, index, updates, real, len(tuples) + 1)
    same_bits(run(device, desc, [x, index, updates], rng)[0], wanted)


@pytest.mark.gpu
@pytest.mark.facts
def test_the_function_scatter_nd(device: dml.Device) -> None:
    x = device.tensor(np.zeros((3, 2), np.int32))
    got = dml.scatter_nd(x, [[2], [0], [2]], np.array([[1, 2], [3, 4], [5, 6]], np.int32))
    assert got.tolist() == [[3, 4], [0, 0], [5, 6]]


@pytest.mark.gpu
@pytest.mark.facts
@seeds
def test_one_hot(device: dml.Device, seed: int) -> None:
    rng = rng_of(seed)
    data_type, index_type = TYPES[seed % 4], INDEX_TYPES[seed // 2]
    rank = int(rng.integers(2, 5))
    axis = int(rng.integers(rank))
    sizes = sizes_of(rng, rank)
    lines = (*sizes[:axis], 1, *sizes[axis + 1 :])
    n = sizes[axis]
    index = indices_of(rng, index_type, lines, n, wild=True)
    # The two values lie behind each other in the last dimension of more than one.
    shape = [1] * rank
    shape[int(rng.integers(rank))] = int(rng.integers(2, 4))
    values = random_values(rng, data_type, tuple(shape))
    wanted = moves.one_hot(index, values, axis, n)
    desc = dml.OneHotDesc(
        indices_tensor=layout(rng, index_type, lines),
        values_tensor=layout(rng, data_type, shape),
        output_tensor=layout(rng, data_type, sizes),
        axis=axis,
    )
    same_bits(run(device, desc, [index, values], rng)[0], wanted)


def test_one_hot_is_written_in_units_however_wide_its_indices_are() -> None:
    """They are read once for a line, and do not make groups small."""
    lines = dml.TensorDesc(T.INT64, (64, 1)), dml.TensorDesc(T.UINT8, (64, 128))
    desc = dml.OneHotDesc(
        indices_tensor=lines[0],
        values_tensor=dml.TensorDesc(T.UINT8, (1, 2)),
        output_tensor=lines[1],
        axis=1,
    )
    dispatch = one(desc, ADAPTERS["discrete"])
    assert "write out0: vec4<u32>" in dispatch.code
    assert dispatch.params["count"] == 64 * 128 // 16


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize(
    ("index", "values", "axis", "wanted"),
    [
        ([[0], [3], [2]], [[0, 1]], 1, [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
        ([[0, 2, 1, 0]], [[0, 1]], 0, [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]),
        ([[0], [3], [2]], [[4], [2], [9]], 1, [[2, 4, 4, 4], [4, 4, 4, 2], [4, 4, 2, 4]]),
        ([[-3], [100], [3]], [[0, 1]], 1, [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]),
    ],
)
def test_one_hot_as_documented(
    device: dml.Device, index: Any, values: Any, axis: int, wanted: Any
) -> None:
    made = np.array(values, np.float32)
    got = dml.one_hot(device.tensor(np.int32(index)), made, axis, output_sizes=(3, 4))
    assert got.tolist() == wanted


@pytest.mark.gpu
@pytest.mark.facts
def test_nonzero_coordinates_as_documented(device: dml.Device) -> None:
    x = np.array([[1.0, 0.0, 0.0, 2.0], [-0.0, 3.5, 0.0, -5.2]], np.float32)
    desc = dml.NonzeroCoordinatesDesc(
        input_tensor=f32(1, 1, 2, 4),
        output_count_tensor=u32(1, 1, 1, 1),
        output_coordinates_tensor=u32(1, 1, 8, 3),
    )
    dml.validate(desc, dml.FeatureLevel.FL_3_0)
    count, rows = device.compile(desc)(device.tensor(x))
    assert np.asarray(count).item() == 4
    assert rows.tolist()[0][0][:4] == [[0, 0, 0], [0, 0, 3], [0, 1, 1], [0, 1, 3]]


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize(
    ("data_type", "sizes"),
    [
        (T.UINT8, (1,)),
        (T.UINT8, (3, 5)),
        (T.INT16, (1, 2, 700, 3)),
        (T.FLOAT16, (2, 1, 9)),
        (T.FLOAT32, (1, 2, 700, 3)),
        (T.INT32, (2, 3, 4)),
    ],
)
def test_nonzero_coordinates(device: dml.Device, data_type: T, sizes: tuple[int, ...]) -> None:
    rng = rng_of(len(sizes))
    x = random_values(rng, data_type, sizes).copy()
    x[rng.integers(0, 2, sizes) == 0] = 0
    if data_type.name.startswith("FLOAT") and x.size > 2:
        x.reshape(-1)[:3] = -0.0, np.nan, np.inf
    found = np.argwhere(x != 0)
    least = len(sizes) - (sizes[0] == 1 and len(sizes) > 1)
    for columns in {len(sizes), least}:
        desc = dml.NonzeroCoordinatesDesc(
            input_tensor=layout(rng, data_type, sizes),
            output_count_tensor=dml.TensorDesc(T.UINT32, (1, 1)),
            output_coordinates_tensor=layout(rng, T.UINT32, (1, x.size, columns)),
        )
        rows = device.upload(
            dml.TensorDesc(T.UINT32, (1, x.size, columns)),
            np.full(x.size * columns, 77, np.uint32).tobytes(),
        )
        count, got = run(device, desc, [x], rng)
        assert count.tolist() == [[len(found)]]
        same_bits(got[0, : len(found)], found[:, len(sizes) - columns :].astype(np.uint32))
        packed = dml.infer(dml.NonzeroCoordinatesDesc, input_tensor=device.tensor(x).desc)
        if columns == len(sizes):
            device.compile(packed)(device.tensor(x), out=(None, rows.reshape(x.size, columns)))
            assert np.all(np.asarray(rows)[0, len(found) :] == 77)


@pytest.mark.gpu
@pytest.mark.facts
def test_nothing_and_everything_may_be_nonzero(device: dml.Device) -> None:
    for value in (0, 1):
        x = device.tensor(np.full((5, 1000), value, np.uint8))
        count, rows = dml.nonzero_coordinates(x)
        assert count.tolist() == [5000 * value]
        if value:
            same_bits(np.asarray(rows), np.argwhere(np.ones((5, 1000))).astype(np.uint32))


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("share", [0.5, 0.01])
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64])
def test_masks_pick_across_words_and_blocks(device: dml.Device, data_type: T, share: float) -> None:
    rng = rng_of(1)
    for count in (1, 31, 33, 2047, 2049, 20_001):
        x = random_values(rng, data_type, (count,))
        mask = rng.random(count) < share
        mask[-1] = True
        tensor, here = device.tensor(x), device.tensor(mask)
        same_bits(np.asarray(tensor[here]), x[mask])
        same_bits(np.asarray(here.nonzero()[0]), np.flatnonzero(mask))
    x, mask = x[:20_000].reshape(50, 400), mask[:20_000].reshape(400, 50)
    tensor, here = device.tensor(x).T, device.tensor(mask.T.copy()).T
    same_bits(np.asarray(tensor[here]), x.T[mask])
    for found, wanted in zip(here.nonzero(), np.nonzero(mask), strict=True):
        same_bits(np.asarray(found), wanted)


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT32, T.INT64])
@pytest.mark.parametrize(
    ("sizes", "axis", "updates"),
    [((300, 33), 1, 70), ((3, 4096), 1, 5000), ((40, 3, 64), 0, 30), ((2, 9001), 1, 9001)],
)
def test_scatters_along_lines_of_any_length(
    device: dml.Device, data_type: T, sizes: tuple[int, ...], axis: int, updates: int
) -> None:
    rng = rng_of(2)
    x = random_values(rng, data_type, sizes)
    made = (*sizes[:axis], updates, *sizes[axis + 1 :])
    index = indices_of(rng, T.INT32, made, sizes[axis], wild=True)
    values = random_values(rng, data_type, made)
    given = [device.tensor(a) for a in (x, index, values)]
    got = dml.scatter_elements(*given, axis)
    same_bits(np.asarray(got), moves.scatter_elements(x, index, values, axis))


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.large
@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("row", [1, 5, 32, 1001])
def test_scattered_rows_of_any_length(device: dml.Device, data_type: T, row: int) -> None:
    rng = rng_of(3)
    x, updates = (random_values(rng, data_type, (n, row)) for n in (40, 100))
    index = rng.integers(-20, 20, (100, 1))
    given = [device.tensor(a) for a in (x, index, updates)]
    wanted = x.copy()
    for at, values in zip(index[:, 0], updates, strict=True):
        wanted[at] = values
    same_bits(np.asarray(dml.scatter_nd(*given)), wanted)


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("row", [2, 3, 6, 33, 70])
def test_rows_are_assigned_wherever_they_begin(device: dml.Device, data_type: T, row: int) -> None:
    """What lies beside a row in its words stays, and so does what no index names."""
    rng = rng_of(row)
    x = random_values(rng, data_type, (9, 3, row + 5))
    for begin in range(4):
        tensor, wanted = device.tensor(x), x.copy()
        index = rng.integers(-9, 9, 12)
        values = random_values(rng, data_type, (12, 3, row + 1))
        given = device.tensor(values)
        tensor[device.tensor(index), 1:, begin : begin + row] = given[:, :2, 1:]
        wanted[index, 1:, begin : begin + row] = values[:, :2, 1:]
        same_bits(np.asarray(tensor), wanted)


def test_rows_of_narrow_elements_are_put_by_words() -> None:
    """Each word once, by neighbours on a GPU; an invocation of a CPU puts several."""
    desc = dml.ScatterNdDesc(
        input_tensor=dml.TensorDesc(T.UINT8, (40, 1001)),
        indices_tensor=i32(10, 1),
        updates_tensor=dml.TensorDesc(T.UINT8, (10, 1001)),
        output_tensor=dml.TensorDesc(T.UINT8, (40, 1001)),
        input_dimension_count=2,
        indices_dimension_count=2,
    )
    for adapter, invocations in (("discrete", 251), ("software", 32)):
        put = plan(desc, ADAPTERS[adapter]).dispatches[-1]
        assert (put.shader, put.slots) == ("scatter/write", {"put": "put_words"})
        assert put.params["count"] == 10 * invocations


@pytest.mark.parametrize(
    ("sizes", "axis", "updates", "shaders"),
    [
        ((64, 1024), 1, 1024, ["lines"]),
        ((1024, 64), 0, 1024, ["lines"]),  # in sectors across lines
        ((4, 20_000), 1, 20_000, ["clear", "claim", "merge"]),  # no room in workgroup memory
        ((4, 20_000), 1, 10, ["packed", "claim", "claim", "write"]),  # the table would cost more
        ((20_000, 4), 0, 20_000, ["clear", "claim", "merge"]),
        ((3,), 0, 1_000_000, ["clear", "claim", "merge"]),  # one workgroup would walk for long
        ((128, 3), 1, 300_000, ["lines"]),
    ],
)
def test_how_elements_are_scattered(
    sizes: tuple[int, ...], axis: int, updates: int, shaders: list[str]
) -> None:
    assert scattered_by(T.FLOAT32, sizes, axis, updates) == shaders


def test_few_elements_that_share_words_are_put_into_a_copy() -> None:
    assert scattered_by(T.UINT8, (64, 1024), 1, 256) == ["lines"]
    assert scattered_by(T.UINT8, (64, 1024), 1, 255)[0] == "packed"
    assert scattered_by(T.FLOAT32, (64, 1024), 1, 1) == ["lines"]


def scattered_by(data_type: T, sizes: tuple[int, ...], axis: int, updates: int) -> list[str]:
    """The kernels that scatter so many updates into each line along an axis."""
    made = (*sizes[:axis], updates, *sizes[axis + 1 :])
    desc = dml.ScatterDesc(
        input_tensor=dml.TensorDesc(data_type, sizes),
        indices_tensor=i32(*made),
        updates_tensor=dml.TensorDesc(data_type, made),
        output_tensor=dml.TensorDesc(data_type, sizes),
        axis=axis,
    )
    plan = work_scatter(desc).plan(ADAPTERS["discrete"])
    return [d.shader.rpartition("/")[2] for d in plan.dispatches]


@pytest.mark.gpu
@pytest.mark.facts
def test_index_values_in_arrays_are_checked(device: dml.Device) -> None:
    x = device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    with pytest.raises(dml.IndexRangeError, match=r"GATHER: indices_tensor\[0, 1\] is 3; "):
        dml.gather(x, [0, 3], 1)
    with pytest.raises(dml.IndexRangeError, match="GATHER_ELEMENTS: indices_tensor"):
        dml.gather_elements(x, [[0, 1, -4]] * 2, 1)
    ones = np.ones((2, 3), np.float32)
    with pytest.raises(dml.IndexRangeError, match="SCATTER_ELEMENTS: indices_tensor"):
        dml.scatter_elements(x, [[0, 1, 5]] * 2, ones, 1)
    with pytest.raises(dml.IndexRangeError, match="SCATTER_ND: indices_tensor"):
        dml.scatter_nd(x, [[0, 3]], np.ones(1, np.float32))


@pytest.mark.gpu
@pytest.mark.facts
def test_index_values_on_a_debug_device_are_checked(device: dml.Device) -> None:
    with dml.Device(device.adapter, debug=True) as debug:
        x = debug.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        index = debug.tensor(np.array([[0, 1, 7]] * 2))
        for call in (
            lambda: dml.gather_elements(x, index, 1),
            lambda: dml.scatter_elements(x, index, x, 1),
            lambda: dml.gather(x, index, 1),
        ):
            with pytest.raises(dml.IndexRangeError, match=r"indices_tensor\[.*2\] is 7"):
                call().numpy()


@pytest.mark.gpu
@pytest.mark.facts
def test_tensors_larger_than_a_binding(device: dml.Device) -> None:
    rng = rng_of(0)
    with small_bindings(device, 8192) as small:
        x = random_values(rng, T.UINT8, (30, 400))
        index = rng.integers(0, 30, (10, 400)).astype(np.int32)
        wanted = np.take_along_axis(x, index, 0)
        where = small.tensor(index)
        same_bits(np.asarray(dml.gather_elements(small.tensor(x), where, 0)), wanted)
        turned = index.T.astype(
            np.int64
        )  # cut into parts, in which rows of the source lie anywhere
        got = dml.gather_elements(small.tensor(x.T), small.tensor(turned), 1)
        same_bits(np.asarray(got), wanted.T)
        pairs = np.stack([rng.integers(0, n, 2000) for n in x.shape], 1).astype(np.int32)
        got = dml.gather_nd(small.tensor(x), small.tensor(pairs))
        same_bits(np.asarray(got), x[tuple(pairs.T)])
        zeros = small.tensor(np.zeros_like(x))
        got = np.asarray(dml.scatter_elements(zeros, where, small.tensor(wanted), 0))
        again = np.zeros_like(x)
        np.put_along_axis(again, index, wanted, 0)
        same_bits(got, again)
        rows = rng.permutation(30)[:20].reshape(20, 1)
        got = np.asarray(dml.scatter_nd(zeros, small.tensor(rows), small.tensor(x[:20])))
        again[:] = 0
        again[rows[:, 0]] = x[:20]
        same_bits(got, again)
        along = np.argsort(rng.random((30, 60)), 1)  # of which only the indices need two bindings
        values = random_values(rng, T.FLOAT32, (30, 60))
        got = dml.scatter_elements(*map(small.tensor, (np.zeros_like(values), along, values)), 1)
        again = np.zeros_like(values)
        np.put_along_axis(again, along, values, 1)
        same_bits(np.asarray(got), again)
        mask = rng.random(x.shape) < 0.5
        same_bits(np.asarray(small.tensor(x)[small.tensor(mask)]), x[mask])
        few = x[:, :100]  # whose rows of coordinates fit the bindings of every adapter
        count, found = dml.nonzero_coordinates(small.tensor(few))
        listed = np.argwhere(few).astype(np.uint32)
        assert count.tolist() == [len(listed)]
        same_bits(np.asarray(found)[: len(listed)], listed)


def f32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.FLOAT32, sizes)


def i32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.INT32, sizes)


def u32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.UINT32, sizes)


def gather(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(1, 3, 4),
        "indices_tensor": i32(1, 2, 5),
        "output_tensor": f32(2, 5, 4),
        "axis": 1,
        "index_dimensions": 2,
    }
    return dml.GatherDesc(**{**fields, **change})


def scatter(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(3, 4),
        "indices_tensor": i32(3, 2),
        "updates_tensor": f32(3, 2),
        "output_tensor": f32(3, 4),
        "axis": 1,
    }
    return dml.ScatterDesc(**{**fields, **change})


def scatter_nd(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(3, 4),
        "indices_tensor": i32(5, 1),
        "updates_tensor": f32(5, 4),
        "output_tensor": f32(3, 4),
        "input_dimension_count": 2,
        "indices_dimension_count": 2,
    }
    return dml.ScatterNdDesc(**{**fields, **change})


def nonzero(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(1, 3, 4),
        "output_count_tensor": u32(1),
        "output_coordinates_tensor": u32(12, 2),
    }
    return dml.NonzeroCoordinatesDesc(**{**fields, **change})


def one_hot(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "indices_tensor": i32(3, 1),
        "values_tensor": f32(1, 2),
        "output_tensor": f32(3, 4),
        "axis": 1,
    }
    return dml.OneHotDesc(**{**fields, **change})


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: gather(axis=3),
        r"GATHER: axis is 3; with tensors of 3 dimensions it must be in \[0, 3\)",
    ),
    (lambda: gather(index_dimensions=4), "GATHER: index_dimensions is 4"),
    (lambda: gather(index_dimensions=1), "GATHER: indices_tensor has size 2 in dimension 1"),
    (lambda: gather(input_tensor=f32(2, 3, 4)), r"would need sizes \(2, 2, 5, 4\), 4 dimensions"),
    (lambda: gather(output_tensor=f32(5, 2, 4)), r"the other fields give \(2, 5, 4\)"),
    (lambda: scatter(axis=2), "SCATTER_ELEMENTS: axis is 2"),
    (lambda: scatter(indices_tensor=i32(2, 2)), "SCATTER_ELEMENTS: indices_tensor has sizes"),
    (lambda: scatter(updates_tensor=f32(3, 4)), "SCATTER_ELEMENTS: updates_tensor has sizes"),
    (lambda: scatter(output_tensor=f32(3, 2)), "SCATTER_ELEMENTS: output_tensor has sizes"),
    (lambda: scatter_nd(input_dimension_count=0), "SCATTER_ND: input_dimension_count is 0"),
    (lambda: scatter_nd(indices_dimension_count=1), "SCATTER_ND: indices_tensor has size 5"),
    (lambda: scatter_nd(indices_tensor=i32(5, 3)), "has 3 coordinates per tuple"),
    (lambda: scatter_nd(updates_tensor=f32(4, 5)), "SCATTER_ND: updates_tensor has sizes"),
    (lambda: nonzero(output_count_tensor=u32(2)), "output_count_tensor has sizes"),
    (lambda: nonzero(output_coordinates_tensor=u32(11, 2)), "input_tensor has 12 elements"),
    (lambda: nonzero(output_coordinates_tensor=u32(12, 1)), "has 1 coordinates per row"),
    (lambda: nonzero(output_coordinates_tensor=u32(12, 4)), "has 4 coordinates per row"),
    (lambda: one_hot(indices_tensor=i32(3, 4)), "ONE_HOT: indices_tensor has sizes"),
    (lambda: one_hot(values_tensor=f32(1, 1)), "ONE_HOT: values_tensor has sizes"),
    (
        lambda: dml.GatherElementsDesc(
            input_tensor=f32(3, 4), indices_tensor=i32(2, 9), output_tensor=f32(2, 9), axis=1
        ),
        r"GATHER_ELEMENTS: indices_tensor has sizes \(2, 9\); the other fields give \(3, 9\)",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=[words[:50] for _, words in REFUSED])
def test_refusals(make: Callable[[], Any], words: str) -> None:
    from dmlgpu.ops import operator_of

    desc = make()
    with pytest.raises(Invalid, match=words):
        operator_of(desc).validate(desc, dml.FeatureLevel.FL_6_4)


def test_what_the_refusals_start_from_is_allowed() -> None:
    for desc in (gather(), scatter(), scatter_nd(), nonzero(), one_hot()):
        dml.validate(desc)


@pytest.mark.gpu
def test_pixels_are_picked_from_more_than_caches_hold(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word by word, so that a pixel is read from one sector."""
    retune(monkeypatch, move, READ_AGAIN=1)
    rng = np.random.default_rng(8)
    x = rng.integers(0, 256, (5000, 3)).astype(np.uint8)
    index = rng.integers(-5000, 5000, 7001)
    with as_gpu(device) as gpu:
        taken = gpu.tensor(x)[gpu.tensor(index)]
        same_bits(taken.numpy(), x[index])


@pytest.mark.gpu
def test_a_debug_device_with_a_gpus_facts_reports_an_index(device: dml.Device) -> None:
    with dml.Device(device.adapter, debug=True) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False)
        x, index = made.tensor(np.arange(9, dtype=np.float32)), made.tensor(np.array([3, 9]))
        with pytest.raises(dml.IndexRangeError, match="9"):
            dml.gather(x, index, 0).numpy()
