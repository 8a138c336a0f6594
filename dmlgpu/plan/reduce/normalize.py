"""Work on lines in two steps: a few numbers of each line, then every element by them.

Lines that a workgroup can hold are read once: registers keep the elements while the numbers are
found. Other lines are reduced first, and read again for their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import DataType, TensorDesc, packed_strides
from dmlgpu.plan.dispatch import Adapter, Plan, Value, eight
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.reading import Loop, folded
from dmlgpu.plan.reduce import short_lines
from dmlgpu.plan.reduce.accumulators import Accumulator
from dmlgpu.plan.reduce.phases import Phase, dispatched
from dmlgpu.plan.reduce.planner import Reduction
from dmlgpu.plan.reduce.whole_lines import WG_SIZE, Division, WholeLines
from dmlgpu.plan.values import Expression, Operand
from dmlgpu.plan.words import UNIT_BITS

STATISTICS = "statistics"  # the memory that holds the numbers of each line


@dataclass(frozen=True, slots=True)
class ByLine:
    """Every output element from the input's element and a few numbers of its line.

    For whole lines: `phases` find the numbers, and `result` names the element `x`, the last value
    `v`, the numbers `s0`, `s1`, ... and the element's place in its line `i`. For others, in two
    passes: `accumulator` finds what `expression` names by its words `w0`, `w1`, ....
    """

    source: TensorDesc
    output: TensorDesc
    axes: tuple[int, ...]
    phases: tuple[Phase, ...]
    result: str
    accumulator: Accumulator
    types: tuple[DataType, ...]  # of the accumulator's words
    expression: str

    def traffic(self) -> dict[str, int]:
        """Every element is moved once."""
        return self._elements().traffic()

    def plan(self, adapter: Adapter) -> Plan:
        """One pass where a workgroup can hold a line; else its numbers, then the elements."""
        found = (
            None if adapter.is_cpu else self._lines_in_a_row(adapter) or self._whole_lines(adapter)
        )
        return self._two_passes(adapter) if found is None else found

    # Row: softmax of 257 float32 bandwidth: 2 transfers of each element, 3 in two passes.
    def _lines_in_a_row(self, adapter: Adapter) -> Plan | None:
        """One dispatch, where lines follow each other in both tensors, and are not too long.

        None where they are whole units, which need not follow each other.
        """
        longer = [d for d, n in enumerate(self.source.sizes) if n > 1]
        sizes = tuple(self.source.sizes[d] for d in longer)
        along = [n for d, n in zip(longer, sizes, strict=True) if d in self.axes]
        is_packed = all(
            tuple(tensor.effective_strides[d] for d in longer) == packed_strides(sizes)
            for tensor in (self.source, self.output)
        )
        is_last = all(d in self.axes for d in longer[len(longer) - len(along) :])
        if not (is_packed and is_last):
            return None
        kind, size = self.source.data_type, prod(along)
        count = prod(sizes) // size
        if short_lines.suits(kind, size):
            work = (kind, size, count, self.phases, self.result)
            return Plan((short_lines.dispatch(*work, adapter),))
        if size * kind.bits % UNIT_BITS == 0:
            return None
        return self._held(adapter, size, count, ())

    def _two_passes(self, adapter: Adapter) -> Plan:
        sizes = tuple(1 if d in self.axes else n for d, n in enumerate(self.source.sizes))
        lines = TensorDesc(DataType.FLOAT32, sizes)
        reduction = Reduction.of(self.source, lines, self.axes, self.accumulator)
        first = reduction.plan(adapter, STATISTICS)
        second = self._with_statistics().plan(adapter)
        nbytes = lines.element_count * self.accumulator.words * 4
        return in_turn([first, second], {STATISTICS: max(16, nbytes)})

    def _elements(self) -> ElementWise:
        inputs = {"x": Operand.of("input_tensor", self.source)}
        made = Operand.of("output_tensor", self.output)
        return ElementWise(inputs, ((made, Expression(self.expression)),))

    def _with_statistics(self) -> ElementWise:
        work = self._elements()
        inputs = dict(work.inputs)
        sizes = self.source.sizes
        kept = packed_strides(tuple(1 if d in self.axes else n for d, n in enumerate(sizes)))
        words = self.accumulator.words
        steps = tuple(0 if d in self.axes else words * s for d, s in enumerate(kept))
        for w, kind in enumerate(self.types):
            tensor = TensorDesc(kind, sizes, steps)
            inputs[f"w{w}"] = Operand(STATISTICS, tensor, kind, start=w)
        along = packed_strides(tuple(n if d in self.axes else 1 for d, n in enumerate(sizes)))
        places = tuple(s if d in self.axes else 0 for d, s in enumerate(along))
        inputs["i"] = Operand.place(sizes, places)
        return replace(work, inputs=inputs)

    # Row: softmax of 4096 float32 bandwidth: 2 transfers of each element, 3 in two passes.
    def _whole_lines(self, adapter: Adapter) -> Plan | None:
        """One dispatch, where lines are units side by side in both tensors, and not too many."""
        source, output = self.source.effective_strides, self.output.effective_strides
        sizes, bits = self.source.sizes, self.source.data_type.bits
        unit = UNIT_BITS // bits
        step = 1
        for d in sorted(self.axes, reverse=True):
            if sizes[d] > 1 and (source[d] != step or output[d] != step):
                return None
            step *= sizes[d]
        kept = [d for d in range(len(sizes)) if d not in self.axes]
        if step % unit or any(
            s % unit for d in kept if sizes[d] > 1 for s in (source[d], output[d])
        ):
            return None
        loops = [Loop(sizes[d], (source[d], output[d])) for d in kept]
        loops.sort(key=lambda loop: -loop.steps[1])
        keeps = folded(loops) or (Loop(1, (0, 0)),)
        return self._held(adapter, step, prod(d.size for d in keeps), keeps)

    def _held(self, adapter: Adapter, size: int, count: int, keeps: Sequence[Loop]) -> Plan | None:
        """One dispatch for lines which loops say the places of; without any, they are in a row."""
        kind = self.source.data_type
        unit = UNIT_BITS // kind.bits
        division = Division.of(size, unit, adapter, shifted=not keeps)
        if division is None:
            return None
        text = WholeLines(kind, size, self.phases, self.result, division, len(keeps))
        params: dict[str, Value] = {"lines": count, "size": size}
        if keeps:
            params["kept"] = eight([d.size for d in keeps])
            params["kept_strides"] = eight([d.steps[0] for d in keeps])
            params["out_strides"] = eight([d.steps[1] for d in keeps])
        shader = "whole_lines_in_subgroups" if text.shuffles else "whole_lines"
        groups = -(-count // division.lines)
        own = (kind, self.phases)
        made = dispatched(shader, groups, params, WG_SIZE, *own, text.code, adapter)
        return Plan((made,))
