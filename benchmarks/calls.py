"""Host time per call: what the caller's thread spends before a call returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.rivals import Cupy, Rival, Torch
from dmlgpu.roofline import copy_kernel

CALLS = 1024  # in a row, submissions included
ROUNDS = 5
FEW = 32  # in a row, of what is slow or not submitted
FEW_ROUNDS = 30
BATCH = 64  # bare dispatches per submission, as many as the library takes


@dataclass(frozen=True, slots=True)
class HostTime:
    """Microseconds of one call with its share of the submissions: until it returns, and busy."""

    name: str
    us: float
    us_busy: float | None = None  # of the calling thread, without what it waited for


def per_call(
    call: Callable[[], Any], wait: Callable[[], Any], calls: int, rounds: int
) -> tuple[float, float]:
    """Medians over rounds of seconds per call, by the wall and busy; the GPU is idle before."""
    call()
    wait()
    taken = []
    for _ in range(rounds):
        before, busy = perf_counter(), thread_time()
        for _ in range(calls):
            call()
        taken.append(((perf_counter() - before) / calls, (thread_time() - busy) / calls))
        wait()
    return median(wall for wall, _ in taken), median(busy for _, busy in taken)


def host_time(
    name: str,
    call: Callable[[], Any],
    wait: Callable[[], Any],
    scale: float,
    calls: int = CALLS,
) -> HostTime:
    """The time of one call; `scale` is a part of the rounds that are usual."""
    wall, busy = per_call(call, wait, calls, max(1, int(ROUNDS * scale)))
    return HostTime(name, wall * 1e6, busy * 1e6)


def bare(device: dml.Device, scale: float = 1.0) -> HostTime:
    """set_pipeline, set_bind_group and dispatch in one open pass: the least any call can cost."""
    kernel, tensors = copy_kernel(device, 4096)
    pipeline, group = kernel.parts
    gpu = device.gpu.device

    def batch() -> None:
        encoder = gpu.create_command_encoder()
        open_pass = encoder.begin_compute_pass()
        for _ in range(BATCH):
            open_pass.set_pipeline(pipeline)
            open_pass.set_bind_group(0, group)
            open_pass.dispatch_workgroups(1)
        open_pass.end()
        gpu.queue.submit([encoder.finish()])

    name = "bare set_pipeline + set_bind_group + dispatch"
    found = host_time(name, batch, device.wait, scale, CALLS // BATCH)
    del tensors
    return HostTime(name, found.us / BATCH, (found.us_busy or 0) / BATCH)


class Small:
    """Small operands: one operator of each family, compiled, and the same as functions."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.host = np.arange(4096, dtype=np.float32).reshape(4, 16, 64)
        self.indices = np.arange(64, dtype=np.int64)[::-1].reshape(64, 1).copy()
        self.rows = self.host.reshape(64, 64)
        f32 = dml.DataType.FLOAT32
        block, square = dml.TensorDesc(f32, (4, 16, 64)), dml.TensorDesc(f32, (64, 64))
        self.slice_desc = dml.Slice1Desc(
            input_tensor=block,
            output_tensor=dml.TensorDesc(f32, (4, 15, 60)),
            input_window_offsets=(0, 1, 2),
            input_window_sizes=(4, 15, 60),
            input_window_strides=(1, 1, 1),
        )
        self.gather_desc = dml.GatherNdDesc(
            input_tensor=square,
            indices_tensor=dml.TensorDesc(dml.DataType.INT64, (64, 1)),
            output_tensor=square,
            input_dimension_count=2,
            indices_dimension_count=2,
        )
        self.sum_desc = dml.CumulativeSummationDesc(
            input_tensor=square, output_tensor=square, axis=1
        )
        self.x = device.tensor(self.host)
        self.square = device.tensor(self.rows)
        self.at = device.tensor(self.indices)

    def operators(self) -> Iterator[tuple[str, Any, tuple[dml.Tensor, ...], Any]]:
        """(name, description, inputs, expected result)."""
        yield "slice1", self.slice_desc, (self.x,), self.host[:, 1:, 2:-2]
        yield "gather_nd", self.gather_desc, (self.square, self.at), self.rows[::-1]
        sums = np.cumsum(self.rows, 1, np.float32)
        yield "cumulative_summation", self.sum_desc, (self.square,), sums

    def functions(self) -> Iterator[tuple[str, Callable[[], dml.Tensor], Any]]:
        """(what is written, the call, expected result)."""
        window = self.host[:, 1:, 2:-2]
        args = ((0, 1, 2), (4, 15, 60), (1, 1, 1))
        yield "dml.slice1(x, ...)", lambda: dml.slice1(self.x, *args), window
        yield "x[:, 1:, 2:-2]", lambda: self.x[:, 1:, 2:-2], window
        yield "dml.gather_nd(x, i)", lambda: dml.gather_nd(self.square, self.at), self.rows[::-1]
        sums = np.cumsum(self.rows, 1, np.float32)
        call = lambda: dml.cumulative_summation(self.square, 1)  # noqa: E731
        yield "dml.cumulative_summation(x, 1)", call, sums


def fresh_buffers(device: dml.Device, desc: Any, inputs: tuple[dml.Tensor, ...]) -> float:
    """Seconds of a call whose tensors lie in buffers that the operator has never seen."""
    op = device.compile(desc)
    seconds = []
    kept = []  # so that the pool cannot hand these buffers out again
    for _ in range(5):
        many = [
            ([device.tensor(t.numpy()) for t in inputs], device.empty(op.output_desc))
            for _ in range(FEW)
        ]
        device.wait()
        before = perf_counter()
        for operands, out in many:
            op(*operands, out=out)
        seconds.append((perf_counter() - before) / FEW)
        device.wait()
        kept.append(many)
    return median(seconds)


def _fresh_operands(device: dml.Device, op: dml.CompiledOperator) -> None:
    op(*(device.empty(desc) for desc in op.input_descs))


def measure_calls(device: dml.Device, others: list[Rival], scale: float) -> Iterator[HostTime]:
    """Every row of the table of host times."""
    yield bare(device, scale)
    small = Small(device)
    for name, desc, inputs, expected in small.operators():
        op = device.compile(desc)
        out = device.empty(op.output_desc)
        seen = partial(op, *inputs, out=out)
        yield host_time(f"{name}: op(x, out=y), tensors seen before", seen, device.wait, scale)
        pooled = partial(op, *inputs)
        yield host_time(f"{name}: op(x), output from the pool", pooled, device.wait, scale)
        assert np.array_equal(out.numpy().reshape(expected.shape), expected), name
        fresh = partial(_fresh_operands, device, op)
        yield host_time(f"{name}: op(x) with x fresh from the pool", fresh, device.wait, scale)
        us = fresh_buffers(device, desc, inputs) * 1e6
        yield HostTime(f"{name}: op(x, out=y), buffers never seen", us)
        again = partial(device.compile, desc)
        compiling, _ = per_call(again, device.wait, FEW, FEW_ROUNDS)
        yield HostTime(f"{name}: compile(desc), seen before", compiling * 1e6)
    for name, call, expected in small.functions():
        assert np.array_equal(call().numpy(), expected), name
        yield host_time(name, call, device.wait, scale)
    yield HostTime("256 bytes read back", _round_trip(device) * 1e6)
    for rival in others:
        yield from _rival_calls(rival, small, scale)


def _round_trip(device: dml.Device) -> float:
    tensor = device.tensor(np.arange(64, dtype=np.float32))
    return per_call(lambda: tensor.numpy(), device.wait, 10, FEW_ROUNDS)[0]


def _rival_calls(rival: Rival, small: Small, scale: float) -> Iterator[HostTime]:
    calls: dict[str, Callable[[], Any]] = {}
    if isinstance(rival, Torch):
        torch = rival.torch
        x = torch.from_numpy(small.host).to(rival.where)
        rows = torch.from_numpy(small.rows).to(rival.where)
        at = torch.from_numpy(small.indices[:, 0].copy()).to(rival.where)
        calls["x[:, 1:, 2:-2].clone()"] = lambda: x[:, 1:, 2:-2].clone()
        calls["x[i]"] = lambda: rows[at]
        calls["torch.cumsum(x, 1)"] = lambda: torch.cumsum(rows, 1)
    elif isinstance(rival, Cupy):
        cupy = rival.cupy
        cx, crows = cupy.asarray(small.host), cupy.asarray(small.rows)
        cat = cupy.asarray(small.indices[:, 0])
        calls["x[:, 1:, 2:-2].copy()"] = lambda: cx[:, 1:, 2:-2].copy()
        calls["cupy.take(x, i, 0)"] = lambda: cupy.take(crows, cat, 0)
        calls["cupy.cumsum(x, 1)"] = lambda: cupy.cumsum(crows, 1)
    for name, call in calls.items():
        yield host_time(f"{rival.name} {rival.where}: {name}", call, rival.synchronize, scale)
