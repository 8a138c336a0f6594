"""Work on lines in two steps: a few numbers of each line, then every element by them.

Lines that a workgroup can hold are read once: registers keep the elements while the numbers are
found. Other lines are reduced first, and read again for their elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import DataType, TensorDesc, packed_strides
from dmlgpu.plan.accumulators import Accumulator
from dmlgpu.plan.dispatch import Adapter, Plan, Value, eight
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.line_runs import Lines
from dmlgpu.plan.phases import Phase, decoded, dispatched, stored
from dmlgpu.plan.reduce import Reduction
from dmlgpu.plan.values import (
    UNIT_BITS,
    Expression,
    Loop,
    Operand,
    folded,
    places,
    renamed,
)

STATISTICS = "statistics"  # the memory that holds the numbers of each line
WG_SIZE = 256
MOST_BITS = 2048  # of a line that one invocation keeps in its registers


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
        whole = None if adapter.is_cpu else self._whole_lines(adapter) or self._run(adapter)
        return self._two_passes(adapter) if whole is None else whole

    # Row: softmax of 257 float32 bandwidth: 2 transfers of each element, 3 in two passes.
    def _run(self, adapter: Adapter) -> Plan | None:
        """One dispatch, where lines follow each other in both tensors, however long they are."""
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
        size = prod(along)
        lines = Lines(self.source.data_type, size, prod(sizes) // size, self.phases, self.result)
        made = lines.dispatch(adapter)
        return None if made is None else Plan((made,))

    def _two_passes(self, adapter: Adapter) -> Plan:
        sizes = tuple(1 if d in self.axes else n for d, n in enumerate(self.source.sizes))
        lines = TensorDesc(DataType.FLOAT32, sizes)
        reduction = Reduction.of(self.source, lines, self.axes, self.accumulator)
        first = reduction.plan(adapter, STATISTICS)
        second = self._with_statistics().plan(adapter)
        nbytes = lines.element_count * self.accumulator.words * 4
        scratch = {**first.scratch, STATISTICS: max(16, nbytes)}
        dispatches = first.dispatches + second.dispatches
        return replace(second, dispatches=dispatches, scratch=scratch, shared=first.shared)

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
        units = step // unit
        lanes = 1
        while lanes * (MOST_BITS // 4) < units * UNIT_BITS and lanes < WG_SIZE:
            lanes *= 2
        held = -(-units // lanes)
        if held * UNIT_BITS > MOST_BITS:
            return None
        loops = [Loop(sizes[d], (source[d], output[d])) for d in kept]
        loops.sort(key=lambda loop: -loop.steps[1])
        keeps = folded(loops) or (Loop(1, (0, 0)),)
        lines = prod(d.size for d in keeps)
        params: dict[str, Value] = {
            "lines": lines,
            "units": units,
            "kept": eight([d.size for d in keeps]),
            "kept_strides": eight([d.steps[0] for d in keeps]),
            "out_strides": eight([d.steps[1] for d in keeps]),
        }
        groups, code = -(-lines // (WG_SIZE // lanes)), self._code(len(keeps), lanes, units, unit)
        own = (self.source.data_type, self.phases)
        made = dispatched("whole_lines", groups, params, WG_SIZE, *own, code, adapter)
        return Plan((made,))

    def _code(self, kept: int, lanes: int, units: int, unit: int) -> list[str]:
        held = -(-units // lanes)
        lines = []
        if lanes > 1:
            for p, phase in enumerate(self.phases):
                kind = phase.accumulator.type
                lines.append(f"var<workgroup> wg_{p}: array<{kind}, {WG_SIZE}>;")
        lines += ["fn make_lines(number: u32, invocation: u32) {"]
        lines += [f"  let lane = invocation % {lanes}u;"]
        lines += [f"  let line = number * {WG_SIZE // lanes}u + invocation / {lanes}u;"]
        lines += ["  let inside = line < params.lines;"]
        lines += ["  let units = select(0u, params.units, inside);"]
        walks = [("start", "0u", "kept_strides"), ("end", "0u", "out_strides")]
        lines += places(kept, "kept", "min(line, params.lines - 1u)", walks)
        lines += [f"  let from_ = start / {unit}u + lane;", f"  let to = end / {unit}u + lane;"]
        for k in range(held):  # no load is in a branch, so that all are under way together
            at = f"{k * lanes}u"
            if (k + 1) * lanes > units:
                at = f"min(lane + {at}, params.units - 1u) - lane"
            lines.append(f"  let u{k} = load_source(from_ + {at});")
        for k in range(held):
            lines += decoded(self.source.data_type, k)
        for p, phase in enumerate(self.phases):
            lines += self._phase(p, phase, lanes, units, unit)
        for k in range(held):
            results = [self._result(k, j, lanes, unit) for j in range(unit)]
            at, inside = f"to + {k * lanes}u", f"lane + {k * lanes}u < units"
            lines += stored(self.source.data_type, results, at, inside)
        return [*lines, "}"]

    def _result(self, k: int, j: int, lanes: int, unit: int) -> str:
        last = len(self.phases) - 1
        place = f"((lane + {k * lanes}u) * {unit}u + {j}u)"
        names = {"x": f"x{k}_{j}", "v": f"v{last}_{k}_{j}", "i": place}
        return renamed(self.result, names)

    def _phase(self, p: int, phase: Phase, lanes: int, units: int, unit: int) -> list[str]:
        acc = phase.accumulator
        held = -(-units // lanes)
        lines = [f"  var a{p} = {acc.identity};"]
        for k in range(held):
            for j in range(unit):
                value = renamed(phase.value, {"x": f"x{k}_{j}"})
                lines.append(f"  let v{p}_{k}_{j} = {value};")
            beyond = (k + 1) * lanes > units  # for some lanes
            lines.append(f"  if (lane + {k * lanes}u < params.units) {{" if beyond else "  {")
            for j in range(unit):
                place = f"(lane + {k * lanes}u) * {unit}u + {j}u"
                lines.append(f"    a{p} = combine{p}(a{p}, lift{p}(v{p}_{k}_{j}, {place}));")
            lines.append("  }")
        if lanes == 1:
            return [*lines, f"  let s{p} = {renamed(phase.number, {'a': f'a{p}'})};"]
        lines += [f"  wg_{p}[invocation] = a{p};", "  workgroupBarrier();"]
        width = lanes // 2
        while width:
            lines.append(f"  if (lane < {width}u) {{")
            lines.append(f"    a{p} = join{p}(a{p}, wg_{p}[invocation + {width}u]);")
            lines.append(f"    wg_{p}[invocation] = a{p};")
            lines += ["  }", "  workgroupBarrier();"]
            width //= 2
        lines.append(f"  a{p} = wg_{p}[invocation - lane];")
        return [*lines, f"  let s{p} = {renamed(phase.number, {'a': f'a{p}'})};"]
