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
from dmlgpu.plan.mapped import Rule, mapped
from dmlgpu.plan.values import param_lines

WG_SIZE = 256
UNIT = 128  # bits that an invocation makes


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

    def leaves(self, sizes: Sequence[int]) -> bool:
        """Whether loops of these sizes walk outside of the source."""
        last = self.start + sum((n - 1) * step for n, step in zip(sizes, self.steps, strict=True))
        return self.start < 0 or last >= self.size


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
        unit = UNIT // self.source[1].data_type.bits
        found = None if adapter.is_cpu else _rows(self.loops, self.axes, unit)
        return Plan((self._dispatch(*found),)) if found else self.elements.plan(adapter)

    def _dispatch(self, sizes: Sequence[int], axes: Sequence[Axis]) -> Dispatch:
        """One invocation for each unit. The innermost axis is the last."""
        bits = self.source[1].data_type.bits
        count = -(-prod(sizes) * bits // UNIT)
        filled = self.otherwise * (0xFFFFFFFFFFFFFFFF // ((1 << bits) - 1))
        params: dict[str, Value] = {
            "count": count,
            "row": sizes[-1],
            "filled_low": filled & 0xFFFFFFFF,
            "filled_high": filled >> 32,
            "sizes": eight(sizes),
        }
        for i, axis in enumerate(axes):
            params[f"size{i}"] = axis.size
            params[f"stride{i}"] = axis.stride
            params[f"begin{i}"] = axis.start & 0xFFFFFFFF
            params[f"steps{i}"] = eight(axis.steps)
            for name, value in (axis.rule.values if axis.rule else {}).items():
                params[f"{name}{i}"] = value
        return Dispatch(
            "move/framed",
            -(-count // WG_SIZE),
            params,
            {"input": self.source[0], "output": self.output[0]},
            constants={"WG_SIZE": WG_SIZE, "BITS": bits},
            code="\n".join([*param_lines(params), *_code(sizes, axes)]),
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
        rule = rules.get(d, Rule("c$"))
        axes.append(Axis(size, stride, steps, rule.start, None if rule.inside else rule))
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
        sizes, found = _merged(sizes, found, k)
    inner = [axis for axis in found if sizes and axis.steps[-1]]
    if len(inner) != 1 or (inner[0].steps[-1], inner[0].stride) != (1, 1):
        return None
    if len(sizes) > MAX_RANK or sizes[-1] < unit:
        return None
    return sizes, [*(axis for axis in found if axis is not inner[0]), inner[0]]


def _merged(sizes: list[int], axes: list[Axis], k: int) -> tuple[list[int], list[Axis]]:
    """Loops `k` and the next as one, where they are steps of two axes that lie as one."""
    near = [a for a in axes if a.steps[k + 1]]
    far = [a for a in axes if a.steps[k]]
    if len(near) != 1 or len(far) != 1 or near == far:
        return sizes, axes
    (inner,), (outer,) = near, far
    length = sizes[k + 1]
    is_whole = inner.size == length and not inner.start and sum(inner.steps) == 1
    is_moved = outer.rule is not None and outer.leaves(sizes)
    is_one = outer.steps[k] == 1 and outer.stride == length * inner.stride
    if not (is_whole and is_one) or is_moved:
        return sizes, axes
    steps = tuple(1 if d == k else n * length for d, n in enumerate(outer.steps) if d != k + 1)
    one = Axis(outer.size * length, inner.stride, steps, outer.start * length)
    rest = [a for a in axes if a is not inner and a is not outer]
    rest = [replace(a, steps=(*a.steps[: k + 1], *a.steps[k + 2 :])) for a in rest]
    return [*sizes[:k], sizes[k] * length, *sizes[k + 2 :]], [*rest, one]


def _code(sizes: Sequence[int], axes: Sequence[Axis]) -> list[str]:
    """Where a row of the output begins in the source, and what it takes outside of it."""
    last, inner = len(sizes) - 1, axes[-1]
    lines = ["fn row_at(number: u32) -> Row {", "  var rest = number;"]
    for d in reversed(range(last)):
        size = of_eight("sizes", d)
        lines.append(f"  let d{d} = rest{f' % {size}; rest /= {size}' if d else ''};")
    base, inside = ["0u"], ["true"]
    for i, axis in enumerate(axes):
        walked = [d for d in range(last) if axis.steps[d]]
        terms = [f"d{d} * {of_eight(f'steps{i}', d)}" for d in walked]
        lines.append(f"  let c{i} = {' + '.join([f'params.begin{i}', *terms])};")
        if axis is inner:
            break
        at = f"c{i}"
        if axis.leaves(sizes) and axis.rule:
            before, at = _resolved(axis.rule, i)
            lines.append(f"  {before}")
        elif axis.leaves(sizes):
            inside.append(f"c{i} < params.size{i}")
        base.append(f"({at}) * params.stride{i}")
    i = len(axes) - 1
    is_mapped = inner.rule is not None and inner.leaves(sizes)
    before, at = _resolved(inner.rule, i) if is_mapped and inner.rule else ("", f"c{i}")
    return [
        *lines,
        f"  return Row({' + '.join(base)}, c{i}, {' && '.join(inside)});",
        "}",
        f"const MAPPED = {str(is_mapped).lower()};",
        f"fn length() -> u32 {{ return params.size{i}; }}",
        f"fn beyond(c{i}: u32) -> u32 {{ {before} return {at}; }}",
    ]


def _resolved(rule: Rule, i: int) -> tuple[str, str]:
    """The statements and the coordinate of a rule, in WGSL."""
    texts = (text.replace("$", str(i)) for text in (rule.before, rule.source))
    before, at = (re.sub(r"\bp_(\w+)", r"params.\1", text) for text in texts)
    return before, at
