"""Element-wise work on software adapters: which groups a vector of invocations makes.

A software driver runs the invocations of a vector at once, one vector after the other. To begin one
takes it as long as some loads and stores, so each makes many groups. Its invocations lie side by
side: a workgroup apart, what a vector reaches would fall into the same few places of a cache.
Negating 16 MiB of `float32` took 4.0 times NumPy's time on lavapipe 25.0 by one group of each
invocation, 2.3 by 8 that lie a workgroup apart and 3.0 by 16, and 1.3 by 32 side by side.

A vector stays in one row of the loops, so that addresses are found once for all its groups: to
divide takes as long as several loads.

That a vector makes many groups is a loop around one. What all groups read of the parameters is read
before it: drivers leave it in the loop, and fused functions of a few numbers took twice as long so.

SwiftShader takes minutes to compile some dozens of choices in a loop, twice as long for each: 20
took 1 s, 24 12 s. Expressions that choose so often, and those of 16 remainders, are not made in
turn; what it takes to begin counts less for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dmlgpu.plan.dispatch import VECTOR, Value
from dmlgpu.plan.reading import Loop, places
from dmlgpu.plan.values import Expression

MOST_TURNS = 32  # groups that each makes one after the other
LEAST_TURNS = 8  # in a row, for vectors to stay there
ENOUGH = 64  # workgroups that keep all cores busy
MOST_TEXT = 160  # characters of an expression whose choices are few, whatever it calls
MOST_CHOICES = 16  # of a group, in longer ones
HIDDEN = 4  # choices for which other functions count, which were not looked at
FEW = 4  # elements of a group whose remainders are
_REMAINDERS = re.compile(r"\w+_(floor_divide|mod|rem|remainder)")
_CHOOSING = re.compile(r"select|min|max|\w+_(min|max|lt|le|eq)")
_PLAIN = re.compile(
    r"[fiu]32(_(add|sub|mul|neg|abs|and|or|xor|not|is_nan|nan|from_[fiu]32))?|split_[iu]32|f32_div"
    r"|u?int\d+_wrap|bitcast|vec2|math_(exp|sqrt|floor|ceil|tanh)"
)
_CONVERTED = re.compile(r"\b([iu]32)_from_f32\(")


@dataclass(frozen=True, slots=True)
class Spans:
    """Rows of groups, each cut into spans that are as long as others, one for each vector."""

    rows: int
    along: int  # groups of a row
    by_rows: bool  # rows are those of the loops; else all groups are one
    wg_size: int

    @classmethod
    def of(cls, loops: Sequence[Loop], groups: int, *, is_linear: bool, wg_size: int) -> Spans:
        """The rows of `groups` in all, unless they are short or groups go on in the next."""
        rows = prod(d.size for d in loops[:-1])
        is_long = not is_linear and groups >= VECTOR * LEAST_TURNS * rows
        by_rows = is_long or (len(loops) == 1 and not is_linear)
        rows = rows if by_rows else 1
        return cls(rows, groups // rows, by_rows, wg_size)

    @property
    def count(self) -> int:
        """Spans of a row."""
        turns = max(1, min(MOST_TURNS, self.rows * self.along // (self.wg_size * ENOUGH)))
        return -(-self.along // (VECTOR * turns))

    @property
    def workgroups(self) -> int:
        """As many as the spans of all rows need."""
        return -(-self.rows * self.count * VECTOR // self.wg_size)

    @property
    def params(self) -> dict[str, Value]:
        """Parameters of the dispatch."""
        turns = -(-self.along // (VECTOR * self.count))
        return {"rows": self.rows, "along": self.along, "spans": self.count, "turns": turns}

    def code(self, rank: int, strides: Sequence[str], begun_with: Sequence[str]) -> list[str]:
        """`make_groups`: the groups of a span, from the steps of each tensor between groups."""
        head = [
            "fn make_groups(workgroup: u32, lane: u32) {",
            *begun_with,
            f"  let span = workgroup * (WG_SIZE / {VECTOR}u) + lane / {VECTOR}u;",
            "  let row = span / params.spans;",
            f"  let begin = (span - row * params.spans) * params.turns * {VECTOR}u;",
            f"  let stop = min(begin + params.turns * {VECTOR}u, params.along);",
            "  let end = select(0u, stop, row < params.rows);",
            f"  let first = begin + lane % {VECTOR}u;",
        ]
        turn = f"  for (var number = first; number < end; number += {VECTOR}u) {{"
        if not self.by_rows:
            return [*head, turn, "    make_group(number);", "  }", "}"]
        at = [f"at{t}_" for t in range(len(strides))]
        walks = [(name, f"params.start{t}", f"strides{t}") for t, name in enumerate(at)]
        begun = [f"  var {name} = {start};" for name, start, _ in walks]
        return [
            *head,
            *(places(rank - 1, "sizes", "row", walks) if rank > 1 else begun),
            *(f"  {name} += first * ({step});" for name, step in zip(at, strides, strict=True)),
            *(
                f"  let {name}step = {VECTOR}u * ({s});"
                for name, s in zip(at, strides, strict=True)
            ),
            turn,
            f"    make_group({', '.join(['number', *at])});",
            *(f"    {name} += {name}step;" for name in at),
            "  }",
            "}",
        ]


def is_brief(expression: Expression, group: int) -> bool:
    """Whether groups of so many elements are made in turn."""
    called = expression.calls
    if group > FEW and any(_REMAINDERS.fullmatch(name) for name in called):
        return False
    choices = sum(
        1 if _CHOOSING.fullmatch(name) else HIDDEN for name in called if not _PLAIN.fullmatch(name)
    )
    text = len(expression.steps) + len(expression.result)
    return text <= MOST_TEXT or choices * group <= MOST_CHOICES


def converting(line: str) -> str:
    """A line of WGSL that converts to integers by parts: software drivers do it lane by lane."""
    return _CONVERTED.sub(r"split_\1(", line)
