"""NumPy's functions that create arrays, whose argument `like` is a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from dmlgpu.desc.values import as_index
from dmlgpu.device import Device
from dmlgpu.functions import device_of
from dmlgpu.numpy import creation
from dmlgpu.tensor import Tensor


def _made(function: Callable[..., Tensor], names: str) -> Callable[..., Tensor]:
    """`np.zeros(shape, dtype, like=x)`: what NumPy creates, on the device of `x`."""
    told = names.split()

    def made(on: Device, /, *args: Any, **named: Any) -> Tensor:
        given = {**dict(zip(told, args, strict=False)), **named}
        device_of(on, *given.values())
        least = as_index("np.array: ndmin", given.pop("ndmin", 0))
        for ignored in ("device", "order", "subok"):
            given.pop(ignored, None)
        by_place = [name for name in told if name not in BY_NAME]
        x = function(*_in_order(by_place, given), **given, device=on)
        return x.reshape((1,) * (least - x.ndim) + x.shape) if least > x.ndim else x

    return made


def _in_order(names: Sequence[str], given: dict[str, Any]) -> list[Any]:
    """What is given under names that functions of the standard take by position, up to a gap."""
    if "stop" in given and given.get("start") is None:  # np.arange(stop=5) counts from 0
        given["start"] = 0
    return [given.pop(n) for n in takewhile(given.__contains__, names)]


BY_NAME = ("dtype", "k")  # which functions of the standard do not take by position
# By the names that NumPy's arguments have, which may all be given by position.
ARGUMENTS = {
    "arange": "start stop step dtype",
    "array": "object dtype",
    "asarray": "a dtype",
    "empty": "shape dtype",
    "eye": "N M k dtype",
    "full": "shape fill_value dtype",
    "ones": "shape dtype",
    "zeros": "shape dtype",
}
CREATION: dict[str, Callable[..., Tensor]] = {
    name: _made(getattr(creation, name), names) for name, names in ARGUMENTS.items()
}
CREATION |= dict.fromkeys(("asanyarray", "ascontiguousarray"), CREATION["asarray"])
