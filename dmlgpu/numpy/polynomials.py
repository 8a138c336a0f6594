"""Polynomials by their coefficients, of the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.array.promotion import FLOAT32, floating, promoted
from dmlgpu.desc.values import as_index
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import device_of
from dmlgpu.numpy import manipulation, windows
from dmlgpu.numpy.creation import arange, computed
from dmlgpu.tensor import Tensor


def polyval(p: Any, x: Any) -> Tensor:
    """The polynomial with coefficients `p`, of the highest power first, at `x`."""
    device = device_of(p, x)
    at = computed(x, device)
    factors = p if isinstance(p, Tensor) else np.asarray(p)
    if factors.ndim != 1:
        raise InvalidDescError(f"np.polyval: p has {factors.ndim} dimensions; it must have one")
    common = promoted([factors.dtype, at.dtype])
    if common.kind == "f":
        common = at.dtype
    value = device.full(at.shape, common, 0)
    # Floats in host memory, such as np.polyfit's, count as Python's numbers.
    for factor in factors if isinstance(p, Tensor) else factors.tolist():
        value = value * at + factor
    return value


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials."""
    x, y = _of_one_length(a1, a2)
    return x + y


def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials."""
    x, y = _of_one_length(a1, a2)
    return x - y


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials."""
    device = device_of(a1, a2)
    return windows.convolve(_line("polymul", a1, device), _line("polymul", a2, device))


def polyder(p: Any, m: int = 1) -> Tensor:
    """The derivative of a polynomial, `m` times over."""
    made, times = _line("polyder", p, device_of(p)), as_index("polyder: m", m)
    if times < 0:
        raise InvalidDescError(f"polyder: m is {m}; it must not be negative (see polyint)")
    for _ in range(times):
        powers = arange(made.size - 1, 0, -1, device=made.device)
        common = promoted([made.dtype, powers.dtype])
        made = made[:-1].astype(common, copy=False) * powers.astype(common, copy=False)
    return made


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The integral of a polynomial, `m` times over, with constants `k`."""
    made, times = _line("polyint", p, device_of(p)), as_index("polyint: m", m)
    if times < 0:
        raise InvalidDescError(f"polyint: m is {m}; it must not be negative (see polyder)")
    constants = np.atleast_1d(np.asarray(0.0 if k is None else k, np.float32))
    if constants.size == 1:
        constants = np.repeat(constants, times)
    if constants.ndim != 1 or constants.size < times:
        raise InvalidDescError(f"polyint: k must be a number or a line of {times}")
    made = made.astype(floating(made.dtype), copy=False)
    for constant in constants[:times]:
        powers = arange(made.size, 0, -1, dtype=FLOAT32, device=made.device)
        end = made.device.full((1,), made.dtype, float(constant))
        made = manipulation.concat([made / powers.astype(made.dtype, copy=False), end])
    return made


def _line(name: str, p: Any, device: Device) -> Tensor:
    x = computed(p, device)
    if x.ndim > 1:
        raise InvalidDescError(f"np.{name}: a polynomial has {x.ndim} dimensions; it must have one")
    return x.reshape(-1)


def _of_one_length(a1: Any, a2: Any) -> list[Tensor]:
    """Coefficients with zeros before the shorter ones."""
    device = device_of(a1, a2)
    given = [_line("polyadd", p, device) for p in (a1, a2)]
    size = max(p.size for p in given)
    return [manipulation.pad(p, (size - p.size, 0)) if p.size < size else p for p in given]
