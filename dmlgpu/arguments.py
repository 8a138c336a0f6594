"""Arguments of functions as keys under which compiled operators are remembered."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.desc.enumerations import ScaleBias
from dmlgpu.desc.tensor import TensorDesc

_FIXED = (int, float, type, np.integer, np.floating, TensorDesc, ScaleBias)


def is_fixed(value: Any) -> bool:
    """Whether a value will always mean what it means now: objects of other types may change."""
    if isinstance(value, tuple):
        return all(map(is_fixed, value))
    return value is None or value is ... or isinstance(value, _FIXED)


def key_of(*arrays: Any) -> Any:
    """Array arguments as one hashable value; what is no sequence stands for itself.

    Types belong to it: 1.0 equals 1, but only one of them is an index.
    """
    return tuple(
        [(*a, *map(type, a)) if isinstance(a, (list, tuple)) else (type(a), a) for a in arrays]
    )


def index_key(parts: tuple[Any, ...]) -> Any:
    """What stands in brackets as one hashable value; slices themselves are not."""
    key: list[Any] = []
    for p in parts:
        if p.__class__ is slice:
            start, stop, step = p.start, p.stop, p.step
            key += (slice, start, stop, step, start.__class__, stop.__class__, step.__class__)
        else:
            key += (p.__class__, p)
    return tuple(key)
