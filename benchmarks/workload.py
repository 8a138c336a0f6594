"""What a row of the benchmark says: an operator by its name, its operands, and other libraries.

Everything else is derived: outputs and traffic from the operator's record, inputs from the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Written = str | tuple[str, ...] | None  # expressions; None: as in NumPy
Attributes = Mapping[str, Any] | Callable[[Shape], Mapping[str, Any]]

SIZES = ("launch", "cache", "bandwidth")
GIB = 1 << 30
ROOM = {"discrete": GIB, "cpu": GIB >> 6}  # bytes of the largest input of a bandwidth-bound case
ROOM_ELSEWHERE = GIB >> 2


def room(adapter_kind: str) -> int:
    """Bytes that an input of a bandwidth-bound case has on an adapter of this kind."""
    return ROOM.get(adapter_kind, ROOM_ELSEWHERE)


def whole(shape: Shape) -> Shape:
    """The sizes of the workload itself."""
    return shape


@dataclass(frozen=True, slots=True)
class Operand:
    """An input: its name in expressions, its sizes, its values, and the view that is used of it.

    `values` is one of: numbers (sums of them are exact), factors (products of them are exact), unit
    (from -1 to 1), positive (from 1/2 to 2), mask, order (each position once), places (positions
    below `below`), turned (the positions of each line, each once), keys (random, hardly one twice),
    range, filled (with `below`).
    """

    name: str
    shape: Callable[[Shape], Shape] = whole
    dtype: str = ""  # the workload's unless given
    values: str = "numbers"
    below: Callable[[Shape], Any] = len
    seen: str = ""  # in NumPy's terms, `a` being the array and `s` the workload's sizes

    @property
    def is_index(self) -> bool:
        """Whether its values are positions: other libraries want them as int64."""
        return self.values in ("order", "places", "turned")


X, Y = Operand("x"), Operand("y")


@dataclass(frozen=True, slots=True)
class Workload:
    """A row in all its data types and sizes.

    The expressions are Python: `np` is the library, operands have their names, `s` is the
    workload's sizes, `t` its data type, `d` the device, `columns` the coordinates that `i` holds.
    Of several expressions the fastest counts, and the first has all outputs in their order; none
    means that the library lacks the operation.
    """

    name: str
    operator: str  # "" for a program
    shapes: Mapping[str, Shape] = field(hash=False)
    dtypes: tuple[str, ...]
    numpy: str = ""
    torch: Written = None
    cupy: Written = None
    inputs: tuple[Operand, ...] = (X,)
    attributes: Attributes = field(default_factory=dict, hash=False)
    # Steps of the output's type by which a value may differ. 0: the bits are equal; infinity: the
    # values are nobody else's, such as random ones.
    within: float = 0
    piece: int = 0  # elements that one index picks, where the work is a gather
    program: str = ""  # a function of the inputs, in place of an operator; `dnp` is dmlgpu.numpy
    is_slow: bool = False  # in NumPy: PyTorch is the reference of large cases where it is there

    def expressions(self, library: str) -> tuple[str, ...]:
        """What is written in a library: NumPy, PyTorch or CuPy."""
        own = {"PyTorch": self.torch, "CuPy": self.cupy}.get(library)
        found = self.numpy if own is None else own
        return (found,) if isinstance(found, str) and found else tuple(found)

    def given(self, shape: Shape) -> dict[str, Any]:
        """The attributes of the description at these sizes."""
        return dict(self.attributes(shape) if callable(self.attributes) else self.attributes)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload in one data type at one size."""

    workload: Workload
    dtype: str
    size: str

    def __str__(self) -> str:
        return id_of(f"{self.workload.name} {self.dtype} {self.size}")

    def shape(self, adapter_kind: str) -> Shape:
        """Sizes on an adapter of this kind: bandwidth-bound ones shrink to the room there is.

        Indices may be twice as large as that.
        """
        shape = self.workload.shapes[self.size]
        if self.size != "bandwidth":
            return shape
        widths = [np.dtype(o.dtype or self.dtype).itemsize for o in self.workload.inputs]
        widest = max(np.dtype(self.dtype).itemsize, max(widths, default=0) // 2)
        return shrunk(shape, room(adapter_kind) // widest)


def shrunk(shape: Shape, most: int) -> Shape:
    """`shape` with axes halved, the first ones first and none below 4, to `most` elements."""
    sizes = list(shape)
    at = 0
    while prod(sizes) > most and at < len(sizes):
        if sizes[at] > 4 and sizes[at] % 2 == 0:
            sizes[at] //= 2
        else:
            at += 1
    return tuple(sizes)


def id_of(words: str) -> str:
    """Words as they stand in an id."""
    return words.replace(",", "").replace(" ", "-")
