"""TOP_K and TOP_K1: the order of lines of every length, and how it is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import moves
from support.layouts import small_bindings
from support.oracle import NUMPY_TYPES, Array
from support.plans import ADAPTERS, plan

import dmlgpu as dml
from dmlgpu import AxisDirection as Direction
from dmlgpu import DataType as T
from dmlgpu.plan.dispatch import Adapter

TYPES = sorted(set(NUMPY_TYPES) - {T.FLOAT64})
LENGTHS = (1, 2, 3, 7, 8, 9, 255, 256, 257, 2049, 4095, 4096, 4097)


def random_values(data_type: T, shape: tuple[int, ...], few: bool = False) -> Array:
    """Any bits, or so few values that many are equal."""
    rng = np.random.default_rng(sum(shape))
    dtype = NUMPY_TYPES[data_type]
    if not few:
        size = int(np.prod(shape)) * dtype.itemsize
        return np.frombuffer(rng.bytes(size), dtype).reshape(shape)
    special = [0.0, -0.0, 1.5, -1.5, np.nan, np.inf, -np.inf]
    return rng.choice(special if dtype.kind == "f" else [0, 1, 2], shape).astype(dtype)


def check(device: dml.Device, x: Array, k: int, direction: Direction, axis: int = -1) -> None:
    """Values bit for bit, and places."""
    values, places = dml.top_k1(device.tensor(x), axis, k, direction)
    want, where = moves.top_k(x, axis % x.ndim, k, direction is Direction.DECREASING)
    np.testing.assert_array_equal(places.numpy(), where)
    bits = f"u{x.itemsize}"
    np.testing.assert_array_equal(values.numpy().view(bits), want.view(bits))


@pytest.mark.gpu
def test_the_largest_as_documented(device: dml.Device) -> None:
    x = np.array([[0, 1, 10, 11], [2, 3, 20, 21], [22, 24, 23, 24]], np.float32)
    values, places = dml.top_k(device.tensor(x), 1, 3)
    assert values.tolist() == [[11, 10, 1], [21, 20, 3], [24, 24, 23]]
    assert places.tolist() == [[3, 2, 1], [3, 2, 1], [1, 3, 2]]
    assert places.dtype == np.uint32
    values, places = dml.top_k1(device.tensor(x), axis=0, k=1, axis_direction=Direction.INCREASING)
    assert (values.tolist(), places.tolist()) == ([[0, 1, 10, 11]], [[0, 0, 0, 0]])


@pytest.mark.gpu
@pytest.mark.parametrize("direction", Direction, ids=lambda d: d.name)
@pytest.mark.parametrize("length", LENGTHS)
def test_lines_of_every_length(device: dml.Device, length: int, direction: Direction) -> None:
    x = random_values(T.FLOAT32, (3, length))
    for k in {1, min(7, length), length}:
        check(device, x, k, direction)


@pytest.mark.gpu
@pytest.mark.parametrize("few", [False, True], ids=["any bits", "few values"])
@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
def test_long_lines_of_every_type(device: dml.Device, data_type: T, few: bool) -> None:
    """Sorted by digits; few of them, and lines across, picked from pieces."""
    x = random_values(data_type, (70000,), few)
    check(device, x, 70000, Direction.INCREASING)
    check(device, x, 12, Direction.DECREASING)
    columns = random_values(data_type, (5000, 2), few)
    check(device, columns, 4500, Direction.DECREASING, axis=0)
    check(device, columns, 3, Direction.INCREASING, axis=0)


@pytest.mark.gpu
@pytest.mark.slow
def test_a_million_elements_have_the_same_bits_on_every_run(device: dml.Device) -> None:
    x = random_values(T.FLOAT32, (1_000_000,))
    check(device, x, len(x), Direction.INCREASING)
    t = device.tensor(x)
    first, second = (dml.top_k(t, 0, len(x)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.gpu
def test_places_of_64_bits(device: dml.Device) -> None:
    for length in (300, 6000):
        x = device.tensor(random_values(T.INT16, (2, length)))
        _, narrow = dml.top_k(x, 1, length)
        described = dml.TensorDesc(T.UINT64, (2, length))
        wanted = {"axis": 1, "k": length, "output_index_tensor": described}
        _, wide = device.operator("TOP_K", input_tensor=x.desc, **wanted)(x)
        assert wide.dtype == np.uint64
        np.testing.assert_array_equal(wide.numpy(), narrow.numpy())


@pytest.mark.gpu
@pytest.mark.slow
def test_tensors_larger_than_a_binding(device: dml.Device) -> None:
    """In windows, and with several batches of lines."""
    with small_bindings(device, 65536) as small:
        check(small, random_values(T.UINT32, (20000,)), 20000, Direction.INCREASING)
        check(small, random_values(T.INT64, (300, 40)), 40, Direction.DECREASING)


@pytest.mark.gpu
@pytest.mark.slow
def test_lines_are_sorted_in_batches(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlgpu.plan.sort.MOST_ITEMS", 12000)
    with dml.Device(device.adapter) as made:
        check(made, random_values(T.FLOAT32, (5, 5000)), 5000, Direction.INCREASING)


@pytest.mark.gpu
@pytest.mark.slow
def test_the_kernels_of_a_gpu(device: dml.Device) -> None:
    """With as little workgroup memory as every adapter has."""
    if not device.adapter.driver.startswith("Mesa 22"):
        pytest.skip("compiles what is written out for minutes")
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(
            made.context.facts, is_cpu=False, max_workgroup_size=256, max_workgroup_storage=16384
        )
        for data_type in (T.UINT8, T.FLOAT32, T.INT64):
            for few in (False, True):
                x = random_values(data_type, (2, 5000), few)
                check(made, x, 5000, Direction.DECREASING)
                check(made, x, 30, Direction.INCREASING)


@pytest.mark.gpu
@pytest.mark.parametrize("length", [1024, 1025, 2047, 4096])
def test_few_of_many_are_picked(device: dml.Device, length: int) -> None:
    """By the kernel of a GPU, equal ones in the order of their places."""
    if not device.context.facts.subgroup_min:
        pytest.skip(f"{device.adapter.name} has no subgroups")
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False)
        for data_type in (T.UINT8, T.FLOAT16, T.FLOAT32, T.INT32):
            for few in (False, True):
                x = random_values(data_type, (3, length), few)
                check(made, x, 128, Direction.DECREASING)
                check(made, x, 3, Direction.INCREASING)
        falling = np.arange(length, 0, -1, np.float32).reshape(1, -1)
        check(made, falling, 20, Direction.INCREASING)
        check(made, np.sort(falling)[:, :length], 20, Direction.INCREASING)


def order(data_type: T, length: int, k: int, lines: int = 1) -> dml.TopK1Desc:
    made = dml.infer(
        dml.TopK1Desc, input_tensor=dml.TensorDesc(data_type, (lines, length)), axis=1, k=k
    )
    assert isinstance(made, dml.TopK1Desc)
    return made


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
def test_workgroup_memory_suffices(adapter: Adapter, data_type: T) -> None:
    for length, k in ((5, 5), (1000, 1000), (100_000, 9), (100_000, 100_000)):
        for dispatch in plan(order(data_type, length, k), adapter).dispatches:
            lanes = dispatch.constants.get("WG_SIZE", 0)
            words = {"item_word": 1, "item_pair": 2, "item_triple": 3}.get(
                dispatch.slots.get("item", ""), 0
            )
            pairs = -(-dispatch.constants.get("SUBGROUPS", 0) // 2)
            used = {
                "sort/tile": 8 * lanes * words,
                "sort/count": 256,
                "sort/scatter": lanes * (16 * words + 8 + 2) + 256,
                "sort/ranked_scatter": lanes * 16 * words + 256 * pairs + 2 * pairs + 256,
                "sort/ranked_lines": lanes * 16 * words + 256 * pairs + 2 * pairs,
            }.get(dispatch.shader, 0)
            assert used or not dispatch.shader.startswith("sort/") or dispatch.shader == "sort/pick"
            assert 4 * used <= adapter.max_workgroup_storage
            assert lanes <= adapter.max_workgroup_size


@pytest.mark.parametrize(
    ("data_type", "length", "k", "kernels"),
    [
        (T.FLOAT32, 4096, 4096, ["ranked_lines"]),
        (T.UINT8, 4096, 1, ["pick"]),
        (T.FLOAT32, 4096, 128, ["pick"]),
        (T.FLOAT32, 4096, 129, ["ranked_lines"]),
        (T.FLOAT32, 512, 16, ["tile"]),  # too short to be worth a workgroup
        (T.INT64, 2048, 16, ["tile"]),  # keys of two words
        (T.FLOAT16, 1024, 1024, ["ranked_lines"]),
        (T.FLOAT32, 2048, 2048, ["tile"]),
        (T.FLOAT32, 4097, 512, ["ranked_lines", "tile"]),
        (T.FLOAT32, 1 << 26, 16, ["pick", "pick", "pick"]),
        (T.UINT8, 5000, 5000, ["count", "ranked_scatter"]),
        (T.FLOAT16, 5000, 5000, ["count", "ranked_scatter"] * 2),
        (T.FLOAT32, 4097, 513, ["count", "ranked_scatter"] * 4),
        (T.INT64, 5000, 5000, ["count", "ranked_scatter"] * 8),
    ],
)
def test_the_way_a_line_is_sorted(data_type: T, length: int, k: int, kernels: list[str]) -> None:
    adapter = replace(ADAPTERS["discrete"], max_workgroup_storage=49152)
    found = plan(order(data_type, length, k), adapter).dispatches
    ours = [d.shader.removeprefix("sort/") for d in found if d.shader.startswith("sort/")]
    assert ours == kernels
    assert found[-1].shader.startswith("sort/") == (data_type.bits == 32)


def test_without_subgroups_counters_rank_the_items() -> None:
    alone = replace(ADAPTERS["discrete"], subgroup_min=0, subgroup_max=0)
    for length, kernel in ((4096, "sort/tile"), (5000, "sort/scatter")):
        found = plan(order(T.FLOAT32, length, length), alone).dispatches
        assert kernel in [dispatch.shader for dispatch in found]


@pytest.mark.gpu
@pytest.mark.parametrize("most", [32, 128], ids=["votes in a word", "votes in words"])
def test_subgroups_rank_the_items(device: dml.Device, most: int) -> None:
    """In lines that fit workgroup memory and in longer ones; zeros and NaN keep their bits."""
    if not device.context.facts.subgroup_min:
        pytest.skip(f"{device.adapter.name} has no subgroups")
    if not device.adapter.driver.startswith("Mesa 22"):
        pytest.skip("compiles what is written out for minutes")
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False, subgroup_max=most)
        for data_type in (T.UINT8, T.FLOAT32):
            for few in (False, True):
                for length in (700, 5000):
                    x = random_values(data_type, (2, length), few)
                    check(made, x, length, Direction.DECREASING)
        across = random_values(T.FLOAT32, (1000, 3), True)
        check(made, across, 1000, Direction.INCREASING, axis=0)


@pytest.mark.gpu
def test_values_go_where_their_description_says(device: dml.Device) -> None:
    """Values and places with strides of their own."""
    x = random_values(T.FLOAT32, (6, 50), True)
    described = dml.infer(
        dml.TopK1Desc, input_tensor=dml.TensorDesc(T.FLOAT32, (6, 50)), axis=1, k=20
    )
    values = replace(described.output_value_tensor, strides=(1, 6))
    op = device.compile(replace(described, output_value_tensor=values))
    found, places = op(device.tensor(x))
    want, where = moves.top_k(x, 1, 20, described.axis_direction is Direction.DECREASING)
    np.testing.assert_array_equal(places.numpy(), where)
    np.testing.assert_array_equal(found.numpy().view("u4"), want.view("u4"))


def test_no_workgroup_waits_for_another() -> None:
    assert not plan(order(T.FLOAT32, 1 << 26, 1 << 26), ADAPTERS["discrete"]).waits


def test_short_lines_share_a_workgroup() -> None:
    tile = plan(order(T.FLOAT32, 60, 60, 1000), ADAPTERS["discrete"]).dispatches[0]
    assert (tile.constants["WG_SIZE"], tile.workgroups) == (64, 125)


def refused(**change: Any) -> dml.TopKDesc:
    sizes = dml.TensorDesc(T.FLOAT32, (2, 5))
    fields = {
        "input_tensor": sizes,
        "output_value_tensor": dml.TensorDesc(T.FLOAT32, (2, 3)),
        "output_index_tensor": dml.TensorDesc(T.UINT32, (2, 3)),
        "axis": 1,
        "k": 3,
    }
    return dml.TopKDesc(**{**fields, **change})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k": 0}, r"k is 0; .* must be in \[1, 5\]"),
        ({"k": 6}, r"k is 6; .* must be in \[1, 5\]"),
        ({"axis": 2}, "axis is 2"),
        ({"k": 2}, r"output_value_tensor has sizes \(2, 3\); the other fields give \(2, 2\)"),
        (
            {"output_index_tensor": dml.TensorDesc(T.UINT32, (2, 2))},
            "output_index_tensor has sizes",
        ),
        ({"output_index_tensor": dml.TensorDesc(T.INT32, (2, 3))}, "output_index_tensor is INT32"),
    ],
)
def test_what_is_refused(change: dict[str, Any], told: str) -> None:
    dml.validate(refused())
    with pytest.raises(dml.DmlError, match=rf"^TOP_K: {told}"):
        dml.validate(refused(**change))


def test_a_line_whose_items_cannot_be_counted_is_refused() -> None:
    with pytest.raises(dml.UnsupportedError, match="2\\^32"):
        plan(order(T.UINT64, 1 << 31, 1 << 31))
