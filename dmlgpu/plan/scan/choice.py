"""What decides which kernel a scan gets, and the table of choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dmlgpu.plan.dispatch import Adapter
from dmlgpu.plan.loops import count
from dmlgpu.plan.parts import room_in
from dmlgpu.plan.scan import boxes
from dmlgpu.plan.scan.lines import (
    PIECES,
    Columns,
    Scan,
    columns_in_frames,
    columns_of,
    fits_packed,
    fits_units,
    is_dense,
    is_run,
    walks,
)

# Numbers that the shaders share, or that drivers and devices set.
ROUNDS = 4  # 16-byte units of a lane, as in scan/runs.wgsl, rows, groups and tile_sum
BATCHES = 4  # of steps, in one turn of the loop in scan/columns.wgsl
TICKETS = (1 << 20) - 256  # of one call, as in publish.wgsl; a grid may be a few more
WAITING_LANES = 32  # fewest lanes of a subgroup that a kernel which waits is made for
MAX_LOOP = 65535  # turns after which some software drivers end every loop

# Numbers that were tuned, on an NVIDIA H200 where nothing else is said.
WALK_UNITS = 1024  # most units that one invocation walks
WALKERS = 32768  # invocations that fill a GPU
SUBGROUPS = WALKERS // 32  # subgroups that fill a GPU
COLUMNS_BATCH = 2  # steps that a column loads together; 4 below WALKERS columns, on a CPU none
CHAIN_STEPS = 64  # fewest steps worth a tile of columns, and as many columns per step
TILE_SHAPES = {16: (128, 28), 32: (256, 16), 64: (256, 12)}  # by bits: WG_SIZE, STEPS
TILE_WIDTHS = (16, 8)  # units across tiles in frames; of equal ones the first
FRAME_WIDTHS = (8, 16, 32, 64)  # lanes of subgroups that walk in frames
UNITS_ACROSS = 256  # of all tiles, from which each just waits for the one above
GROUP_WG = 256
RUN_WGS = (64, 96, 128, 160, 192, 224, 256)
FILLED = 0.85  # of a workgroup's units: of runs, fewer invocations are better than fuller ones
FEW_LINES = 256  # fewer lines do not fill a GPU with a workgroup each
HELD_TILES = 1024  # up to which a workgroup keeps a tile until its turn, and reads none ahead
THIN = 40  # lines in all, in whole units: fewer are faster in boxes than in tiles that wait
SECTORS = 512  # bits side by side, of which most are in whole sectors wherever they begin


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides which kernel a scan gets."""

    scan: Scan
    adapter: Adapter

    @property
    def on_cpu(self) -> bool:
        """Whether the adapter is software."""
        return self.adapter.is_cpu

    @property
    def lines(self) -> int:
        """Lines to scan."""
        return count(self.scan.lines)

    @property
    def columns(self) -> int:
        """Units of neighbouring lines that lie side by side; 0 where they do not.

        On a CPU whole units alone: there, words of four columns are no faster than a walk.
        """
        found = walked_columns(self.scan, self.adapter)
        if found is None or (self.on_cpu and not found.is_whole):
            return 0
        return found.units

    @property
    def suits_tiles(self) -> bool:
        """Whether columns are few and long enough for tiles that wait for each other."""
        found = tiled_columns(self.scan, self.adapter) if self.waits else None
        if found is None or found.units >= WALKERS // (1 if found.is_framed else 2):
            return False
        is_long = self.steps >= max(CHAIN_STEPS, found.units // CHAIN_STEPS)
        return is_long and tiling(self.scan, found).number <= TICKETS

    @property
    def steps(self) -> int:
        """Elements of a line."""
        return self.scan.axis_size

    @property
    def units(self) -> int:
        """16-byte units of a line."""
        return self.scan.axis_units

    @property
    def tiles(self) -> int:
        """Tiles of a line."""
        return tiles_of(self.scan)

    @property
    def all_tiles(self) -> int:
        """Tiles of all lines."""
        return self.lines * self.tiles

    @property
    def waits(self) -> bool:
        """Whether workgroups may wait for each other."""
        return self.adapter.forward_progress and self.adapter.subgroup_min >= WAITING_LANES

    @property
    def few_waiting(self) -> bool:
        """Whether several workgroups share a line and wait: few lines, each through one binding."""
        shared = self.waits and self.lanes > 0 and self.lines < FEW_LINES
        return shared and fits_binding(self.scan, self.adapter)

    @property
    def lanes(self) -> int:
        """Fewest lanes of a subgroup; 0 where kernels in subgroups are of no use to this scan.

        Elements that are apart are read one by one: as fast by a walk, if there are many lines.
        """
        adjacent = abs(self.scan.in_step) <= 1 and abs(self.scan.out_step) == 1
        useful = adjacent or self.lines < SUBGROUPS
        return self.adapter.subgroup_min if self.adapter.subgroup_min >= 4 and useful else 0

    @property
    def is_run(self) -> bool:
        """Whether lines lie in one piece, and a workgroup has room for one of them or more."""
        return (
            self.lanes > 0 and is_run(self.scan) and group_of(self.scan, self.adapter) is not None
        )

    @property
    def in_units(self) -> bool:
        """Whether the lines are read 16 bytes at a time."""
        return fits_units(self.scan) or fits_packed(self.scan)


# From top to bottom: the first kernel whose condition holds; then why it is there, with the row of
# the benchmarks that it is 15 % faster on than what would follow. Times are those of an H200 where
# no adapter is named; "of a copy" is its speed as a share of a copy's.
Choice = tuple[Callable[[Shape], bool], str, str]
CHOICES: tuple[Choice, ...] = (
    (
        lambda s: s.on_cpu and s.columns >= 16 and s.steps <= MAX_LOOP * BATCHES * COLUMNS_BATCH,
        "columns",
        "cumsum axis 0 float32 bandwidth, software adapters: 16 bytes at a time, not 4",
    ),
    (lambda s: s.on_cpu, "walk", "a software adapter's subgroups are a few lanes of one core"),
    (
        lambda s: s.suits_tiles,
        "columns_chain",
        "cumsum axis 0 float32 cache: 8 us instead of 22; bandwidth: 0.95 of a copy",
    ),
    (
        lambda s: s.columns > 0 and (s.columns >= WALKERS // 2 or s.steps <= WALK_UNITS),
        "columns",
        "cumsum middle axis float32 bandwidth: 0.92 of a copy, read once; a walk reads twice",
    ),
    (lambda s: s.columns > 0, "walk", "a few long columns: cut into segments they fill a GPU"),
    (
        lambda s: s.is_run,
        "runs",
        "cumsum rows of 257 float32 bandwidth: 69 us instead of 86; float16 69 instead of 126",
    ),
    (
        lambda s: s.units <= 2 * ROUNDS * s.lanes,
        "rows",
        "cumsum of a crop float32 bandwidth: 144 us instead of 203 by boxes",
    ),
    (
        lambda s: (
            s.few_waiting
            and s.tiles > 1
            and (s.in_units or s.tiles <= HELD_TILES)
            and s.all_tiles <= TICKETS // 2
        ),
        "stream",
        "cumsum one line float32 bandwidth: 625 us, three passes of groups 805; cache: 8.7 and 18",
    ),
    (
        lambda s: s.lanes > 0,
        "groups",
        "cumsum last axis float32 bandwidth: 0.97 of a copy; a walk goes element by element",
    ),
    (lambda s: True, "walk", "needs neither subgroups nor adjacent elements"),
)


def choose(scan: Scan, adapter: Adapter) -> str:
    """The kernel for a scan, by the last part of its shader's name; walk is the plain one."""
    shape = Shape(scan, adapter)
    return next(kernel for holds, kernel, _ in CHOICES if holds(shape))


def tiles_of(scan: Scan) -> int:
    """Tiles of a line, of as many units as a workgroup holds at a time."""
    return -(-scan.axis_units // (GROUP_WG * ROUNDS))


def fits_binding(scan: Scan, adapter: Adapter) -> bool:
    """Whether each tensor can be reached through one binding."""
    sizes, through = walks(scan)
    return all(w.nbytes(sizes, 0) <= room_in(adapter.max_binding) for w in through)


def suits_boxes(scan: Scan, adapter: Adapter, largest: int) -> bool:
    """Whether a GPU reads or writes less than whole sectors where the elements lie."""
    fits = adapter.worth_a_dispatch <= largest <= adapter.max_binding
    if adapter.is_cpu or not fits or scan.axis_size == 1:
        return False
    columns = columns_of(scan)
    across = scan.lines[-1].size * scan.bits
    in_units = columns is not None and columns.is_whole
    if not in_units and across >= boxes.RUN:
        walked = walked_columns(scan, adapter)
        if Shape(scan, adapter).suits_tiles or (walked and walked.is_framed):
            return False
    if columns is not None:
        if in_units or across < boxes.RUN:
            few = columns.units < UNITS_ACROSS  # tiles would be added up in blocks
            is_thin = count(scan.lines) < THIN if in_units else few
            return across < SECTORS or is_thin
        several = scan.bits * PIECES[columns.snippet] < 128  # elements of a piece; boxes take one
        if several and columns.units >= WALKERS // 2:
            return False
        return boxes.boxes_of(scan, adapter.max_workgroup_storage).segments == 1
    if Shape(scan, adapter).is_run:
        return False
    if not (fits_units(scan) or fits_packed(scan)):
        return True
    if fits_packed(scan) and 4 * scan.axis_units * scan.per_unit > 5 * scan.axis_size:
        return True  # lines so short that most units belong to two of them
    return scan.axis_size * scan.bits < SECTORS and not is_dense(scan)


class Group(NamedTuple):
    """A workgroup of a run."""

    wg_size: int
    lines: int


def group_of(scan: Scan, adapter: Adapter) -> Group | None:
    """The smallest workgroup that lines of a run fill well, or else the fullest.

    Elements of a workgroup's first unit may not be its own. None where no workgroup has room for a
    line.
    """
    before = 0 if scan.axis_size % scan.per_unit == 0 else scan.per_unit - 1
    found: list[tuple[float, Group]] = []
    for wg_size in RUN_WGS:
        if wg_size % adapter.subgroup_max:
            continue
        room = wg_size * ROUNDS * scan.per_unit
        lines = (room - before) // scan.axis_size
        if lines:
            found.append((lines * scan.axis_size / room, Group(wg_size, lines)))
            if found[-1][0] >= FILLED:
                return found[-1][1]
    return max(found)[1] if found else None


def walked_columns(scan: Scan, adapter: Adapter) -> Columns | None:
    """Columns for invocations that walk all of the axis: in frames, of many narrow ones.

    Not in place, where a frame would read what the next one has written, and not of parts.
    """
    found = columns_of(scan)
    lanes = adapter.subgroup_min if adapter.subgroup_min == adapter.subgroup_max else 0
    suits = lanes in FRAME_WIDTHS and scan.bits < 64 and scan.alone and not adapter.is_cpu
    if not suits or (found is not None and found.is_whole):
        return found
    framed = columns_in_frames(scan, lanes)
    return framed if framed is not None and framed.units >= WALKERS else found


def tiled_columns(scan: Scan, adapter: Adapter) -> Columns | None:
    """Columns for tiles that wait for each other: in frames, where rows are no whole units.

    Of few elements of 64 bits, of which a unit has two, a frame has too much that is not its own.
    """
    found = columns_of(scan)
    is_wide = scan.bits == 64 and found is not None and found.units < UNITS_ACROSS
    if is_wide or (found is not None and found.is_whole):
        return found
    widths = [width for width in TILE_WIDTHS if width <= adapter.subgroup_min]
    frames = [made for width in widths if (made := columns_in_frames(scan, width)) is not None]
    return min(frames, key=lambda made: made.tiles_of_row * made.width, default=None)


@dataclass(frozen=True, slots=True)
class Tiles:
    """How columns are cut into tiles."""

    wg_size: int
    steps: int  # of one invocation
    across: int
    down: int

    @property
    def number(self) -> int:
        """All tiles."""
        return self.across * self.down


def tiling(scan: Scan, columns: Columns) -> Tiles:
    """Tiles with no more steps than the axis needs, and few different numbers of those.

    Each number of steps is a pipeline of its own.
    """
    wg_size, steps = TILE_SHAPES[scan.bits]
    needed = -(-scan.axis_size * columns.width // wg_size)
    steps = min(steps, 1 << (needed - 1).bit_length())
    return Tiles(wg_size, steps, columns.tiles_across, -(-needed // steps))
