"""Reading tensors back: from any buffer, and without holding up an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dmlgpu.errors import OutOfMemoryError
from dmlgpu.ops.slice import SliceDesc
from dmlgpu.tensor import DataType, TensorDesc

if TYPE_CHECKING:
    from dmlgpu.array import Tensor

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


async def read_async(tensor: Tensor) -> npt.NDArray[Any]:
    """The tensor's bytes, padding included; a thread waits for them, not the event loop."""
    device = tensor.device
    device.check_usable()
    if device.debug:  # the read also fetches what the checks of index values have found
        return await asyncio.to_thread(device.read, readable(tensor))
    try:
        # Submitted here, the copy keeps its place among this thread's calls. Where another thread
        # has the device, no order is promised, so that one waits for it.
        if device.lock.acquire(blocking=False):
            try:
                staging = device.begin_read(readable(tensor))
            finally:
                device.lock.release()
        else:
            staging = await asyncio.to_thread(lambda: device.begin_read(readable(tensor)))
    except OutOfMemoryError:  # no room for a second copy: through the staging memory that is kept
        return await asyncio.to_thread(device.read, readable(tensor))
    raw = np.empty(tensor.desc.total_tensor_size_in_bytes, np.uint8)
    await asyncio.to_thread(device.finish_read, staging, raw)
    return raw
