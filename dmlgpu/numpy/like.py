"""NumPy's functions that create arrays, whose argument `like` is a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dmlgpu.device import Device
from dmlgpu.functions import device_of
from dmlgpu.numpy import creation
from dmlgpu.tensor import Tensor


def _made(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`np.zeros(shape, dtype, like=x)`: what NumPy creates, on the device of `x`."""

    def made(on: Device, /, *args: Any, **named: Any) -> Tensor:
        device_of(on, *args, *named.values())
        return function(*args, **{**named, "device": on})

    return made


CREATION: dict[str, Callable[..., Tensor]] = {
    name: _made(getattr(creation, name))
    for name in ("arange", "array", "asarray", "empty", "eye", "full", "ones", "zeros")
}
CREATION |= dict.fromkeys(("asanyarray", "ascontiguousarray"), CREATION["asarray"])
