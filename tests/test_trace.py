"""The trace a profile saves, held against the rules of the Trace Event Format."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu.runtime.profile import ProfiledCall
from dmlgpu.runtime.trace import BEGIN, trace


def strictly(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The complete events and the names of a trace; every rule of the format is checked."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    assert set(found) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert found["displayTimeUnit"] in ("ms", "ns")
    named: dict[tuple[int, int], str] = {}
    complete, metadata = [], []
    for event in found["traceEvents"]:
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert set(event) == {"name", "ph", "pid", "tid", "args"}
            assert event["name"] in ("process_name", "thread_name")
            assert event["args"]["name"]
            if event["name"] == "thread_name":
                named[event["pid"], event["tid"]] = event["args"]["name"]
            metadata.append(event)
            continue
        assert event["ph"] == "X"
        assert set(event) == {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"}
        assert event["name"]
        assert event["cat"]
        for number in ("ts", "dur"):
            assert isinstance(event[number], float)
            assert isfinite(event[number])
            assert event[number] >= 0
        assert (event["pid"], event["tid"]) in named
        complete.append(event)
    ends: dict[int, float] = {}
    for event in complete:  # in order, and on one row none begins before the last has ended
        assert event["ts"] >= ends.get(event["tid"], 0) - 1e-6
        ends[event["tid"]] = event["ts"] + event["dur"]
    assert [e["ts"] for e in complete] == sorted(e["ts"] for e in complete)
    return complete, metadata


@pytest.mark.gpu
def test_the_trace_holds_every_call(device: dml.Device, tmp_path: Path) -> None:
    x = device.tensor(np.ones((64, 64), np.float32))
    with device.profile() as p:
        dml.cumulative_summation(x, 0)
        x[::-1].copy()
    p.save(tmp_path / "trace.json")
    told = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    tensors = [event["args"]["tensors"] for event in told if event["ph"] == "X"]
    assert tensors == ["FLOAT32 64x64 -> FLOAT32 64x64"] * 2
    p.save(str(tmp_path / "same.json"))
    text = (tmp_path / "trace.json").read_text(encoding="utf-8")
    assert (tmp_path / "same.json").read_text(encoding="utf-8") == text
    complete, metadata = strictly(text)
    assert [event["name"] for event in complete] == ["CUMULATIVE_SUMMATION", "SLICE1"]
    assert complete[0]["ts"] == BEGIN
    assert [event["args"]["bytes"] for event in complete] == [c.nbytes for c in p.calls]
    for event, call in zip(complete, p.calls, strict=True):
        assert event["dur"] == pytest.approx(call.seconds * 1e6)
        if call.seconds:
            assert event["args"]["GB/s"] == pytest.approx(call.gb_per_s, abs=1e-3)
    assert device.adapter.name in metadata[0]["args"]["name"]


@pytest.mark.gpu
def test_the_trace_of_nothing(device: dml.Device, tmp_path: Path) -> None:
    with device.profile() as p:
        pass
    p.save(tmp_path / "trace.json")
    complete, metadata = strictly((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert complete == []
    assert len(metadata) == 2


def test_calls_at_the_same_time_get_rows_of_their_own() -> None:
    calls = [
        ProfiledCall("a", 64, 1000, 5000),
        ProfiledCall("b", 64, 4000, 7000),
        ProfiledCall("c", 0, 6000, 6000),
        ProfiledCall("d", 64, 7000, 8000),
    ]
    complete, metadata = strictly(json.dumps(trace(calls, "a GPU", "GPU timestamps")))
    assert [(e["name"], e["tid"], e["ts"], e["dur"]) for e in complete] == [
        ("a", 1, 1.0, 4.0),
        ("b", 2, 4.0, 3.0),
        ("c", 1, 6.0, 0.0),
        ("d", 1, 7.0, 1.0),
    ]
    assert complete[0]["args"] == {"bytes": 64, "GB/s": 0.016}
    assert complete[2]["args"] == {"bytes": 0}
    assert [e["args"]["name"] for e in metadata if e["name"] == "thread_name"] == [
        "calls (GPU timestamps)",
        "calls at the same time",
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("where", ["missing/trace.json", "."])
def test_a_place_that_cannot_be_written_is_pythons_error(
    device: dml.Device, tmp_path: Path, where: str
) -> None:
    with pytest.raises(OSError, match=r"No such file|directory|denied"):
        device.profile().save(tmp_path / where)
