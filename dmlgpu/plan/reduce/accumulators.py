"""Accumulators: the functions that reductions know, as WGSL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.values import class_of, keeping_nan, resolve, wgsl_type

NOWHERE = "0xffffffffu"
NEAR = 16  # neighbours whose places are part of a key
BLOCK = 32  # lanes that join first, by shuffles where subgroups have as many


@dataclass(frozen=True, slots=True)
class Near:
    """How the best of up to sixteen neighbours is found by keys: value and place in one word.

    `lift` makes a key of a value, of its place, and of its place from the other end.
    """

    lift: str
    choose: str  # max or min
    none: str  # what is worse than every key
    value: str  # of the key
    place: str


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How a function reduces, as WGSL.

    `words` is how many 32-bit words an accumulator takes between passes. `lift` makes one from an
    element `x` at place `i` among those reduced; `combine` joins `a` and `b`, all of which comes
    behind `a`; `finish` is the result of `a`, with `n` elements reduced.
    """

    type: str  # WGSL type of an accumulator
    words: int
    identity: str
    lift: str
    combine: str
    finish: str
    pack: tuple[str, ...]  # the words of `a`
    unpack: str  # an accumulator of the words w0, w1, ...
    declarations: str = ""
    join: str = ""  # as `combine`, where neither comes first: invocations take turns
    members: tuple[str, ...] = ()  # of a struct
    near: Near | None = None
    is_idempotent: bool = False  # an element that is combined twice counts once

    @property
    def has_place(self) -> bool:
        """Whether it matters at which place an element is."""
        return re.search(r"\bi\b", self.lift) is not None

    def each(self, of: str) -> str:
        """WGSL of an accumulator that is made member by member; `of` has {0} for which."""
        made = [of.format(f".{m}") for m in self.members]
        return f"{self.type}({', '.join(made)})" if self.members else of.format("")

    def functions(self, is_ordered: bool, shuffles: bool = False) -> list[str]:
        """WGSL that combines accumulators, which come in the order of their places or do not.

        With `shuffles`, `shuffled(a, by)` is the accumulator of the lane so far behind.
        """
        both = f"(a: {self.type}, b: {self.type}) -> {self.type}"
        join = self.join or self.combine
        picked = self.each(
            "select(no{0}, a{0}, there)" if self.members else "select(identity(), a, there)"
        )
        shuffled = self.each("subgroupShuffleDown(a{0}, by)")
        shuffle = f"fn shuffled(a: {self.type}, by: u32) -> {self.type} {{ return {shuffled}; }}"
        return [
            *([shuffle] if shuffles else []),
            *([self.declarations] if self.declarations else []),
            f"fn identity() -> {self.type} {{ return {self.identity}; }}",
            f"fn combine{both} {{ return {self.combine if is_ordered else join}; }}",
            f"fn join{both} {{ return {join}; }}",
            f"fn if_there(a: {self.type}, there: bool) -> {self.type} {{",
            *(["  let no = identity();"] if self.members else []),
            f"  return {picked};",
            "}",
        ]


def paired(terms: Sequence[str], how: str = "combine") -> str:
    """The terms combined in pairs."""
    made = list(terms)
    while len(made) > 1:
        odd = made[len(made) // 2 * 2 :]
        made = [f"{how}({a}, {b})" for a, b in zip(made[::2], made[1::2], strict=False)] + odd
    return made[0]


def halves(count: int) -> list[tuple[int, int]]:
    """Numbers of values that are left to be joined, and how far apart those joined are."""
    made = []
    while count > 1:
        half = (count + 1) // 2
        made.append((count, half))
        count = half
    return made


def tree(
    values: Sequence[tuple[str, str]],
    lanes: int,
    shuffles: bool = False,
    *,
    apart: int = 1,
    lane: str = "lane",
    fits: str = "",
    stored: bool = False,
) -> list[str]:
    """Statements that join a value of each lane, all of which come here: the first lane has all.

    `values` are variables, and their places in workgroup memory with {} for how far from there.
    Lanes lie `apart`. Those side by side join in blocks first, the same ones with shuffles and
    without. `fits` says which invocations have values at all, which may be `stored` already.
    """
    if lanes == 1:
        return ["  workgroupBarrier();"] if stored else []
    puts = [f"{at.format('')} = {name};" for name, at in values]
    beside = apart == 1 and lanes & (lanes - 1) == 0
    blocks = max(1, lanes // BLOCK) if beside else 1
    inner, outer = halves(lanes // blocks), halves(blocks)
    if shuffles and beside and blocks <= BLOCK:
        found = [f"  {x} = join({x}, shuffled({x}, {{}}u));" for x, _ in values]
        lines = [line.format(half) for _, half in inner for line in found]
        if blocks == 1:
            return lines
        first = f" - {lane} + {lane} % {blocks}u * {BLOCK}u"  # lanes of the blocks
        return [
            *lines,
            f"  if ({lane} % {BLOCK}u == 0u) {{ {' '.join(puts)} }}",
            "  workgroupBarrier();",
            *(f"  {x} = {at.format(first)};" for x, at in values),
            *(line.format(half) for _, half in outer for line in found),
        ]
    put = f"if ({fits}) {{ {' '.join(puts)} }}" if fits else " ".join(puts)
    lines = [] if stored else [f"  {put}"]
    lines.append("  workgroupBarrier();")
    of_block = f"{lane} % {BLOCK}u" if blocks > 1 else lane
    steps = [(f"{of_block} < {left - half}u", half) for left, half in inner]
    steps += [(f"{lane} < {half * BLOCK}u", half * BLOCK) for _, half in outer]
    for inside, half in steps:
        lines.append(f"  if ({f'{fits} && ' if fits else ''}{inside}) {{")
        for (name, at), put in zip(values, puts, strict=True):
            lines.append(f"    {name} = join({name}, {at.format(f' + {half * apart}u')}); {put}")
        lines += ["  }", "  workgroupBarrier();"]
    return lines


def plain(
    data_type: DataType,
    lift: str,
    combine: str,
    identity: str,
    finish: str = "a",
    *,
    is_idempotent: bool = False,
) -> Accumulator:
    """An accumulator that is one value of the class of a data type."""
    kind = class_of(data_type)
    pack: tuple[str, ...] = ("a.x", "a.y")
    unpack = "vec2<u32>(w0, w1)"
    if kind == "u32":
        pack, unpack = ("a",), "w0"
    elif kind in ("f32", "i32"):
        pack, unpack = ("bitcast<u32>(a)",), f"bitcast<{kind}>(w0)"
    identity, lift, combine, finish = (
        resolve(text, {"T": data_type}) for text in (identity, lift, combine, finish)
    )
    return Accumulator(
        type=wgsl_type(data_type),
        words=len(pack),
        identity=identity,
        lift=lift,
        combine=combine,
        finish=finish,
        pack=pack,
        unpack=unpack,
        is_idempotent=is_idempotent,
    )


def total(data_type: DataType, lift: str = "x", finish: str = "a") -> Accumulator:
    """The sum of a value of each element."""
    return plain(data_type, lift, "T_add(a, b)", "T_zero()", finish)


def product(data_type: DataType) -> Accumulator:
    """The product of all elements."""
    return plain(data_type, "x", "T_mul(a, b)", "T_one()")


def average(data_type: DataType) -> Accumulator:
    """The sum over the count, of floats."""
    return total(data_type, finish="f32_div(a, f32_from_u32(n))")


def extreme(data_type: DataType, largest: bool, keeps_nan: bool = False) -> Accumulator:
    """The largest or the smallest element; `keeps_nan` says that NaN is more than any number."""
    combine = "T_max(a, b)" if largest else "T_min(a, b)"
    if keeps_nan and class_of(data_type) == "f32":
        combine = keeping_nan(combine)
    return plain(data_type, "x", combine, _limit(data_type, not largest), is_idempotent=True)


def _limit(data_type: DataType, largest: bool) -> str:
    """The largest or the smallest value of a data type, as WGSL."""
    kind = class_of(data_type)
    if kind == "f32":
        return "f32_infinity()" if largest else "-f32_infinity()"
    info = np.iinfo(data_type.numpy)
    value = int(info.max if largest else info.min)
    if kind == "i32":
        return f"{value}i" if value > -(2**31) else "(-2147483647i - 1i)"
    if kind == "u32":
        return f"{value}u"
    return f"vec2<u32>({value & 0xFFFFFFFF}u, {value >> 32 & 0xFFFFFFFF}u)"


def place_of_extreme(
    data_type: DataType, output: DataType, largest: bool, last: bool = False, value_of: str = "x"
) -> Accumulator:
    """A value and its place; of equal ones the first place, or the last.

    Before any element it is the worst value at no place, which the first index stands for.
    `value_of` is what an element is compared by, of the data type.
    """
    value, kind = wgsl_type(data_type), class_of(data_type)
    wide = kind in ("i64", "u64")
    less = "i64_lt({}, {})" if kind == "i64" else "u64_lt({}, {})" if wide else "{} < {}"
    order = ("a.value", "b.value") if largest else ("b.value", "a.value")
    better = less.format(*order)
    same = "all(a.value == b.value)" if wide else "a.value == b.value"
    # Of elements in order, a later one must be better, or as good where the last one counts; no
    # element is better than none at all.
    taken = better
    if last:
        taken = f"b.place != {NOWHERE} && !({less.format(*reversed(order))})"
    place = f"(b.place > a.place || a.place == {NOWHERE})" if last else "b.place < a.place"
    if last:
        place = f"b.place != {NOWHERE} && {place}"
    declarations = (
        f"struct Extreme {{ value: {value}, place: u32 }}\n"
        # Chosen without branches, which some drivers take minutes to compile here.
        "fn chosen(a: Extreme, b: Extreme, second: bool) -> Extreme {\n"
        "  return Extreme(select(a.value, b.value, second), select(a.place, b.place, second));\n"
        "}\n"
        "fn in_order(a: Extreme, b: Extreme) -> Extreme {\n"
        f"  return chosen(a, b, {taken});\n"
        "}\n"
        "fn any_order(a: Extreme, b: Extreme) -> Extreme {\n"
        f"  return chosen(a, b, {better} || ({same} && {place}));\n"
        "}"
    )
    words: tuple[str, ...] = ("a.value.x", "a.value.y")
    if not wide:
        words = ("a.value" if kind == "u32" else "bitcast<u32>(a.value)",)
    places = len(words)
    unpacked = "vec2<u32>(w0, w1)" if wide else {"u32": "w0"}.get(kind, f"bitcast<{kind}>(w0)")
    to = class_of(output)
    near = None
    if data_type.bits <= 16 and kind != "f32":
        from_end = largest != last
        near = Near(
            lift="i32({0}) * 16i + {2}i" if from_end else "i32({0}) * 16i + {1}i",
            choose="max" if largest else "min",
            none="(-2147483647i - 1i)" if largest else "2147483647i",
            value=f"{value}(key >> 4u)",
            place="u32(15i - (key & 15i))" if from_end else "u32(key & 15i)",
        )
    found = f"select(a.place, 0u, a.place == {NOWHERE})"
    return Accumulator(
        type="Extreme",
        words=places + 1,
        identity=f"Extreme({_limit(data_type, not largest)}, {NOWHERE})",
        lift=f"Extreme({value_of}, i)",
        combine="in_order(a, b)",
        join="any_order(a, b)",
        finish=found if to == "u32" else f"{to}_from_u32({found})",
        pack=(*words, "a.place"),
        unpack=f"Extreme({unpacked}, w{places})",
        declarations=declarations,
        members=("value", "place"),
        near=near,
        is_idempotent=True,
    )


def log_sum_exp(data_type: DataType) -> Accumulator:
    """The largest element, and the sum of the exponentials relative to it."""
    declarations = (
        "struct LogSum { most: f32, sum: f32 }\n"
        # The lesser of two sums shrinks by e^-apart: to nothing that shows from 87 on, and where it
        # is the sum of nothing. The sum keeps NaN, and max need not.
        "fn joined(a: LogSum, b: LogSum) -> LogSum {\n"
        "  let apart = select(f32_abs(a.most - b.most), 0.0, a.most == b.most);\n"
        "  let falls = math_exp_bounded(-min(apart, 87.0));\n"
        "  let factor = select(falls, apart, f32_is_nan(apart));\n"
        "  let is_less = a.most < b.most;\n"
        "  let sum = select(a.sum, b.sum, is_less) + select(b.sum, a.sum, is_less) * factor;\n"
        "  return LogSum(max(a.most, b.most), sum);\n"
        "}\n"
        "fn result(a: LogSum) -> f32 {\n"
        "  if (math_is_inf(a.most)) { return select(a.most, a.sum, f32_is_nan(a.sum)); }\n"
        "  return a.most + math_log(a.sum);\n"
        "}"
    )
    return Accumulator(
        type="LogSum",
        words=2,
        identity="LogSum(-f32_infinity(), 0.0)",
        lift="LogSum(x, 1.0)",
        combine="joined(a, b)",
        finish="result(a)",
        pack=("bitcast<u32>(a.most)", "bitcast<u32>(a.sum)"),
        unpack="LogSum(bitcast<f32>(w0), bitcast<f32>(w1))",
        declarations=declarations,
        members=("most", "sum"),
    )
