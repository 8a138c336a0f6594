"""What is measured, as data: every workload at three sizes, in every data type that it has.

A size says what bounds the time: `launch` is so small that starting the work is all there is,
`cache` stays in a cache, `bandwidth` streams from memory. `bandwidth` shapes are meant for 1 GiB
of input; the leading axis shrinks for adapters that get less, and for types that would need more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from math import prod

import numpy as np

SIZES = ("launch", "cache", "bandwidth")
GIB = 1 << 30
ROOM = {"discrete": GIB, "cpu": GIB >> 4}  # bytes of input of a bandwidth-bound case
ROOM_ELSEWHERE = GIB >> 2

Step = tuple[int | None, int | None, int | None]  # start, stop, step, as in a slice

MOVED = ("float32", "float16", "uint8", "int64")
SUMMED = ("float32", "float16", "int32", "int64")

BLOCK = {"launch": (4, 16, 64), "cache": (16, 64, 1024), "bandwidth": (64, 1024, 4096)}
ROWS = {"launch": (16, 256), "cache": (256, 4096), "bandwidth": (65536, 4096)}


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work; `family` names the operator and says which of the other fields count."""

    name: str
    family: str  # slice, gather_nd, cumulative
    shapes: Mapping[str, tuple[int, ...]] = field(hash=False)
    dtypes: tuple[str, ...]
    index: tuple[Step, ...] = ()  # slice: what is taken of the last axes
    coordinates: int = 0  # gather_nd: of each tuple
    one_in: int = 1  # gather_nd: tuples, as a share of the positions there are
    index_dtype: str = "uint32"  # gather_nd
    axis: int = 0  # cumulative


EVERY_OTHER: Step = (None, None, 2)
BACKWARD: Step = (None, None, -1)

WORKLOADS = (
    Workload("slice window", "slice", BLOCK, MOVED, index=((1, None, None), (2, -2, None))),
    Workload("slice stride 2, last axis", "slice", BLOCK, MOVED, index=(EVERY_OTHER,)),
    Workload("slice stride 2, last two axes", "slice", BLOCK, MOVED, index=(EVERY_OTHER,) * 2),
    Workload("reverse last axis", "slice", BLOCK, MOVED, index=(BACKWARD,)),
    Workload(
        "slice rows, odd offset",
        "slice",
        {"launch": (4, 1024), "cache": (256, 16384), "bandwidth": (65536, 16384)},
        ("uint8",),
        index=((3, -4, None),),
    ),
    Workload(
        "gather rows of 1024",
        "gather_nd",
        {"launch": (4, 1024), "cache": (1024, 1024), "bandwidth": (1 << 18, 1024)},
        MOVED,
        coordinates=1,
    ),
    Workload(
        "gather rows of 16",
        "gather_nd",
        {"launch": (256, 16), "cache": (1 << 16, 16), "bandwidth": (1 << 23, 16)},
        MOVED,
        coordinates=1,
    ),
    Workload(
        "gather scalars",
        "gather_nd",
        {"launch": (64, 64), "cache": (1024, 1024), "bandwidth": (16384, 16384)},
        MOVED,
        coordinates=2,
        one_in=4,
    ),
    Workload(
        "gather scalars, int64 indices",
        "gather_nd",
        {"launch": (64, 64), "cache": (1024, 1024), "bandwidth": (16384, 16384)},
        ("float32",),
        coordinates=2,
        one_in=4,
        index_dtype="int64",
    ),
    Workload("cumsum last axis", "cumulative", ROWS, SUMMED, axis=1),
    Workload("cumsum axis 0", "cumulative", ROWS, SUMMED, axis=0),
    Workload("cumsum middle axis", "cumulative", BLOCK, SUMMED, axis=1),
    Workload(
        "cumsum rows of 64",
        "cumulative",
        {"launch": (64, 64), "cache": (1 << 14, 64), "bandwidth": (1 << 22, 64)},
        SUMMED,
        axis=1,
    ),
    Workload(
        "cumsum rows of 1001",
        "cumulative",
        {"launch": (4, 1001), "cache": (1024, 1001), "bandwidth": (1 << 18, 1001)},
        SUMMED,
        axis=1,
    ),
    Workload(
        "cumsum one line",
        "cumulative",
        {"launch": (4096,), "cache": (1 << 20,), "bandwidth": (1 << 28,)},
        SUMMED,
        axis=0,
    ),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload in one data type at one size."""

    workload: Workload
    dtype: str
    size: str

    def __str__(self) -> str:
        return _id(f"{self.workload.name} {self.dtype} {self.size}")

    def shape(self, adapter_kind: str) -> tuple[int, ...]:
        """Sizes of the input on an adapter of this kind."""
        shape = self.workload.shapes[self.size]
        if self.size != "bandwidth":
            return shape
        room = ROOM.get(adapter_kind, ROOM_ELSEWHERE)
        shape = (max(1, shape[0] * room // GIB), *shape[1:])
        return shrunk(shape, room // np.dtype(self.dtype).itemsize)


def shrunk(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    """`shape` with axes halved, the first ones first and none below 4, to `most` elements."""
    sizes = list(shape)
    at = 0
    while prod(sizes) > most and at < len(sizes):
        if sizes[at] > 4:
            sizes[at] //= 2
        else:
            at += 1
    return tuple(sizes)


def cases(
    family: str = "*", sizes: Iterable[str] = SIZES, only: Iterable[str] = ("*",)
) -> list[Case]:
    """Cases of a family; `only` holds patterns of ids, of which one must match."""
    patterns = [_id(p) if any(c in p for c in "*?[") else f"*{_id(p)}*" for p in only]
    found = [
        Case(workload, dtype, size)
        for size in sizes
        for workload in WORKLOADS
        for dtype in workload.dtypes
        if fnmatch(workload.family, family)
    ]
    return [case for case in found if any(fnmatch(str(case), p) for p in patterns)]


def _id(words: str) -> str:
    """Words as they stand in an id."""
    return words.replace(",", "").replace(" ", "-")
