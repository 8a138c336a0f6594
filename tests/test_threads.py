"""One device used by many threads at once, and several devices in one process."""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs import resident
from support.stages import ramp, summation

import dmlgpu as dml
from dmlgpu.desc.cached import cached_property

pytestmark = pytest.mark.gpu

THREADS = 8
CALLS = 2000  # each
CHECK = 5  # every so many calls a result is read back

Array = np.ndarray[Any, Any]


class Work:
    """The calls of one thread: every operator, on tensors of its own and on shared ones."""

    def __init__(self, device: dml.Device, shared: dml.CompiledOperator, seed: int) -> None:
        self.device = device
        self.shared = shared
        self.random = np.random.default_rng(seed)
        self.table = ramp(24 + seed).reshape(-1, 1) + np.arange(6, dtype=np.float32)
        self.tensor = device.tensor(self.table)
        self.last: list[dml.Tensor] = []

    def compiled(self) -> tuple[dml.Tensor, Array]:
        values = self.random.integers(0, 9, 64).astype(np.float32)
        return self.shared(values), np.cumsum(values, dtype=np.float32)

    def shared_in_place(self) -> tuple[dml.Tensor, Array]:
        values = self.random.integers(0, 9, 64).astype(np.float32)
        x = self.device.tensor(values)
        return self.shared(x, out=x), np.cumsum(values, dtype=np.float32)

    def slice1(self) -> tuple[dml.Tensor, Array]:
        step = int(self.random.choice([-2, -1, 1, 2]))
        return self.tensor[::step, 1:5], self.table[::step, 1:5]

    def slice(self) -> tuple[dml.Tensor, Array]:
        at = int(self.random.integers(0, 8))
        return dml.slice(self.tensor, (at, 0), (8, 3), (2, 2)), self.table[at : at + 15 : 2, :5:2]

    def gather(self) -> tuple[dml.Tensor, Array]:
        rows = self.random.integers(0, len(self.table), (5, 1)).astype(np.int32)
        return dml.gather_nd(self.tensor, rows), self.table[rows[:, 0]]

    def gather1(self) -> tuple[dml.Tensor, Array]:
        columns = self.random.integers(0, 6, (len(self.table), 1)).astype(np.int32)
        right = np.take_along_axis(self.table, columns, 1)[:, 0]
        return dml.gather_nd1(self.tensor, columns, batch_dimension_count=1), right

    def product(self) -> tuple[dml.Tensor, Array]:
        values = self.random.integers(1, 3, (2, 8)).astype(np.int32)
        return dml.cumulative_product(self.device.tensor(values), 1), np.cumprod(values, 1)

    def chained(self) -> tuple[dml.Tensor, Array]:
        summed = dml.cumulative_summation(self.tensor, 0)
        return summed[-1:, :], np.cumsum(self.table, 0, dtype=np.float32)[-1:, :]

    def run(self, calls: int, failures: list[object]) -> None:
        kinds: list[Callable[[], tuple[dml.Tensor, Array]]] = [
            self.compiled,
            self.shared_in_place,
            self.slice1,
            self.slice,
            self.gather,
            self.gather1,
            self.product,
            self.chained,
        ]
        try:
            for n in range(calls):
                got, right = kinds[int(self.random.integers(len(kinds)))]()
                if n % CHECK == 0:
                    assert np.array_equal(got.numpy(), right), (n, got.numpy(), right)
                self.last = [*self.last[-3:], got]  # the rest is dropped, its work still waiting
            assert np.array_equal(got.numpy(), right)
        except BaseException as error:
            failures.append(error)


def run_all(works: list[Work], calls: int) -> None:
    failures: list[object] = []
    threads = [threading.Thread(target=work.run, args=(calls, failures)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.usefixtures("device")
def test_many_threads_share_a_device_without_growth() -> None:
    with dml.Device() as device:
        shared = device.compile(summation(64))
        works = [Work(device, shared, seed) for seed in range(THREADS)]
        run_all(works, 100)
        gc.collect()
        before, held = resident(), device.memory
        pipelines = len(device.context._pipelines)
        run_all(works, CALLS)
        gc.collect()
        grown, after = resident() - before, device.memory
        sizes = {
            "operators": len(device._compiled),
            "remembered": len(device.remembered),
            "new pipelines": len(device.context._pipelines) - pipelines,
            "bound calls": sum(len(op._executable.calls) for op in device._compiled.all()),
        }
        print(f"\n{THREADS} x {CALLS} calls: {grown >> 20} MiB more resident, {after}, {sizes}")
        assert after.in_use <= held.in_use + THREADS * 4096
        assert after.pooled < 4 << 20
        assert grown < 64 << 20
        assert sizes["operators"] < 200
        assert sizes["new pipelines"] <= 2
        assert sizes["bound calls"] < 20_000


@pytest.mark.usefixtures("device")
def test_devices_of_one_process_do_not_mix() -> None:
    with dml.Device() as first, dml.Device() as second:
        ops = [device.compile(summation(64)) for device in (first, second)]
        tensors = [device.tensor(ramp(64)) for device in (first, second)]
        for _ in range(100):
            tensors = [op(tensor) for op, tensor in zip(ops, tensors, strict=True)]
        assert np.array_equal(tensors[0].numpy(), tensors[1].numpy(), equal_nan=True)
        sentence = r"^CUMULATIVE_SUMMATION: input_tensor belongs to another device"
        for op, tensor in ((ops[0], tensors[1]), (ops[1], tensors[0])):
            with pytest.raises(dml.BindingError, match=sentence):
                op(tensor)
            with pytest.raises(dml.BindingError, match="out belongs to another device"):
                op(ramp(64), out=tensor)


@pytest.mark.usefixtures("device")
def test_devices_are_used_by_threads_of_their_own() -> None:
    devices = [dml.Device() for _ in range(3)]
    works = [Work(device, device.compile(summation(64)), n) for n, device in enumerate(devices)]
    run_all(works, 100)
    for device in devices:
        device.close()


def test_threads_compile_the_same_description_at_once(device: dml.Device) -> None:
    barrier = threading.Barrier(THREADS)
    results: list[Array] = []

    def work() -> None:
        barrier.wait()
        results.append(device.compile(summation(321))(ramp(321)).numpy())

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == THREADS
    assert all(np.array_equal(r, np.cumsum(ramp(321), dtype=np.float32)) for r in results)


def test_cached_attributes_hold_no_lock() -> None:
    """A thread that computes one does not wait for another that computes the same attribute.

    Finalizers run in the middle of anything; with a lock, two of them waited for each other.
    """
    both = threading.Barrier(2, timeout=20)

    class Slow:
        @cached_property
        def value(self) -> int:
            both.wait()
            return 7

    slow = [Slow(), Slow()]
    other = threading.Thread(target=lambda: slow[0].value)
    other.start()
    assert slow[1].value == 7
    other.join()
    assert vars(slow[0]) == vars(slow[1]) == {"value": 7}


def test_the_library_uses_no_attribute_that_holds_a_lock() -> None:
    for path in sorted(Path(dml.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "functools"
            for alias in node.names
        }
        assert "cached_property" not in imported, path
