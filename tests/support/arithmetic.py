"""Functions of numbers as operators define them: wrapping, divisions by zero, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from support import oracle
from support.oracle import Array, converted


def divided(a: Array, b: Array) -> Array:
    """Integers truncate; x / 0 is x, and the least by -1 is itself."""
    if a.dtype.kind == "f":
        return a / b
    none = (b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min)) if a.dtype.kind == "i" else b == 0
    by = np.where(none, 1, b).astype(a.dtype)
    floor = a // by
    toward_zero = floor + ((floor < 0) & (floor * by != a))
    return np.where(none, a, toward_zero).astype(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """The sign of a; x mod 0 is 0."""
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, a - divided(a, b) * b).astype(a.dtype)


def modulus(a: Array, b: Array) -> Array:
    """The sign of b; x mod 0 is 0."""
    if a.dtype.kind == "f":
        return np.mod(a, b)
    rest = remainder(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest).astype(a.dtype)


def power(d: Any, x: Array, e: Array) -> Array:
    """Between integers exactly, and wrapping; below zero only 1 and -1 have a whole result."""
    if x.dtype.kind == "f" or e.dtype.kind == "f":
        return np.power(x.astype(np.float32).astype(float), e.astype(float))
    bits = 8 * x.dtype.itemsize
    unsigned = np.dtype(f"u{x.dtype.itemsize}")

    def one(base: Any, exponent: Any) -> int:
        base, exponent = int(base), int(exponent)
        if exponent < 0:
            return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0) % 2**bits
        return pow(base % 2**bits, exponent, 2**bits)

    made = np.frompyfunc(one, 2, 1)(x, e).astype(np.uint64).astype(unsigned)
    return made.view(x.dtype)


def clipped(d: Any, x: Array) -> Array:
    kind = oracle.NUMPY_TYPES[d.output_tensor.data_type]
    low, high = (bound(v, kind) for v in (d.min, d.max))
    return np.maximum(low, np.minimum(x, high))


def bound(value: float, kind: Any) -> Any:
    """An attribute as a number of a type."""
    return converted(np.array(float(value)), kind).astype(np.float64 if kind.kind == "f" else kind)


def rounded(d: Any, x: Array) -> Array:
    """Ties to even, toward zero, or ties away from zero."""
    away = np.trunc(x + np.copysign(0.5, x))
    return (np.rint(x), np.trunc(x), away)[d.rounding_mode]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def shrunk(d: Any, x: Array) -> Array:
    """Integers move by the bias of their type; unsigned ones are never below."""
    if x.dtype.kind == "f":
        bias = d.bias
        return np.where(x > d.threshold, x - bias, np.where(x < -d.threshold, x + bias, 0))
    wide = x.astype(np.float32)
    bias = converted(np.array(d.bias), x.dtype)
    down, up = (x - bias).astype(x.dtype), (x + bias).astype(x.dtype)
    below = (wide < -d.threshold) if x.dtype.kind == "i" else np.zeros(x.shape, bool)
    return np.where(wide > d.threshold, down, np.where(below, up, 0)).astype(x.dtype)
