"""Profiled calls in the Trace Event Format, which Perfetto and chrome://tracing open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

PROCESS = 1
BEGIN = 1.0  # us; the viewer in Chromium's developer tools leaves out what happens at 0


class Timed(Protocol):
    """What a trace needs to know of a call."""

    @property
    def name(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def gb_per_s(self) -> float: ...
    @property
    def tensors(self) -> str: ...


def trace(calls: Sequence[Timed], adapter: str, clock: str) -> dict[str, Any]:
    """A JSON object of complete events, one per call, in microseconds from BEGIN on.

    Events of one thread must not overlap, and calls on a GPU may: a call that begins before the
    last one has ended goes to another row.
    """
    first = min((call.start for call in calls), default=0)
    rows: list[int] = []  # the end of the last call on each
    events: list[dict[str, Any]] = []
    for call in sorted(calls, key=lambda call: (call.start, -call.end)):
        row = next((i for i, end in enumerate(rows) if end <= call.start), len(rows))
        rows[row:] = [call.end, *rows[row + 1 :]]
        args: dict[str, Any] = {"bytes": call.nbytes}
        if call.nbytes and call.end > call.start:
            args["GB/s"] = round(call.gb_per_s, 3)
        if call.tensors:
            args["tensors"] = call.tensors
        events.append(
            {
                "name": call.name,
                "cat": "operator",
                "ph": "X",
                "pid": PROCESS,
                "tid": 1 + row,
                "ts": BEGIN + (call.start - first) / 1e3,
                "dur": (call.end - call.start) / 1e3,
                "args": args,
            }
        )
    names = [_named("process_name", 0, f"dmlgpu on {adapter}")]
    names += [
        _named("thread_name", 1 + row, f"calls ({clock})" if row == 0 else "calls at the same time")
        for row in range(max(1, len(rows)))
    ]
    return {
        "traceEvents": names + events,
        "displayTimeUnit": "ns",
        "otherData": {"adapter": adapter, "clock": clock},
    }


def _named(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": {"name": name}}
