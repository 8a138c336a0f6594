"""Plans of reductions: every output element combines all input elements along some axes.

A reduction is an accumulator: what one element becomes, how two accumulators combine, and what
the last one gives. An invocation combines a few dozen groups of elements one after the other, then
a few dozen of these results; the invocations of a workgroup join theirs in a tree, and segments of
a long line are joined in further passes. The order is always the same, so the bits of floats are
too, and rounding errors grow with the logarithm of a line's length.

Where the input's innermost axis is reduced, neighbouring invocations work along a line; where it
is kept, each invocation takes neighbouring lines, so that neighbours read neighbours either way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.accumulators import Accumulator
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.parts import joined
from dmlgpu.plan.traffic import all_read, bytes_written
from dmlgpu.plan.values import (
    UNIT,
    Expression,
    Loop,
    Operand,
    Parameter,
    Reading,
    folded,
    function,
    half_slots,
    merged,
    named,
    param_lines,
    parameter_words,
    places,
    wgsl_type,
    words_of,
)

WG_SIZE = 256
CPU_WG_SIZE = 64
INNER = 32  # groups that an invocation combines one after the other before it starts a new sum
ROUNDS = 64  # groups of one segment that an invocation of a GPU loads
CPU_ROUNDS = 1024
AT_ONCE = 4  # loads that an invocation has under way before it combines any
ENOUGH = 1 << 14  # invocations that keep a GPU busy
CPU_ENOUGH = 64
LONG = 160  # characters of an expression that CPU adapters take long to compile several times


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
        shape = self._shape(adapter)
        passes = [(shape, "")]
        scratch: dict[str, int] = {}
        while passes[-1][0].segments > 1:
            last = passes[-1][0]
            name = f"partials{len(scratch)}"
            words = self.accumulator.words
            scratch[name] = max(16, shape.lines * last.segments * words * 4)
            passes.append((shape.joining(last.segments, adapter), name))
        dispatches = []
        for i, (how, source) in enumerate(passes):
            target = f"partials{i}" if how.segments > 1 else into or self.output_field
            dispatches.append(self._dispatch(how, source, target, adapter))
        return Plan(tuple(dispatches), scratch)

    def _shape(self, adapter: Adapter) -> Shape:
        operands = list(self.inputs.values())
        tensors = (self.layout, self.output, *(o.tensor for o in operands))
        strides = [tensor.effective_strides for tensor in tensors]
        loops = [Loop(n, tuple(s[d] for s in strides)) for d, n in enumerate(self.layout.sizes)]
        # Lines in the output's order; what is reduced in the order of indices among it.
        kept = [loop for d, loop in enumerate(loops) if d not in self.axes]
        kept.sort(key=lambda loop: (-loop.steps[1], -loop.steps[0]))
        reduced = [loop for d, loop in enumerate(loops) if d in self.axes]
        width = len(tensors)
        keeps, reduces = _part(kept, width, 0, 2), _part(reduced, width, 0, 1)
        unit = UNIT // self.layout.data_type.bits
        lines = prod(d.size for d in keeps)
        length = prod(d.size for d in reduces)
        columns = 1
        last = keeps[-1]
        across = lines > 1 and last.steps[0] == 1 and (reduces[-1].steps[0] != 1 or length == 1)
        if across and _whole(last.size, unit, (*keeps[:-1], *reduces)):
            columns = unit
        along = columns == 1 and reduces[-1].steps[0] == 1
        group = unit if along and _whole(reduces[-1].size, unit, (*keeps, *reduces[:-1])) else 1
        keeps, reduces = _part(kept, width, 1), _part(reduced, width, 2)
        sources = tuple(Loop(d.size, d.steps[1:]) for d in keeps)
        inner, stride = (sources, "kept") if columns > 1 else (reduces, "reduced")
        if inner[-1].size % (columns * group):
            reading = Reading.scattered(operands, columns * group)
        else:
            order = (*reduces, *sources) if columns > 1 else (*sources, *reduces)
            d = len(inner) - 1
            stride = f"params.{stride}_strides{{}}[{d // 4}][{d % 4}]"
            reading = Reading.along(operands, order, columns * group, stride)
        looped = adapter.is_cpu and len(self.value.steps) > LONG
        made = Shape(keeps, reduces, reading, columns, group, 1, 1, across, looped)
        return made.divided(lines, length, adapter)

    def _dispatch(self, shape: Shape, source: str, target: str, adapter: Adapter) -> Dispatch:
        ends = target == self.output_field
        wg = CPU_WG_SIZE if adapter.is_cpu else WG_SIZE
        per_group = wg // shape.lanes * shape.columns
        across = -(-shape.lines // per_group)
        params: dict[str, Value] = {
            "lines": shape.lines,
            "segments": shape.segments,
            "segment": shape.segment,
            "length": shape.length,
            "elements": prod(self.layout.sizes[a] for a in self.axes),
            "kept": eight([d.size for d in shape.keeps]),
            "out_strides": eight([d.steps[0] for d in shape.keeps]),
        }
        bindings = {"made": target}
        halves = [self.output.data_type] if ends else []
        if shape.reading is None:
            bindings["source"] = source
        else:
            bindings |= shape.reading.bindings
            halves += [o.data_type for o in shape.reading.operands]
            params["reduced"] = eight([d.size for d in shape.reduces])
            for t, operand in enumerate(shape.reading.operands):
                params[f"start{t}"] = operand.start
                params[f"kept_strides{t}"] = eight([d.steps[1 + t] for d in shape.keeps])
                params[f"reduced_strides{t}"] = eight([d.steps[t] for d in shape.reduces])
        params |= parameter_words(self.parameters)
        return Dispatch(
            "reduce/lines",
            across * shape.segments,
            params,
            bindings,
            half_slots(halves, adapter.exact_halves),
            {"WG_SIZE": wg},
            code="\n".join([*param_lines(params), *self._code(shape, ends, wg)]),
        )

    def _code(self, shape: Shape, ends: bool, wg: int) -> list[str]:
        acc = self.accumulator
        lines = ["#bind read source: u32"]
        if shape.reading is not None:
            lines = shape.reading.declarations
        narrow = ends and self.output.data_type.bits < 32
        lines.append(f"#bind {'atomic' if narrow else 'write'} made: u32")
        if acc.declarations:
            lines.append(acc.declarations)
        both = f"(a: {acc.type}, b: {acc.type}) -> {acc.type}"
        lines.append(f"fn identity() -> {acc.type} {{ return {acc.identity}; }}")
        lines.append(f"fn combine{both} {{ return {acc.combine}; }}")
        lines.append(f"fn join{both} {{ return {acc.join or acc.combine}; }}")
        lines += self._store(shape, ends)
        lines += self._loads(shape)
        lines += _segment(shape, acc, wg)
        return lines

    def _store(self, shape: Shape, ends: bool) -> list[str]:
        """Writes a line's accumulator: between passes as words, at the end as the result."""
        acc = self.accumulator
        head = f"fn finish_line(line: u32, segment: u32, a: {acc.type}) {{"
        if not ends:
            at = f"(line * params.segments + segment) * {acc.words}u"
            puts = [f"store_made({at} + {w}u, {word});" for w, word in enumerate(acc.pack)]
            return [head, *(f"  {put}" for put in puts), "}"]
        kind, bits = self.output.data_type, self.output.data_type.bits
        lines = [head, "  let n = params.elements;", *named(self.parameters, acc.finish)]
        lines += places(len(shape.keeps), "kept", "line", [("e", "0u", "out_strides")])
        lines.append(f"  let y = {kind.name.lower()}_encode({acc.finish});")
        if bits < 32:
            return [*lines, f"  {merged('made', bits, 'e', 'y')}", "}"]
        for w, word in enumerate(words_of(bits, ["y"])):
            lines.append(f"  store_made({bits // 32}u * e + {w}u, {word});")
        return [*lines, "}"]

    def _loads(self, shape: Shape) -> list[str]:
        """`load_group(.., line, j)`: group `j` of a line, combined; or one for each column."""
        acc, reading = self.accumulator, shape.reading
        head = f"fn load_group({shape.starts(': u32')}line: u32, j: u32) -> "
        if reading is None:
            at = f"(line * params.length + j) * {acc.words}u"
            words = [f"  let w{w} = load_source({at} + {w}u);" for w in range(acc.words)]
            return [f"{head}{acc.type} {{", *words, f"  return {acc.unpack};", "}"]
        kind = wgsl_type(self.data_type)
        lines = [f"fn lift(x: {kind}, i: u32) -> {acc.type} {{ return {acc.lift}; }}"]
        lines += function("value_of", self.inputs, self.parameters, self.value, self.data_type, {})
        count = range(reading.group)
        tensors = range(len(reading.operands))
        several = f"array<{acc.type}, {shape.columns}>"
        lines.append(f"{head}{several if shape.columns > 1 else acc.type} {{")
        rank, kept = len(shape.reduces), len(shape.keeps)
        if reading.is_scattered:
            for k in count:
                line, place = f"line + {k}u", "j"
                if shape.group > 1:
                    line, place = "line", f"j * {shape.group}u + {k}u"
                walks = [(f"s{t}_{k}", f"params.start{t}", f"kept_strides{t}") for t in tensors]
                lines += places(kept, "kept", line, walks)
                walks = [(f"at{t}_{k}", f"s{t}_{k}", f"reduced_strides{t}") for t in tensors]
                lines += places(rank, "reduced", place, walks)
        else:
            walks = [(f"at{t}_", f"start{t}", f"reduced_strides{t}") for t in tensors]
            lines += places(rank, "reduced", "j", walks, shape.group)
        lines += reading.loads()
        values = [f"value_of({reading.values(k)})" for k in count]
        if shape.columns > 1:
            puts = [f"  made[{k}] = lift({value}, j);" for k, value in enumerate(values)]
            return [*lines, f"  var made: {several};", *puts, "  return made;", "}"]
        terms = [
            f"lift({value}, {f'j * {shape.group}u + {k}u' if shape.group > 1 else 'j'})"
            for k, value in enumerate(values)
        ]
        while len(terms) > 1:
            pairs = zip(terms[::2], terms[1::2], strict=True)
            terms = [f"combine({a}, {b})" for a, b in pairs]
        return [*lines, f"  return {terms[0]};", "}"]


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
        made = joined([self.first.plan(adapter), self.second.plan(adapter)], [{}, {}])
        between = self.first.output.total_tensor_size_in_bytes
        scratch = {**made.scratch, self.first.output_field: max(16, between)}
        return replace(made, scratch=scratch)


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are divided among invocations."""

    keeps: tuple[Loop, ...]  # steps of the output, then of what is read
    reduces: tuple[Loop, ...]
    reading: Reading | None  # None: what earlier passes left is read
    columns: int  # lines that one invocation reduces side by side
    group: int  # elements of a line that are loaded at once
    lanes: int  # invocations that share one line
    segment: int  # groups of a line that one workgroup reduces
    across: bool  # neighbouring invocations are on neighbouring lines, not along one
    # Loads are written as a loop, not one by one: compilers of CPU adapters take long otherwise.
    looped: bool = False

    @property
    def lines(self) -> int:
        """Output elements."""
        return prod(d.size for d in self.keeps)

    @property
    def length(self) -> int:
        """Groups of a line."""
        return prod(d.size for d in self.reduces) // self.group

    @property
    def segments(self) -> int:
        """Segments of a line."""
        return -(-self.length // self.segment)

    def starts(self, kind: str = "") -> str:
        """Where a line begins in each tensor, as arguments or as parameters."""
        count = 0 if self.reading is None else len(self.reading.operands)
        return "".join(f"start{t}{kind}, " for t in range(count))

    def joining(self, segments: int, adapter: Adapter) -> Shape:
        """How the partial results of all segments are joined."""
        made = Shape(self.keeps, (Loop(segments, (1,)),), None, 1, 1, 1, 1, False)
        return made.divided(self.lines, segments, adapter)

    def divided(self, lines: int, length: int, adapter: Adapter) -> Shape:
        """The same with as many lanes and segments as keep the adapter busy."""
        groups = length // self.group
        threads = -(-lines // self.columns)
        if adapter.is_cpu:
            segment = max(64, min(CPU_ROUNDS, -(-groups * threads // CPU_ENOUGH)))
            return replace(self, lanes=1, segment=min(segment, max(1, groups)))
        lanes = 1
        most = WG_SIZE if not self.across else 16
        while lanes < most and (lanes * 8 < groups or lanes * threads < ENOUGH) and lanes < groups:
            lanes *= 2
        wanted = -(-ENOUGH // max(1, threads * lanes))  # segments, to fill the adapter
        segment = lanes * ROUNDS
        if wanted > 1:
            segment = max(lanes * AT_ONCE, min(segment, -(-groups // wanted)))
        return replace(self, lanes=lanes, segment=max(1, segment))


def _part(
    loops: Sequence[Loop], tensors: int, first: int, end: int | None = None
) -> tuple[Loop, ...]:
    """Loops through some of the tensors, merged where these allow it; at least one."""
    made = [Loop(loop.size, loop.steps[first:end]) for loop in loops]
    return folded(made) or (Loop(1, ((0,) * tensors)[first:end]),)


def _whole(size: int, unit: int, others: Sequence[Loop]) -> bool:
    """Whether runs of `size` elements begin and end on whole units, wherever other loops are."""
    return size % unit == 0 and not any(loop.steps[0] % unit for loop in others)


def _segment(shape: Shape, acc: Accumulator, wg: int) -> list[str]:
    """What one invocation of a workgroup does."""
    lanes, columns = shape.lanes, shape.columns
    per_group = wg // lanes
    lines = []
    if lanes > 1:
        lines.append(f"var<workgroup> wg_values: array<{acc.type}, {wg * columns}>;")
    lines.append("fn reduce_segment(number: u32, invocation: u32) {")
    lines.append("  let segment = number % params.segments;")
    if shape.across:
        place = (f"invocation % {per_group}u", f"invocation / {per_group}u")
    else:
        place = (f"invocation / {lanes}u", f"invocation % {lanes}u")
    lines.append(f"  let thread = number / params.segments * {per_group}u + {place[0]};")
    lines.append(f"  let lane = {place[1]};")
    lines.append(f"  let line = thread * {columns}u;")
    lines.append("  let inside = line < params.lines;")
    if shape.reading is not None:
        count = range(len(shape.reading.operands))
        walks = [(f"start{t}", f"params.start{t}", f"kept_strides{t}") for t in count]
        lines += places(len(shape.keeps), "kept", "min(line, params.lines - 1u)", walks)
    lines.append("  let first = segment * params.segment;")
    lines.append("  let end = select(0u, min(first + params.segment, params.length), inside);")
    names = [f"acc{k}" for k in range(columns)]
    lines += [f"  var {name} = identity();" for name in names]
    step = lanes * AT_ONCE
    lines.append(f"  for (var block = first + lane; block < end; block += {step * INNER}u) {{")
    lines += [f"    var inner{k} = identity();" for k in range(columns)]
    lines.append(f"    let stop = min(end, block + {step * INNER}u);")
    lines.append(f"    for (var j = block; j < stop; j += {step}u) {{")
    held = acc.type if columns == 1 else f"array<{acc.type}, {columns}>"
    loaded = [f"v[{i}]" if shape.looped else f"v{i}" for i in range(AT_ONCE)]
    if shape.looped:
        lines.append(f"      var v: array<{held}, {AT_ONCE}>;")
        lines.append(f"      for (var i = 0u; i < {AT_ONCE}u; i += 1u) {{")
        lines += _loaded(shape, "v[i]", f"j + i * {lanes}u")
        lines.append("      }")
    else:
        for i, name in enumerate(loaded):
            lines.append(f"      var {name}: {held};")
            lines += _loaded(shape, name, f"j + {i * lanes}u")
    for k in range(columns):
        pick = f"[{k}]" if columns > 1 else ""
        pairs = [
            f"combine({a}{pick}, {b}{pick})" for a, b in zip(loaded[::2], loaded[1::2], strict=True)
        ]
        lines.append(f"      inner{k} = combine(inner{k}, combine({', '.join(pairs)}));")
    lines.append("    }")
    lines += [f"    acc{k} = combine(acc{k}, inner{k});" for k in range(columns)]
    lines.append("  }")
    if lanes > 1:
        spot = "lane" if not shape.across else f"lane * {per_group}u + {place[0]}"
        base = f"({place[0]}) * {lanes}u + " if not shape.across else ""
        gap = 1 if not shape.across else per_group
        lines.append(f"  let spot = ({base}{spot}) * {columns}u;")
        lines += [f"  wg_values[spot + {k}u] = acc{k};" for k in range(columns)]
        lines.append("  workgroupBarrier();")
        width = lanes // 2
        while width:
            lines.append(f"  if (lane < {width}u) {{")
            for k in range(columns):
                other = f"wg_values[spot + {width * gap * columns + k}u]"
                lines.append(f"    acc{k} = join(acc{k}, {other});")
                lines.append(f"    wg_values[spot + {k}u] = acc{k};")
            lines.append("  }")
            lines.append("  workgroupBarrier();")
            width //= 2
    lines.append("  if (lane == 0u && inside) {")
    lines += [f"    finish_line(line + {k}u, segment, acc{k});" for k in range(columns)]
    lines.append("  }")
    return [*lines, "}"]


def _loaded(shape: Shape, name: str, at: str) -> list[str]:
    """Statements that load a group where the segment has one, and else put nothing there."""
    picks = [f"[{k}]" for k in range(shape.columns)] if shape.columns > 1 else [""]
    nothing = " ".join(f"{name}{pick} = identity();" for pick in picks)
    load = f"{name} = load_group({shape.starts()}line, {at});"
    return [f"      if ({at} < stop) {{ {load} }} else {{ {nothing} }}"]
