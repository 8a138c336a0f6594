"""Buffers that their owner destroys or maps: an error that says so, never the end of the process.

wgpu-native ends the process when a submission uses such a buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import wgpu
from support import fault_table
from support.stages import F32, summation

import dmlgpu as dml

pytestmark = pytest.mark.gpu

ONES = np.ones(64, np.float32)
LINE = dml.TensorDesc(F32, (64,))
USAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


def own(device: dml.Device) -> dml.Tensor:
    return device.tensor(ONES)


def foreign(device: dml.Device) -> dml.Tensor:
    buffer = device.wgpu_device.create_buffer_with_data(data=ONES, usage=USAGE)
    return device.wrap(buffer, LINE)


MAKERS = pytest.mark.parametrize("make", [own, foreign])
Make = Callable[[dml.Device], dml.Tensor]


def works(device: dml.Device, stage: str, times: int = 1) -> None:
    fault_table.note("buffer destroyed", stage, Counter({"BindingError": times}))
    assert dml.cumulative_summation(device.tensor(ONES), 0).numpy()[-1] == 64


@MAKERS
def test_destroyed_before_a_call(device: dml.Device, make: Make) -> None:
    x = make(device)
    op = device.compile(summation(64))
    op(x).numpy()  # bound before
    x.buffer.destroy()
    for call in (lambda: op(x), lambda: x[::-1].copy(), lambda: op(device.tensor(ONES), out=x)):
        with pytest.raises(dml.BindingError, match="destroyed"):
            call()
    works(device, "before a call", 3)


@MAKERS
@pytest.mark.parametrize("index", [slice(4, 60), slice(None, None, -1)], ids=["copy", "kernel"])
def test_destroyed_after_a_call_is_recorded(device: dml.Device, make: Make, index: slice) -> None:
    x = make(device)
    buffer = x.buffer
    before = device.compile(summation(64))(device.tensor(ONES))
    spoiled = x[index].copy()
    of_spoiled = spoiled[1:9].copy()
    buffer.destroy()
    for tensor in (spoiled, of_spoiled, spoiled):  # never stale bytes, however often it is asked
        with pytest.raises(dml.BindingError, match="SLICE1, which was to fill it"):
            tensor.numpy()
        with pytest.raises(dml.BindingError, match="SLICE1, which was to fill it"):
            tensor.buffer  # noqa: B018
    assert before.numpy()[-1] == 64
    works(device, "call recorded", 3)


@MAKERS
def test_destroyed_before_a_read(device: dml.Device, make: Make) -> None:
    x = make(device)
    x.buffer.destroy()
    with pytest.raises(dml.BindingError, match="destroyed"):
        x.numpy()
    works(device, "before read-back")


def test_destroyed_after_its_tensor_is_gone(device: dml.Device) -> None:
    for collected in (False, True):
        x = device.tensor(ONES)
        buffer = x.buffer
        del x
        if collected:
            assert device.memory.pooled > 0
        buffer.destroy()
        for _ in range(3):
            assert dml.cumulative_summation(device.tensor(ONES), 0).numpy()[-1] == 64


def test_destroyed_before_it_is_wrapped(device: dml.Device) -> None:
    buffer = device.wgpu_device.create_buffer(size=256, usage=USAGE)
    buffer.destroy()
    with pytest.raises(dml.BindingError, match="destroyed"):
        device.wrap(buffer, LINE)
    works(device, "before wrap")


def test_mapped_by_its_owner(device: dml.Device) -> None:
    if "mappable-primary-buffers" not in device.wgpu_device.features:
        pytest.skip("this adapter maps no tensors")
    x = device.tensor(ONES)
    y = device.compile(summation(64))(x)
    buffer = y.buffer
    device.wait()
    z = device.compile(summation(64))(y)
    buffer.map_sync("READ")
    for use in (z.numpy, y.numpy, device.flush):
        with pytest.raises(dml.BindingError, match="mapped"):
            use()
    y.buffer.unmap()
    assert np.array_equal(z.numpy(), np.cumsum(np.cumsum(ONES)))  # nothing recorded was lost


def test_wrapping_the_same_buffer_often_keeps_no_trace(device: dml.Device) -> None:
    buffer = device.wgpu_device.create_buffer_with_data(data=ONES, usage=USAGE)
    for _ in range(50):
        assert device.wrap(buffer, LINE).numpy()[0] == 1
    assert len(vars(buffer)["destroy"].storages) <= 1


def test_a_buffer_of_the_pool_is_not_destroyed_under_recorded_work() -> None:
    with dml.Device() as device:
        device.memory_limit = 0
        x = device.tensor(ONES)
        for _ in range(5):
            y = device.compile(summation(64))(x)
            x = y
            assert device.memory.pooled <= 256  # what recorded work uses goes once submitted
        assert y.numpy()[-1] > 64
