"""A lost or closed device says so on every call; a new device works in the same process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu

ONES = np.ones(1000, np.float32)
LINE = dml.TensorDesc(dml.DataType.FLOAT32, (1000,))
SUM = dml.CumulativeSummationDesc(input_tensor=LINE, output_tensor=LINE, axis=0)

Calls = dict[str, Callable[[], object]]


def used(device: dml.Device) -> Calls:
    """Every way to use a device that has a tensor and an operator."""
    op = device.compile(SUM)
    x = device.tensor(ONES)
    y = op(x)
    assert y.numpy()[-1] == 1000
    return {
        "call": lambda: op(x),
        "call with out": lambda: op(x, out=y),
        "numpy": y.numpy,
        "tobytes": y.tobytes,
        "tensor": lambda: device.tensor(ONES),
        "large tensor": lambda: device.tensor(np.ones(1 << 20, np.float32)),
        "empty": lambda: device.empty(LINE),
        "compile": lambda: device.compile(SUM),
        "flush": device.flush,
        "wait": device.wait,
        "function": lambda: dml.cumulative_summation(x, 0),
        "index": lambda: x[::-1],
    }


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("recorded", [False, True], ids=["idle", "with work recorded"])
def test_after_a_loss_every_call_raises(recorded: bool) -> None:
    device = dml.Device()
    calls = used(device)
    if recorded:
        calls["call"]()
    device.gpu.device.destroy()
    with pytest.raises(dml.DeviceLostError):
        calls["numpy"]()
    for name, call in calls.items():
        with pytest.raises(dml.DeviceLostError) as caught:
            call()
        assert caught.value.hresult == 0x887A0005, name
    with dml.Device() as another:
        used(another)


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
