"""Plans of reductions: every output element combines all input elements along some axes.

A reduction is an accumulator: what one element becomes, how two accumulators combine, and what
the last one gives. An invocation combines a few dozen groups of elements one after the other, then
a few dozen of these results; the invocations of a workgroup join theirs in a tree, and segments of
a long line are joined in further passes. The order is always the same, so the bits of floats are
too, and rounding errors grow with the logarithm of a line's length.

Which elements those are is said in division.py, so that neighbours read neighbours in any layout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan import meeting
from dmlgpu.plan.accumulators import NEAR, Accumulator, paired
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.division import FIRST, LAYOUT, PLACE, Shape, shape_of
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn, joined
from dmlgpu.plan.traffic import all_read, bytes_written
from dmlgpu.plan.values import (
    Expression,
    Operand,
    Parameter,
    Reading,
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

INNER = 32  # groups that an invocation combines one after the other before it starts a new sum
WRITTEN_OUT = 32  # pieces of a line that an invocation joins without a loop
WORTH_MOVING = 1 << 18  # results from which on another pass to order them costs less
WORTH_MOVING_PARTS = 1 << 16  # results that are parts of words, each of which is merged alone
RESULTS = "results"  # the memory that holds results before they are moved
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
        acc = self.accumulator
        between = None if into or adapter.is_cpu else self._between(adapter)
        if between is not None:
            first = replace(self, output=between, output_field=RESULTS).plan(adapter)
            moved = Move.between(between, self.output, RESULTS, self.output_field).plan(adapter)
            made = in_turn([first, moved])
            held = {RESULTS: max(16, between.total_tensor_size_in_bytes)}
            return replace(made, scratch={**made.scratch, **held})
        shape = shape_of(
            self.layout,
            self.output,
            self.axes,
            list(self.inputs.values()),
            adapter,
            words=acc.words,
            placed=acc.has_place,
            looped=adapter.is_cpu and len(self.value.steps) > LONG,
        )
        if adapter.is_cpu and acc.has_place:
            shape = replace(shape, at_once=1)  # SwiftShader never finishes dozens of choices
        words = meeting.words(shape, acc)
        few = min(shape.segments, meeting.MOST_WORDS // words)
        sizes = [o.tensor.total_tensor_size_in_bytes for o in self.inputs.values() if o.field]
        bound = sum(-(-size // adapter.max_binding) for size in sizes)
        fits = 2 * few >= shape.segments and bound <= meeting.MOST_BOUND
        if shape.segments > 1 and fits and not adapter.is_cpu:
            shape = replace(shape, segments=few, meets=True)
            only = self._dispatch(shape, "", into or self.output_field, adapter)
            size = 4 * shape.blocks * (1 + few * words)
            return Plan((only,), shared={meeting.PARTIALS: size})
        passes = [(shape, "")]
        scratch: dict[str, int] = {}
        while passes[-1][0].segments > 1:
            last = passes[-1][0]
            name = f"partials{len(scratch)}"
            scratch[name] = max(16, shape.lines * last.segments * acc.words * 4)
            passes.append((last.joining(acc.words, adapter), name))
        dispatches = []
        for i, (how, source) in enumerate(passes):
            target = f"partials{i}" if how.segments > 1 else into or self.output_field
            dispatches.append(self._dispatch(how, source, target, adapter))
        return Plan(tuple(dispatches), scratch)

    def _between(self, adapter: Adapter) -> TensorDesc | None:
        """Results in the order of the input's memory, to be moved, where that order is another.

        Each of them alone would be written to a sector of its own.
        """
        kept = [d for d, n in enumerate(self.output.sizes) if n > 1]
        steps, own = self.layout.effective_strides, self.output.effective_strides
        wanted = sorted(kept, key=lambda d: (steps[d] != 0, -steps[d], -own[d]))
        kind, count = self.output.data_type, self.output.element_count
        least = WORTH_MOVING if kind.bits >= 32 else WORTH_MOVING_PARTS
        if count < least or count * kind.bits // 8 > adapter.max_binding:
            return None
        if wanted == sorted(kept, key=lambda d: -own[d]):
            return None
        strides, step = [1] * self.output.rank, 1
        for d in reversed(wanted):
            strides[d] = step
            step *= self.output.sizes[d]
        return TensorDesc(kind, self.output.sizes, strides)

    def _dispatch(self, shape: Shape, source: str, target: str, adapter: Adapter) -> Dispatch:
        ends = target == self.output_field
        params: dict[str, Value] = {
            "lines": shape.lines,
            "threads": shape.threads,
            "segments": shape.segments,
            "rounds": shape.rounds // shape.segments,
            "more": shape.rounds % shape.segments,
            "length": shape.length,
            "elements": prod(self.layout.sizes[a] for a in self.axes),
            "kept": eight([d.size for d in shape.kept]),
            "out_strides": eight([d.steps[0] for d in shape.kept]),
        }
        bindings = {"made": target}
        if shape.meets:
            bindings[meeting.PARTIALS] = meeting.PARTIALS
            params["blocks"] = shape.blocks
        halves = [self.output.data_type] if ends else []
        if shape.reading is None:
            bindings["source"] = source
        else:
            bindings |= shape.reading.bindings
            halves += [o.data_type for o in shape.reading.operands]
            params["positions"] = eight([d.size for d in shape.positions])
            params["reduced"] = eight([d.size for d in shape.reduces])
            for name, start, t in self._walks(shape):
                params[f"start{name}"] = start
                params[f"step{name}"] = shape.steps[t]
                params[f"strides{name}"] = eight([d.steps[t] for d in shape.positions])
                params[f"reduced_strides{name}"] = eight([d.steps[t] for d in shape.reduces])
            params["row"] = shape.row
            params["run"] = shape.run
            params["run_units"] = shape.run_units
            params["elements_read"] = prod(d.size for d in shape.positions)
        params |= parameter_words(self.parameters)
        room = 0 if adapter.is_cpu else adapter.max_workgroup_storage // 4
        code = self._code(shape, source, target, room)
        return Dispatch(
            "reduce/lines",
            shape.blocks * shape.segments,
            params,
            bindings,
            half_slots(halves, adapter.exact_halves),
            {"WG_SIZE": shape.wg},
            code="\n".join([*param_lines(params), *code]),
        )

    def _walks(self, shape: Shape) -> list[tuple[str, int, int]]:
        """What steps through the loops: its name, where it begins, its number among their steps."""
        if shape.reading is None:
            return []
        made = [(str(t), o.start, FIRST + t) for t, o in enumerate(shape.reading.operands)]
        if self.accumulator.has_place:
            made.append(("_place", 0, PLACE))
        if shape.run:
            made.append(("_layout", 0, LAYOUT))
        return made

    def _code(self, shape: Shape, source: str, target: str, room: int) -> list[str]:
        ends = target == self.output_field
        lines = ["#bind read source: u32"]
        if shape.reading is not None:
            lines = shape.reading.declarations
        wide = ends and self._in_words(shape)
        whole = wide and shape.lines % shape.columns == 0
        narrow = ends and self.output.data_type.bits < 32 and not whole
        packs = narrow and not wide and self._side_by_side(shape, room)
        lines.append(f"#bind {'atomic' if narrow else 'write'} made: u32")
        lines += self.accumulator.functions(shape.is_ordered)
        lines += self._store(shape, target)
        if wide:
            lines += self._store_words(shape)
        lines += self._loads(shape)
        if packs:
            lines += self._store_results(shape)
        if shape.meets:
            lines += meeting.functions(shape, self.accumulator)
        lines += _segment(shape, self.accumulator, self._walks(shape), wide, packs)
        return lines

    def _in_words(self, shape: Shape) -> bool:
        """Whether the lines of one invocation are whole words of the output."""
        *outer, last = shape.kept
        count = shape.columns
        return (
            shape.kind == "across"
            and not shape.meets
            and not shape.row
            and count * self.output.data_type.bits >= 32
            and last.steps == (1,)
            and not (outer and last.size % count)
            and not any(d.steps[0] % count for d in outer)
        )

    def _side_by_side(self, shape: Shape, room: int) -> bool:
        """Whether the results of a workgroup lie side by side, and its memory has room for them."""
        words = 1 << (self.accumulator.words - 1).bit_length()  # as workgroup memory aligns them
        values = shape.wg * (shape.slots * shape.columns + 1) * words
        return (
            [d.steps for d in shape.kept] == [(1,)]
            and not shape.meets
            and shape.lines_per_group <= min(room // 4, room - values)
        )

    def _finished(self, names: Sequence[str]) -> list[str]:
        """Statements that make the elements `y..` of the accumulators `a..`."""
        acc, kind = self.accumulator, self.output.data_type
        lines = ["  let n = params.elements;", *named(self.parameters, acc.finish)]
        for name in names:
            value = re.sub(r"\ba\b", f"a{name}", acc.finish)
            lines.append(f"  let y{name} = {kind.name.lower()}_encode({value});")
        return lines

    def _store(self, shape: Shape, target: str) -> list[str]:
        """Writes a line's accumulator: between passes as words, at the end as the result."""
        acc, kind = self.accumulator, self.output.data_type
        lines = [f"fn finish_line(line: u32, segment: u32, a: {acc.type}) {{"]
        if target != self.output_field:
            at = "line * params.segments + segment"
            if shape.segments == 1 or shape.meets:
                lines += places(len(shape.kept), "kept", "line", [("e", "0u", "out_strides")])
                at = "e"
            for w, word in enumerate(acc.pack):
                lines.append(f"  store_made(({at}) * {acc.words}u + {w}u, {word});")
            return [*lines, "}"]
        lines += self._finished([""])
        lines += places(len(shape.kept), "kept", "line", [("e", "0u", "out_strides")])
        if kind.bits < 32:
            whole = self._in_words(shape) and shape.lines % shape.columns == 0
            stores = [] if whole else [merged("made", kind.bits, "e", "y")]
        else:
            words = words_of(kind.bits, ["y"])
            stores = [f"store_made({len(words)}u * e + {w}u, {x});" for w, x in enumerate(words)]
        return [*lines, *(f"  {store}" for store in stores), "}"]

    def _store_words(self, shape: Shape) -> list[str]:
        """Writes the results of neighbouring lines at once."""
        count, bits = shape.columns, self.output.data_type.bits
        given = ", ".join(f"a{k}: {self.accumulator.type}" for k in range(count))
        lines = [f"fn finish_lines(line: u32, {given}) {{"]
        lines += self._finished([str(k) for k in range(count)])
        lines += places(len(shape.kept), "kept", "line", [("e", "0u", "out_strides")])
        at = f"e * {bits // 32}u" if bits >= 32 else f"e / {32 // bits}u"
        for w, word in enumerate(words_of(bits, [f"y{k}" for k in range(count)])):
            lines.append(f"  store_made({at} + {w}u, {word});")
        return [*lines, "}"]

    def _store_results(self, shape: Shape) -> list[str]:
        """Writes the results that a workgroup holds, which are parts of words, word by word."""
        bits, size = self.output.data_type.bits, shape.lines_per_group
        per, mask = 32 // bits, (1 << bits) - 1
        lines = [
            f"var<workgroup> wg_made: array<u32, {size}>;",
            f"fn encoded(a: {self.accumulator.type}) -> u32 {{",
            *self._finished([""]),
            "  return y.x;",
            "}",
            "fn finish_results(first: u32, end: u32, invocation: u32) {",
            f"  for (var w = first / {per}u + invocation; {per}u * w < end; w += {shape.wg}u) {{",
        ]
        for k in range(per):
            lines.append(f"    let own{k} = {per}u * w + {k}u - first;")
            lines.append(f"    let there{k} = own{k} < end - first;")
            lines.append(f"    let part{k} = wg_made[min(own{k}, {size - 1}u)] << {k * bits}u;")
        for name, part in (("word", "part{}"), ("mask", f"{mask}u << {bits}u * {{0}}u")):
            each = (f"select(0u, {part.format(k)}, there{k})" for k in range(per))
            lines.append(f"    let {name} = {' | '.join(each)};")
        return [
            *lines,
            "    if (mask == 0xffffffffu) { store_made(w, word); }",
            "    else { merge_made(w, mask, word); }",
            "  }",
            "}",
        ]

    def _loads(self, shape: Shape) -> list[str]:
        """`load_group(.., j)`: group `j` at a position, combined; or one for each column."""
        acc, reading = self.accumulator, shape.reading
        head = f"fn load_group({', '.join(f'{x}: u32' for x in _given(shape, self._walks(shape)))}"
        head += ", j: u32) -> "
        if reading is None:
            at = f"(position * params.length + j) * {acc.words}u"
            words = [f"  let w{w} = load_source({at} + {w}u);" for w in range(acc.words)]
            return [f"{head}{acc.type} {{", *words, f"  return {acc.unpack};", "}"]
        kind = wgsl_type(self.data_type)
        lines = [f"fn lift(x: {kind}, i: u32) -> {acc.type} {{ return {acc.lift}; }}"]
        lines += function("value_of", self.inputs, self.parameters, self.value, self.data_type, {})
        lines += self._load(shape, reading, head, "")
        if shape.ragged:  # the group behind all whole ones
            head = head.replace("load_group", "load_rest")
            last = f"j * {shape.group}u + {{}}u < params.elements"
            lines += self._load(shape, reading, head, last)
        return lines

    def _load(self, shape: Shape, reading: Reading, head: str, inside: str) -> list[str]:
        """The function that loads and combines a group, of which all steps are there or some."""
        acc = self.accumulator
        several = f"array<{acc.type}, {shape.columns}>"
        lines = [f"{head}{several if shape.columns > 1 else acc.type} {{"]
        lines += self._places(shape, reading)
        lines += reading.loads()
        terms, keys, near = [], [], acc.near
        for k in range(reading.group):
            place = (
                f"at_place_{k}" if reading.is_scattered else f"at_place_ + {k}u * params.step_place"
            )
            term = f"lift(value_of({reading.values(k)}), {place if acc.has_place else '0u'})"
            there = f"before + {k}u < params.run" if shape.run else inside.format(k // shape.apart)
            terms.append(f"if_there({term}, {there})" if there else term)
            if near:
                key = near.lift.format(f"value_of({reading.values(k)})", k, NEAR - 1 - k)
                keys.append(f"select({near.none}, {key}, {there})" if there else key)
        if near and shape.columns == 1 < reading.group <= NEAR and not reading.is_scattered:
            lines.append(f"  let key = {paired(keys, near.choose)};")
            lines.append(f"  let at = at_place_ + {near.place} * params.step_place;")
            made = f"{acc.type}({near.value}, at)"
            return [*lines, f"  return if_there({made}, key != {near.none});", "}"]
        if shape.columns > 1:
            lines_of = [_own(terms, c, shape) for c in range(shape.columns)]
            puts = [f"  made[{c}] = {paired(own)};" for c, own in enumerate(lines_of)]
            return [*lines, f"  var made: {several};", *puts, "  return made;", "}"]
        return [*lines, f"  return {paired(terms)};", "}"]

    def _places(self, shape: Shape, reading: Reading) -> list[str]:
        """Statements that find the addresses of a group."""
        rank, group = len(shape.reduces), shape.group
        names = [name for name, _, _ in self._walks(shape)]
        lines, step = list[str](), "j"
        if shape.run:
            unit = f"{group}u"
            step, at = "outer", "start_layout"
            one = not reading.is_scattered and all(d.size == 1 for d in shape.reduces)
            lines += [f"  let outer = {'0u' if one else 'j / params.run_units'};"]
            if reading.is_scattered:
                step = "outer * params.run"
                lines += places(
                    len(shape.positions),
                    "positions",
                    "position",
                    [("start_layout", "params.start_layout", "strides_layout")],
                )
            lines += places(rank, "reduced", step, [("begin", at, "reduced_strides_layout")])
            lines += [f"  let before = (j - outer * params.run_units) * {unit} - begin % {unit};"]
        if not reading.is_scattered:
            walked = [n for n in names if n != "_layout"]
            at = "from" if shape.run else "at"
            walks = [(f"{at}{n}_", f"start{n}", f"reduced_strides{n}") for n in walked]
            lines += places(rank, "reduced", step, walks)
            if shape.run:
                lines += [f"  let at{n}_ = from{n}_ + before * params.step{n};" for n in walked]
            return lines
        walked = [n for n in names if n != "_layout"]
        for k in range(reading.group):
            position, place = "position", "j"
            if shape.run:
                place = f"outer * params.run + min(before + {k}u, params.run - 1u)"
            elif shape.thin:
                column, step_of = k % shape.columns, k // shape.columns
                position = f"position + {column}u"
                place = f"min(j * {group}u + {step_of}u, params.elements - 1u)"
            elif shape.kind == "along" and group > 1:
                place = f"min(j * {group}u + {k}u, params.elements - 1u)"
            elif shape.kind != "along":
                position = f"min(position + {k}u, params.elements_read - 1u)"
            walks = [(f"start{n}_{k}", f"params.start{n}", f"strides{n}") for n in walked]
            lines += places(len(shape.positions), "positions", position, walks)
            walks = [(f"at{n}_{k}", f"start{n}_{k}", f"reduced_strides{n}") for n in walked]
            lines += places(rank, "reduced", place, walks)
        return lines


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


def _given(shape: Shape, walks: Sequence[tuple[str, int, int]], slot: str = "") -> list[str]:
    """What `load_group` is given of a position: where it begins in each tensor, or its number."""
    if shape.reading is None or shape.reading.is_scattered:
        return [f"position{slot}"]
    return [f"start{name}{slot}" for name, _, _ in walks]


def _helpers(shape: Shape) -> int:
    """Invocations that join the pieces of one line."""
    most = shape.wg // shape.lines_per_group
    helpers = 1
    while helpers * 2 <= most and helpers * 2 <= shape.pieces:
        helpers *= 2
    return helpers


def _segment(
    shape: Shape,
    acc: Accumulator,
    walks: Sequence[tuple[str, int, int]],
    wide: bool,
    packs: bool,
) -> list[str]:
    """What one invocation of a workgroup does."""
    columns, slots = shape.columns, range(shape.slots)
    joins = shape.lanes > 1 or shape.kind == "tile" or shape.meets
    lines = []
    if joins:
        size = shape.wg * shape.slots * columns
        lines.append(f"var<workgroup> wg_values: array<{acc.type}, {size}>;")
    if shape.kind == "tile":
        lines.append(f"var<workgroup> wg_ends: array<{acc.type}, {shape.wg}>;")
    lines.append("fn reduce_segment(number: u32, invocation: u32) {")
    lines.append("  let segment = number % params.segments;")
    lines.append("  let block = number / params.segments;")
    if shape.kind == "along":
        lines.append(f"  let place = invocation / {shape.lanes}u;")
        lines.append(f"  let lane = invocation % {shape.lanes}u;")
    else:
        lines.append(f"  let lane = invocation / {shape.side}u;")
        lines.append(f"  let place = invocation % {shape.side}u;")
    for m in slots:
        lines.append(f"  let local{m} = place + {m * shape.side}u;")
        lines.append(f"  let thread{m} = block * {shape.per_group}u + local{m};")
        lines.append(f"  let fits{m} = lane < {shape.lanes}u && local{m} < {shape.per_group}u;")
        lines.append(f"  let inside{m} = fits{m} && thread{m} < params.threads;")
        lines.append(f"  let nearest{m} = min(thread{m}, params.threads - 1u);")
        if shape.reading is None or shape.reading.is_scattered:
            group = 1 if shape.thin or shape.kind == "along" else shape.group
            lines.append(f"  let position{m} = {_first(shape, f'nearest{m}', group)};")
        else:
            to = [(f"start{n}{m}", f"params.start{n}", f"strides{n}") for n, _, _ in walks]
            lines += places(len(shape.positions), "positions", f"nearest{m}", to)
    lines.append(f"  let step = {shape.lanes * shape.at_once}u;")
    lines.append("  let first = (segment * params.rounds + min(segment, params.more)) * step;")
    lines.append("  let rounds = params.rounds + select(0u, 1u, segment < params.more);")
    lines.append("  let last = min(first + rounds * step, params.length);")
    anywhere = " || ".join(f"inside{m}" for m in slots)
    lines.append(f"  let end = select(0u, last, {anywhere});")
    accs = [(f"{m}_{c}", f"[{c}]" if columns > 1 else "") for m in slots for c in range(columns)]
    lines += [f"  var acc{k} = identity();" for k, _ in accs]
    lines.append(f"  for (var from_ = first + lane; from_ < end; from_ += step * {INNER}u) {{")
    lines += [f"    var inner{k} = identity();" for k, _ in accs]
    lines.append(f"    let stop = min(end, from_ + step * {INNER}u);")
    lines.append("    for (var j = from_; j < stop; j += step) {")
    held = acc.type if columns == 1 else f"array<{acc.type}, {columns}>"
    count = range(shape.at_once)
    for m in slots:
        given = ", ".join(_given(shape, walks, str(m)))
        load = f"load_group({given}, min(j + {{}} * {shape.lanes}u, stop - 1u));"
        if shape.looped:
            lines.append(f"      var v{m}: array<{held}, {shape.at_once}>;")
            lines.append(f"      for (var i = 0u; i < {shape.at_once}u; i += 1u) {{")
            lines += [f"        v{m}[i] = {load.format('i')}", "      }"]
        else:
            # No load is in a branch, so that all of them are under way together.
            lines += [f"      var v{m}_{i} = {load.format(f'{i}u')}" for i in count]
    for k, pick in accs:
        slot = k.partition("_")[0]
        values = [f"v{slot}[{i}]{pick}" if shape.looped else f"v{slot}_{i}{pick}" for i in count]
        terms = values  # beyond the end it is the last one once more
        if not acc.is_idempotent:
            terms = [values[0]] + [
                f"if_there({v}, j + {i * shape.lanes}u < stop)" for i, v in enumerate(values) if i
            ]
        lines.append(f"      inner{k} = combine(inner{k}, {paired(terms)});")
    lines.append("    }")
    lines += [f"    acc{k} = combine(acc{k}, inner{k});" for k, _ in accs]
    lines.append("  }")
    if shape.ragged:
        lines.append("  if (lane == 0u && segment == params.segments - 1u) {")
        for m in slots:
            given = ", ".join(_given(shape, walks, str(m)))
            lines.append(f"    var rest{m} = load_rest({given}, params.length);")
        for k, pick in accs:
            lines.append(f"    acc{k} = combine(acc{k}, rest{k.partition('_')[0]}{pick});")
        lines.append("  }")
    if joins:
        lines += _shared(shape)
    if shape.kind == "tile":
        return [*lines, *_joined_pieces(shape, packs), *_met(shape), "}"]
    if shape.meets:
        return [*lines, *_published(shape), *_met(shape), "}"]
    if packs:
        lines.append(f"  let first_line = {_first(shape, f'(block * {shape.per_group}u)')};")
    for m in slots:
        names = [f"acc{m}_{c}" for c in range(columns)]
        end = f"(line{m} / params.row + 1u) * params.row" if shape.row else "params.lines"
        puts = []
        for c, name in enumerate(names):
            put = f"finish_line(line{m} + {c}u, segment, {name});"
            if packs:
                put = f"wg_made[line{m} + {c}u - first_line] = encoded({name});"
            puts.append(f"if (line{m} + {c}u < {end}) {{ {put} }}" if columns > 1 else put)
        if wide:
            whole = f"finish_lines(line{m}, {', '.join(names)});"
            if shape.lines % columns:
                beyond = f"line{m} + {columns}u > params.lines"
                puts = [f"if ({beyond}) {{", *puts, f"}} else {{ {whole} }}"]
            else:
                puts = [whole]
        lines.append(f"  if (lane == 0u && inside{m}) {{")
        lines.append(f"    let line{m} = {_first(shape, f'thread{m}')};")
        lines += [f"    {put}" for put in puts]
        lines.append("  }")
    if packs:
        beyond = _first(shape, f"((block + 1u) * {shape.per_group}u)")
        lines.append("  workgroupBarrier();")
        lines.append(f"  finish_results(first_line, min({beyond}, params.lines), invocation);")
    return [*lines, "}"]


def _published(shape: Shape) -> list[str]:
    """All invocations publish what the first lanes have found."""
    at = f"own * {shape.lanes}u"
    if shape.kind != "along":
        plane = shape.wg * shape.slots
        at = f"own % {shape.columns}u * {plane}u + own / {shape.columns}u"
    return [
        f"  for (var own = invocation; own < {shape.lines_per_group}u; own += {shape.wg}u) {{",
        *_line_of(shape),
        f"    if (is_line) {{ publish(number, own, wg_values[{at}]); }}",
        "  }",
    ]


def _met(shape: Shape) -> list[str]:
    """The last workgroup finishes what all that reduce the same lines have published."""
    return meeting.joins(shape, _line_of(shape)) if shape.meets else []


def _line_of(shape: Shape) -> list[str]:
    """Statements that find the number of the line `own` of a block, and whether there is one."""
    if shape.kind == "tile":
        line = [f"      let line = block * {shape.lines_per_group}u + own;"]
        return [*line, "      let is_line = line < params.lines;"]
    end = "(first_line / params.row + 1u) * params.row" if shape.row else "params.lines"
    return [
        f"      let thread = block * {shape.per_group}u + own / {shape.columns}u;",
        f"      let first_line = {_first(shape, 'thread')};",
        f"      let line = first_line + own % {shape.columns}u;",
        f"      let is_line = thread < params.threads && line < {end};",
    ]


def _own(terms: Sequence[str], column: int, shape: Shape) -> Sequence[str]:
    """Those of the terms of a group that belong to one of the lines side by side."""
    block, at = divmod(column, shape.apart)
    first = block * shape.group * shape.apart + at
    return terms[first : first + shape.group * shape.apart : shape.apart]


def _first(shape: Shape, thread: str, group: int = 1) -> str:
    """The number of the first line at a position, or of its first element."""
    size = shape.columns * group
    if not shape.row:
        return f"{thread} * {size}u" if size > 1 else thread
    per_row = f"((params.row + {size - 1}u) / {size}u)"
    return f"{thread} / {per_row} * params.row + {thread} % {per_row} * {size}u"


def _shared(shape: Shape) -> list[str]:
    """The lanes' accumulators are joined in workgroup memory, where the first lane's remain."""
    plane = shape.wg * shape.slots
    apart = 1 if shape.kind == "along" else shape.per_group
    lines = []
    for m in range(shape.slots):
        at = "invocation" if shape.kind == "along" else f"lane * {shape.per_group}u + local{m}"
        lines.append(f"  let spot{m} = {at};")
        lines.append(f"  if (fits{m}) {{")
        for c in range(shape.columns):
            lines.append(f"    wg_values[spot{m} + {c * plane}u] = acc{m}_{c};")
        lines.append("  }")
    lines.append("  workgroupBarrier();")
    for left, half in meeting.halves(shape.lanes):
        lines.append(f"  if (fits0 && lane < {left - half}u) {{")
        for c in range(shape.columns):
            other = f"wg_values[spot0 + {half * apart + c * plane}u]"
            lines.append(f"    acc0_{c} = join(acc0_{c}, {other});")
            lines.append(f"    wg_values[spot0 + {c * plane}u] = acc0_{c};")
        lines += ["  }", "  workgroupBarrier();"]
    return lines


def _joined_pieces(shape: Shape, packs: bool) -> list[str]:
    """The pieces of each line of a workgroup are joined, and the line is finished."""
    helpers = _helpers(shape)
    count, at_once = shape.lines_per_group, shape.wg // helpers
    lines = [f"  let helper = invocation % {helpers}u;"] if helpers > 1 else []
    for base in range(0, count, at_once):
        lines.append("  {")
        lines.append(f"    let own = {base}u + invocation / {helpers}u;")
        lines.append(f"    let line = block * {count}u + own;")
        inside = "line < params.lines" + (f" && own < {count}u" if count % at_once else "")
        lines.append(f"    let is_line = {inside};")
        lines += _line_of_pieces(shape, helpers)
        finish = "wg_made[own] = encoded(total);" if packs else "finish_line(line, segment, total);"
        if shape.meets:
            finish = "publish(number, own, total);"
        last = "is_line && helper == 0u" if helpers > 1 else "is_line"
        lines += [f"    if ({last}) {{ {finish} }}", "  }"]
    if packs:
        lines.append("  workgroupBarrier();")
        end = f"min((block + 1u) * {count}u, params.lines)"
        lines.append(f"  finish_results(block * {count}u, {end}, invocation);")
    return lines


def _line_of_pieces(shape: Shape, helpers: int) -> list[str]:
    """Statements that make `total` of the pieces of line `own`."""
    plane, columns, pieces, apart = shape.wg * shape.slots, shape.columns, shape.pieces, shape.apart
    origin = f"own * {pieces}u"
    if apart > 1:
        outer = f"own / {apart}u * {apart}u"
        origin = f"{outer} * {pieces}u + own % {apart}u"
    # A line that there is not is read as the first.
    lines = [f"    let origin = select(0u, {origin}, is_line);"]

    def value(p: str) -> str:
        return (
            f"wg_values[{f'{p} % {columns}u * {plane}u + {p} / {columns}u' if columns > 1 else p}]"
        )

    own = -(-pieces // helpers)
    first = "helper" if helpers > 1 else "0u"
    if own <= WRITTEN_OUT:
        terms = []
        for i in range(own):
            piece = f"{first} + {i * helpers}u"
            beyond = (i + 1) * helpers > pieces  # for some of the helpers
            near = f"min({piece}, {pieces - 1}u)" if beyond else f"({piece})"
            lines.append(f"    let p{i} = origin + {near} * {apart}u;")
            lines.append(f"    let piece{i} = {value(f'p{i}')};")
            there = f"if_there(piece{i}, {piece} < {pieces}u)"
            terms.append(there if beyond else f"piece{i}")
        lines.append(f"    {'var' if helpers > 1 else 'let'} total = {paired(terms, 'join')};")
    else:
        lines += [
            "    var total = identity();",
            f"    for (var piece = {first}; piece < {pieces}u; piece += {helpers}u) {{",
            f"      let p = origin + piece * {apart}u;",
            f"      total = join(total, {value('p')});",
            "    }",
        ]
    if helpers == 1:
        return lines
    lines += ["    wg_ends[invocation] = total;", "    workgroupBarrier();"]
    half = helpers // 2
    while half:
        lines.append(f"    if (helper < {half}u) {{")
        lines.append(f"      total = join(total, wg_ends[invocation + {half}u]);")
        lines += ["      wg_ends[invocation] = total;", "    }", "    workgroupBarrier();"]
        half //= 2
    return lines
