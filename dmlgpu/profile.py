"""GPU time per call, from timestamp queries: what `with device.profile() as p:` collects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from dmlgpu.errors import DeviceError
from dmlgpu.recording import Call

if TYPE_CHECKING:
    from dmlgpu.device import Device

QUERIES = 4096  # timestamps of one query set, two per call


@dataclass(frozen=True, slots=True)
class ProfiledCall:
    """One call of an operator as the GPU saw it."""

    name: str
    nbytes: int  # of the tensors it reads and writes
    start: int  # nanoseconds on the GPU's clock
    end: int

    @property
    def seconds(self) -> float:
        """GPU time of all the call's dispatches."""
        return (self.end - self.start) / 1e9


class Profile:
    """Collects calls while it is entered; complete once it is left."""

    def __init__(self, device: Device) -> None:
        self.calls: list[ProfiledCall] = []
        self._device = device
        self._pending: list[tuple[str, int]] = []
        self._queries: Any = None
        self._resolved: Any = None

    def __enter__(self) -> Profile:
        device = self._device
        gpu = device.gpu.device
        if "timestamp-query" not in gpu.features:
            raise DeviceError(
                f"{device.adapter.name} has no timestamp queries, which profiling needs"
            )
        try:
            with device.lock:
                if device.recording.profile is not None and device.recording.profile():
                    raise DeviceError("the device is being profiled already")
                device.flush()
                self._queries, self._resolved = device.gpu.timestamps(QUERIES)
                device.recording.profile = ref(self)
            return self
        except BaseException:  # Ctrl-C: there will be no __exit__
            self._end()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._device.lock:
            try:
                try:
                    if kind is None:
                        self._collect()
                finally:
                    self._end()
            finally:
                self._end()  # again, where Ctrl-C kept it from happening

    def _end(self) -> None:
        current = self._device.recording.profile
        if current is not None and current() is self:
            self._device.recording.stop_stamping()
        queries, self._queries = self._queries, None
        if queries is not None:
            queries.destroy()
            self._resolved.destroy()

    def stamp(self, call: Call) -> tuple[Any, int]:
        """The query set and the first of the two places in it for a call's timestamps."""
        if 2 * len(self._pending) == QUERIES:
            self._collect()
        self._pending.append((call.name, call.nbytes))
        return self._queries, 2 * len(self._pending) - 2

    def _collect(self) -> None:
        if not self._pending:
            return
        count = 2 * len(self._pending)
        gpu = self._device.gpu
        gpu.resolve(self._queries, count, self._resolved)
        raw = np.empty(8 * count, np.uint8)
        gpu.read(self._resolved, 0, raw)
        times = raw.view(np.uint64).reshape(-1, 2)
        for (name, nbytes), (start, end) in zip(self._pending, times.tolist(), strict=True):
            self.calls.append(ProfiledCall(name, nbytes, start, max(start, end)))
        self._pending.clear()

    def __str__(self) -> str:
        totals: dict[str, tuple[int, float, int]] = {}
        for call in self.calls:
            count, seconds, nbytes = totals.get(call.name, (0, 0.0, 0))
            totals[call.name] = (count + 1, seconds + call.seconds, nbytes + call.nbytes)
        everything = sum(seconds for _, seconds, _ in totals.values()) or 1.0
        lines = [f"{'operator':<22}{'calls':>7}{'GPU ms':>11}{'GB/s':>9}{'share':>8}"]
        for name, (count, seconds, nbytes) in sorted(totals.items(), key=lambda t: -t[1][1]):
            rate = nbytes / seconds / 1e9 if seconds else 0.0
            share = seconds / everything
            lines.append(f"{name:<22}{count:>7}{seconds * 1e3:>11.3f}{rate:>9.1f}{share:>8.1%}")
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes a trace that Perfetto and chrome://tracing open."""
        first = min((call.start for call in self.calls), default=0)
        events = [
            {
                "name": call.name,
                "cat": "gpu",
                "ph": "X",
                "pid": 1,
                "tid": 1,
                "ts": (call.start - first) / 1e3,
                "dur": (call.end - call.start) / 1e3,
                "args": {"bytes": call.nbytes},
            }
            for call in self.calls
        ]
        label = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": str(self._device)}}
        text = json.dumps({"traceEvents": [label, *events], "displayTimeUnit": "ms"})
        Path(path).write_text(text, encoding="utf-8")
