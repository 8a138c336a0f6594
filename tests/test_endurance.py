"""Many calls: memory, pool and caches stay bounded.

DMLGPU_ENDURANCE=100000 makes it that many calls instead of the quick number.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest
from support.programs import resident
from support.stages import F32, ramp, summation

import dmlgpu as dml
from dmlgpu.device import COMPILED_LIMIT, REMEMBERED_LIMIT

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

CALLS = int(os.environ.get("DMLGPU_ENDURANCE", "3000"))
MIB = 1 << 20


class Watch:
    """What a device and the process hold, from now on."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.resident = resident()
        self.memory = device.memory

    def check(self, title: str, *, pipelines: int, resident_mib: int, pooled_mib: int) -> None:
        gc.collect()
        device, memory = self.device, self.device.memory
        grown = (resident() - self.resident) / MIB
        held: dict[str, Any] = {
            "operators": len(device._compiled),
            "remembered": len(device.remembered),
            "bound calls": sum(len(op._executable.calls) for op in device._compiled.all()),
            "uses of buffers": sum(len(uses) for uses in device.context._uses.values()),
            "pipelines": len(device.context._pipelines),
        }
        print(f"\n{title}: {CALLS} calls, {grown:.0f} MiB more resident, {memory}, {held}")
        assert memory.in_use == self.memory.in_use
        assert memory.pooled <= pooled_mib * MIB
        assert grown < resident_mib
        assert held["operators"] <= COMPILED_LIMIT
        assert held["remembered"] <= REMEMBERED_LIMIT
        assert held["uses of buffers"] <= 4 * held["bound calls"] <= 160 * COMPILED_LIMIT
        assert held["pipelines"] <= pipelines


def test_one_shape_many_times() -> None:
    with dml.Device() as device:
        op = device.compile(summation(1000))
        x = device.tensor(ramp(1000))
        op(x).numpy()
        watch = Watch(device)
        for n in range(CALLS):
            y = op(x)
            if n % 1000 == 0:
                assert np.array_equal(y.numpy(), np.cumsum(ramp(1000), dtype=np.float32))
        assert np.array_equal(y.numpy(), np.cumsum(ramp(1000), dtype=np.float32))
        del y
        watch.check("one shape", pipelines=3, resident_mib=16, pooled_mib=1)


def changing(device: dml.Device, random: np.random.Generator) -> tuple[dml.Tensor, Any]:
    """A call of a shape that has hardly been seen before."""
    kind = int(random.integers(4))
    rows, columns = (int(n) for n in random.integers(2, 90, 2))
    values = ramp(rows * columns).reshape(rows, columns)
    if kind == 0:
        low, high = sorted(int(n) for n in random.integers(0, rows, 2))
        step = int(random.choice([-3, -2, -1, 2, 3]))
        part = slice(low, high + 1) if step > 0 else slice(None, None, step)
        return device.tensor(values)[part, ::step], values[part, ::step]
    if kind == 1:
        axis = int(random.integers(2))
        made = dml.cumulative_summation(device.tensor(values), axis)
        return made, np.cumsum(values, axis, dtype=np.float32)
    if kind == 2:
        index = random.integers(0, rows, (int(random.integers(1, 60)), 1)).astype(np.int32)
        return dml.gather_nd(device.tensor(values), index), values[index[:, 0]]
    desc = dml.TensorDesc(F32, values.shape)
    op = device.compile(
        dml.SliceDesc(
            input_tensor=desc,
            output_tensor=dml.TensorDesc(F32, (rows - 1, columns - 1)),
            offsets=(1, 1),
            sizes=(rows - 1, columns - 1),
            strides=(1, 1),
        )
    )
    return op(values), values[1:, 1:]


def test_changing_shapes() -> None:
    """Shapes live in parameters: however many there are, a few pipelines run them."""
    with dml.Device() as device:
        random = np.random.default_rng(5)
        for _ in range(1000):
            changing(device, random)
        device.wait()
        watch = Watch(device)
        for n in range(CALLS):
            got, right = changing(device, random)
            if n % 50 == 0:
                assert np.array_equal(got.numpy(), right)
        del got
        watch.check("changing shapes", pipelines=52, resident_mib=96, pooled_mib=32)


def test_tensors_dropped_while_their_work_waits() -> None:
    """Memory of a dropped tensor is used again at once; what was recorded before still sees it."""
    with dml.Device() as device:
        op = device.compile(summation(64))
        kept = []
        for n in range(200):
            x = device.tensor(np.full(64, n, np.float32))
            y = op(x)
            del x
            z = op(y)
            del y
            if n % 20 == 0:
                kept.append((n, z))
        assert device.memory.in_use <= 256 * (len(kept) + 2)
        for n, z in kept:
            assert z.numpy()[-1] == n * 64 * 65 // 2
