"""Values: one flat array per data type, of which every case takes a prefix, uploaded once.

The values repeat with an odd period over which they sum to zero. All axes step by powers of two,
so a running sum along any of them stays small: float sums are exact whatever their order, and a
result can be compared with NumPy's bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.problem import Array, Problem

PERIOD = 3001
REACH = {"float16": 2, "float32": 100}  # largest value; integers take all theirs, and wrap


def values(dtype: str, count: int) -> Array:
    """`count` values whose running sums are exact."""
    random = np.random.default_rng(7)
    if dtype in REACH:
        reach = REACH[dtype]
        period = random.integers(-reach, reach + 1, PERIOD)
        while (excess := int(period.sum())) != 0:
            sign = 1 if excess > 0 else -1
            can_move = np.flatnonzero(period != -sign * reach)[: abs(excess)]
            period[can_move] -= sign
    else:
        period = random.integers(0, 256, (PERIOD, np.dtype(dtype).itemsize), np.uint8)
        period = period.view(dtype).reshape(-1)
    return repeated(period.astype(dtype), count)


def inexact(dtype: str, count: int) -> Array:
    """`count` float values whose sums depend on the order of adding."""
    period = np.random.default_rng(8).standard_normal(PERIOD)
    period -= period.mean()  # keeps long sums finite
    return repeated(period.astype(dtype), count)


def repeated(period: Array, count: int) -> Array:
    """`count` elements of a period that repeats."""
    out = np.empty(count, period.dtype)
    first = min(count, period.size)
    out[:first] = period[:first]
    done = first
    while done < count:  # doubling; `done` stays a multiple of the period
        part = min(done, count - done)
        out[done : done + part] = out[:part]
        done += part
    return out


class Data:
    """Inputs of cases on the host and on the device; holds one data type and one index at a time.

    `problems` are those to come: the flat array of a type is made for the largest of them.
    """

    def __init__(self, device: dml.Device, problems: Iterable[Problem]) -> None:
        self._device = device
        self._needs: dict[str, int] = {}
        for problem in problems:
            needed = max(self._needs.get(problem.dtype, 0), problem.elements)
            self._needs[problem.dtype] = needed
        self._base: tuple[str, Array] | None = None
        self._uploaded: tuple[str, dml.Tensor] | None = None
        self._indices: dict[Any, tuple[Array, Array, dml.Tensor]] = {}

    def base(self, dtype: str, elements: int) -> Array:
        """The flat array of a type."""
        if self._base is None or self._base[0] != dtype or self._base[1].size < elements:
            self._base = self._uploaded = None  # before the next one takes its room
            needed = max(self._needs.get(dtype, 0), elements)
            self._base = (dtype, values(dtype, needed))
        return self._base[1]

    def host(self, problem: Problem) -> Array:
        """The problem's input."""
        base = self.base(problem.dtype, problem.elements)
        return base[: problem.elements].reshape(problem.shape)

    def input(self, problem: Problem) -> dml.Tensor:
        """The problem's input on the device."""
        base = self.base(problem.dtype, problem.elements)
        if self._uploaded is None:
            self._uploaded = (problem.dtype, self._device.tensor(base))
        desc = dml.TensorDesc(dml.DataType.from_numpy(problem.dtype), problem.shape)
        return self._uploaded[1].view(desc)

    def index(self, problem: Problem) -> tuple[Array, Array, dml.Tensor]:
        """Gathers: flat positions, index tuples, and these on the device."""
        key = (problem.workload.index_dtype, problem.index_shape, prod(problem.shape))
        if key not in self._indices:
            flat = problem.flat_index()
            pairs = problem.index(flat)
            self._indices[key] = (flat, pairs, self._device.tensor(pairs))
        return self._indices[key]
