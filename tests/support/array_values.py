"""The values of random programs: small, and exact in every type they are in."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

__all__ = ["Array", "Random"]

KINDS_OF_VALUES = ("float32", "int32", "uint8", "bool", "int64", "float16")
# How each type is written. It is told by name, so that no default matters.
NAMED = {
    **{name: f"np.{name}" for name in ("float32", "float16", "int8", "int16", "int32", "int64")},
    **{name: f"np.{name}" for name in ("uint8", "uint16", "uint32", "uint64")},
    "bool": "np.bool_",
}
SAME_WIDTH = {
    "float32": ("int32", "uint32"),
    "int32": ("float32", "uint32"),
    "uint32": ("float32", "int32"),
    "uint8": ("int8",),  # and not bool, for bytes of tensors of bool are 0 or 1
    "int8": ("uint8",),
    "bool": ("uint8",),
    "int64": ("uint64",),
    "uint64": ("int64",),
    "float16": ("int16", "uint16"),
    "int16": ("float16", "uint16"),
    "uint16": ("float16", "int16"),
}
# The greatest magnitude of a number that is calculated with; a float is a multiple of a quarter.
GREATEST = {"f2": 256, "f4": 4096, "i1": 127, "u1": 255, "b1": 1}
GREATEST_OF_WIDE_INTEGERS = 1 << 20


def greatest(dtype: np.dtype[Any]) -> int:
    return GREATEST.get(dtype.str[1:], GREATEST_OF_WIDE_INTEGERS)


def is_plain(array: Array) -> bool:
    """Whether every function of such numbers is exact, and no zero has a sign.

    Views of memory through another type have other numbers, and are only moved.
    """
    if array.dtype.kind == "b":
        return True
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or np.signbit(array[array == 0]).any():
            return False
        wide = array.astype(np.float64)
        return bool((wide * 4 == np.rint(wide * 4)).all() and is_small(wide, array.dtype))
    return is_small(array, array.dtype)


def is_small(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether no number is too large to be calculated with as a type."""
    return not array.size or max(abs(int(array.min())), abs(int(array.max()))) <= greatest(dtype)


def sums_are_exact(array: Array) -> bool:
    """Whether parts of an array can be added up in any order."""
    return is_small(np.abs(array.astype(np.float64)).sum(keepdims=True), array.dtype)


def fits(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a type holds all numbers of an array, but for parts of whole ones."""
    if dtype.kind == "b" or not array.size:
        return True
    low, high = float(array.min()), float(array.max())
    return -greatest(dtype) * (dtype.kind != "u") <= low and high <= greatest(dtype)


def number(random: Random, dtype: np.dtype[Any]) -> str:
    """A Python number that a type takes as it is."""
    if dtype.kind == "b":
        return random.choice(["True", "False"])
    if dtype.kind == "f":
        return random.choice(["0.5", "-1.5", "2.0", "3", "-4", "0.25", "1", "0"])
    return random.choice(["0", "1", "2", "3", "7"] + ["-1", "-2", "-5"] * (dtype.kind == "i"))


def numbers(random: Random, dtype: np.dtype[Any], count: int) -> list[Any]:
    """Elements of a new array."""
    if dtype.kind == "b":
        return [random.random() < 0.5 for _ in range(count)]
    if dtype.kind == "f":
        return [random.randint(-12, 12) / random.choice([1, 2]) or 0.0 for _ in range(count)]
    low = 0 if dtype.kind == "u" else -9
    return [random.randint(low, 9) for _ in range(count)]
