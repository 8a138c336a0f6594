"""Operators by the arguments of the function that needs them: described once, then remembered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.device import Device
from dmlgpu.runtime.compiled import CompiledOperator


def compiled_for(
    device: Device, name: str, arguments: Hashable, describe: Callable[[], Any]
) -> CompiledOperator:
    """The operator these arguments describe: remembered, or described and compiled."""
    try:
        known = device.remembered.get((name, arguments))
    except Exception:  # an argument that is not hashable is not an integer: describing says so
        return device.compile(describe())
    if known is None:
        known = device.compile(describe())
        if is_fixed(arguments):
            device.remember((name, arguments), known)
    return known


def is_fixed(value: Any) -> bool:
    """Whether a value will always mean what it means now: objects of other types may change."""
    if isinstance(value, tuple):
        return all(map(is_fixed, value))
    return value is None or value is ... or isinstance(value, (int, type, np.integer, TensorDesc))


def key_of(*arrays: Any) -> Any:
    """Array arguments as one hashable value; what is no sequence stands for itself.

    Types belong to it: 1.0 equals 1, but only one of them is an index.
    """
    return tuple(
        (*a, *map(type, a)) if isinstance(a, (list, tuple)) else (type(a), a) for a in arrays
    )
