"""Sequences and bands: elements made of their place alone, as NumPy has them.

Of integers the bits are enough, since they wrap. What NumPy calculates in float64, start + i * step
with the product rounded and then the sum, is made with integer operations on the same bits, and
rounded once more to the type asked for: every element is NumPy's own. Where all numbers are
multiples of one power of two that fit 32 bits, nothing is rounded on the way, and a product of
integers does.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dmlgpu.array.chain import OUTPUT, Constant, converted
from dmlgpu.array.internal import Internal
from dmlgpu.array.promotion import FLOAT16, FLOAT32, FLOAT64, INT32, INT64, DType, data_type_of
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.views import packed
from dmlgpu.plan.dispatch import Value
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.mapped import bits_of, coordinate
from dmlgpu.plan.operator import Work
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter, class_of, in_eights

FAR = 2.0**900  # numbers up to it, and down to its inverse, stay normal on the way
# Of multiples of 2^-n: their bits, from which an element is rounded once, and the largest n, for
# which float32 has normal numbers; those of other types are whole.
BITS = {FLOAT16: 24}
LEAST = {FLOAT16: 90, FLOAT32: 90}
NORMAL = 2.0**-126, 2.0**127  # numbers that float32 has all bits of
SOURCE = "source"


class Sequence(Internal, name="sequence"):
    """Elements that are an expression of their place i and of constants k0, k1, ..."""

    output: TensorDesc
    constants: tuple[Constant, ...]
    text: str
    steps: str = ""

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The one output."""
        return {OUTPUT: self.output}

    @property
    def form(self) -> Hashable:
        """What the kernel depends on: sequences of other numbers are alike."""
        return (Sequence, self.output, self.text, self.steps)

    @property
    def values(self) -> Mapping[str, Value]:
        """The parameters of a dispatch that other numbers change."""
        return in_eights([word for constant in self.constants for word in constant.words])

    def work(self) -> Work:
        """Nothing is read."""
        places = {"i": Operand.place(self.output.sizes, (1,))}
        parameters = tuple(c.parameter(f"k{n}") for n, c in enumerate(self.constants))
        made = Operand.of(OUTPUT, self.output)
        return ElementWise(places, ((made, Expression(self.text, self.steps)),), parameters)


def integers(count: int, dtype: DType, start: int, step: int) -> Sequence:
    """start + i * step modulo 2^32 or 2^64, which is the same for signed and unsigned numbers."""
    output = packed(DataType.from_numpy(dtype), (count,))
    if output.data_type.bits == 64:
        text, kind = "u64_add(k0, u64_mul(u64_from_u32(i), k1))", DataType.UINT64
    else:
        text, kind = "(k0 + i * k1)", DataType.UINT32
        text = f"bitcast<i32>{text}" if dtype.kind == "i" else text
    mask = (1 << kind.bits) - 1
    constants = tuple(Constant.of(number & mask, kind.numpy) for number in (start, step))
    return Sequence(output=output, constants=constants, text=text)


class Band(Internal, name="band"):
    """A value in a band of diagonals of each matrix, and a source's elements elsewhere, or zeros.

    Diagonals are counted from that which begins in the last row; the last two axes are matrices.
    """

    output: TensorDesc
    source: TensorDesc | None
    value: int  # its bits
    first: int
    count: int

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The source, if there is one."""
        return {} if self.source is None else {SOURCE: self.source}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The one output."""
        return {OUTPUT: self.output}

    def work(self) -> Work:
        """A choice by the places along the last two axes."""
        sizes, raw = self.output.sizes, RAW[self.output.data_type.bits]
        rank, last = len(sizes), sizes[-2] - 1
        inputs = {"x": coordinate(sizes, rank - 1, last), "y": coordinate(sizes, rank - 2)}
        other = f"{class_of(raw)}_zero()"
        if self.source is not None:
            inputs["other"], other = Operand.of(SOURCE, self.source, raw=True), "other"
        limits = {"k_first": self.first, "k_count": self.count}
        parameters = [Parameter(name, DataType.UINT32, value) for name, value in limits.items()]
        parameters.append(Parameter("k_value", raw, self.value))
        text = Expression(f"select({other}, k_value, x - y - k_first < k_count)")
        made = Operand.of(OUTPUT, self.output, raw=True)
        return ElementWise(inputs, ((made, text),), tuple(parameters))

    @classmethod
    def of(
        cls,
        dtype: DType,
        sizes: tuple[int, ...],
        value: int,
        first: int,
        end: int,
        source: TensorDesc | None = None,
    ) -> Band:
        """Diagonals so far to the right of the main one: from the first to before `end`."""
        data_type = data_type_of(dtype)
        most = sizes[-2] + sizes[-1] - 1
        begin, behind = (max(0, min(k + sizes[-2] - 1, most)) for k in (first, end))
        return cls(
            output=packed(data_type, sizes),
            source=source,
            value=bits_of(value, data_type),
            first=begin,
            count=max(0, behind - begin),
        )


@dataclass(frozen=True, slots=True)
class Line:
    """Numbers of float64: start + i * step for each place i, but for the first and the last."""

    count: int
    start: float
    step: float
    first: float
    last: float

    def sequence(self, dtype: DType) -> Sequence | None:
        """What makes them on a device as elements of a type; None where only NumPy can.

        Integers are the next ones below.
        """
        numbers = (self.start, self.step, self.first, self.last)
        if not all(map(math.isfinite, numbers)) or not self.step:
            return None
        far = max(abs(self.start), abs(self.step) * self.count)
        if far > FAR or min(abs(self.step), abs(self.start) or 1.0) < 1 / FAR:
            return None
        if dtype.kind != "f":
            info = np.iinfo(dtype)
            low, high = int(info.min), min(int(info.max), 2**63 - 1)
            if not all(low <= math.floor(end) <= high for end in (self.first, self.last)):
                return None
        output = packed(DataType.from_numpy(dtype), (self.count,))
        if exact := self._multiples(dtype, output):
            return exact
        end = Constant(DataType.UINT32, (self.count - 1,))
        constants = (*(Constant.of(number, FLOAT64) for number in numbers), end)
        each = "math_steps64(k0, k1, i)" if self.start else "math_steps64_product(k1, i)"
        steps = f"let t = select(select({each}, k3, i == k4), k2, i == 0u);"
        text = converted("t", FLOAT64, dtype)
        if dtype == FLOAT32 and self._is_normal(far):
            text = "math_steps64_f32(t)"
        if dtype.kind != "f":
            text = converted("math_steps64_floor(t)", INT64, dtype)
        return Sequence(output=output, constants=constants, text=text, steps=steps)

    def _is_normal(self, far: float) -> bool:
        """Whether float32 has all of them as 0 or normal numbers.

        Sums are multiples of the last place of the smaller addend.
        """
        least = min(abs(self.start), abs(self.step)) * 2.0**-53 if self.start else abs(self.step)
        ends = (abs(end) or 1.0 for end in (self.first, self.last))
        return far < NORMAL[1] and all(NORMAL[0] <= n < NORMAL[1] for n in (least, *ends))

    def _multiples(self, dtype: DType, output: TensorDesc) -> Sequence | None:
        """The same where all numbers are multiples of a power of two that 32 bits count."""
        (start, below), (step, under) = self.start.as_integer_ratio(), self.step.as_integer_ratio()
        unit = max(below, under)
        start, step = start * (unit // below), step * (unit // under)
        exponent = unit.bit_length() - 1
        end, bits = start + (self.count - 1) * step, BITS.get(dtype, 31)
        if max(abs(start), abs(end), abs(end - start)) >> bits or exponent > LEAST.get(dtype, 0):
            return None
        ends = ((self.first, Fraction(start, unit)), (self.last, Fraction(end, unit)))
        if any(Fraction(e) != exact or (not e and math.copysign(1, e) < 0) for e, exact in ends):
            return None
        constants = tuple(Constant.of(number, INT32) for number in (start, step))
        text = converted("(k0 + bitcast<i32>(i) * k1)", INT32, dtype)
        if exponent:  # a product with a power of two, which a float has exactly
            constants += (Constant.of(2.0**-exponent, FLOAT32),)
            text = f"f32_mul({text}, k2)"
        return Sequence(output=output, constants=constants, text=text)
