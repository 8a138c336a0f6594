"""Element-wise work on operands of any layout: what a GPU makes in rows and in tiles."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from support.layouts import as_gpu, same_bits
from support.plans import retune

import dmlgpu as dml
from dmlgpu.ops import operator_of
from dmlgpu.plan import elementwise
from dmlgpu.plan.dispatch import BANKS, SMALL, Adapter
from dmlgpu.plan.elementwise import ElementWise, across
from dmlgpu.plan.elementwise.shape import EACH
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.values import Operand

pytestmark = pytest.mark.gpu

SHAPES = [(64, 64), (8, 8), (100, 36), (33, 65), (700, 48), (3, 40, 24), (2, 9, 5, 16)]


def add(data_type: dml.DataType, sizes: tuple[int, ...], *across: bool) -> dml.ElementWiseAddDesc:
    """A sum whose operands lie across where it is said."""
    packed = dml.TensorDesc(data_type, sizes)
    strides = np.cumprod((1, *sizes[:-1])).tolist()
    a, b = (dml.TensorDesc(data_type, sizes, strides) if far else packed for far in across)
    return dml.ElementWiseAddDesc(a_tensor=a, b_tensor=b, output_tensor=packed)


def values(desc: dml.TensorDesc) -> tuple[bytes, Any]:
    """Numbers as a description lays them out, and as NumPy sees them."""
    drawn = np.random.default_rng(3).integers(0, 50, desc.sizes).astype(desc.data_type.numpy)
    laid = drawn if desc.strides is None else np.asfortranarray(drawn)
    return laid.tobytes("A").ljust(desc.total_tensor_size_in_bytes, b"\0"), drawn


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16", "UINT8", "INT64"])
@pytest.mark.parametrize("across", [(False, True), (True, False), (True, True)])
def test_operands_across(
    device: dml.Device, data_type: str, sizes: tuple[int, ...], across: tuple[bool, bool]
) -> None:
    desc = add(dml.DataType[data_type], sizes, *across)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        op = gpu.compile(desc)
        result = op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b))
        same_bits(result.numpy(), x + y)


def test_a_tile_is_made_where_neighbours_are_far_apart(device: dml.Device) -> None:
    with as_gpu(device) as gpu:
        for sizes, across, kernel in [
            ((64, 64), (False, True), "tiles"),
            ((64, 64), (False, False), "elements"),
            ((64, 4), (False, True), "elements"),  # rows are too short
        ]:
            op = gpu.compile(add(dml.DataType.FLOAT32, sizes, *across))
            assert [d.shader for d in op.plan.dispatches] == [f"elementwise/{kernel}"]
    if device.context.facts.is_cpu:
        op = device.compile(add(dml.DataType.FLOAT32, (64, 64), False, True))
        assert op.plan.dispatches[0].shader == "elementwise/elements"


def test_what_does_not_fit_workgroup_memory_is_read_where_it_lies(device: dml.Device) -> None:
    desc = add(dml.DataType.INT64, (64, 64), True, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    for storage, held in [(16384, 1), (8191, 0)]:
        with as_gpu(device) as gpu:
            gpu.context.facts = replace(gpu.context.facts, max_workgroup_storage=storage)
            op = gpu.compile(desc)
            assert op.plan.dispatches[0].code.count("var<workgroup> words") == 2 * held
            same_bits(op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b)).numpy(), x + y)


def test_in_place_across(device: dml.Device) -> None:
    desc = add(dml.DataType.FLOAT32, (70, 40), False, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        held = gpu.upload(desc.a_tensor, a)
        gpu.compile(desc)(held, gpu.upload(desc.b_tensor, b), out=held)
        same_bits(held.numpy(), x + y)


def test_large_operands_across_are_made_in_parts(device: dml.Device) -> None:
    desc = add(dml.DataType.FLOAT32, (96, 128), False, True)
    (a, x), (b, y) = values(desc.a_tensor), values(desc.b_tensor)
    with as_gpu(device) as gpu:
        gpu.context.gpu.max_binding = 16384
        gpu.context.facts = replace(gpu.context.facts, max_binding=16384)
        op = gpu.compile(desc)
        same_bits(op(gpu.upload(desc.a_tensor, a), gpu.upload(desc.b_tensor, b)).numpy(), x + y)


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16", "UINT8", "INT64"])
@pytest.mark.parametrize(("step", "bits"), [(1, 128), (4, 128), (5, 32), (8, 32)])
def test_groups_are_a_word_where_elements_are_apart(
    device: dml.Device, data_type: str, step: int, bits: int
) -> None:
    """Of more, invocations side by side would read what is far from each other."""
    one = dml.DataType[data_type]
    packed, apart = (dml.TensorDesc(one, (4096,), (n,)) for n in (1, step))
    desc = dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=apart, output_tensor=packed)
    with as_gpu(device) as gpu:
        (dispatch,) = gpu.compile(desc).plan.dispatches
        assert dispatch.params["count"] == 4096 * one.bits // max(bits, one.bits)


OPERATORS = {
    "ElementWiseAddDesc": np.add,
    "ElementWiseMaxDesc": np.maximum,
    "ElementWiseLogicalLessThanDesc": lambda x, y: (x < y).astype(np.uint8),
}


def view(rng: np.random.Generator, dtype: str, sizes: tuple[int, ...]) -> tuple[Any, Any]:
    """A description of any layout, and values as NumPy sees them in it."""
    order, strides = list(range(len(sizes))), [0] * len(sizes)
    if rng.random() < 0.5:
        rng.shuffle(order)
    still = {d for d in order if rng.random() < 0.2}
    step = int(rng.choice([1, 1, 1, 2, 3, 4, 6, 9]))
    for d in (d for d in reversed(order) if d not in still):
        strides[d] = step
        step = step * sizes[d] + int(rng.choice([0, 0, 1, 3, 8]))
    desc = dml.TensorDesc(dml.DataType.from_numpy(dtype), sizes, strides)
    reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    held = rng.integers(0, 50, reach).astype(dtype)
    return desc, as_strided(held, sizes, [s * held.itemsize for s in strides])


def held(tensor: dml.TensorDesc, seen: Any) -> bytes:
    """The bytes behind a view."""
    size = tensor.total_tensor_size_in_bytes
    ends = [(n - 1) * s for n, s in zip(tensor.sizes, tensor.effective_strides, strict=True)]
    data = as_strided(seen, (1 + sum(ends),), (seen.itemsize,)).tobytes()
    return data.ljust(size, b"\0")


def check(gpu: dml.Device, desc: Any, seen: list[Any], wanted: Any) -> Any:
    """Runs a description and compares every bit."""
    op = gpu.compile(desc)
    given = [gpu.upload(t, held(t, v)) for t, v in zip(desc.inputs().values(), seen, strict=True)]
    same_bits(op(*given).numpy(), wanted)
    return op.plan


def some_sizes(rng: np.random.Generator) -> tuple[int, ...]:
    """Sizes of any rank, short and long axes in any order."""
    rank = int(rng.integers(1, 5))
    shares = rng.dirichlet([0.7] * rank)
    elements = int(rng.choice([60, 3000, 60000]))
    return tuple(max(1, round(elements**share)) for share in shares)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_operands_of_any_layout(device: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng([7, np.dtype(dtype).num])
    with as_gpu(device) as gpu:
        wide = gpu.context.facts.wide_integers
        for n in range(24):
            # With quotients by product and by division, and with operands moved or not.
            gpu.context.facts = replace(
                gpu.context.facts,
                wide_integers=wide and n % 2 == 0,
                launch=0 if n % 4 < 2 else SMALL,
            )
            sizes, name = some_sizes(rng), str(rng.choice(list(OPERATORS)))
            (a, x), (b, y) = view(rng, dtype, sizes), view(rng, dtype, sizes)
            wanted = OPERATORS[name](x, y)
            made = dml.TensorDesc(dml.DataType.from_numpy(wanted.dtype), sizes)
            desc = getattr(dml, name)(a_tensor=a, b_tensor=b, output_tensor=made)
            check(gpu, desc, [x, y], wanted)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_casts_of_any_layout(device: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng([8, np.dtype(dtype).num])
    with as_gpu(device) as gpu:
        for to in ("uint8", "float16", "float32", "int64") * 3:
            sizes = some_sizes(rng)
            a, x = view(rng, dtype, sizes)
            made = dml.TensorDesc(dml.DataType.from_numpy(to), sizes)
            desc = dml.CastDesc(input_tensor=a, output_tensor=made)
            check(gpu, desc, [x], x.astype(to))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
@pytest.mark.parametrize("length", [2, 3, 5, 7, 8, 15, 17, 31])
def test_groups_that_go_on_in_the_next_row(device: dml.Device, dtype: str, length: int) -> None:
    rng = np.random.default_rng(length)
    sizes = (5, 3, 7, length)
    kind = dml.DataType.from_numpy(dtype)
    layouts = [
        (0, 0, 1, 0),  # one value for each row
        (21 * (length + 3), 7 * (length + 3), length + 3, 1),  # gaps
        (0, length, 0, 1),  # rows again and again
        (1, 35 * length, 5, 35),  # across
    ]
    with as_gpu(device) as gpu:
        for strides in layouts:
            a = dml.TensorDesc(kind, sizes, strides)
            reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
            base = rng.integers(0, 50, reach).astype(dtype)
            x = as_strided(base, sizes, [s * base.itemsize for s in strides])
            packed = dml.TensorDesc(kind, sizes)
            y = rng.integers(0, 50, sizes).astype(dtype)
            desc = dml.ElementWiseAddDesc(a_tensor=a, b_tensor=packed, output_tensor=packed)
            check(gpu, desc, [x, y], x + y)


def test_operands_across_in_two_ways(device: dml.Device) -> None:
    rng = np.random.default_rng(9)
    sizes = (40, 50, 22)
    for dtype in ("uint8", "float16", "float32", "int64"):
        x = rng.integers(0, 50, (40, 22, 50)).astype(dtype).transpose(0, 2, 1)
        y = rng.integers(0, 50, (50, 22, 40)).astype(dtype).transpose(2, 0, 1)
        kind = dml.DataType.from_numpy(dtype)
        tensors = [
            dml.TensorDesc(kind, sizes, [s // v.itemsize for s in v.strides]) for v in (x, y)
        ]
        made = dml.TensorDesc(kind, sizes)
        desc = dml.ElementWiseAddDesc(a_tensor=tensors[0], b_tensor=tensors[1], output_tensor=made)
        with as_gpu(device, launch=0) as gpu:
            plan = check(gpu, desc, [x, y], x + y)
        assert [d.shader.split("/")[0] for d in plan.dispatches] == ["move", "elementwise"]


@pytest.mark.parametrize(
    ("dtype", "order", "kernels"),
    [
        ("uint8", (3, 1, 0, 2), ["move", "elementwise"]),  # 14 bytes side by side, then far away
        ("uint8", (3, 0, 1, 2), ["elementwise"]),
        ("float32", (3, 1, 0, 2), ["elementwise"]),
    ],
)
def test_pieces_of_sectors_are_moved_before(
    device: dml.Device,
    dtype: str,
    order: tuple[int, ...],
    kernels: list[str],
) -> None:
    """Also where the output has an order of its own."""
    rng = np.random.default_rng(9)
    sizes, kind = (12, 40, 14, 40), dml.DataType.from_numpy(dtype)
    x = rng.integers(0, 50, sizes).astype(dtype)
    packed = rng.integers(0, 50, [sizes[d] for d in order]).astype(dtype)
    y = packed.transpose(np.argsort(order))
    a = dml.TensorDesc(kind, sizes)
    b = dml.TensorDesc(kind, sizes, [n // y.itemsize for n in y.strides])
    turned = dml.TensorDesc(kind, sizes, (40 * 40 * 14, 14 * 40, 40, 1))
    for made in (a, turned):
        desc = dml.ElementWiseAddDesc(a_tensor=a, b_tensor=b, output_tensor=made)
        with as_gpu(device, launch=0) as gpu:
            plan = check(gpu, desc, [x, y], x + y)
        assert [d.shader.split("/")[0] for d in plan.dispatches] == kernels


def test_quotients_are_products_where_shaders_have_wide_integers(device: dml.Device) -> None:
    packed = dml.TensorDesc(dml.DataType.UINT8, (9, 40, 39))
    rows = dml.TensorDesc(dml.DataType.UINT8, (9, 40, 39), (2000, 44, 1))
    gaps = dml.ElementWiseMaxDesc(a_tensor=rows, b_tensor=packed, output_tensor=packed)
    tiles = add(dml.DataType.FLOAT32, (200, 200), False, True)
    for desc in (gaps, tiles):
        for wide in (False, True):
            plan = desc_plan(desc, Adapter(wide_integers=wide, max_workgroup_storage=1 << 15))
            assert ("= divided(rest" in plan) == wide
            assert (" / params." in plan) != wide


def desc_plan(desc: Any, adapter: Adapter) -> str:
    """The text of the only dispatch that an adapter gets for a description."""
    (made,) = operator_of(desc).work(desc).plan(adapter).dispatches
    return made.code


@pytest.mark.parametrize(("length", "is_branch"), [(18, False), (2000, True)])
def test_what_goes_on_in_short_rows_is_read_with_the_rest(length: int, is_branch: bool) -> None:
    """Nearly every group goes on in the next row then, and loads in a branch come late."""
    sizes = (400, length + 1)
    packed = dml.TensorDesc(dml.DataType.UINT8, sizes)
    rows = dml.TensorDesc(dml.DataType.UINT8, sizes, (length + 5, 1))
    desc = dml.ElementWiseMaxDesc(a_tensor=rows, b_tensor=packed, output_tensor=packed)
    assert ("if (left < " in desc_plan(desc, Adapter())) == is_branch


def test_every_second_word_is_compared_by_four(device: dml.Device) -> None:
    """One by one, 16 of them would lie in as many sectors of a lane's own."""
    made = dml.TensorDesc(dml.DataType.UINT8, (4000,))
    still = dml.TensorDesc(dml.DataType.FLOAT32, (4000,), (0,))
    for step, kind in ((1, "vec4<u32>"), (2, "u32")):
        rows = dml.TensorDesc(dml.DataType.FLOAT32, (4000,), (step,))
        desc = dml.ElementWiseLogicalLessThanDesc(a_tensor=still, b_tensor=rows, output_tensor=made)
        assert f"#bind write out0: {kind}\n" in desc_plan(desc, Adapter())


def test_a_unit_is_made_at_once_wherever_rows_end(device: dml.Device) -> None:
    """Invocations write 16 bytes, not a word, and read narrow rows by words."""
    packed = dml.TensorDesc(dml.DataType.UINT8, (40, 39))
    rows = dml.TensorDesc(dml.DataType.UINT8, (40, 39), (44, 1))
    desc = dml.ElementWiseMaxDesc(a_tensor=rows, b_tensor=packed, output_tensor=packed)
    with as_gpu(device) as gpu:
        (made,) = gpu.compile(desc).plan.dispatches
    assert "#bind write out0: vec4<u32>" in made.code
    assert made.code.count("load_in0(") == 10  # five words of each of two rows


def code_of(device: dml.Device, desc: Any) -> str:
    """The text of the only dispatch that a GPU makes of a description."""
    with as_gpu(device) as gpu:
        (made,) = gpu.compile(desc).plan.dispatches
    return made.code


def test_every_second_byte_is_read_by_words(device: dml.Device) -> None:
    packed = dml.TensorDesc(dml.DataType.UINT8, (40, 39))
    for step, words in ((2, 9), (3, 13)):
        rows = dml.TensorDesc(dml.DataType.UINT8, (40, 39), (39 * step + 1, step))
        desc = dml.ElementWiseMaxDesc(a_tensor=rows, b_tensor=packed, output_tensor=packed)
        assert code_of(device, desc).count("load_in0(") == 2 * words  # of two rows


def test_eight_bytes_are_moved_at_once(device: dml.Device) -> None:
    """Half a unit is written by one store, and an element of 64 bits read by one load."""
    halves = dml.TensorDesc(dml.DataType.FLOAT16, (40, 64))
    truth = dml.TensorDesc(dml.DataType.UINT8, (40, 64))
    compared = dml.ElementWiseLogicalLessThanDesc(
        a_tensor=halves, b_tensor=halves, output_tensor=truth
    )
    assert "#bind write out0: vec2<u32>" in code_of(device, compared)
    wide = dml.TensorDesc(dml.DataType.INT64, (40, 39))
    rows = dml.TensorDesc(dml.DataType.INT64, (40, 39), (41, 1))
    added = dml.ElementWiseAddDesc(a_tensor=rows, b_tensor=wide, output_tensor=wide)
    assert "#bind read in0: vec2<u32>" in code_of(device, added)


def test_tiles_of_bytes_that_begin_with_words_are_read_once(device: dml.Device) -> None:
    for size, loads in ((256, 4), (257, 8)):
        code = code_of(device, add(dml.DataType.UINT8, (size, size), False, True))
        assert code.count("= load_in1(") == loads


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_words_side_by_side_lie_in_different_banks(bits: int) -> None:
    kinds = {8: "UINT8", 16: "FLOAT16", 32: "FLOAT32", 64: "INT64"}
    square = add(dml.DataType[kinds[bits]], (512, 512), False, True)
    operands = [Operand.of(name, tensor) for name, tensor in square.inputs().items()]
    loops = (Loop(512, (512, 1)), Loop(512, (1, 512)))
    group = 128 // bits
    tile = across.tile_of(loops, operands, group, 0, Adapter(max_workgroup_storage=1 << 15))
    assert tile is not None
    rows, pitch = BANKS // min(BANKS, tile.groups), tile.pitch(1, bits)
    per, part = tile.per_cell(1, bits), tile.part(1, bits)
    put = {row * pitch % BANKS for row in range(min(BANKS, tile.steps // per))}
    taken = [
        (row % per * part + row // per * pitch + n) % BANKS
        for row in range(rows)
        for n in range(min(BANKS, tile.groups))
    ]
    assert len(put) == min(BANKS, tile.steps // per)
    assert max(map(taken.count, taken)) <= 2


def test_short_rows_across_are_made_in_parts(device: dml.Device) -> None:
    """A tile of several loops is not cut: parts do without it."""
    rng = np.random.default_rng(4)
    sizes, strides = (33, 400, 4), (4, 132, 1)
    packed = dml.TensorDesc(dml.DataType.FLOAT32, sizes)
    across = dml.TensorDesc(dml.DataType.FLOAT32, sizes, strides)
    x = rng.integers(0, 50, sizes).astype(np.float32)
    y = rng.integers(0, 50, (400, 33, 4)).astype(np.float32).transpose(1, 0, 2)
    desc = dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=across, output_tensor=packed)
    for most, kernel in ((1 << 27, "tiles"), (65536, "elements")):
        with as_gpu(device) as gpu:
            gpu.context.gpu.max_binding = most
            gpu.context.facts = replace(gpu.context.facts, max_binding=most)
            plan = check(gpu, desc, [x, y], x + y)
        assert {d.shader for d in plan.dispatches} == {f"elementwise/{kernel}"}


def test_several_groups_of_an_invocation_are_read_before_any_is_written(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where more is written than read; groups behind the last are not made."""
    retune(monkeypatch, elementwise, MANY=1)
    rng = np.random.default_rng(5)
    for sizes in ((3, 701), (5, 128), (4, 4097)):
        x = rng.integers(0, 50, sizes).astype(np.uint8)
        made = dml.TensorDesc(dml.DataType.FLOAT32, sizes)
        cast = dml.CastDesc(
            input_tensor=dml.TensorDesc(dml.DataType.UINT8, sizes), output_tensor=made
        )
        y = rng.integers(0, 50, (sizes[0], 1)).astype(np.int64)
        rows = dml.TensorDesc(dml.DataType.INT64, sizes, (1, 0))
        columns = dml.TensorDesc(dml.DataType.INT64, sizes, (0, 1))
        z = rng.integers(0, 50, (1, sizes[1])).astype(np.int64)
        added = dml.ElementWiseAddDesc(
            a_tensor=rows,
            b_tensor=columns,
            output_tensor=dml.TensorDesc(dml.DataType.INT64, sizes),
        )
        seen = [np.broadcast_to(v, sizes) for v in (y, z)]
        with as_gpu(device) as gpu:
            plans = [check(gpu, cast, [x], x.astype(np.float32)), check(gpu, added, seen, y + z)]
        for plan in plans:
            (made_by,) = plan.dispatches
            ahead = f"#repeat {EACH}: let ahead$ = read_ahead("
            assert made_by.code.index(ahead) < made_by.code.index("{ make_group(")
    packed = dml.TensorDesc(dml.DataType.FLOAT32, (3, 701))
    v = rng.uniform(-3, 3, (3, 701)).astype(np.float32)
    for n in (-3, 1.5):  # a long way to go for every element
        power = dml.ElementWiseConstantPowDesc(
            input_tensor=packed, output_tensor=packed, exponent=n
        )
        with as_gpu(device) as gpu:
            op = gpu.compile(power)
            assert "#repeat 4: let ahead$" in op.plan.dispatches[0].code
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(op(gpu.tensor(v)).numpy(), v**n, rtol=1e-6)


def test_steps_that_read_the_same_are_made_side_by_side(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    retune(monkeypatch, elementwise, FORGOTTEN=1)
    rng = np.random.default_rng(6)
    for dtype in ("uint8", "float32", "int64"):
        for sizes, shares in (((2, 4099), 2), ((3, 1024), 3), ((34, 77), 2), ((19, 300), 1)):
            kind = dml.DataType.from_numpy(dtype)
            x = rng.integers(0, 50, sizes).astype(dtype)
            y = np.broadcast_to(rng.integers(0, 50, sizes[1:]).astype(dtype), sizes)
            packed, again = dml.TensorDesc(kind, sizes), dml.TensorDesc(kind, sizes, (0, 1))
            desc = dml.ElementWiseAddDesc(a_tensor=packed, b_tensor=again, output_tensor=packed)
            with as_gpu(device) as gpu:
                plan = check(gpu, desc, [x, y], x + y)
            assert f"workgroup % {shares}u" in plan.dispatches[0].code


@pytest.mark.parametrize("name", ["Exp", "Log", "Tan", "Sinh", "Acosh", "Gelu", "ConstantPow"])
def test_elements_that_need_a_branch_change_nothing_for_their_neighbours(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A group is made without branches, and made again where an element strays."""
    edges = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, -1, 1, 88.5, 200, -200, 1e30, -1e30]
    x = np.linspace(0.5, 5, 4 * 40, dtype=np.float32)
    for n, edge in enumerate(edges):
        x[8 * n + n % 4] = edge
    tensor = dml.TensorDesc(dml.DataType.FLOAT32, x.shape)
    kind = "Activation" if name == "Gelu" else "ElementWise"
    more = {"exponent": 2.5} if name == "ConstantPow" else {}
    desc = getattr(dml, f"{kind}{name}Desc")(input_tensor=tensor, output_tensor=tensor, **more)
    found = []
    for is_quick in (True, False):
        if not is_quick:
            monkeypatch.setattr(ElementWise, "_is_quick", lambda self: False)
        with as_gpu(device) as gpu:
            op = gpu.compile(desc)
            assert ("strayed" in op.plan.dispatches[0].code) == is_quick
            found.append(op(gpu.tensor(x)).numpy())
    numbers = ~np.isnan(found[1])
    np.testing.assert_array_equal(numbers, ~np.isnan(found[0]))
    same_bits(found[0][numbers], found[1][numbers])


@pytest.mark.parametrize(
    "exponent", [2.5, -0.5, 1e-3, 3, -3, 4, -2, 0, np.inf, -np.inf, np.nan, 1e30, 2 + 1e-12, 101]
)
def test_powers_of_bases_of_either_sign(device: dml.Device, exponent: float) -> None:
    edges = [np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, -2, 1e30, -1e30, 3e-38]
    middle = np.random.default_rng(4).normal(0, 3, 501)
    with np.errstate(all="ignore"):
        ends = 2 ** (np.linspace(123, 128.5, 50) / exponent)  # whose powers end being finite
        x = np.concatenate([edges, middle, ends, -ends, 1 / ends]).astype(np.float32)
    tensor = dml.TensorDesc(dml.DataType.FLOAT32, x.shape)
    desc = dml.ElementWiseConstantPowDesc(
        input_tensor=tensor, output_tensor=tensor, exponent=exponent
    )
    with np.errstate(all="ignore"):
        wanted = (x.astype(np.float64) ** np.float64(np.float32(exponent))).astype(np.float32)
    for found in (device.compile(desc)(device.tensor(x)).numpy(), on_gpu(device, desc, x)):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-37)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


def on_gpu(device: dml.Device, desc: Any, x: Any) -> Any:
    """What a GPU's kernel makes of an array."""
    with as_gpu(device) as gpu:
        return gpu.compile(desc)(gpu.tensor(x)).numpy()


@pytest.mark.parametrize("dtype", ["uint8", "float16"])
@pytest.mark.parametrize("sizes", [(2, 5, 2), (9, 3, 4)])
def test_two_operands_in_any_order_of_axes(
    device: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    """Also where rows of the output are whole groups and those of a tile are not."""
    rng = np.random.default_rng(7)
    kind = dml.DataType.from_numpy(dtype)
    x, y = (rng.integers(0, 50, sizes).astype(dtype) for _ in range(2))

    def laid(values: Any, order: tuple[int, ...]) -> Any:
        return np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))

    def described(values: Any) -> dml.TensorDesc:
        return dml.TensorDesc(kind, sizes, [n // values.itemsize for n in values.strides])

    with as_gpu(device) as gpu:
        for a, b in product(permutations(range(3)), repeat=2):
            seen = [laid(x, a), laid(y, b)]
            p, q, made = (described(values) for values in (*seen, x))
            desc = dml.ElementWiseAddDesc(a_tensor=p, b_tensor=q, output_tensor=made)
            check(gpu, desc, seen, x + y)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_narrow_integers_are_calculated_by_words(device: dml.Device, dtype: str) -> None:
    """Every pair of bytes, also as either half of 16 bits."""
    kind, sizes, pairs = dml.DataType[dtype.upper()], (256, 258), np.arange(256 * 258)
    x, y = (((pairs // n & 255) * 0x0101 ^ 0x7F00 * (n > 1)).astype(dtype) for n in (256, 1))
    x, y = x.reshape(sizes), y.reshape(sizes)
    packed, row, column = (dml.TensorDesc(kind, sizes, s) for s in (None, (0, 1), (1, 0)))
    operands = [
        (packed, y),
        (row, np.broadcast_to(y[0], sizes)),
        (column, np.broadcast_to(y[1, :256].copy()[:, None], sizes)),
    ]
    functions = {"Add": np.add, "Subtract": np.subtract, "Max": np.maximum, "Min": np.minimum}
    if dtype.startswith("u"):
        functions |= {"BitXor": np.bitwise_xor}
    if kind.bits == 8:
        functions |= {"LogicalLessThan": np.less, "LogicalGreaterThanOrEqual": np.greater_equal}
        functions |= {"LogicalEquals": np.equal}
    with as_gpu(device) as gpu:
        for (name, function), (b, seen) in product(functions.items(), operands):
            wanted = function(x, seen)
            wanted = wanted.astype(np.uint8) if wanted.dtype == bool else wanted
            made = dml.TensorDesc(dml.DataType.from_numpy(wanted.dtype), sizes)
            describe = getattr(dml, f"ElementWise{name}Desc")
            plan = check(
                gpu, describe(a_tensor=packed, b_tensor=b, output_tensor=made), [x, seen], wanted
            )
            assert "by_words(" in plan.dispatches[0].code


def test_what_nothing_read_moves_along_is_made_once(device: dml.Device) -> None:
    """Only where a group of it would go on in the next row."""
    rng = np.random.default_rng(4)
    for length, kernels in ((31, ["elementwise", "move"]), (32, ["elementwise"])):
        sizes = (3, 200, length)
        x, y = (rng.integers(0, 50, (3, 1, length)).astype(np.float16) for _ in range(2))
        still = dml.TensorDesc(dml.DataType.FLOAT16, sizes, (length, 0, 1))
        made = dml.TensorDesc(dml.DataType.FLOAT16, sizes)
        desc = dml.ElementWiseMaxDesc(a_tensor=still, b_tensor=still, output_tensor=made)
        seen = [np.broadcast_to(v, sizes) for v in (x, y)]
        with as_gpu(device, launch=1024) as gpu:
            plan = check(gpu, desc, seen, np.maximum(*seen))
        assert [d.shader.split("/")[0] for d in plan.dispatches] == kernels


@pytest.mark.parametrize("sizes", [(96, 64), (70, 33), (45, 30, 7)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float16", "uint8"])
def test_operands_across_in_one_way_are_held_as_their_result(
    device: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    """Narrow ones, which are turned as words, only where a result is as narrow and rows end so."""
    rng = np.random.default_rng(5)
    kind = dml.DataType[dtype.upper()]
    x, y = (rng.integers(0, 9, sizes[::-1]).astype(dtype).transpose() for _ in range(2))
    seen = dml.TensorDesc(kind, sizes, [n // x.itemsize for n in x.strides])
    with as_gpu(device) as gpu:
        for name, wanted in (
            ("Add", x + y),
            ("Multiply", x * y),
            ("LogicalLessThan", (x < y).astype(np.uint8)),
        ):
            made = dml.TensorDesc(dml.DataType.from_numpy(wanted.dtype), sizes)
            describe = getattr(dml, f"ElementWise{name}Desc")
            desc = describe(a_tensor=seen, b_tensor=seen, output_tensor=made)
            (work,) = check(gpu, desc, [x, y], wanted).dispatches
            is_one = kind.bits >= 32 or (sizes == (96, 64) and made.data_type.bits == kind.bits)
            held = (1 if is_one else 2) + (wanted.itemsize == 8)
            assert work.code.count("var<workgroup>") == held


@pytest.mark.parametrize("dtype", ["uint8", "float16"])
@pytest.mark.parametrize("sizes", [(300, 83), (5, 70, 83), (3, 2, 40, 131)])
def test_rows_that_are_repeated_are_laid_out_twice(
    device: dml.Device, dtype: str, sizes: tuple[int, ...]
) -> None:
    """Then only the last row of a loop needs another one; not where as much is read as written."""
    rng = np.random.default_rng(6)
    made = dml.TensorDesc(dml.DataType[dtype.upper()], sizes)
    still = (*sizes[:-2], 1, sizes[-1])
    other = (1, *sizes[1:]) if len(sizes) > 2 else (sizes[0], 1)
    for shape, kernels in ((other, ["move", "elementwise"]), (sizes, ["elementwise"])):
        held = [rng.integers(0, 50, n).astype(dtype) for n in (shape, still)]
        seen = [np.broadcast_to(v, sizes) for v in held]
        a, b = (
            dml.TensorDesc(made.data_type, sizes, [n // v.itemsize for n in v.strides])
            for v in seen
        )
        desc = dml.ElementWiseAddDesc(a_tensor=a, b_tensor=b, output_tensor=made)
        with as_gpu(device, launch=1024) as gpu:
            plan = check(gpu, desc, seen, seen[0] + seen[1])
        assert [d.shader.split("/")[0] for d in plan.dispatches] == kernels
        ends = [line for line in plan.dispatches[-1].code.split("\n") if "if (left < " in line]
        if len(kernels) == 2:
            assert len(ends) == (len(sizes) > 2)
            assert all("&& end" in line for line in ends)
