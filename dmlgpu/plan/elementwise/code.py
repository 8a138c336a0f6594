"""The text of element-wise kernels: what finds a group's elements, makes and stores results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from dmlgpu.plan.dispatch import Dispatch, Value, eight
from dmlgpu.plan.elementwise.lookups import Line, by_lines, held, lookup, near
from dmlgpu.plan.elementwise.shape import WG_SIZE, Shape, Tile, stride
from dmlgpu.plan.elementwise.spans import converting
from dmlgpu.plan.move.windows import Window
from dmlgpu.plan.reading import Reading, places
from dmlgpu.plan.rows import DIVISION, divisors
from dmlgpu.plan.values import (
    Expression,
    Operand,
    Parameter,
    float_slots,
    function,
    held_parameters,
    of_halves,
    of_words,
    parameter_words,
    quick,
)
from dmlgpu.plan.words import encoded, held_bits, merged, param_lines, value_in, word_type, words_of

STORED = {"units": "vec4<u32>", "halves": "vec2<u32>"}  # by access; words where it is none of these


@dataclass(frozen=True, slots=True)
class Kernel:
    """One dispatch of element-wise work: its operands and expressions, divided in one way."""

    inputs: Mapping[str, Operand]
    outputs: tuple[tuple[Operand, Expression], ...]
    parameters: tuple[Parameter, ...]
    lookups: Mapping[str, Operand]
    line: Line | None
    shape: Shape

    @property
    def operands(self) -> list[Operand]:
        """Inputs, then outputs."""
        return [*self.inputs.values(), *(operand for operand, _ in self.outputs)]

    def dispatch(self, starts: Sequence[int]) -> Dispatch:
        """The kernel on tensors whose first elements are at `starts`."""
        shape = self.shape
        loops, tile = shape.loops, shape.tile
        kernel, count, wg_size = "elementwise/elements", shape.groups, WG_SIZE
        groups = shape.shares * -(-shape.share // (WG_SIZE * shape.each))
        if shape.is_spanned:
            groups = shape.spans.workgroups
        if self.line:
            groups, wg_size = loops[0].size, self.line.workgroup(loops[-1].size // shape.group)
        # Row: add a transposed operand float32 bandwidth: 0.98 of a copy; moves without tiles 0.12.
        if tile:
            kernel = "elementwise/tiles"
            wg_size = tile.invocations
            count = groups = prod(tile.counts(loops))
        params: dict[str, Value] = {
            "count": count,
            "share": shape.share,
            "elements": prod(d.size for d in loops),
            "sizes": eight([d.size for d in loops]),
        }
        if shape.is_spanned:
            params |= shape.spans.params
        if shape.steps:
            params["elements"] = shape.steps * prod(d.size for d in loops[1:])
            params["groups"] = -(-shape.steps * count // loops[0].size)
            params |= {
                f"hop{t}": loops[0].size * n & 0xFFFFFFFF for t, n in enumerate(loops[0].steps)
            }
        divided = [d.size for d in loops]
        if tile:
            divided = tile.counts(loops)
            params["counts"] = eight(divided)
        elif shape.window:
            divided = shape.window.divided
            params |= shape.window.params
        elif not shape.is_linear:
            divided[-1] = -(-divided[-1] // shape.group)
        if shape.by_product:
            params |= divisors(divided)
        for t, start in enumerate(starts):
            params[f"start{t}"] = start
            params[f"strides{t}"] = eight([d.steps[t] for d in loops])
        params |= parameter_words(self.parameters) | (self.line.params if self.line else {})
        bindings = shape.reading.bindings
        bindings |= {f"look{t}": o.field for t, o in enumerate(self.lookups.values())}
        bindings |= {f"out{t}": o.field for t, (o, _) in enumerate(self.outputs)}
        every = [o.data_type for o in (*self.operands, *self.lookups.values())]
        return Dispatch(
            kernel,
            groups,
            params,
            bindings,
            float_slots(every, shape.exact_floats),
            {"WG_SIZE": wg_size},
            code="\n".join([*param_lines(params), *self._code()]),
        )

    def _code(self) -> list[str]:
        """Bindings, the operator's functions, and what makes one group."""
        shape = self.shape
        lines = [*shape.reading.declarations, *(DIVISION if shape.by_product else ())]
        for n, access in enumerate(shape.stores):
            mode = "atomic" if access == "merge" else "write"
            lines.append(f"#bind {mode} out{n}: {STORED.get(access, 'u32')}")
        for t, (name, operand) in enumerate(self.lookups.items()):
            lines.append(f"#bind read look{t}: {word_type(operand.bits)}")
            if self.line and self.line.name == name:
                lines += held(self.line, operand, t, shape.repeats, beyond=shape.is_linear)
            else:
                lines += [lookup(f"{name}_at", operand, f"load_look{t}")]
        made = self.outputs[0][0].data_type
        first = next((o.data_type for o in self.inputs.values()), made)
        classes = {"T": first, "R": made}
        parameters = self.parameters
        if shape.is_spanned:
            lines += held_parameters(parameters)
            parameters = ()
        for n, (operand, expression) in enumerate(self.outputs):
            given = self.inputs, parameters, expression, operand.data_type, classes
            lines += function(f"operate{n}", *given)
        if shape.is_quick:
            ((operand, expression),) = self.outputs
            line = self.line
            expression, functions = (near(line, expression), []) if line else quick(expression)
            given = self.inputs, self.parameters, expression, operand.data_type, classes
            lines += [*functions, *function("quick0", *given)]
        if self._is_of_words():
            lines += self._of_words(halves=shape.on_cpu)
        if shape.on_cpu:
            lines = [converting(line) for line in lines]
        return lines + (self._units(shape.window) if shape.window else self._group())

    def _result(self, tile: Tile) -> str:
        """WGSL of the bits of the first output, or of a word of it, from those of the inputs."""
        types = [o.data_type for o in self.inputs.values()]
        made = self.outputs[0][0].data_type
        if not tile.holds_words:
            given = (f"{one.name.lower()}_decode(v{t}_$)" for t, one in enumerate(types))
            return f"{made.name.lower()}_encode(operate0({', '.join(given)}))"
        if self._of_words():
            return f"by_words({', '.join(f'v{t}_$' for t in range(len(types)))})"
        values = [
            f"operate0({', '.join(value_in(one, k, f'v{t}_$') for t, one in enumerate(types))})"
            for k in range(32 // made.bits)
        ]
        return encoded(made, values)[0]

    def _of_words(self, *, halves: bool = False) -> list[str]:
        """The function that makes a word of the only output at once, where there is one."""
        ((operand, expression), *others) = self.outputs
        given = "by_words", self.inputs, expression, operand.data_type
        if self.shape.window and expression.copied(self.inputs, operand):
            return [
                f"fn by_words({expression.result}: u32) -> u32 {{ return {expression.result}; }}"
            ]
        return [] if others else of_words(*given) or (of_halves(*given) if halves else [])

    def _is_of_words(self) -> bool:
        """Whether all elements of a word are made at once."""
        shape = self.shape
        is_held = shape.tile is not None and shape.tile.made > 0
        is_whole = "merge" not in shape.stores and (is_held or shape.reading.is_in_words)
        return is_whole and bool(self._of_words(halves=shape.on_cpu))

    def _units(self, window: Window) -> list[str]:
        """What makes a unit of a window: a function of where each input has its elements."""
        shape, ((operand, _),) = self.shape, self.outputs
        every = range(shape.group) if window.is_short else ("",)
        given = ", ".join(f"at{t}_{k}: u32" for k in every for t in range(len(self.inputs)))
        if window.is_uniform(shape.reading):
            value = f"{operand.data_type.name.lower()}_encode(y0_0)"
            ones = sum(1 << at for at in range(0, 32, operand.bits))
            made = [f"  let y0_0 = operate0({shape.reading.values(0)});", f"  let e = {value};"]
            words = ["e.x", "e.y"] * 2 if operand.bits == 64 else [f"e.x * {ones}u"] * 4
        else:
            made, count = self._operated(0), shape.group * operand.bits // 32
            words = window.spread([f"z0_{w}" for w in range(count)])
        return [
            f"fn made({given}) -> vec4<u32> {{",
            *shape.reading.loads(),
            *made,
            f"  return vec4<u32>({', '.join(words)});",
            "}",
            *window.code(shape.reading, "out0"),
            *_in_turn(shape),
        ]

    def _group(self) -> list[str]:
        shape = self.shape
        where = self._places()
        if shape.tile:
            made = self._result(shape.tile) if shape.tile.made else ""
            tensors = len(self.operands)
            lines = shape.tile.code(shape.reading, len(shape.loops), tensors, made)
            kept = [self._made()]
            head, result = "place: u32, tile: Tile", " -> Made"
        else:
            lines, kept, head, result = [], [], "number: u32", ""
        if shape.is_spanned and shape.spans.by_rows:
            where, tensors = [], len(self.operands)
            head = ", ".join([head, *(f"at{t}_: u32" for t in range(tensors))])
        if shape.tile or shape.each > 1:
            ahead, loads = _ahead(shape.reading, head, where)
            lines += [
                *ahead,
                *kept,
                f"fn make_group({head}, ahead: Ahead){result} {{",
                *where,
                *loads,
            ]
        else:
            lines += [f"fn make_group({head}) {{", *where, *shape.reading.loads()]
        for r in range(shape.repeats):
            lines += self._operated(r)
        if shape.tile:
            lines += self._together(shape.tile)
        stores = [
            line
            for n, (operand, _) in enumerate(self.outputs)
            for line in _store(operand, len(self.inputs) + n, n, shape)
        ]
        lines += stores
        for r in range(1, shape.repeats):
            moved = [f"at{t}_" for t in range(len(self.inputs), len(self.operands))]
            lines.append(f"  if (number_{r} < params.groups) {{ let number = number_{r};")
            lines += [f"  let {at} = {at} + {r}u * params.hop{at[2:-1]};" for at in moved]
            lines += [f"  let {name} = {name}_{r};" for name in self._results()]
            lines += [*stores, "  }"]
        if self.line:
            return [*lines, "}", *by_lines(shape.group, shape.repeats)]
        if shape.is_spanned:
            step = f"{shape.group}u * {stride(shape.loops)}"
            steps = [step.format(t) for t in range(len(self.operands))]
            read = ["  read_parameters();"] if self.parameters else []
            return [*lines, "}", *shape.spans.code(len(shape.loops), steps, read)]
        return [*lines, "}", *([] if shape.tile else _in_turn(shape))]

    def _places(self) -> list[str]:
        """Statements from the number of a group, or its place in a tile, to its addresses."""
        shape = self.shape
        tensors = range(len(self.operands))
        if shape.tile:
            return shape.tile.places(shape.reading, len(tensors))
        if shape.reading.rows:
            return _flat(shape, len(tensors))
        walks = [(f"at{t}_", f"params.start{t}", f"strides{t}") for t in tensors]
        given = len(shape.loops), "sizes", "number", walks, shape.group
        return places(*given, by_product=shape.by_product)

    def _operated(self, r: int) -> list[str]:
        """Statements that make the results of a group's elements, at repeat `r` of it.

        What would lie beyond the last step is that of the first again, and is not stored.
        """
        shape = self.shape
        lines, end, hops = [], f"_{r}" if r else "", dict[int, str]()
        if self.line:
            lines.append(f"  use_line({r}u);")
        if r:
            lines.append(f"  let number_{r} = number + {r}u * params.count;")
            hops = {t: f" + hop{t}_{r}" for t, o in enumerate(self.inputs.values()) if not o.field}
        for t in hops:
            hop = f"select(0u, {r}u * params.hop{t}, number_{r} < params.groups)"
            lines.append(f"  let hop{t}_{r} = {hop};")
        if shape.tile and shape.tile.made:
            bits = shape.tile.made
            words = words_of(bits, [held_bits(bits, 0, k) for k in range(shape.group)])
            if shape.tile.holds_words:
                words = [shape.reading.word(0, w) for w in range(len(words))]
            return [*lines, *(f"  let z0_{w} = {word};" for w, word in enumerate(words))]
        if self._is_of_words():
            count = shape.group * self.outputs[0][0].bits // 32
            made = [", ".join(shape.reading.words(w)) for w in range(count)]
            return [*lines, *(f"  let z0_{w}{end} = by_words({x});" for w, x in enumerate(made))]
        for n, (operand, _) in enumerate(self.outputs):
            values = [f"y{n}_{k}{end}" for k in range(shape.group)]
            made = []
            for k in range(shape.group):
                given = enumerate(shape.reading.values(k).split(", "))
                read = ", ".join(x + hops.get(t, "") for t, x in given)
                made.append(f"{n}({read})")
            if shape.is_quick:
                lines.append("  strayed = false;")
                lines += [f"  var {v} = quick{m};" for v, m in zip(values, made, strict=True)]
                again = (f"{v} = operate{m};" for v, m in zip(values, made, strict=True))
                lines.append(f"  if (strayed) {{ {' '.join(again)} }}")
            else:
                lines += [f"  let {v} = operate{m};" for v, m in zip(values, made, strict=True)]
            if shape.stores[n] != "merge":
                words = encoded(operand.data_type, values)
                lines += [f"  let z{n}_{w}{end} = {word};" for w, word in enumerate(words)]
        return lines

    def _results(self) -> list[str]:
        """What is stored of a group: words, or the only element."""
        shape = self.shape
        names = []
        for n, (operand, _) in enumerate(self.outputs):
            words = [f"z{n}_{w}" for w in range(shape.group * operand.bits // 32)]
            names += words if shape.stores[n] != "merge" else [f"y{n}_0"]
        return names

    def _parts_of_group(self) -> list[str]:
        """What is kept of a group until it is written: where, and its words."""
        first = len(self.inputs)
        where = [f"at{first + n}_" for n in range(len(self.outputs))]
        return [*where, *self._results()]

    def _made(self) -> str:
        """The structure of a group that is not written yet."""
        fields = ", ".join(f"{name}: u32" for name in self._parts_of_group())
        return f"struct Made {{ inside: bool, number: u32, {fields} }}"

    def _together(self, tile: Tile) -> list[str]:
        """The end of `make_group`, all groups of a tile, and the beginning of what writes one.

        What a loop would read would wait for what it wrote before. What is not held is read before
        the others are waited for.
        """
        parts = self._parts_of_group()
        count, lanes = tile.at_once, tile.invocations
        place = f"place + $u * {lanes}u"
        ahead = f"  #repeat {count}: let ahead$ = read_ahead({place}, tile);"
        make = [
            f"  #repeat {count}: let made$ = make_group({place}, tile, ahead$);",
            f"  #repeat {count}: put_group(made$);",
        ]
        every, first = tile.all_groups, count * lanes
        again = f"  for (var place = lane + {first}u; place < {every}u; place += {first}u) {{"
        return [
            f"  return Made(inside, number, {', '.join(parts)});",
            "}",
            "fn make_tile(tile: Tile, lane: u32) {",
            "  let place = lane;",
            ahead,
            "  take_in(tile, lane);",
            "  workgroupBarrier();",
            *make,
            *([again, ahead, *make, "  }"] if first < every else []),
            "}",
            "fn put_group(made: Made) {",
            "  if (!made.inside) { return; }",
            *(f"  let {name} = made.{name};" for name in ("number", *parts)),
        ]


def _flat(shape: Shape, tensors: int) -> list[str]:
    """Statements from the number of a group to where it is in rows, and in tensors of one row."""
    rows = shape.reading.rows
    assert rows is not None
    lines = rows.places()
    for t in range(tensors):
        if t >= len(rows.steps):
            lines.append(f"  let at{t}_ = first;")
        elif rows.steps[t] is None:
            lines.append(f"  let at{t}_ = params.start{t} + first * {rows.stride(t)};")
    return lines


def _ahead(reading: Reading, head: str, where: Sequence[str]) -> tuple[list[str], list[str]]:
    """A function that reads what a group needs ahead of its work, and what the work begins with."""
    found, first, loads = reading.parted()
    fields = ", ".join(f"{name}: {kind}" for name, kind in found.items()) or "none: u32"
    lines = [
        f"struct Ahead {{ {fields} }}",
        f"fn read_ahead({head}) -> Ahead {{",
        *where,
        *first,
        f"  return Ahead({', '.join(found)});",
        "}",
    ]
    return lines, loads


def _in_turn(shape: Shape) -> list[str]:
    """A function that makes several groups, from what is all read before the first is written."""
    each, shares = shape.each, shape.shares
    lines = [
        "fn make_groups(workgroup: u32, lane: u32) {",
        f"  let begin = workgroup % {shares}u * params.share;",
        "  let end = min(begin + params.share, params.count);",
        f"  let first = begin + workgroup / {shares}u * (WG_SIZE * {each}u) + lane;",
    ]
    if each == 1:
        return [*lines, "  if (first < end) { make_group(first); }", "}"]
    if shape.window:
        turn = "let number$ = first + $u * WG_SIZE; if (number$ < end) { make_group(number$); }"
        return [*lines, f"  #repeat {each}: {turn}", "}"]
    return [
        *lines,
        f"  #repeat {each}: let number$ = first + $u * WG_SIZE;",
        f"  #repeat {each}: let ahead$ = read_ahead(min(number$, params.count - 1u));",
        f"  #repeat {each}: if (number$ < end) {{ make_group(number$, ahead$); }}",
        "}",
    ]


def _store(operand: Operand, t: int, n: int, shape: Shape) -> list[str]:
    """What writes the group's words `z{n}_*`, or its only element `y{n}_0`."""
    bits, group, access = operand.bits, shape.group, shape.stores[n]
    at = f"at{t}_"
    if access == "merge":
        value = f"{operand.data_type.name.lower()}_encode(y{n}_0)"
        return [f"  {merged(f'out{n}', bits, at, value)}"]
    words = [f"z{n}_{w}" for w in range(group * bits // 32)]
    if access in STORED:
        per = 4 if access == "units" else 2
        vectors = [", ".join(words[v : v + per]) for v in range(0, len(words), per)]
        at = f"{at} / {32 * per // bits}u"
        return [
            f"  store_out{n}({at} + {v}u, {STORED[access]}({w}));" for v, w in enumerate(vectors)
        ]
    base = f"{at} / {32 // bits}u"
    lines = []
    for w, word in enumerate(words):
        first = w * 32 // bits  # element of the group that the word begins with
        store = f"store_out{n}({base} + {w}u, {word});"
        if first and (shape.is_linear or len(shape.loops) == 1):  # a group may end behind the last
            store = f"if (number * {group}u + {first}u < params.elements) {{ {store} }}"
        lines.append(f"  {store}")
    return lines
