"""Every fault at every stage: nothing is lost, nothing is half done, the device works on.

With --fault-table, what happened is printed at the end.
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
from support import fault_table
from support.injection import ALLOCATIONS, CALLS, Injection, injected
from support.stages import STAGES, Bench, Stage
from wgpu.backends.wgpu_native import _api as native

import dmlgpu as dml
from dmlgpu.gpu.recording import BATCH_LIMIT

pytestmark = pytest.mark.gpu


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
                    outcomes["no error"] += 1
        if not injection.hit:
            break
        where = f"{fault} at call {n}, {injection.hit}"
        got, right = stage.run(bench, 2 * n)
        assert np.array_equal(got, right), where
        bench.intact()
        bench.accounted()
    else:
        pytest.fail("the scenario never ran without a fault")
    assert outcomes.total() == n - 1 > 0
    fault_table.note(fault, stage.name, outcomes)


def check_sentence(error: BaseException, where: str) -> None:
    text = str(error)
    assert "\n" not in text, text
    assert len(text) < 300, text
    if "buffer" in where:
        assert any(c.isdigit() for c in text), f"no size in {text!r} at {where}"


@pytest.mark.parametrize("fault", FAULTS)
def test_in_place_calls_run_once_each(bench: Bench, fault: str) -> None:
    """A batch and a half of calls on one tensor: each is not recorded at all, or run once."""
    inject, errors = FAULTS[fault]
    interrupted = KeyboardInterrupt in errors
    desc = dml.TensorDesc(dml.DataType.UINT32, (3,))
    op = bench.device.compile(
        dml.CumulativeSummationDesc(input_tensor=desc, output_tensor=desc, axis=0)
    )
    for n in range(1, 400, 7):
        x = bench.device.tensor(np.array([1, 0, 0], np.uint32))
        calls = failed = 0
        with inject(n) as injection:
            while calls < BATCH_LIMIT * 3 // 2:
                try:
                    op(x, out=x)
                    calls += 1
                except errors:
                    failed += 1
                    if fault == "allocations fail":
                        break
        # The second element counts the calls. Ctrl-C may come just after one is recorded.
        run = int(x.numpy()[1])
        assert calls <= run <= calls + failed * interrupted, f"{fault} at {n}, {injection.hit}"
        assert x.numpy().tolist() == [1, run, run * (run + 1) // 2]
        if not injection.hit:
            return
    pytest.fail("the scenario never ran without a fault")


COLD = [
    (native.GPUDevice, "create_buffer"),
    (native.libf, "wgpuDeviceCreateShaderModuleTrusted"),
    (native.GPUDevice, "create_compute_pipeline"),
    (native.GPUDevice, "create_buffer_with_data"),
    (native.GPUComputePipeline, "get_bind_group_layout"),
    (native.libf, "wgpuDeviceCreateBindGroup"),
]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("act", [no_memory, refused, ctrl_c], ids=lambda act: act.__name__)
def test_a_fault_while_compiling(act: Callable[[], None]) -> None:
    """The first call of a device: shader module, pipeline and all."""
    desc = dml.TensorDesc(dml.DataType.UINT8, (70,))
    errors = {no_memory: dml.OutOfMemoryError, refused: dml.DeviceError}.get(act, KeyboardInterrupt)
    with dml.Device() as device:
        x = device.tensor(np.arange(70, dtype=np.uint8))
        op = device.compile(
            dml.SliceDesc(
                input_tensor=desc, output_tensor=desc, offsets=(0,), sizes=(70,), strides=(1,)
            )
        )
        for kind, name in COLD:  # in this order: each fault comes before the next thing is made
            with injected(1, act, {kind: (name,)}), pytest.raises(errors):
                op(x, out=device.empty(desc))
            gc.collect()  # the error's traceback may hold the output
            assert device.memory.in_use == x.storage.size, name
        assert np.array_equal(op(x).numpy(), np.arange(70))
