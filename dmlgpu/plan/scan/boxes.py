"""Scans between layouts of any kind: boxes of lines and steps in workgroup memory.

A box has enough steps along the loops that step least through the input, and along those that step
least through the output, for whole sectors on both sides. The lanes of a workgroup cover a part of
the box, and its items are that part again and again: so the coordinates of an invocation's elements
differ by constants. Workgroups walk the axis box by box; where they are too few, the axis is cut
into segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from dmlgpu.desc.cached import cached_property
from dmlgpu.plan.dispatch import BANKS
from dmlgpu.plan.loops import Dim, order_of
from dmlgpu.plan.scan.box_order import FEW_PIECES, Access, Order
from dmlgpu.plan.scan.lines import Scan, columns_of
from dmlgpu.plan.traffic import SECTOR

# Numbers that the shader shares, or that devices set.
WG_SIZE = 256  # most: workgroups of small boxes, of whole lines and of halves in words have fewer
GROUP_SUMS = 128  # most sums of parts that are added up together

# How large boxes are, by what is known of GPUs.
ELEMENTS = 2048  # of a box: with more, fewer run at once; twice as many of some (`gains`)
LARGE = 8192  # of a box of which there are few, so that as much is under way
RUN = 2048  # bits side by side that a box should have on both sides
LEAST_RUN = 1024  # bits side by side, where longer runs leave too few boxes
SHORT_RUN = 512  # bits side by side, where even those leave too few, and of large boxes
FILL = 256  # workgroups that keep a GPU busy
FEW, CORES = 96, 132  # workgroups with large boxes, of which a core has one: else three passes pay
WIDE = 8192  # bits of a row of halves that a box has, where there are as many boxes as MANY
MANY = 2048
EACH = 12  # steps that one invocation adds up, of boxes that hold whole lines
SIZES = (64, 128)  # of workgroups that have such boxes, below WG_SIZE
LONG_ENOUGH = 24  # steps of such lines: of shorter ones larger boxes are better
SMALL_WHOLE = 8 << 10  # bytes of whole lines, as many as give runs of LEAST_RUN
MOST_WHOLE = 14 << 10  # bytes of whole lines, in runs of SHORT_RUN: of larger ones too few run
BUSY = 0.9  # of the lanes, with which elements are written row by row
MOST_WORK = 1.15  # of small boxes that hold whole lines, and of halves in words: others are fuller
MOST_DIRECT = 1.3  # of halves in words that are added up by those who read them
FEW_BOXES = 8  # along the axis, which one workgroup takes sooner than three passes begin
DIRECT = 512  # bits of neighbouring lines from which they need no workgroup memory
ODD_LINES = 8  # halves side by side from which an odd one at the end is little
THIN = 8  # lines of halves up to which boxes have no more than ELEMENTS
LEAST_STEPS = 4  # of a box of three passes, or it has twice the elements
SEGMENT_STEPS = 32  # fewest of a segment: the sums of shorter ones are too much to read and write
SEGMENTED = 4096  # workgroups to cut the axis for: several times those, so that they end together


@dataclass(frozen=True)
class Boxes:
    """How a scan is cut: the loops, of which the axis is the last, and a box of their steps."""

    scan: Scan
    dims: tuple[Dim, ...]
    box: tuple[int, ...]  # steps of each loop
    segments: int
    room: int  # elements that workgroup memory holds beside the sums of parts
    wg_size: int
    in_words: bool = False  # of halves: they are held in pairs, and so are the lines or steps

    @property
    def axis(self) -> int:
        """The number of the scanned loop."""
        return len(self.dims) - 1

    @cached_property
    def lines(self) -> int:
        """Lines of a box."""
        return prod(self.box[:-1])

    @property
    def suits_words(self) -> bool:
        """Whether halves are better read and written in words, nearly all of them whole.

        Words of the output begin where runs do, so nothing is kept from one box to the next. Not
        where an invocation would have four lines, nor where others would hold lines for a walk.
        """
        near_in, near_out = self.by_input[0], self.by_output[0]
        across = [self.box[d] for d in (near_in, near_out) if d != self.axis]
        along_input = self.dims[near_in].source == 1
        whole = all(n % 2 == 0 or n >= ODD_LINES for n in across) and self.begins_on_words
        is_short = self.is_one or self.reads_lines
        has_two = near_in in (near_out, self.axis) or (near_out == self.axis and is_short)
        return self.in_pairs and along_input and whole and has_two

    @cached_property
    def pair(self) -> int | None:
        """The loop along which an invocation has two lines, of a word that is read or written."""
        near = (self.by_input[0], self.by_output[0]) if self.in_words else ()
        return next((d for d in near if d != self.axis), None)

    @property
    def even(self) -> int:
        """What the steps of an invocation are a multiple of: two where words go along the axis."""
        return 2 if self.in_words and self.axis in (self.by_input[0], self.by_output[0]) else 1

    @property
    def lines_each(self) -> int:
        """Lines side by side that one invocation adds up together."""
        return 1 if self.pair is None else 2

    @cached_property
    def _lanes_of_lines(self) -> tuple[int, ...]:
        """Lines of a box along each loop, those of one invocation counted once."""
        lines = enumerate(self.box[:-1])
        return tuple(-(-n // 2) if d == self.pair else n for d, n in lines)

    @property
    def side_lanes(self) -> int:
        """Invocations side by side that have the lines of a box."""
        return prod(self._lanes_of_lines)

    @property
    def most_parts(self) -> int:
        """Parts of a line in a box that there are invocations for, one at least."""
        return max(1, self.wg_size // self.side_lanes)

    @cached_property
    def parts(self) -> int:
        """Parts of a line in a box that different invocations add up: all of the same size."""
        most = min(self.most_parts, self.box[-1])
        return next(n for n in range(most, 0, -1) if self.box[-1] % (n * self.even) == 0)

    @property
    def side_by_side(self) -> int:
        """Boxes of one segment that differ in their lines."""
        return prod(self.counts[:-1])

    @cached_property
    def segment_steps(self) -> int:
        """Steps of a segment: whole boxes."""
        boxes = -(-self.dims[-1].size // self.box[-1])
        return -(-boxes // self.segments) * self.box[-1]

    @property
    def work(self) -> float:
        """Elements of all boxes over those there are: more where the last ones are not full."""
        pairs = zip(self.dims, self.box, strict=True)
        return prod(-(-d.size // n) * n / d.size for d, n in pairs)

    @cached_property
    def filled(self) -> tuple[int, ...]:
        """Steps of each loop that there are in a whole box: the parts of lines may reach beyond."""
        return tuple(min(n, d.size) for n, d in zip(self.box, self.dims, strict=True))

    @cached_property
    def is_one(self) -> bool:
        """Whether a segment is one box."""
        return self.segment_steps <= self.box[-1]

    @cached_property
    def own(self) -> tuple[int, ...]:
        """Loops of the lines of a box, in the order of the side that lines are neighbours on."""
        order = self.by_input if self.reads_lines else self.by_output
        return tuple(d for d in order if d != self.axis)

    @cached_property
    def reads_lines(self) -> bool:
        """Whether invocations read what they add up, with no workgroup memory between."""
        is_whole = self.scan.bits > 16 or self.in_words
        return is_whole and self._neighbours([d.source for d in self.dims]) != ()

    @cached_property
    def writes_lines(self) -> bool:
        """Whether invocations write what they have added up: no halves, which share words."""
        found = self._neighbours([d.out for d in self.dims])
        is_same = self._neighbours([d.source for d in self.dims]) in ((), found)
        return self.scan.bits > 16 and found != () and is_same

    def _neighbours(self, steps: Sequence[int]) -> tuple[int, ...]:
        """Loops along which lines are neighbours, by these steps; none where those are too few."""
        run, found = 1, []
        for d in order_of(steps):
            if d == self.axis or self.box[d] == 1:
                continue
            if abs(steps[d]) != run:
                break
            found.append(d)
            run *= self.box[d]
            if self.box[d] != self.dims[d].size:
                break
        return tuple(found) if run * self.scan.bits >= DIRECT else ()

    @property
    def gains(self) -> bool:
        """Whether a box of twice the elements is better than one of ELEMENTS.

        Halves in words take half of the room; of few lines, parts would meet in a bank. And where
        lines go along the input and runs of the output begin within sectors, longer ones have fewer
        ends; those of 64 bits are long enough.
        """
        if self.in_words:
            return self.lines > THIN
        near = self.by_output[0]
        steps = [d.out for k, d in enumerate(self.dims) if k != near and d.size > 1]
        is_ragged = any(n * self.scan.bits % (8 * SECTOR) for n in steps)
        return self.scan.bits == 32 and self.by_input[0] == self.axis != near and is_ragged

    @property
    def apart(self) -> Boxes:
        """The same boxes with no line that two of them read."""
        return replace(self, scan=replace(self.scan, alone=False))

    @cached_property
    def down(self) -> Order:
        """The lines of a box and their parts among invocations."""
        return self.order((*self.own, self.axis), (*self._lanes_of_lines, self.parts))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Boxes along each loop of lines; segments along the axis."""
        shared = [self.overlap if d == self.by_output[0] else 0 for d in range(len(self.dims))]
        every = zip(self.dims, self.strides, shared, strict=True)
        return tuple(-(-(d.size - n) // step) for d, step, n in every)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Steps of each loop from one box to the next, or from one segment to the next."""
        own = [*self.box[:-1], self.segment_steps]
        own[self.by_output[0]] -= self.overlap
        return tuple(own)

    @cached_property
    def overlap(self) -> int:
        """Lines that a box shares with the next, so that one of them has both halves of a word.

        Where lines are neighbours in the output, and runs of a box begin anywhere in a word. Not
        in place: the next box may have written the line by then.
        """
        near = self.by_output[0]
        is_cut = near != self.axis and self.box[near] < self.dims[near].size
        return int(self.scan.alone and is_cut and self.in_pairs and not self.begins_on_words)

    @cached_property
    def by_input(self) -> tuple[int, ...]:
        """Loops of the box in the order of the input, the one with the least step first."""
        return tuple(d for d in order_of([d.source for d in self.dims]) if self.box[d] > 1)

    @cached_property
    def read_run(self) -> tuple[int, ...]:
        """Loops of the box whose elements are read as one run.

        More than the first are so of halves alone, where they give whole words and the first does
        not.
        """
        near = self.by_input[0]
        if self.in_words:
            return (near,)
        found = self._run(self.by_input, [d.source for d in self.dims])
        others = [d.source for k, d in enumerate(self.dims) if k not in found and d.size > 1]
        steps = (self.scan.in_base, prod(self.box[d] for d in found), *others)
        is_better = self.scan.bits == 16 and self.box[near] % 2 and not any(n % 2 for n in steps)
        return found if is_better else (near,)

    @cached_property
    def write_run(self) -> tuple[int, ...]:
        """Loops of the box whose elements are written as one run.

        Several of larger elements only where many lanes would have nothing to do otherwise: a run
        takes a division for each element.
        """
        near = self.by_output[:1]
        if self.scan.bits > 16 and self._in_groups(self.by_output, near, 1).busy >= BUSY:
            return near
        return self._run(self.by_output, [d.out for d in self.dims])

    def _run(self, order: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
        """The first loops of an order whose elements lie in one piece, all but the last whole."""
        found, length = list(order[:1]), self.filled[order[0]]
        for inner, d in pairwise(order):
            is_whole = self.filled[inner] == self.dims[inner].size
            if self.scan.bits == 16 and self.box[inner] > self.filled[inner]:
                is_whole = is_whole and self.in_words  # else pairs are held side by side
            if not is_whole or steps[order[0]] != 1 or steps[d] != length:
                break
            found.append(d)
            length *= self.filled[d]
        return tuple(found)

    @property
    def wide(self) -> int:
        """Elements that are read together: of 16 bits two, where runs of a box are whole pairs."""
        if self.in_words:
            return 2
        by_one = self.dims[self.by_input[0]].source == 1
        is_paired = by_one and prod(self.box[d] for d in self.read_run) % 2 == 0
        return 2 if self.scan.bits == 16 and is_paired else 1

    @property
    def in_pairs(self) -> bool:
        """Whether elements of 16 bits are written as words: they are neighbours in the output."""
        return self.scan.bits == 16 and abs(self.dims[self.by_output[0]].out) == 1

    @cached_property
    def begins_on_words(self) -> bool:
        """Whether the runs of a box begin on whole words of the output, however long they are."""
        run = self.write_run
        steps = [d.out for k, d in enumerate(self.dims) if k not in run and d.size > 1]
        last = run[-1]
        if self.box[last] < self.dims[last].size:  # from the run of one box to that of the next
            steps.append(self.box[last] * self.dims[last].out)
        return self.dims[run[0]].out > 0 and not any(n % 2 for n in (self.scan.out_base, *steps))

    @cached_property
    def margin(self) -> int:
        """Steps of each line that are kept from box to box, so that whole sectors are written.

        Where a walk goes on in the output element by element, and lines begin anywhere; of halves
        that begin anywhere in a word, so that whole words are.
        """
        kept = _kept(self.scan)
        walks = abs(self.dims[-1].out) == 1 and not self.is_one
        whole = self.box[-1] % kept == 0 and self.box[-1] >= 4 * kept
        fits = self.lines * (self.box[-1] + kept) <= self.room
        is_held = not self.writes_lines and not (self.in_pairs and self.begins_on_words)
        return kept if walks and whole and fits and is_held else 0

    @property
    def on_lines(self) -> Access:
        """Elements that those who add them up reach together."""
        each = (2 if d == self.pair else 1 for d in range(self.axis))
        return self.down, (self.axis,), (*each, self.box[-1] // self.parts)

    @property
    def on_input(self) -> Access:
        """Elements that are held together as they are read."""
        return self.reads, self.read_run, self._groups(self.read_run[0], self.wide)

    @property
    def on_output(self) -> Access:
        """Elements that are taken together to be written."""
        near = self.write_run[0]
        return self.writes, self.write_run, self._groups(near, 2 if self.in_pairs else 1)

    def _groups(self, near: int, of: int) -> tuple[int, ...]:
        """Elements of each loop that a lane has: `of` along one."""
        return tuple(of if d == near else 1 for d in range(len(self.dims)))

    @cached_property
    def reads(self) -> Order:
        """What is read together, among invocations."""
        return self._in_groups(self.by_input, self.read_run, self.wide)

    @cached_property
    def writes(self) -> Order:
        """What is written together, among invocations."""
        return self._in_groups(self.by_output, self.write_run, 2 if self.in_pairs else 1)

    def order(self, loops: tuple[int, ...], box: tuple[int, ...]) -> Order:
        """Steps of loops among the invocations of a workgroup."""
        return Order(loops, box, self.wg_size)

    def _in_groups(self, loops: tuple[int, ...], run: tuple[int, ...], of: int) -> Order:
        """Groups of elements of a run, which counts as its first loop, and the other loops."""
        length = prod(self.filled[d] for d in run)
        box = tuple(-(-length // of) if d == run[0] else b for d, b in enumerate(self.filled))
        return self.order(tuple(d for d in loops if d not in run[1:]), box)

    @cached_property
    def by_output(self) -> tuple[int, ...]:
        """Loops of the box in the order of the output."""
        return tuple(d for d in order_of([d.out for d in self.dims]) if self.box[d] > 1)


def boxes_of(scan: Scan, storage: int) -> Boxes:
    """The boxes of a scan in `storage` bytes of workgroup memory."""
    dims = (*scan.lines, Dim(scan.axis_size, scan.out_step, scan.in_step))
    a_line_each = scan.bits > 16 and columns_of(scan) is not None  # nobody has to join parts of one
    if a_line_each:
        boxes = _cut(scan, dims, ELEMENTS, WG_SIZE * scan.bits, storage)
        if boxes.side_by_side >= FILL and boxes.box[-2] == boxes.lines:
            pieces = -(-scan.axis_size // boxes.box[-1])
            return replace(boxes, box=(*boxes.box[:-1], -(-scan.axis_size // pieces)))
    whole = _whole_lines(scan, dims, storage)
    if whole is not None:
        return whole
    by_input, by_output = order_of([d.source for d in dims]), order_of([d.out for d in dims])
    near_in, near_out = by_input[0], by_output[0]
    if scan.bits == 16 and near_in == near_out != len(dims) - 1:
        # Lines that are neighbours on both sides, and begin within words: few steps of many lines.
        for run, fill in ((WIDE, MANY), (RUN, FILL)):
            wide = _cut(scan, dims, ELEMENTS // 2, run, storage, WG_SIZE // 2)
            if not wide.in_words and wide.side_by_side >= fill:
                return wide
    for run in (RUN, LEAST_RUN):
        small = _cut(scan, dims, ELEMENTS // 2, run, storage, WG_SIZE // 2)
        if small.is_one and small.lines > 1 and small.work <= MOST_WORK:
            return small
    runs = [RUN, LEAST_RUN]
    if a_line_each:
        runs.insert(0, WG_SIZE * scan.bits)
    is_across = near_in != near_out and scan.bits > 16
    if is_across:
        # Boxes side by side read what lies side by side. Where lines are neighbours on both sides
        # that holds for segments too, and few boxes have too little under way.
        runs.append(SHORT_RUN)
    has_large = is_across and by_input[-1] == len(dims) - 1 and storage >= 6 * LARGE
    tried = [(n * ELEMENTS, run, range(FILL, 1 << 32)) for run in runs for n in (2, 1)]
    if has_large:
        tried.append((LARGE, SHORT_RUN, range(FEW, CORES + 1)))
    for most, run, numbers in tried:
        boxes = _cut(scan, dims, most, run, storage)
        if most == 2 * ELEMENTS and not boxes.gains:
            continue
        is_short = run > SHORT_RUN and FEW_BOXES * boxes.box[-1] >= scan.axis_size
        if boxes.side_by_side in numbers or is_short:
            return boxes
    first, larger = (_cut(scan, dims, n * ELEMENTS, RUN, storage) for n in (1, 2))
    if (larger.in_words and larger.gains) or first.box[-1] < LEAST_STEPS:
        first = larger
    wanted = min(
        -(-SEGMENTED // first.side_by_side),
        max(1, scan.axis_size // SEGMENT_STEPS),
        -(-scan.axis_size // (2 * first.box[-1])),  # of one box, nothing is on its way meanwhile
    )
    return replace(
        first, segments=-(-scan.axis_size // replace(first, segments=wanted).segment_steps)
    )


def _cut(
    scan: Scan, dims: tuple[Dim, ...], most: int, run: int, storage: int, wg_size: int = WG_SIZE
) -> Boxes:
    """Boxes of about `most` elements, if `storage` bytes hold them, with so many bits in a run.

    Of halves in words where that suits them.
    """
    while most * 5 // 4 > _room(scan, storage):
        most //= 2
    room = most * 5 // 4
    box = _box(dims, most, run // scan.bits)
    walks = abs(scan.out_step) == 1 and box[-1] < scan.axis_size
    whole = _kept(scan) if walks else 1
    is_even = scan.axis_size <= FEW_PIECES * box[-1]
    # Many parts of 8 steps would meet in a bank where nothing can be left free between lines.
    lines = prod(box[:-1])
    meet = lines == 2 or (scan.bits == 16 and 1 < lines < BANKS and BANKS % lines == 0)
    is_odd = meet and not walks and not is_even
    found = Boxes(scan, dims, tuple(box), 1, room, wg_size)
    plain = replace(found, box=_with_parts(found, whole, is_even=is_even, is_odd=is_odd))
    if scan.bits > 16:
        return plain
    words = replace(found, in_words=True, wg_size=wg_size // 2)
    words = replace(words, box=_with_parts(words, whole, is_even=is_even, is_odd=False))
    is_full = words.work <= (MOST_DIRECT if words.reads_lines else MOST_WORK) * plain.work
    return words if is_full and words.suits_words else plain


def _room(scan: Scan, storage: int) -> int:
    """Elements that `storage` bytes of workgroup memory hold beside the sums of parts."""
    width = 8 if scan.bits == 64 else 4
    return storage // width - WG_SIZE - GROUP_SUMS


def _whole_lines(scan: Scan, dims: tuple[Dim, ...], storage: int) -> Boxes | None:
    """Boxes of a few whole lines, which are neighbours in the input and go along the output."""
    by_output, by_input = order_of([d.out for d in dims]), order_of([d.source for d in dims])
    if by_output[0] != len(dims) - 1 or scan.axis_size < LONG_ENOUGH:
        return None
    for run, most in ((LEAST_RUN, SMALL_WHOLE), (SHORT_RUN, MOST_WHOLE)):
        box = (*_runs(dims, (by_output, by_input), run // scan.bits)[:-1], scan.axis_size)
        elements = prod(box)
        room = elements * 5 // 4
        fits = elements * scan.bits <= 8 * most and room <= _room(scan, storage)
        if not fits:
            continue
        boxes = Boxes(scan, dims, box, 1, room, WG_SIZE, in_words=scan.bits == 16)
        each = EACH * boxes.lines_each
        wg_size = next((n for n in SIZES if elements <= each * n), WG_SIZE)
        boxes = replace(boxes, wg_size=wg_size)
        boxes = replace(boxes, box=_with_parts(boxes, 1, is_even=True, is_odd=False))
        is_read = boxes.reads_lines and not boxes.writes_lines and boxes.work <= MOST_WORK
        if is_read and (boxes.suits_words or not boxes.in_words):
            return boxes
    return None


def _kept(scan: Scan) -> int:
    """Elements of a sector, or halves of a word: keeping a sector of those is hardly faster."""
    return 8 * SECTOR // scan.bits if scan.bits > 16 else 2


def _steps(size: int, wanted: int) -> int:
    """About so many steps: all where there are hardly more, equal pieces where those are few.

    Pieces of a multiple of four steps, so that the next one begins with a whole word.
    """
    pieces = -(-size // (wanted + wanted // 4))
    if pieces == 1:
        return size
    return -(-size // (4 * pieces)) * 4 if pieces <= FEW_PIECES else wanted


def _box(dims: Sequence[Dim], most: int, run: int) -> list[int]:
    """Steps of each loop, about `most` in all: `run` along each side, the rest along the axis."""
    by_output = order_of([d.out for d in dims])
    by_input = order_of([d.source for d in dims])
    box = _runs(dims, (by_output, by_input), run)
    while prod(box) > 2 * most:
        run //= 2
        box = _runs(dims, (by_output, by_input), run)
    while prod(box) > most:
        d = box.index(max(box))
        box[d] = -(-box[d] // 2)
    for d in (len(dims) - 1, *by_output, *by_input):
        more = most // prod(box)
        if more > 1 and box[d] < dims[d].size:
            wanted = box[d] * (1 << more.bit_length() - 1)
            box[d] = min(max(box[d], _steps(dims[d].size, wanted)), box[d] * more)
    if (box[-1], dims[-1].size) == (3, 4):
        box[-1] = 2  # a second box of one step would take as long as one of three
    return box


def _runs(dims: Sequence[Dim], orders: Sequence[Sequence[int]], run: int) -> list[int]:
    """Steps of each loop so that the first ones of each order have about `run` together."""
    box = [1] * len(dims)
    for order in orders:
        length = 1
        for d in order:
            if 2 * length > run:
                break
            wanted = 1 << (-(-run // length) - 1).bit_length()
            box[d] = max(box[d], _steps(dims[d].size, wanted))
            length *= box[d]
    return box


def _with_parts(boxes: Boxes, whole: int, *, is_even: bool, is_odd: bool) -> tuple[int, ...]:
    """The box with as many steps along the axis as equal parts of its lines have.

    Parts are a multiple of `whole` steps where there is room for that, and `is_even` where
    boxes are cut to the length of the axis, so that no more steps are wanted; or an odd number.
    """
    *lines, steps = boxes.box
    room, most = boxes.room, min(boxes.most_parts, -(-steps // boxes.even))

    def each_of(parts: int) -> int:
        return -(-steps // (parts * boxes.even)) * boxes.even

    parts = min(range(most, most // 2, -1), key=lambda n: n * each_of(n)) if is_even else most
    each = each_of(parts)
    if is_odd:
        each -= 1 - each % 2
        steps = parts * each
    if prod(lines) * whole <= room // 2:
        each = -(-each // whole) * whole
    parts = -(-steps // each)
    while each > boxes.even and prod(lines) * parts * each > room:
        each -= boxes.even
    return (*lines, parts * each)
