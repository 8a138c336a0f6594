"""Random programs against a device that others disturb: owners who destroy and map buffers,
signal handlers and finalizers at any moment, threads, forks. Values are compared with NumPy's.

    python tests/fuzz_foreign.py [--seconds 60] [--seed 0]

Programs run in processes of their own, so that one that ends the process is noticed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import wgpu

import dmlgpu as dml

Array = npt.NDArray[np.int32]
ROOT = Path(__file__).resolve().parent.parent
WGPU = str(Path(wgpu.__file__).parent)
STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
SIZES = (3, 5, 8, 16, 61, 64, 1000, 16_384, 20_001)
ROUND = 15.0  # seconds of one process
PATIENCE = 180.0  # seconds after which a process hangs, also where many others run beside it


class Timeout(BaseException):
    """What a signal handler raises, like KeyboardInterrupt.

    No Exception: what an argument's own methods raise is an error in that argument, and an
    exception that comes just then from a handler cannot be told from it.
    """


class Known:
    """A tensor, and what may lie in it: several things after an interrupted call."""

    def __init__(self, tensor: dml.Tensor, values: list[Array], owner: Owned | None = None) -> None:
        self.tensor = tensor
        self.values = values
        self.owner = owner


class Owned:
    """A buffer in other hands."""

    def __init__(self, buffer: Any, mappable: bool) -> None:
        self.buffer = buffer
        self.mappable = mappable
        self.promise: Any = None


def shown(array: Array) -> Array:
    return array.reshape(-1)[:6]


class Program:
    """One random program."""

    def __init__(self, device: dml.Device, rng: random.Random, counts: Counter[str]) -> None:
        self.device = device
        self.rng = rng
        self.counts = counts
        self.tensors: list[Known] = []
        self.owned: list[Owned] = []
        self.mapped: list[Owned] = []
        self.foul = False  # some buffer was destroyed or mapped: BindingError may come
        self.timers = False
        self.may_raise = True  # asyncio does not survive exceptions at any moment
        self.held: list[tuple[Any, dml.TensorDesc, Array]] = []  # buffers whose tensor is gone

    # What a program does.

    def upload(self) -> None:
        size = self.rng.choice(SIZES)
        values = np.array([self.rng.randrange(-9, 9) for _ in range(min(size, 64))], np.int32)
        values = np.resize(values, size)
        self.tensors.append(Known(self.device.tensor(values), [values]))

    def call(self) -> None:
        known = self.rng.choice(self.tensors)
        kind = self.rng.randrange(4)
        if kind == 0:
            made, work = known.tensor.cumsum(0, np.int32), _cumsum
        elif kind == 1:
            made, work = known.tensor[::-1].copy(), _reversed
        elif kind == 2 and known.tensor.size > 1:  # else nothing would be left
            made, work = known.tensor[1:].copy(), _tail
        else:
            made, work = known.tensor.copy(), _same
        self.tensors.append(Known(made, [work(v) for v in known.values]))

    def in_place(self) -> None:
        """Calls that would be noticed if they ran twice or not at all."""
        known = self.rng.choice(self.tensors)
        tensor = known.tensor
        desc = dml.CumulativeSummationDesc(
            input_tensor=tensor.desc, output_tensor=tensor.desc, axis=0
        )
        op = self.device.compile(desc)
        for _ in range(self.rng.randrange(1, 6)):
            if any(other is not known and _shares(other, known) for other in self.tensors):
                return
            before = known.values
            known.values = before + [_cumsum(v) for v in before]  # until it has returned
            try:
                op(tensor, out=tensor)
            except dml.BindingError:
                known.values = before
                raise
            known.values = [_cumsum(v) for v in before]

    def wrap(self) -> None:
        """Tensors side by side in a buffer of someone else."""
        device = self.device.wgpu_device
        mappable = "mappable-primary-buffers" in device.features and self.rng.random() < 0.5
        usage = STORAGE | (wgpu.BufferUsage.MAP_READ if mappable else 0)
        buffer = device.create_buffer(size=1 << 16, usage=usage)
        owner = Owned(buffer, mappable)
        self.owned.append(owner)
        at = 16 * self.rng.randrange(3)
        for _ in range(self.rng.randrange(1, 4)):
            size = self.rng.choice((3, 5, 8, 9, 64))
            values = np.array([self.rng.randrange(-9, 9) for _ in range(size)], np.int32)
            device.queue.write_buffer(buffer, at, values)
            desc = dml.TensorDesc(dml.DataType.INT32, (size,))
            self.tensors.append(Known(self.device.wrap(buffer, desc, at), [values], owner))
            at += -(-values.nbytes // 16) * 16 + 16 * self.rng.randrange(2)

    def between(self) -> None:
        """A call from one tensor into another of the same size, often in the same buffer."""
        source = self.rng.choice(self.tensors)
        same = [k for k in self.tensors if k is not source and k.tensor.desc == source.tensor.desc]
        if not same:
            return
        target = self.rng.choice(same)
        if _overlap(source, target):
            return
        desc = dml.CumulativeSummationDesc(
            input_tensor=source.tensor.desc, output_tensor=target.tensor.desc, axis=0
        )
        before = target.values
        target.values = before + [_cumsum(v) for v in source.values]
        try:
            self.device.compile(desc)(source.tensor, out=target.tensor)
        except dml.BindingError:
            target.values = before
            raise
        target.values = [_cumsum(v) for v in source.values]

    def read(self) -> None:
        known = self.rng.choice(self.tensors)
        if self.rng.random() < 0.3:
            self.may_raise = False
            got = asyncio.run(known.tensor.numpy_async())
        else:
            got = known.tensor.numpy()
        self.compare(known, got)

    def compare(self, known: Known, got: Array) -> None:
        for values in known.values:
            if np.array_equal(got, values):
                known.values = [values]
                self.counts["compared"] += 1
                return
        raise AssertionError(f"{shown(got)} is none of {[shown(v) for v in known.values]}")

    def read_later(self) -> None:
        """An asynchronous read sees what was called before it, and nothing called after."""
        known = self.rng.choice(self.tensors)
        tensor = known.tensor
        if any(other is not known and _shares(other, known) for other in self.tensors):
            return
        desc = dml.CumulativeSummationDesc(
            input_tensor=tensor.desc, output_tensor=tensor.desc, axis=0
        )
        op = self.device.compile(desc)

        async def main() -> Array:
            task = asyncio.create_task(tensor.numpy_async())
            await asyncio.sleep(0)
            before = known.values
            known.values = before + [_cumsum(v) for v in before]
            if not task.done():
                op(tensor, out=tensor)
                known.values = [_cumsum(v) for v in before]
            got = await task
            assert any(np.array_equal(got, v) for v in before), "a read saw a later call"
            return got

        self.may_raise = False
        asyncio.run(main())

    def drop(self) -> None:
        self.tensors.pop(self.rng.randrange(len(self.tensors)))

    def hold(self) -> None:
        """Holds a buffer while its tensor goes: the memory must stay as it is."""
        known = self.tensors.pop(self.rng.randrange(len(self.tensors)))
        if known.owner is None and len(known.values) == 1:
            self.held.append((known.tensor.buffer, known.tensor.desc, known.values[0]))

    def look(self) -> None:
        if self.held:
            buffer, desc, values = self.rng.choice(self.held)
            got = self.device.wrap(buffer, desc).numpy()
            assert np.array_equal(got, values), f"held memory: {shown(got)} for {shown(values)}"

    def destroy(self) -> None:
        self.foul = True
        if self.owned and self.rng.random() < 0.7:
            self.rng.choice(self.owned).buffer.destroy()
        elif self.tensors:
            known = self.rng.choice(self.tensors)
            known.tensor.buffer.destroy()
            self.held = [h for h in self.held if h[0] is not known.tensor.buffer]

    def map(self) -> None:
        free = [o for o in self.owned if o.mappable and o.buffer.map_state == "unmapped"]
        if free:
            self.foul = True
            owner = self.rng.choice(free)
            try:
                owner.promise = owner.buffer.map_async("READ")
                if self.rng.random() < 0.7:
                    owner.promise.sync_wait()
            except wgpu.classes.GPUError:  # it has been destroyed
                self.owned.remove(owner)
                return
            self.mapped.append(owner)

    def unmap(self) -> None:
        for owner in self.mapped:
            if owner.buffer.map_state == "mapped":
                with contextlib.suppress(wgpu.classes.GPUError):  # it has been destroyed
                    owner.buffer.unmap()
        self.mapped = [o for o in self.mapped if o.buffer.map_state == "pending"]

    def flush(self) -> None:
        self.device.flush()

    def wait(self) -> None:
        self.device.wait()

    def profile(self) -> None:
        if self.rng.random() < 0.3:
            self.device.profile().__enter__()  # and dropped
            return
        with self.device.profile():
            self.call()

    def thread(self) -> None:
        """Another thread works on tensors of its own meanwhile."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for n in range(3):
                    x = self.device.tensor(np.full(50 + n, n, np.int32))
                    got = x.cumsum(0).numpy()
                    assert np.array_equal(got, np.cumsum(np.full(50 + n, n), dtype=np.int32))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        self.may_raise = False  # Python's own start of a thread does not bear an exception
        for thread in threads:
            thread.start()
        self.may_raise = True
        for _ in range(3):
            self.call()
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(0.1)
        for error in failed:
            raise error

    def fork(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        tensor = self.rng.choice(self.tensors).tensor
        child = os.fork()
        if not child:
            try:
                tensor.numpy()
            except dml.DeviceError:
                gc.collect()
                os._exit(7)
            os._exit(8)
        end = time.monotonic() + PATIENCE / 2
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                assert os.waitstatus_to_exitcode(status) == 7, "a forked child"
                return
            time.sleep(1e-3)
        os.kill(child, signal.SIGKILL)
        raise AssertionError("a forked child hangs")

    def collect(self) -> None:
        """Garbage in a cycle, whose finalizer uses the device whenever Python collects it."""
        for _ in range(self.rng.randrange(1, 20)):
            Finalized(self.finalize)

    def finalize(self) -> None:
        kind = self.rng.randrange(4)
        if kind < 2 or not self.tensors:
            self.device.flush()
        elif kind == 2:
            self.device.tensor(np.arange(9, dtype=np.int32)).cumsum(0)
        else:
            x = self.device.tensor(np.ones(7, np.int32))
            sums = x.cumsum(0)
            got = sums.numpy()
            if got[-1] != 7:
                # Raising would be lost in a finalizer.
                print(f"{got} are sums of {x.numpy()}, read again {sums.numpy()}", file=sys.stderr)
                print(f"storages {x.storage.serial} and {sums.storage.serial}", file=sys.stderr)
                traceback.print_stack()
                sys.stderr.flush()
                os._exit(66)

    def alarm(self, _: int, frame: FrameType | None) -> None:
        """The handler of a signal that comes at any moment."""
        self.counts["signals"] += 1
        kind = self.rng.randrange(3)
        if kind == 0 and self.may_raise and not _in_callback(frame):
            raise Timeout
        try:
            if kind == 1:
                self.device.flush()
            else:
                self.finalize()
        except dml.BindingError:
            if not self.foul:
                os._exit(67)

    def run(self) -> None:
        rng = self.rng
        self.upload()
        weights = {
            self.upload: 3, self.call: 8, self.in_place: 8, self.wrap: 3, self.between: 5,
            self.read: 6, self.read_later: 2, self.drop: 3, self.hold: 1, self.look: 2,
            self.destroy: 1, self.map: 2, self.unmap: 3, self.flush: 3, self.wait: 1,
            self.profile: 1, self.thread: 0.3, self.fork: 0.1, self.collect: 3,
        }  # fmt: skip
        self.timers = rng.random() < 0.6
        signal.signal(signal.SIGALRM, self.alarm)
        steps: list[Callable[[], None]] = list(weights)
        for _ in range(rng.randrange(10, 60)):
            step = rng.choices(steps, list(weights.values()))[0]
            if not self.tensors:
                step = self.upload
            try:  # the one signal of a step may come wherever it ends, too
                try:
                    self.may_raise = True
                    if self.timers and step not in (self.map, self.unmap, self.destroy):
                        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-3))
                    step()
                except dml.BindingError:
                    if not self.foul:
                        raise
                    self.counts["refused"] += 1
                finally:
                    self.may_raise = False  # what follows is the fuzzer's own
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Timeout:
                self.counts["interrupted"] += 1
            self.counts[step.__name__] += 1
        for owner in self.mapped:
            with contextlib.suppress(wgpu.classes.GPUError, RuntimeError):  # it has been destroyed
                owner.promise.sync_wait()
        self.unmap()
        for known in self.tensors:
            try:
                self.compare(known, known.tensor.numpy())
            except dml.BindingError:
                if not self.foul:
                    raise


class Finalized:
    """A cycle: only the collector ends it."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.me = self
        self.act = act

    def __del__(self) -> None:
        with contextlib.suppress(dml.BindingError, dml.DeviceError, Timeout):
            self.act()


def _cumsum(values: Array) -> Array:
    made: Array = np.cumsum(values, dtype=np.int32)
    return made


def _reversed(values: Array) -> Array:
    return values[::-1].copy()


def _tail(values: Array) -> Array:
    return values[1:].copy()


def _same(values: Array) -> Array:
    return values


def _in_callback(frame: FrameType | None) -> bool:
    """Whether C has called wgpu-py: an exception there is lost, and with it what C said."""
    while frame is not None:
        if "callback" in frame.f_code.co_name and frame.f_code.co_filename.startswith(WGPU):
            return True
        frame = frame.f_back
    return False


def _shares(a: Known, b: Known) -> bool:
    return a.tensor.storage is b.tensor.storage and _overlap(a, b)


def _overlap(a: Known, b: Known) -> bool:
    if a.tensor.storage.buffer is not b.tensor.storage.buffer:
        return False
    ends = [k.tensor.offset + k.tensor.desc.total_tensor_size_in_bytes for k in (a, b)]
    return a.tensor.offset < ends[1] and b.tensor.offset < ends[0]


def work(seed: int, seconds: float) -> None:
    """Programs of one process, one after another."""
    counts: Counter[str] = Counter()
    faulthandler.dump_traceback_later(seconds + PATIENCE - 15, exit=True)  # says where it hangs
    end = time.monotonic() + seconds
    case = 0
    gc.set_threshold(200, 5, 5)
    while time.monotonic() < end:
        rng = random.Random(f"{seed} {case}")
        with dml.Device(debug=rng.random() < 0.3) as device:
            for _ in range(20):
                rng = random.Random(f"{seed} {case}")
                case += 1
                try:
                    Program(device, rng, counts).run()
                except BaseException:
                    print(f"case {seed} {case - 1} failed", flush=True)
                    raise
                if time.monotonic() > end:
                    break
    print(f"cases {case} {dict(counts)}")


def fuzz(seed: int, seconds: float, least: int = 0) -> tuple[int, list[str]]:
    """Cases tried in processes of their own, and what failed.

    It goes on until `least` cases were tried, where a machine is too busy for that many in time.
    """
    cases, failed = 0, []
    end = time.monotonic() + seconds
    while time.monotonic() < end or (cases < least and not failed):
        left = min(ROUND, max(1.0, end - time.monotonic()))
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-X", "faulthandler", __file__, "--work", str(seed)]
        try:
            done = subprocess.run(
                [*command, "--seconds", str(left)],
                capture_output=True,
                text=True,
                timeout=PATIENCE + left,
                check=False,
                env={**os.environ, "PYTHONPATH": path},
            )
        except subprocess.TimeoutExpired as hung:
            failed.append(f"seed {seed} hangs\n{hung.stdout!r}\n{hung.stderr!r}")
        else:
            if done.returncode:
                failed.append(
                    f"seed {seed}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
                )
            else:
                cases += int(done.stdout.split()[1])
                print(seed, done.stdout.strip(), flush=True)
        seed += 1
    return cases, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.work, given.seconds)
        return
    cases, failed = fuzz(given.seed, given.seconds)
    print(f"{cases} cases, {len(failed)} failed")
    for text in failed:
        print(text[-6000:])
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
