"""Float scans give the same bits in every run, on values whose sums depend on the order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod

import numpy as np

import dmlgpu as dml
from benchmarks.data import inexact
from benchmarks.problem import Problem
from benchmarks.workload import Case

FLOATS = ("float32", "float16")


@dataclass(frozen=True, slots=True)
class Repeat:
    """A scan that was run several times with one result; its hash compares it across processes."""

    workload: str
    dtype: str
    size: str
    runs: int
    sha256: str


def check_repeats(device: dml.Device, case: Case, runs: int) -> Repeat:
    """Raises when two runs differ in a bit."""
    problem = Problem.of(case, device.adapter.kind)
    x = device.tensor(inexact(case.dtype, prod(problem.shape)).reshape(problem.shape))
    op = device.compile(problem.desc)
    outs = [device.empty(op.desc.output_tensor) for _ in range(2)]
    first = op(x, out=outs[0]).numpy().reshape(-1).view(np.uint8)
    for _ in range(runs - 1):
        again = op(x, out=outs[1]).numpy().reshape(-1).view(np.uint8)
        if not np.array_equal(first, again):
            element = int(np.flatnonzero(first != again)[0]) // x.dtype.itemsize
            raise AssertionError(f"{case}: element {element} differs from one run to the next")
    digest = hashlib.sha256(first.data).hexdigest()
    return Repeat(case.workload.name, case.dtype, case.size, runs, digest)
