"""Everything a device does, in small stages that can be tried, interrupted and tried again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dmlgpu as dml

Array = np.ndarray[Any, Any]
F32 = dml.DataType.FLOAT32


def summation(size: int) -> dml.CumulativeSummationDesc:
    line = dml.TensorDesc(F32, (size,))
    return dml.CumulativeSummationDesc(input_tensor=line, output_tensor=line, axis=0)


_RAMP = (np.arange(1 << 20) % 7).astype(np.float32)


def ramp(size: int) -> Array:
    return _RAMP[:size]


class Bench:
    """A device with a tensor that was read, and one whose call waits to be submitted."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.values = ramp(500)
        self.kept = device.tensor(self.values)
        self.op = device.compile(summation(500))
        self.op(self.kept).numpy()
        self.large = device.tensor(ramp(700_000))
        self.pending: dml.Tensor | None = None
        self.renew()

    def renew(self) -> None:
        """Caches of memory and transfers emptied, and one call recorded but not submitted."""
        self.pending = None
        self.device.flush()
        with self.device.context.lock:
            self.device.context.pool.clear()
            self.device.context.transfers.close()
        self.pending = self.op(self.kept)

    def accounted(self) -> None:
        """The device holds exactly what is alive: these tensors, and scratch memory."""
        alive = [self.kept.storage, self.large.storage]
        alive += [lease.storage for lease in self.device.context._scratch.values()]
        alive += [] if self.pending is None else [self.pending.storage]
        right = sum(storage.size for storage in alive)
        if self.device.memory.in_use != right:
            gc.collect()  # slow, and needed only where a traceback lies in a cycle
        assert self.device.memory.in_use == right

    def intact(self) -> None:
        """The earlier tensors hold what they held, and the recorded call has run once."""
        assert np.array_equal(self.kept.numpy(), self.values)
        assert self.pending is not None
        assert np.array_equal(self.pending.numpy(), np.cumsum(self.values, dtype=np.float32))
        assert np.array_equal(self.large.numpy(), ramp(700_000))


@dataclass(frozen=True)
class Stage:
    """`run` gives what it got and what is right; `number` makes shapes that are new each time."""

    name: str
    run: Callable[[Bench, int], tuple[Array, Array]]


def upload(bench: Bench, number: int) -> tuple[Array, Array]:
    values = ramp(1000 + number)
    return bench.device.tensor(values).numpy(), values


def upload_large(bench: Bench, number: int) -> tuple[Array, Array]:
    values = ramp(600_000 + number)
    made = bench.device.tensor(values)
    return made.numpy(), values


def reverse(bench: Bench, number: int) -> tuple[Array, Array]:
    values = ramp(1001 + number)
    return bench.device.tensor(values)[::-1].numpy(), values[::-1]


def copy(bench: Bench, number: int) -> tuple[Array, Array]:
    values = ramp(8192 + 4 * number)
    return bench.device.tensor(values)[4:4100].numpy(), values[4:4100]


def gather(bench: Bench, number: int) -> tuple[Array, Array]:
    values, index = ramp(60 + number), np.array([[3], [0], [59]], np.int32)
    x, i = bench.device.tensor(values), bench.device.tensor(index)
    return dml.gather_nd(x, i).numpy(), values[index[:, 0]]


def scan(bench: Bench, number: int) -> tuple[Array, Array]:
    values = ramp(90_000 + number)
    made = dml.cumulative_summation(bench.device.tensor(values), 0)
    return made.numpy(), np.cumsum(values, dtype=np.float32)


def repeat(bench: Bench, number: int) -> tuple[Array, Array]:
    return bench.op(bench.kept).numpy(), np.cumsum(bench.values, dtype=np.float32)


def read(bench: Bench, number: int) -> tuple[Array, Array]:
    return bench.kept.numpy(), bench.values


def read_large(bench: Bench, number: int) -> tuple[Array, Array]:
    return bench.large.numpy(), ramp(700_000)


def wait(bench: Bench, number: int) -> tuple[Array, Array]:
    made = bench.op(bench.kept)
    bench.device.wait()
    return made.numpy(), np.cumsum(bench.values, dtype=np.float32)


def profile(bench: Bench, number: int) -> tuple[Array, Array]:
    with bench.device.profile() as found:
        made = bench.op(bench.kept)
        part = bench.kept[4:300].copy()
    assert [call.name for call in found.calls] == ["CUMULATIVE_SUMMATION", "SLICE1"]
    assert np.array_equal(part.numpy(), bench.values[4:300])
    return made.numpy(), np.cumsum(bench.values, dtype=np.float32)


STAGES = [
    Stage("upload", upload),
    Stage("large upload", upload_large),
    Stage("slice", reverse),
    Stage("slice by copies", copy),
    Stage("gather, checked", gather),
    Stage("scan", scan),
    Stage("repeated call", repeat),
    Stage("read-back", read),
    Stage("large read-back", read_large),
    Stage("wait", wait),
    Stage("profile", profile),
]
