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
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.elementwise import UNIT, class_of, wgsl_type
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 256
CPU_WG_SIZE = 64
INNER = 32  # groups that an invocation combines one after the other before it starts a new sum
ROUNDS = 64  # groups of one segment that an invocation of a GPU loads
CPU_ROUNDS = 1024
AT_ONCE = 4  # loads that an invocation has under way before it combines any
ENOUGH = 1 << 14  # invocations that keep a GPU busy
CPU_ENOUGH = 64


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How a function reduces, as WGSL.

    `words` is how many 32-bit words an accumulator takes between passes. `lift` makes one from an
    element `x` at place `i` among those reduced; `combine` joins `a` and `b`, all of which comes
    behind `a`; `finish` is the result of `a`, with `n` elements reduced.
    """

    type: str  # WGSL type of an accumulator
    words: int
    identity: str
    lift: str
    combine: str
    finish: str
    pack: tuple[str, ...]  # the words of `a`
    unpack: str  # an accumulator of the words w0, w1, ...
    declarations: str = ""
    join: str = ""  # as `combine`, where neither comes first: invocations take turns


@dataclass(frozen=True, slots=True)
class Loop:
    """`size` steps of `source` elements; kept ones also step through the output."""

    size: int
    source: int
    out: int = 0


@dataclass(frozen=True, slots=True)
class Reduction:
    """Every output element as one accumulator over the reduced axes."""

    source: TensorDesc
    output: TensorDesc
    axes: tuple[int, ...]
    accumulator: Accumulator
    input_field: str = "input_tensor"
    output_field: str = "output_tensor"

    def traffic(self) -> dict[str, int]:
        """Every element is moved once."""
        return {
            self.input_field: all_read(self.source),
            self.output_field: bytes_written(self.output),
        }

    def plan(self, adapter: Adapter, into: str = "") -> Plan:
        """One pass, or several where lines are cut into segments.

        `into` names memory that takes the words of each line's accumulator, in the order of the
        output's elements, instead of the results.
        """
        shape = self._shape(adapter)
        passes = [(shape, "elements")]
        scratch: dict[str, int] = {}
        while passes[-1][0].segments > 1:
            last = passes[-1][0]
            name = f"partials{len(scratch)}"
            words = self.accumulator.words
            scratch[name] = max(16, shape.lines * last.segments * words * 4)
            passes.append((self._joining(shape, last.segments, adapter), name))
        dispatches = []
        for i, (how, source) in enumerate(passes):
            target = f"partials{i}" if how.segments > 1 else into or self.output_field
            dispatches.append(self._dispatch(how, source, target, adapter))
        return Plan(tuple(dispatches), scratch)

    def _shape(self, adapter: Adapter) -> Shape:
        loops = list(zip(self.source.sizes, self.source.effective_strides, strict=True))
        out = self.output.effective_strides
        kept = [Loop(n, s, out[d]) for d, (n, s) in enumerate(loops) if d not in self.axes]
        reduced = [Loop(n, s) for d, (n, s) in enumerate(loops) if d in self.axes]
        keeps, reduces = fold_kept(kept), _fold_in_order(reduced)
        bits = self.source.data_type.bits
        unit = UNIT // bits
        lines = prod(d.size for d in keeps)
        length = prod(d.size for d in reduces)
        columns = 1
        last = keeps[-1]
        across = lines > 1 and last.source == 1 and (reduces[-1].source != 1 or length == 1)
        if across and _whole(last.size, unit, [d.source for d in (*keeps[:-1], *reduces)]):
            columns = unit
        along = columns == 1 and reduces[-1].source == 1
        vector = along and _whole(
            reduces[-1].size, unit, [d.source for d in (*keeps, *reduces[:-1])]
        )
        group = unit if vector else 1
        made = Shape(keeps, reduces, columns, group, 1, 1, across)
        return made.divided(lines, length, adapter)

    def _joining(self, shape: Shape, segments: int, adapter: Adapter) -> Shape:
        """How the partial results of all segments are joined."""
        made = Shape(shape.keeps, (Loop(segments, 1),), 1, 1, 1, 1, False)
        return made.divided(shape.lines, segments, adapter)

    def _dispatch(self, shape: Shape, source: str, target: str, adapter: Adapter) -> Dispatch:
        from_elements = source == "elements"
        ends = target == self.output_field
        wg = CPU_WG_SIZE if adapter.is_cpu else WG_SIZE
        per_group = wg // shape.lanes * shape.columns
        across = -(-shape.lines // per_group)
        params: dict[str, Value] = {
            "lines": shape.lines,
            "segments": shape.segments,
            "segment": shape.segment,
            "length": shape.length,
            "elements": prod(self.source.sizes[a] for a in self.axes),
            "kept": eight([d.size for d in shape.keeps]),
            "kept_strides": eight([d.source for d in shape.keeps]),
            "out_strides": eight([d.out for d in shape.keeps]),
            "reduced": eight([d.size for d in shape.reduces]),
            "reduced_strides": eight([d.source for d in shape.reduces]),
        }
        bindings = {"source": self.input_field if from_elements else source, "made": target}
        slots = {}
        kinds = (self.source.data_type, self.output.data_type)
        used = (from_elements and kinds[0] is DataType.FLOAT16) or (
            ends and kinds[1] is DataType.FLOAT16
        )
        if used and adapter.exact_halves:
            slots["number/float16"] = "number/float16_hardware"
        code = "\n".join(self._code(shape, from_elements, ends, wg))
        return Dispatch(
            "reduce/lines",
            across * shape.segments,
            params,
            bindings,
            slots,
            {"WG_SIZE": wg},
            code=code,
        )

    def _code(self, shape: Shape, from_elements: bool, ends: bool, wg: int) -> list[str]:
        acc = self.accumulator
        arrays = ("kept", "kept_strides", "out_strides", "reduced", "reduced_strides")
        counts = ("lines", "segments", "segment", "length", "elements")
        lines = ["struct Params {", *(f"  {name}: u32," for name in counts)]
        lines += [*(f"  {name}: array<vec4<u32>, 2>," for name in arrays), "}"]
        units = from_elements and (shape.group > 1 or shape.columns > 1)
        lines.append(f"#bind read source: {'vec4<u32>' if units else 'u32'}")
        narrow = ends and self.output.data_type.bits < 32
        lines.append(f"#bind {'atomic' if narrow else 'write'} made: u32")
        if acc.declarations:
            lines.append(acc.declarations)
        lines.append(f"fn identity() -> {acc.type} {{ return {acc.identity}; }}")
        lines.append(
            f"fn combine(a: {acc.type}, b: {acc.type}) -> {acc.type} {{ return {acc.combine}; }}"
        )
        joins = acc.join or acc.combine
        lines.append(f"fn join(a: {acc.type}, b: {acc.type}) -> {acc.type} {{ return {joins}; }}")
        if from_elements:
            value = wgsl_type(self.source.data_type)
            lines.append(f"fn lift(x: {value}, i: u32) -> {acc.type} {{ return {acc.lift}; }}")
        lines += self._store(ends)
        lines += _addresses(shape)
        lines += self._loads(shape, from_elements)
        lines += _segment(shape, acc, wg)
        return lines

    def _store(self, ends: bool) -> list[str]:
        """Writes a line's accumulator: between passes as words, at the end as the result."""
        acc = self.accumulator
        head = f"fn finish_line(line: u32, segment: u32, a: {acc.type}) {{"
        if not ends:
            at = f"(line * params.segments + segment) * {acc.words}u"
            puts = [f"store_made({at} + {w}u, {word});" for w, word in enumerate(acc.pack)]
            return [head, *(f"  {put}" for put in puts), "}"]
        kind, bits = self.output.data_type, self.output.data_type.bits
        lines = [head, "  let n = params.elements;", "  let e = out_of(line);"]
        lines.append(f"  let y = {kind.name.lower()}_encode({acc.finish});")
        if bits == 64:
            lines.append("  store_made(2u * e, y.x); store_made(2u * e + 1u, y.y);")
        elif bits == 32:
            lines.append("  store_made(e, y.x);")
        else:
            per, mask = 32 // bits, (1 << bits) - 1
            shift = f"(e % {per}u * {bits}u)"
            lines.append(f"  merge_made(e / {per}u, {mask}u << {shift}, y.x << {shift});")
        return [*lines, "}"]

    def _loads(self, shape: Shape, from_elements: bool) -> list[str]:
        """`load_group(line_at, line, j)`: group `j` of a line, combined; or one for each column."""
        acc = self.accumulator
        if not from_elements:
            words = [
                f"  let w{w} = load_source((line * params.length + j) * {acc.words}u + {w}u);"
                for w in range(acc.words)
            ]
            head = f"fn load_group(start: u32, line: u32, j: u32) -> {acc.type} {{"
            return [head, *words, f"  return {acc.unpack};", "}"]
        data_type = self.source.data_type
        bits, name = data_type.bits, data_type.name.lower()
        if shape.columns > 1:
            kept = [
                f"  made[{k}] = lift({name}_decode({element_bits(bits, k)}), j);"
                for k in range(shape.columns)
            ]
            several = f"array<{acc.type}, {shape.columns}>"
            return [
                f"fn load_group(start: u32, line: u32, j: u32) -> {several} {{",
                f"  let u = load_source((start + reduced_at(j)) / {shape.columns}u);",
                f"  var made: {several};",
                *kept,
                "  return made;",
                "}",
            ]
        head = f"fn load_group(start: u32, line: u32, j: u32) -> {acc.type} {{"
        if shape.group > 1:
            terms = [
                f"lift({name}_decode({element_bits(bits, k)}), j * {shape.group}u + {k}u)"
                for k in range(shape.group)
            ]
            while len(terms) > 1:
                pairs = zip(terms[::2], terms[1::2], strict=True)
                terms = [f"combine({a}, {b})" for a, b in pairs]
            load = f"  let u = load_source((start + reduced_at(j)) / {shape.group}u);"
            return [head, load, f"  return {terms[0]};", "}"]
        at = "  let e = start + reduced_at(j);"
        if bits >= 32:
            high = "load_source(2u * e + 1u)" if bits == 64 else "0u"
            value = f"vec2<u32>(load_source({bits // 32}u * e), {high})"
        else:
            per, mask = 32 // bits, (1 << bits) - 1
            word = f"load_source(e / {per}u) >> (e % {per}u * {bits}u)"
            value = f"vec2<u32>(({word}) & {mask}u, 0u)"
        return [head, at, f"  return lift({name}_decode({value}), j);", "}"]


def element_bits(bits: int, k: int, unit: str = "u") -> str:
    """The bits of element `k` of a unit."""
    word = k * bits // 32
    if bits == 64:
        return f"vec2<u32>({unit}[{word}], {unit}[{word + 1}])"
    if bits == 32:
        return f"vec2<u32>({unit}[{word}], 0u)"
    return f"vec2<u32>(({unit}[{word}] >> {k * bits % 32}u) & {(1 << bits) - 1}u, 0u)"


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are divided among invocations."""

    keeps: tuple[Loop, ...]
    reduces: tuple[Loop, ...]
    columns: int  # lines that one invocation reduces side by side
    group: int  # elements of a line that are loaded at once
    lanes: int  # invocations that share one line
    segment: int  # groups of a line that one workgroup reduces
    across: bool  # neighbouring invocations are on neighbouring lines, not along one

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


def fold_kept(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Kept loops of more than one step in the output's order, merged where both allow it."""
    folded: list[Loop] = []
    for loop in sorted((d for d in loops if d.size > 1), key=lambda d: (-d.out, -d.source)):
        if folded:
            outer = folded[-1]
            if (outer.source, outer.out) == (loop.source * loop.size, loop.out * loop.size):
                folded[-1] = replace(loop, size=outer.size * loop.size)
                continue
        folded.append(loop)
    return tuple(folded) or (Loop(1, 0, 0),)


def _fold_in_order(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Reduced loops in the axes' order, which is the order of indices among those reduced."""
    folded: list[Loop] = []
    for loop in (d for d in loops if d.size > 1):
        if folded and folded[-1].source == loop.source * loop.size:
            folded[-1] = replace(loop, size=folded[-1].size * loop.size)
        else:
            folded.append(loop)
    return tuple(folded) or (Loop(1, 0),)


def _whole(size: int, unit: int, strides: Sequence[int]) -> bool:
    """Whether runs of `size` elements begin and end on whole units."""
    return size % unit == 0 and not any(stride % unit for stride in strides)


def _addresses(shape: Shape) -> list[str]:
    """Functions that find where a line starts, where it is written, and where a group lies."""
    kept, reduced = len(shape.keeps), len(shape.reduces)
    return [
        *walk_of("start_of", "line", "kept", "kept_strides", kept, 1),
        *walk_of("out_of", "line", "kept", "out_strides", kept, 1),
        *walk_of("reduced_at", "j", "reduced", "reduced_strides", reduced, shape.group),
    ]


def walk_of(name: str, argument: str, sizes: str, strides: str, rank: int, last: int) -> list[str]:
    """A function from a number to an address: the number's coordinates, times strides.

    The innermost loop goes in steps of `last` elements.
    """
    lines = [f"fn {name}({argument}: u32) -> u32 {{", f"  var rest = {argument};"]
    lines.append("  var at = 0u;")
    for d in reversed(range(rank)):
        where = f"[{d // 4}][{d % 4}]"
        scale = f" * {last}u" if d == rank - 1 and last > 1 else ""
        if d == 0:
            lines.append(f"  at += rest{scale} * params.{strides}{where};")
            continue
        size = f"params.{sizes}{where}"
        size = f"({size} / {last}u)" if scale else size
        lines.append(f"  let next{d} = rest / {size};")
        step = f"(rest - next{d} * {size}){scale}"
        lines.append(f"  at += {step} * params.{strides}{where};")
        lines.append(f"  rest = next{d};")
    return [*lines, "  return at;", "}"]


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
    lines.append("  let start = start_of(min(line, params.lines - 1u));")
    lines.append("  let first = segment * params.segment;")
    lines.append("  let end = select(0u, min(first + params.segment, params.length), inside);")
    names = [f"acc{k}" for k in range(columns)]
    lines += [f"  var {name} = identity();" for name in names]
    step = lanes * AT_ONCE
    lines.append(f"  for (var block = first + lane; block < end; block += {step * INNER}u) {{")
    lines += [f"    var inner{k} = identity();" for k in range(columns)]
    lines.append(f"    let stop = min(end, block + {step * INNER}u);")
    lines.append(f"    for (var j = block; j < stop; j += {step}u) {{")
    for i in range(AT_ONCE):
        at = f"j + {i * lanes}u" if i else "j"
        load = f"load_group(start, line, {at})"
        if columns == 1:
            lines.append(f"      var v{i} = identity();")
            lines.append(f"      if ({at} < stop) {{ v{i} = {load}; }}")
        else:
            lines.append(f"      var v{i}: array<{acc.type}, {columns}>;")
            filled = " ".join(f"v{i}[{k}] = identity();" for k in range(columns))
            lines.append(f"      if ({at} < stop) {{ v{i} = {load}; }} else {{ {filled} }}")
    for k in range(columns):
        pick = f"[{k}]" if columns > 1 else ""
        pairs = [f"combine(v{i}{pick}, v{i + 1}{pick})" for i in range(0, AT_ONCE, 2)]
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


def plain(
    data_type: DataType, lift: str, combine: str, identity: str, finish: str = "a"
) -> Accumulator:
    """An accumulator that is one value of the class of a data type."""
    kind = class_of(data_type)
    pack: tuple[str, ...] = ("a.x", "a.y")
    unpack = "vec2<u32>(w0, w1)"
    if kind == "u32":
        pack, unpack = ("a",), "w0"
    elif kind in ("f32", "i32"):
        pack, unpack = ("bitcast<u32>(a)",), f"bitcast<{kind}>(w0)"
    made = {"T": kind}
    return Accumulator(
        type=wgsl_type(data_type),
        words=len(pack),
        identity=_resolved(identity, made),
        lift=_resolved(lift, made),
        combine=_resolved(combine, made),
        finish=_resolved(finish, made),
        pack=pack,
        unpack=unpack,
    )


def _resolved(text: str, classes: Mapping[str, str]) -> str:
    for name, kind in classes.items():
        text = text.replace(f"{name}_", f"{kind}_")
    return text
