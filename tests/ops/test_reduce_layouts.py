"""REDUCE, ARGMIN and ARGMAX of any layout, by the kernels of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.layouts import as_gpu, run
from support.plans import ADAPTERS

import dmlgpu as dml
import dmlgpu.numpy as xp
from dmlgpu import DataType as T
from dmlgpu import ReduceFunction as F
from dmlgpu.compiled import CompiledOperator
from dmlgpu.ops import operator_of
from dmlgpu.plan.dispatch import LOOKS, Adapter
from dmlgpu.plan.reduce import accumulators, division
from dmlgpu.plan.reduce import planner as reduce
from dmlgpu.runtime import forward_progress

GPU = Adapter(
    subgroup_min=32,
    subgroup_max=32,
    forward_progress=True,
    max_workgroup_storage=49152,
    max_binding=1 << 31,
)
INTEGERS = (T.INT32, T.UINT32, T.INT64, T.UINT64)
NARROW = (T.INT8, T.UINT8, T.INT16, T.UINT16)
FLOATS = (T.FLOAT32, T.FLOAT16)


@pytest.fixture(scope="module")
def gpu(device: dml.Device) -> Iterator[dml.Device]:
    if "SwiftShader" in device.adapter.name:
        pytest.skip("SwiftShader takes all memory to compile these kernels, and uses none of them")
    with as_gpu(device) as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_progress, "holds", lambda gpu: True)
        made.context.facts = replace(made.context.facts, forward_progress=True)
        yield made


def tensor(data_type: T, sizes: tuple[int, ...], order: tuple[int, ...], gap: int = 0) -> Any:
    """Dimensions that lie in memory in that order, the last of them with a gap behind its rows."""
    strides, step = [0] * len(sizes), 1
    for n, d in enumerate(reversed(order)):
        strides[d] = step
        step = step * sizes[d] + (gap if n == 0 else 0)
    return dml.TensorDesc(data_type, sizes, strides)


def place_of(source: Any, output: Any, axes: tuple[int, ...], largest: bool, last: bool) -> Any:
    """ARGMAX or ARGMIN, of the first or the last place."""
    return (dml.ArgmaxDesc if largest else dml.ArgminDesc)(
        input_tensor=source,
        output_tensor=output,
        axes=axes,
        axis_direction=dml.AxisDirection(int(last)),
    )


def reduction(source: Any, output: Any, axes: tuple[int, ...], function: F) -> dml.ReduceDesc:
    return dml.ReduceDesc(function=function, input_tensor=source, output_tensor=output, axes=axes)


def values(rng: np.random.Generator, data_type: T, sizes: tuple[int, ...]) -> oracle.Array:
    """Numbers of which many are equal, so that the first and the last place differ."""
    low = 0 if data_type.numpy.kind == "u" else -9
    return rng.integers(low, 10, sizes).astype(data_type.numpy)


def place(x: oracle.Array, axes: tuple[int, ...], largest: bool, last: bool) -> oracle.Array:
    kept = [d for d in range(x.ndim) if d not in axes]
    lines = x.transpose(*kept, *axes).reshape([x.shape[d] for d in kept] + [-1])
    pick = np.argmax if largest else np.argmin
    found = lines.shape[-1] - 1 - pick(lines[..., ::-1], -1) if last else pick(lines, -1)
    return np.asarray(found).reshape([1 if d in axes else n for d, n in enumerate(x.shape)])


def check(
    device: dml.Device,
    rng: np.random.Generator,
    source: Any,
    output_order: tuple[int, ...],
    axes: tuple[int, ...],
) -> None:
    """A sum where the type has one, an extreme, and a place, each into an output of that order."""
    data_type, sizes = source.data_type, source.sizes
    made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    x = values(rng, data_type, sizes)
    output = tensor(data_type, made, output_order)
    if data_type in (*INTEGERS, *FLOATS):
        if data_type is T.FLOAT32:
            x = rng.normal(size=sizes).astype(np.float32)
        (got,) = run(device, reduction(source, output, axes, F.SUM), [x], rng)
        wide = np.float64 if data_type in FLOATS else x.dtype
        wanted = x.astype(wide).sum(axes, keepdims=True, dtype=wide)
        if data_type in FLOATS:
            most = np.abs(x).astype(np.float64).sum(axes, keepdims=True)
            eps = np.finfo(x.dtype).eps
            bound = eps * np.abs(wanted) + 16 * np.finfo(np.float32).eps * most
            assert (np.abs(got.astype(np.float64) - wanted) <= bound).all()
        else:
            np.testing.assert_array_equal(got, wanted)
    function = (F.MAX, F.MIN)[int(rng.integers(2))]
    (got,) = run(device, reduction(source, output, axes, function), [x], rng)
    extreme = x.max if function is F.MAX else x.min
    np.testing.assert_array_equal(got, extreme(axes, keepdims=True))
    largest, last = bool(rng.integers(2)), bool(rng.integers(2))
    kind = (T.UINT32, T.INT64)[int(rng.integers(2))]
    arg = place_of(source, tensor(kind, made, output_order), axes, largest, last)
    (got,) = run(device, arg, [x], rng)
    np.testing.assert_array_equal(got, place(x, axes, largest, last))


CASES = [
    # sizes, order in memory, axes: one line of all, permuted
    ((7, 33, 5), (2, 0, 1), (0, 1, 2)),
    ((16, 33, 8), (1, 2, 0), (0, 1, 2)),
    # rows: whole units, and not
    ((5, 640), (0, 1), (1,)),
    ((5, 643), (0, 1), (1,)),
    ((3, 611, 5), (2, 0, 1), (1,)),
    ((4, 3, 517), (0, 1, 2), (0, 2)),
    # columns: whole units, words, and neither; a few, and many
    ((70, 64), (0, 1), (0,)),
    ((70, 68), (0, 1), (0,)),
    ((70, 67), (0, 1), (0,)),
    ((3000, 3), (0, 1), (0,)),
    ((2000, 2), (0, 1), (0,)),
    ((900, 20), (0, 1), (0,)),
    ((3, 4000), (0, 1), (0,)),
    ((3, 3, 333), (0, 1, 2), (1,)),
    ((11, 9, 132, 11), (0, 1, 2, 3), (2,)),
    # few columns of many steps, by whole units and not
    ((700, 2), (0, 1), (0,)),
    ((5, 803, 3), (0, 1, 2), (1,)),
    ((4, 512, 4), (0, 1, 2), (0, 1)),
    ((3, 600, 2, 2), (0, 2, 1, 3), (1,)),
    # rows that begin anywhere in units: each of its own, in several windows, and some as one
    ((350, 1377), (0, 1), (0,)),
    ((2, 300, 459), (0, 1, 2), (1,)),
    ((4, 130, 3, 131), (0, 1, 2, 3), (1, 2)),
    ((3, 2900, 13), (0, 1, 2), (1,)),
    ((9001, 19), (0, 1), (0,)),
    ((40000, 5), (0, 1), (0,)),
    # short pieces side by side
    ((3000, 2), (0, 1), (1,)),
    ((1001, 4), (0, 1), (1,)),
    ((700, 2, 4), (0, 1, 2), (1,)),
    ((3000, 3), (0, 1), (1,)),
    ((900, 16), (0, 1), (1,)),
    ((200, 37), (0, 1), (1,)),
    ((30, 199), (0, 1), (1,)),
    ((500, 5, 3), (0, 1, 2), (1,)),
    ((90, 13, 3), (2, 0, 1), (0, 1)),
    ((83, 13, 3), (0, 1, 2), (0, 2)),
    ((46, 60, 10), (2, 1, 0), (0, 2)),
    ((10, 31, 24), (0, 1, 2), (0, 2)),
    # nothing to combine
    ((9, 1, 400), (2, 0, 1), (1,)),
    ((1, 1, 1), (0, 1, 2), (0, 2)),
]


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.FLOAT16, T.UINT8, T.INT8, T.FLOAT32, T.INT64])
@pytest.mark.parametrize(("shape", "axis"), [((2000,), 0), ((40, 64), 0), ((3, 40, 64), 1)])
def test_places_by_the_adapters_own_kernels(
    device: dml.Device, data_type: T, shape: tuple[int, ...], axis: int
) -> None:
    """Words of several elements, whose kernels must be short enough for every compiler."""
    x = values(np.random.default_rng(axis), data_type, shape)
    np.testing.assert_array_equal(device.tensor(x).argmax(axis).numpy(), x.argmax(axis))


WIDTHS = [T.UINT8, T.FLOAT16, T.FLOAT32, T.INT64]


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", WIDTHS, ids=lambda t: t.name)
def test_layouts(gpu: dml.Device, data_type: T) -> None:
    """One type of each width, each on a quarter of the layouts; random ones are of every type."""
    rng = np.random.default_rng(int(data_type))
    for sizes, order, axes in CASES[WIDTHS.index(data_type) :: len(WIDTHS)]:
        outputs = tuple(int(d) for d in rng.permutation(len(sizes)))
        check(gpu, rng, tensor(data_type, sizes, order), outputs, axes)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(6))
def test_random_layouts(gpu: dml.Device, seed: int) -> None:
    """Any order, gaps and broadcasts, of any type."""
    rng = np.random.default_rng([7, seed])
    types = [*INTEGERS, *NARROW, *FLOATS]
    for _ in range(12):
        rank = int(rng.integers(1, 5))
        sizes = tuple(int(n) for n in rng.integers(1, 40 if rank < 4 else 13, rank))
        order = tuple(int(d) for d in rng.permutation(rank))
        outputs = tuple(int(d) for d in rng.permutation(rank))
        axes = tuple(sorted(int(a) for a in rng.permutation(rank)[: rng.integers(1, rank + 1)]))
        data_type = types[int(rng.integers(len(types)))]
        source = tensor(data_type, sizes, order, gap=int(rng.integers(0, 3)))
        check(gpu, rng, source, outputs, axes)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.FLOAT32, T.UINT8], ids=lambda t: t.name)
def test_broadcasts(gpu: dml.Device, data_type: T) -> None:
    rng = np.random.default_rng(3)
    for strides, axes in (((0, 1, 40), (0, 2)), ((1, 0, 30), (1,)), ((0, 0, 1), (2,))):
        source = dml.TensorDesc(data_type, (30, 40, 50), strides)
        x = values(rng, data_type, (30, 40, 50))
        x = np.broadcast_to(x[tuple(slice(0, 1 if s == 0 else None) for s in strides)], x.shape)
        made = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        desc = reduction(source, dml.TensorDesc(data_type, made), axes, F.MAX)
        (got,) = run(gpu, desc, [np.ascontiguousarray(x)], rng)
        np.testing.assert_array_equal(got, x.max(axes, keepdims=True))


@pytest.mark.gpu
@pytest.mark.parametrize("last", [False, True])
def test_places_in_several_segments_are_those_of_indices(device: dml.Device, last: bool) -> None:
    """The first by its indices is in the last segment of memory, and the other way round.

    By the adapter's own kernels: on a CPU one invocation joins all segments.
    """
    source = tensor(T.FLOAT32, (700, 900), (1, 0))
    x = np.zeros((700, 900), np.float32)
    x[0, 899] = x[5, 0] = 1
    desc = dml.ArgmaxDesc(
        input_tensor=source,
        output_tensor=dml.TensorDesc(T.UINT32, (1, 1)),
        axes=(0, 1),
        axis_direction=dml.AxisDirection(int(last)),
    )
    (got,) = run(device, desc, [x], np.random.default_rng(1))
    assert got.item() == (5 * 900 if last else 899)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1000, 4001, 70_000])
def test_places_behind_whole_segments_come_last(device: dml.Device, size: int) -> None:
    """What is behind all segments is shared among them: so a first one holds later places too."""
    x = np.zeros((1, size), np.float32)
    x[0, [size // 2, size - 9, size - 2]] = 1
    for last, wanted in enumerate((size // 2, size - 2)):
        desc = dml.ArgmaxDesc(
            input_tensor=dml.TensorDesc(T.FLOAT32, x.shape),
            output_tensor=dml.TensorDesc(T.UINT32, (1, 1)),
            axes=(1,),
            axis_direction=dml.AxisDirection(last),
        )
        (got,) = run(device, desc, [x], np.random.default_rng(1))
        assert got.item() == wanted


MET = [
    # sizes and axes of reductions whose lines are cut: one line, a few, and columns
    ((150001,), (0,)),
    ((5, 60001), (1,)),
    ((70000, 3), (0,)),
    ((3, 20000, 5), (1,)),
    ((2000, 20), (0,)),
    ((20000, 2, 7), (0, 2)),
]


@pytest.mark.gpu
def test_workgroups_of_a_line_meet(gpu: dml.Device) -> None:
    """One dispatch, after which the memory they met in is as it was: calls take turns with it."""
    rng = np.random.default_rng(17)
    for kind in (np.float32, np.uint8, np.int64):
        every = 1 if kind is np.float32 else 3
        for turn, (sizes, axes) in list(enumerate([*MET, *reversed(MET)]))[::every]:
            x = rng.integers(0, 9, sizes).astype(kind)
            source = dml.TensorDesc(T[np.dtype(kind).name.upper()], sizes)
            made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
            if turn % 2:
                output = dml.TensorDesc(source.data_type, made)
                desc: Any = reduction(source, output, axes, F.MAX if kind is np.uint8 else F.SUM)
                wanted: Any = (x.max if kind is np.uint8 else x.sum)(axes, keepdims=True)
            else:
                output = dml.TensorDesc(T.UINT32, made)
                desc = dml.ArgmaxDesc(input_tensor=source, output_tensor=output, axes=axes)
                wanted = place(x, axes, largest=True, last=False)
            planned = operator_of(desc).work(desc).plan(GPU)
            assert len(planned.dispatches) == 1
            assert planned.waits
            for _ in range(2):
                (got,) = run(gpu, desc, [x], rng)
                np.testing.assert_array_equal(got, wanted)
    storage = gpu.context._scratch["partials"].storage
    held = gpu.wrap(storage.buffer, dml.TensorDesc(T.UINT32, (storage.size // 4,)))
    assert not held.numpy().any()


def summed(data_type: T, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The sum of a packed tensor."""
    made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    return reduction(dml.TensorDesc(data_type, sizes), dml.TensorDesc(data_type, made), axes, F.SUM)


@pytest.mark.gpu
@pytest.mark.parametrize(("sizes", "axes"), MET, ids=str)
def test_what_is_late_is_reduced_once_more_with_the_same_bits(
    gpu: dml.Device, sizes: tuple[int, ...], axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values whose sums depend on the order; as if no word ever arrived, and as they come."""
    for data_type in (T.FLOAT32, T.FLOAT16):
        x = np.random.default_rng(23).normal(0, 1, sizes).astype(data_type.numpy)
        desc = summed(data_type, sizes, axes)
        given, expected = gpu.tensor(x), b""
        for looks in (LOOKS, 0, LOOKS):
            monkeypatch.setattr(reduce, "LOOKS", looks)
            op = CompiledOperator(gpu, operator_of(desc), desc)
            (only,) = op.plan.dispatches
            assert only.constants["LOOKS"] == looks
            found = [op(given).tobytes() for _ in range(2)]
            expected = expected or found[0]
            assert found == [expected, expected]


def test_nobody_waits_where_others_may_stand_still() -> None:
    """So DMLGPU_WAITING_KERNELS=0, or an adapter that fails the probe, takes several passes."""
    for sizes, axes in MET:
        desc = summed(T.FLOAT32, sizes, axes)
        planned = operator_of(desc).work(desc).plan(replace(GPU, forward_progress=False))
        assert not planned.waits
        assert len(planned.dispatches) > 1
        assert "LOOKS" not in planned.dispatches[0].code


def test_more_than_one_workgroup_can_join_takes_another_pass() -> None:
    source, output = dml.TensorDesc(T.UINT8, (1 << 20, 180)), dml.TensorDesc(T.UINT8, (1, 180))
    desc = reduction(source, output, (0,), F.MAX)
    planned = operator_of(desc).work(desc).plan(GPU)
    assert len(planned.dispatches) == 2
    assert not planned.shared


@pytest.mark.parametrize("more", [0, 1, 1169])
def test_a_long_line_is_cut_into_as_many_segments_as_run_at_once(more: int) -> None:
    source, output = dml.TensorDesc(T.FLOAT32, ((1 << 24) + more,)), dml.TensorDesc(T.FLOAT32, (1,))
    desc = reduction(source, output, (0,), F.SUM)
    for size, groups in ((256, 1024), (512, 512)):
        adapter = replace(GPU, max_workgroup_size=size)
        (only,) = operator_of(desc).work(desc).plan(adapter).dispatches
        assert (only.workgroups, only.constants["WG_SIZE"]) == (groups, size)
        length, rounds = only.params["length"], only.params["rounds"]
        assert isinstance(length, int)
        assert isinstance(rounds, int)
        assert 0 <= length - groups * size * 4 * rounds <= groups * size * 4


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.INT16], ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("sizes", "axes"), [((57, 9, 71), (1,)), ((301, 9), (1,)), ((9, 777), (1,))]
)
def test_parts_of_words_are_put_together_before_they_are_written(
    gpu: dml.Device, data_type: T, sizes: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    """Also where the results of a workgroup begin and end inside of a word."""
    rng = np.random.default_rng(3)
    x = values(rng, data_type, sizes)
    made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    desc = reduction(dml.TensorDesc(data_type, sizes), dml.TensorDesc(data_type, made), axes, F.MAX)
    (only,) = operator_of(desc).work(desc).plan(GPU).dispatches
    assert "finish_results(first" in only.code
    (got,) = run(gpu, desc, [x], rng)
    np.testing.assert_array_equal(got, x.max(axes, keepdims=True))


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.INT16], ids=lambda t: t.name)
@pytest.mark.parametrize("sizes", [(301, 5), (1000, 7), (333, 10), (99, 20)])
def test_an_invocation_has_short_narrow_lines_by_itself(
    gpu: dml.Device, data_type: T, sizes: tuple[int, int]
) -> None:
    """Up to eight units of whole lines, so that nothing meets in workgroup memory."""
    rng = np.random.default_rng(5)
    x = values(rng, data_type, sizes)
    made = dml.TensorDesc(data_type, (sizes[0], 1))
    desc = reduction(dml.TensorDesc(data_type, sizes), made, (1,), F.MAX)
    (only,) = operator_of(desc).work(desc).plan(GPU).dispatches
    assert "var<workgroup>" not in only.code
    (got,) = run(gpu, desc, [x], rng)
    np.testing.assert_array_equal(got, x.max(1, keepdims=True))


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT8, T.FLOAT16, T.FLOAT32], ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("sizes", "axes", "order"),
    [
        ((1037, 2), (1,), (0, 1)),
        ((1001, 3), (1,), (0, 1)),
        ((7, 143, 5), (2,), (0, 1, 2)),
        ((333, 7), (1,), (0, 1)),
        ((301, 2, 3), (1, 2), (0, 1, 2)),
        ((301, 2, 3), (1, 2), (0, 2, 1)),  # places do not count on in memory
        ((5, 60, 6), (0, 2), (0, 1, 2)),  # nor is all of a line side by side
    ],
)
def test_an_invocation_finds_places_in_short_lines_by_itself(
    gpu: dml.Device,
    data_type: T,
    sizes: tuple[int, ...],
    axes: tuple[int, ...],
    order: tuple[int, ...],
) -> None:
    """In several at once, of which each begins anew."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 4, sizes).astype(data_type.numpy)
    source = tensor(data_type, sizes, order)
    output = dml.TensorDesc(T.UINT32, tuple(1 if d in axes else n for d, n in enumerate(sizes)))
    for largest, last in ((True, False), (True, True), (False, False), (False, True)):
        desc = place_of(source, output, axes, largest, last)
        (got,) = run(gpu, desc, [x], rng)
        np.testing.assert_array_equal(got, place(x, axes, largest, last))


@pytest.mark.gpu
@pytest.mark.parametrize(("data_type", "size"), [(T.FLOAT32, 3), (T.FLOAT16, 5), (T.UINT8, 7)])
def test_places_in_short_lines_of_operands_that_lie_otherwise(
    gpu: dml.Device, data_type: T, size: int
) -> None:
    """These are read one by one, and each has a place of its own."""
    rng = np.random.default_rng(8)
    a, across = (rng.integers(0, 9, s).astype(data_type.numpy) for s in ((400, size), (size, 400)))
    row, column = (rng.integers(0, 9, s).astype(data_type.numpy) for s in ((size,), (400, 1)))
    for other, view in ((row, row), (column, column), (across, across.T)):
        b = gpu.tensor(other)
        found = dml.fuse(lambda x, y: (x + y).argmax(axis=1))(
            gpu.tensor(a), b.T if other is across else b
        )
        np.testing.assert_array_equal(found.numpy(), (a + view).argmax(1))


@pytest.mark.parametrize(
    ("data_type", "size", "is_held"),
    [
        *((T.UINT8, n, True) for n in (2, 3, 5, 8)),
        *((T.FLOAT16, n, True) for n in (2, 5, 7)),
        (T.FLOAT16, 12, False),  # two for each invocation
        (T.FLOAT32, 3, True),
        (T.FLOAT16, 16, False),  # whole units: neighbours take one each
        (T.FLOAT32, 5, False),
    ],
)
def test_results_of_lines_that_an_invocation_holds_are_stored_side_by_side(
    data_type: T, size: int, is_held: bool
) -> None:
    source, output = (
        dml.TensorDesc(data_type, (1 << 20, size)),
        dml.TensorDesc(T.UINT32, (1 << 20, 1)),
    )
    desc = dml.ArgmaxDesc(input_tensor=source, output_tensor=output, axes=(1,))
    (only,) = operator_of(desc).work(desc).plan(GPU).dispatches
    assert ("finish_results(first" in only.code) == is_held


def test_bindings_that_every_adapter_has_are_enough() -> None:
    """Of 4 MiB each here; the memory in which workgroups meet is one more."""
    for mebibytes, dispatches in ((24, 1), (28, 2)):
        source = dml.TensorDesc(T.FLOAT32, (mebibytes << 18,))
        desc = reduction(source, dml.TensorDesc(T.FLOAT32, (1,)), (0,), F.SUM)
        planned = operator_of(desc).work(desc).plan(replace(GPU, max_binding=1 << 22))
        assert len(planned.dispatches) == dispatches


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", NARROW, ids=lambda t: t.name)
@pytest.mark.parametrize("length", [512, 517])
def test_places_among_equals(gpu: dml.Device, data_type: T, length: int) -> None:
    """Neighbours are compared by keys that hold their places too, and nothing is worse than all."""
    info = np.iinfo(data_type.numpy)
    x = np.full((4, length), info.min, data_type.numpy)
    x[1] = info.max
    x[2, 300:310] = info.max
    x[3, [17, 400]] = 1
    source = dml.TensorDesc(data_type, x.shape)
    output = dml.TensorDesc(T.UINT32, (4, 1))
    for largest, last in ((True, False), (True, True), (False, False), (False, True)):
        desc = place_of(source, output, (1,), largest, last)
        (got,) = run(gpu, desc, [x], np.random.default_rng(2))
        np.testing.assert_array_equal(got, place(x, (1,), largest, last))


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.FLOAT32, T.UINT8, T.FLOAT16], ids=lambda t: t.name)
@pytest.mark.parametrize(("steps", "kernels"), [(1, ["elementwise"]), (3, ["reduce", "move"])])
def test_results_in_another_order(
    gpu: dml.Device, data_type: T, steps: int, kernels: list[str]
) -> None:
    """They are moved where there are many; lines of one element are element-wise work."""
    rng = np.random.default_rng(11)
    sizes, order, axes = (steps, 600, 1000), (0, 2, 1), (0,)
    source, output = tensor(data_type, sizes, order), dml.TensorDesc(data_type, (1, 600, 1000))
    x = values(rng, data_type, sizes)
    desc = reduction(source, output, axes, F.MAX)
    made = operator_of(desc).work(desc).plan(GPU)
    assert [d.shader.partition("/")[0] for d in made.dispatches] == kernels
    (got,) = run(gpu, desc, [x], rng)
    np.testing.assert_array_equal(got, x.max(axes, keepdims=True))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_lanes_join_alike_by_shuffles_and_in_workgroup_memory(
    gpu: dml.Device, monkeypatch: pytest.MonkeyPatch, dtype: Any
) -> None:
    """The bits are the same. Blocks are as small here as subgroups of software adapters are."""
    rng, facts = np.random.default_rng(19), gpu.context.facts
    monkeypatch.setattr(accumulators, "BLOCK", 4)
    monkeypatch.setattr(division, "GROUPS", 2)  # so that lines of a few lanes are enough
    for sizes in ((300, 57), (300, 131)):
        x = (rng.normal(size=sizes) * 9 + 99).astype(dtype)
        found = []
        for lanes in (4, 0):
            adapter = replace(facts, subgroup_min=min(lanes, facts.subgroup_min))
            monkeypatch.setattr(gpu.context, "facts", adapter)
            gpu._compiled.clear()
            given = gpu.tensor(x)
            found.append((given.sum(1).numpy(), given.argmax(1).numpy()))
        np.testing.assert_array_equal(found[0][1], x.argmax(1))
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.gpu
@pytest.mark.parametrize("function", [F.LOG_SUM_EXP, F.L2, F.AVERAGE, F.SUM_SQUARE, F.L1])
@pytest.mark.parametrize(
    ("sizes", "order", "axes"),
    [((300, 7), (0, 1), (1,)), ((5, 643), (0, 1), (1,)), ((700, 3), (0, 1), (0,))],
)
def test_functions(
    gpu: dml.Device,
    function: F,
    sizes: tuple[int, ...],
    order: tuple[int, ...],
    axes: tuple[int, ...],
) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=sizes).astype(np.float32)
    y = x.astype(np.float64)
    how = {"axis": axes, "keepdims": True}
    wanted = {
        F.LOG_SUM_EXP: lambda: np.log(np.exp(y).sum(**how)),
        F.L2: lambda: np.sqrt((y * y).sum(**how)),
        F.AVERAGE: lambda: y.mean(**how),
        F.SUM_SQUARE: lambda: (y * y).sum(**how),
        F.L1: lambda: np.abs(y).sum(**how),
    }[function]()
    source = tensor(T.FLOAT32, sizes, order)
    output = dml.TensorDesc(T.FLOAT32, wanted.shape)
    (got,) = run(gpu, reduction(source, output, axes, function), [x], rng)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float16])
@pytest.mark.parametrize(
    ("sizes", "others", "axes"),
    [
        ((5, 643), (643,), 1),
        ((5, 643), (5, 1), 1),
        ((6, 90, 7), (90, 1), 2),
        ((31, 3, 333), (333,), 1),
        ((4, 6, 101), (4, 1, 101), (1, 2)),
        ((4, 303, 2), (303, 1), 1),
        ((30, 101, 4), (30, 1, 4), (0, 1)),
        ((9001, 19), (9001, 1), 0),
        ((2, 300, 459), (2, 1, 459), 1),
        ((2, 300, 3, 153), (300, 3, 1), 1),
        ((2, 2900, 13), (2900, 1), 1),
    ],
)
def test_fused_values_combine_in_the_same_order(
    gpu: dml.Device, dtype: Any, sizes: tuple[int, ...], others: tuple[int, ...], axes: Any
) -> None:
    """The bits are those of values that were written first, however the operands lie."""
    rng = np.random.default_rng(13)
    a, b = ((rng.normal(size=n) * 9 + 30).astype(dtype) for n in (sizes, others))

    def total(x: Any, y: Any) -> Any:
        return xp.sum(x + y, axis=axes)

    y = gpu.tensor(b)
    for x in (gpu.tensor(a), gpu.tensor(np.ascontiguousarray(a.T)).T):
        wanted = total(x, y).numpy()
        np.testing.assert_array_equal(dml.fuse(total)(x, y).numpy(), wanted)


@pytest.mark.parametrize(
    ("sizes", "order", "axes", "kind"),
    [
        ((2161, 1553, 20), (2, 0, 1), (0, 1, 2), "along"),
        ((23432, 716), (1, 0), (0, 1), "along"),
        ((6370, 2634), (0, 1), (1,), "along"),
        ((6370, 2634), (1, 0), (1,), "across"),
        ((1 << 20, 3), (0, 1), (0,), "across"),
        ((1 << 20, 3), (0, 1), (1,), "across"),  # whole lines in registers
        ((1 << 20, 5), (0, 1), (1,), "along"),
        ((134, 3, 83469), (2, 0, 1), (1, 2), "tile"),
        ((1 << 16, 20, 3), (0, 1, 2), (1,), "tile"),
    ],
)
def test_what_is_side_by_side_decides(
    sizes: tuple[int, ...], order: tuple[int, ...], axes: tuple[int, ...], kind: str
) -> None:
    made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    source = tensor(T.FLOAT32, sizes, order)
    work = operator_of(reduction(source, dml.TensorDesc(T.FLOAT32, made), axes, F.SUM))
    desc = reduction(source, dml.TensorDesc(T.FLOAT32, made), axes, F.SUM)
    for adapter in (GPU, ADAPTERS["least"], ADAPTERS["software"]):
        shape = division.shape_of(
            source,
            desc.output_tensor,
            axes,
            list(work.work(desc).inputs.values()),
            adapter,
            words=1,
            placed=False,
            looped=False,
        )
        if not adapter.is_cpu:
            assert shape.kind == kind
            assert shape.lanes * shape.per_group <= shape.wg * shape.spots
        assert shape.lines == prod(made)
        assert work.work(desc).plan(adapter).dispatches


@pytest.mark.parametrize(
    ("data_type", "sizes", "axes", "fold", "window"),
    [
        (T.FLOAT16, (1 << 20, 10), (0,), 48, 10),  # 48 rows are 60 units
        (T.FLOAT16, (1 << 20, 172), (0,), 2, 172),
        (T.FLOAT16, (8, 100_001, 3), (1,), 168, 3),
        (T.FLOAT16, (2000, 15259), (0,), 1, 248),  # of which 62 make a row
        (T.FLOAT16, (4, 3000, 3, 515), (1,), 1, 224),
        (T.UINT8, (1 << 22, 5), (0,), 192, 5),
        (T.UINT8, (500_000, 133), (0,), 1, 0),  # too many results
        (T.FLOAT16, (1 << 20, 16), (0,), 1, 0),  # whole units
        (T.FLOAT32, (1 << 20, 13), (0,), 1, 0),  # whole words
    ],
)
def test_rows_of_narrow_elements_that_begin_anywhere_are_read_by_units(
    data_type: T, sizes: tuple[int, ...], axes: tuple[int, ...], fold: int, window: int
) -> None:
    made = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    source, output = dml.TensorDesc(data_type, sizes), dml.TensorDesc(data_type, made)
    desc = reduction(source, output, axes, F.MAX)
    inputs = list(operator_of(desc).work(desc).inputs.values())
    for adapter in (GPU, ADAPTERS["least"]):
        shape = division.shape_of(
            source, output, axes, inputs, adapter, words=1, placed=False, looped=False
        )
        held = shape.plane * shape.columns + shape.wg
        assert 4 * held <= adapter.max_workgroup_storage
        assert shape.wg <= adapter.max_workgroup_size
        if adapter is GPU:
            assert (shape.fold, shape.window) == (fold, window)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint16", "float16", "int8", "int64"])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (5, 8, 3)])
def test_truths_of_lines_that_are_not_whole_words(
    gpu: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    """Results are bytes, whatever the elements are, so neighbours may share words."""
    a = np.random.default_rng(7).integers(0, 2, sizes).astype(dtype)
    x = gpu.tensor(a)
    for axis in (0, 1, 2):
        np.testing.assert_array_equal(xp.any(x, axis=axis).numpy(), a.any(axis), str(axis))


@pytest.mark.gpu
@pytest.mark.parametrize("function", [F.MAX, F.MIN])
@pytest.mark.parametrize("data_type", NARROW)
@pytest.mark.parametrize("sizes", [(3, 1000), (40, 109), (5000,), (7, 333)])
def test_extremes_of_narrow_integers_are_those_of_words_that_begin_with_them(
    gpu: dml.Device, function: F, data_type: T, sizes: tuple[int, ...]
) -> None:
    """Whatever lies below them, where they end within words, and with either sign."""
    rng = np.random.default_rng(5)
    info = np.iinfo(data_type.numpy)
    source, axis = dml.TensorDesc(data_type, sizes), len(sizes) - 1
    output = dml.TensorDesc(data_type, (*sizes[:-1], 1))
    desc = dml.ReduceDesc(
        function=function, input_tensor=source, output_tensor=output, axes=(axis,)
    )
    whole = (int(info.min), int(info.max))
    for low, high in (whole, (whole[0], 0), (0, whole[1]), (whole[1] - 1, whole[1])):
        x = rng.integers(low, high, sizes, data_type.numpy, endpoint=True)
        expected = (x.max if function is F.MAX else x.min)(axis, keepdims=True)
        np.testing.assert_array_equal(run(gpu, desc, [x], rng)[0], expected)
    kernels = gpu.compile(desc).plan.dispatches
    assert any(f" >> {32 - data_type.bits}u;" in kernel.code for kernel in kernels)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", NARROW)
@pytest.mark.parametrize(
    ("sizes", "axes"), [((1000,), (0,)), ((2, 1, 2), (0,)), ((2, 8, 20), (0,)), ((3, 40), (1,))]
)
def test_extremes_of_one_narrow_integer_that_is_broadcast(
    gpu: dml.Device, data_type: T, sizes: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    """Which is no word of several."""
    x = np.array([-5 if data_type.name.startswith("INT") else 7], data_type.numpy)
    source = dml.TensorDesc(data_type, sizes, (0,) * len(sizes))
    kept = tuple(1 if d in axes else n for d, n in enumerate(sizes))
    output = dml.TensorDesc(data_type, kept)
    desc = dml.ReduceDesc(function=F.MAX, input_tensor=source, output_tensor=output, axes=axes)
    got = run(gpu, desc, [np.broadcast_to(x, sizes)], np.random.default_rng(6))[0]
    np.testing.assert_array_equal(got, np.broadcast_to(x, kept))


def test_small_tensors_of_a_cpu_share_kernels() -> None:
    """A driver takes longer to compile one than to sum them up in any way."""
    for axis, most in ((0, 12), (1, 12)):
        kernels = set()
        for n in range(24):
            sizes = (7 + 3 * n % 31, 5 + 2 * n)
            made = tuple(1 if d == axis else size for d, size in enumerate(sizes))
            desc = dml.ReduceDesc(
                function=F.SUM,
                input_tensor=dml.TensorDesc(T.FLOAT32, sizes),
                output_tensor=dml.TensorDesc(T.FLOAT32, made),
                axes=(axis,),
            )
            plan = operator_of(desc).work(desc).plan(ADAPTERS["software"])
            kernels |= {
                (d.shader, d.code, *sorted(d.constants.items()), *sorted(d.slots.items()))
                for d in plan.dispatches
            }
        assert len(kernels) <= most


@pytest.mark.gpu
def test_errors_of_small_sums_grow_with_the_logarithm(device: dml.Device) -> None:
    rng = np.random.default_rng(0)
    for sizes in ((4000, 4), (1000, 16), (16_000, 1), (100, 100)):
        x = rng.random(sizes, np.float32)
        got = device.tensor(x).sum(0).numpy()
        np.testing.assert_allclose(got, x.sum(0, dtype=np.float64), rtol=2e-6)
