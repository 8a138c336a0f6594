"""Scans under pytest-benchmark."""

from __future__ import annotations

from typing import Any

import pytest

import dmlgpu as dml
from benchmarks.conftest import Measure
from benchmarks.problem import Problem
from benchmarks.workloads import Case
from dmlgpu.ops import operator_of
from dmlgpu.plan.dispatch import Adapter


@pytest.mark.gpu
def bench_run_cumulative(case: Case, measure: Measure) -> None:
    """Slower here: running sums read or write their data more than once."""
    measure(case)


def bench_host_cumulative(case: Case, benchmark: Any) -> None:
    """Slower here: describing, checking and planning a scan for the first time takes longer."""
    problem = Problem(case.workload, case.dtype, case.shape("discrete"))

    def first_time() -> int:
        desc = problem.desc()
        dml.validate(desc)
        return len(operator_of(desc).work(desc).plan(Adapter()).dispatches)

    assert benchmark(first_time) >= 1
