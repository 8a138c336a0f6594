"""How element-wise work is divided: groups of elements, and how each tensor is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.plan.dispatch import Adapter, of_eight
from dmlgpu.plan.elementwise import across, short_rows
from dmlgpu.plan.elementwise.spans import Spans
from dmlgpu.plan.move.windows import Window
from dmlgpu.plan.reading import Loop, Reading, folded, in_groups
from dmlgpu.plan.values import Operand
from dmlgpu.plan.words import UNIT_BITS

Tile = across.Tile | short_rows.Run  # of operands that lie across

WG_SIZE = 128
EACH = 4  # groups of an invocation that writes more than it reads: workgroups start in turn
MANY = 1 << 16  # groups from which on there are enough workgroups nevertheless
MOST_SHARES = 16  # steps of a loop that are made side by side
FORGOTTEN = 1 << 24  # bytes from which on caches hold what is read again no more
MOST_UNITS = 4  # units of one tensor that an invocation handles at most
FOLLOWED = 4  # groups in a row of a tile, from which on it hardly matters that the last goes on


@dataclass(frozen=True, slots=True)
class Shape:
    """How the work is divided: groups of elements, and how an invocation reaches each tensor.

    An output is stored in `units` of 16 bytes, in `halves` of these, or in `words`. Elements that
    share a word with bytes of others are put between them with `merge`.
    """

    loops: tuple[Loop, ...]
    reading: Reading
    stores: tuple[str, ...]
    exact_floats: bool
    tile: Tile | None = None  # of what lies across, where the work is done in tiles
    writes: bool = False  # more than is read
    shares: int = 1  # parts of the work that workgroups take turns at
    each_of_long: int = 1  # groups of an invocation, by how long the work on one takes
    is_quick: bool = False  # branches are kept apart from what most elements need
    steps: int = 0  # of the outermost loop in all, where its size is those between repeats
    on_cpu: bool = False
    is_spanned: bool = False  # vectors of a CPU adapter make several groups in turn
    window: Window | None = None  # of the output, in which units are the groups

    @property
    def group(self) -> int:
        """Elements that one invocation makes."""
        return self.reading.group

    @property
    def by_product(self) -> bool:
        """Whether there are quotients, and they are products of 64 bits."""
        return self.reading.wide and len(self.loops) > 1

    @property
    def groups(self) -> int:
        """How many there are."""
        if self.window:
            return self.window.count
        rows, length = prod(d.size for d in self.loops[:-1]), self.loops[-1].size
        if self.is_linear:
            rows, length = 1, rows * length
        return rows * -(-length // self.group)

    @property
    def share(self) -> int:
        """Groups of a part that workgroups take turns at."""
        return -(-self.groups // self.shares)

    @property
    def each(self) -> int:
        """Groups of one invocation, a workgroup apart."""
        if self.groups < MANY:
            return 1
        return EACH if self.writes else self.each_of_long

    @property
    def spans(self) -> Spans:
        """Which groups the vectors of a CPU adapter make."""
        return Spans.of(self.loops, self.groups, is_linear=self.is_linear, wg_size=WG_SIZE)

    @property
    def repeats(self) -> int:
        """How often a group is made, at steps of the outermost loop."""
        return -(-self.steps // self.loops[0].size) if self.steps else 1

    @property
    def is_linear(self) -> bool:
        """Whether a group may go on in the next row, so each element has its own coordinates."""
        return self.reading.rows is not None


def fold(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Loops of more than one step, by the last tensor's stride, merged where possible."""
    ordered = sorted(loops, key=lambda d: -d.steps[-1])
    return folded(ordered) or (Loop(1, (1,) * len(loops[0].steps)),)


def shape_of(
    loops: tuple[Loop, ...], operands: Sequence[Operand], outputs: int, adapter: Adapter, most: int
) -> Shape:
    """The largest groups that every output allows, and the best access of each tensor to them.

    Groups have at most `most` elements, or as many as fill a word.
    """
    made = operands[-outputs:]
    read = operands[: len(operands) - outputs]
    firsts = len(read)
    least = max(1, *(32 // o.bits for o in made))
    moving = [t for t, o in enumerate(operands) if o.field and loops[-1].steps[t]]
    widths = [operands[t].bits for t in moving]
    halves = adapter.exact_floats
    # The widest tensors are reached one unit at a time: neighbours reach neighbours. Only a single
    # wide input may be reached several units at a time, so that a narrower output gets whole units:
    # a conversion of FLOAT32 to FLOAT16 ran at 0.80 of the limit with half units, at 1.01 with
    # whole ones; comparisons of two inputs fell from 1.05 to 0.50 that way, and of every second
    # element, which are loaded one by one. On CPU adapters half a unit is as good: `isnan` takes
    # lavapipe 25.0 0.8 times as long as word by word.
    wide = UNIT_BITS // max(widths)
    group = wide
    alone = len(moving) == 1 + outputs and loops[-1].steps[moving[0]] == 1
    if alone and max(o.bits for o in made) < widths[0]:
        unit, units = (UNIT_BITS // 2, 2) if adapter.is_cpu else (UNIT_BITS, MOST_UNITS)
        group = min(unit // min(widths), units * wide)
    group = max(least, min(most, group))
    count = prod(loop.size for loop in loops)
    packed = _are_packed(loops, operands, outputs)
    smaller = () if packed else (least,)
    for size in dict.fromkeys((group, max(least, wide), *smaller)):
        if any(o.shares and count % size for o in made):
            continue  # the last group would reach beyond the work
        if all(in_groups(loops, firsts + n, o.start, size) for n, o in enumerate(made)):
            return _in_groups(loops, operands, outputs, adapter, size)
    if packed:
        return _in_groups(loops, operands, outputs, adapter, group, goes_on=True)
    stores = _stores(made, 1)
    reading = Reading.along(read, loops, 1, stride(loops), wide=adapter.wide_integers)
    return Shape(loops, reading, stores, halves)


def _stores(made: Sequence[Operand], group: int) -> tuple[str, ...]:
    """How groups of outputs are written."""
    bits = [group * o.bits % UNIT_BITS for o in made]
    ways = {0: "units", UNIT_BITS // 2: "halves"}
    return tuple("merge" if n % 32 else ways.get(n, "words") for n in bits)


def stride(loops: Sequence[Loop]) -> str:
    """WGSL of the step between neighbours."""
    return of_eight("strides{}", len(loops) - 1)


def _in_groups(
    loops: tuple[Loop, ...],
    operands: Sequence[Operand],
    outputs: int,
    adapter: Adapter,
    group: int,
    *,
    goes_on: bool = False,
) -> Shape:
    """Groups that rows of every output are multiples of, or that go on in the next row."""
    read, made = operands[:-outputs], operands[-outputs:]
    stores = _stores(made, group)
    wide = adapter.wide_integers
    if goes_on:
        reading = Reading.in_rows(read, loops, group, stride(loops), wide=wide)
    else:
        runs = not adapter.is_cpu
        reading = Reading.along(read, loops, group, stride(loops), runs=runs, wide=wide)
    return Shape(loops, reading, stores, adapter.exact_floats)


def tiled(
    shape: Shape, operands: Sequence[Operand], outputs: int, adapter: Adapter, whole: bool
) -> Shape:
    """The same work in tiles, where operands lie across the output.

    Its row is "add a transposed operand". A CPU's caches hold what is read again. Groups that go on
    in the next row need elements of it to be held with each row, so narrow tiles have small ones.
    Results may be held where they are made `whole`, by one function.
    """
    if "merge" in shape.stores:
        return shape
    least = max(1, *(32 // o.bits for o in operands[-outputs:]))
    linear, group, read = shape.is_linear, shape.group, shape.reading.operands
    made = operands[-1].bits if whole else 0
    packed = _are_packed(shape.loops, operands, outputs)
    run = short_rows.run_of(shape.loops, read, group, adapter, made) if packed else None
    if run:
        shape = _in_groups(shape.loops, operands, outputs, adapter, group, goes_on=True)
        return replace(shape, tile=run, reading=run.held_by(shape.reading))
    while True:
        beyond = group - 1 if linear else 0
        tile = across.tile_of(shape.loops, read, group, beyond, adapter, made)
        if not tile or not tile.beyond or group == least or FOLLOWED * group <= tile.own:
            break
        group //= 2
    if tile is None:
        return shape
    shape = _in_groups(shape.loops, operands, outputs, adapter, group, goes_on=linear)
    return replace(shape, tile=tile, reading=tile.held_by(shape.reading))


def _are_packed(loops: tuple[Loop, ...], operands: Sequence[Operand], outputs: int) -> bool:
    """Whether the loops step through the outputs' addresses one after the other, from 0 on."""
    if any(o.start or o.shares for o in operands[-outputs:]):
        return False
    step = 1
    for loop in reversed(loops):
        if any(n != step for n in loop.steps[-outputs:]):
            return False
        step *= loop.size
    return True


def shares_of(shape: Shape) -> int:
    """Parts of the work that workgroups take turns at.

    Where an operand is read again with every step of the outermost loop, and caches hold it no more
    by then, the steps are made side by side.
    """
    first, *inner = shape.loops
    for t, operand in enumerate(shape.reading.operands):
        reach = prod(loop.size for loop in inner if loop.steps[t]) * operand.bits // 8
        if operand.field and not first.steps[t] and reach >= FORGOTTEN:
            most = min(first.size, MOST_SHARES)
            return next(n for n in range(most, 0, -1) if first.size % n == 0)
    return 1
