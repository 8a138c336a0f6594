"""Values of operands: made once for the largest case of a type, uploaded once, used by prefix.

Numbers repeat with an odd period over which they sum to zero. Axes step by powers of two, so a
running sum along any of them stays small: float sums are exact whatever their order, and a result
can be compared with NumPy's bit for bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

import dmlgpu as dml
from benchmarks.problem import Array, Layout, Problem

PERIOD = 3001
REACH = {"float16": 2, "float32": 100}  # largest number; integers take all theirs, and wrap
ROTATED = 517  # elements by which operands differ, so that no two are equal


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


def periodic(layout: Layout, count: int) -> Array:
    """Numbers that do not depend on the sizes: a longer array begins with a shorter one."""
    kind, dtype = layout.operand.values, layout.dtype
    random = np.random.default_rng(9)
    if kind == "unit":
        period = random.uniform(-1, 1, PERIOD).astype(dtype)
    elif kind == "positive":
        period = random.uniform(0.5, 2, PERIOD).astype(dtype)
    elif kind == "mask":
        period = random.integers(0, 2, PERIOD).astype(dtype)
    elif kind == "factors" and dtype in REACH:
        period = random.choice([-1, 1], PERIOD).astype(dtype)
    else:
        period = values(dtype, PERIOD)
    return repeated(np.roll(period, ROTATED * ord(layout.operand.name[-1])), count)


def of_sizes(layout: Layout, shape: tuple[int, ...]) -> Array:
    """Values that depend on the sizes: positions above all."""
    kind, below = layout.operand.values, layout.operand.below
    random = np.random.default_rng(layout.elements)
    if kind == "order":
        made = random.permutation(np.arange(layout.elements, dtype=np.uint32))
    elif kind == "turned":  # an odd step through a line whose size is a power of two, or nearly
        line = layout.shape[-1]
        step = next(n for n in range(line // 3, 2 * line) if np.gcd(n, line) == 1)
        rows = np.arange(layout.elements // line, dtype=np.uint32)[:, None]
        made = (rows * 5 + np.arange(line, dtype=np.uint32) * np.uint32(step)) % np.uint32(line)
    elif kind == "keys" and layout.dtype in REACH:
        made = random.random(layout.elements, np.float32) - 0.5
    elif kind == "keys":
        info = np.iinfo(layout.dtype)
        made = random.integers(info.min, info.max, layout.elements, layout.dtype, endpoint=True)
    elif kind == "places":
        made = random.integers(0, below(shape), layout.shape, layout.dtype)
    elif kind == "range":
        made = np.arange(layout.elements)
    else:
        made = np.full(layout.elements, below(shape))
    return made.astype(layout.dtype).reshape(layout.shape)


PERIODIC = ("numbers", "unit", "positive", "mask", "factors")


class Data:
    """Operands on the host and on the device; holds those of one data type at a time.

    `problems` are those to come: an array is made for the largest of them.
    """

    def __init__(self, device: dml.Device, problems: Iterable[Problem]) -> None:
        self._device = device
        self._needs: dict[Hashable, int] = {}
        for problem in problems:
            for layout in problem.layouts:
                key = self._key(problem, layout)
                self._needs[key] = max(self._needs.get(key, 0), layout.elements)
        self._dtype = ""
        self._held: dict[Hashable, tuple[Array, list[dml.Tensor]]] = {}

    @staticmethod
    def _key(problem: Problem, layout: Layout) -> Hashable:
        """What two operands share that can use one array."""
        operand = layout.operand
        if operand.values in PERIODIC:
            return (operand.name, operand.values, layout.dtype)
        return (operand.values, layout.dtype, layout.shape, problem.shape)

    def _entry(self, problem: Problem, layout: Layout) -> tuple[Array, list[dml.Tensor]]:
        if self._dtype != problem.dtype:  # the next ones take their room
            self._held.clear()
            self._dtype = problem.dtype
        key = self._key(problem, layout)
        if key not in self._held or self._held[key][0].size < layout.elements:
            if layout.operand.values in PERIODIC:
                count = max(self._needs.get(key, 0), layout.elements)
                made = periodic(layout, count)
            else:
                made = of_sizes(layout, problem.shape).reshape(-1)
            self._held[key] = (made, [])
        return self._held[key]

    def flat(self, problem: Problem, layout: Layout) -> Array:
        """The array of which the operand is a prefix."""
        return self._entry(problem, layout)[0]

    def tensor(self, problem: Problem, layout: Layout) -> dml.Tensor:
        """The operand on the device."""
        flat, uploaded = self._entry(problem, layout)
        if not uploaded:
            uploaded.append(self._device.tensor(flat))
        return uploaded[0].view(layout.desc())


def strided(flat: Array, layout: Layout) -> Array:
    """The operand as NumPy sees it."""
    steps = tuple(step * flat.itemsize for step in layout.strides)
    return np.lib.stride_tricks.as_strided(
        flat[: layout.elements], layout.sizes, steps, writeable=False
    )
