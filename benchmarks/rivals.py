"""The same work in NumPy, PyTorch and CuPy, timed by the same rule in the same process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.data import Data, strided
from benchmarks.problem import Array, Layout, Problem
from dmlgpu.measure.timing import Call, Pace, Timed, time_queued, time_wall, warm_up

SAMPLES = 1000  # elements of a rival's result that are compared with the reference
HEAD_START = 4_000_000  # GPU cycles: enough for the host to queue a timed region


@dataclass(frozen=True, slots=True)
class Best:
    """A library's best time, and the expression that took it."""

    timed: Timed
    how: str


def differs(got: Array, wanted: Array, within: float) -> Array:
    """Where two arrays differ: in their bits, or by more than so many steps of their type."""
    wanted = wanted.astype(got.dtype)
    if not within or got.dtype.kind != "f":
        bits = f"u{got.dtype.itemsize}"
        bad: Array = got.view(bits) != wanted.view(bits)
        return bad
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    allowed = within * float(np.finfo(got.dtype).eps) * np.maximum(np.abs(b), 1)
    with np.errstate(invalid="ignore"):
        near: Array = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    return ~near


def arrays(result: Any) -> list[Any]:
    """What an expression gave, one array or several."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


class Library:
    """An array library: takes operands over, evaluates expressions, and times them.

    `where` is the kind of device; `synchronize` waits for what the library was asked.
    """

    name = ""
    version = ""
    where = "cpu"
    module: Any = None

    def __init__(self) -> None:
        self._taken: dict[int, tuple[Array, Any]] = {}  # by the host's array, which it keeps

    def upload(self, flat: Array) -> Any:
        """A flat array of the host, where the library works."""
        return flat

    def view(self, flat: Any, layout: Layout) -> Any:
        """An operand in a flat array."""
        return strided(flat, layout)

    def contiguous(self, x: Any) -> Any:
        """A packed copy."""
        return self.module.ascontiguousarray(x)

    def dtype(self, name: str) -> Any:
        """The library's word for a data type."""
        return np.dtype(name)

    def host(self, x: Any) -> Array:
        """A result as NumPy's."""
        return np.asarray(x)

    def synchronize(self) -> None:
        """Waits."""

    def free(self) -> None:
        """Gives memory back that is held for reuse."""

    def drop(self) -> None:
        """Forgets the operands taken over."""
        self._taken.clear()

    def time(self, call: Call, pace: Pace) -> Timed:
        """Time of one call."""
        return time_wall(call, pace)

    def time_queued(self, call: Call, pace: Pace) -> Timed:
        """Time of a call among others that are queued."""
        return time_queued(call, self.synchronize, pace)

    def take(self, flat: Array, layout: Layout) -> Any:
        """An operand, kept for the next case that uses its array; positions become int64."""
        if id(flat) not in self._taken:
            values = flat.astype(np.int64) if layout.operand.is_index else flat
            values = values.view(np.bool_) if layout.operand.values == "mask" else values
            self._taken[id(flat)] = (flat, self.upload(values))
        return self.view(self._taken[id(flat)][1], layout)

    def call(
        self, expression: str, problem: Problem, data: Data, known: Mapping[str, Any] | None = None
    ) -> Callable[[], Any]:
        """An expression as a function, its operands taken over before, but for those known."""
        names: dict[str, Any] = {"np": self.module, self.module.__name__: self.module}
        names |= {"s": problem.shape, "t": self.dtype(problem.dtype), "d": self.where}
        names |= known or {}
        used = set(re.findall(r"\w+", expression)) - names.keys()
        for layout in problem.layouts:
            name = layout.operand.name
            if name in used or (name == "i" and "columns" in used):
                names[name] = self.take(data.flat(problem, layout), layout)
        if "columns" in used:
            at = names["i"]
            names["columns"] = tuple(self.contiguous(at[..., k]) for k in range(at.shape[-1]))
        made: Callable[[], Any] = eval(f"lambda: {expression}", names)
        return made

    def best(
        self,
        problem: Problem,
        data: Data,
        expected: Sequence[Array],
        pace: Pace,
        *,
        queued: bool = False,
    ) -> Best | None:
        """The fastest expression, each checked at random positions; None where there is none."""
        found = []
        time = self.time_queued if queued else self.time
        for how in problem.workload.expressions(self.name):
            call = self.call(how, problem, data)
            if expected:
                self.check(how, call(), expected, problem.workload.within)
            found.append(Best(time(call, pace), how))
        return min(found, key=lambda best: best.timed.seconds, default=None)

    def check(self, how: str, result: Any, expected: Sequence[Array], within: float) -> None:
        """Raises unless the first array of a result is the reference's."""
        first = arrays(result)[0]
        alike = [array for array in expected if tuple(array.shape) == tuple(first.shape)]
        if not alike:
            raise AssertionError(f"{self.name}: {how} has another shape than the reference")
        positions = np.random.default_rng(3).integers(0, alike[0].size, SAMPLES)
        got = self.host(self.picked(first, positions))
        if differs(got, alike[0].reshape(-1)[positions], within).any():
            raise AssertionError(f"{self.name}: {how} differs from the reference")

    def picked(self, result: Any, positions: Array) -> Any:
        """Elements of a result."""
        return result.reshape(-1)[positions]


class Numpy(Library):
    """NumPy, the reference of all others."""

    name = "NumPy"
    version = np.__version__
    module = np


class Torch(Library):
    """PyTorch on CUDA where it has it, else on the CPU."""

    name = "PyTorch"

    def __init__(self, *, cuda: bool) -> None:
        super().__init__()
        torch = import_module("torch")
        self.module = torch
        self.version = str(torch.__version__)
        self.where = "cuda" if cuda and torch.cuda.is_available() else "cpu"

    def upload(self, flat: Array) -> Any:
        return self.module.from_numpy(flat).to(self.where)

    def view(self, flat: Any, layout: Layout) -> Any:
        return self.module.as_strided(flat, layout.sizes, layout.strides)

    def contiguous(self, x: Any) -> Any:
        return x.contiguous()

    def dtype(self, name: str) -> Any:
        return getattr(self.module, name, None)

    def host(self, x: Any) -> Array:
        found: Array = x.cpu().numpy()
        return found

    def picked(self, result: Any, positions: Array) -> Any:
        return result.reshape(-1)[self.module.from_numpy(positions).to(self.where)]

    def synchronize(self) -> None:
        if self.where == "cuda":
            self.module.cuda.synchronize()

    def time(self, call: Call, pace: Pace) -> Timed:
        if self.where == "cpu":
            return time_wall(call, pace)
        cuda = self.module.cuda
        each = warm_up(call, cuda.synchronize, pace.warm_seconds)
        pairs = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True))
            for _ in range(_runs(each, pace))
        ]
        head_start(self.module)
        for before, after in pairs:
            before.record()
            call()
            after.record()
        cuda.synchronize()
        return Timed.of([a.elapsed_time(b) / 1e3 for a, b in pairs], "CUDA events")

    def free(self) -> None:
        if self.where == "cuda":
            self.module.cuda.empty_cache()


class Cupy(Library):
    """CuPy."""

    name = "CuPy"
    where = "cuda"

    def __init__(self, torch: Torch | None) -> None:
        super().__init__()
        cupy = import_module("cupy")
        self.module = cupy
        self.version = str(cupy.__version__)
        if not cupy.cuda.runtime.getDeviceCount():
            raise RuntimeError("CuPy finds no CUDA device")
        self._torch = torch if torch is not None and torch.where == "cuda" else None

    def upload(self, flat: Array) -> Any:
        return self.module.asarray(flat)

    def view(self, flat: Any, layout: Layout) -> Any:
        steps = tuple(step * flat.itemsize for step in layout.strides)
        return self.module.lib.stride_tricks.as_strided(flat, layout.sizes, steps)

    def host(self, x: Any) -> Array:
        found: Array = self.module.asnumpy(x)
        return found

    def picked(self, result: Any, positions: Array) -> Any:
        return result.reshape(-1)[self.module.asarray(positions)]

    def synchronize(self) -> None:
        self.module.cuda.runtime.deviceSynchronize()

    def time(self, call: Call, pace: Pace) -> Timed:
        cuda = self.module.cuda
        each = warm_up(call, self.synchronize, pace.warm_seconds)
        pairs = [(cuda.Event(), cuda.Event()) for _ in range(_runs(each, pace))]
        if self._torch is not None:
            head_start(self._torch.module)
        for before, after in pairs:
            before.record()
            call()
            after.record()
        self.synchronize()
        seconds = [cuda.get_elapsed_time(a, b) / 1e3 for a, b in pairs]
        return Timed.of(seconds, "CUDA events")

    def free(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()


def head_start(torch: Any) -> None:
    """Keeps the GPU busy while the host queues a timed region, so that no launch gap is timed."""
    sleep = getattr(torch.cuda, "_sleep", None)
    if sleep is not None:
        sleep(HEAD_START)


def _runs(each: float, pace: Pace) -> int:
    return max(pace.runs, min(pace.most_runs, int(0.02 / max(each, 1e-6))))


def rivals(adapter_kind: str, without: set[str]) -> tuple[list[Library], list[str]]:
    """The libraries that are here, and a sentence for each that is not.

    An adapter that is a CPU is compared with libraries on the CPU.
    """
    found: list[Library] = [] if "numpy" in without else [Numpy()]
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
