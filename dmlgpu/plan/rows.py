"""Groups of neighbouring output elements that go on in the next row of the loops.

Where rows are no multiple of a group, an invocation that makes a whole group begins in one row and
may end in another. It finds the row of its first element by division and the rows behind by
counting on, so that every element has its address without a branch: in one of two rows, since it
is known which two an element can be in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from dmlgpu.plan.dispatch import Value, eight, of_eight

LONG = 8  # groups of a row, from which on a subgroup seldom has one that goes on in another row
DIVISION = (
    "fn divided(n: u32, magic: u32, shift: u32) -> u32 {",
    "  let t = u32((u64(n) * u64(magic)) >> 32u);",
    "  return select((t + ((n - t) >> 1u)) >> shift, n, magic == 0u);",
    "}",
)


def divisors(sizes: Sequence[int], of: str = "") -> dict[str, Value]:
    """Parameters of divisions by `sizes` as `DIVISION` does them, their names beginning with `of`.

    A quotient of 32 bits is a product's upper half, corrected (Granlund and Montgomery, 1994): a
    fifth of the instructions where there are 64-bit integers. A size of 1 has a factor of 0.
    """
    logs = [max(1, (n - 1).bit_length()) for n in sizes]
    factors = [((1 << log) - n << 32) // n + 1 for n, log in zip(sizes, logs, strict=True)]
    magics = [factor if n > 1 else 0 for n, factor in zip(sizes, factors, strict=True)]
    return {f"{of}magics": eight(magics), f"{of}shifts": eight([log - 1 for log in logs])}


def quotient(number: str, sizes: str, d: int, *, by_product: bool, of: str = "") -> str:
    """WGSL of a number divided by entry `d` of the parameter `sizes`, of whose divisors it is."""
    if not by_product:
        return f"{number} / {of_eight(sizes, d)}"
    return f"divided({number}, {of_eight(f'{of}magics', d)}, {of_eight(f'{of}shifts', d)})"


@dataclass(frozen=True, slots=True)
class Rows:
    """How groups of a packed output lie in the rows of the innermost loop.

    In row `i` of those that a group reaches, element `k` of tensor `t` lies `k` steps behind
    `row{t}_{i}`. `left` is how many elements the first of these rows has for the group.
    """

    group: int
    rank: int  # loops
    length: int  # of a row; 0 where it is at least a group, whatever it is
    steps: tuple[int | None, ...]  # of each tensor along a row; None: it is not reached by rows
    in_one: bool = False  # a group never goes on in another row
    by_product: bool = False  # quotients are products, which takes 64-bit integers
    is_whole: bool = False  # groups begin where what is held of the rows begins, or groups on
    is_long: bool = False  # few groups go on in another row
    # A row repeats what lies there once, and goes on for a group behind it: `sizes` of the kernel
    # has the elements of that after those of the loops.
    is_periodic: bool = False

    @classmethod
    def of(
        cls,
        group: int,
        sizes: Sequence[int],
        steps: Sequence[int | None],
        *,
        in_one: bool = False,
        by_product: bool = False,
        is_periodic: bool = False,
    ) -> Rows:
        """Rows of the last of several loops; those that are periodic hold a group at least."""
        length = sizes[-1] if sizes[-1] < group else 0
        assert not (is_periodic and length)
        is_long = sizes[-1] >= LONG * group
        return cls(
            group,
            len(sizes),
            length,
            tuple(steps),
            in_one,
            by_product,
            is_long=is_long,
            is_periodic=is_periodic,
        )

    @property
    def count(self) -> int:
        """Rows that a group reaches at most."""
        lasts = [self.row_of(k) for k in range(self.group)]
        return max(row + bool(beyond) for row, beyond in lasts) + 1

    @property
    def at_end(self) -> str:
        """When the row of a group's first element is the last of the loop around rows; "": never.

        The last of all rows has no next one.
        """
        return f"end{self.rank - 2}_1" if self.rank > 2 else ""

    def row_of(self, k: int) -> tuple[int, str]:
        """The row of an element of the group, and when it is in the one behind that; "": never."""
        if self.in_one:
            return 0, ""
        length = self.length or self.group
        row, past = divmod(k, length)
        # Where rows are shorter than a group, a group begins at a multiple of what divides both.
        first = gcd(self.length, self.group) if self.length else 1
        return row, f"left <= {past}u" if past >= first else ""

    def stride(self, t: int, d: int | None = None) -> str:
        """The step of a tensor along a loop; along a row where none is given."""
        d = self.rank - 1 if d is None else d
        return of_eight(f"strides{t}", d)

    def address(self, t: int, k: int, begin: str = "") -> str:
        """The address of element `k` of the group in tensor `t`; rows begin at `row{t}_`, or so."""
        begin = self.of_rows(begin or f"row{t}_", k)
        return f"({begin}{_times(k, self.steps[t], self.stride(t))})"

    def of_rows(self, name: str, k: int) -> str:
        """What element `k` of the group has, where all of a row have the same: `name` and a row."""
        row, beyond = self.row_of(k)
        return f"select({name}{row}, {name}{row + 1}, {beyond})" if beyond else f"{name}{row}"

    def _quotient(self, number: str, d: int) -> str:
        return quotient(number, "sizes", d, by_product=self.by_product)

    def places(self) -> list[str]:
        """Statements from the number of a group to where its rows begin."""
        last = self.rank - 1
        length = f"{self.length}u" if self.length else _size(last)
        walked = [t for t, step in enumerate(self.steps) if step is not None]
        row = f"first / {length}" if self.length else self._quotient("first", last)
        lines = [
            f"  let first = number * {self.group}u;",
            f"  let rest{last} = {row if last else '0u'};",
            f"  let from_row = first - rest{last} * {length};",
            f"  let left = {length} - from_row;",
        ]
        if self.is_periodic:
            periods = self._quotient("from_row", self.rank)
            lines.append(f"  let within = from_row - {periods} * {_size(self.rank)};")
        walk = "within" if self.is_periodic else "from_row"
        for d in reversed(range(last)):
            lines.append(f"  let rest{d} = {self._quotient(f'rest{d + 1}', d) if d else '0u'};")
            lines.append(f"  let c{d}_0 = rest{d + 1} - rest{d} * {_size(d)};")
        for t in walked:
            terms = [f"c{d}_0 * {self.stride(t, d)}" for d in range(last)]
            begin = " + ".join([f"params.start{t}", *terms])
            lines.append(f"  let row{t}_0 = {begin}{_times(walk, self.steps[t], self.stride(t))};")
        for i in range(1, self.count):
            lines += self._next(i, length, walked)
        return lines

    def _next(self, i: int, length: str, walked: Sequence[int]) -> list[str]:
        """Statements that count on from row `i - 1`: a loop at its end goes back to its start."""
        last = self.rank - 1
        ends = [""]
        lines = []
        for d in reversed(range(1, last)):
            at_end = f"c{d}_{i - 1} + 1u == {_size(d)}"
            lines.append(f"  let end{d}_{i} = {' && '.join([*filter(None, ends), at_end])};")
            ahead = f"c{d}_{i - 1} + {f'select(0u, 1u, {ends[0]})' if ends[0] else '1u'}"
            lines.append(f"  let c{d}_{i} = select({ahead}, 0u, end{d}_{i});")
            ends = [f"end{d}_{i}"]
        for t in walked:
            step, length_walked = self.steps[t], "(within + left)" if self.is_periodic else length
            stride = "" if step == 1 else f" * {self.stride(t)}"
            back = f" - {length_walked}{stride}" if step else ""
            begin = f"row{t}_{i - 1}{back} + {self.stride(t, last - 1)}"
            for d in reversed(range(1, last)):
                jump = f"{self.stride(t, d - 1)} - {_size(d)} * {self.stride(t, d)}"
                begin += f" + select(0u, {jump}, end{d}_{i})"
            lines.append(f"  let row{t}_{i} = {begin};")
        return lines


def _size(d: int) -> str:
    return of_eight("sizes", d)


def _times(count: int | str, step: int | None, stride: str) -> str:
    """What `count` steps add to an address."""
    if not count or not step:
        return ""
    counted = f"{count}u" if isinstance(count, int) else count
    return f" + {counted}" if step == 1 else f" + {counted} * {stride}"
