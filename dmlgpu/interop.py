"""DLPack: tensors given to other array libraries, and taken from them, through host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.errors import InvalidDescError, InvalidTypeError

CPU = (1, 0)  # kDLCPU
_HOST = {1: "CPU", 3: "CUDA host", 11: "ROCm host"}  # memory a CPU can read
_OTHER = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed"}


def export(
    numpy: Callable[[], npt.NDArray[Any]],
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A DLPack capsule over a fresh copy in host memory; arguments as the array API says."""
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"dl_device is {dl_device}; a Tensor is exported to the CPU, {CPU}, only")
    if copy is False:
        raise BufferError("copy is False; a Tensor lives on a device and is always copied")
    if stream is not None:
        raise InvalidDescError(f"stream is {stream!r}; for data in CPU memory it must be None")
    values = numpy()
    if max_version is None:
        return values.__dlpack__()
    try:
        return values.__dlpack__(max_version=max_version)
    except TypeError:  # NumPy before 2.1 has only the first version, which every consumer reads
        return values.__dlpack__()


def imported(x: Any) -> npt.NDArray[Any]:
    """The array another library exports from memory that the CPU can read."""
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise InvalidTypeError(
            f"from_dlpack: x is {type(x).__name__}, which has no __dlpack__; device.tensor takes "
            "whatever NumPy can view"
        )
    kind, number = x.__dlpack_device__()
    if int(kind) not in _HOST:
        name = _OTHER.get(int(kind), f"DLPack type {int(kind)}")
        raise InvalidDescError(
            f"from_dlpack: x lies on {name} device {number}; only data in CPU memory can be "
            "taken, so move it there first"
        )
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"from_dlpack: {type(x).__name__} cannot be read by NumPy: {error}"
        ) from None
