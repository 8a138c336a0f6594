"""Lookups of element-wise work: elements of a tensor that an expression names by their places.

They are read from memory, or where all that the elements of a row look up lies in a line that fits,
from workgroup memory: a workgroup takes the line in, then makes the groups that begin in the row.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgpu.plan.dispatch import Value
from dmlgpu.plan.values import Expression, Operand, wgsl_type
from dmlgpu.plan.words import element_at, word_type

ROUNDED = 256  # words or pairs of them, to a multiple of which workgroup memory is asked for


@dataclass(frozen=True, slots=True)
class Line:
    """What the elements of one step of the outermost loop look up: a piece of a tensor.

    A workgroup holds it, and those of as many steps as it makes at once. A group that goes on in
    the next step looks the rest of it up in memory.
    """

    name: str  # of the lookup
    start: int  # elements
    step: int
    length: int
    count: int  # steps of the outermost loop
    invocations: int  # most of a workgroup

    @property
    def params(self) -> dict[str, Value]:
        """Where pieces lie, as parameters of a dispatch."""
        return {
            "line_start": self.start,
            "line_step": self.step & 0xFFFFFFFF,
            "line_length": self.length,
            "lines": self.count,
        }

    def room(self, bits: int) -> int:
        """Words, or elements of two, that hold a piece wherever it begins in one."""
        words = self.length if bits >= 32 else 1 + -(-self.length * bits // 32)
        return -(-words // ROUNDED) * ROUNDED  # so that few pipelines serve all lengths

    def nbytes(self, bits: int) -> int:
        """Bytes of workgroup memory that hold a piece."""
        return self.room(bits) * max(32, bits) // 8

    def workgroup(self, groups: int) -> int:
        """Invocations of a workgroup, where a step has so many groups: half where they are few."""
        return self.invocations if groups >= self.invocations else self.invocations // 2


def lookup(name: str, operand: Operand, load: str) -> str:
    """A function that reads any element of a tensor."""
    decode = f"{operand.data_type.name.lower()}_decode"
    made = wgsl_type(operand.data_type)
    return (
        f"fn {name}(i: u32) -> {made} {{ return {decode}({element_at(operand.bits, load, 'i')}); }}"
    )


def held(line: Line, operand: Operand, t: int, repeats: int, *, beyond: bool) -> list[str]:
    """What takes pieces of a lookup into workgroup memory, and what reads elements of them.

    `beyond`: groups may go on behind a piece. In place of one behind the last there is the first.
    """
    per, name, room = max(1, 32 // operand.bits), line.name, line.room(operand.bits)
    kind, made = word_type(operand.bits), wgsl_type(operand.data_type)
    lines = [
        f"var<workgroup> wg_{name}: array<{kind}, {repeats * room}>;",
        "var<private> line: u32;",
        "var<private> line_first: u32;",  # element of the tensor
        "var<private> line_words: u32;",
        "var<private> line_at: u32;",
        "fn use_line(r: u32) {",
        "  let other = line + r * params.sizes[0][0];",
        "  let number = select(line, other, other < params.lines);",
        "  let start = params.line_start + number * params.line_step;",
        f"  let first = start / {per}u;",
        f"  line_first = first * {per}u;",
        f"  line_words = (start + params.line_length - 1u) / {per}u - first + 1u;",
        f"  line_at = r * {room}u;",
        "}",
        "fn hold_line(r: u32, lane: u32) {",
        "  use_line(r);",
        "  for (var k = lane; k < line_words; k += 4u * WG_SIZE) {",
        "    #repeat 4: let k$ = min(k + $u * WG_SIZE, line_words - 1u);",
        f"    #repeat 4: let w$ = load_look{t}(line_first / {per}u + k$);",
        f"    #repeat 4: wg_{name}[line_at + k$] = w$;",
        "  }",
        "}",
        f"fn word_of_line(k: u32) -> {kind} {{ return wg_{name}[line_at + k]; }}",
        lookup(f"{name}_held", operand, "word_of_line"),
    ]
    head = f"(i: u32) -> {made} {{ let k = i - line_first;"
    if not beyond:
        return [*lines, f"fn {name}_at{head} return {name}_held(k); }}"]
    outside = f"k >= line_words * {per}u"
    otherwise = f"if ({outside}) {{ return {name}_beyond(i); }}"
    return [
        *lines,
        lookup(f"{name}_beyond", operand, f"load_look{t}"),
        f"fn {name}_at{head} {otherwise} return {name}_held(k); }}",
        "var<private> strayed: bool;",
        f"fn {name}_near{head} strayed = strayed | ({outside}); return {name}_held(k); }}",
    ]


def near(line: Line, expression: Expression) -> Expression:
    """The expression with elements that are held, by functions of `held`.

    Elements behind what is held only set `strayed`, and the values mean nothing then.
    """
    texts = (
        t.replace(f"{line.name}_at(", f"{line.name}_near(")
        for t in (expression.result, expression.steps)
    )
    return Expression(*texts)


def by_lines(group: int, repeats: int) -> list[str]:
    """A function that makes the groups which begin in one step of the outermost loop."""
    length = "params.sizes[0][1]"
    return [
        "fn make_groups(workgroup: u32, lane: u32) {",
        "  if (workgroup >= params.sizes[0][0]) { return; }",
        "  line = workgroup;",
        f"  #repeat {repeats}: hold_line($u, lane);",
        "  workgroupBarrier();",
        f"  let begin = (workgroup * {length} + {group - 1}u) / {group}u;",
        f"  let end = ((workgroup + 1u) * {length} + {group - 1}u) / {group}u;",
        "  for (var n = begin + lane; n < end; n += WG_SIZE) { make_group(n); }",
        "}",
    ]
