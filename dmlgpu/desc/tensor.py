"""DataType and TensorDesc: what a tensor holds and how its elements lie in memory.

Mirrors DML_TENSOR_DATA_TYPE and DML_BUFFER_TENSOR_DESC; nothing here touches a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import partial
from math import gcd, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.cached import cached_property
from dmlgpu.desc.values import UINT32_MAX, integer, integers
from dmlgpu.errors import InvalidDescError, InvalidTypeError, shown

MAX_RANK = 8
TENSOR_ALIGNMENT = 16  # DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT


_BITS = (0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4)  # by the number of the data type


class DataType(IntEnum):
    """DML_TENSOR_DATA_TYPE."""

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13

    @property
    def bits(self) -> int:
        """Width of one element; 0 for UNKNOWN."""
        return _BITS[self]

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type with the same bits."""
        found = _NUMPY.get(self)
        if found is None:
            if self is DataType.UNKNOWN or self.bits < 8:
                raise InvalidDescError(f"DataType.{self.name} has no NumPy type")
            found = _NUMPY[self] = np.dtype(self.name.lower())
        return found

    @classmethod
    def from_numpy(cls, dtype: npt.DTypeLike) -> DataType:
        """The data type that holds a NumPy type's values."""
        try:
            if dtype is None:  # which NumPy takes for float64
                raise TypeError
            name = np.dtype(dtype).newbyteorder("=").name
        except (TypeError, ValueError, SyntaxError, LookupError, AttributeError, RuntimeError):
            name = dtype if isinstance(dtype, str) else ""
        found = cls.__members__.get(name.upper())
        if found is None or found is cls.UNKNOWN:
            told = name if name.isidentifier() else shown(dtype)
            raise InvalidTypeError(
                f"data type {told} has no DirectML type; convert with astype to one of "
                + cls.listed()
            )
        return found

    @classmethod
    def listed(cls) -> str:
        """NumPy's names of the types that tensors may have, for messages."""
        return ", ".join(t.name.lower() for t in cls if t.bits >= 8)


_NUMPY: dict[DataType, np.dtype[Any]] = {}  # asked for with every call


class TensorFlags(IntFlag):
    """DML_TENSOR_FLAGS."""

    NONE = 0
    OWNED_BY_DML = 1


def packed_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements, of a tensor without gaps."""
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return tuple(strides)


@dataclass(frozen=True)
class TensorDesc:
    """DML_BUFFER_TENSOR_DESC. Strides are in elements; None means packed."""

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    total_tensor_size_in_bytes: int
    guaranteed_base_offset_alignment: int
    flags: TensorFlags
    _hash: int = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        data_type: DataType | npt.DTypeLike,
        sizes: Iterable[int],
        strides: Iterable[int] | None = None,
        *,
        total_tensor_size_in_bytes: int | None = None,
        guaranteed_base_offset_alignment: int = 0,
        flags: TensorFlags = TensorFlags.NONE,
    ) -> None:
        put = object.__setattr__  # the class is frozen
        put(self, "data_type", _data_type(data_type))
        put(self, "flags", TensorFlags(integer("TensorDesc: flags", flags, 0, UINT32_MAX)))
        if self.data_type is DataType.UNKNOWN:
            raise InvalidDescError("TensorDesc: data_type is UNKNOWN; a tensor needs a data type")
        if int(self.flags) & ~1:
            raise InvalidDescError(f"TensorDesc: flags is {int(self.flags):#x}; 0 or 1 is allowed")
        put(self, "sizes", integers("TensorDesc: sizes", sizes, 1, UINT32_MAX))
        if not 1 <= self.rank <= MAX_RANK:
            raise InvalidDescError(
                f"TensorDesc: sizes has {self.rank} dimensions; 1 to {MAX_RANK} are allowed"
            )
        if strides is not None:
            strides = integers("TensorDesc: strides", strides, 0, UINT32_MAX)
            if len(strides) != self.rank:
                raise InvalidDescError(
                    f"TensorDesc: strides has {len(strides)} entries; sizes has {self.rank}"
                )
        put(self, "strides", strides)
        if self.extent > UINT32_MAX:
            raise InvalidDescError(
                f"TensorDesc: sizes {self.sizes} span {self.extent} elements; "
                f"at most {UINT32_MAX} are allowed"
            )
        self._check_bytes(total_tensor_size_in_bytes, guaranteed_base_offset_alignment)
        fields = (self.data_type, self.sizes, strides, self.total_tensor_size_in_bytes)
        put(self, "_hash", hash((*fields, self.guaranteed_base_offset_alignment, self.flags)))

    def __hash__(self) -> int:
        return self._hash  # taken once: descriptions are keys of every cache

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the call that makes it: a hash taken in one process is no good in another."""
        make = partial(
            TensorDesc,
            total_tensor_size_in_bytes=self.total_tensor_size_in_bytes,
            guaranteed_base_offset_alignment=self.guaranteed_base_offset_alignment,
            flags=self.flags,
        )
        return make, (self.data_type, self.sizes, self.strides)

    def _check_bytes(self, total: int | None, alignment: int) -> None:
        put = object.__setattr__
        least = self.minimum_size_in_bytes
        total = least if total is None else total
        total = integer("TensorDesc: total_tensor_size_in_bytes", total, 0, 2**64 - 1)
        if total < least:
            raise InvalidDescError(
                f"TensorDesc: total_tensor_size_in_bytes is {total}; "
                f"the sizes and strides need at least {least}"
            )
        if total % 4:
            raise InvalidDescError(
                f"TensorDesc: total_tensor_size_in_bytes is {total}; it must be a multiple of 4"
            )
        put(self, "total_tensor_size_in_bytes", total)
        name = "TensorDesc: guaranteed_base_offset_alignment"
        alignment = integer(name, alignment, 0, UINT32_MAX)
        least = max(1, self.data_type.bits // 8)
        if alignment and (alignment & (alignment - 1) or alignment < least):
            raise InvalidDescError(
                f"{name} is {alignment}; it must be 0 or a power of two of at least {least}"
            )
        put(self, "guaranteed_base_offset_alignment", alignment)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    @cached_property
    def element_count(self) -> int:
        """Number of logical elements, broadcast ones counted each time."""
        return prod(self.sizes)

    @cached_property
    def effective_strides(self) -> tuple[int, ...]:
        """The strides, with None replaced by the packed ones."""
        return packed_strides(self.sizes) if self.strides is None else self.strides

    @cached_property
    def extent(self) -> int:
        """Elements from the first to the last addressed one, gaps included."""
        steps = zip(self.sizes, self.effective_strides, strict=True)
        return 1 + sum((n - 1) * s for n, s in steps)

    @cached_property
    def minimum_size_in_bytes(self) -> int:
        """Least value of total_tensor_size_in_bytes."""
        return -(-self.extent * self.data_type.bits // 32) * 4

    @cached_property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """(size, stride) of every dimension that has more than one element."""
        pairs = zip(self.sizes, self.effective_strides, strict=True)
        return tuple((n, s) for n, s in pairs if n > 1)

    @cached_property
    def is_packed(self) -> bool:
        """Whether the elements lie row-major without gaps."""
        packed = zip(self.sizes, packed_strides(self.sizes), strict=True)
        return self.steps == tuple((n, s) for n, s in packed if n > 1)

    @cached_property
    def overlaps_itself(self) -> bool:
        """Whether two logical elements share an address."""
        dims = sorted((stride, size) for size, stride in self.steps)
        return _collides(dims)

    @property
    def alignment(self) -> int:
        """What the tensor's offset in its buffer must be a multiple of, in bytes."""
        return max(TENSOR_ALIGNMENT, self.guaranteed_base_offset_alignment)


def _data_type(value: Any) -> DataType:
    """A data type by its member, its number, or a NumPy type with the same bits."""
    if isinstance(value, DataType):
        return value
    if isinstance(value, int):
        known = DataType.__members__.values()
        found = next((t for t in known if int(t) == value and not isinstance(value, bool)), None)
        if found is not None:
            return found
    else:
        try:
            return DataType.from_numpy(value)
        except InvalidTypeError:
            pass
    names = ", ".join(f"{t.name} ({int(t)})" for t in DataType)
    raise InvalidDescError(f"TensorDesc: data_type is {shown(value)}; it must be one of {names}")


def check_desc(desc: Any) -> None:
    """Raises unless `desc` is a TensorDesc."""
    if not isinstance(desc, TensorDesc):
        raise InvalidDescError(f"desc is {shown(desc)}; it must be a TensorDesc")


_SEARCH_LIMIT = 20_000  # partial sums kept; only contrived layouts reach it


def _collides(dims: list[tuple[int, int]]) -> bool:
    """Whether sum(c*s) takes one value twice over the box c < n; dims are (stride, size) ascending.

    Equivalently: whether some non-zero d with |d[i]| < n[i] has sum(d*s) == 0. Dimensions are
    tried from the longest stride down, and only differences that the shorter ones can still make
    up for are kept; the last two are solved by arithmetic.
    """
    if any(s == 0 for s, _ in dims):
        return True
    if prod(n for _, n in dims) > 1 + sum((n - 1) * s for s, n in dims):
        return True  # more elements than addresses
    sums = {(0, False)}  # of differences so far, and whether one of them is not zero
    while len(dims) > 2:
        stride, size = dims.pop()
        left = sum((n - 1) * s for s, n in dims)
        found: set[tuple[int, bool]] = set()
        for total, moved in sums:
            low = max(1 - size, -((left + total) // stride))
            high = min(size - 1, (left - total) // stride)
            # The first difference that is not zero may be taken as positive.
            steps = range(low if moved else 0, high + 1)
            if len(found) > _SEARCH_LIMIT or len(steps) > _SEARCH_LIMIT:
                return True
            found |= {(total + step * stride, moved or step != 0) for step in steps}
        if len(found) > _SEARCH_LIMIT:
            return True
        sums = found
    pair = [*dims, (1, 1), (1, 1)][:2]
    return any(_pair_reaches(pair, total, moved) for total, moved in sums)


def _pair_reaches(pair: list[tuple[int, int]], total: int, moved: bool) -> bool:
    """Whether a*s + b*t == -total with |a| < n, |b| < m has a solution, not all zero."""
    (s, n), (t, m) = pair
    g = gcd(s, t)
    if total % g:
        return False
    a_step, b_step = t // g, s // g  # a += a_step, b -= b_step keeps the sum
    if not moved and total == 0:
        return a_step < n and b_step < m
    a = (-total // g) * pow(b_step, -1, a_step) % a_step if a_step > 1 else 0
    b = (-total - a * s) // t
    # a + k*a_step in (-n, n) and b - k*b_step in (-m, m)
    low = max(-((a + n - 1) // a_step), -((m - 1 - b) // b_step))
    high = min((n - 1 - a) // a_step, (b + m - 1) // b_step)
    return low <= high
