"""GPU time per call, from timestamp queries: what `with device.profile() as p:` collects."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from weakref import WeakSet

from dmlgpu.errors import DeviceError, DmlError
from dmlgpu.gpu.objects import QuerySet
from dmlgpu.gpu.recording import Call
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
        if self._recorder is not None:
            with self._context.lock:
                self._recorder.collect()
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
        self.listeners: WeakSet[Profile] = WeakSet()  # Ctrl-C may keep one from ending
        self._context = context
        self._profiling = profiling
        self._pending: list[tuple[int, str, int]] = []  # number of the first query, name, bytes
        self._submitting: list[tuple[int, str, int]] = []  # the same, not yet on their way
        self._used = 0  # queries
        self._stamps = Timestamps(context.gpu, QUERIES) if clock == GPU else None

    def start(self) -> None:
        """From here on calls are timed: by stamps in the recording, or each on its own."""
        if self._stamps is None:
            self._context.record = self._timed_by_host
        else:
            self._context.recording.timer = self

    def has_room(self, calls: int) -> bool:
        """Whether so many more calls can be timed before `collect`."""
        return self._used + 2 * calls <= QUERIES

    def is_wanted(self) -> bool:
        """Whether anyone still listens; begins a submission."""
        self._submitting = []
        if not self.listeners:
            self.close()
        return bool(self.listeners)

    def next_stamps(self, call: Call) -> tuple[QuerySet, int]:
        """The query set and the first of the two places in it for a call of this submission."""
        assert self._stamps is not None
        first = self._used + 2 * len(self._submitting)
        self._submitting.append((first, call.name, call.nbytes))
        return self._stamps.queries, first

    def submitted(self) -> None:
        """The calls of this submission are on their way."""
        self._pending += self._submitting
        self._used += 2 * len(self._submitting)

    def _timed_by_host(self, call: Call) -> None:
        context = self._context
        if not call.timed:
            context.recording.append(call)
            return
        context.transfers.wait()
        start = perf_counter_ns()
        context.recording.append(call)
        context.transfers.wait()
        self._tell(ProfiledCall(call.name, call.nbytes, start, perf_counter_ns()))

    def _tell(self, call: ProfiledCall) -> None:
        for profile in self.listeners:
            profile.add(call)

    def collect(self) -> None:
        """Waits for the calls recorded so far, and tells them to the profiles."""
        stamps = self._stamps
        if stamps is None:
            return
        self._context.check_usable()
        self._context.recording.submit(
            lambda encoder: stamps.resolve(self._used + 2 * len(self._submitting))(encoder)
        )
        if not self._pending:
            return
        times = stamps.read(self._context.transfers, self._used)
        pending, self._pending, self._used = self._pending, [], 0
        for first, name, nbytes in pending:
            start = round(times[first])
            taken = round(times[first + 1] - times[first])
            self._tell(ProfiledCall(name, nbytes, start, start + max(0, taken)))

    def close(self) -> None:
        """The last profile is left: the device is no longer profiled."""
        self._profiling.recorder = None
        self._context.recording.timer = None
        self._context.record = self._context.recording.append
        if self._stamps is not None:
            self._stamps.destroy()
