"""Reductions of the elements that a mask selects, and of a value to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.array.promotion import (
    BOOL,
    FLOAT32,
    DType,
    check_computes,
    check_fits,
    dtype_of,
    floating,
)
from dmlgpu.array.reductions import Reduced
from dmlgpu.errors import InvalidDescError, InvalidTypeError, NumberRangeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray
from dmlgpu.tensor import Tensor

# What changes no result, where there is such a number.
IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}
JOINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
SPREADS = ("var", "std")
REDUCTIONS = frozenset({*IDENTITIES, *JOINED, "mean", *SPREADS})


def reduced(
    name: str, x: Tensor, axis: Any = None, *, where: Any = True, initial: Any = None, **named: Any
) -> Tensor:
    """`np.sum(x, axis, where=mask, initial=1)` and its like, by the name of the method."""
    if initial is not None and name not in JOINED:
        raise InvalidTypeError(f"np.{name}: a tensor takes no argument initial")
    if name in SPREADS:
        x = _computed(name, x, named.pop("dtype", None))
    if where is True and initial is None:
        plain: Tensor = getattr(x, name)(axis, **named)
        return plain
    mask = asarray(where, dtype=BOOL, device=device_of(x, where, initial)).broadcast_to(x.shape)
    if name == "mean":
        return _mean(x, axis, mask, **named)
    if name in SPREADS:
        return _spread(name, x, axis, mask, **named)
    first = IDENTITIES[name] if name in IDENTITIES else _held(name, initial, x.dtype)
    if name in IDENTITIES or x.size:
        kept = x.device.select(mask, x, first) if x.size and where is not True else x
        made: Tensor = getattr(kept, name)(axis, **named)
    else:
        ending = Reduced.of("any", x.shape, x.dtype, axis, named.get("keepdims", False))
        made = x.device.full(ending.shape, x.dtype, first)
    if initial is None:
        return made
    return x.device.elementwise(JOINED[name], made, _held(name, initial, made.dtype))


def _held(name: str, initial: Any, dtype: DType) -> Any:
    """A value to begin with as the type of the results holds it."""
    if initial is None:
        raise InvalidDescError(f"np.{name}: where selects none of some elements; initial is needed")
    value = initial if isinstance(initial, (bool, int, float)) else initial.item()
    if dtype == BOOL:
        return bool(value)
    if dtype.kind == "f":
        return float(value)
    if not np.isfinite(value):
        raise NumberRangeError(f"np.{name}: initial is {value}; {dtype} has no such number")
    check_fits(int(value), dtype)
    return int(value)


def _mean(x: Tensor, axis: Any, mask: Tensor, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of what is selected, calculated in float32 as every mean is."""
    total = x.device.select(mask, x.astype(FLOAT32, copy=False), 0.0).sum(axis, None, keepdims)
    made = total / mask.sum(axis, FLOAT32, keepdims)
    return made.astype(floating(x.dtype) if dtype is None else dtype, copy=False)


def _computed(name: str, x: Tensor, dtype: Any) -> Tensor:
    """Elements in the type that variances are asked for in."""
    if dtype is None:
        return x
    wanted = dtype_of(f"{name}: dtype", dtype)
    if wanted.kind != "f":
        raise InvalidTypeError(f"{name}: dtype is {wanted}; variances are floats")
    check_computes(name, wanted)
    return x.astype(wanted, copy=False)


def _spread(
    name: str,
    x: Tensor,
    axis: Any,
    mask: Tensor,
    correction: float = 0,
    keepdims: bool = False,
    ddof: float = 0,
) -> Tensor:
    """The variance of what is selected, or its root, calculated in float32 as every variance is."""
    values, run = x.astype(FLOAT32, copy=False), x.device.elementwise
    apart = values - _mean(values, axis, mask, keepdims=True)
    squares = x.device.select(mask, apart * apart, 0.0).sum(axis, None, keepdims)
    count = mask.sum(axis, FLOAT32, keepdims) - (correction or ddof)
    made = squares / run("maximum", count, 0.0)
    return (run("sqrt", made) if name == "std" else made).astype(floating(x.dtype), copy=False)
