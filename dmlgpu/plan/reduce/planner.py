"""Plans of reductions: every output element combines all input elements along some axes.

A reduction is an accumulator: what one element becomes, how two accumulators combine, and what
the last one gives. An invocation combines a few dozen groups of elements one after the other, then
a few dozen of these results; the invocations of a workgroup join theirs in a tree, and segments of
a long line are joined in further passes. The order is always the same, so the bits of floats are
too, and rounding errors grow with the logarithm of a line's length.

Which elements those are is said in division.py, so that neighbours read neighbours in any layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import UnsupportedError
from dmlgpu.plan.dispatch import LOOKS, Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.elementwise.spans import MOST_TEXT
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.reduce import accumulators, meeting
from dmlgpu.plan.reduce.accumulators import Accumulator
from dmlgpu.plan.reduce.code import Kernel
from dmlgpu.plan.reduce.division import Shape, shape_of
from dmlgpu.plan.rows import divisors
from dmlgpu.plan.traffic import all_read, bytes_written
from dmlgpu.plan.values import Expression, Operand, Parameter, float_slots, parameter_words, renamed
from dmlgpu.plan.words import param_lines

MERGED = 4  # times that a result which is a part of a word costs more, being merged alone
RESULTS = "results"  # the memory that holds results before they are moved


@dataclass(frozen=True, slots=True)
class Reduction:
    """Every output element as one accumulator over the reduced axes.

    What is reduced are values of an expression over tensors. `layout` is the tensor that would
    hold them if they were written: it decides how lines are divided, and so in which order values
    combine, which is the same whether or not they are written first.
    """

    layout: TensorDesc
    output: TensorDesc
    axes: tuple[int, ...]
    accumulator: Accumulator
    inputs: Mapping[str, Operand]  # by the name that the expression uses
    value: Expression
    data_type: DataType  # of the value
    parameters: tuple[Parameter, ...] = ()
    output_field: str = "output_tensor"

    @classmethod
    def of(
        cls,
        source: TensorDesc,
        output: TensorDesc,
        axes: tuple[int, ...],
        accumulator: Accumulator,
    ) -> Reduction:
        """The elements of one tensor."""
        inputs = {"x": Operand.of("input_tensor", source)}
        return cls(source, output, axes, accumulator, inputs, Expression("x"), source.data_type)

    def traffic(self) -> dict[str, int]:
        """Every element is moved once."""
        read = {o.field: all_read(o.tensor) for o in self.inputs.values()}
        return read | {self.output_field: bytes_written(self.output)}

    def plan(self, adapter: Adapter, into: str = "") -> Plan:
        """One pass, or several where lines are cut into segments.

        `into` names memory that takes the words of each line's accumulator, in the order of the
        output's elements, instead of the results.
        """
        acc = self.accumulator
        elements = prod(self.layout.sizes[a] for a in self.axes)
        if elements >= 1 << 32:
            raise UnsupportedError(
                f"{elements} elements cannot be reduced to one result: there must be fewer than "
                "2^32"
            )
        if elements == 1 and not (into or acc.declarations):
            return self._element_wise().plan(adapter)
        between = None if into or adapter.is_cpu else self._between(adapter)
        if between is not None:
            first = replace(self, output=between, output_field=RESULTS).plan(adapter)
            moved = Move.between(between, self.output, RESULTS, self.output_field).plan(adapter)
            held = {RESULTS: max(16, between.total_tensor_size_in_bytes)}
            return in_turn([first, moved], held)
        shape = shape_of(
            self.layout,
            self.output,
            self.axes,
            list(self.inputs.values()),
            adapter,
            words=acc.words,
            placed=acc.has_place,
            looped=adapter.is_cpu and len(self.value.steps) > MOST_TEXT,
        )
        if adapter.is_cpu and acc.has_place:
            shape = replace(shape, at_once=1)  # SwiftShader never finishes dozens of choices
        if shape.by_parts and not shape.row and shape.parts > 1 and 4 % acc.words == 0:
            side = shape.columns, shape.lines
            shape = replace(shape, in_units=not any(n * acc.words % 4 for n in side))
        words = meeting.words(shape, acc)
        sizes = [o.tensor.total_tensor_size_in_bytes for o in self.inputs.values() if o.field]
        bound = sum(-(-size // adapter.max_binding) for size in sizes)
        fits = shape.segments * words <= meeting.MOST_WORDS and bound <= meeting.MOST_BOUND
        if shape.segments > 1 and fits and adapter.forward_progress and not adapter.is_cpu:
            shape = replace(shape, meets=True)
            only = self._dispatch(shape, "", into or self.output_field, adapter)
            size = 4 * shape.blocks * (1 + shape.segments * words)
            return Plan((only,), shared={meeting.PARTIALS: size})
        passes = [(shape, "")]
        scratch: dict[str, int] = {}
        while passes[-1][0].parts > 1:
            last = passes[-1][0]
            name = f"partials{len(scratch)}"
            scratch[name] = max(16, shape.lines * last.parts * acc.words * 4)
            passes.append((last.joining(acc.words, adapter), name))
        dispatches = []
        for i, (how, source) in enumerate(passes):
            target = f"partials{i}" if how.parts > 1 else into or self.output_field
            dispatches.append(self._dispatch(how, source, target, adapter))
        return Plan(tuple(dispatches), scratch)

    def _element_wise(self) -> ElementWise:
        """The same for lines of one element."""
        acc = self.accumulator
        lifted = renamed(acc.lift, {"x": f"({self.value.result})"})
        total = renamed(acc.combine, {"a": acc.identity, "b": lifted})
        result = renamed(acc.finish, {"a": f"({total})", "n": "1u"})
        made = Operand.of(self.output_field, self.output)
        expression = Expression(result, self.value.steps)
        return ElementWise(self.inputs, ((made, expression),), self.parameters)

    def _between(self, adapter: Adapter) -> TensorDesc | None:
        """Results in the order of the input's memory, to be moved, where that order is another.

        Each of them alone would be written to a sector of its own.
        """
        kept = [d for d, n in enumerate(self.output.sizes) if n > 1]
        steps, own = self.layout.effective_strides, self.output.effective_strides
        wanted = sorted(kept, key=lambda d: (steps[d] != 0, -steps[d], -own[d]))
        kind, count = self.output.data_type, self.output.element_count
        each = 4 if kind.bits >= 32 else 4 * MERGED
        if count * each < adapter.worth_a_dispatch or count * kind.bits // 8 > adapter.max_binding:
            return None
        if wanted == sorted(kept, key=lambda d: -own[d]):
            return None
        strides, step = [1] * self.output.rank, 1
        for d in reversed(wanted):
            strides[d] = step
            step *= self.output.sizes[d]
        return TensorDesc(kind, self.output.sizes, strides)

    def _dispatch(self, shape: Shape, source: str, target: str, adapter: Adapter) -> Dispatch:
        made = self.output.data_type if target == self.output_field else None
        room = 0 if adapter.is_cpu else adapter.max_workgroup_storage // 4
        in_subgroups = adapter.subgroup_min >= accumulators.BLOCK and not adapter.is_cpu
        given = (self.inputs, self.value, self.data_type, self.parameters)
        by_product = adapter.is_cpu and adapter.wide_integers and shape.reading is not None
        kernel = Kernel(shape, self.accumulator, made, *given, room, in_subgroups, by_product)
        params: dict[str, Value] = {
            "lines": shape.lines,
            "threads": shape.threads,
            "segments": shape.segments,
            "rounds": shape.rounds,
            "rest": shape.rest,
            "length": shape.length,
            "elements": prod(self.layout.sizes[a] for a in self.axes),
            "kept": eight([d.size for d in shape.kept]),
            "out_strides": eight([d.steps[0] for d in shape.kept]),
        }
        bindings, constants = {"made": target}, {"WG_SIZE": shape.wg}
        if shape.reading is None and shape.on_cpu:
            params |= {"apart": 1 if shape.over > 1 else shape.length, "over": shape.over}
        if shape.meets:
            bindings[meeting.PARTIALS] = meeting.PARTIALS
            params["blocks"] = shape.blocks
            constants["LOOKS"] = LOOKS
        halves = [made] if made else []
        if shape.reading is None:
            bindings["source"] = source
        else:
            bindings |= shape.reading.bindings
            halves += [o.data_type for o in shape.reading.operands]
            params["positions"] = eight([d.size for d in shape.positions])
            params["reduced"] = eight([d.size for d in shape.reduces])
            if by_product:
                params |= divisors([d.size for d in shape.positions], "positions_")
                params |= divisors([d.size for d in shape.reduces], "reduced_")
            for name, start, t in kernel.walks:
                params[f"start{name}"] = start
                params[f"step{name}"] = shape.steps[t]
                params[f"strides{name}"] = eight([d.steps[t] for d in shape.positions])
                params[f"reduced_strides{name}"] = eight([d.steps[t] for d in shape.reduces])
            params |= {"row": shape.row, "run": shape.run, "run_units": shape.run_units}
            params["elements_read"] = prod(d.size for d in shape.positions)
        params |= parameter_words(self.parameters)
        return Dispatch(
            "reduce/lines_in_subgroups" if in_subgroups else "reduce/lines",
            shape.blocks * shape.segments,
            params,
            bindings,
            float_slots(halves, adapter.exact_floats),
            constants,
            code="\n".join([*param_lines(params), *kernel.code]),
        )


@dataclass(frozen=True, slots=True)
class InTurn:
    """Two reductions over the same lines, the second of which reads what the first one gives."""

    first: Reduction
    second: Reduction

    def traffic(self) -> dict[str, int]:
        """Every element is moved once; results of the first reduction need not leave the chip."""
        between = self.first.output_field
        return {f: size for f, size in self.second.traffic().items() if f != between}

    def plan(self, adapter: Adapter) -> Plan:
        """The passes of both, and memory for what the first one gives."""
        between = self.first.output.total_tensor_size_in_bytes
        held = {self.first.output_field: max(16, between)}
        return in_turn([self.first.plan(adapter), self.second.plan(adapter)], held)
