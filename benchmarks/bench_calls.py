"""Host time of small calls under pytest-benchmark; the GPU's part is waited for outside."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from benchmarks.calls import CALLS, FEW, Small, bare, fresh_buffers, in_turn

OPERATORS = ("slice1", "gather_nd", "cumulative_summation")
FUNCTIONS = ("slice1", "index", "gather_nd", "cumulative_summation", "cumsum", "add", "sum", "take")
ROUNDS = 50


@pytest.fixture(scope="session")
def small(device: dml.Device) -> Small:
    """Small operands."""
    return Small(device)


def many(device: dml.Device, benchmark: Any, call: Any) -> None:
    """Times a round of calls that are recorded but not submitted."""

    def calls() -> None:
        for _ in range(CALLS):
            call()

    def settle() -> None:
        device.wait()

    benchmark.extra_info.update(adapter=str(device.adapter), calls=CALLS)
    benchmark.pedantic(calls, setup=settle, rounds=ROUNDS, warmup_rounds=2)


@pytest.mark.gpu
@pytest.mark.parametrize("name", OPERATORS)
def bench_host_call_seen(name: str, device: dml.Device, small: Small, benchmark: Any) -> None:
    """Slower here: something is made or looked up anew on the hot path."""
    desc, inputs, expected = {n: rest for n, *rest in small.operators()}[name]
    op = device.compile(desc)
    out = device.empty(op.desc.output_tensor)
    many(device, benchmark, lambda: op(*inputs, out=out))
    assert np.array_equal(out.numpy().reshape(expected.shape), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", OPERATORS)
def bench_host_call_pooled(name: str, device: dml.Device, small: Small, benchmark: Any) -> None:
    """Slower here: taking an output from the pool costs more."""
    desc, inputs, expected = {n: rest for n, *rest in small.operators()}[name]
    op = device.compile(desc)
    many(device, benchmark, lambda: op(*inputs))
    assert np.array_equal(op(*inputs).numpy().reshape(expected.shape), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(len(FUNCTIONS)), ids=FUNCTIONS)
def bench_host_call_function(number: int, device: dml.Device, small: Small, benchmark: Any) -> None:
    """Slower here: a function describes or compiles what it has seen before."""
    _, call, expected = list(small.functions())[number]
    many(device, benchmark, call)
    assert np.array_equal(call().numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", OPERATORS)
def bench_host_call_fresh(name: str, device: dml.Device, small: Small, benchmark: Any) -> None:
    """Slower here: binding buffers for the first time costs more."""
    desc, inputs, expected = {n: rest for n, *rest in small.operators()}[name]
    before = perf_counter()
    seconds = benchmark.pedantic(fresh_buffers, (device, desc, inputs), rounds=1)
    elapsed = perf_counter() - before
    benchmark.extra_info.update(us_per_call=seconds * 1e6)
    assert 1e-6 < seconds < elapsed / (3 * FEW)  # three rounds of five take no less than the median
    fresh = [device.tensor(t.numpy()) for t in inputs]
    found = device.compile(desc)(*fresh).numpy()
    assert np.array_equal(found.reshape(expected.shape), expected)


@pytest.mark.gpu
def bench_host_call_bare(device: dml.Device, benchmark: Any) -> None:
    """The least a call can cost: slower here means a slower wgpu or a slower machine."""
    asked = bare(device)
    before = perf_counter()
    (found,) = benchmark.pedantic(in_turn, ([asked], 1), rounds=1)
    elapsed = perf_counter() - before
    benchmark.extra_info.update(us=found.us, us_busy=found.us_busy)
    assert found.name == asked.name
    assert 0.3 < found.us < 1e6 * elapsed / CALLS  # three calls of wgpu-py, of 0.1 us at the least
