"""Fixtures of the benchmarks under pytest.

With --benchmark-disable every workload runs once, small, in one data type, untimed; with
--benchmark-enable each is measured in all its types and sizes. Either way its result is checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import dmlgpu as dml
from benchmarks.data import Data
from benchmarks.measure import Prepared, reference
from benchmarks.problem import Problem
from benchmarks.rivals import Numpy
from benchmarks.workload import Case, shrunk
from benchmarks.workloads import WORKLOADS, cases
from dmlgpu.measure.timing import Pace, time_gpu

SMALL = 1 << 14  # elements of an untimed case
Measure = Callable[[Case], None]


def pytest_configure(config: pytest.Config) -> None:
    functions = config.getini("python_functions")
    if "bench_*" not in functions:
        config.addinivalue_line("python_functions", "bench_*")


def is_measuring(config: pytest.Config) -> bool:
    """Whether times are asked for."""
    return bool(config.getoption("benchmark_enable")) or not config.getoption("benchmark_disable")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case` becomes every case, or the smallest of every workload."""
    if "case" in metafunc.fixturenames:
        least = [Case(w, w.dtypes[0], next(iter(w.shapes))) for w in WORKLOADS]
        chosen = cases() if is_measuring(metafunc.config) else least
        metafunc.parametrize("case", chosen, ids=str)


@pytest.fixture(scope="session")
def device() -> Iterator[dml.Device]:
    """The adapter to measure; without one a benchmark is skipped, or fails where one must be."""
    try:
        made = dml.Device()
    except dml.DeviceError as error:
        if os.environ.get("DMLGPU_REQUIRE_GPU") == "1":
            pytest.fail(f"DMLGPU_REQUIRE_GPU is set and there is no adapter: {error}")
        pytest.skip(f"no adapter: {error}")
    with made:
        yield made


@pytest.fixture(scope="session")
def data(device: dml.Device) -> Data:
    """Inputs, uploaded once."""
    return Data(device, [])


@pytest.fixture
def measure(
    device: dml.Device, data: Data, benchmark: Any, request: pytest.FixtureRequest
) -> Measure:
    """Times a case from its call to its end, and checks what it made."""

    def run(case: Case) -> None:
        problem = Problem.of(case, device.adapter.kind)
        if not is_measuring(request.config):
            problem = replace(problem, shape=shrunk(problem.shape, SMALL))
        try:
            prepared = Prepared(device, problem, data)
        except dml.UnsupportedError as error:
            pytest.skip(str(error))

        def once() -> None:
            prepared()
            device.wait()

        if is_measuring(request.config):
            pace = Pace.of(device.adapter.kind)
            timed = time_gpu(device, prepared, pace)
            benchmark.extra_info.update(
                adapter=str(device.adapter),
                shape=list(problem.shape),
                gpu_ms=timed.seconds * 1e3,
                gb_per_s=prepared.traffic / timed.seconds / 1e9,
                timed_by=timed.by,
            )
        benchmark.pedantic(once, warmup_rounds=3, rounds=20)
        numpy = Numpy() if case.workload.numpy else None
        prepared.check(reference(problem, data, numpy))

    return run
