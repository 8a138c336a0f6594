"""The same work in NumPy, PyTorch and CuPy, timed by the same rule in the same process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.problem import Array, Problem
from dmlgpu.measure.timing import Call, Pace, Timed, time_wall, warm_up

SAMPLES = 1000  # elements of a rival's result that are compared with NumPy's
HEAD_START = 4_000_000  # GPU cycles: enough for the host to queue a timed region


@dataclass(frozen=True, slots=True)
class Best:
    """A rival's best time, and the call that took it."""

    timed: Timed
    how: str


def time_numpy(problem: Problem, x: Array, index: Array | None, pace: Pace) -> tuple[Timed, Array]:
    """NumPy's time and its result, which is the reference of all others."""
    call = problem.numpy_call(x, index)
    out = np.empty(problem.output_shape, x.dtype)
    out[...] = 0  # brings the pages in
    result: list[Array] = []

    def run() -> None:
        result[:] = [call(out)]

    return time_wall(run, pace), result[0]


class Rival:
    """A library that has the operations; `synchronize` waits for what it was asked."""

    name = ""
    version = ""
    where = "cpu"

    def take(self, base: Array) -> None:
        """Brings the flat input over; the one before it is dropped."""
        raise NotImplementedError

    def candidates(self, problem: Problem, flat: Array | None) -> dict[str, Callable[[], Any]]:
        """Ways to write the problem, by name; the fastest counts."""
        raise NotImplementedError

    def sample(self, result: Any, positions: Array) -> Array:
        """Elements of a result."""
        raise NotImplementedError

    def time(self, call: Call, pace: Pace) -> Timed:
        """Time of one call."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Waits."""

    def free(self) -> None:
        """Gives memory back."""

    def best(self, problem: Problem, flat: Array | None, expected: Array, pace: Pace) -> Best:
        """The fastest candidate, each checked against NumPy at random positions."""
        positions = np.random.default_rng(3).integers(0, expected.size, SAMPLES)
        wanted = expected.reshape(-1)[positions]
        found = []
        for how, call in self.candidates(problem, flat).items():
            got = self.sample(call(), positions)
            if not np.array_equal(got, wanted):
                raise AssertionError(f"{self.name}: {how} differs from NumPy")
            found.append(Best(self.time(call, pace), how))
        return min(found, key=lambda best: best.timed.seconds)


class Torch(Rival):
    """PyTorch on CUDA where it has it, else on the CPU."""

    name = "PyTorch"

    def __init__(self, *, cuda: bool) -> None:
        torch = import_module("torch")
        self.torch: Any = torch
        self.version = str(torch.__version__)
        self.where = "cuda" if cuda and torch.cuda.is_available() else "cpu"
        self.base: Any = None
        self._source: Array | None = None

    def take(self, base: Array) -> None:
        if self._source is not base:
            self.base = None
            self.base = self.torch.from_numpy(base).to(self.where)
            self._source = base

    def candidates(self, problem: Problem, flat: Array | None) -> dict[str, Callable[[], Any]]:
        torch, workload = self.torch, problem.workload
        x = self.base[: problem.elements].view(problem.shape)
        if workload.family == "cumulative":
            return {"cumsum": lambda: torch.cumsum(x, workload.axis, dtype=x.dtype)}
        if workload.family == "slice":
            flips = [d for d, s in enumerate(problem.steps) if (s.step or 1) < 0]
            if flips:
                return {"flip": lambda: torch.flip(x, flips)}
            return {"slice and clone": lambda: x[problem.steps].clone(memory_format=self._packed)}
        assert flat is not None
        at = torch.from_numpy(flat.view(np.int32)).to(self.where).long()
        if workload.coordinates == 2:
            i, j = at // problem.shape[1], at % problem.shape[1]
            return {"x[i, j]": lambda: x[i, j]}
        return {"index_select": lambda: torch.index_select(x, 0, at), "x[i]": lambda: x[at]}

    @property
    def _packed(self) -> Any:
        return self.torch.contiguous_format

    def sample(self, result: Any, positions: Array) -> Array:
        at = self.torch.from_numpy(positions).to(self.where)
        picked: Array = result.reshape(-1)[at].cpu().numpy()
        return picked

    def synchronize(self) -> None:
        if self.where == "cuda":
            self.torch.cuda.synchronize()

    def time(self, call: Call, pace: Pace) -> Timed:
        if self.where == "cpu":
            return time_wall(call, pace)
        cuda = self.torch.cuda
        each = warm_up(call, cuda.synchronize, pace.warm_seconds)
        pairs = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True))
            for _ in range(_runs(each, pace))
        ]
        head_start(self.torch)
        for before, after in pairs:
            before.record()
            call()
            after.record()
        cuda.synchronize()
        return Timed.of([a.elapsed_time(b) / 1e3 for a, b in pairs], "CUDA events")

    def free(self) -> None:
        if self.where == "cuda":
            self.torch.cuda.empty_cache()


class Cupy(Rival):
    """CuPy; takes PyTorch's copy of the input where there is one on the same GPU."""

    name = "CuPy"
    where = "cuda"

    def __init__(self, torch: Torch | None) -> None:
        cupy = import_module("cupy")
        self.cupy: Any = cupy
        self.version = str(cupy.__version__)
        if not cupy.cuda.runtime.getDeviceCount():
            raise RuntimeError("CuPy finds no CUDA device")
        self._torch = torch if torch is not None and torch.where == "cuda" else None
        self.base: Any = None
        self._source: Array | None = None

    def take(self, base: Array) -> None:
        if self._source is not base:
            self.base = None
            shared = self._torch is not None and self._torch._source is base
            self.base = self.cupy.asarray(self._torch.base if shared and self._torch else base)
            self._source = base

    def candidates(self, problem: Problem, flat: Array | None) -> dict[str, Callable[[], Any]]:
        cupy, workload = self.cupy, problem.workload
        x = self.base[: problem.elements].reshape(problem.shape)
        if workload.family == "cumulative":
            return {"cumsum": lambda: cupy.cumsum(x, workload.axis, x.dtype)}
        if workload.family == "slice":
            return {"slice and copy": lambda: x[problem.steps].copy()}
        assert flat is not None
        at = cupy.asarray(flat).astype(np.int64)
        if workload.coordinates == 2:
            i, j = at // problem.shape[1], at % problem.shape[1]
            return {"x[i, j]": lambda: x[i, j]}
        return {"take": lambda: cupy.take(x, at, 0), "x[i]": lambda: x[at]}

    def sample(self, result: Any, positions: Array) -> Array:
        picked: Array = result.reshape(-1)[self.cupy.asarray(positions)].get()
        return picked

    def synchronize(self) -> None:
        self.cupy.cuda.runtime.deviceSynchronize()

    def time(self, call: Call, pace: Pace) -> Timed:
        cuda = self.cupy.cuda
        each = warm_up(call, self.synchronize, pace.warm_seconds)
        pairs = [(cuda.Event(), cuda.Event()) for _ in range(_runs(each, pace))]
        if self._torch is not None:
            head_start(self._torch.torch)
        for before, after in pairs:
            before.record()
            call()
            after.record()
        self.synchronize()
        seconds = [cuda.get_elapsed_time(a, b) / 1e3 for a, b in pairs]
        return Timed.of(seconds, "CUDA events")

    def free(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()


def head_start(torch: Any) -> None:
    """Keeps the GPU busy while the host queues a timed region, so that no launch gap is timed."""
    sleep = getattr(torch.cuda, "_sleep", None)
    if sleep is not None:
        sleep(HEAD_START)


def _runs(each: float, pace: Pace) -> int:
    return max(pace.runs, min(pace.most_runs, int(0.02 / max(each, 1e-6))))


def rivals(adapter_kind: str, without: set[str]) -> tuple[list[Rival], list[str]]:
    """The libraries that are here, and a sentence for each that is not.

    An adapter that is a CPU is compared with libraries on the CPU.
    """
    found: list[Rival] = []
    missing: list[str] = []
    torch: Torch | None = None
    if "torch" not in without:
        try:
            torch = Torch(cuda=adapter_kind != "cpu")
            found.append(torch)
        except Exception as error:  # a library of it may be missing, too
            missing.append(f"PyTorch cannot be used, so it is not compared ({error}).")
    if "cupy" not in without and adapter_kind != "cpu":
        try:
            found.append(Cupy(torch))
        except Exception as error:  # CuPy raises its own kinds where the driver is missing
            missing.append(f"CuPy cannot be used, so it is not compared ({error}).")
    return found, missing
