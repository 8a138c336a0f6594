"""What callers give in host memory, as arrays of types that tensors have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.array.promotion import (
    DTYPES,
    FLOAT16,
    FLOAT32,
    DType,
    check_fits,
    dtype_of,
    fits,
    integer_holding,
    is_integer,
    is_number,
    promoted,
)
from dmlgpu.desc.host import as_array
from dmlgpu.desc.tensor import DataType
from dmlgpu.errors import InvalidTypeError, NumberRangeError, shown

LARGEST_HALF = float(np.finfo(np.float16).max)


def host_array(what: str, value: Any, dtype: Any = None) -> npt.NDArray[Any]:
    """Anything NumPy can view, in a type that tensors have.

    Python numbers, which NumPy's float64 are too, become float32, int64 (uint64 where only that
    holds them) or bool; arrays keep their type, and numbers beside them in lists take it where it
    holds them.
    """
    wanted = None if dtype is None else dtype_of(f"{what}: dtype", dtype)
    values = as_array(what, value)
    if isinstance(value, (list, tuple, range)) or is_python(value):
        return _of_numbers(what, value, values, wanted)
    _check_numbers(what, value, values.dtype)
    wanted = wanted or values.dtype.newbyteorder("=")
    return values if values.dtype == wanted else host_cast(values, wanted)


def _check_numbers(what: str, value: Any, dtype: DType) -> None:
    """Raises for what is no array of numbers, or of numbers that no tensor holds."""
    if dtype.kind in "OSUVT":
        raise InvalidTypeError(
            f"{what} is {shown(value)}; it must be numbers, or convert with astype to one of "
            + DataType.listed()
        )
    if dtype.newbyteorder("=") not in DTYPES:
        DataType.from_numpy(dtype)  # says which types there are


def _of_numbers(
    what: str, value: Any, values: npt.NDArray[Any], wanted: DType | None
) -> npt.NDArray[Any]:
    """A number or lists of numbers and arrays, each element as the type has it."""
    leaves = _leaves(value)
    arrays = [x for x in leaves if not is_number(x)]
    numbers = [x for x in leaves if is_number(x)] if arrays else leaves
    dtypes = [_dtype_of_leaf(what, value, x) for x in arrays]
    integers = [n for n in numbers if is_integer(n)]
    ends = (min(integers), max(integers)) if integers else ()
    if wanted is None:
        wanted = _common(what, value, dtypes, numbers, ends)
    for number in ends:
        check_fits(number, wanted)
    if values.dtype == wanted:
        return values
    # NumPy makes float64 of integers that have no type in common, as it does of floats.
    is_wide = any(t.itemsize == 8 for t in dtypes) or any(abs(n) > 2**53 for n in ends)
    has_floats = any(isinstance(n, float) for n in numbers) or any(t.kind == "f" for t in dtypes)
    if values.dtype != object and not (is_wide and values.dtype.kind == "f" and not has_floats):
        return host_cast(values, wanted)
    try:
        with np.errstate(all="ignore"):
            return np.array(value, wanted)
    except OverflowError:  # of a float, by an integer that is larger than all of them
        raise NumberRangeError(f"{what}: {wanted} does not hold all of {shown(value)}") from None


def _common(
    what: str, value: Any, dtypes: Sequence[DType], numbers: Sequence[Any], ends: Sequence[int]
) -> DType:
    """The type of arrays and numbers in lists, which every one of the numbers fits."""
    if not dtypes and not numbers:
        return FLOAT32
    examples = {type(n): n for n in numbers}
    made = promoted(dtypes, examples.values())
    if made.kind in "iu" and not all(fits(n, made) for n in ends):
        wide = integer_holding(ends)
        made = promoted([*dtypes, wide]) if wide else FLOAT32
        if made.kind == "f":
            raise NumberRangeError(f"{what}: no integer type holds all of {shown(value)}")
    if made == FLOAT16 and any(LARGEST_HALF < abs(n) < np.inf for n in numbers):
        made = FLOAT32
    return made


def _leaves(value: Any) -> list[Any]:
    """What lists hold that is no list itself; of a range its ends."""
    if isinstance(value, range):
        return [value[0], value[-1]] if value else []
    if not isinstance(value, (list, tuple)):
        return [value]
    if not any(isinstance(item, (list, tuple, range)) for item in value):
        return list(value)
    return [leaf for item in value for leaf in _leaves(item)]


def _dtype_of_leaf(what: str, value: Any, leaf: Any) -> DType:
    """The type of an array in a list, in this machine's byte order."""
    given = getattr(leaf, "dtype", None)
    found = given if isinstance(given, np.dtype) else as_array(what, leaf).dtype
    _check_numbers(what, value, found)
    return found.newbyteorder("=")


def host_cast(values: npt.NDArray[Any], dtype: DType) -> npt.NDArray[Any]:
    """Values as another type holds them, by the rules of `astype`: floats saturate, NaN is 0."""
    with np.errstate(all="ignore"):
        if dtype.kind not in "iu" or values.dtype.kind != "f":
            return values.astype(dtype)
        info = np.iinfo(dtype)
        below, above = values <= info.min, values >= float(info.max)
        made = np.where(below | above | np.isnan(values), 0, values).astype(dtype)
        made[below], made[above] = info.min, info.max
        return made


def type_for(value: Any, target: DType) -> DType | None:
    """The type in which a value is uploaded that elements of a type are set to; None: its own."""
    return target if is_python(value) else None


def is_python(value: Any) -> bool:
    """Whether a value is Python numbers alone, in lists or not, and no array of anyone's."""
    return isinstance(value, range) or all(map(is_number, _leaves(value)))
