"""The rows of the table under pytest-benchmark, family by family."""

from __future__ import annotations

from typing import Any

import pytest

import dmlgpu as dml
from benchmarks.conftest import Measure
from benchmarks.problem import Problem
from benchmarks.workload import Case
from dmlgpu.ops import operator_of
from dmlgpu.plan.dispatch import Adapter


@pytest.mark.gpu
def bench_run(case: Case, measure: Measure) -> None:
    """Slower here: a kernel left the memory limit, or the limit of a bare gather."""
    measure(case)


def bench_host(case: Case, benchmark: Any) -> None:
    """Slower here: describing, checking and planning a call for the first time takes longer."""
    if not case.workload.operator:
        pytest.skip("a program has no description")

    def first_time() -> int:
        desc = Problem.of(case, "discrete").desc
        dml.validate(desc)
        return len(operator_of(desc).work(desc).plan(Adapter()).dispatches)

    assert benchmark(first_time) >= 1
