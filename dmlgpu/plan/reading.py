"""Readings: how an invocation finds and loads the elements of several tensors at one place.

Kernels that write elements and kernels that reduce them share it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dmlgpu.plan.dispatch import of_eight
from dmlgpu.plan.rows import Rows, quotient
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import (
    UNIT_BITS,
    bits_at,
    encoded,
    funnel,
    held_bits,
    value_in,
    word_at,
    word_type,
)


@dataclass(frozen=True, slots=True)
class Loop:
    """`size` steps through every tensor at once."""

    size: int
    steps: tuple[int, ...]


def folded(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Loops of more than one step, merged where every tensor allows it."""
    made: list[Loop] = []
    for loop in (d for d in loops if d.size > 1):
        if made and made[-1].steps == tuple(s * loop.size for s in loop.steps):
            made[-1] = Loop(made[-1].size * loop.size, loop.steps)
        else:
            made.append(loop)
    return tuple(made)


def in_groups(loops: Sequence[Loop], t: int, start: int, group: int) -> bool:
    """Whether a tensor's elements come in whole groups side by side; one line may end in a part."""
    *outer, last = loops
    if last.steps[t] != 1:
        return group == 1
    if start % group:
        return False
    if not outer:
        return True
    return last.size % group == 0 and all(d.steps[t] % group == 0 for d in outer)


@dataclass(frozen=True, slots=True)
class Reading:
    """How an invocation reads a group of neighbouring elements of several tensors.

    A tensor is loaded in `units` of 16 bytes (`units/2`: every second element of them is one of
    the group), in a `half` of one, in `words` side by side (or `words/2`), as a `run` of words in
    which elements begin anywhere (or `run/2`), element by element (`each`), once for each row
    (`row`), or once for the whole group where it is broadcast (`splat`). A `place` is calculated,
    not loaded. What is `held` lies in workgroup memory, element by element or as a `held_run` of
    words: `held{t}(b, first{t}, k)` is the k-th of the group that begins with element `a` of row
    `b`.
    The group of tensor `t` begins at `at{t}_`; its elements become the values `x{t}_0`, `x{t}_1`,
    ....
    """

    operands: tuple[Operand, ...]
    access: tuple[str, ...]
    group: int
    stride: str  # WGSL of the step between neighbours, with {} for the tensor's number
    is_scattered: bool = False  # every element has an address of its own, `at{t}_{k}`
    rows: Rows | None = None  # in which groups may go on, of tensors that are not one long row
    wide: bool = False  # shaders may have 64-bit integers
    on: frozenset[int] = frozenset()  # tensors that go on in the next row as if it were the same

    @classmethod
    def along(
        cls,
        operands: Sequence[Operand],
        loops: Sequence[Loop],
        group: int,
        stride: str,
        *,
        runs: bool = False,
        wide: bool = False,
    ) -> Reading:
        """The best access to groups along the last loop, the tensors' steps in their order.

        With `runs`, narrow elements side by side are read by words wherever they begin.
        """
        access = (_access(loops, t, o, group, runs) for t, o in enumerate(operands))
        return cls(tuple(operands), tuple(access), group, stride, wide=wide)

    @classmethod
    def in_rows(
        cls,
        operands: Sequence[Operand],
        loops: Sequence[Loop],
        group: int,
        stride: str,
        *,
        wide: bool = False,
    ) -> Reading:
        """Groups of a packed output, the last tensor of the loops, that go on in the next row."""
        line = Loop(math.prod(d.size for d in loops), loops[-1].steps)
        access: list[str] = []
        steps: list[int | None] = []
        for t, operand in enumerate(operands):
            step = line.steps[t]
            if all(d.steps[t] == step * d.steps[-1] for d in loops):  # one long row
                access.append(_access((line,), t, operand, group, True))
                steps.append(None)
                continue
            steps.append(step)
            is_run = 0 < step < 32 // operand.bits and group * operand.bits % 32 == 0
            is_run = is_run and loops[-1].size >= group
            if not operand.field:
                access.append("place")
            else:
                access.append("row" if not step else f"run/{step}" if is_run else "each")
        rows = Rows.of(group, [d.size for d in loops], steps, by_product=wide)
        whole = [loops[-1].size * step for step in loops[-1].steps]
        on = frozenset(
            t for t, o in enumerate(operands) if o.doubled or loops[-2].steps[t] == whole[t]
        )
        return cls(tuple(operands), tuple(access), group, stride, rows=rows, wide=wide, on=on)

    @classmethod
    def scattered(cls, operands: Sequence[Operand], group: int) -> Reading:
        """Element by element."""
        access = ("each" if o.field else "place" for o in operands)
        return cls(tuple(operands), tuple(access), group, "", is_scattered=True)

    @property
    def bindings(self) -> dict[str, str]:
        """The fields of the tensors that are bound, by the names they are bound under."""
        return {f"in{t}": o.field for t, o in enumerate(self.operands) if self._binding(t) == t}

    @property
    def declarations(self) -> list[str]:
        """The #bind lines."""
        numbers = {name: int(name.removeprefix("in")) for name in self.bindings}
        return [f"#bind read {name}: {self._bound(t)}" for name, t in numbers.items()]

    def values(self, k: int) -> str:
        """Element `k` of every tensor, as arguments."""
        return ", ".join(f"x{t}_{k if a != 'splat' else 0}" for t, a in enumerate(self.access))

    def words(self, w: int) -> list[str]:
        """Word `w` of the group of every tensor, all of one type: a narrow one, if it is read."""
        made = []
        for t, operand in enumerate(self.operands):
            bits, name = operand.bits, operand.data_type.name.lower()
            per, ones = 32 // bits, sum(1 << k for k in range(0, 32, bits))
            if self.access[t] == "splat":
                made.append(f"{name}_encode(x{t}_0).{'xy'[w % 2 if bits == 64 else 0]} * {ones}u")
            elif self.lies_in_words(t):
                made.append(self.word(t, w))
            else:
                values = [f"x{t}_{k}" for k in range(w * per, w * per + per)]
                made += encoded(operand.data_type, values)
        return made

    @property
    def is_in_words(self) -> bool:
        """Whether `words` need not be put together for more than one tensor."""
        whole = [a == "splat" or self.lies_in_words(t) for t, a in enumerate(self.access)]
        return whole.count(False) <= 1 and any(whole)

    def lies_in_words(self, t: int) -> bool:
        """Whether the elements of a group are read as they lie side by side in words."""
        kinds = ("units", "half", "run", "run/1", "held_run", "words")
        return self.access[t] in kinds and self.group * self.operands[t].bits % 32 == 0

    def word(self, t: int, word: int) -> str:
        """A word that was read of a tensor, from the first of its group on."""
        access = self.access[t].partition("/")[0]
        if access == "units":
            return f"u{t}_{word // 4}[{word % 4}]"
        if access == "half":
            return f"h{t}[{word}]"
        return f"w{t}_{word}" if access == "words" else f"r{t}_{word}"

    def loads(self) -> list[str]:
        """Statements that read the whole group.

        The loads of runs are first under way. What they go on with in a next row is all read in one
        branch behind the loads of the others where few groups do, and with the first where many do.
        """
        runs = [t for t, a in enumerate(self.access) if a.startswith("run")]
        others = [t for t in range(len(self.operands)) if t not in runs]
        turning = [t for t in runs if self._turns(t) and t not in self.on]
        at_end = self.rows.at_end if self.rows else ""
        ending = [t for t in runs if self._turns(t) and t in self.on and at_end]
        is_rare = self.rows is not None and self.rows.is_long
        lines = [x for t in runs for x in self._words_of_run(t, 0)]
        if not is_rare:
            lines += [x for t in turning for x in self._words_of_run(t, 1)]
        lines += [x for t in others if self.access[t] == "held_run" for x in self._held(t)]
        lines += [x for k in range(self.group) for t in others for x in self._load(t, k)]
        lines += [x for t in runs for x in self._aligned(t)]
        if turning and is_rare:
            lines.append(f"  if (left < {self.group}u) {{")
            lines += [x for t in turning for x in self._words_of_run(t, 1)]
        lines += [x for t in turning for x in self._turned(t)]
        if turning and is_rare:
            lines.append("  }")
        if ending:
            lines.append(f"  if (left < {self.group}u && {at_end}) {{")
            lines += [x for t in ending for x in self._words_of_run(t, 1)]
            lines += [x for t in ending for x in self._turned(t)]
            lines.append("  }")
        return lines + [x for k in range(self.group) for t in runs for x in self._load(t, k)]

    def parted(self) -> tuple[dict[str, str], list[str], list[str]]:
        """What is loaded with its types, the statements that load it, and all that follow.

        What is held is not read by the former, so that they can run before it is there. The latter
        find what was loaded in a structure `ahead`.
        """
        lines = self.loads()
        branch = next((n for n, line in enumerate(lines) if line.startswith("  if (")), len(lines))
        found, loads, rest = dict[str, str](), [], list[str]()
        for n, line in enumerate(lines):
            loaded = re.fullmatch(r"  let (\w+) = load_in(\d+)\(.*\);", line)
            if loaded and n < branch:
                found[loaded[1]] = self._bound(int(loaded[2]))
                line_behind = f"  let {loaded[1]} = ahead.{loaded[1]};"
            else:
                line_behind = line
            if n < branch and (loaded or re.match(r"  let (first|at)\d+_", line)):
                loads.append(line)
            rest.append(line_behind)
        return found, loads, rest

    def is_even(self, t: int) -> bool:
        """Whether groups begin with words where words of tensor `t` are held."""
        whole = self.access[t] != "held_run" or self.group * self.operands[t].bits % 32 == 0
        return (self.rows is None or self.rows.is_whole) and whole

    def _held(self, t: int) -> list[str]:
        """Statements that take words from workgroup memory, shifted to where the group begins."""
        bits, is_even = self.operands[t].bits, self.is_even(t)
        count = -(-self.group * bits // 32)
        words = range(count if is_even else count + 1)
        lines = [f"  let w{t}_{j} = held{t}(b, first{t}, {j}u);" for j in words]
        if not is_even:
            lines.append(f"  let shift{t} = a % {32 // bits}u * {bits}u;")
        for j in range(count):
            pair = f"w{t}_{j}", f"w{t}_{j + 1}", f"shift{t}"
            word = f"w{t}_{j}" if is_even else funnel(*pair, wide=self.wide)
            lines.append(f"  let r{t}_{j} = {word};")
        return lines

    def _turns(self, t: int) -> bool:
        """Whether a group of the tensor may go on in another row."""
        return self.rows is not None and self.rows.steps[t] is not None

    def _reach(self, t: int) -> int:
        """Elements from the first of a group of a run to behind what belongs to the last."""
        return self.group * int(self.access[t].partition("/")[2] or 1)

    def _words_of_run(self, t: int, row: int) -> list[str]:
        """Statements that load the words which hold the elements of a run."""
        bits, load = self.operands[t].bits, self.load_of(t)
        per, reach = 32 // bits, self._reach(t)
        begin = f"row{t}_{row}" if self._turns(t) else f"at{t}_"
        first = f"{begin} / {per}u"
        if row:  # it would begin up to a group before the tensor does
            first = f"({begin} + {reach}u) / {per}u - {reach // per}u"
        lines = [f"  let first{t}_{row} = {first};"]
        for j in range(reach // per + 1):
            lines.append(f"  let w{t}_{row}_{j} = {load}(first{t}_{row} + {j}u);")
        return lines

    def _aligned(self, t: int, row: int = 0) -> list[str]:
        """Statements that shift the words of a run to where its group begins."""
        bits = self.operands[t].bits
        begin = f"row{t}_{row}" if self._turns(t) else f"at{t}_"
        lines = [f"  let shift{t}_{row} = {begin} % {32 // bits}u * {bits}u;"]
        for j in range(self._reach(t) * bits // 32):
            pair = f"w{t}_{row}_{j}", f"w{t}_{row}_{j + 1}", f"shift{t}_{row}"
            word = funnel(*pair, wide=self.wide)
            lines.append(f"  let n{t}_{j} = {word};" if row else f"  var r{t}_{j} = {word};")
        return lines

    def _turned(self, t: int) -> list[str]:
        """Statements that put what follows in the next row behind the end of a run's row."""
        bits, reach = self.operands[t].bits, self._reach(t)
        per = 32 // bits
        lines = [*self._aligned(t, 1), f"  let own{t} = left * {reach // self.group}u;"]
        for j in range(reach // per):
            ahead = f"(max(own{t}, {j * per}u) - {j * per}u) * {bits}u"
            kept = f"(1u << ({ahead} & 31u)) - 1u"
            kept = f"select({kept}, 0xffffffffu, own{t} >= {(j + 1) * per}u)"
            lines.append(f"  let kept{t}_{j} = {kept};")
            lines.append(f"  r{t}_{j} = (r{t}_{j} & kept{t}_{j}) | (n{t}_{j} & ~kept{t}_{j});")
        return lines

    def _bound(self, t: int) -> str:
        """What a tensor is bound as an array of."""
        words = {"units": "vec4<u32>", "half": "vec2<u32>"}
        return words.get(self.access[t].partition("/")[0], word_type(self.operands[t].bits))

    def load_of(self, t: int) -> str:
        """The function that reads tensor `t`."""
        return f"load_in{self._binding(t)}"

    def _binding(self, t: int) -> int:
        """The first tensor that is the same, so that it is bound once; -1 for a place."""
        keys = [(o.field, self._bound(n)) for n, o in enumerate(self.operands)]
        return keys.index(keys[t]) if keys[t][0] else -1

    def _load(self, t: int, k: int) -> list[str]:
        operand, access = self.operands[t], self.access[t]
        bits, name, load = operand.bits, operand.data_type.name.lower(), self.load_of(t)
        access, _, by = access.partition("/")
        element = k * int(by or 1)  # from the first of the group on
        before = element - int(by or 1)
        value, word = f"x{t}_{k}", element * bits // 32
        held = decoded = ""  # the word with the element, where it has a place there that is known
        lines = []
        if access == "made" or (access == "splat" and k > 0):
            return []
        if access in ("run", "held_run"):
            held = self.word(t, word)
        elif access == "row" and self.rows:
            if k == 0:
                rows = [f"row{t}_{i}" for i in range(self.rows.count)]
                lines = [
                    f"  let e{t}_{i} = {word_at(bits, load, at)};" for i, at in enumerate(rows)
                ]
                taken = [bits_at(bits, f"e{t}_{i}", at) for i, at in enumerate(rows)]
                lines += [f"  let v{t}_{i} = {name}_decode({v});" for i, v in enumerate(taken)]
            row, beyond = self.rows.row_of(k)
            picked = f"select(v{t}_{row}, v{t}_{row + 1}, {beyond})" if beyond else f"v{t}_{row}"
            return [*lines, f"  let {value} = {picked};"]
        elif access == "units":
            per = UNIT_BITS // bits
            unit = f"u{t}_{element // per}"
            if before // per != element // per:
                lines.append(f"  let {unit} = {load}(at{t}_ / {per}u + {element // per}u);")
            held, decoded = self.word(t, word), f"{unit}.{'xyzw'[word % 4 :][:2]}"
        elif access == "half":
            if k == 0:
                lines.append(f"  let h{t} = {load}(at{t}_ / {self.group}u);")
            held, decoded = self.word(t, word), f"h{t}"
        elif access == "held":
            decoded = held_bits(bits, t, k)
        elif access == "words" and self.group * bits >= 32:
            base = f"at{t}_ / {max(1, 32 // bits)}u"
            if before * bits // 32 != word:
                lines.append(f"  let w{t}_{word} = {load}({base} + {word // max(1, bits // 32)}u);")
            held = decoded = self.word(t, word)
        else:
            at = f"at{t}_{k}"
            if self._turns(t) and self.rows:
                lines.append(f"  let {at} = {self.rows.address(t, k)};")
            elif not self.is_scattered:
                step = f" + {k}u * {self.stride.format(t)}" if k else ""
                at = f"(at{t}_{step})"
            if access == "place":
                return [*lines, f"  let {value} = {at};"]
            lines.append(f"  let e{t}_{k} = {word_at(bits, load, at)};")
            decoded = bits_at(bits, f"e{t}_{k}", at)
        made = f"{name}_decode({decoded})"
        if held and bits < 64:
            made = value_in(operand.data_type, element, held)
        return [*lines, f"  let {value} = {made};"]


def _access(loops: Sequence[Loop], t: int, operand: Operand, group: int, runs: bool = False) -> str:
    bits = operand.bits
    if not operand.field:
        return "place"
    if loops[-1].steps[t] == 0:
        return "splat"
    if group > 1 and group * bits % 32 == 0 and in_groups(loops, t, operand.start, group):
        if group * bits == UNIT_BITS // 2:
            return "half"
        return "units" if group * bits % UNIT_BITS == 0 else "words"
    if runs and bits == 8 and group % 4 == 0:  # wider ones are fast enough one by one
        step = loops[-1].steps[t]
        ends = [operand.start, group * step, *(d.steps[t] for d in loops[:-1])]
        if step == 1:
            return "run"
        if 1 < step <= 4 and not any(n * bits % 32 for n in ends):
            return f"{'words' if any(n * bits % UNIT_BITS for n in ends) else 'units'}/{step}"
    return "words" if group == 1 and bits >= 32 else "each"


def places(
    rank: int,
    sizes: str,
    index: str,
    walks: Sequence[tuple[str, str, str]],
    last: int = 1,
    *,
    by_product: bool = False,
    of: str = "",
) -> list[str]:
    """Statements from a number to addresses: the number's coordinates, times strides.

    A walk is the name of an address, where it begins, and its parameter of strides. The innermost
    loop goes in steps of `last` elements. Quotients by product are by numbers of such steps.
    """
    if not walks:
        return []
    rest = f"{walks[0][0]}_rest"
    lines = [f"  var {rest} = {index};"]
    lines += [f"  var {name} = {base};" for name, base, _ in walks]
    for d in reversed(range(rank)):
        scale = f" * {last}u" if d == rank - 1 and last > 1 else ""
        step = f"{rest}{scale}"
        if d:
            size = of_eight(sizes, d)
            size = f"({size} / {last}u)" if scale else size
            step = f"{rest}_{d}"
            by_size = f"{rest} / {size}"
            if by_product:
                by_size = quotient(rest, sizes, d, by_product=True, of=of)
            lines.append(f"  let {step}_ = {by_size};")
            lines.append(f"  let {step} = ({rest} - {step}_ * {size}){scale};")
            lines.append(f"  {rest} = {step}_;")
        lines += [f"  {name} += {step} * {of_eight(strides, d)};" for name, _, strides in walks]
    return lines
