"""Values that callers give, read into plain Python ones or refused in one sentence."""

from __future__ import annotations

import contextlib
import operator
import struct
from collections.abc import Iterable
from enum import IntEnum
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from dmlgpu.errors import InvalidDescError, InvalidTypeError, shown

UINT32_MAX = 2**32 - 1
MOST_ENTRIES = 4096  # of a sequence: an endless iterator must not fill memory

E = TypeVar("E", bound=IntEnum)
_PACKED = struct.Struct("<d").pack


def exact(value: Any) -> Any:
    """What equals only what means the same: floats by their bits, for 0.0 equals -0.0."""
    if isinstance(value, (float, np.floating)):
        return _PACKED(value)
    return tuple(map(exact, value)) if isinstance(value, tuple) else value


def sequence(name: str, values: Any, of: str) -> tuple[Any, ...]:
    """The entries of a sequence of `of`."""
    try:
        items = None if isinstance(values, (str, bytes)) else tuple(islice(values, MOST_ENTRIES))
    except Exception:  # whatever an object's own iteration raises
        items = None
    if items is None:
        raise InvalidDescError(f"{name} is {shown(values)}; it must be a sequence of {of}")
    if len(items) == MOST_ENTRIES:
        raise InvalidDescError(f"{name} has {MOST_ENTRIES} entries or more; that is too many")
    return items


def integers(name: str, values: Iterable[Any], low: int, high: int) -> tuple[int, ...]:
    """`values` as Python ints, each within low..high; the rule every array field shares."""
    items = sequence(name, values, "integers")
    return tuple(integer(f"{name}[{i}]", v, low, high) for i, v in enumerate(items))


def integer(name: str, value: Any, low: int, high: int) -> int:
    """`value` as a Python int within low..high."""
    try:
        number = operator.index(value)
    except Exception:  # whatever an object's own conversion raises
        raise InvalidDescError(f"{name} is {shown(value)}; it must be an integer") from None
    if not low <= number <= high:
        raise InvalidDescError(f"{name} is {shown(number)}; it must be in [{low}, {high}]")
    return number


def as_index(what: str, value: Any) -> int:
    """Anything that Python counts with, such as an element of NumPy's."""
    try:
        return operator.index(value)
    except Exception:  # whatever an object's own conversion raises
        raise InvalidTypeError(f"{what} is {shown(value)}; it must be an integer") from None


def as_indices(what: str, values: Any) -> tuple[Any, ...]:
    """One integer, or each of a sequence of them."""
    with contextlib.suppress(Exception):  # whatever an object's own conversion raises
        return (operator.index(values),)
    with contextlib.suppress(Exception):
        if not isinstance(values, str):
            return tuple(values)
    raise InvalidTypeError(
        f"{what} is {shown(values)}; it must be an integer or a sequence of integers"
    )


def real(name: str, value: Any) -> float:
    """`value` as the FLOAT32 number that DirectML would hold; infinities and NaN are allowed."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except OverflowError:
        raise InvalidDescError(f"{name} is {shown(value)}; FLOAT32 has no such number") from None
    except Exception:  # whatever an object's own conversion raises
        raise InvalidDescError(f"{name} is {shown(value)}; it must be a number") from None
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def reals(name: str, values: Iterable[Any]) -> tuple[float, ...]:
    """`values` as FLOAT32 numbers."""
    items = sequence(name, values, "numbers")
    return tuple(real(f"{name}[{i}]", v) for i, v in enumerate(items))


def scalar(name: str, value: Any) -> int | float:
    """A number of any data type, as DML_SCALAR_UNION holds: integers stay exact."""
    try:
        if isinstance(value, (float, np.floating)):
            return float(value)
        return operator.index(value)
    except Exception:  # whatever an object's own conversion raises
        raise InvalidDescError(f"{name} is {shown(value)}; it must be a number") from None


def boolean(name: str, value: Any) -> bool:
    """`value` as True or False."""
    if not isinstance(value, (int, np.bool_)):
        raise InvalidDescError(f"{name} is {shown(value)}; it must be True or False")
    return bool(value)


def member(name: str, enumeration: type[E], value: Any) -> E:
    """`value` as a member of an enumeration, by itself or by its number."""
    try:
        return enumeration(value)
    except Exception:  # an object's own comparison may raise anything
        known = ", ".join(f"{m.name} ({int(m)})" for m in enumeration)
        raise InvalidDescError(f"{name} is {shown(value)}; it must be one of {known}") from None
