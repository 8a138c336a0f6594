"""How time is taken: a warm-up before every timed region, then the median of several runs.

An idle GPU lowers its clocks and needs about half a second of work to raise them again, so that is
how long the work itself runs before it is timed. GPU time comes from timestamps around each call,
which keep it apart from the calls beside it: on an H200 that costs 2 to 3 us. What a call takes
among others is measured over many that are queued, by the host's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from dmlgpu.device import Device
from dmlgpu.runtime.profile import GPU

Call = Callable[[], Any]
GROUP_SECONDS = 0.01  # work queued at once while warming up
GROUP_LIMIT = 1024
QUEUED_SECONDS = 0.02  # work queued at once while it is timed
ENOUGH_SECONDS = 1.0  # after which no further row of calls is timed


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to warm up and how often to measure."""

    warm_seconds: float
    runs: int
    most_runs: int = 48  # of calls that are quick
    host_seconds: float = 0.25  # spent on a call that is timed by the host's clock

    @classmethod
    def of(cls, adapter_kind: str, *, quick: bool = False) -> Pace:
        """The rule for an adapter; a CPU has no clocks to raise."""
        warm = 0.05 if adapter_kind == "cpu" else 0.5
        if quick:
            return cls(warm / 5, 3 if adapter_kind == "cpu" else 5, 5, 0.05)
        return cls(warm, 12)


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one call."""

    seconds: float  # the median
    best: float
    runs: int
    by: str  # timestamps, wall, queued, CUDA events

    @classmethod
    def of(cls, seconds: list[float], by: str) -> Timed:
        return cls(median(seconds), min(seconds), len(seconds), by)


def warm_up(call: Call, wait: Call, seconds: float) -> float:
    """Calls for at least so long without letting the queue grow; returns seconds of one call."""
    start = perf_counter()
    group = 1
    while True:
        taken = _together(call, wait, group)
        if perf_counter() - start >= seconds:
            return taken / group
        if taken < GROUP_SECONDS:
            group = min(2 * group, GROUP_LIMIT)


def _together(call: Call, wait: Call, count: int) -> float:
    """Seconds from the first of several calls until the work of all is done."""
    before = perf_counter()
    for _ in range(count):
        call()
    wait()
    return perf_counter() - before


def time_gpu(device: Device, call: Call, pace: Pace) -> Timed:
    """GPU time of a call; the host's clock steps in where an adapter has no timestamps.

    A function that records several calls each time takes the sum of them.
    """
    call()
    device.wait()  # compiles; not part of the warm-up
    each = warm_up(call, device.wait, pace.warm_seconds)
    runs = max(pace.runs, min(pace.most_runs, int(0.02 / max(each, 1e-6))))
    with device.profile() as profile:
        for _ in range(runs):
            call()
    by = "timestamps" if profile.clock == GPU else "wall"
    seconds = [call.seconds for call in profile.calls]
    each_time = max(1, len(seconds) // runs)
    sums = [sum(seconds[i : i + each_time]) for i in range(0, len(seconds), each_time)]
    return Timed.of(sums, by)


def time_queued(call: Call, wait: Call, pace: Pace) -> Timed:
    """Time of a call among others like it, from the first one until the last one's work is done."""
    call()
    wait()
    each = warm_up(call, wait, pace.warm_seconds)
    count = max(1, min(GROUP_LIMIT, int(QUEUED_SECONDS / max(each, 1e-6))))
    seconds: list[float] = []
    while len(seconds) < pace.runs and count * sum(seconds) < ENOUGH_SECONDS:
        seconds.append(_together(call, wait, count) / count)
    return Timed.of(seconds, "queued")


def time_wall(call: Call, pace: Pace) -> Timed:
    """Host time of a call that returns when its work is done; a slow one runs fewer times."""
    seconds: list[float] = []
    start = now = perf_counter()
    while len(seconds) < 1000:
        before = now
        call()
        now = perf_counter()
        seconds.append(now - before)
        enough = pace.host_seconds if len(seconds) > 3 else 4 * pace.host_seconds
        if now - start >= enough:
            break
    kept = seconds[1:] or seconds  # the first one fills caches
    return Timed.of(kept, "wall")
