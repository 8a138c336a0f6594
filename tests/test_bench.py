"""`dmlgpu bench`: what an installed package measures, and how it hands over to the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from support.commands import is_one_sentence, run

import dmlgpu as dml
from dmlgpu.cli import bench, cases
from dmlgpu.measure import roofline, timing
from dmlgpu.measure.roofline import copy_kernel, copy_rate
from dmlgpu.measure.timing import Pace, Timed, time_gpu, time_queued

ROOT = Path(__file__).resolve().parent.parent
Capture = pytest.CaptureFixture[str]
# Bytes that cases of 1 MiB read and write, as the shapes of their arrays say.
MOVED = {
    "rows reversed": 2 << 20,
    "rows of 1024, shuffled": (2 << 20) + 1024,  # and an index of 4 bytes for each of 256 rows
    "along rows of 64": 2 << 20,
    "one long line": 2 << 20,
    "two tables": 3 << 20,
    "a row to every row": (2 << 20) + 4096,
    "of a transposed table": 2 << 20,
    "the sum of each row": (1 << 20) + 1024,
    "the largest of each column": (1 << 20) + 4096,
    "two tables side by side": 4 << 20,
}


@pytest.mark.gpu
def test_the_report_as_json(capsys: Capture, device: dml.Device) -> None:
    before = perf_counter()
    status, out, _ = run(capsys, "bench", "--size", "1", "--json")
    elapsed_ms = 1e3 * (perf_counter() - before)
    assert status == 0
    found = json.loads(out)
    assert found["dmlgpu"] == dml.__version__
    assert dml.AdapterInfo(**found["adapter"]) == device.adapter
    assert found["clock"] in ("gpu", "host")
    assert [row["task"] for row in found["rows"]] == [c.task for c in cases.bench_cases(1 << 20)]
    for row in found["rows"]:
        assert row["agrees"] is True
        assert row["input_bytes"] == 1 << 20
        assert row["of_copy"] == pytest.approx(row["gb_per_s"] / found["copy_gb_per_s"])
        assert row["numpy_ratio"] == pytest.approx(row["numpy_ms"] / row["gpu_ms"])
        assert row["numpy_ms"] > 1e-3  # no core reads 1 MiB in a microsecond
    moved = {row["task"]: row["gb_per_s"] * row["gpu_ms"] * 1e6 for row in found["rows"]}
    assert {task: moved[task] for task in MOVED} == pytest.approx(MOVED)
    assert sum(row["gpu_ms"] + row["numpy_ms"] for row in found["rows"]) < elapsed_ms


@pytest.mark.gpu
def test_the_report_as_a_table(capsys: Capture, device: dml.Device) -> None:
    status, out, err = run(capsys, "bench", "--size", "1")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == f"dmlgpu {dml.__version__} on {device.adapter}"
    assert lines[1].startswith("FLOAT32, 1 MiB of input; the adapter copies ")
    head = ["operator", "task", "dmlgpu", "ms", "GB/s", "of", "copy", "NumPy", "ms", "x", "NumPy"]
    assert lines[3].split() == head
    count = len(cases.bench_cases(1 << 20))
    assert len({len(line) for line in lines[3 : 4 + count]}) == 1
    assert err.count("\n") == 1 + count


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_a_wrong_result_fails(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = cases.bench_cases(1 << 20)
    wrong = replace(first, numpy=lambda x: x[:, 1::2].copy())
    monkeypatch.setattr(bench, "bench_cases", lambda nbytes: [first, wrong])
    status, out, err = run(capsys, "bench", "--size", "1", "--json")
    assert status == 1
    assert [row["agrees"] for row in json.loads(out)["rows"]] == [True, False]
    sentence = "SLICE (every 2nd element) on this adapter differ from NumPy"
    assert err.splitlines()[-1] == f"dmlgpu: {sentence}"


@pytest.mark.parametrize("size", ["0", "-1", "big", "1.5", "5000"])
def test_a_size_that_is_none_is_refused(capsys: Capture, size: str) -> None:
    status, out, err = run(capsys, "bench", f"--size={size}")
    assert (status, out) == (2, "")
    assert f"it is {size!r}; it must be a number from 1 to 4096" in err
    assert is_one_sentence(err)


def test_sums_of_the_cases_are_exact() -> None:
    """Else a result could differ from NumPy's in its last bit, by the order of adding."""
    for case in cases.bench_cases(16 << 20):
        if case.operator == "CUMULATIVE_SUMMATION":
            (x,) = case.inputs
            assert np.abs(case.numpy(x.astype(np.float64))).max() < 2**24


def test_the_suite_is_handed_its_arguments(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def call(words: list[str], cwd: Path) -> int:
        called.append((words, cwd))
        return 7

    monkeypatch.setattr(subprocess, "call", call)
    status, _, _ = run(capsys, "bench", "--suite", "--quick", "--only", "slice*")
    assert status == 7
    words = [sys.executable, "-m", "benchmarks", "--quick", "--only", "slice*"]
    assert called == [(words, ROOT)]
    run(capsys, "bench", "--list")
    assert called[1:] == [([sys.executable, "-m", "benchmarks", "--list"], ROOT)]


def test_without_a_checkout_there_is_no_suite(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dml, "__file__", str(tmp_path / "dmlgpu" / "__init__.py"))
    status, out, err = run(capsys, "bench", "--suite")
    assert (status, out) == (1, "")
    assert err.startswith("dmlgpu: the suite needs a checkout: ")
    assert is_one_sentence(err)


@pytest.mark.gpu
def test_the_copy_copies(device: dml.Device) -> None:
    kernel, (source, made) = copy_kernel(device, 4096)
    device.context.transfers.write(source.buffer, 0, np.arange(4096).astype(np.uint8))
    kernel()
    assert made.tobytes() == source.tobytes() == np.arange(4096).astype(np.uint8).tobytes()


@pytest.mark.gpu
def test_the_rate_of_a_copy_is_that_of_the_best_look(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of 1 MiB reads as much as it writes: 2 MiB in 2 ms."""
    looks = iter([0.004, 0.002, 0.008])

    def timed(device: dml.Device, call: Any, pace: Pace) -> Timed:
        return Timed.of([next(looks)], "wall")

    monkeypatch.setattr(roofline, "time_gpu", timed)
    assert copy_rate(device, 1 << 20) == pytest.approx(1_048_576_000)
    assert next(looks, None) is None


@pytest.mark.gpu
def test_times_say_whose_clock_they_are(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = device.tensor(np.ones(64, np.float32))
    pace = Pace(0.0, 3, 3)
    timed = time_gpu(device, lambda: dml.cumulative_summation(x, 0), pace)
    has_timestamps = "timestamp-query" in device.wgpu_device.features
    assert timed.by == ("timestamps" if has_timestamps else "wall")
    monkeypatch.setattr(device.context.gpu, "has_timestamps", False)
    assert time_gpu(device, lambda: dml.cumulative_summation(x, 0), pace).by == "wall"


@pytest.mark.parametrize(("each", "rows"), [(0.001, [20, 20, 20]), (0.7, [1, 1])])
def test_queued_calls_are_timed_together(
    monkeypatch: pytest.MonkeyPatch, each: float, rows: list[int]
) -> None:
    """Work is done when it is waited for; of slow calls fewer rows are timed."""
    now, queued, done = [0.0], [0], []

    def call() -> None:
        queued[0] += 1

    def wait() -> None:
        now[0] += each * queued[0]
        done.append(queued[0])
        queued[0] = 0

    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])
    timed = time_queued(call, wait, Pace(0.0, 3))
    assert (timed.by, timed.seconds) == ("queued", pytest.approx(each))
    assert done[-len(rows) :] == rows
    assert len(done) == 2 + len(rows)  # one that compiles, one that warms up
