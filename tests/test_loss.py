"""A lost or closed device says so on every call; a new device works in the same process."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wgpu
from support import fault_table
from support.injection import CALLS, injected
from support.stages import F32, STAGES, Bench, Stage, summation
from wgpu.backends.wgpu_native import _api as native

import dmlgpu as dml
from dmlgpu.gpu import private
from dmlgpu.gpu.encoding import Encoding

pytestmark = pytest.mark.gpu

ONES = np.ones(1000, np.float32)
LINE = dml.TensorDesc(F32, (1000,))
SUM = summation(1000)

Calls = dict[str, Callable[[], object]]


def used(device: dml.Device) -> Calls:
    """Every way to use a device that has a tensor and an operator."""
    op = device.compile(SUM)
    x = device.tensor(ONES)
    y = op(x)
    assert y.numpy()[-1] == 1000
    buffer = device.context.gpu.buffer(256)
    return {
        "call": lambda: op(x),
        "call with out": lambda: op(x, out=y),
        "call with an array": lambda: op(ONES),
        "numpy": y.numpy,
        "asarray": lambda: np.asarray(y),
        "tobytes": y.tobytes,
        "tensor": lambda: device.tensor(ONES),
        "large tensor": lambda: device.tensor(np.ones(1 << 20, np.float32)),
        "upload": lambda: device.upload(LINE, ONES.tobytes()),
        "empty": lambda: device.empty(LINE),
        "wrap": lambda: device.wrap(buffer, dml.TensorDesc(F32, (4,))),
        "compile": lambda: device.compile(SUM),
        "compile anew": lambda: device.compile(summation(1001)),
        "flush": device.flush,
        "wait": device.wait,
        "profile": device.profile,
        "function": lambda: dml.cumulative_summation(x, 0),
        "index": lambda: x[[1, 0]],
    }


def all_say_so(calls: Calls) -> None:
    for name, call in calls.items():
        with pytest.raises(dml.DeviceLostError) as caught:
            call()
        assert caught.value.hresult == 0x887A0005, name
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("first", ["call", "numpy", "tensor", "wait", "compile anew", "index"])
@pytest.mark.parametrize("recorded", [False, True], ids=["idle", "with work recorded"])
def test_after_a_loss_every_call_raises(recorded: bool, first: str) -> None:
    device = dml.Device()
    calls = used(device)
    if recorded:
        calls["call"]()
    device.wgpu_device.destroy()
    all_say_so({first: calls[first], **calls})
    stage = f"before {first}" + (", work recorded" if recorded else "")
    fault_table.note("device lost", stage, Counter({"DeviceLostError": len(calls)}))
    assert device.memory.in_use > 0  # still answers
    device.close()
    with dml.Device() as another:
        used(another)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_loss_in_the_middle_of_a_stage(stage: Stage) -> None:
    """Destroyed before each kind of call to wgpu: an error at once, and no result after it."""
    points = {
        # A loss between finish and submit ends the process inside wgpu-native: not in our hands.
        kind: tuple(n for n in names if (kind, n) != (native.GPUQueue, "submit"))
        for kind, names in CALLS.items()
    }
    outcomes: Counter[str] = Counter()
    for kind, names in points.items():
        for name in names:
            device = dml.Device(debug=True)
            bench = Bench(device)
            with injected(1, device.wgpu_device.destroy, {kind: (name,)}) as injection:
                try:
                    got, right = stage.run(bench, 0)
                except dml.DeviceLostError:
                    assert injection.hit
                    outcomes["DeviceLostError"] += 1
                else:
                    assert np.array_equal(got, right), "stale"
                    outcomes["right result"] += bool(injection.hit)
            if injection.hit:
                all_say_so({"read": bench.kept.numpy, "call": lambda: bench.op(bench.kept)})  # noqa: B023
            device.close()
    fault_table.note("device lost", stage.name, +outcomes)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", ["__init__", "_pass", "finish"])
def test_a_lost_device_goes_back_to_the_driver(name: str) -> None:
    """wgpu-native would keep one whose commands are finished after the loss: threads stay, too."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("threads are counted in /proc")

    def threads() -> int:
        gc.collect()
        return len(list(tasks.iterdir()))

    def lose() -> None:
        device = dml.Device()
        y = device.compile(SUM)(device.tensor(ONES))
        lost, at = pytest.raises(dml.DeviceLostError), {Encoding: (name,)}
        with injected(1, device.wgpu_device.destroy, at) as injection, lost:
            y.numpy()
        assert injection.hit
        device.close()

    lose()  # threads that stay for the next device
    before = threads()
    for _ in range(3):
        lose()
    assert threads() == before


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("large", [False, True])
def test_a_loss_while_waiting_for_the_gpu(large: bool) -> None:
    """Destroying a device stops wgpu's polling: a plain wait for it would never return."""
    device = dml.Device()
    size = 1 << 20 if large else 1000
    y = device.compile(summation(size))(device.tensor(np.ones(size, np.float32)))
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(y.numpy())
        except dml.DmlError as error:
            outcomes.append(error)

    worker = threading.Thread(target=work, daemon=True)
    pending: dict[type, tuple[str, ...]] = {private.Question: ("__init__",)}
    with injected(1, device.wgpu_device.destroy, pending, after=True) as injection:
        worker.start()
        worker.join(60)
    assert injection.hit
    assert not worker.is_alive(), "it hangs"
    assert isinstance(outcomes[0], dml.DeviceLostError)


@pytest.mark.usefixtures("device")
def test_the_default_device_is_made_anew_after_a_loss() -> None:
    first = dml.default_device()
    assert dml.cumulative_summation(ONES, 0).numpy()[-1] == 1000
    first.wgpu_device.destroy()
    assert dml.cumulative_summation(ONES, 0).numpy()[-1] == 1000
    assert dml.default_device() is not first
    dml.default_device().close()
    assert dml.cumulative_summation(ONES, 0).numpy()[-1] == 1000


@pytest.mark.usefixtures("device")
def test_a_closed_device_says_so() -> None:
    device = dml.Device()
    calls = used(device)
    device.close()
    device.close()
    for call in calls.values():
        with pytest.raises(dml.DeviceLostError, match="closed"):
            call()


def test_more_than_the_adapter_holds_leaves_the_device_usable(device: dml.Device) -> None:
    huge = dml.TensorDesc(dml.DataType.FLOAT64, (2**32 - 1,))
    with pytest.raises(dml.OutOfMemoryError, match=r"343597383\d\d bytes.*allows \d+"):
        device.empty(huge)
    assert dml.cumulative_summation(device.tensor(ONES), 0).numpy()[-1] == 1000


@pytest.mark.usefixtures("device")
def test_the_owner_of_a_shared_device_destroys_it() -> None:
    adapter = wgpu.gpu.request_adapter_sync()
    foreign = adapter.request_device_sync()
    shared = dml.Device.from_wgpu(foreign)
    calls = used(shared)
    foreign.destroy()
    all_say_so(calls)


class Held:
    """Kept by itself alone, as a closed device may be."""

    def __init__(self) -> None:
        self.cycle = self


def test_opening_is_tried_again_after_what_is_closed_was_collected(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers have only so many devices."""
    held = Held()
    gone = weakref.ref(held)
    request = native.GPUAdapter.request_device_sync

    def crowded(adapter: Any, **how: Any) -> Any:
        if gone() is not None:
            raise wgpu.GPUError("Parent device is lost")
        return request(adapter, **how)

    monkeypatch.setattr(native.GPUAdapter, "request_device_sync", crowded)
    gc.disable()
    try:
        with pytest.raises(dml.DeviceError, match=r"^[^\n]*opening [^\n]*$"):
            dml.Device(device.adapter)
        del held
        with dml.Device(device.adapter) as another:
            used(another)
    finally:
        gc.enable()
