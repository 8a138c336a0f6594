"""Arguments of functions as keys under which compiled operators are remembered."""

from __future__ import annotations

from enum import Enum
from marshal import dumps
from typing import Any

import numpy as np

from dmlgpu.desc.enumerations import ScaleBias
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.desc.values import exact

_FIXED = (int, float, type, np.integer, np.floating, TensorDesc, ScaleBias)
_PLAIN = frozenset({int, bool, float, str, list, tuple, type(None), type(...)})


def is_fixed(value: Any) -> bool:
    """Whether a value will always mean what it means now: objects of other types may change."""
    if isinstance(value, tuple):
        return all(map(is_fixed, value))
    return value is None or value is ... or isinstance(value, _FIXED)


def key_of(*arguments: Any) -> Any:
    """Arguments as one hashable value; equal ones that mean different things stay apart.

    Types belong to it: 1.0 equals 1, but only one of them is an index. So do the signs of zeros.
    """
    return tuple([_key(a) for a in arguments])


def _key(argument: Any) -> Any:
    return key_of(*argument) if isinstance(argument, (list, tuple)) else number_key(argument)


def number_key(number: Any) -> tuple[type, Any]:
    """A number by its type and its bits, for 0.0 equals -0.0; of what is none, the object."""
    return number.__class__, exact(number)


def plain_key(arguments: list[Any]) -> Any:
    """`key_of`, in a tenth of the time, for Python's own numbers and sequences of them.

    To be remembered only for what `is_plain`: other objects may have the same bytes.
    """
    return dumps(arguments, 2) if _PLAIN.issuperset(map(type, arguments)) else key_of(*arguments)


def is_plain(value: Any) -> bool:
    """Whether no other object has the same `plain_key`."""
    if value.__class__ in (list, tuple):
        return all(map(is_plain, value))
    return value.__class__ in _PLAIN or isinstance(value, Enum)


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
