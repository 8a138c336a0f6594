"""GPU time per call, from timestamp queries: what `with device.profile() as p:` collects."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import NoReturn
from weakref import WeakSet

from dmlgpu.errors import DeviceError, DmlError, InvalidTypeError
from dmlgpu.gpu.objects import QuerySet
from dmlgpu.gpu.recording import Attempt, Batch, Call
from dmlgpu.gpu.timestamps import Timestamps
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.trace import trace

QUERIES = 4096  # timestamps of one query set, two per call; the most that WebGPU promises
GPU, HOST = "gpu", "host"  # whose clock times the calls


@dataclass(frozen=True, slots=True)
class ProfiledCall:
    """One call of an operator, as the clock saw it."""

    name: str
    nbytes: int  # the least that the call must read and write; 0 where that is not known
    start: int  # nanoseconds on a clock of its own
    end: int
    tensors: str = ""  # types and sizes of what was read and written

    @property
    def seconds(self) -> float:
        """Time of all the call's dispatches."""
        return (self.end - self.start) / 1e9

    @property
    def gb_per_s(self) -> float:
        """Bytes over time; 0 where either is not known."""
        return self.nbytes / (self.end - self.start) if self.end > self.start else 0.0


@dataclass(frozen=True, slots=True)
class ProfiledOperator:
    """All calls of one operator."""

    name: str
    calls: int
    seconds: float
    nbytes: int
    share: float  # of the time of all operators

    @property
    def gb_per_s(self) -> float:
        """Bytes over time; 0 where either is not known."""
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0


class Profile:
    """Collects the calls of a device while it is entered; profiles may overlap.

    `clock` is "gpu" where the adapter has timestamp queries. Elsewhere it is "host": each call is
    then waited for, and its time is the host's, with the cost of starting and waiting.
    """

    def __init__(self, context: Context, profiling: Profiling) -> None:
        self.clock = GPU if context.gpu.has_timestamps else HOST
        self._context = context
        self._profiling = profiling
        self._calls: list[ProfiledCall] = []
        self._recorder: Recorder | None = None

    @property
    def calls(self) -> list[ProfiledCall]:
        """Every call so far, in the order they were made; asking early waits for the GPU."""
        recorder = self._recorder
        if recorder is not None and self._context.is_of_this_process:
            with self._context.lock:
                recorder.collect()
        return list(self._calls)

    @property
    def operators(self) -> list[ProfiledOperator]:
        """The calls by operator, those that took longest first."""
        groups: dict[str, list[ProfiledCall]] = {}
        for call in self.calls:
            groups.setdefault(call.name, []).append(call)
        seconds = {name: sum(call.seconds for call in calls) for name, calls in groups.items()}
        whole = sum(seconds.values()) or 1.0
        found = [
            ProfiledOperator(
                name,
                len(calls),
                seconds[name],
                sum(call.nbytes for call in calls),
                seconds[name] / whole,
            )
            for name, calls in groups.items()
        ]
        return sorted(found, key=lambda operator: -operator.seconds)

    def __enter__(self) -> Profile:
        context, profiling = self._context, self._profiling
        if self._recorder is not None:
            raise DeviceError("this profile is open already; device.profile() makes another")
        context.check_usable()
        try:
            with context.lock:
                recorder = profiling.recorder
                if recorder is not None and not recorder.listeners:  # Ctrl-C kept it from closing
                    recorder.close()
                    recorder = None
                if recorder is None:
                    context.recording.submit()
                    recorder = profiling.recorder = Recorder(context, profiling, self.clock)
                    recorder.start()
                else:
                    recorder.collect()  # what came before belongs to the others
                recorder.listeners.add(self)
                self._recorder = recorder
            return self
        except BaseException:  # Ctrl-C: there will be no __exit__
            self._leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        if not self._context.is_of_this_process:  # a fork inside the block: it is the parent's
            self._recorder = None
            return
        with self._context.lock:
            try:
                try:
                    recorder.collect()
                except DmlError:
                    if kind is None:  # else the block's own exception says more
                        raise
                finally:
                    self._leave()
            finally:
                self._leave()  # again, where Ctrl-C kept it from happening

    def _leave(self) -> None:
        self._recorder, recorder = None, self._profiling.recorder
        if recorder is not None:
            recorder.listeners.discard(self)
            if not recorder.listeners:
                recorder.close()

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError(
            "a Profile belongs to a device and cannot be pickled or copied; pickle its calls"
        )

    def add(self, call: ProfiledCall) -> None:
        """Notes a call."""
        self._calls.append(call)

    def __str__(self) -> str:
        operators = self.operators
        if not operators:
            return "no calls were made while the profile was open"
        width = max(20, *(len(operator.name) for operator in operators))
        unit = f"{'GPU' if self.clock == GPU else 'host'} ms"
        lines = [f"{'operator':<{width}}  {'calls':>7}{unit:>11}{'GB/s':>9}{'share':>8}"]
        for o in operators:
            rate = f"{o.gb_per_s:.1f}" if o.nbytes and o.seconds else "-"
            lines.append(
                f"{o.name:<{width}}  {o.calls:>7}{o.seconds * 1e3:>11.3f}{rate:>9}{o.share:>8.1%}"
            )
        if self.clock == HOST:
            lines.append(
                f"{self._context.gpu.info.name} has no timestamp queries: times are the host's, "
                "each call waited for."
            )
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open."""
        clock = "GPU timestamps" if self.clock == GPU else "host clock, each call waited for"
        made = trace(self.calls, str(self._context.gpu.info), clock)
        Path(path).write_text(json.dumps(made, allow_nan=False), encoding="utf-8")


class Profiling:
    """The recorder that times a device's calls, while a profile is open."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None


class Recorder:
    """Times the calls of a device for every profile that is open on it."""

    def __init__(self, context: Context, profiling: Profiling, clock: str) -> None:
        self.listeners: WeakSet[Profile] = WeakSet()  # one may be dropped without being left
        self._context = context
        self._profiling = profiling
        self._batches: list[Batch] = []  # with timestamps that are not read yet
        self._stamps = Timestamps(context.gpu, QUERIES) if clock == GPU else None

    def start(self) -> None:
        """From here on calls are timed: by stamps in the recording, or each on its own."""
        if self._stamps is None:
            self._context.record = self._timed_by_host
        else:
            self._context.recording.timer = self

    def _used(self) -> int:
        """Queries that hold timestamps to be read."""
        stamped = [attempt.stamped for batch in self._batches for _, attempt in batch.won]
        return max((first + 2 for places in stamped for first, _ in places[-1:]), default=0)

    def has_room(self, calls: int) -> bool:
        """Whether so many more calls can be timed before `collect`."""
        return self._used() + 2 * calls <= QUERIES

    def begin(self, batch: Batch) -> Callable[[Attempt, Call], tuple[QuerySet, int]] | None:
        """What gives the calls of a batch places for their timestamps, while anyone listens."""
        stamps = self._stamps
        if not self.listeners or stamps is None:
            self.close()
            return None
        if not any(known is batch for known in self._batches):
            self._batches.append(batch)
        used = self._used()

        def place(attempt: Attempt, call: Call) -> tuple[QuerySet, int]:
            first = used + 2 * len(attempt.stamped)
            attempt.stamped.append((first, call))
            return stamps.queries, first

        return place

    def _timed_by_host(self, call: Call) -> None:
        context = self._context
        if not self.listeners:
            self.close()
        if not call.timed or not self.listeners:
            context.recording.append(call)
            return
        context.transfers.wait()
        start = perf_counter_ns()
        context.recording.append(call)
        context.transfers.wait()
        self._tell(ProfiledCall(call.name, call.nbytes, start, perf_counter_ns(), call.tensors))

    def _tell(self, call: ProfiledCall) -> None:
        for profile in list(self.listeners):
            profile.add(call)

    def collect(self) -> None:
        """Waits for the calls recorded so far, and tells them to the profiles."""
        if not self.listeners:
            self.close()
        stamps = self._stamps
        if stamps is None:
            return
        context = self._context
        context.check_usable()
        context.recording.submit()
        batches = [batch for batch in self._batches if batch.won]
        used = self._used()
        if not used:
            self._batches = [batch for batch in self._batches if not batch.won]
            return
        resolve = Call("timestamps", (), (), 0, timed=False, encode=stamps.resolve(used))
        context.recording.append(resolve)
        times = stamps.read(context.transfers, used)
        for batch in batches:
            try:
                self._batches.remove(batch)
            except ValueError:  # told by code that has interrupted this
                continue
            for _, attempt in batch.won:
                for first, call in attempt.stamped:
                    start = round(times[first])
                    taken = max(0, round(times[first + 1] - times[first]))
                    end = start + taken
                    self._tell(ProfiledCall(call.name, call.nbytes, start, end, call.tensors))

    def close(self) -> None:
        """The last profile is left: the device is no longer profiled."""
        if self._profiling.recorder is self:
            self._profiling.recorder = None
        recording = self._context.recording
        if recording.timer is self:
            recording.timer = None
        self._context.record = recording.append
        self._stamps = None
