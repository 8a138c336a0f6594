"""Windows of an output: its elements made in whole units of 16 bytes, wherever rows begin and end.

What is assigned to `x[1:-1, 1:-1]` or `x[:, ::2]` lies between elements that stay as they are. One
invocation owns a unit, and no other one writes there: so it stores what belongs to the window over
what was there, and no element is put between others by atomic operations. Units that are all the
window's are not read.

Units are counted along stretches of the output that have none in common. A stretch is one row of
the window where rows are a unit apart or more, and several where less lies between them; a unit
then holds the end of one row and the beginning of the next. Where rows lie closer still, as pixels
do, every element of a unit finds its own row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from dmlgpu.plan.dispatch import Dispatch, Value, eight, of_eight
from dmlgpu.plan.move.packed import put_together
from dmlgpu.plan.reading import Loop, Reading, places
from dmlgpu.plan.rows import DIVISION, divisors, quotient
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import UNIT_BITS, encoded, param_lines

WG_SIZE = 256
STEPS = 4  # elements from one to the next, up to which they are shifted out of words
SPARSE = 4  # elements that are walked for each of the window's, at most
# Bits from one element of a row to the next, up to which units are read and written back: caches
# do as much where only words of theirs are written.
MOST_APART = 128
MOST = 1 << 31  # elements of an output whose places are told apart by their sign


@dataclass(frozen=True, slots=True)
class Window:
    """Loops of a window, the outermost first, and how units of the output are counted in it."""

    loops: tuple[Loop, ...]  # the last tensor's steps are those of the output
    start: int  # element of the output where the window begins
    bits: int
    apart: int  # loops around the stretches
    is_short: bool  # a unit may hold more than two rows

    @classmethod
    def of(cls, loops: Sequence[Loop], start: int, bits: int) -> Window | None:
        """The window of loops that are in the order of the output; None: units do not serve it."""
        unit = UNIT_BITS // bits
        sizes, steps = [d.size for d in loops], [d.steps[-1] for d in loops]
        reach = [*accumulate((n - 1) * s for n, s in zip(sizes[::-1], steps[::-1], strict=True))]
        reach = [1 + r for r in reach[::-1]]  # elements from the first to the last of inner loops
        nested = all(s >= r for s, r in zip(steps, reach[1:], strict=False))
        is_near = 0 < steps[-1] <= max(1, MOST_APART // bits)
        if not is_near or not nested or start + reach[0] >= MOST:
            return None
        last = len(loops) - 1

        def nearest(first: int, end: int) -> int:
            """Elements between the beginnings of two steps of the loops from `first` to `end`."""
            far = [(n - 1) * s for n, s in zip(sizes, steps, strict=True)]
            return min((steps[d] - sum(far[d + 1 : end]) for d in range(first, end)), default=MOST)

        def is_apart(d: int) -> bool:
            """Whether no unit has elements of two steps of the loops before `d`."""
            if any(s % unit for s in steps[:d]):
                return nearest(0, d) >= reach[d] + unit - 1
            return nearest(0, d) >= -(-(start % unit + reach[d]) // unit) * unit

        apart = next(d for d in reversed(range(last + 1)) if is_apart(d))
        if apart < last and reach[apart] > SPARSE * prod(sizes[apart:]) * steps[-1] + unit:
            return None
        is_short = nearest(apart, last) < unit
        if is_short and apart < last - 1:
            return None
        return cls(tuple(loops), start, bits, apart, is_short)

    @property
    def unit(self) -> int:
        """Elements of 16 bytes."""
        return UNIT_BITS // self.bits

    @property
    def step(self) -> int:
        """Elements of the output from one of a row to the next."""
        return self.loops[-1].steps[-1]

    @property
    def own(self) -> int:
        """Elements of one row that a unit has at most."""
        return -(-self.unit // self.step)

    @property
    def units(self) -> int:
        """Units of a stretch, of those that may have most."""
        reach = 1 + sum((d.size - 1) * d.steps[-1] for d in self.loops[self.apart :])
        in_phase = not any(d.steps[-1] % self.unit for d in self.loops[: self.apart])
        before = self.start % self.unit if in_phase else self.unit - 1
        return -(-(before + reach) // self.unit)

    @property
    def count(self) -> int:
        """Units of all stretches."""
        return self.units * prod(d.size for d in self.loops[: self.apart])

    def reading(self, operands: Sequence[Operand], *, wide: bool) -> Reading:
        """How the elements of a unit are read of the operands, whose steps the loops begin with."""
        if self.is_short:
            return Reading.scattered(operands, self.unit)
        is_alike = [self._is_alike(t, o) for t, o in enumerate(operands)]
        group, access = self.own, list[str]()
        for t, operand in enumerate(operands):
            step = self.loops[-1].steps[t]
            is_narrow = 0 < step <= min(STEPS, 32 // operand.bits) and operand.bits < 32
            if not operand.field:
                access.append("place")
            elif not step:
                access.append("splat")
            elif all(is_alike):
                access.append("units")
            else:
                access.append(f"run/{step}" if is_narrow else "each")
            per = 32 // operand.bits if access[-1].startswith("run") else 1
            group = -(-group // per) * per
        group = -(-group // max(1, 32 // self.bits)) * max(1, 32 // self.bits)
        stride = of_eight("strides{}", len(self.loops) - 1)
        return Reading(tuple(operands), tuple(access), group, stride, wide=wide)

    def _is_alike(self, t: int, operand: Operand) -> bool:
        """Whether an operand's units have what belongs to the output's units, or all have one."""
        if not self.loops[-1].steps[t] and operand.field:
            return True
        ends = [operand.start - self.start, *(d.steps[t] - d.steps[-1] for d in self.loops[:-1])]
        is_run = self.step == self.loops[-1].steps[t] == 1 and operand.bits == self.bits
        return bool(operand.field) and is_run and not any(n % self.unit for n in ends)

    @property
    def divided(self) -> list[int]:
        """What numbers are divided by: sizes around stretches, steps inside, and their units."""
        inner = [d.steps[-1] for d in self.loops[self.apart : -1]]
        return [*(d.size for d in self.loops[: self.apart]), *inner, self.units]

    @property
    def params(self) -> dict[str, Value]:
        """Parameters of a dispatch, besides where tensors begin, their steps, and the sizes."""
        reach = 1 + (self.loops[-1].size - 1) * self.step
        return {"reach": reach, "divided": eight(self.divided)}

    def is_uniform(self, reading: Reading) -> bool:
        """Whether a unit has one value all over, wherever a row begins in it."""
        return self.step == 1 and all(access == "splat" for access in reading.access)

    def spread(self, words: Sequence[str]) -> list[str]:
        """The words of a unit, from those of elements side by side: its first, and each `step` on.

        What a unit has no room for is left out.
        """
        if self.is_short:
            return list(words)
        pieces = []
        for k in range(self.own):
            for part in range(0, self.bits, 32):
                word, at = divmod(k * self.bits + part, 32)
                pieces.append((k * self.step * self.bits + part, words[word], at))
        made = put_together(min(self.bits, 32), pieces)
        return [made.get(w, "0u") for w in range(4)]

    def copied(self, operand: Operand, field: str, *, wide: bool) -> Dispatch:
        """The elements of an operand, moved as they are to the tensor of a field."""
        reading = self.reading([operand], wide=wide)
        by_product = wide and len(self.loops) > 1
        params: dict[str, Value] = {
            "count": self.count,
            "sizes": eight([d.size for d in self.loops]),
            **self.params,
            **(divisors(self.divided) if by_product else {}),
        }
        for t, start in enumerate((operand.start, self.start)):
            params[f"start{t}"] = start
            params[f"strides{t}"] = eight([d.steps[t] for d in self.loops])
        count = reading.group * self.bits // 32
        if reading.lies_in_words(0):
            words = [reading.word(0, w) for w in range(count)]
        else:
            values = [reading.values(k) for k in range(reading.group)]
            words = encoded(operand.data_type, values)
        every = range(reading.group) if self.is_short else ("",)
        lines = [
            *param_lines(params),
            *reading.declarations,
            "#bind write output: vec4<u32>",
            *(DIVISION if by_product else ()),
            f"fn made({', '.join(f'at0_{k}: u32' for k in every)}) -> vec4<u32> {{",
            *reading.loads(),
            *(f"  let z_{w} = {word};" for w, word in enumerate(words)),
            f"  return vec4<u32>({', '.join(self.spread([f'z_{w}' for w in range(count)]))});",
            "}",
            *self.code(reading, "output"),
        ]
        return Dispatch(
            "move/windows",
            -(-self.count // WG_SIZE),
            params,
            reading.bindings | {"output": field},
            constants={"WG_SIZE": WG_SIZE},
            code="\n".join(lines),
        )

    def code(self, reading: Reading, output: str) -> list[str]:
        """`make_group`: one unit, its elements from `made` with what `made` is given by name."""
        lines = [f"const BITS: u32 = {self.bits}u;", "#import move/first_elements"]
        tensors = len(reading.operands)
        if self.is_short:
            return [*lines, *self._short(reading, output)]
        is_still = "units" in reading.access or self.is_uniform(reading)
        at = [f"at{t}_" for t in range(tensors)]
        last = len(self.loops) - 1
        along = [f"row.{name} + j * {of_eight(f'strides{t}', last)}" for t, name in enumerate(at)]
        step = self.step
        # Elements of the row before the first one that is the unit's.
        passed = "from_" if step == 1 else f"(from_ + {step - 1}u) / {step}u"
        before = "0u" if step == 1 else f"{passed} * {step}u - from_"
        made = "made" if is_still else "raised(made, before)"
        own = f"raised({self._pattern()}, before)" if step > 1 else "~first_elements(before)"
        lines += [
            f"struct Row {{ place: u32, {' '.join(f'{name}: u32,' for name in at)} }}",
            "struct Part { bits: vec4<u32>, own: vec4<u32> }",
            *([] if is_still and step == 1 else self._raised()),
            *self._row_at(reading),
            "fn made_in(row: Row, place: u32) -> vec4<u32> {",
            "  let from_ = u32(max(bitcast<i32>(place - row.place), 0));",
            f"  let j = {passed};",
            f"  return made({', '.join(along)});",
            "}",
            "// Of what is made for a unit at a place, the part that belongs to a row.",
            "fn part_of(row: Row, place: u32, made: vec4<u32>) -> Part {",
            "  let q = bitcast<i32>(place - row.place);",
            "  let from_ = u32(max(q, 0));",
            f"  let before = {before} + u32(max(-q, 0));",
            f"  var own = {own};",
            "  let left = bitcast<i32>(params.reach) - q;",
            f"  if (left < {self.unit}) {{ own &= first_elements(u32(max(left, 0))); }}",
            f"  return Part({made} & own, own);",
            "}",
        ]
        return [*lines, *self._make_group(reading, output)]

    def _make_group(self, reading: Reading, output: str) -> list[str]:
        """The function that makes a unit of the part of each row that lies there."""
        lines = [*self._begin(reading, output)]
        is_packed = self.step == 1
        if not is_packed:
            lines.append(f"  let old = load_{output}(unit);")
        lines += [
            "  let first = row_at(base, u32(max(bitcast<i32>(place), 0)));",
            "  let words = made_in(first, place);",
        ]
        if is_packed:
            lines += [
                "  let q = bitcast<i32>(place - first.place);",
                f"  if (q >= 0 && q + {self.unit} <= bitcast<i32>(params.reach)) {{",
                f"    store_{output}(unit, words);",
                "    return;",
                "  }",
                f"  let old = load_{output}(unit);",
            ]
        lines.append("  var part = part_of(first, place, words);")
        if self.apart < len(self.loops) - 1:
            lines += [
                f"  let next = row_at(base, place + {self.unit - 1}u);",
                "  if (next.place != first.place) {",
                "    let more = part_of(next, place, made_in(next, place));",
                "    part = Part(part.bits | more.bits, part.own | more.own);",
                "  }",
            ]
        return [
            *lines,
            f"  if (any(part.own != vec4<u32>())) {{ "
            f"store_{output}(unit, (old & ~part.own) | part.bits); }}",
            "}",
        ]

    def _begin(self, reading: Reading, output: str) -> list[str]:
        """The beginning of `make_group`: the unit, and its place in its stretch, wrapped."""
        tensors = len(reading.operands)
        walks = [(f"at{t}_", f"params.start{t}", f"strides{t}") for t in range(tensors + 1)]
        by_product, rank = reading.wide, self.apart
        stretch = "0u"
        if rank:
            last = len(self.divided) - 1
            stretch = quotient("number", "divided", last, by_product=by_product)
        at = ", ".join(f"at{t}_" for t in range(tensors))
        row = [] if self.is_short else [f"  let base = Row({', '.join(filter(None, ('0u', at)))});"]
        number = f"number - stretch * {of_eight('divided', len(self.divided) - 1)}"
        return [
            "fn make_group(number: u32) {",
            f"  let stretch = {stretch};",
            *places(rank, "divided", "stretch", walks, by_product=by_product),
            f"  let unit = at{tensors}_ / {self.unit}u + {number};",
            f"  let place = unit * {self.unit}u - at{tensors}_;",
            *row,
        ]

    def _row_at(self, reading: Reading) -> list[str]:
        """The function from a place in a stretch to the last row that begins there or before."""
        tensors = len(reading.operands)
        lines = ["fn row_at(base: Row, place: u32) -> Row {"]
        inner = range(self.apart, len(self.loops) - 1)
        if not inner:
            return [*lines, "  return base;", "}"]
        lines += ["  var row = base;", "  var rest = place;"]
        for d in inner:
            by_step = quotient("rest", "divided", d, by_product=reading.wide)
            lines += [
                f"  let c{d} = min({by_step}, {of_eight('sizes', d)} - 1u);",
                f"  rest -= c{d} * {of_eight('divided', d)};",
                *(f"  row.at{t}_ += c{d} * {of_eight(f'strides{t}', d)};" for t in range(tensors)),
            ]
        return [*lines, "  row.place = place - rest;", "  return row;", "}"]

    def _pattern(self) -> str:
        """The bits of every `step`-th element of a unit."""
        words = [0] * 4
        for k in range(0, self.unit * self.bits, self.step * self.bits):
            for bit in range(k, k + self.bits, 8):
                words[bit // 32] |= 0xFF << bit % 32
        return f"vec4<u32>({', '.join(f'{word:#x}u' for word in words)})"

    def _raised(self) -> list[str]:
        """The function that moves the elements of a unit up by less than all; none: by step 1.

        Words are moved in a branch where few units need that: those in which rows begin.
        """
        per = max(1, 32 // self.bits)
        by_words = "up" if self.bits == 32 else f"up / {per}u" if per > 1 else "up * 2u"
        move = [
            f"let by = {by_words};",
            "w = select(w, vec4<u32>(0u, w.xyz), (by & 1u) != 0u);",
            "w = select(w, vec4<u32>(0u, 0u, w.xy), (by & 2u) != 0u);",
        ]
        text = " ".join(move)
        if self.step <= per:
            text = f"if (up >= {per}u) {{ {text} }}"
        lines = ["fn raised(v: vec4<u32>, up: u32) -> vec4<u32> {", "  var w = v;", f"  {text}"]
        if per == 1:
            return [*lines, "  return w;", "}"]
        return [
            *lines,
            f"  let b = vec4<u32>(up % {per}u * BITS);",
            "  return (w << b) | ((vec4<u32>(0u, w.xyz) >> vec4<u32>(1u)) >> (31u - b));",
            "}",
        ]

    def _short(self, reading: Reading, output: str) -> list[str]:
        """`make_group` where every element of a unit has a row of its own."""
        tensors, last = len(reading.operands), len(self.loops) - 1
        pitch, step = self.loops[last - 1].steps[-1], self.step
        back = -(-(self.unit - 1) // pitch)  # rows before the first, which a unit may begin in
        lines = [
            *self._begin(reading, output),
            f"  let first = place + {back * pitch}u;",
            f"  let row = first / {pitch}u;",
            f"  let q = first - row * {pitch}u;",
        ]
        given = []
        for k in range(self.unit):
            rows, past = divmod(k, pitch)
            lines += [
                f"  let on_{k} = {f'q >= {pitch - past}u' if past else 'false'};",
                f"  let row_{k} = row + select({rows}u, {rows + 1}u, on_{k}) - {back}u;",
                f"  let q_{k} = select(q + {past}u, q + {past}u - {pitch}u, on_{k});",
                f"  let own_{k} = row_{k} < {of_eight('sizes', last - 1)} && "
                f"q_{k} < params.reach{f' && q_{k} % {step}u == 0u' if step > 1 else ''};",
            ]
            for t in range(tensors):
                row = f"row_{k} * {of_eight(f'strides{t}', last - 1)}"
                along = f"q_{k} / {step}u * {of_eight(f'strides{t}', last)}"
                lines.append(f"  let at{t}_{k} = at{t}_ + {row} + {along};")
            given += [f"at{t}_{k}" for t in range(tensors)]
        masks = [
            f"select(0u, {((1 << min(32, self.bits)) - 1) << at % 32:#x}u, own_{at // self.bits})"
            for at in range(0, UNIT_BITS, min(32, self.bits))
        ]
        per = max(1, 32 // self.bits)
        words = [" | ".join(masks[w : w + per]) for w in range(0, len(masks), per)]
        return [
            *lines,
            f"  let own = vec4<u32>({', '.join(words)});",
            f"  let words = made({', '.join(given)});",
            "  var kept = vec4<u32>();",
            f"  if (any(own != vec4<u32>(0xffffffffu))) {{ kept = load_{output}(unit) & ~own; }}",
            f"  if (any(own != vec4<u32>())) {{ store_{output}(unit, kept | (words & own)); }}",
            "}",
        ]
