"""What is assigned to windows of a tensor, which begin and end anywhere in units of 16 bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu, run
from support.plans import ADAPTERS

import dmlgpu as dml
from dmlgpu.plan.dispatch import Adapter
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.elementwise.shape import fold
from dmlgpu.plan.move.windows import Window
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.values import Expression, Operand, Parameter

ROUNDS = 40  # of each random test
TYPES = [
    *("uint8", "int8", "bool", "float16", "uint16", "int16"),
    *("float32", "int32", "int64", "uint64"),
]
OUTER = (1, 2, 3, 4, 5, 8, 15, 17, 40)
INNER = (1, 2, 3, 4, 5, 8, 16, 31, 33, 100, 257, 515)
GPU = replace(ADAPTERS["discrete"], wide_integers=True, max_binding=1 << 32, shaped_from=1 << 18)
ALL = slice(None)


@pytest.fixture(scope="module", params=["gpu", "gpu without 64-bit integers", "as it is"])
def target(device: dml.Device, request: pytest.FixtureRequest) -> Iterator[dml.Device]:
    """A device that runs the kernels of a GPU, one whose quotients are no products, and a plain."""
    if request.param == "as it is":
        with dml.Device(device.adapter) as made:
            made.context.facts = replace(made.context.facts, launch=16)
            yield made
        return
    with as_gpu(device) as made:
        wide = made.context.facts.wide_integers and request.param == "gpu"
        made.context.facts = replace(made.context.facts, wide_integers=wide)
        yield made


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers that every type holds."""
    return rng.integers(0, 2 if np.dtype(dtype) == bool else 120, shape).astype(dtype)


def check(x: dml.Tensor, a: np.ndarray, index: Any, value: Any, given: Any) -> None:
    """Both are assigned to; all elements are compared, so those around the window too."""
    a[index] = given
    x[index] = value
    np.testing.assert_array_equal(x.numpy(), a)


CASES = [
    # shape, window: interior, in rows a unit or more apart, and less
    ((9, 130), (slice(1, -1), slice(1, -1))),
    ((9, 133), (slice(1, -1), slice(1, -1))),
    ((9, 133), (ALL, slice(1, -1))),
    ((9, 133), (ALL, slice(0, 100))),
    ((9, 133), (ALL, slice(130, None))),
    ((9, 128), (ALL, slice(3, 64))),
    # rows shorter than a unit, as pixels have, and a few units long
    ((70, 4), (ALL, slice(0, 3))),
    ((70, 3), (ALL, slice(1, 3))),
    ((70, 7), (slice(3, -1), slice(1, 6, 2))),
    ((70, 21), (ALL, slice(2, -2))),
    ((5, 17, 4), (ALL, slice(1, -1), slice(0, 3))),
    # runs of rows
    ((100, 33), (slice(5, 77),)),
    ((100, 33), (slice(None, None, 2),)),
    ((1000,), (slice(3, -2),)),
    # every k-th element
    *(((9, 240), (ALL, slice(k % 3, None, k))) for k in (2, 3, 4, 5, 7, 8, 16, 17)),
    *(((9, 131), (ALL, slice(1, None, k))) for k in (2, 3, 4, 7)),
    ((6, 50, 3), (ALL, ALL, 1)),
    # windows within windows
    ((6, 7, 33), (slice(1, -1), slice(1, -1), slice(1, -1))),
    ((6, 7, 133), (slice(1, -1), slice(1, -1), slice(1, -1, 2))),
    ((3, 4, 5, 18), (slice(1, 3), slice(0, 4, 2), slice(1, 4), slice(1, 17))),
    # backwards
    ((9, 133), (slice(None, None, -1), slice(-2, 1, -1))),
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_windows(target: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for shape, index in CASES:
        a = elements(rng, shape, dtype)
        x = target.tensor(a.copy())
        y = elements(rng, a[index].shape, dtype)
        check(x, a, index, target.tensor(y), y)
        check(x, a, index, 7, 7)
        row = elements(rng, y.shape[-1:], dtype)
        check(x, a, index, target.tensor(row), row)
        one = elements(rng, (1,), dtype)
        check(x, a, index, target.tensor(one), one)


def _bounds(rng: np.random.Generator, size: int) -> slice:
    kind = int(rng.integers(5))
    if kind < 2:
        return slice(int(rng.integers(4)), size - int(rng.integers(4)))
    if kind == 2:
        return slice(int(rng.integers(3)), None, int(rng.choice([2, 3, 4, 5, 8, 16, 17])))
    if kind == 3:
        return slice(None, None, -int(rng.integers(1, 4)))
    first, end = sorted(int(n) for n in rng.integers(0, size + 1, 2))
    return slice(first, end)


def _source(
    rng: np.random.Generator, device: dml.Device, shape: tuple[int, ...], dtype: Any
) -> tuple[Any, Any]:
    """A tensor to assign and its elements: packed, broadcast, transposed, a view with gaps."""
    kind = int(rng.integers(6))
    if kind == 0:
        return 3, 3
    if kind == 1:
        shape = tuple(1 if rng.random() < 0.5 else n for n in shape)
    if kind == 2:
        y = elements(rng, shape[::-1], dtype)
        return device.tensor(y).T, y.T
    if kind == 3:
        y = elements(rng, (*shape[:-1], 2 * shape[-1] + 1), dtype)
        every = (..., slice(1, None, 2))
        return device.tensor(y)[every], y[every]
    if kind == 4:
        y = elements(rng, tuple(n + 3 for n in shape), dtype)
        cut = tuple(slice(0, n) for n in shape)
        return device.tensor(y)[cut], y[cut]
    y = elements(rng, shape, dtype)
    return device.tensor(y), y


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_windows_of_random_values(target: dml.Device, seed: int) -> None:
    if "SwiftShader" in target.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile what moves the sources")
    rng = np.random.default_rng(seed)
    for number in range(ROUNDS):
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in (*rng.choice(OUTER, rank - 1), rng.choice(INNER)))
        dtype = rng.choice(TYPES)
        a = elements(rng, shape, dtype)
        x = target.tensor(a.copy())
        if rng.random() < 0.2:
            order = tuple(int(d) for d in rng.permutation(rank))
            x, a = x.transpose(order), a.transpose(order)
        index = tuple(_bounds(rng, n) for n in a.shape)
        if 0 in a[index].shape:
            continue
        other = dtype if rng.random() < 0.7 else rng.choice(TYPES)
        value, given = _source(rng, target, a[index].shape, other)
        try:
            check(x, a, index, value, given)
        except Exception as error:
            error.add_note(f"round {number}: {dtype} {a.shape} {index} of {other}")
            raise


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_joined_parts(target: dml.Device, dtype: str) -> None:
    """JOIN writes the same windows, with bytes around the output that must not change."""
    rng = np.random.default_rng(2)
    data_type = dml.DataType[dtype.upper()]
    for axis, sizes in ((2, (1, 3)), (2, (33, 4, 60)), (1, (2, 3)), (2, (1, 1, 1)), (0, (1, 2))):
        shapes = [tuple(n if d == axis else (3, 5, 7)[d] for d in range(3)) for n in sizes]
        pieces = [elements(rng, shape, dtype) for shape in shapes]
        wanted = np.concatenate(pieces, axis)
        desc = dml.JoinDesc(
            input_tensors=tuple(dml.TensorDesc(data_type, shape) for shape in shapes),
            output_tensor=dml.TensorDesc(data_type, wanted.shape),
            axis=axis,
        )
        (got,) = run(target, desc, [pieces], rng)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_what_lies_behind_a_tensor_stays(target: dml.Device, dtype: str) -> None:
    """The last unit of a tensor may have bytes of another one."""
    rng = np.random.default_rng(3)
    item = np.dtype(dtype).itemsize
    for count in (20 // item, 36 // item, 132 // item):
        whole = elements(rng, (1024 // item,), dtype)
        buffer = target.tensor(whole.copy())
        desc = dml.TensorDesc(dml.DataType[dtype.upper()], (count,))
        part = target.wrap(buffer.buffer, desc, buffer.offset + 32)
        first = 32 // item
        for step in (1, 2, 3):
            y = elements(rng, (len(range(1, count, step)),), dtype)
            part[1::step] = target.tensor(y)
            whole[first + 1 : first + count : step] = y
            np.testing.assert_array_equal(buffer.numpy(), whole)


def _work(
    data_type: dml.DataType, shape: tuple[int, ...], index: Any, *, moved: bool
) -> ElementWise:
    """A packed tensor, or a number, that is assigned to a window."""
    strides = dml.TensorDesc(data_type, shape).effective_strides
    ranges = [range(n)[each] for n, each in zip(shape, index, strict=True)]
    sizes = tuple(map(len, ranges))
    steps = tuple(r.step * s for r, s in zip(ranges, strides, strict=True))
    total = dml.TensorDesc(data_type, shape).total_tensor_size_in_bytes
    tensor = dml.TensorDesc(data_type, sizes, steps, total_tensor_size_in_bytes=total)
    start = sum(r.start * s for r, s in zip(ranges, strides, strict=True))
    output = Operand("output", tensor, data_type, start, shares=True)
    if not moved:
        return ElementWise({}, ((output, Expression("k")),), (Parameter("k", data_type, 1),))
    source = Operand.of("x", dml.TensorDesc(data_type, sizes))
    return ElementWise({"x": source}, ((output, Expression("x")),))


def _text(work: ElementWise, adapter: Adapter = GPU) -> str:
    (dispatch,) = work.plan(adapter).dispatches
    return dispatch.code


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("moved", [False, True])
def test_units_of_a_window_are_whole(bits: int, moved: bool) -> None:
    """No element is put between others, and none is loaded twice."""
    data_type = {8: "UINT8", 16: "FLOAT16", 32: "FLOAT32", 64: "INT64"}[bits]
    shape = (512, 1 << 20 >> bits.bit_length())
    for index in ((slice(1, -1), slice(1, -1)), (ALL, slice(3, 1000)), (ALL, slice(1, None, 2))):
        text = _text(_work(dml.DataType[data_type], shape, index, moved=moved))
        assert "#bind write out0: vec4<u32>" in text
        assert "merge_out0" not in text
        loads = text.count("load_in0(")
        assert loads == 0 if not moved else loads <= min(5, 128 // bits + 1)


def test_units_that_are_all_the_windows_are_loaded_as_such() -> None:
    """The rows of the source and of the output begin alike in units."""
    work = _work(dml.DataType.UINT8, (64, 4096), (ALL, slice(1, -1)), moved=True)
    like = replace(work.outputs[0][0], field="x", shares=False)
    text = _text(replace(work, inputs={"x": like}))
    assert "#bind read in0: vec4<u32>" in text
    assert text.count("load_in0(") == 1


def test_windows_have_no_unit_in_common() -> None:
    """Every element of a window is in a unit of one stretch; a unit has stretches of its own."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 24, rank))
        index = tuple(_bounds(rng, n) for n in shape)
        index = tuple(slice(s.start, s.stop, abs(s.step or 1)) for s in index)
        if any(not range(n)[s] for n, s in zip(shape, index, strict=True)):
            continue
        output = _work(dml.DataType.UINT16, shape, index, moved=False).outputs[0][0]
        steps = zip(output.tensor.sizes, output.tensor.effective_strides, strict=True)
        loops = fold([Loop(n, (s,)) for n, s in steps])
        window = Window.of(loops, output.start, 16)
        if window is None:
            continue
        owners: dict[int, tuple[int, ...]] = {}
        for at in np.ndindex(*(loop.size for loop in loops)):
            place = output.start + sum(k * d.steps[0] for k, d in zip(at, loops, strict=True))
            stretch = at[: window.apart]
            begin = output.start + sum(k * d.steps[0] for k, d in zip(stretch, loops, strict=False))
            assert owners.setdefault(place // 8, stretch) == stretch
            assert place // 8 - begin // 8 < window.units
