"""Reading tensors back: from any buffer, and without holding up an event loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import OutOfMemoryError
from dmlgpu.gpu.recording import Call
from dmlgpu.ops.slice import SliceDesc

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.tensor import Tensor

COPY_SRC = 4  # bit of a buffer's usage


def readable(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of all its bytes where its buffer's usage lacks COPY_SRC."""
    if tensor.buffer.usage & COPY_SRC:
        return tensor
    words = tensor.desc.total_tensor_size_in_bytes // 4
    desc = TensorDesc(DataType.UINT32, (1, 1, 1, words))  # every feature level has SLICE of this
    whole = SliceDesc(
        input_tensor=desc,
        output_tensor=desc,
        offsets=(0, 0, 0, 0),
        sizes=desc.sizes,
        strides=(1, 1, 1, 1),
    )
    return tensor.device.compile(whole)(tensor.view(desc))


class Reads:
    """Reads of one device that a thread waits for without its lock, so that others may use it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ended = threading.Condition(device.lock)
        self._waiting = 0  # threads

    def begin(self, tensor: Tensor) -> Any:
        """Records a copy of the tensor's bytes to memory of its own; `finish` waits for it."""
        device, size = self._device, tensor.desc.total_tensor_size_in_bytes
        with device.lock:
            device.check_usable()
            device.check_intact(tensor)
            staging = device.gpu.staging(size, "MAP_READ|COPY_DST")
            copy = (tensor.buffer, tensor.offset, staging, 0, size)
            device.record(Call("read", (), (tensor.storage,), size, copies=(copy,), timed=False))
        return staging

    def finish(self, staging: Any, target: npt.NDArray[Any]) -> None:
        """Submits what `begin` recorded, waits for it, and fills `target`."""
        with self._device.lock:
            self._device.flush()
            self._waiting += 1
        try:
            self._device.gpu.fetch(staging, target)
        finally:
            with self._ended:
                self._waiting -= 1
                self._ended.notify_all()

    def drain(self) -> None:
        """Returns when no thread waits any more; a device in use must not be destroyed."""
        with self._ended:
            self._ended.wait_for(lambda: not self._waiting)


async def read_async(tensor: Tensor) -> npt.NDArray[Any]:
    """The tensor's bytes, padding included; a thread waits for them, not the event loop."""
    import asyncio  # slow to import, and only for programs that have it already

    device = tensor.device
    device.check_usable()
    staging = None
    # Recorded here, the copy keeps its place among this thread's calls; where another thread has
    # the device, no order is promised. Submitting is left to the thread: some drivers block there.
    # A debug device's read also fetches what its checks have found.
    if not device.debug and device.lock.acquire(blocking=False):
        try:
            staging = device.reads.begin(readable(tensor))
        except OutOfMemoryError:  # through the staging memory that is kept
            staging = None
        finally:
            device.lock.release()
    if staging is None:
        return await asyncio.to_thread(lambda: device.read(readable(tensor)))
    raw = np.empty(tensor.desc.total_tensor_size_in_bytes, np.uint8)
    await asyncio.to_thread(device.reads.finish, staging, raw)
    return raw
