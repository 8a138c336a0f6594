"""Copies of rows with other elements around them: paddings, and windows that reach beyond an edge.

Where a row of a packed output takes a row of the source, its elements are neighbours in both: an
invocation makes 16 bytes of them by shifts, wherever the rows begin. Only elements outside of the
source are a constant, or are looked up one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import MAX_RANK, TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight, of_eight
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.mapped import Rule, mapped
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.traffic import bytes_written
from dmlgpu.plan.words import UNIT_BITS, element_at, param_lines, words_of

WG_SIZE = 256
LONG_RUN = 8192  # bits of a run, from which on few units hold two of them
FEW = 2  # a frame is at most one of so many parts of the output


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of the source, and the coordinate in it that the loops of the output walk.

    The coordinate is `start` and so many `steps` for each step of a loop. Outside of the source
    the rule says which one is taken, or else there is a constant.
    """

    size: int
    stride: int
    steps: tuple[int, ...]
    start: int = 0
    rule: Rule | None = None
    together: int = 1  # elements that have one coordinate of the rule

    def leaves(self, sizes: Sequence[int]) -> bool:
        """Whether loops of these sizes walk outside of the source."""
        last = self.start + sum((n - 1) * step for n, step in zip(sizes, self.steps, strict=True))
        return self.start < 0 or last >= self.size


# Row: pad by 1 uint8 bandwidth: 0.94 of a copy, 0.34 as element-wise work.
@dataclass(frozen=True, slots=True)
class Framed:
    """An output that is `otherwise` where its loops leave the source, and else a copy of it.

    `elements` does the same for every layout and adapter, element by element.
    """

    source: tuple[str, TensorDesc]  # with its field
    output: tuple[str, TensorDesc]
    loops: tuple[tuple[int, int], ...]  # sizes, and steps of the output
    axes: tuple[Axis, ...]
    otherwise: int  # bits
    elements: ElementWise

    def traffic(self) -> dict[str, int]:
        """Every element is moved once."""
        return self.elements.traffic()

    def plan(self, adapter: Adapter) -> Plan:
        """One dispatch: of units where there are rows of them, else element by element."""
        if adapter.is_cpu and (cut := self._cut(adapter)):
            return cut
        unit = UNIT_BITS // self.source[1].data_type.bits
        found = _rows(self.loops, self.axes, unit)
        return Plan((self._dispatch(*found),)) if found else self.elements.plan(adapter)

    def _cut(self, adapter: Adapter) -> Plan | None:
        """A dispatch for each side of the frame, then the rows inside of it; or None.

        Row: pad by 1 float32 bandwidth, lavapipe 25.0: 10 ms instead of 30. Only the elements of
        the frame are looked up; a driver that runs both sides of a branch would do that for all.
        """
        (name, source), (field, output) = self.source, self.output
        largest = max(t.total_tensor_size_in_bytes for t in (source, output))
        found = self._box()
        if found is None or bytes_written(output) < adapter.worth_a_dispatch:
            return None
        if largest > adapter.max_binding:
            return None
        box, loops, base = found
        inside = prod(loop.size for loop in loops)
        out_base = sum(low * step for (low, _), (_, step) in zip(box, self.loops, strict=True))
        move = Move(source, output, loops, base, None, name, field, out_base)
        if inside * FEW < output.element_count or not move.layout(adapter).has_long_rows:
            return None
        works = []
        sizes = [n for n, _ in self.loops]
        for d, (low, high) in enumerate(box):
            first = [low for low, _ in box[:d]]
            beside = [high - low for low, high in box[:d]]
            rest = sizes[d + 1 :]
            for begin, end in ((0, low), (high, sizes[d])):
                if begin < end:
                    at = [*first, begin, *(0 for _ in rest)]
                    works.append(self.elements.part(at, [*beside, end - begin, *rest]))
        return in_turn([*(work.plan(adapter) for work in works), move.plan(adapter)])

    def _box(self) -> tuple[list[tuple[int, int]], tuple[Dim, ...], int] | None:
        """Where each loop enters and leaves the source, the loops between, and where they begin."""
        if len(self.axes) != len(self.loops):
            return None
        box, loops, base = [], [], 0
        for d, (axis, (size, out)) in enumerate(zip(self.axes, self.loops, strict=True)):
            if axis.steps != tuple(int(k == d) for k in range(len(self.loops))):
                return None
            low, high = max(0, -axis.start), min(size, axis.size - axis.start)
            if low >= high:
                return None
            box.append((low, high))
            loops.append(Dim(high - low, out, axis.stride))
            base += (low + axis.start) * axis.stride
        return box, tuple(loops), base

    def _dispatch(self, sizes: Sequence[int], axes: Sequence[Axis]) -> Dispatch:
        """One invocation for each unit. The innermost axis is the last."""
        bits = self.source[1].data_type.bits
        count = -(-prod(sizes) * bits // UNIT_BITS)
        params: dict[str, Value] = {
            "count": count,
            "row": sizes[-1],
            "otherwise": self.otherwise & 0xFFFFFFFF,
            "otherwise_high": self.otherwise >> 32,
            "sizes": eight(sizes),
        }
        for i, axis in enumerate(axes):
            params[f"size{i}"] = axis.size
            params[f"stride{i}"] = axis.stride
            params[f"begin{i}"] = axis.start & 0xFFFFFFFF
            params[f"steps{i}"] = eight(axis.steps)
            if axis.rule:
                params[f"first{i}"] = axis.rule.start & 0xFFFFFFFF
                params |= {f"{name}{i}": value for name, value in axis.rule.values.items()}
        return Dispatch(
            "move/framed",
            -(-count // WG_SIZE),
            params,
            {"input": self.source[0], "output": self.output[0]},
            constants={"WG_SIZE": WG_SIZE, "BITS": bits},
            code="\n".join([*param_lines(params), *_code(sizes, axes, bits)]),
        )


def framed(
    source: tuple[str, TensorDesc],
    output: tuple[str, TensorDesc],
    rules: Mapping[int, Rule],
    otherwise: int = 0,
) -> Framed:
    """A copy in which coordinates of some dimensions are moved, and beyond the source mapped.

    As `mapped`, with rules that keep every coordinate which is one of the source.
    """
    sizes, strides = source[1].sizes, source[1].effective_strides
    axes = []
    for d, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps = tuple(int(k == d) for k in range(len(sizes)))
        rule = rules.get(d)
        start = rule.start if rule else 0
        axes.append(Axis(size, stride, steps, start, None if rule and rule.inside else rule))
    loops = tuple(zip(output[1].sizes, output[1].effective_strides, strict=True))
    elements = mapped(source, output, rules, otherwise)
    return Framed(source, output, loops, tuple(axes), otherwise, elements)


def _rows(
    loops: Sequence[tuple[int, int]], axes: Sequence[Axis], unit: int
) -> tuple[list[int], list[Axis]] | None:
    """The fewest loops of a packed output whose rows are rows of the last axis, or None."""
    order = sorted((d for d, (n, _) in enumerate(loops) if n > 1), key=lambda d: -loops[d][1])
    sizes = [loops[d][0] for d in order]
    if any(loops[d][1] != prod(sizes[k + 1 :]) for k, d in enumerate(order)):
        return None
    found = [replace(axis, steps=tuple(axis.steps[d] for d in order)) for axis in axes]
    found = [a for a in found if any(a.steps) or a.start or a.leaves(sizes)]
    for k in reversed(range(len(sizes) - 1)):
        sizes, found = _merged(sizes, found, k, unit)
    inner = [axis for axis in found if sizes and axis.steps[-1]]
    if len(inner) != 1 or len(sizes) > MAX_RANK or sizes[-1] < unit:
        return None
    return sizes, [*(axis for axis in found if axis is not inner[0]), inner[0]]


def _merged(sizes: list[int], axes: list[Axis], k: int, unit: int) -> tuple[list[int], list[Axis]]:
    """Loops `k` and the next as one, where they are steps of two axes that lie as one.

    Where a rule says what is outside, only to have rows that are not shorter than a unit.
    """
    near = [a for a in axes if a.steps[k + 1]]
    far = [a for a in axes if a.steps[k]]
    if len(near) != 1 or len(far) != 1 or near == far:
        return sizes, axes
    (inner,), (outer,) = near, far
    length = sizes[k + 1]
    is_whole = inner.size == length and not inner.start and sum(inner.steps) == 1
    is_short = k + 2 == len(sizes) and length < unit
    is_one = outer.steps[k] == 1 and outer.stride == length * inner.stride
    if not (is_whole and is_one) or (outer.rule and not is_short):
        return sizes, axes
    steps = tuple(1 if d == k else n * length for d, n in enumerate(outer.steps) if d != k + 1)
    start = outer.start * length
    one = Axis(outer.size * length, inner.stride, steps, start, outer.rule, length)
    rest = [a for a in axes if a is not inner and a is not outer]
    rest = [replace(a, steps=(*a.steps[: k + 1], *a.steps[k + 2 :])) for a in rest]
    return [*sizes[:k], sizes[k] * length, *sizes[k + 2 :]], [*rest, one]


def _code(sizes: Sequence[int], axes: Sequence[Axis], bits: int) -> list[str]:
    """Where rows of the output lie in the source, and the elements of a unit that leaves one."""
    inner, i = axes[-1], len(axes) - 1
    # Of short rows so many units leave one that all are made element by element.
    is_long = sizes[-1] * bits >= LONG_RUN
    is_straight = inner.steps[-1] == 1 and inner.stride == 1 and bits < 32 and is_long
    is_wide = bits == 64
    return [
        f"#bind read input: {'vec2<u32>' if is_wide else 'u32'}",
        f"fn word_at(i: u32) -> u32 {{ return load_input(i){'.x' if is_wide else ''}; }}",
        *_counting(sizes),
        *(x for k, a in enumerate(axes) if a.rule for x in _outside(a.rule, k, a.together)),
        *_row(sizes, axes),
        f"const STRAIGHT = {str(is_straight).lower()};",
        f"fn length() -> u32 {{ return params.size{i}; }}",
        *_elements(sizes, inner, i, bits),
    ]


def _counting(sizes: Sequence[int]) -> list[str]:
    """The coordinates of a row by its number, and those of the next row."""
    outer = range(len(sizes) - 1)
    size = [of_eight("sizes", d) for d in outer]
    lines = [
        f"struct Place {{ {' '.join(f'd{d}: u32,' for d in outer) or 'd0: u32,'} }}",
        "fn place(number: u32) -> Place {",
        f"  let n{max(0, len(outer) - 1)} = number;",
    ]
    for d in reversed(outer[1:]):
        lines.append(f"  let n{d - 1} = n{d} / {size[d]}; let d{d} = n{d} - n{d - 1} * {size[d]};")
    lines += [
        f"  return Place({', '.join(['n0', *(f'd{d}' for d in outer[1:])])});",
        "}",
        "fn after(row: Place) -> Place {",
        "  var next = row;",
        "  var carry = 1u;",
    ]
    for d in reversed(outer):
        lines.append(f"  next.d{d} += carry;")
        if d:
            lines.append(f"  carry = select(0u, 1u, next.d{d} == {size[d]});")
            lines.append(f"  next.d{d} -= carry * {size[d]};")
    return [*lines, "  return next;", "}"]


def _row(sizes: Sequence[int], axes: Sequence[Axis]) -> list[str]:
    """Where a row lies in the source: all of it behind the end, where the source has none."""
    lines = ["fn row_at(at: Place) -> Row {"]
    base, inside = ["0u"], ["true"]
    for i, axis in enumerate(axes):
        walked = [d for d in range(len(sizes) - 1) if axis.steps[d]]
        terms = [f"at.d{d} * {of_eight(f'steps{i}', d)}" for d in walked]
        lines.append(f"  let c{i} = {' + '.join([f'params.begin{i}', *terms])};")
        if axis is axes[-1]:
            break
        if axis.leaves(sizes) and not axis.rule:
            inside.append(f"c{i} < params.size{i}")
        at = f"outside{i}(c{i})" if axis.rule else f"c{i}"
        base.append(f"{at} * params.stride{i}")
    start = f"select(length(), c{i}, {' && '.join(inside)})"
    return [*lines, f"  return Row({' + '.join(base)}, {start});", "}"]


def _elements(sizes: Sequence[int], inner: Axis, i: int, bits: int) -> list[str]:
    """A unit of elements that are looked up one by one, all before the first is used."""
    every = range(UNIT_BITS // bits)
    step = f"{inner.steps[-1]}u"
    lines = [
        "fn elements(row: Row, next: Row, x: u32, left: u32) -> vec4<u32> {",
        f"  let a = row.start + x * {step};",
        f"  let b = next.start - left * {step};",
    ]
    for k in every:
        here = f"{k}u < left"
        lines.append(f"  let c{k} = select(b, a, {here}) + {k * inner.steps[-1]}u;")
        at = f"outside{i}(c{k})" if inner.rule else f"c{k}"
        base = f"select(next.base, row.base, {here})"
        lines.append(f"  let e{k} = {base} + {at} * params.stride{i};")
    lines += [f"  let v{k} = {element_at(bits, 'load_input', f'e{k}')};" for k in every]
    picked = [f"v{k}" for k in every]
    if inner.rule is None:
        lines.append("  let otherwise = vec2<u32>(params.otherwise, params.otherwise_high);")
        lines += [f"  let y{k} = select(otherwise, v{k}, c{k} < length());" for k in every]
        picked = [f"y{k}" for k in every]
    return [*lines, f"  return vec4<u32>({', '.join(words_of(bits, picked))});", "}"]


def _outside(rule: Rule, i: int, together: int) -> list[str]:
    """A function from any coordinate of axis `i` to the one that its rule says."""
    texts = (re.sub(r"\bp_(\w+)", r"params.\1", t) for t in (rule.before, rule.source))
    before, at = (text.replace("$", str(i)) for text in texts)
    return [
        f"fn outside{i}(at: u32) -> u32 {{",
        f"  let place = at - params.begin{i};",
        f"  let c{i} = place / {together}u + params.first{i};",
        f"  {before}",
        f"  return ({at}) * {together}u + place % {together}u;",
        "}",
    ]
