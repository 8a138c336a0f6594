"""Work on lines in two steps: a few numbers of each line, then every element by them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import DataType, TensorDesc, packed_strides
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.elementwise import ElementWise, Expression, Operand
from dmlgpu.plan.reduce import Accumulator, Reduction

STATISTICS = "statistics"  # the memory that holds the numbers of each line


@dataclass(frozen=True, slots=True)
class ByLine:
    """Every output element from the input's element and its line's accumulator.

    The expression names the element `x`, the words of the accumulator `w0`, `w1`, ..., and the
    element's place among those of its line `i`.
    """

    source: TensorDesc
    output: TensorDesc
    axes: tuple[int, ...]
    accumulator: Accumulator
    types: tuple[DataType, ...]  # of the words
    expression: str

    def traffic(self) -> dict[str, int]:
        """Everything once: a kernel could keep a line."""
        return self._elements().traffic()

    def plan(self, adapter: Adapter) -> Plan:
        """The accumulators of all lines, then the elements."""
        sizes = tuple(1 if d in self.axes else n for d, n in enumerate(self.source.sizes))
        lines = TensorDesc(DataType.FLOAT32, sizes)
        first = Reduction(self.source, lines, self.axes, self.accumulator).plan(adapter, STATISTICS)
        second = self._with_statistics().plan(adapter)
        nbytes = lines.element_count * self.accumulator.words * 4
        scratch = {**first.scratch, STATISTICS: max(16, nbytes)}
        return replace(second, dispatches=first.dispatches + second.dispatches, scratch=scratch)

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
