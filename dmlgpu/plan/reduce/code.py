"""The text of a reduction's kernels: one workgroup reduces a segment of its lines.

Loads are written one after the other, none of them in a branch, so that all of a round are under
way together. Every segment has as many whole rounds as the others; what is behind them is spread
over all lanes of all segments in one more round, the only one that looks where a line ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import VECTOR, of_eight
from dmlgpu.plan.reading import Reading, places
from dmlgpu.plan.reduce import meeting
from dmlgpu.plan.reduce.accumulators import NEAR, Accumulator, paired, tree
from dmlgpu.plan.reduce.division import FIRST, LAYOUT, PLACE, Shape
from dmlgpu.plan.rows import DIVISION
from dmlgpu.plan.values import (
    Expression,
    Operand,
    Parameter,
    class_of,
    function,
    named,
    renamed,
    wgsl_type,
)
from dmlgpu.plan.words import merged, words_of

INNER = 32  # rounds whose values an invocation combines before it starts a new sum
WRITTEN_OUT = 32  # pieces of a line that an invocation joins without a loop


@dataclass(frozen=True, slots=True)
class Kernel:
    """One pass: values of an expression, or words that an earlier pass left, are combined.

    `made` is the type of results; None where the words of accumulators are written, by the numbers
    of lines and segments, or in the order of the output where lines are finished.
    """

    shape: Shape
    accumulator: Accumulator
    made: DataType | None
    inputs: Mapping[str, Operand]
    value: Expression
    data_type: DataType  # of the value
    parameters: tuple[Parameter, ...]
    room: int  # words of workgroup memory, in which results that are parts of words may meet
    shuffles: bool  # subgroups have a block of lanes and more
    by_product: bool = False  # quotients are products of 64 bits

    @property
    def walks(self) -> list[tuple[str, int, int]]:
        """What steps through the loops: its name, where it begins, its number among their steps."""
        reading = self.shape.reading
        if reading is None:
            return []
        walks = [(str(t), o.start, FIRST + t) for t, o in enumerate(reading.operands)]
        walks += [("_place", 0, PLACE)] if self.accumulator.has_place else []
        return walks + ([("_layout", 0, LAYOUT)] if self.shape.run or self.shape.window else [])

    @property
    def code(self) -> list[str]:
        """All of it."""
        shape, acc = self.shape, self.accumulator
        lines = ["#bind read source: u32"] if shape.reading is None else shape.reading.declarations
        if shape.reading is None and shape.in_units:
            lines = ["#bind read source: vec4<u32>"]
        parts = self.made is not None and self.made.bits < 32 and not self._is_whole
        word = "vec4<u32>" if self._leaves_units else "u32"
        lines = [*lines, f"#bind {'atomic' if parts else 'write'} made: {word}"]
        lines += DIVISION if self.by_product else ()
        lines += acc.functions(shape.is_ordered, self.shuffles)
        if self._packs:
            lines += self._store_results()
        elif not self._is_whole and not self._leaves_units:
            lines += self._store("finish_line", 1)
        if self._is_wide or self._leaves_units:
            lines += self._store("finish_lines", shape.columns)
        lines += self._loads()
        if shape.meets:
            lines += meeting.functions(shape, acc)
        return [*lines, *self._segment()]

    # Results

    @property
    def _is_wide(self) -> bool:
        """Whether the lines of one invocation are whole words of the output."""
        *outer, last = self.shape.kept
        count = self.shape.columns
        return (
            self.made is not None
            and not self._packs_words
            and self.shape.kind == "across"
            and not self.shape.meets
            and not self.shape.row
            and count * self.made.bits % 32 == 0
            and last.steps == (1,)
            and not (outer and last.size % count)
            and not any(d.steps[0] % count for d in outer)
        )

    @property
    def _is_whole(self) -> bool:
        """Whether that is so for all invocations."""
        return self._is_wide and self.shape.lines % self.shape.columns == 0

    @property
    def _leaves_units(self) -> bool:
        """Whether partial results are written as whole units."""
        return self.shape.in_units and self.shape.by_parts

    @property
    def _packs(self) -> bool:
        """Whether results meet in workgroup memory: words, or parts of words for which is room."""
        shape = self.shape
        words = 1 << (self.accumulator.words - 1).bit_length()  # as workgroup memory aligns them
        values = (shape.plane * shape.columns + shape.wg) * words
        return self._packs_words or (
            self.made is not None
            and self.made.bits < 32
            and not self._is_wide
            and [d.steps for d in shape.kept] == [(1,)]
            and not shape.meets
            and shape.lines_per_group <= min(self.room // 4, self.room - values)
        )

    @property
    def _packs_words(self) -> bool:
        """Whether invocations that hold several lines each have results of a word for them.

        They lie side by side: each alone would store one word where neighbours store others far
        away, and memory is written by sectors.
        """
        shape = self.shape
        return (
            self.made is not None
            and self.made.bits == 32
            and shape.kind == "across"
            and shape.group > 1
            and shape.columns >= 4  # fewer are stored side by side anyway
            and shape.lanes == shape.parts == 1
            and [d.steps for d in shape.kept] == [(1,)]
            and not (shape.meets or shape.on_cpu)
            and self._seats <= self.room * 3 // 4
        )

    @property
    def _seats(self) -> int:
        """Words that hold such results: one more for each invocation, so that banks differ."""
        return self.shape.lines_per_group // self.shape.columns * (self.shape.columns + 1)

    def _finished(self, kind: DataType, names: Sequence[str]) -> list[str]:
        """Statements that make the elements `y..` of the accumulators `a..`."""
        finish = self.accumulator.finish
        lines = ["  let n = params.elements;", *named(self.parameters, finish)]
        for name in names:
            value = re.sub(r"\ba\b", f"a{name}", finish)
            lines.append(f"  let y{name} = {kind.name.lower()}_encode({value});")
        return lines

    def _store(self, name: str, count: int) -> list[str]:
        """Writes the results of neighbouring lines: as words of accumulators, or as elements."""
        shape, acc, kind = self.shape, self.accumulator, self.made
        given = ", ".join(f"a{k}: {acc.type}" for k in range(count))
        lines = [f"fn {name}(line: u32, {given}) {{"]
        if kind is None:
            every = [re.sub(r"\ba\b", f"a{k}", word) for k in range(count) for word in acc.pack]
            words, per = every, 1
        else:
            names = [str(k) for k in range(count)]
            lines += self._finished(kind, names)
            words, per = words_of(kind.bits, [f"y{k}" for k in names]), max(1, 32 // kind.bits)
        if shape.parts > 1 and not shape.meets:
            lines.append("  let e = line;")
        else:
            lines += places(len(shape.kept), "kept", "line", [("e", "0u", "out_strides")])
        if kind is not None and count < per:
            return [*lines, f"  {merged('made', kind.bits, 'e', 'y0')}", "}"]
        if self._leaves_units:
            units = [", ".join(words[w : w + 4]) for w in range(0, len(words), 4)]
            words, e = [f"vec4<u32>({unit})" for unit in units], f"e * {acc.words}u / 4u"
            return [*lines, *(f"  store_made({e} + {w}u, {x});" for w, x in enumerate(words)), "}"]
        at = f"e / {per}u" if per > 1 else f"e * {len(words) // count}u"
        return [*lines, *(f"  store_made({at} + {w}u, {x});" for w, x in enumerate(words)), "}"]

    def _store_results(self) -> list[str]:
        """Writes the results that a workgroup holds word by word, of which they may be parts."""
        assert self.made is not None
        bits, size, size_of = self.made.bits, self.shape.lines_per_group, self.shape.wg
        per, mask = 32 // bits, (1 << bits) - 1
        lines = [
            f"var<workgroup> wg_made: array<u32, {self._seats if self._packs_words else size}>;",
            f"fn encoded(a: {self.accumulator.type}) -> u32 {{",
            *self._finished(self.made, [""]),
            "  return y.x;",
            "}",
            "fn finish_results(first: u32, end: u32, invocation: u32) {",
            f"  for (var w = first / {per}u + invocation; w * {per}u < end; w += {size_of}u) {{",
        ]
        for k in range(per):
            lines.append(f"    let own{k} = {per}u * w + {k}u - first;")
            lines.append(f"    let there{k} = own{k} < end - first;")
            seat = self._seat(f"min(own{k}, {size - 1}u)")
            lines.append(f"    let part{k} = wg_made[{seat}] << {k * bits}u;")
        for name, part in (("word", "part{}"), ("mask", f"{mask}u << {bits}u * {{0}}u")):
            each = (f"select(0u, {part.format(k)}, there{k})" for k in range(per))
            lines.append(f"    let {name} = {' | '.join(each)};")
        stored = ["    if (mask == 0xffffffffu) { store_made(w, word); }"]
        stored += ["    else { merge_made(w, mask, word); }"] if per > 1 else []
        return [*lines, *stored, "  }", "}"]

    # Loads

    def _given(self, m: str = "") -> list[str]:
        """What `load_group` is given of a position: its number, or where it begins in tensors."""
        reading = self.shape.reading
        column = [f"column{m}"] if self.shape.fold > 1 else []
        if reading is None or reading.is_scattered:
            return [f"position{m}", *column]
        return [*(f"start{name}{m}" for name, _, _ in self.walks), *column]

    def _loads(self) -> list[str]:
        """`load_group(.., j)`: group `j` at a position, combined; or one for each column."""
        acc, shape = self.accumulator, self.shape
        head = f"({', '.join(f'{x}: u32' for x in self._given())}, j: u32) -> "
        if shape.reading is None:
            at = f"(position * params.length + j) * {acc.words}u"
            if shape.on_cpu:
                at = f"(position * params.apart + j * params.over) * {acc.words}u"
            if shape.in_units:
                return self._load_parts(head, at)
            words = [f"  let w{w} = load_source({at} + {w}u);" for w in range(acc.words)]
            return [f"fn load_group{head}{acc.type} {{", *words, f"  return {acc.unpack};", "}"]
        kind = wgsl_type(self.data_type)
        lines = [f"fn lift(x: {kind}, i: u32) -> {acc.type} {{ return {acc.lift}; }}"]
        lines += function("value_of", self.inputs, self.parameters, self.value, self.data_type, {})
        if shape.rounds or not shape.ragged:
            lines += self._load(shape.reading, f"fn load_group{head}", "")
        if shape.ragged:
            inside = f"j * {shape.group}u + {{}}u < params.elements"
            if shape.window:
                at = f"j * {shape.fold * shape.window}u + column + {{}}u"
                inside = f"{at} < params.elements * {shape.window}u"
            lines += self._load(shape.reading, f"fn load_rest{head}", inside)
        return lines

    def _load_parts(self, head: str, at: str) -> list[str]:
        """The function that loads partial results of the lines in a unit."""
        acc, columns = self.accumulator, self.shape.columns
        made = f"array<{acc.type}, {columns}>" if columns > 1 else acc.type
        lines = [f"fn load_group{head}{made} {{", f"  let u = load_source({at} / 4u);"]
        each = []
        for c in range(columns):
            names = {f"w{w}": f"u[{c * acc.words + w}]" for w in range(acc.words)}
            each.append(renamed(acc.unpack, names))
        return [
            *lines,
            f"  return {made}({', '.join(each)});" if columns > 1 else f"  return {each[0]};",
            "}",
        ]

    def _load(self, reading: Reading, head: str, inside: str) -> list[str]:
        """The function that loads and combines a group, of which all steps are there or some."""
        acc, shape = self.accumulator, self.shape
        several = f"array<{acc.type}, {shape.columns}>"
        lines = [f"{head}{several if shape.columns > 1 else acc.type} {{"]
        lines += [*self._places(reading), *reading.loads()]
        terms, keys, near, step_of = [], [], acc.near, 1 if shape.window else shape.apart
        at_top = self._at_top(reading)
        for k in range(reading.group):
            # Where a group is several lines, one behind the other, places begin anew with each.
            step = k % shape.group if shape.columns > 1 and shape.group > 1 else k
            place = f"at_place_ + {step}u * params.step_place"
            place = f"at_place_{k}" if reading.is_scattered else place
            there = f"before + {k}u < params.run" if shape.run else inside.format(k // step_of)
            if at_top:
                terms.append(self._top_of(reading, k, there))
                continue
            value = f"value_of({reading.values(k)})"
            term = f"lift({value}, {place if acc.has_place else '0u'})"
            terms.append(f"if_there({term}, {there})" if there else term)
            if near:
                key = near.lift.format(value, k, NEAR - 1 - k)
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
        return [*lines, f"  return {paired(terms)}{f' >> {at_top}u' if at_top else ''};", "}"]

    def _at_top(self, reading: Reading) -> int:
        """Bits that elements are moved up, to be compared together with what is below; 0: none.

        An extreme of narrow integers is that of words which begin with them. Moving them there is
        one instruction, and none for the last of a word; taking them out is one or two.
        """
        acc, data_type = self.accumulator, self.data_type
        is_extreme = acc.is_idempotent and acc.lift == "x" and not self.value.steps
        is_plain = is_extreme and [*self.inputs] == [self.value.result]
        if not is_plain or self.shape.on_cpu or self.shape.columns > 1 or data_type.bits >= 32:
            return 0
        in_words = class_of(data_type) != "f32" and reading.lies_in_words(0)
        return 32 - data_type.bits if in_words else 0

    def _top_of(self, reading: Reading, k: int, there: str) -> str:
        """The word that begins with element `k` of a group; with the worst if it is not there."""
        kind, bits = self.accumulator.type, self.data_type.bits
        up = 32 - bits - k * bits % 32
        word = reading.word(0, k * bits // 32)
        made = f"bitcast<{kind}>({f'({word} << {up}u)' if up else word})"
        return f"select(identity() << {32 - bits}u, {made}, {there})" if there else made

    def _walked(self, sizes: str, index: str, walks: Sequence[tuple[str, str, str]]) -> list[str]:
        """Statements from the number of a position or of a step to addresses."""
        rank = len(self.shape.positions if sizes == "positions" else self.shape.reduces)
        of = f"{sizes}_" if self.by_product else ""
        return places(rank, sizes, index, walks, by_product=self.by_product, of=of)

    def _places(self, reading: Reading) -> list[str]:
        """Statements that find the addresses of a group."""
        shape, walked = self.shape, [name for name, _, _ in self.walks if name != "_layout"]
        lines, step, group = list[str](), "j", shape.group
        if shape.run:
            step = "outer"
            one = not reading.is_scattered and all(d.size == 1 for d in shape.reduces)
            lines += [f"  let outer = {'0u' if one else 'j / params.run_units'};"]
            if reading.is_scattered:
                step = "outer * params.run"
                to = [("start_layout", "params.start_layout", "strides_layout")]
                lines += self._walked("positions", "position", to)
            to = [("begin", "start_layout", "reduced_strides_layout")]
            lines += self._walked("reduced", step, to)
            unit = f"{group}u"
            lines += [f"  let before = (j - outer * params.run_units) * {unit} - begin % {unit};"]
        if not reading.is_scattered:
            at = "from" if shape.run else "at"
            to = [(f"{at}{n}_", f"start{n}", f"reduced_strides{n}") for n in walked]
            lines += self._walked("reduced", step, to)
            if shape.run:
                lines += [f"  let at{n}_ = from{n}_ + before * params.step{n};" for n in walked]
            return lines
        for k in range(reading.group):
            position, place = "position", "j"
            if shape.run:
                place = f"outer * params.run + min(before + {k}u, params.run - 1u)"
            elif shape.fold > 1:
                at = f"(column + {k}u)"
                position = f"position + {at} % {shape.window}u"
                place = f"min(j * {shape.fold}u + {at} / {shape.window}u, params.elements - 1u)"
            elif shape.thin or shape.kind == "along":
                step_of, column = divmod(k, shape.columns)
                position = f"position + {column}u"
                place = f"min(j * {group}u + {step_of}u, params.elements - 1u)"
            else:
                position = f"min(position + {k}u, params.elements_read - 1u)"
            to = [(f"start{n}_{k}", f"params.start{n}", f"strides{n}") for n in walked]
            lines += self._walked("positions", position, to)
            to = [(f"at{n}_{k}", f"start{n}_{k}", f"reduced_strides{n}") for n in walked]
            lines += self._walked("reduced", place, to)
        return lines

    # What one invocation does

    def _segment(self) -> list[str]:
        shape, acc = self.shape, self.accumulator
        lines = []
        joined = shape.kind in ("tile", "window")  # from pieces in workgroup memory
        if (shape.lanes > 1 and not shape.on_cpu) or joined or shape.meets:
            size = shape.plane * shape.columns
            lines.append(f"var<workgroup> wg_values: array<{acc.type}, {size}>;")
        if joined:
            lines.append(f"var<workgroup> wg_ends: array<{acc.type}, {shape.wg}>;")
        lane, place = f"invocation / {shape.side}u", f"invocation % {shape.side}u"
        if shape.kind == "along":
            lane, place = f"invocation % {shape.lanes}u", f"invocation / {shape.lanes}u"
        name = "publish_segment" if shape.meets else "reduce_segment"
        lines += [
            f"fn {name}(number: u32, invocation: u32) {{",
            "  let segment = number % params.segments;",
            "  let block = number / params.segments;",
            *(_in_turn(shape) if shape.turns > 1 else ()),
            f"  let lane = {lane};",
            f"  let near_lane = min(lane, {shape.lanes - 1}u);",
            f"  let place = {place};",
            *(line for m in range(shape.spots) for line in self._position(m)),
            *(f"  var acc{name} = identity();" for _, name, _ in self._values),
            *self._rounds(),
            *self._rest(),
            *self._shared(),
        ]
        lines += self._joined_pieces() if joined else self._finish()
        if not shape.meets:
            return [*lines, "}"]
        return [*lines, "}", *meeting.joins(shape, self._line_of(), self.shuffles)]

    @property
    def _columns(self) -> range:
        return range(self.shape.columns)

    @property
    def _values(self) -> list[tuple[int, str, str]]:
        """Accumulators: position, name, and how each is picked from what was loaded there."""
        several, spots = self.shape.columns > 1, range(self.shape.spots)
        return [(m, f"{m}_{c}", f"[{c}]" if several else "") for m in spots for c in self._columns]

    def _position(self, m: int) -> list[str]:
        """Statements that find one of the positions of an invocation."""
        shape, reading = self.shape, self.shape.reading
        lines = [
            f"  let local{m} = place + {m * shape.side}u;",
            f"  let thread{m} = block * {shape.per_group}u + local{m};",
            f"  let fits{m} = lane < {shape.lanes}u && local{m} < {shape.per_group}u;",
            f"  let inside{m} = fits{m} && thread{m} < params.threads;",
            f"  let nearest{m} = min(thread{m}, params.threads - 1u);",
        ]
        if shape.window:
            return lines + self._window(m)
        if reading is None or reading.is_scattered:
            group = 1 if shape.thin or shape.kind == "along" else shape.group
            return [*lines, f"  let position{m} = {_first(shape, f'nearest{m}', group)};"]
        to = [(f"start{n}{m}", f"params.start{n}", f"strides{n}") for n, _, _ in self.walks]
        return lines + self._walked("positions", f"nearest{m}", to)

    @property
    def _windows(self) -> str:
        """The number of windows of a row."""
        size = self.shape.window
        return f"((params.row + {size - 1}u) / {size}u)"

    def _window(self, m: int) -> list[str]:
        """Statements that find the first unit of a lane, in which its rows begin somewhere."""
        shape, reading = self.shape, self.shape.reading
        assert reading is not None
        rank, unit = len(shape.positions), f"{shape.columns}u"
        step = of_eight("reduced_strides_layout", len(shape.reduces) - 1)
        step = f"{shape.fold}u * {step}" if reading.is_scattered else step
        phase = [f"  let shift = (start_layout{m} + near_lane * {step}) % {unit};"]
        phase.append(f"  let column{m} = local{m} * {unit} - shift;")
        walks = [(f"start{n}{m}", f"params.start{n}", f"strides{n}") for n, _, _ in self.walks]
        if not reading.is_scattered:
            lines = [*places(rank, "positions", f"nearest{m}", walks), *phase]
            return lines + [f"  start{n}{m} -= shift * params.step{n};" for n, _, _ in self.walks]
        position = "row" if shape.fold > 1 else f"begin + column{m}"
        return [
            f"  let row = block / {self._windows} * params.row;",
            *places(rank, "positions", "row", walks[-1:]),
            *phase,
            f"  let begin = row + block % {self._windows} * {shape.window}u;",
            f"  let position{m} = {position};",
        ]

    def _rounds(self) -> list[str]:
        """The whole rounds of the segment: of many, a few dozen make a sum of their own."""
        shape, names = self.shape, [name for _, name, _ in self._values]
        step = shape.lanes * shape.at_once
        lines = [f"  let first = segment * params.rounds * {step}u + near_lane;"]
        if shape.rounds < 2:
            return [*lines, *self._round("acc", "first", shape.at_once)] if shape.rounds else []
        inside = " || ".join(f"inside{m}" for m in range(shape.spots))
        return [
            *lines,
            f"  let end = first + select(0u, params.rounds * {step}u, {inside});",
            f"  for (var from_ = first; from_ < end; from_ += {step * INNER}u) {{",
            *(f"    var inner{name} = identity();" for name in names),
            f"    let stop = min(end, from_ + {step * INNER}u);",
            f"    for (var j = from_; j < stop; j += {step}u) {{",
            *self._round("inner", "j", shape.at_once),
            "    }",
            *(f"    acc{name} = combine(acc{name}, inner{name});" for name in names),
            "  }",
        ]

    def _rest(self) -> list[str]:
        """The groups behind all whole rounds, by all lanes of all segments."""
        shape = self.shape
        if not shape.rest:
            return []
        before = f"params.segments * params.rounds * {shape.lanes * shape.at_once}u"
        rest = "params.rest" if shape.on_cpu else f"{shape.rest}u"
        lines = [f"  let behind = {before} + segment * {rest} * {shape.lanes}u + near_lane;"]
        if not shape.on_cpu:
            return [*lines, *self._round("acc", "behind", shape.rest, is_rest=True)]
        return [
            *lines,
            "  for (var i = 0u; i < params.rest; i += 1u) {",
            *self._round("acc", f"behind + i * {shape.lanes}u", 1, is_rest=True),
            "  }",
        ]

    def _round(self, into: str, j: str, count: int, *, is_rest: bool = False) -> list[str]:
        """Groups from `j` on are combined; beyond the end it is the last one once more."""
        shape, acc, lines = self.shape, self.accumulator, ["  {", f"  let first_of = {j};"]
        load = "load_rest" if is_rest and shape.ragged else "load_group"
        at = "min({}, params.length - 1u)" if is_rest else "{}"
        held = acc.type if shape.columns == 1 else f"array<{acc.type}, {shape.columns}>"
        looped = shape.looped and not is_rest
        for m in range(shape.spots):
            call = f"{load}({', '.join(self._given(str(m)))}, {at});"
            if looped:
                lines.append(f"  var v{m}: array<{held}, {count}>;")
                one = call.format(f"first_of + n * {shape.lanes}u")
                lines.append(f"  for (var n = 0u; n < {count}u; n += 1u) {{ v{m}[n] = {one} }}")
            else:
                each = (call.format(f"first_of + {i * shape.lanes}u") for i in range(count))
                lines += [f"  var v{m}_{i} = {text}" for i, text in enumerate(each)]
        for m, name, pick in self._values:
            terms = [f"v{m}[{i}]{pick}" if looped else f"v{m}_{i}{pick}" for i in range(count)]
            if is_rest and (shape.window or not acc.is_idempotent):
                ends = (f"first_of + {i * shape.lanes}u < params.length" for i in range(count))
                terms = [f"if_there({v}, {there})" for v, there in zip(terms, ends, strict=True)]
            lines.append(f"  {into}{name} = combine({into}{name}, {paired(terms)});")
        return [*lines, "  }"]

    def _shared(self) -> list[str]:
        """The lanes' accumulators are joined: the first lane has all."""
        shape = self.shape
        if shape.window:
            return self._shifted()
        if shape.on_cpu or (shape.lanes == 1 and shape.kind != "tile"):
            return []
        plane, apart = shape.plane, 1 if shape.kind == "along" else shape.per_group
        is_tile, lines = shape.kind == "tile", list[str]()
        for m in range(shape.spots):
            at = "invocation" if shape.kind == "along" else f"lane * {apart}u + local{m}"
            lines.append(f"  let spot{m} = {at};")
            puts = (f"wg_values[spot{m} + {c * plane}u] = acc{m}_{c};" for c in self._columns)
            lines += [f"  if (fits{m}) {{ {' '.join(puts)} }}"] if is_tile else []
        values = [(f"acc0_{c}", f"wg_values[spot0 + {c * plane}u{{}}]") for c in self._columns]
        how = self.shuffles and not is_tile
        return lines + tree(values, shape.lanes, how, apart=apart, fits="fits0", stored=is_tile)

    def _shifted(self) -> list[str]:
        """The lanes' accumulators lie in workgroup memory as if all rows began with a unit."""
        shape, lines = self.shape, list[str]()
        for c in self._columns:
            lines.append(f"    let p{c} = first_of + {c}u;")
            at = f"p{c} % {shape.columns}u * {shape.plane}u + p{c} / {shape.columns}u"
            lines.append(f"    wg_values[{at}] = acc0_{c};")
        first = f"lane * {shape.apart}u + (local0 + 1u) * {shape.columns}u - shift"
        lines = ["  if (fits0) {", f"    let first_of = {first};", *lines, "  }"]
        return [*lines, "  workgroupBarrier();"]

    def _put(self, line: str, own: str, value: str) -> str:
        """A statement that hands on what is known of line `own` of a workgroup."""
        if self.shape.meets:
            return f"publish(number, {own}, {value});"
        if self._packs:
            return f"wg_made[{self._seat(own)}] = encoded({value});"
        return f"finish_line({self._part(line) if self.shape.parts > 1 else line}, {value});"

    def _seat(self, own: str) -> str:
        """Where the result of line `own` of a workgroup is held."""
        return f"({own}) + ({own}) / {self.shape.columns}u" if self._packs_words else own

    def _part(self, line: str) -> str:
        """The number of what is left of a line among all parts."""
        lanes = self.shape.lanes
        if not self.shape.on_cpu:
            return f"({line}) * params.segments + segment"
        if self.shape.by_parts:
            return f"(segment * {lanes}u + lane) * params.lines + {line}"
        return f"(({line}) * params.segments + segment) * {lanes}u + lane"

    def _finish(self) -> list[str]:
        """Statements by which the first lanes hand on the results of their lines."""
        shape, lines = self.shape, list[str]()
        lines.append(f"  let first_line = {_first(shape, f'(block * {shape.per_group}u)')};")
        for m in range(shape.spots):
            end = f"(line{m} / params.row + 1u) * params.row" if shape.row else "params.lines"
            puts = []
            for c in self._columns:
                line = f"line{m} + {c}u"
                own = (
                    f"local{m} * {shape.columns}u + {c}u" if shape.meets else f"{line} - first_line"
                )
                put = self._put(line, own, f"acc{m}_{c}")
                puts.append(f"if ({line} < {end}) {{ {put} }}" if shape.columns > 1 else put)
            if self._leaves_units:
                whole = ", ".join(f"acc{m}_{c}" for c in self._columns)
                puts = [f"finish_lines({self._part(f'line{m}')}, {whole});"]
            elif self._is_wide:
                whole = ", ".join([f"line{m}", *(f"acc{m}_{c}" for c in self._columns)])
                beyond = f"line{m} + {shape.columns}u > params.lines"
                puts = [] if self._is_whole else [f"if ({beyond}) {{", *puts, "} else"]
                puts.append(f"{{ finish_lines({whole}); }}")
            hands = f"inside{m}" if shape.on_cpu else f"lane == 0u && inside{m}"
            lines.append(f"  if ({hands}) {{")
            lines.append(f"    let line{m} = {_first(shape, f'thread{m}')};")
            lines += [*(f"    {put}" for put in puts), "  }"]
        beyond = _first(shape, f"((block + 1u) * {shape.per_group}u)")
        return lines + self._packed("first_line", beyond)

    def _packed(self, first: str, beyond: str) -> list[str]:
        """Statements by which all write the results that lie in workgroup memory, if they do."""
        end = f"min({beyond}, params.lines)"
        written = f"  finish_results({first}, {end}, invocation);"
        return ["  workgroupBarrier();", written] if self._packs else []

    def _line_of(self) -> list[str]:
        """Statements that find the number of line `own` of a block, and whether there is one."""
        shape = self.shape
        if shape.window:
            return self._line_of_window()
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

    def _line_of_window(self) -> list[str]:
        """Statements that find the number of line `own` of a window, and whether there is one."""
        size, count = self.shape.window, self._windows
        return [
            f"      let of_row = block % {count} * {size}u + own;",
            f"      let line = block / {count} * params.row + of_row;",
            f"      let is_line = own < {size}u && of_row < params.row;",
        ]

    def _joined_pieces(self) -> list[str]:
        """The pieces of each line of a tile are joined, and the line is finished."""
        shape = self.shape
        count, helpers = shape.lines_per_group, 1  # invocations that join the pieces of one line
        while helpers * 2 <= min(shape.wg // count, shape.pieces):
            helpers *= 2
        at_once = shape.wg // helpers
        finish = self._put("line", "own", "total")
        lines = [f"  let helper = invocation % {helpers}u;"]
        for base in range(0, count, at_once):
            inside = "line < params.lines" + (f" && own < {count}u" if count % at_once else "")
            found = [f"    let line = block * {count}u + own;", f"    let is_line = {inside};"]
            lines += [
                "  {",
                f"    let own = {base}u + invocation / {helpers}u;",
                *(self._line_of_window() if shape.window else found),
                *self._line_of_pieces(helpers),
                f"    if (is_line && helper == 0u) {{ {finish} }}",
                "  }",
            ]
        if shape.window:
            row = f"block / {self._windows}"
            first = f"({row} * params.row + block % {self._windows} * {count}u)"
            end = f"min({first} + {count}u, ({row} + 1u) * params.row)"
            return lines + self._packed(first, end)
        return lines + self._packed(f"block * {count}u", f"(block + 1u) * {count}u")

    def _line_of_pieces(self, helpers: int) -> list[str]:
        """Statements that make `total` of the pieces of line `own`."""
        shape = self.shape
        plane, columns, apart = shape.plane, shape.columns, shape.apart
        pieces, own = shape.pieces, -(-shape.pieces // helpers)
        origin = f"own / {apart}u * {apart * pieces}u + own % {apart}u"
        if shape.window:
            origin = f"own + {columns}u"
        # A line that there is not is read as the first.
        lines = [f"    let origin = select(0u, {origin}, is_line);"]
        spot = f"origin + {{0}} * {apart}u"
        if shape.fold > 1:
            spot = f"origin + {{0}} / {shape.fold}u * {apart}u"
            spot += f" + {{0}} % {shape.fold}u * {shape.window}u"
        value = f"wg_values[{{0}} % {columns}u * {plane}u + {{0}} / {columns}u]"
        if own <= WRITTEN_OUT:
            terms = []
            for i in range(own):
                piece = f"helper + {i * helpers}u"
                beyond = (i + 1) * helpers > pieces  # for some of the helpers
                near = f"min({piece}, {pieces - 1}u)" if beyond else f"({piece})"
                lines.append(f"    let p{i} = {spot.format(near)};")
                lines.append(f"    let piece{i} = {value.format(f'p{i}')};")
                there = f"if_there(piece{i}, {piece} < {pieces}u)"
                terms.append(there if beyond else f"piece{i}")
            lines.append(f"    var total = {paired(terms, 'join')};")
        else:
            lines += [
                "    var total = identity();",
                f"    for (var piece = helper; piece < {pieces}u; piece += {helpers}u) {{",
                f"      let p = {spot.format('piece')};",
                f"      total = join(total, {value.format('p')});",
                "    }",
            ]
        if helpers == 1:
            return lines
        return lines + tree([("total", "wg_ends[invocation{}]")], helpers, lane="helper")


def _in_turn(shape: Shape) -> list[str]:
    """Statements by which an invocation of a CPU adapter takes several positions in turn.

    Those of a vector stay side by side. Then the beginning of a function that takes one.
    """
    return [
        f"  let first = invocation / {VECTOR}u * {VECTOR * shape.turns}u + invocation % {VECTOR}u;",
        f"  for (var turn = 0u; turn < {shape.turns}u; turn += 1u) {{",
        f"    take_turn(segment, block, first + turn * {VECTOR}u);",
        "  }",
        "}",
        "fn take_turn(segment: u32, block: u32, invocation: u32) {",
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
