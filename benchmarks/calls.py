"""Host time per call: what the caller's thread spends before a call returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import neg
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.rivals import Cupy, Library, Torch
from dmlgpu.measure.roofline import copy_kernel
from dmlgpu.measure.timing import warm_up

CALLS = 1024  # in a row, submissions included
ROUNDS = 7
FEW = 32  # in a row, of what is slow or not submitted
FEW_ROUNDS = 30
BATCH = 64  # bare dispatches per submission, as many as the library takes
LARGE = {"cpu": 1 << 20}  # bytes of a call that the GPU takes longer for than the host, by adapter
LARGE_ELSEWHERE = 64 << 20
WARM_SECONDS = 0.5  # of large calls, before they are timed


@dataclass(frozen=True, slots=True)
class HostTime:
    """Microseconds of one call with its share of the submissions: until it returns, and busy."""

    name: str
    us: float
    us_busy: float | None = None  # of the calling thread, without what it waited for


@dataclass(frozen=True, slots=True)
class Asked:
    """Something to time: `call` does it `times` times, and is called `calls` times in a row."""

    name: str
    call: Callable[[], Any]
    wait: Callable[[], Any]
    calls: int = CALLS
    times: int = 1

    def once(self) -> tuple[float, float]:
        """Seconds of doing it once, by the wall and busy; nothing is left to do before."""
        self.wait()
        before, busy = perf_counter(), thread_time()
        for _ in range(self.calls):
            self.call()
        done = self.calls * self.times
        return (perf_counter() - before) / done, (thread_time() - busy) / done


def in_turn(asked: Sequence[Asked], rounds: int) -> list[HostTime]:
    """Medians over rounds in which each has its turn, so that what slows one slows all."""
    for one in asked:
        one.call()
    taken = [[one.once() for one in asked] for _ in range(rounds)]
    for one in asked:
        one.wait()
    found = []
    for one, times in zip(asked, zip(*taken, strict=True), strict=True):
        wall, busy = (median(column) * 1e6 for column in zip(*times, strict=True))
        found.append(HostTime(one.name, wall, busy))
    return found


def bare(device: dml.Device) -> Asked:
    """set_pipeline, set_bind_group and dispatch in one open pass: the least any call can cost."""
    kernel, tensors = copy_kernel(device, 4096)
    pipeline, group = kernel.parts
    gpu = device.wgpu_device

    def batch(_kept: list[dml.Tensor] = tensors) -> None:
        encoder = gpu.create_command_encoder()
        open_pass = encoder.begin_compute_pass()
        for _ in range(BATCH):
            open_pass.set_pipeline(pipeline)
            open_pass.set_bind_group(0, group)
            open_pass.dispatch_workgroups(1)
        open_pass.end()
        gpu.queue.submit([encoder.finish()])

    name = "bare set_pipeline + set_bind_group + dispatch"
    return Asked(name, batch, device.wait, CALLS // BATCH, BATCH)


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
        self.line = device.tensor(self.indices[:, 0].copy())

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
        yield "x[:, 1:, 2:-2].copy()", lambda: self.x[:, 1:, 2:-2].copy(), window
        yield "dml.gather_nd(x, i)", lambda: dml.gather_nd(self.square, self.at), self.rows[::-1]
        sums = np.cumsum(self.rows, 1, np.float32)
        call = lambda: dml.cumulative_summation(self.square, 1)  # noqa: E731
        yield "dml.cumulative_summation(x, 1)", call, sums
        yield "x.cumsum(1)", lambda: self.square.cumsum(1), sums
        yield "x + y", lambda: self.square + self.square, self.rows + self.rows
        yield "x.sum(1)", lambda: self.square.sum(1), self.rows.sum(1)
        yield "x.take(i, 0)", lambda: self.square.take(self.line, 0), self.rows[::-1]


def fresh_buffers(device: dml.Device, desc: Any, inputs: tuple[dml.Tensor, ...]) -> float:
    """Seconds of a call whose tensors lie in buffers that the operator has never seen."""
    op = device.compile(desc)
    seconds = []
    kept = []  # so that the pool cannot hand these buffers out again
    for _ in range(5):
        many = [
            ([device.tensor(t.numpy()) for t in inputs], device.empty(op.desc.output_tensor))
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
    op(*(device.empty(desc) for desc in op.desc.inputs().values()))


def measure_calls(device: dml.Device, others: list[Library], scale: float) -> Iterator[HostTime]:
    """Every row of the table of host times; `scale` is a part of the rounds that are usual."""
    rounds = max(1, int(ROUNDS * scale))
    small = Small(device)
    asked = [bare(device)]
    for name, desc, inputs, expected in small.operators():
        op = device.compile(desc)
        out = device.empty(op.desc.output_tensor)
        again = partial(op, *inputs, out=out)
        again()
        assert np.array_equal(out.numpy().reshape(expected.shape), expected), name
        asked.append(Asked(f"{name}: op(x, out=y), tensors seen before", again, device.wait))
    least, *seen = in_turn(asked, rounds)
    yield least
    for (name, desc, inputs, _), found in zip(small.operators(), seen, strict=True):
        yield found
        op = device.compile(desc)
        pooled = Asked(f"{name}: op(x), output from the pool", partial(op, *inputs), device.wait)
        fresh = partial(_fresh_operands, device, op)
        other = Asked(f"{name}: op(x) with x fresh from the pool", fresh, device.wait)
        yield from in_turn([pooled, other], rounds)
        us = fresh_buffers(device, desc, inputs) * 1e6
        yield HostTime(f"{name}: op(x, out=y), buffers never seen", us)
        yield _alone(f"{name}: compile(desc), seen before", partial(device.compile, desc), device)
    written = []
    for name, call, expected in small.functions():
        assert np.array_equal(call().numpy(), expected), name
        written.append(Asked(name, call, device.wait))
    yield from in_turn(written, rounds)
    tensor = device.tensor(np.arange(64, dtype=np.float32))
    yield _alone("256 bytes read back", tensor.numpy, device, 10)
    size = LARGE.get(device.adapter.kind, LARGE_ELSEWHERE)
    large = device.tensor(np.zeros(size // 4, np.float32))
    yield _in_a_row("", large, device.wait, rounds)
    for rival in others:
        asked = _rival_calls(rival, small)
        if asked:
            yield from in_turn(asked, rounds)
            zeros = rival.upload(large.numpy())
            yield _in_a_row(f"{rival.name} {rival.where}: ", zeros, rival.synchronize, rounds)


def _alone(name: str, call: Callable[[], Any], device: dml.Device, calls: int = FEW) -> HostTime:
    """What waits or records nothing: its busy time says no more."""
    (found,) = in_turn([Asked(name, call, device.wait, calls)], FEW_ROUNDS)
    return HostTime(name, found.us)


def _in_a_row(whose: str, x: Any, wait: Callable[[], Any], rounds: int) -> HostTime:
    """Large calls until the last is done: between them the GPU should not wait."""

    def many() -> None:
        for _ in range(BATCH):
            neg(x)
        wait()

    name = f"{whose}-x of {x.nbytes >> 20} MiB, {BATCH} in a row until all are done"
    warm_up(many, wait, WARM_SECONDS)
    (found,) = in_turn([Asked(name, many, wait, 1, BATCH)], max(3, rounds))
    return HostTime(name, found.us)


def _rival_calls(rival: Library, small: Small) -> list[Asked]:
    calls: dict[str, Callable[[], Any]] = {}
    if isinstance(rival, Torch):
        torch = rival.module
        x = torch.from_numpy(small.host).to(rival.where)
        rows = torch.from_numpy(small.rows).to(rival.where)
        at = torch.from_numpy(small.indices[:, 0].copy()).to(rival.where)
        calls["x[:, 1:, 2:-2].clone()"] = lambda: x[:, 1:, 2:-2].clone()
        calls["x[i]"] = lambda: rows[at]
        calls["torch.cumsum(x, 1)"] = lambda: torch.cumsum(rows, 1)
        calls["x + y"] = lambda: rows + rows
        calls["x.sum(1)"] = lambda: rows.sum(1)
        calls["256 bytes x.cpu()"] = rows[0].cpu
    elif isinstance(rival, Cupy):
        cupy = rival.module
        cx, crows = cupy.asarray(small.host), cupy.asarray(small.rows)
        cat = cupy.asarray(small.indices[:, 0])
        calls["x[:, 1:, 2:-2].copy()"] = lambda: cx[:, 1:, 2:-2].copy()
        calls["cupy.take(x, i, 0)"] = lambda: cupy.take(crows, cat, 0)
        calls["cupy.cumsum(x, 1)"] = lambda: cupy.cumsum(crows, 1)
        calls["x + y"] = lambda: crows + crows
        calls["x.sum(1)"] = lambda: crows.sum(1)
        calls["256 bytes x.get()"] = crows[0].get
    return [
        Asked(f"{rival.name} {rival.where}: {name}", call, rival.synchronize)
        for name, call in calls.items()
    ]
