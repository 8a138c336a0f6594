"""Every fault at every stage: nothing is lost, nothing is half done, the device works on.

`pytest tests/test_faults.py -k table -s` prints the table of faults, stages and outcomes.
"""

from __future__ import annotations

import contextlib
import gc
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import wgpu
from injection import ALLOCATIONS, CALLS, Injection, injected
from stages import STAGES, Bench, Stage

import dmlgpu as dml

pytestmark = pytest.mark.gpu

TABLE: dict[tuple[str, str], str] = {}


def no_memory() -> None:
    raise wgpu.GPUOutOfMemoryError("Not enough memory left.")


def refused() -> None:
    raise wgpu.GPUInternalError("The driver has no more handles.")


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


Fault = Callable[[int], contextlib.AbstractContextManager[Injection]]
FAULTS: dict[str, tuple[Fault, tuple[type[BaseException], ...]]] = {
    "allocation fails": (
        lambda n: injected(n, no_memory, ALLOCATIONS),
        (dml.OutOfMemoryError,),
    ),
    "allocations fail": (
        lambda n: injected(n, no_memory, ALLOCATIONS, lasting=True),
        (dml.OutOfMemoryError,),
    ),
    "driver refuses": (
        lambda n: injected(n, refused, ALLOCATIONS),
        (dml.DeviceError,),
    ),
    "Ctrl-C before": (
        lambda n: injected(n, ctrl_c, CALLS),
        (KeyboardInterrupt,),
    ),
    "Ctrl-C after": (
        lambda n: injected(n, ctrl_c, CALLS, after=True),
        (KeyboardInterrupt,),
    ),
}


@pytest.fixture(scope="module")
def bench(device: dml.Device) -> Iterator[Bench]:
    with dml.Device(debug=True) as made:
        bench = Bench(made)
        for stage in STAGES:  # pipelines are compiled once: test_compiling has their faults
            stage.run(bench, 0)
        yield bench


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_everything_intact(bench: Bench, fault: str, stage: Stage) -> None:
    inject, errors = FAULTS[fault]
    outcomes: Counter[str] = Counter()
    for n in range(1, 200):
        bench.renew()
        gc.collect()
        before = bench.device.memory.in_use
        with inject(n) as injection:
            try:
                got, right = stage.run(bench, 2 * n)
            except errors as error:
                outcomes[type(error).__name__] += 1
                if isinstance(error, dml.DmlError):
                    check_sentence(error, injection.hit)
            else:
                assert np.array_equal(got, right)
                if injection.hit:
                    outcomes["nothing lost, no error"] += 1
        if not injection.hit:
            break
        where = f"{fault} at call {n}, {injection.hit}"
        got, right = stage.run(bench, 2 * n)
        assert np.array_equal(got, right), where
        bench.intact()
        gc.collect()
        assert bench.device.memory.in_use == before, where
    else:
        pytest.fail("the scenario never ran without a fault")
    assert outcomes.total() == n - 1 > 0
    TABLE[fault, stage.name] = ", ".join(f"{count} {what}" for what, count in outcomes.items())


def check_sentence(error: BaseException, where: str) -> None:
    text = str(error)
    assert "\n" not in text, text
    assert len(text) < 300, text
    if "buffer" in where:
        assert any(c.isdigit() for c in text), f"no size in {text!r} at {where}"


def test_the_table_of_faults() -> None:
    if not TABLE:
        pytest.skip("the tests above fill it")
    width = max(len(name) for _, name in TABLE) + 2
    print()
    for (fault, stage), outcome in TABLE.items():
        print(f"{fault:<18}{stage:<{width}}{outcome}")
