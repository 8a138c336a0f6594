"""Chain: element-wise steps that run as one kernel, and the record the runtime knows them by.

A chain is what an array function asks for: one step, or several that `dmlgpu.fuse` has traced, and
a reduction at their end. Every step's value is rounded to its type, so that a chain gives what its
steps give one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dmlgpu.array.internal import Internal, nothing
from dmlgpu.array.promotion import BOOL, DType, data_type_of
from dmlgpu.array.reductions import SPREADS, Reduced
from dmlgpu.desc.cached import cached_property
from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.views import broadcast, packed
from dmlgpu.plan.dispatch import Value
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.operator import Operator, Work
from dmlgpu.plan.reduce import InTurn, Reduction
from dmlgpu.plan.reduce.accumulators import average
from dmlgpu.plan.values import (
    Expression,
    Operand,
    Parameter,
    class_of,
    in_eights,
    limited,
    of_class,
    truth,
)

OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of a data type, by its bits: equal numbers such as 0.0 and -0.0 stay apart."""

    data_type: DataType
    words: tuple[int, ...]

    @classmethod
    def of(cls, value: bool | int | float, dtype: DType) -> Constant:
        """A Python number as a type holds it; bool holds whether it is not 0."""
        data_type = data_type_of(dtype)
        held = bool(value) if dtype == BOOL else value
        return cls(data_type, Parameter("", data_type, held).words)

    def parameter(self, name: str) -> Parameter:
        """The same number as an expression names it."""
        packed = struct.pack(f"<{len(self.words)}I", *self.words)
        formats = {"f32": "<f", "f64": "<d", "i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q"}
        (value,) = struct.unpack(formats[class_of(self.data_type)], packed)
        return Parameter(name, self.data_type, value)


@dataclass(frozen=True, slots=True)
class Step:
    """A value: an expression over sources x0, x1, ..., constants k0, ..., and steps t0, ..."""

    text: str
    data_type: DataType


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the output's bytes the results go, if not everywhere."""

    start: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """A reduction of the last step's values, and how these would lie if they were written."""

    reduced: Reduced
    layout: TensorDesc


class Chain(Internal, name="array function"):
    """Sources, and the steps that make the output's elements of theirs at the same place."""

    name: str
    sources: tuple[TensorDesc, ...]
    constants: tuple[Constant, ...]
    steps: tuple[Step, ...]
    output: TensorDesc
    place: Place | None = None
    ending: Ending | None = None
    starts: tuple[int, ...] = ()  # first element of each source, where not that of all its bytes

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The sources, by the names that steps use."""
        return {f"x{i}": desc for i, desc in enumerate(self.sources)}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The one output."""
        return {OUTPUT: self.output}

    def values_of(self, constants: Sequence[Constant]) -> Mapping[str, Value]:
        """The parameters of a dispatch that other constants change, where no reduction ends it."""
        words = [word for constant in constants for word in constant.words]
        return in_eights(words + [0] * min(ZEROS, len(self.steps) - 1))

    def record(self) -> Operator[Chain]:
        """A record of its own for each: where it may run in place depends on its types."""
        return ChainOperator(self)

    def work(self) -> Work:
        """All steps in one expression."""
        starts = self.starts or (0,) * len(self.sources)
        inputs = {
            name: Operand(name, desc, desc.data_type, start)
            for (name, desc), start in zip(self.inputs().items(), starts, strict=True)
        }
        constants = [c.parameter(f"k{i}") for i, c in enumerate(self.constants)]
        if self.ending is not None:
            return self._reduction(self.ending, inputs, tuple(constants))
        output = Operand.of(OUTPUT, self.output)
        if self.place is not None:
            total = self.output.total_tensor_size_in_bytes
            part = TensorDesc(
                self.output.data_type,
                self.place.sizes,
                self.place.strides,
                total_tensor_size_in_bytes=total,
            )
            output = Operand(OUTPUT, part, self.output.data_type, self.place.start, shares=True)
        *before, last = self.steps
        expression = Expression(last.text, _rounded(before))
        return ElementWise(inputs, ((output, expression),), (*constants, *_zeros(before)))

    def _reduction(
        self, end: Ending, inputs: dict[str, Operand], parameters: tuple[Parameter, ...]
    ) -> Reduction | InTurn:
        """The steps' values, converted to the type that the reduction computes in, and reduced."""
        ending, layout = end.reduced, end.layout
        steps = list(self.steps)
        kind = data_type_of(ending.computed)
        accumulator = ending.accumulator(kind)
        if not ending.name.startswith("arg"):
            result = converted(accumulator.finish, ending.computed, ending.dtype)
            accumulator = replace(accumulator, finish=result)
        sizes = tuple(1 if d in ending.axes else n for d, n in enumerate(layout.sizes))
        made = Reduction(
            layout,
            packed(self.output.data_type, sizes),
            ending.axes,
            accumulator,
            inputs,
            Expression(_last(steps), _rounded(steps)),
            kind,
            (*parameters, *_zeros(steps)),
            OUTPUT,
        )
        if ending.name not in SPREADS:
            return made
        centre = packed(kind, sizes)
        first = replace(made, output=centre, accumulator=average(kind), output_field=CENTRE)
        steps.append(Step(f"f32_sub({_last(steps)}, {CENTRE})", kind))
        steps.append(Step("f32_mul({0}, {0})".format(_last(steps)), kind))
        averages = Operand.of(CENTRE, broadcast(centre, layout.sizes))
        second = replace(
            made,
            inputs={**inputs, CENTRE: averages},
            value=Expression(_last(steps), _rounded(steps)),
            parameters=(
                *parameters,
                *_zeros(steps),
                Parameter("divisor", kind, ending.divisor),
            ),
        )
        return InTurn(first, second)


ZEROS = 64  # different ones; a chain of 400 steps with as many took 5 s to compile, with these 0.5
CENTRE = "centre"  # the memory that holds the average of each line


def _last(steps: Sequence[Step]) -> str:
    """The name of the last value."""
    return f"t{len(steps) - 1}" if steps else "x0"


def _zeros(steps: Sequence[Step]) -> tuple[Parameter, ...]:
    """A number for each step that is 0, but not known to a compiler."""
    zeros = range(min(ZEROS, len(steps)))
    return tuple(Parameter(f"k_zero{i}", DataType.UINT32, 0) for i in zeros)


# An exclusive or of a value of each class with a word that is 0.
GUARDED = {
    "f32": "bitcast<f32>(bitcast<u32>({}) ^ {})",
    "i32": "({} ^ bitcast<i32>({}))",
    "u32": "({} ^ {})",
    **dict.fromkeys(("i64", "u64", "f64"), "({} ^ vec2<u32>({}))"),
}


def _rounded(steps: Sequence[Step]) -> str:
    """Statements for the steps' values t0, t1, ..., each as its type holds it.

    A compiler may contract a product and a sum into one operation that rounds once, take packing
    and unpacking a half for nothing, and calculate with what it knows by other rules than a GPU
    does: of a sum with 0.0 it loses the sign of a zero. It can do none of that through the
    exclusive or with a number that it does not know, which is 0. Every step has another one than
    the steps near it, or equal steps would be known to be equal.
    """
    lines = []
    for i, step in enumerate(steps):
        name, zero = step.data_type.name.lower(), f"k_zero{i % ZEROS}"
        if step.data_type is DataType.FLOAT16:
            value = f"{name}_decode({name}_encode({step.text}) ^ vec2<u32>({zero}))"
        else:
            wrapped = step.text
            if step.data_type is not DataType.FLOAT32:
                wrapped = f"{name}_wrap({step.text})"
            value = GUARDED[class_of(step.data_type)].format(wrapped, zero)
        lines.append(f"let t{i} = {value};")
    return " ".join(lines)


class ChainOperator(Operator[Chain]):
    """What the runtime knows of a chain: its name, its work, and where it may run in place."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(Chain, nothing, Chain.work)
        object.__setattr__(self, "chain", chain)

    @cached_property
    def entry(self) -> Entry:
        """The output may lie on every source of its type."""
        chain: Chain = vars(self)["chain"]
        same = (n for n, d in chain.inputs().items() if d.data_type is chain.output.data_type)
        alone = chain.place is not None or chain.ending is not None
        alias = {OUTPUT: () if alone else tuple(same)}
        return replace(Chain._entry, name=chain.name, alias=alias)


def converted(text: str, source: DType, target: DType) -> str:
    """A value of one type as another type's: as CAST converts, and to bool whether it is not 0."""
    if source == target:
        return text
    have, want = data_type_of(source), data_type_of(target)
    if target == BOOL:
        return truth(f"{class_of(have)}_is_true({text})")
    if class_of(have) == class_of(want):
        # Of one class of values: a narrower type wraps when the value is written or rounded.
        return text
    made = of_class(text, have, want)
    return limited(want, made) if source.kind == "f" and target.kind != "f" else made
