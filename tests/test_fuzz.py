"""Bad input in bulk: every case gives NumPy's answer or one sentence of a DmlError.

3,000 cases here; HYPOTHESIS_PROFILE=long runs 51,000. Totals are printed at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import fuzz_calls, fuzz_cases

import dmlgpu as dml
from dmlgpu import functions

pytestmark = pytest.mark.gpu

CASES = {"descriptions": 500, "functions": 500, "indices": 500, "bindings": 400, "order": 200}
LONG = 17 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 1

Make = Callable[[Callable[[Any], Any]], Callable[[], object]]


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[fuzz_cases.Tally]:
    made = fuzz_cases.Tally()
    yield made
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        print("", *made.lines(), sep="\n")


def fuzz(tally: fuzz_cases.Tally, kind: str, make: Make) -> None:
    """Runs as many cases of a kind as CASES says."""

    @settings(max_examples=CASES[kind] * LONG, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case = make(data.draw)
        tally.run(kind, case)

    run()
    assert tally.count(kind) >= CASES[kind] * LONG


@pytest.fixture
def only_device(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> dml.Device:
    """The device of calls that are given only arrays too, so that shaders compile once."""
    monkeypatch.setattr(functions, "_default", [device])
    return device


def test_descriptions(only_device: dml.Device, tally: fuzz_cases.Tally) -> None:
    fuzz(tally, "descriptions", lambda draw: fuzz_cases.describe(draw, only_device))


@pytest.mark.facts
def test_functions(only_device: dml.Device, tally: fuzz_cases.Tally) -> None:
    fuzz(tally, "functions", lambda draw: fuzz_cases.function(draw, only_device))


@pytest.mark.facts
def test_indices(only_device: dml.Device, tally: fuzz_cases.Tally) -> None:
    tensors = [only_device.tensor(values) for values in fuzz_calls.INDEXED]
    fuzz(tally, "indices", lambda draw: fuzz_calls.index(draw, tensors))


def test_bindings(only_device: dml.Device, tally: fuzz_cases.Tally) -> None:
    closed = dml.Device()
    tensor = closed.tensor(np.zeros(8, np.float32))
    closed.close()
    with dml.Device() as other:
        bench = fuzz_calls.Bench(only_device, other, tensor)
        fuzz(tally, "bindings", lambda draw: fuzz_calls.binding(draw, bench))


@pytest.mark.usefixtures("device")
def test_order(tally: fuzz_cases.Tally) -> None:
    fuzz(tally, "order", fuzz_calls.order)
