"""The text of a kernel that keeps whole lines in registers, some lanes to each line.

Lanes of a line have units of it in turns. Where lines follow each other in memory they may begin
anywhere in a unit: the lanes of a line read every unit that has elements of it and write those that
begin in it, for which they ask for the numbers of the next line as well. A workgroup takes lines
that end with a unit, so nobody writes another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Adapter
from dmlgpu.plan.reading import places
from dmlgpu.plan.reduce.phases import Phase, decoded, encoded
from dmlgpu.plan.values import renamed
from dmlgpu.plan.words import UNIT_BITS

WG_SIZE = 256
MOST_BITS = 2048  # of a line that one invocation keeps in its registers
MOST_VALUES = 96  # of those, where lines begin anywhere
# Units that are best for an invocation where its line has 1, 2, 4, 8 and more lanes, as measured on
# an NVIDIA H200: where lines begin anywhere first and last units cost more than others do.
WANTED = {False: {4: (1, 2, 4, 4), 8: (1, 2, 4, 4)}, True: {4: (3, 3, 4, 6), 8: (3, 3, 5, 6)}}


@dataclass(frozen=True, slots=True)
class Division:
    """How lanes share lines."""

    lanes: int  # of a line
    held: int  # units of each
    block: int  # lanes that can shuffle
    near: bool  # so can those of all lines that end with a unit together

    @property
    def lines(self) -> int:
        """Lines of a workgroup."""
        return WG_SIZE // self.lanes

    @staticmethod
    def of(size: int, unit: int, adapter: Adapter, *, shifted: bool) -> Division | None:
        """The best for lines of `size` elements, which are `shifted` where they begin anywhere.

        None where a workgroup cannot hold as many as end with a unit together.
        """
        together = unit // gcd(size, unit)  # lines that end with a unit
        units = -(-(size + unit - unit // together) // unit) if shifted else size // unit
        wanted = WANTED[shifted][unit]
        lanes = 1
        while lanes * wanted[min(3, lanes.bit_length() - 1)] < units and lanes * together < WG_SIZE:
            lanes *= 2
        held = -(-units // lanes)
        if held * UNIT_BITS > MOST_BITS or (shifted and held * unit > MOST_VALUES):
            return None
        block, most = 1, adapter.subgroup_min if adapter.subgroup_min >= 4 else 1
        while block * 2 <= min(lanes, most):
            block *= 2
        return Division(lanes, held, block, 1 < lanes * together <= most)


@dataclass(frozen=True, slots=True)
class WholeLines:
    """Lines of `size` elements, and what becomes of them; see `ByLine` for phases and result."""

    data_type: DataType
    size: int
    phases: Sequence[Phase]
    result: str
    division: Division
    kept: int = 0  # loops over lines; none: they follow each other, and begin anywhere

    @property
    def unit(self) -> int:
        """Elements in 16 bytes."""
        return UNIT_BITS // self.data_type.bits

    @property
    def code(self) -> list[str]:
        """`make_lines`; `place{k}` is where in its line a unit begins, and wraps before it."""
        lanes, held, unit = self.division.lanes, self.division.held, self.unit
        code = [line for p, phase in enumerate(self.phases) for line in self._declared(p, phase)]
        code += [
            "fn make_lines(number: u32, invocation: u32) {",
            f"  let lane = invocation % {lanes}u;",
            f"  let line = number * {self.division.lines}u + invocation / {lanes}u;",
            "  let inside = line < params.lines;",
            *self._begin(),
        ]
        for k in range(held):  # no load is in a branch, so that all are under way together
            at = f"{k * lanes}u"
            if self._ends(k):
                at = f"min(lane + {at}, last) - lane"
            code.append(f"  let u{k} = load_source(from_ + {at});")
        for k in range(held):
            shift = "" if self.kept else " - shift"
            code.append(f"  let place{k} = (lane + {k * lanes}u) * {unit}u{shift};")
            code += decoded(self.data_type, k)
        for p, phase in enumerate(self.phases):
            code += self._phase(p, phase)
        for k in range(held):
            results = [self._result(k, j) for j in range(unit)]
            code.append(f"  if (inside && place{k} < params.size)")
            code += encoded(self.data_type, results, f"store_made(to + {k * lanes}u, {{}});")
        return [*code, "}"]

    def _begin(self) -> list[str]:
        """Where this lane begins to read and write units, and the number of the line's last one."""
        own, unit = "min(line, params.lines - 1u)", self.unit
        if self.kept:
            walks = [("start", "0u", "kept_strides"), ("end", "0u", "out_strides")]
            return [
                *places(self.kept, "kept", own, walks),
                f"  let from_ = start / {unit}u + lane;",
                f"  let to = end / {unit}u + lane;",
                f"  let last = params.size / {unit}u - 1u;",
            ]
        return [
            f"  let start = {own} * params.size;",
            f"  let shift = start % {unit}u;",
            f"  let from_ = start / {unit}u + lane;",
            "  let to = from_;",
            f"  let last = (shift + params.size - 1u) / {unit}u;",
        ]

    def _ends(self, k: int) -> bool:
        """Whether the line may end with, or before, one of the units `k` of its lanes."""
        return (k + 1) * self.division.lanes * self.unit > self.size

    def _is_whole(self, k: int) -> bool:
        """Whether all elements of the units `k` are the line's."""
        return not (self._ends(k) or (k == 0 and not self.kept))

    def _there(self, k: int, j: int) -> str:
        return f"place{k} < params.size" if self.kept else f"place{k} + {j}u < params.size"

    def _numbers(self, count: int, k: int, j: int) -> dict[str, str]:
        """What the first phases found for an element's line: this one, or the next."""
        if self.kept or j == 0 or not self._ends(k):
            return {}
        return {f"s{p}": f"pick{p}(next{p}, s{p}, {self._there(k, j)})" for p in range(count)}

    def _result(self, k: int, j: int) -> str:
        place = f"(place{k} + {j}u)"
        if not self.kept and j and self._ends(k):
            place = f"select({place} - params.size, {place}, {self._there(k, j)})"
        count = len(self.phases)
        names = {"x": f"x{k}_{j}", "v": f"v{count - 1}_{k}_{j}", "i": place}
        return renamed(self.result, {**self._numbers(count, k, j), **names})

    def _declared(self, p: int, phase: Phase) -> list[str]:
        """How accumulators of a phase are chosen and moved between lanes, and where they meet."""
        acc, block = phase.accumulator, self.division.block
        kind = acc.type
        code = [
            f"fn pick{p}(a: {kind}, b: {kind}, second: bool) -> {kind} {{",
            f"  return {acc.each('select(a{0}, b{0}, second)')};",
            "}",
        ]
        is_near = self.division.near and not self.kept
        for name, shuffle, used in (("across", "Xor", block > 1), ("behind", "Down", is_near)):
            if not used:
                continue
            code += [
                f"fn {name}{p}(a: {kind}, by: u32) -> {kind} {{",
                f"  return {acc.each(f'subgroupShuffle{shuffle}(a{{0}}, by)')};",
                "}",
            ]
        if self._by_memory:
            code.append(f"var<workgroup> wg_{p}: array<{kind}, {WG_SIZE // block}>;")
        return code

    def _phase(self, p: int, phase: Phase) -> list[str]:
        """The number of each line, and where it begins anywhere that of the next one."""
        acc = phase.accumulator
        code = [f"  var a{p} = {acc.identity};"]
        for k in range(self.division.held):
            for j in range(self.unit):
                names = {"x": f"x{k}_{j}", **self._numbers(p, k, j)}
                code.append(f"  let v{p}_{k}_{j} = {renamed(phase.value, names)};")
            for j in range(self.unit):
                lifted = f"lift{p}(v{p}_{k}_{j}, place{k} + {j}u)"
                if not self._is_whole(k):
                    lifted = f"pick{p}({acc.identity}, {lifted}, {self._there(k, j)})"
                code.append(f"  a{p} = combine{p}(a{p}, {lifted});")
        code += self._joined(p)
        number = f"  let s{p} = {renamed(phase.number, {'a': f'a{p}'})};"
        if self.kept:
            return [*code, number]
        return [*code, number, f"  let next{p} = {renamed(phase.number, {'a': f'b{p}'})};"]

    @property
    def shuffles(self) -> bool:
        """Whether invocations must be numbered by subgroups."""
        return self.division.block > 1 or self.division.near

    @property
    def _by_memory(self) -> bool:
        """Whether accumulators meet in workgroup memory, not only by shuffles."""
        division = self.division
        return division.block < division.lanes or not (self.kept or division.near)

    def _joined(self, p: int) -> list[str]:
        """What all lanes of a line found, `a{p}`, and what those of the next did, `b{p}`."""
        lanes, block = self.division.lanes, self.division.block
        code = []
        by = block // 2
        while by:
            code.append(f"  a{p} = join{p}(a{p}, across{p}(a{p}, {by}u));")
            by //= 2
        if not self._by_memory:
            return code if self.kept else [*code, f"  let b{p} = behind{p}(a{p}, {lanes}u);"]
        put = f"wg_{p}[invocation / {block}u] = a{p};"
        code += [f"  if (invocation % {block}u == 0u) {{ {put} }}" if block > 1 else f"  {put}"]
        code += ["  workgroupBarrier();"]
        blocks = lanes // block
        if block == 1:
            by = lanes // 2
            while by:
                code.append(f"  if (lane < {by}u) {{")
                code.append(f"    a{p} = join{p}(a{p}, wg_{p}[invocation + {by}u]);")
                code += [f"    wg_{p}[invocation] = a{p};", "  }", "  workgroupBarrier();"]
                by //= 2
            blocks = 1
        found = [("a", f"(invocation - lane) / {block}u")]
        if not self.kept:
            after = f"(invocation - lane) / {block}u + {lanes // block}u"
            found.append(("b", f"min({after}, {WG_SIZE // block - blocks}u)"))
        for name, first in found:
            declared = "" if name == "a" else "var "
            code.append(f"  let {name}{p}_at = {first};")
            code.append(f"  {declared}{name}{p} = wg_{p}[{name}{p}_at];")
            for b in range(1, blocks):
                code.append(f"  {name}{p} = join{p}({name}{p}, wg_{p}[{name}{p}_at + {b}u]);")
        return code
