"""Plans of element-wise work: every output element is an expression of the input elements there.

An operator gives an expression over single values; this module writes the WGSL around it that
reads, converts, and writes tensors of any number, type and layout. Expressions call functions of
the number library by a placeholder for the class of a value: `T_add(a, b)` is `f32_add` for
FLOAT32 and FLOAT16, `i64_add` for INT64.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.parts import Walk, joined, split
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 128
UNIT = 128  # bits of the widest load or store
MOST_UNITS = 4  # units of one tensor that an invocation handles at most
# Elements of a group whose expression looks others up. It is long: written out for more elements,
# or for more than a word's on CPU adapters, it would take drivers long to compile.
LOOKUPS = 4

CLASSES = {
    DataType.FLOAT16: "f32",
    DataType.FLOAT32: "f32",
    DataType.FLOAT64: "f64",
    DataType.INT8: "i32",
    DataType.INT16: "i32",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
    DataType.UINT8: "u32",
    DataType.UINT16: "u32",
    DataType.UINT32: "u32",
    DataType.UINT64: "u64",
}
WGSL_TYPES = {"f32": "f32", "i32": "i32", "u32": "u32"}  # values of other classes are two words
RAW = {8: DataType.UINT8, 16: DataType.UINT16, 32: DataType.UINT32, 64: DataType.UINT64}


def class_of(data_type: DataType) -> str:
    """The class of values that shaders calculate with for a data type."""
    return CLASSES[data_type]


def wgsl_type(data_type: DataType) -> str:
    """The WGSL type of a value of a data type."""
    return WGSL_TYPES.get(CLASSES[data_type], "vec2<u32>")


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of element-wise work, read as its own data type or as raw bits of the same width."""

    field: str  # empty where no tensor is read: the value is then the element's place
    tensor: TensorDesc
    data_type: DataType
    start: int = 0  # element of the tensor's buffer where the work begins
    shares: bool = False  # elements that must stay as they are lie around those of the work

    @classmethod
    def of(cls, field: str, tensor: TensorDesc, *, raw: bool = False) -> Operand:
        """A tensor by its own type, or as raw bits."""
        data_type = RAW[tensor.data_type.bits] if raw else tensor.data_type
        return cls(field, tensor, data_type)

    @classmethod
    def place(cls, sizes: Sequence[int], steps: Sequence[int], start: int = 0) -> Operand:
        """No tensor, but a number that grows by `steps` along each dimension, from `start` on."""
        return cls("", TensorDesc(DataType.UINT32, sizes, steps), DataType.UINT32, start)

    @property
    def bits(self) -> int:
        """Width of an element."""
        return self.data_type.bits

    def part(self, axis: int, at: int) -> Operand:
        """The elements at one step of an axis, in the same bytes."""
        sizes, strides = list(self.tensor.sizes), self.tensor.effective_strides
        sizes[axis] = 1
        total = self.tensor.total_tensor_size_in_bytes
        part = TensorDesc(self.tensor.data_type, sizes, strides, total_tensor_size_in_bytes=total)
        return replace(self, tensor=part, start=self.start + at * strides[axis])


@dataclass(frozen=True, slots=True)
class Parameter:
    """An attribute that an expression names, as a value of a data type."""

    name: str
    data_type: DataType
    value: int | float

    @property
    def words(self) -> tuple[int, ...]:
        """The value as a shader reads it: the class's own form, in one word or two."""
        kind = class_of(self.data_type)
        value = converted(self.value, self.data_type)
        if kind == "f32":
            return struct.unpack("<I", struct.pack("<f", value))
        if kind == "f64":
            low, high = struct.unpack("<2I", struct.pack("<d", value))
            return low, high
        whole = int(value) & 0xFFFFFFFFFFFFFFFF
        return (
            (whole & 0xFFFFFFFF,) if kind in ("i32", "u32") else (whole & 0xFFFFFFFF, whole >> 32)
        )


def converted(value: int | float, data_type: DataType) -> int | float:
    """A number as the data type holds it: integers truncate toward zero and saturate."""
    if data_type in (DataType.FLOAT16, DataType.FLOAT32):
        with np.errstate(over="ignore"):
            return float(data_type.numpy.type(value))
    if data_type is DataType.FLOAT64:
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return 0
    info = np.iinfo(data_type.numpy)
    if isinstance(value, float) and math.isinf(value):
        return int(info.max) if value > 0 else int(info.min)
    return max(int(info.min), min(int(info.max), int(value)))


@dataclass(frozen=True, slots=True)
class Expression:
    """What one output element is: WGSL over the names of the inputs and of the parameters.

    `steps` are statements before the result, for values that are needed more than once.
    """

    result: str
    steps: str = ""


@dataclass(frozen=True, slots=True)
class ElementWise:
    """One or more outputs, each an expression of input elements at the same place.

    Tensors of `lookups` are read wherever an expression says: `x_at(i)` is the value of element
    `i` of the buffer of `x`.
    """

    inputs: Mapping[str, Operand]  # by the name that the expressions use
    outputs: tuple[tuple[Operand, Expression], ...]
    parameters: tuple[Parameter, ...] = ()
    lookups: Mapping[str, Operand] = field(default_factory=dict)

    def traffic(self) -> dict[str, int]:
        """Every element is moved once; one that is broadcast is read once."""
        inputs = (*self.inputs.values(), *self.lookups.values())
        read = {o.field: all_read(o.tensor) for o in inputs if o.field}
        return read | {o.field: bytes_written(o.tensor) for o, _ in self.outputs}

    def plan(self, adapter: Adapter) -> Plan:
        """One dispatch, or as many as parts are needed to fit bindings."""
        loops = _fold(self._loops())
        most = UNIT
        if self.lookups:
            most = 1 if adapter.is_cpu else LOOKUPS
        shape = _shape(loops, self.operands, len(self.outputs), adapter, most)
        named = [o for o in self.operands if o.field]
        largest = max(o.tensor.total_tensor_size_in_bytes for o in named)
        alone = not self.lookups and len({o.field for o in named}) == len(self.operands)
        if largest > adapter.max_binding and alone:
            parts = self._parts(shape, adapter.max_binding)
            if parts is not None:
                return parts
        starts = [operand.start for operand in self.operands]
        return Plan((self._dispatch(shape, starts),))

    @property
    def operands(self) -> list[Operand]:
        """Inputs, then outputs."""
        return [*self.inputs.values(), *(operand for operand, _ in self.outputs)]

    def _loops(self) -> list[Loop]:
        sizes = self.outputs[0][0].tensor.sizes
        strides = [o.tensor.effective_strides for o in self.operands]
        return [Loop(n, tuple(s[d] for s in strides)) for d, n in enumerate(sizes)]

    def _parts(self, shape: Shape, most: int) -> Plan | None:
        """The work cut along its loops so that each tensor fits a binding, or None."""
        if shape.linear:
            return None
        group = shape.group
        sizes = [loop.size for loop in shape.loops]
        sizes[-1] = -(-sizes[-1] // group)  # whole groups are never cut
        walks = []
        for t, operand in enumerate(self.operands):
            steps = [loop.steps[t] for loop in shape.loops]
            steps[-1] *= group
            walks.append(Walk(operand.field, operand.bits, operand.start, tuple(steps), based=True))
        # The last group of a part reaches beyond its own first element.
        parts = split(sizes, walks, most - group * 8, len(sizes))
        if parts is None:
            return None
        plans, spans = [], []
        for part in parts:
            cut = list(part.sizes)
            whole = shape.loops[-1].size
            first = part.first[-1] * group
            cut[-1] = min(cut[-1] * group, whole - first)
            loops = tuple(replace(d, size=n) for d, n in zip(shape.loops, cut, strict=True))
            starts = [part.starts[o.field] for o in self.operands]
            plans.append(Plan((self._dispatch(replace(shape, loops=loops), starts),)))
            reach = {}
            for t, operand in enumerate(self.operands):
                begin, end = part.spans[operand.field]
                extra = (group - 1) * abs(shape.loops[-1].steps[t]) * operand.bits // 8
                reach[operand.field] = (begin, -(-(end + extra) // 16) * 16)
            spans.append(reach)
        return joined(plans, spans)

    def _dispatch(self, shape: Shape, starts: Sequence[int]) -> Dispatch:
        loops = shape.loops
        count = prod(d.size for d in loops[:-1]) * -(-loops[-1].size // shape.group)
        if shape.linear:
            count = -(-prod(d.size for d in loops) // shape.group)
        params: dict[str, Value] = {
            "count": count,
            "elements": prod(d.size for d in loops),
            "sizes": eight([d.size for d in loops]),
        }
        for t, start in enumerate(starts):
            params[f"start{t}"] = start
            params[f"strides{t}"] = eight([d.steps[t] for d in loops])
        words = [word for p in self.parameters for word in p.words]
        for n in range(0, len(words), 8):
            params[f"values{n // 8}"] = eight(words[n : n + 8])
        code = "\n".join(self._code(shape, len(words)))
        slots = {}
        every = (*self.operands, *self.lookups.values())
        halves = any(o.data_type is DataType.FLOAT16 for o in every)
        if halves and shape.hardware_halves:
            slots["number/float16"] = "number/float16_hardware"
        shares = shape.shares(self.operands)
        bindings = {
            f"in{t}": o.field
            for t, o in enumerate(self.inputs.values())
            if o.field and shares[t] == t
        }
        bindings |= {f"look{t}": o.field for t, o in enumerate(self.lookups.values())}
        bindings |= {f"out{t}": o.field for t, (o, _) in enumerate(self.outputs)}
        return Dispatch(
            "elementwise/elements",
            -(-count // WG_SIZE),
            params,
            bindings,
            slots,
            {"WG_SIZE": WG_SIZE},
            code=code,
        )

    def _code(self, shape: Shape, words: int) -> list[str]:
        """Params, bindings, the operator's functions, and what makes one group."""
        names = [f"in{t}" for t in range(len(self.inputs))]
        names += [f"out{t}" for t in range(len(self.outputs))]
        lines = ["struct Params {", "  count: u32,", "  elements: u32,"]
        lines += [f"  start{t}: u32," for t in range(len(names))]
        lines += ["  sizes: array<vec4<u32>, 2>,"]
        lines += [f"  strides{t}: array<vec4<u32>, 2>," for t in range(len(names))]
        lines += [f"  values{n}: array<vec4<u32>, 2>," for n in range(-(-words // 8))]
        lines += ["}"]
        shares = shape.shares(self.operands)
        for t, (name, access) in enumerate(zip(names, shape.access, strict=True)):
            if access == "place" or shares[t] != t:
                continue
            written = t >= len(self.inputs)
            mode = "read" if not written else "atomic" if access == "merge" else "write"
            held = "vec4<u32>" if access in ("units", "half") else "u32"
            lines.append(f"#bind {mode} {name}: {held}")
        for t, (name, operand) in enumerate(self.lookups.items()):
            lines += [f"#bind read look{t}: u32", _lookup(name, operand, t)]
        lines += self._functions()
        lines += self._group(shape, names)
        return lines

    def _functions(self) -> list[str]:
        """One WGSL function per output: its expression over values."""
        given = ", ".join(f"{n}: {wgsl_type(o.data_type)}" for n, o in self.inputs.items())
        lines = []
        for k, (operand, expression) in enumerate(self.outputs):
            made = wgsl_type(operand.data_type)
            lines.append(f"fn operate{k}({given}) -> {made} {{")
            text = f"{expression.steps} {expression.result}"
            word = 0
            for parameter in self.parameters:
                count = len(parameter.words)
                if re.search(rf"\b{parameter.name}\b", text):
                    lines.append(f"  let {parameter.name} = {_parameter(parameter, word)};")
                word += count
            if expression.steps:
                lines.append(f"  {self._resolved(expression.steps)}")
            lines.append(f"  return {self._resolved(expression.result)};")
            lines.append("}")
        return lines

    def _resolved(self, text: str) -> str:
        """Placeholders replaced: T is the class of the first input, R that of the output."""
        first = next(iter(self.inputs.values()), self.outputs[0][0])
        for name, operand in (("T", first), ("R", self.outputs[0][0])):
            text = re.sub(rf"\b{name}_(?=\w)", f"{class_of(operand.data_type)}_", text)
            text = re.sub(rf"_from_{name}\b", f"_from_{class_of(operand.data_type)}", text)
        # A value converted to the class it has already is itself.
        return re.sub(r"\b(\w+?)_from_\1(?=\()", "", text)

    def _group(self, shape: Shape, names: Sequence[str]) -> list[str]:
        lines = ["fn make_group(number: u32) {"]
        group, shares = shape.group, shape.shares(self.operands)
        if shape.linear:
            for k in range(group):
                lines.append(
                    f"  let index{k} = min(number * {group}u + {k}u, params.elements - 1u);"
                )
                lines += _places(shape, names, f"index{k}", str(k), 1)
        else:
            lines += _places(shape, names, "number", "", group)
        calls = []
        for k in range(group):
            for t, (operand, access) in enumerate(
                zip(self.inputs.values(), shape.access, strict=False)
            ):
                lines += _load(operand, t, k, shape, access, shares[t])
            calls.append(
                ", ".join(f"x{t}_{k if a != 'splat' else 0}" for t, a in shape.used(names))
            )
        for n, (operand, _) in enumerate(self.outputs):
            for k in range(group):
                name = operand.data_type.name.lower()
                lines.append(f"  let y{n}_{k} = {name}_encode(operate{n}({calls[k]}));")
        for n, (operand, _) in enumerate(self.outputs):
            t = len(self.inputs) + n
            lines += _store(operand, t, n, shape, shape.access[t])
        return [*lines, "}"]


@dataclass(frozen=True, slots=True)
class Loop:
    """`size` steps through every tensor at once."""

    size: int
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How the work is divided: groups of elements, and how an invocation reaches each tensor.

    A tensor is loaded or stored in `units` of 16 bytes, as `half` of a unit that two invocations
    load, in `words` side by side, element by element (`each`), or once for the whole group where it
    is broadcast (`splat`); a `place` is calculated, not loaded. Elements of an output that share a
    word with bytes of others are put between them with `merge`.
    """

    loops: tuple[Loop, ...]
    group: int
    access: tuple[str, ...]
    linear: bool  # a group may go on in the next row, so each element has coordinates of its own
    hardware_halves: bool

    def shares(self, operands: Sequence[Operand]) -> list[int]:
        """For each tensor the first one that is the same, so that it is bound and loaded once."""
        keys = [
            (o.field, a in ("units", "half")) for o, a in zip(operands, self.access, strict=True)
        ]
        return [keys.index(key) for key in keys]

    def used(self, names: Sequence[str]) -> list[tuple[int, str]]:
        """(number, access) of the inputs."""
        return [(t, self.access[t]) for t, name in enumerate(names) if name.startswith("in")]


def _fold(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Loops of more than one step, by the last tensor's stride, merged where possible."""
    ordered = sorted((d for d in loops if d.size > 1), key=lambda d: -d.steps[-1])
    folded: list[Loop] = []
    for loop in ordered:
        if folded and folded[-1].steps == tuple(s * loop.size for s in loop.steps):
            folded[-1] = Loop(folded[-1].size * loop.size, loop.steps)
        else:
            folded.append(loop)
    return tuple(folded) or (Loop(1, (1,) * len(loops[0].steps)),)


def _shape(
    loops: tuple[Loop, ...], operands: Sequence[Operand], outputs: int, adapter: Adapter, most: int
) -> Shape:
    """The largest groups that every output allows, and the best access of each tensor to them.

    Groups have at most `most` elements, or as many as fill a word.
    """
    made = operands[-outputs:]
    firsts = len(operands) - outputs
    least = max(1, *(32 // o.bits for o in made))
    widths = [o.bits for o in operands if o.field]
    halves = adapter.exact_halves
    # The widest tensors are reached one unit at a time: neighbours reach neighbours. Only a single
    # wide input may be reached several units at a time, so that a narrower output gets whole units:
    # a conversion of FLOAT32 to FLOAT16 ran at 0.80 of the limit with half units, at 1.01 with
    # whole ones; comparisons of two inputs fell from 1.05 to 0.50 that way.
    wide = UNIT // max(widths)
    group = wide
    if not adapter.is_cpu and len(widths) == 1 + outputs and max(o.bits for o in made) < widths[0]:
        group = min(UNIT // min(widths), MOST_UNITS * wide)
    group = max(least, min(most, group))
    count = prod(loop.size for loop in loops)
    for size in dict.fromkeys((group, max(least, wide), least)):
        if any(o.shares and count % size for o in made):
            continue  # the last group would reach beyond the work
        if all(_in_groups(loops, firsts + n, o.start, size) for n, o in enumerate(made)):
            access = tuple(_access(loops, t, o, size, firsts) for t, o in enumerate(operands))
            return Shape(loops, size, access, False, halves)
    loads = tuple("each" if o.field else "place" for o in operands[:firsts])
    packed = all(
        not o.start and not o.shares and _is_packed(loops, firsts + n) for n, o in enumerate(made)
    )
    if packed:
        return Shape(loops, least, loads + ("words",) * outputs, True, halves)
    stores = tuple("merge" if o.bits < 32 else "words" for o in made)
    return Shape(loops, 1, loads + stores, False, halves)


def _in_groups(loops: tuple[Loop, ...], t: int, start: int, group: int) -> bool:
    """Whether a tensor's elements come in whole groups side by side; one line may end in a part."""
    *outer, last = loops
    if last.steps[t] != 1:
        return group == 1
    if start % group:
        return False
    if not outer:
        return True
    return last.size % group == 0 and all(d.steps[t] % group == 0 for d in outer)


def _access(loops: tuple[Loop, ...], t: int, operand: Operand, group: int, firsts: int) -> str:
    bits = operand.bits
    if not operand.field:
        return "place"
    if loops[-1].steps[t] == 0:
        return "splat"
    if group > 1 and _in_groups(loops, t, operand.start, group) and group * bits % 32 == 0:
        if group * bits == UNIT // 2 and t < firsts:
            return "half"
        return "units" if group * bits % UNIT == 0 else "words"
    return "words" if group == 1 and bits >= 32 else "each"


def _is_packed(loops: tuple[Loop, ...], t: int) -> bool:
    """Whether the loops step through a tensor's addresses one after the other."""
    step = 1
    for loop in reversed(loops):
        if loop.steps[t] != step:
            return False
        step *= loop.size
    return True


def _parameter(parameter: Parameter, word: int) -> str:
    """WGSL that reads a parameter from the uniform buffer."""

    def at(n: int) -> str:
        return f"params.values{n // 8}[{n % 8 // 4}][{n % 4}]"

    kind = class_of(parameter.data_type)
    if kind == "u32":
        return at(word)
    if kind in ("f32", "i32"):
        return f"bitcast<{kind}>({at(word)})"
    return f"vec2<u32>({at(word)}, {at(word + 1)})"


def _lookup(name: str, operand: Operand, t: int) -> str:
    """A function that reads any element of a tensor."""
    bits, load = operand.bits, f"load_look{t}"
    value = f"vec2<u32>({load}(i), 0u)"
    if bits == 64:
        value = f"vec2<u32>({load}(2u * i), {load}(2u * i + 1u))"
    elif bits < 32:
        per, mask = 32 // bits, (1 << bits) - 1
        value = f"vec2<u32>(({load}(i / {per}u) >> (i % {per}u * {bits}u)) & {mask}u, 0u)"
    made = wgsl_type(operand.data_type)
    return (
        f"fn {name}_at(i: u32) -> {made} "
        f"{{ return {operand.data_type.name.lower()}_decode({value}); }}"
    )


def _places(shape: Shape, names: Sequence[str], index: str, suffix: str, group: int) -> list[str]:
    """Where each tensor's element number `index` lies, or the first one of a group."""
    lines = [f"  var rest{suffix} = {index};"]
    at = [f"at{t}_{suffix}" for t in range(len(names))]
    lines += [f"  var {a} = params.start{t};" for t, a in enumerate(at)]
    rank = len(shape.loops)
    for d in reversed(range(rank)):
        where = f"[{d // 4}][{d % 4}]"
        scale = f" * {group}u" if d == rank - 1 and group > 1 else ""
        if d == 0:
            step = f"rest{suffix}{scale}"
        else:
            size = f"params.sizes{where}"
            size = f"({size} / {group}u)" if scale else size
            step = f"c{suffix}_{d}"
            lines.append(f"  let {step}_ = rest{suffix} / {size};")
            lines.append(f"  let {step} = (rest{suffix} - {step}_ * {size}){scale};")
            lines.append(f"  rest{suffix} = {step}_;")
        lines += [f"  {a} += {step} * params.strides{t}{where};" for t, a in enumerate(at)]
    return lines


def _load(operand: Operand, t: int, k: int, shape: Shape, access: str, binding: int) -> list[str]:
    """Element `k` of the group as the value `x{t}_{k}`, through the binding of a number."""
    bits, name = operand.bits, operand.data_type.name.lower()
    value = f"x{t}_{k}"
    if access == "splat" and k > 0:
        return []
    if access == "units":
        per = UNIT // bits
        lines = []
        if k % per == 0:
            first = f"at{t}_ / {per}u + {k // per}u"
            lines.append(f"  let u{t}_{k // per} = load_in{binding}({first});")
        word = k % per * bits // 32
        unit = f"u{t}_{k // per}"
        low, high = f"{unit}[{word}]", f"{unit}[{min(3, word + 1)}]"
        return [*lines, f"  let {value} = {name}_decode({_bits(bits, k, low, high)});"]
    if access == "half":
        word = k * bits // 32
        lines = []
        if k == 0:
            per = UNIT // bits
            lines.append(f"  let u{t} = load_in{binding}(at{t}_ / {per}u);")
            odd = f"at{t}_ % {per}u != 0u"
            lines.append(f"  let h{t} = select(u{t}.xy, u{t}.zw, {odd});")
        low, high = f"h{t}[{word}]", f"h{t}[{min(1, word + 1)}]"
        return [*lines, f"  let {value} = {name}_decode({_bits(bits, k, low, high)});"]
    if access == "words" and shape.group * bits >= 32:
        word = k * bits // 32
        lines = []
        base = f"at{t}_ * {bits // 32}u" if bits >= 32 else f"at{t}_ / {32 // bits}u"
        if bits >= 32 or k % (32 // bits) == 0:
            lines.append(f"  let w{t}_{word} = load_in{binding}({base} + {word}u);")
        if bits == 64:
            lines.append(f"  let w{t}_{word + 1} = load_in{binding}({base} + {word + 1}u);")
        return [
            *lines,
            f"  let {value} = {name}_decode({_bits(bits, k, f'w{t}_{word}', f'w{t}_{word + 1}')});",
        ]
    if shape.linear:
        at = f"at{t}_{k}"
    else:
        inner = len(shape.loops) - 1
        step = f" + {k}u * params.strides{t}[{inner // 4}][{inner % 4}]" if k else ""
        at = f"(at{t}_{step})"
    if access == "place":
        return [f"  let {value} = {at};"]
    if bits >= 32:
        words = bits // 32
        low = f"load_in{binding}({at} * {words}u)"
        high = f"load_in{binding}({at} * {words}u + 1u)" if bits == 64 else "0u"
        return [f"  let {value} = {name}_decode(vec2<u32>({low}, {high}));"]
    per, mask = 32 // bits, (1 << bits) - 1
    element = f"load_in{binding}({at} / {per}u) >> ({at} % {per}u * {bits}u)"
    return [f"  let {value} = {name}_decode(vec2<u32>(({element}) & {mask}u, 0u));"]


def _bits(bits: int, k: int, low: str, high: str) -> str:
    """The bits of element `k` of a group, given its word, or both of its words."""
    if bits == 64:
        return f"vec2<u32>({low}, {high})"
    if bits == 32:
        return f"vec2<u32>({low}, 0u)"
    shift, mask = k * bits % 32, (1 << bits) - 1
    return f"vec2<u32>(({low} >> {shift}u) & {mask}u, 0u)"


def _store(operand: Operand, t: int, n: int, shape: Shape, access: str) -> list[str]:
    """The group's elements `y{n}_*`, put together into words and written."""
    bits, group = operand.bits, shape.group
    at = f"at{t}_0" if shape.linear else f"at{t}_"
    if access == "merge":
        per, mask = 32 // bits, (1 << bits) - 1
        shift = f"({at} % {per}u * {bits}u)"
        return [f"  merge_out{n}({at} / {per}u, {mask}u << {shift}, y{n}_0.x << {shift});"]
    words = []
    for w in range(group * bits // 32):
        if bits == 64:
            words.append(f"y{n}_{w // 2}.{'xy'[w % 2]}")
        elif bits == 32:
            words.append(f"y{n}_{w}.x")
        else:
            per = 32 // bits
            parts = [f"(y{n}_{w * per + j}.x << {j * bits}u)" for j in range(per)]
            words.append(" | ".join(parts))
    if access == "units":
        units = [", ".join(words[u : u + 4]) for u in range(0, len(words), 4)]
        at = f"{at} / {UNIT // bits}u"
        return [f"  store_out{n}({at} + {u}u, vec4<u32>({w}));" for u, w in enumerate(units)]
    base = f"{at} * {bits // 32}u" if bits >= 32 else f"{at} / {32 // bits}u"
    lines = []
    for w, word in enumerate(words):
        first = w * 32 // bits  # element of the group that the word begins with
        store = f"store_out{n}({base} + {w}u, {word});"
        if first and (shape.linear or len(shape.loops) == 1):  # a group may end behind the last one
            store = f"if (number * {group}u + {first}u < params.elements) {{ {store} }}"
        lines.append(f"  {store}")
    return lines
