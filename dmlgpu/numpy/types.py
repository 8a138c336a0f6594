"""Data types, their facts, and promotion as the standard's functions give it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dmlgpu.array import promotion
from dmlgpu.array.promotion import (
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    DType,
    dtype_of,
    is_number,
)
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, shown
from dmlgpu.numpy import creation
from dmlgpu.tensor import Tensor

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


class FloatInfo(NamedTuple):
    """The limits of a float type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """The limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


def _of(what: str, type: Any) -> DType:
    return type.dtype if isinstance(type, Tensor) else dtype_of(what, type)


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a float type, or of a tensor's."""
    dtype = _of("finfo: type", type)
    if dtype.kind != "f":
        raise InvalidTypeError(f"finfo: type is {dtype}; it must be a float type")
    info = np.finfo(dtype)
    return FloatInfo(
        info.bits,
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        dtype,
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer type, or of a tensor's."""
    dtype = _of("iinfo: type", type)
    if dtype.kind not in "iu":
        raise InvalidTypeError(f"iinfo: type is {dtype}; it must be an integer type")
    info = np.iinfo(dtype)
    return IntegerInfo(info.bits, int(info.max), int(info.min), dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a type is another one, or of a kind: "bool", "integral", "real floating", ..."""
    found = dtype_of("isdtype: dtype", dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return found.kind in _KINDS[kind]
    if isinstance(kind, str):
        raise InvalidDescError(
            f"isdtype: kind is {shown(kind)}; it must be a data type or one of " + ", ".join(_KINDS)
        )
    return found == dtype_of("isdtype: kind", kind)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    """Whether a rule allows it: "safe" if all values are kept, of a type or of a tensor's type."""
    source, target = _of("can_cast: from_", from_), dtype_of("can_cast: to", to)
    return promotion.castable("can_cast: casting", source, target, casting)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type that tensors, types and Python numbers promote to."""
    if not arrays_and_dtypes:
        raise InvalidTypeError("result_type: at least one array or data type is needed")
    numbers = [x for x in arrays_and_dtypes if is_number(x)]
    rest = [x for x in arrays_and_dtypes if not is_number(x)]
    # NumPy's scalar types have an attribute of this name too, which is no type.
    dtypes = [
        x.dtype if hasattr(x, "dtype") and not isinstance(x, type) else dtype_of("result_type", x)
        for x in rest
    ]
    return promotion.promoted(dtypes, numbers)


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Device | None = None) -> Tensor:
    """The elements as another type holds them, and on another device where one is named."""
    moved = creation.asarray(x, device=device)
    return moved.astype(dtype, copy=copy and moved is x)


class Info:
    """What `__array_namespace_info__()` answers."""

    def __init__(self, default: Any) -> None:
        self._default = default

    def capabilities(self) -> dict[str, Any]:
        """Masks, shapes that depend on values, and the most dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Device:
        """The device of calls that name none."""
        device: Device = self._default()
        return device

    def devices(self) -> list[Device]:
        """The default device; `dmlgpu.adapters()` says what else could be opened."""
        return [self.default_device()]

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The types that Python numbers get."""
        return {"real floating": FLOAT32, "integral": INT64, "indexing": INT64}

    def dtypes(
        self, *, device: Device | None = None, kind: str | Sequence[str] | None = None
    ) -> dict[str, DType]:
        """The standard's types that are computed with, by name, or those of a kind.

        float16 is there too, which the standard does not know, and float64 is stored only.
        """
        kinds = None if kind is None else (kind,) if isinstance(kind, str) else tuple(kind)
        listed = [t for t in DTYPES if t not in (FLOAT16, FLOAT64)]
        return {t.name: t for t in listed if kinds is None or isdtype(t, kinds)}
