"""Tensors larger than a binding: loops cut into parts, and operators run under small limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import Case
from support.execution import executor
from support.generate import cases, check
from support.plans import ADAPTERS, copy, plan, rows, running

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.plan.parts import Part, Walk, split

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SOME = settings(max_examples=400 if LONG else 25)
FEW = settings(max_examples=400 if LONG else 8)  # each compiles shaders of its own


@st.composite
def loops(draw: Any) -> tuple[tuple[int, ...], list[Walk], int]:
    sizes = tuple(draw(st.lists(st.integers(1, 20), min_size=1, max_size=3)))
    walks = []
    for n in range(draw(st.integers(1, 3))):
        based = draw(st.booleans())
        bits = draw(st.sampled_from((8, 16, 32, 64, 128)))
        step = st.sampled_from((0, 1, 2, 3, 4, 16, 64, 100))
        steps = tuple(draw(step) * (draw(st.sampled_from((1, -1))) if based else 1) for _ in sizes)
        low = -sum(min(0, (n - 1) * s) for n, s in zip(sizes, steps, strict=True))
        walks.append(Walk(f"t{n}", bits, low if based else 0, steps, based))
    return sizes, walks, draw(st.sampled_from((512, 1024, 4096, 1 << 20)))


def elements(part: Part, walk: Walk) -> np.ndarray[Any, Any]:
    """Places of all elements of a part, counted from the start of the tensor."""
    begin = part.spans[walk.field][0] * 8 // walk.bits
    places = np.array(begin + part.starts[walk.field])
    for size, step in zip(part.sizes, walk.steps, strict=True):
        places = places[..., None] + np.arange(size) * step
    return places


@given(loops())
def test_parts_are_all_of_it_and_each_fits(case: tuple[tuple[int, ...], list[Walk], int]) -> None:
    sizes, walks, most = case
    parts = split(sizes, walks, most, len(sizes))
    if parts is None:
        return
    steps: list[tuple[int, ...]] = []
    for part in parts:
        ranges = [range(f, f + n) for f, n in zip(part.first, part.sizes, strict=True)]
        steps += product(*ranges)
        for walk in walks:
            start, end = part.spans[walk.field]
            assert 0 <= start < end <= start + most
            assert start % 16 == end % 16 == 0
            assert walk.based or part.starts[walk.field] == 0
            places = elements(part, walk) * walk.bits // 8
            assert start <= places.min()
            assert places.max() + walk.bits // 8 <= end
    assert sorted(steps) == sorted(product(*map(range, sizes)))
    for walk in walks:
        whole = replace(parts[0], sizes=sizes, spans={walk.field: (0, 0)})
        all_of_it = elements(replace(whole, starts={walk.field: walk.start}), walk)
        found = np.concatenate([elements(part, walk).ravel() for part in parts])
        np.testing.assert_array_equal(np.sort(found), np.sort(all_of_it.ravel()))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_fits_a_binding_is_not_cut(adapter: str) -> None:
    facts = replace(ADAPTERS[adapter], max_binding=1 << 27)
    for sizes in ((1 << 15, 1 << 10), (1 << 25,)):
        made = plan(copy(TensorDesc(T.FLOAT32, sizes), steps=(-1,) * len(sizes)), facts)
        assert [dispatch.spans for dispatch in made.dispatches] == [{}]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_large_slices_and_gathers_are_cut_into_parts_that_fit(adapter: str) -> None:
    facts = replace(ADAPTERS[adapter], max_binding=1 << 27)
    big = TensorDesc(T.FLOAT32, (3 << 15, 4096))  # 1.5 GiB
    narrow = TensorDesc(T.UINT8, (5, 3 << 28))
    for desc in (
        copy(big, offsets=(1, 5), windows=((3 << 15) - 1, 4091)),
        copy(big, steps=(-1, -1)),
        copy(narrow, steps=(1, -1)),
        copy(narrow, offsets=(3, 12345), windows=(1, 999)),
        rows(big, (3 << 15, 1), T.INT32),
        rows(TensorDesc(T.FLOAT32, (100, 100)), (3 << 26, 2), T.INT64),
    ):
        for dispatch in plan(desc, facts).dispatches:
            assert {"output_tensor"} < set(dispatch.spans)
            assert all(end - start <= 1 << 27 for start, end in dispatch.spans.values())


def test_lines_are_scanned_in_parts() -> None:
    facts = replace(ADAPTERS["software"], max_binding=1 << 27)
    made = plan(running("sum", TensorDesc(T.FLOAT32, (3 << 15, 4096)), 1), facts)
    spans = [dispatch.spans for dispatch in made.dispatches]
    assert all(end - start <= 1 << 27 for span in spans for start, end in span.values())
    assert len({span["input_tensor"] for span in spans}) == 13


@pytest.mark.parametrize("name", ["software", "discrete"])
@pytest.mark.parametrize("data_type", [T.FLOAT16, T.FLOAT32, T.INT64])
def test_a_line_is_scanned_a_stretch_of_segments_at_a_time(name: str, data_type: T) -> None:
    facts = replace(ADAPTERS[name], max_binding=1 << 27)
    source = TensorDesc(data_type, (3 << 27,))
    made = plan(running("sum", source, 0, axis_direction=1), facts)
    passes = {"reduce": 0, "scan_carried": 0}
    for dispatch in made.dispatches:
        if "input_tensor" in dispatch.bindings.values():
            passes[dispatch.entry] += 1
            start, end = dispatch.spans["input_tensor"]
            assert end - start <= 1 << 27
            assert dispatch.spans["partials0"][0] % 256 == 0
    least = source.total_tensor_size_in_bytes >> 27
    assert least < passes["reduce"] == passes["scan_carried"] <= least + 2


class Small:
    """A device whose adapter binds so few bytes at once that a case needs several bindings."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.execute = executor(device)
        self.needs_windows = device.context.gpu.max_binding < device.context.gpu.max_buffer

    def limit(self, tensors: Sequence[TensorDesc]) -> None:
        largest = max(tensor.total_tensor_size_in_bytes for tensor in tensors)
        most = max(1024, largest // 5 // 256 * 256)
        together = sum(tensor.total_tensor_size_in_bytes for tensor in tensors)
        context = self.device.context
        while together // most + 4 > context.gpu.max_bindings:  # windows of all, if none is cut
            most += 256
        context.gpu.max_binding = most
        context.facts = replace(context.facts, max_binding=most)
        self.device._compiled.clear()

    def run(self, desc: Any, *rest: Any, **how: Any) -> dict[str, bytes]:
        self.limit(list(desc.tensors().values()))
        return self.execute(desc, *rest, **how)


@pytest.fixture(scope="module")
def small(device: dml.Device) -> Iterator[Small]:
    with dml.Device(device.adapter) as made:
        yield Small(made)


@pytest.fixture(scope="module")
def windows(small: Small) -> Small:
    """SwiftShader takes minutes and gigabytes to compile moves with windows; it needs none."""
    if not small.needs_windows:
        pytest.skip("this adapter binds as much as a buffer holds")
    return small


@pytest.mark.gpu
@SOME
@given(cases("SLICE1"))
def test_slice1_in_parts(windows: Small, case: Case) -> None:
    check(case, windows.run)


@pytest.mark.gpu
@SOME
@given(cases("SLICE"))
def test_slice_in_parts(windows: Small, case: Case) -> None:
    check(case, windows.run)


@pytest.mark.gpu
@FEW
@given(cases("GATHER_ND1"))
def test_gather_nd1_in_parts(windows: Small, case: Case) -> None:
    check(case, windows.run)


@pytest.mark.gpu
@SOME
@given(cases("CUMULATIVE_SUMMATION"))
def test_sums_in_parts(small: Small, case: Case) -> None:
    check(case, small.run)


@pytest.mark.gpu
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("data_type", [T.FLOAT16, T.INT64], ids=lambda t: t.name)
def test_a_long_line_in_parts(small: Small, data_type: T, backward: bool) -> None:
    """Each pass goes over the line in several stretches."""
    rng = np.random.default_rng(3)
    x = rng.integers(-1, 2, (5 << 20) + 3).astype(data_type.numpy)
    desc = running("sum", TensorDesc(data_type, x.shape), 0, axis_direction=int(backward))
    small.limit([desc.input_tensor])
    op = small.device.compile(desc)
    assert len({tuple(one.spans.items()) for one in op.plan.dispatches}) > 5
    expected = x[::-1].cumsum(dtype=np.int64)[::-1] if backward else x.cumsum(dtype=np.int64)
    np.testing.assert_array_equal(op(x).numpy(), expected.astype(x.dtype))
    given = small.device.tensor(x)
    np.testing.assert_array_equal(op(given, out=given).numpy(), expected.astype(x.dtype))
