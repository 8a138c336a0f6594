"""Reductions of the elements that a mask selects, and of a value to begin with."""

from __future__ import annotations

from typing import Any

from dmlgpu.array.promotion import BOOL
from dmlgpu.array.reductions import Reduced
from dmlgpu.errors import InvalidDescError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.tensor import Tensor

# What changes no result, where there is such a number.
IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}
JOINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
REDUCTIONS = frozenset({*IDENTITIES, *JOINED, "mean"})


def reduced(
    name: str, x: Tensor, axis: Any = None, *, where: Any = True, initial: Any = None, **named: Any
) -> Tensor:
    """`np.sum(x, axis, where=mask, initial=1)` and its like, by the name of the method."""
    if initial is not None and name not in JOINED:
        raise InvalidTypeError(f"np.{name}: a tensor takes no argument initial")
    if where is True and initial is None:
        plain: Tensor = getattr(x, name)(axis, **named)
        return plain
    if x.dtype == BOOL and name in ("max", "min") and initial is not None:
        initial = bool(initial)
    mask = asarray(where, dtype=BOOL, device=device_of(x, where)).broadcast_to(x.shape)
    if name == "mean":
        counts = mask.sum(axis, keepdims=named.get("keepdims", False))
        return reduced("sum", x, axis, where=mask, **named) / counts
    first = IDENTITIES.get(name, initial)
    if first is None:
        raise InvalidDescError(f"np.{name}: where selects none of some elements; initial is needed")
    if x.size:
        kept = x if where is True else x.device.select(mask, x, first)
        made: Tensor = getattr(kept, name)(axis, **named)
    else:
        ending = Reduced.of("any", x.shape, x.dtype, axis, named.get("keepdims", False))
        made = x.device.full(ending.shape, x.dtype, first)
    if initial is None:
        return made
    return x.device.elementwise(JOINED[name], made, initial)
