"""Type promotion: the array API standard's table, and NumPy's where the standard leaves it open.

There is no arithmetic in float64, so where NumPy would mix an integer type and a float type, or
int64 and uint64, into float64, the result here is float32. Python numbers are weakly typed: they
take the type of the arrays beside them unless their own kind is above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dmlgpu.desc.tensor import DataType
from dmlgpu.errors import (
    InvalidTypeError,
    NumberRangeError,
    UnsupportedError,
    shown,
)

DType = np.dtype[Any]
BOOL = np.dtype(np.bool_)
INT8, INT32, INT64 = np.dtype(np.int8), np.dtype(np.int32), np.dtype(np.int64)
UINT8, UINT32, UINT64 = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.uint64)
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
CASTING = ("no", "equiv", "safe", "same_kind", "unsafe")  # NumPy's rules, the strictest first
DEFAULTS = {"b": BOOL, "i": INT64, "f": FLOAT32}
DTYPES: tuple[DType, ...] = (BOOL, *(t.numpy for t in DataType if t.bits >= 8))
# Of kinds; signed and unsigned integers are one to a Python number.
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def dtype_of(what: str, dtype: Any) -> DType:
    """A data type that tensors can have, by NumPy's name for it or ours, or Python's type."""
    if isinstance(dtype, DataType):
        return dtype.numpy
    python: dict[Any, DType] = {bool: BOOL, int: INT64, float: FLOAT32}
    if isinstance(dtype, type) and dtype in python:
        return python[dtype]
    try:
        found: DType = np.dtype(dtype).newbyteorder("=")
    except Exception:  # NumPy raises several classes for what is no type
        raise InvalidTypeError(f"{what} is {shown(dtype)}; it must be a data type") from None
    if dtype is None or found not in DTYPES:
        raise InvalidTypeError(
            f"{what} is {found if dtype is not None else None}; a tensor holds one of "
            + ", ".join(t.name for t in DTYPES)
        )
    return found


@lru_cache(64)
def data_type_of(dtype: DType) -> DataType:
    """What DirectML calls the type that holds it: bool lies in bytes of 0 and 1."""
    return DataType.UINT8 if dtype == BOOL else DataType.from_numpy(dtype)


def is_number(value: Any) -> bool:
    """Whether a value is weakly typed: a Python number, which NumPy's float64 is too."""
    return isinstance(value, (bool, int, float))  # np.float64 is a float


def kind_of(number: bool | int | float) -> str:
    """b, i or f."""
    if isinstance(number, bool):
        return "b"
    return "i" if isinstance(number, int) else "f"


def promoted(dtypes: Sequence[DType], numbers: Iterable[bool | int | float] = ()) -> DType:
    """The type of arrays of these types and Python numbers together."""
    kinds = [kind_of(n) for n in numbers]
    highest = max(kinds, key=lambda k: _RANK[k], default="b")
    if not dtypes:
        return DEFAULTS[highest]
    result = dtypes[0] if len(set(dtypes)) == 1 else np.result_type(*dtypes)
    if result == FLOAT64 and FLOAT64 not in dtypes:
        result = FLOAT32
    return result if _RANK[highest] <= _RANK[result.kind] else DEFAULTS[highest]


def no_integer_holds(*dtypes: DType) -> bool:
    """Whether types are of integers, and no integer type has the numbers of all: uint64 and int."""
    return UINT64 in dtypes and {t.kind for t in dtypes} == {"i", "u"}


def check_computes(what: str, dtype: DType) -> None:
    """Raises for float64, which is stored and moved but not computed with."""
    if dtype == FLOAT64:
        raise UnsupportedError(
            f"{what}: float64 is a storage type on the GPU; convert with astype(np.float32) first"
        )


def fits(number: int, dtype: DType) -> bool:
    """Whether an integer type holds a number."""
    if dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    return int(info.min) <= number <= int(info.max)


def is_integer(value: Any) -> bool:
    """Whether a value is a Python integer, and neither True nor False."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_fits(number: Any, dtype: DType) -> None:
    """Raises as NumPy does for an integer that its type does not hold."""
    if is_integer(number) and not fits(number, dtype):
        raise NumberRangeError(f"Python integer {shown(number)} out of bounds for {dtype}")


def compared(
    dtypes: Sequence[DType], numbers: Sequence[bool | int | float]
) -> tuple[DType, list[Any]]:
    """The type in which arrays and numbers are compared, and the numbers as they stand in it.

    Integers that no common type holds lie beyond every element: infinities stand for them.
    """
    result = promoted(dtypes, numbers)
    wide = [n for n in numbers if isinstance(n, int) and not fits(n, result)]
    if not wide:
        return result, list(numbers)
    small = (-(2**63), 2**64 - 1)
    if all(small[0] <= n <= small[1] for n in wide):
        both = np.result_type(result, *(np.min_scalar_type(n) for n in wide))
        if both.kind in "iu":
            return both, list(numbers)
    return FLOAT32, [float("inf") * (1 if n > 0 else -1) if n in wide else n for n in numbers]


def castable(what: str, source: DType, target: DType, rule: Any) -> bool:
    """Whether NumPy's rule of that name lets one type be cast to another."""
    if rule not in CASTING:
        raise InvalidTypeError(f"{what} is {shown(rule)}; it must be one of {', '.join(CASTING)}")
    return bool(np.can_cast(source, target, rule))


def floating(dtype: DType) -> DType:
    """The type of fractions of such numbers: float32 of what is no float."""
    return dtype if dtype.kind == "f" else FLOAT32


def wide_sum(dtype: DType) -> DType:
    """The type of sums and products: integers and bool are widened to 64 bits."""
    return {"b": INT64, "i": INT64, "u": UINT64}.get(dtype.kind, dtype)


def in_words(dtype: DType) -> DType:
    """The type that sums of a type are computed in: of integers below 32 bits and bool, 32."""
    if dtype == BOOL or (dtype.kind == "i" and dtype.itemsize < 4):
        return INT32
    return UINT32 if dtype.kind == "u" and dtype.itemsize < 4 else dtype


def counting(positions: Any) -> Any:
    """Positions in a type that has the size of every axis: narrow integers are widened."""
    dtype = positions.dtype
    return positions.astype(INT32) if dtype.kind in "iu" and dtype.itemsize < 4 else positions


def integer_holding(numbers: Iterable[int]) -> DType | None:
    """The type of Python integers: int64, or uint64 where only that holds all; None: neither."""
    given = tuple(numbers)
    return next((t for t in (INT64, UINT64) if all(fits(n, t) for n in given)), None)
