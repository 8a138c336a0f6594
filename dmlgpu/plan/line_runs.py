"""Work on whole lines that follow each other in memory, however long and wherever they begin.

A workgroup keeps some lines in registers as one run of 16-byte units, as scan/runs.wgsl does: no
lane is idle whatever the length of lines. Its runs begin on whole units, so nobody writes a unit
that is another's too. A unit has elements of one line, or of two; where lines are shorter than
units an invocation has some by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value
from dmlgpu.plan.phases import Phase, decoded, dispatched, stored
from dmlgpu.plan.run_groups import run_group
from dmlgpu.plan.values import UNIT_BITS, renamed

ROUNDS = (4, 8, 16)  # units of an invocation
MOST_VALUES = 64  # of an invocation
SUBGROUPS = 64  # most of a workgroup
SHORT_WG = 128


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of `size` elements, and what becomes of them; see `ByLine` for phases and result."""

    data_type: DataType
    size: int
    count: int
    phases: tuple[Phase, ...]
    result: str

    @property
    def unit(self) -> int:
        """Elements in 16 bytes."""
        return UNIT_BITS // self.data_type.bits

    def dispatch(self, adapter: Adapter) -> Dispatch | None:
        """One pass; None where a workgroup has no room for lines that end with a unit."""
        if self.size < self.unit:
            return self._short(adapter)
        if adapter.subgroup_min < 4:
            return None
        rounds = [n for n in ROUNDS if n * self.unit <= MOST_VALUES]
        together = self.unit // gcd(self.size, self.unit)  # lines that end with a unit
        group = run_group(self.size, self.unit, adapter, rounds=rounds, together=together)
        if group is None:
            return None
        lanes = adapter.subgroup_min if adapter.subgroup_min == adapter.subgroup_max else 0
        params: dict[str, Value] = {
            "size": self.size,
            "lines": self.count,
            "group_lines": group.lines,
        }
        run = Run(self, group.rounds, lanes, 1 << (group.lines - 1).bit_length())
        return self._dispatched(
            "lines_in_runs", -(-self.count // group.lines), params, run.code, group.wg_size, adapter
        )

    def _dispatched(
        self,
        shader: str,
        groups: int,
        params: dict[str, Value],
        code: list[str],
        wg_size: int,
        adapter: Adapter,
    ) -> Dispatch:
        own = (self.data_type, self.phases)
        return dispatched(shader, groups, params, wg_size, *own, code, adapter)

    def _short(self, adapter: Adapter) -> Dispatch:
        """Lines shorter than units: as many for each invocation as end with a unit."""
        unit, held = self.unit, lcm(self.size, self.unit)
        units, lines = held // unit, held // self.size
        all_units = -(-self.count * self.size // unit)
        params: dict[str, Value] = {"units": all_units}
        code = [
            "fn make_lines(number: u32, invocation: u32) {",
            f"  let first = (number * {SHORT_WG}u + invocation) * {units}u;",
        ]
        for k in range(units):
            code.append(f"  let u{k} = load_source(min(first + {k}u, params.units - 1u));")
        for k in range(units):
            code += decoded(self.data_type, k)
        for line in range(lines):
            code += self._line(line)
        for k in range(units):
            results = []
            for e in range(k * unit, k * unit + unit):
                line, i = divmod(e, self.size)
                numbers = {f"s{p}": f"s{p}_{line}" for p in range(len(self.phases))}
                own = {"x": f"x{k}_{e % unit}", "v": f"v{len(self.phases) - 1}_{e}", "i": f"{i}u"}
                results.append(renamed(self.result, {**numbers, **own}))
            inside = f"first + {k}u < params.units"
            code += stored(self.data_type, results, f"first + {k}u", inside)
        each = SHORT_WG * units
        return self._dispatched(
            "whole_lines", -(-all_units // each), params, [*code, "}"], SHORT_WG, adapter
        )

    def _line(self, line: int) -> list[str]:
        """The numbers of a line that an invocation has by itself."""
        code = []
        for p, phase in enumerate(self.phases):
            earlier = {f"s{q}": f"s{q}_{line}" for q in range(p)}
            total = phase.accumulator.identity
            for i in range(self.size):
                e = line * self.size + i
                names = {"x": f"x{e // self.unit}_{e % self.unit}", **earlier}
                code.append(f"  let v{p}_{e} = {renamed(phase.value, names)};")
                code.append(f"  let a{p}_{e} = combine{p}({total}, lift{p}(v{p}_{e}, {i}u));")
                total = f"a{p}_{e}"
            code.append(f"  let s{p}_{line} = {renamed(phase.number, {'a': total})};")
        return code


@dataclass(frozen=True, slots=True)
class Run:
    """The text of `make_run`: some lines of a workgroup as one run."""

    lines: Lines
    rounds: int
    lanes: int  # of all subgroups; 0 where they differ
    most: int  # lines; a power of two, so that shapes share kernels

    @property
    def code(self) -> list[str]:
        """All of it.

        `left` is how many elements the line of a unit's first element has from there on, `behind`
        how many units there are since the one that it begins in. It is open where it begins before
        the subgroup's part of the run.
        """
        lines, unit = self.lines, self.lines.unit
        every = range(self.rounds)
        code = [f"var<workgroup> wg_begins: array<u32, {SUBGROUPS}>;"]
        for p in range(len(lines.phases)):
            code += self._functions(p)
        code += [
            "fn make_run(number: u32, subgroup: u32, lane: u32, subgroup_size: u32) {",
            f"  let size_of = {f'{self.lanes}u' if self.lanes else 'subgroup_size'};",
            "  let first_line = number * params.group_lines;",
            "  if (first_line >= params.lines) { return; }",
            "  let count = min(params.group_lines, params.lines - first_line);",
            f"  let base = first_line * params.size / {unit}u;",
            f"  let units = (count * params.size + {unit - 1}u) / {unit}u;",
            f"  let own = subgroup * {self.rounds}u * size_of + lane;",
            # No load is in a branch: a lane without a unit has the last one again.
            *(f"  let p{r} = own + {r}u * size_of;" for r in every),
            *(f"  let u{r} = load_source(base + min(p{r}, units - 1u));" for r in every),
            f"  let line0 = own * {unit}u / params.size;",
            f"  let place0 = own * {unit}u - line0 * params.size;",
            f"  let lines_on = size_of * {unit}u / params.size;",
            f"  let steps_on = size_of * {unit}u - lines_on * params.size;",
        ]
        for r in every:
            if r:
                code += [
                    f"  let at{r} = place{r - 1} + steps_on;",
                    f"  let is_next{r} = at{r} >= params.size;",
                    f"  let place{r} = select(at{r}, at{r} - params.size, is_next{r});",
                    f"  let line{r} = line{r - 1} + lines_on + select(0u, 1u, is_next{r});",
                ]
            code += [
                f"  let left{r} = params.size - place{r};",
                f"  let behind{r} = (place{r} + {unit - 1}u) / {unit}u;",
                f"  let goes_on{r} = left{r} > {unit}u;",
                f"  let is_cut{r} = subgroupAny(left{r} < {unit}u);",
                f"  let is_open{r} = behind{r} > {r}u * size_of + lane;",
            ]
        for r in every:
            code += decoded(lines.data_type, r)
        for p, phase in enumerate(lines.phases):
            code += self._phase(p, phase)
        last = len(lines.phases) - 1
        for r in every:
            results = []
            for j in range(unit):
                names = {"x": f"x{r}_{j}", "v": f"v{last}_{r}_{j}", "i": self._place(r, j)}
                names |= {f"s{p}": self._number(p, r, j) for p in range(last + 1)}
                results.append(renamed(lines.result, names))
            code += stored(lines.data_type, results, f"base + p{r}", f"p{r} < units")
        return [*code, "}"]

    def _place(self, r: int, j: int) -> str:
        """The place of an element in its line."""
        return f"select({j}u - left{r}, place{r} + {j}u, {j}u < left{r})"

    def _number(self, p: int, r: int, j: int) -> str:
        """What phase `p` found for an element's line: a unit's first, or the next one."""
        if j == 0:
            return f"s{p}_{r}"
        return f"pick{p}(next{p}_{r}, s{p}_{r}, {j}u < left{r})"

    def _functions(self, p: int) -> list[str]:
        """How accumulators of a phase are chosen, moved between lanes, and joined in a unit."""
        acc, unit = self.lines.phases[p].accumulator, self.lines.unit
        kind, members = acc.type, acc.members

        def made(of: str) -> str:
            each = [of.format(f".{m}") for m in members]
            return f"{kind}({', '.join(each)})" if members else of.format("")

        def step(by: str) -> str:
            joined = f"if (known >= {by}) {{ sum = combine{p}(other, sum); }}"
            return f"{{ let other = up{p}(sum, {by}); {joined} }}"

        across = [f"  for (var d = 1u; d < size_of; d = d << 1u) {step('d')}"]
        if self.lanes:
            across = [f"  {step(f'{1 << k}u')}" for k in range((self.lanes - 1).bit_length())]
        given = ", ".join(f"a{j}: {kind}" for j in range(unit))
        first = f"  var all = combine{p}(nothing, a0);"
        plain, cut = [first], [first, "  var head = all;"]
        for j in range(1, unit):
            plain.append(f"  all = combine{p}(all, a{j});")
            cut += [
                f"  head = pick{p}(head, all, left >= {j}u);",
                f"  all = combine{p}(pick{p}(all, nothing, left == {j}u), a{j});",
            ]
        return [
            f"var<workgroup> wg_totals{p}: array<{kind}, {SUBGROUPS}>;",
            f"var<workgroup> wg_numbers{p}: array<{kind}, {self.most}>;",
            f"fn pick{p}(a: {kind}, b: {kind}, second: bool) -> {kind} {{",
            f"  return {made('select(a{0}, b{0}, second)')};",
            "}",
            f"fn up{p}(a: {kind}, by: u32) -> {kind} {{",
            f"  return {made('subgroupShuffleUp(a{0}, by)')};",
            "}",
            f"fn of_lane{p}(a: {kind}, lane: u32) -> {kind} {{",
            f"  return {made('subgroupShuffle(a{0}, lane)')};",
            "}",
            f"fn across{p}(tail: {kind}, known: u32, size_of: u32) -> {kind} {{",
            "  var sum = tail;",
            *across,
            "  return sum;",
            "}",
            # What a unit has of its first element's line, and of what goes on in the next unit.
            f"struct Parts{p} {{ head: {kind}, tail: {kind} }}",
            f"fn parts{p}({given}, left: u32, is_cut: bool) -> Parts{p} {{",
            f"  let nothing = {acc.identity};",
            "  if (!is_cut) {",
            *(f"  {line}" for line in plain),
            f"    return Parts{p}(all, pick{p}(all, nothing, left == {unit}u));",
            "  }",
            *cut,
            f"  head = pick{p}(head, all, left >= {unit}u);",
            f"  return Parts{p}(head, pick{p}(all, nothing, left == {unit}u));",
            "}",
        ]

    def _phase(self, p: int, phase: Phase) -> list[str]:
        """The numbers of all lines of the run, which every invocation knows then."""
        acc, unit, every = phase.accumulator, self.lines.unit, range(self.rounds)
        code = [f"  let nothing{p} = {acc.identity};", f"  var run{p} = nothing{p};"]
        for r in every:
            lifted = []
            for j in range(unit):
                names = {"x": f"x{r}_{j}"} | {f"s{q}": self._number(q, r, j) for q in range(p)}
                code.append(f"  let v{p}_{r}_{j} = {renamed(phase.value, names)};")
                place = self._place(r, j) if acc.has_place else "0u"
                lifted.append(f"lift{p}(v{p}_{r}_{j}, {place})")
            known = f"select(0u, min(behind{r}, lane), goes_on{r})"
            code += [
                f"  let parts{p}_{r} = parts{p}({', '.join(lifted)}, left{r}, is_cut{r});",
                f"  var sum{p}_{r} = across{p}(parts{p}_{r}.tail, {known}, size_of);",
                f"  if (goes_on{r} && behind{r} > lane) {{",
                f"    sum{p}_{r} = combine{p}(run{p}, sum{p}_{r});",
                "  }",
                f"  var before{p}_{r} = up{p}(sum{p}_{r}, 1u);",
                f"  if (lane == 0u) {{ before{p}_{r} = run{p}; }}",
                f"  run{p} = of_lane{p}(sum{p}_{r}, size_of - 1u);",
            ]
        last = self.rounds - 1
        code += [
            "  if (lane == size_of - 1u) {",
            f"    wg_totals{p}[subgroup] = run{p};",
            f"    wg_begins[subgroup] = select(1u, 0u, goes_on{last} && is_open{last});",
            "  }",
            "  workgroupBarrier();",
            f"  var carry{p} = nothing{p};",
            "  for (var g = 0u; g < subgroup; g++) {",
            f"    carry{p} = pick{p}(carry{p}, nothing{p}, wg_begins[g] == 1u);",
            f"    carry{p} = combine{p}(carry{p}, wg_totals{p}[g]);",
            "  }",
        ]
        for r in every:  # who has the end of a line
            number = renamed(phase.number, {"a": f"combine{p}(before{p}_{r}, parts{p}_{r}.head)"})
            code += [
                f"  if (!goes_on{r} && p{r} < units) {{",
                f"    if (is_open{r}) {{ before{p}_{r} = combine{p}(carry{p}, before{p}_{r}); }}",
                f"    if (place{r} == 0u) {{ before{p}_{r} = nothing{p}; }}",
                f"    wg_numbers{p}[min(line{r}, {self.most - 1}u)] = {number};",
                "  }",
            ]
        code.append("  workgroupBarrier();")
        for r in every:
            code.append(f"  let s{p}_{r} = wg_numbers{p}[min(line{r}, {self.most - 1}u)];")
            code.append(f"  let next{p}_{r} = wg_numbers{p}[min(line{r} + 1u, {self.most - 1}u)];")
        return code
