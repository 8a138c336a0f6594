"""Plans of scans: which kernel walks the lines, in how many passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import LOOKS, Adapter, Dispatch, Plan, Value
from dmlgpu.plan.loops import Dim, count, fold
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn, joined, part_of, room_in, split
from dmlgpu.plan.scan import box_code, boxes
from dmlgpu.plan.scan.lines import (
    FRAMES,
    PIECES,
    Columns,
    Scan,
    along_lines,
    arithmetic,
    columns_in_frames,
    columns_of,
    fits_packed,
    fits_units,
    fold_params,
    is_dense,
    is_run,
    line_params,
    walks,
    within,
)
from dmlgpu.plan.scan.run_groups import Group, run_group
from dmlgpu.plan.traffic import all_read, bytes_written

# Numbers that the shaders share, or that drivers and devices set.
ROUNDS = 4  # 16-byte units of a lane, as in scan/runs.wgsl, rows, groups and tile_sum
BATCHES = 4  # of steps, in one turn of the loop in scan/columns.wgsl
STREAM_FAN = 32  # tiles of a block, and blocks of a superblock, in scan/stream.wgsl
TICKETS = (1 << 20) - 256  # of one call, as in publish.wgsl; a grid may be a few more
WAITING_LANES = 32  # fewest lanes of a subgroup that a kernel which waits is made for
MAX_LOOP = 65535  # turns after which some software drivers end every loop
PARTIALS = 64  # partials that end on what a binding may start on

# Numbers that were tuned, on an NVIDIA H200 where nothing else is said.
WALK_WG = 64
WALK_UNITS = 1024  # most units that one invocation walks
WALKERS = 32768  # invocations that fill a GPU
SUBGROUPS = WALKERS // 32  # subgroups that fill a GPU
CPU_WALKERS = 64  # invocations that fill a CPU
COLUMNS_WG = 128
COLUMNS_BATCH = 2  # steps that a column loads together; 4 below WALKERS columns, on a CPU none
CHAIN_STEPS = 64  # fewest steps worth a tile of columns, and as many columns per step
TILE_SHAPES = {16: (128, 28), 32: (256, 16), 64: (256, 12)}  # by bits: WG_SIZE, STEPS
TILE_WIDTHS = (16, 8)  # units across tiles in frames; of equal ones the first
FRAME_WIDTHS = (8, 16, 32, 64)  # lanes of subgroups that walk in frames
TILE_BLOCK = 16  # tiles down that are added up together
UNITS_ACROSS = 256  # of all tiles, from which each just waits for the one above
GROUP_WG = 256
FEW_LINES = 256  # fewer lines do not fill a GPU with a workgroup each
ALONE_TILES = 4  # tiles that one workgroup scans sooner than several do in three passes
SEGMENTS = 8192  # to cut few long lines into
HELD_TILES = 1024  # up to which a workgroup keeps a tile until its turn, and reads none ahead
STREAM_AHEAD = {16: 640, 32: 640, 64: 448}  # by bits: tiles summed before they are scanned
WORTH_BOXES = 1 << 20  # bytes of a tensor from which it pays to read and write by whole sectors
THIN = 40  # lines in all, in whole units: fewer are faster in boxes than in tiles that wait
APART = {16: 400, 32: 800, 64: 400}  # by bits: steps of lines that are read in units anywhere
SECTORS = 512  # bits side by side, of which most are in whole sectors wherever they begin
SUMS = "sums"  # scratch memory: of the segments that boxes are cut into


@dataclass(frozen=True, slots=True)
class AxisScan:
    """Running sums or products of every line along one axis."""

    fold: str  # sum or product
    source: TensorDesc
    output: TensorDesc
    axis: int
    backward: bool
    exclusive: bool

    def plan(self, adapter: Adapter) -> Plan:
        """The dispatches that scan all lines, where they lie or in a layout that suits them."""
        source, output = self.source, self.output
        largest = max(source.total_tensor_size_in_bytes, output.total_tensor_size_in_bytes)
        scan = self._between(source, output)
        if scan.axis_size == 1 and not scan.exclusive:
            return Move.between(source, output).plan(adapter)
        return plan_scan(scan, adapter, largest)

    def _between(self, source: TensorDesc, output: TensorDesc) -> Scan:
        return Scan.of(
            fold=self.fold,
            data_type=source.data_type,
            sizes=source.sizes,
            in_strides=source.effective_strides,
            out_strides=output.effective_strides,
            axis=self.axis,
            backward=self.backward,
            exclusive=self.exclusive,
        )

    def traffic(self) -> dict[str, int]:
        """Everything once."""
        return {"input_tensor": all_read(self.source), "output_tensor": bytes_written(self.output)}


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
        found = _walked_columns(self.scan, self.adapter)
        if found is None or (self.on_cpu and not found.is_whole):
            return 0
        return found.units

    @property
    def suits_tiles(self) -> bool:
        """Whether columns are few and long enough for tiles that wait for each other."""
        found = _tiled_columns(self.scan, self.adapter) if self.waits else None
        if found is None or found.units >= WALKERS // (1 if found.is_framed else 2):
            return False
        is_long = self.steps >= max(CHAIN_STEPS, found.units // CHAIN_STEPS)
        return is_long and _tiles(self.scan, found).number <= TICKETS

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
        return shared and _fits_binding(self.scan, self.adapter)

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
            self.lanes > 0 and is_run(self.scan) and _run_group(self.scan, self.adapter) is not None
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


def _fits_binding(scan: Scan, adapter: Adapter) -> bool:
    """Whether each tensor can be reached through one binding."""
    sizes, through = walks(scan)
    return all(w.nbytes(sizes, 0) <= room_in(adapter.max_binding) for w in through)


def _suits_boxes(scan: Scan, adapter: Adapter, largest: int) -> bool:
    """Whether a GPU reads or writes less than whole sectors where the elements lie."""
    if adapter.is_cpu or not WORTH_BOXES <= largest <= adapter.max_binding or scan.axis_size == 1:
        return False
    columns = columns_of(scan)
    across = scan.lines[-1].size * scan.bits
    in_units = columns is not None and columns.is_whole
    if not in_units and across >= boxes.RUN:
        walked = _walked_columns(scan, adapter)
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


def plan_counts(
    lines: int, size: int, counts: str, sums: str, adapter: Adapter
) -> tuple[Plan, dict[str, int]]:
    """The sums of all counters before each, along each of several lines; and the memory of both.

    No workgroup waits for another.
    """
    scan = Scan(
        fold="sum",
        num="u32",
        bits=32,
        lines=fold([Dim(lines, size, size)]),
        axis_size=size,
        in_base=0,
        in_step=1,
        out_base=0,
        out_step=1,
        exclusive=True,
        input=counts,
        output=sums,
    )
    nbytes = max(16, 4 * lines * size)
    made = plan_scan(scan, replace(adapter, forward_progress=False), nbytes)
    return made, dict.fromkeys((counts, sums), nbytes)


def plan_scan(scan: Scan, adapter: Adapter, largest: int = 0) -> Plan:
    """The dispatches of one scan, whose larger tensor has `largest` bytes.

    In place no workgroup waits for another: the input that it would compute a late value from may
    be overwritten by then. Nor does a unit hold elements of two lines.
    """
    # On a CPU units that begin anywhere are faster than elements only where those are halves.
    apart = scan.bits == 16 if adapter.is_cpu else scan.axis_size >= APART[scan.bits]
    scan = replace(scan, apart=apart)
    if _suits_boxes(scan, adapter, largest):
        return _in_boxes(scan, adapter, largest)
    made = _in_parts(scan, adapter, largest)
    framed = any(d.slots.get("columns") == FRAMES for d in made.dispatches)
    shares_units = not fits_units(scan) and (fits_packed(scan) or is_run(scan))
    if not (made.shared or framed or shares_units):
        return made
    alone, patient = replace(scan, alone=False), replace(adapter, forward_progress=False)
    make = _in_boxes if _suits_boxes(alone, patient, largest) else _in_parts
    in_place = make(alone, patient, largest)
    return made if in_place == made else replace(made, in_place=in_place)


def _in_boxes(scan: Scan, adapter: Adapter, largest: int) -> Plan:
    """Boxes of elements through workgroup memory, in one pass or three."""
    scan = _by_hardware(scan, adapter)
    cut = boxes.boxes_of(scan, adapter.max_workgroup_storage)
    made = _by_boxes(cut, scan, adapter)
    if not cut.overlap:
        return made
    return replace(made, in_place=_by_boxes(cut.apart, scan, adapter))


def _by_boxes(cut: boxes.Boxes, scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of a scan that is cut into boxes, carries between segments included."""
    if cut.segments == 1:
        return Plan((box_code.dispatch(cut, "scan", ""),))
    carries = scan.carries(SUMS, cut.segments, cut.segments, 1)
    passes = [
        Plan((box_code.dispatch(cut.apart, "reduce", SUMS),)),
        _plan(carries, replace(adapter, forward_progress=False)),
        Plan((box_code.dispatch(cut, "scan_carried", SUMS),)),
    ]
    made = in_turn(passes)
    room = {SUMS: count(carries.lines) * carries.axis_size * carries.bits // 8}
    return replace(made, scratch={**made.scratch, **room})


def _by_hardware(scan: Scan, adapter: Adapter) -> Scan:
    """The scan with the adapter's own arithmetic, where that is exact."""
    if scan.num == "f16" and adapter.exact_floats:
        return replace(scan, num="f16_hardware")
    if scan.num == "u64" and scan.fold == "product" and adapter.wide_integers:
        return replace(scan, fold="product_wide")
    return scan


def _in_parts(scan: Scan, adapter: Adapter, largest: int) -> Plan:
    """Lines that together are too much for a binding are scanned some at a time."""
    too_large = largest > adapter.max_binding
    parts = split(*walks(scan), adapter.max_binding, len(scan.lines)) if too_large else None
    if not parts:
        return _plan(scan, adapter)
    plans = [_plan(within(scan, part), adapter) for part in parts]
    return joined(plans, [part.spans for part in parts])


def _plan(scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of one scan, carries between segments included."""
    scan = _by_hardware(scan, adapter)
    kernel = choose(scan, adapter)
    if kernel == "rows":
        return Plan((_rows(scan, adapter),))
    if kernel == "runs":
        return Plan((_runs(scan, adapter),))
    if kernel == "columns":
        return Plan((_columns(scan, adapter),))
    waits = {"columns_chain": _columns_chain, "stream": _stream}.get(kernel)
    if waits is None:
        scratch: dict[str, int] = {}
        return Plan(tuple(_segmented(scan, kernel, adapter, scratch)), scratch)
    made = waits(scan, adapter)
    if made.shared["status"] > adapter.max_binding:  # what tiles publish through is one binding
        return _plan(scan, replace(adapter, forward_progress=False))
    return made


def _in_subgroups(scan: Scan, adapter: Adapter) -> tuple[dict[str, str], dict[str, int]]:
    """Slots and constants of a kernel along lines in subgroups."""
    slots, constants = along_lines(scan)
    lane_slots, lane_constants = _lanes(adapter)
    return slots | lane_slots, constants | lane_constants


def _lanes(adapter: Adapter) -> tuple[dict[str, str], dict[str, int]]:
    """Slots and constants of steps across lanes: written out where subgroups are all as large."""
    if adapter.subgroup_min < adapter.subgroup_max:
        return {}, {}
    return {"lane_steps": "lane_steps_known"}, {"LANES": adapter.subgroup_min}


def _rows(scan: Scan, adapter: Adapter) -> Dispatch:
    """Lines that a subgroup scans by itself: one at a time, two, or short ones side by side."""
    slots, constants = _in_subgroups(scan, adapter)
    lines, units, lanes = count(scan.lines), scan.axis_units, adapter.subgroup_min
    line_rounds = next(n for n in (1, 2, ROUNDS) if units <= n * lanes or n == ROUNDS)
    at_once = ROUNDS // line_rounds * (lanes // units if line_rounds == 1 else 1)
    params = {**line_params(scan), "axis_units": units}
    bindings = {"input": scan.input, "output": scan.output}
    constants |= {"WG_SIZE": GROUP_WG, "LINE_ROUNDS": line_rounds}
    groups = -(-lines // (GROUP_WG // adapter.subgroup_max * at_once))
    return Dispatch("scan/rows", groups, params, bindings, slots, constants)


def _runs(scan: Scan, adapter: Adapter) -> Dispatch:
    """Some whole lines that follow each other, for each workgroup."""
    group = _run_group(scan, adapter)
    assert group is not None
    slots, constants = _lanes(adapter)
    lines = count(scan.lines)
    top = (lines - 1) * scan.axis_size if scan.in_step < 0 else 0  # a walk begins at the end
    params: dict[str, Value] = {
        "lines": lines,
        "axis_size": scan.axis_size,
        "group_lines": group.lines,
        "in_base": scan.in_base + top,
        "out_base": scan.out_base + top,
        "begins": sum(1 << k for k in range(0, scan.per_unit, scan.axis_size)),
        **fold_params(scan),
    }
    constants |= {"EXCLUSIVE": int(scan.exclusive), "BACKWARD": int(scan.in_step < 0)}
    constants["WG_SIZE"] = group.wg_size
    bindings, groups = {"input": scan.input, "output": scan.output}, -(-lines // group.lines)
    slots |= arithmetic(scan)
    return Dispatch("scan/runs", groups, params, bindings, slots, constants)


def _run_group(scan: Scan, adapter: Adapter) -> Group | None:
    """The lines of a run that a workgroup takes; None where it has no room for one."""
    before = 0 if scan.axis_size % scan.per_unit == 0 else scan.per_unit - 1
    return run_group(scan.axis_size, scan.per_unit, adapter, rounds=ROUNDS, before=before)


def _columns(scan: Scan, adapter: Adapter) -> Dispatch:
    """An invocation for each unit of neighbouring lines."""
    columns = _walked_columns(scan, adapter)
    assert columns is not None
    framed, is_cpu = columns.is_framed, adapter.is_cpu
    invocations = columns.tiles_across * columns.width if framed else columns.units
    params = {**line_params(columns.scan), "columns": columns.pieces, **_frame_params(columns)}
    batch = COLUMNS_BATCH * (1 if is_cpu or columns.units >= WALKERS else 2)
    if is_cpu and scan.axis_size <= MAX_LOOP:
        batch = 0
    constants = {"WG_SIZE": COLUMNS_WG, "BATCH": batch, **_frame_constants(columns)}
    constants |= {"RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    bindings, groups = {"input": scan.input, "output": scan.output}, -(-invocations // COLUMNS_WG)
    side = "side_in_subgroup" if framed else "side_in_workgroup"
    slots = {**arithmetic(scan), "columns": columns.snippet, "side_by_side": side}
    return Dispatch("scan/columns", groups, params, bindings, slots, constants)


def _walked_columns(scan: Scan, adapter: Adapter) -> Columns | None:
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


def _tiled_columns(scan: Scan, adapter: Adapter) -> Columns | None:
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


def _frame_params(columns: Columns) -> dict[str, Value]:
    if not columns.is_framed:
        return {}
    tiles = {"columns": columns.tiles_across, "row_tiles": columns.tiles_of_row}
    return {**tiles, "row": columns.row, "in_units": columns.in_units}


def _frame_constants(columns: Columns) -> dict[str, int]:
    if not columns.is_framed:
        return {}
    halves = int(columns.per_unit == 8)
    return {"COLUMNS": columns.width, "HALVES": halves, "OWN": columns.own}


def _status(scan: Scan, places: int) -> dict[str, int]:
    """Bytes of the words a single-pass scan publishes through."""
    size = 16 + places * 2 * (2 if scan.bits == 64 else 1) * 4
    return {"status": -(-size // 16) * 16}


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


def _tiles(scan: Scan, columns: Columns) -> Tiles:
    """Tiles with no more steps than the axis needs, and few different numbers of those.

    Each number of steps is a pipeline of its own.
    """
    wg_size, steps = TILE_SHAPES[scan.bits]
    needed = -(-scan.axis_size * columns.width // wg_size)
    steps = min(steps, 1 << (needed - 1).bit_length())
    return Tiles(wg_size, steps, columns.tiles_across, -(-needed // steps))


def _columns_chain(scan: Scan, adapter: Adapter) -> Plan:
    """Tiles of columns, each of which waits for what is above it."""
    columns = _tiled_columns(scan, adapter)
    assert columns is not None
    tiles, width = _tiles(scan, columns), columns.width
    assert width * scan.per_unit <= tiles.wg_size  # an invocation for each line
    across, down = tiles.across, tiles.down
    block = TILE_BLOCK if across * width < UNITS_ACROSS else 1
    sums = down // block + (down if block > 1 else 0)
    places = across * sums * width * scan.per_unit
    params = {
        **line_params(columns.scan),
        "columns": columns.pieces,
        "tiles_across": across,
        "tiles_down": down,
        "places": places,
    }
    constants = {"WG_SIZE": tiles.wg_size, "STEPS": tiles.steps, "BLOCK": block, "LOOKS": LOOKS}
    params |= _frame_params(columns)
    totals = tiles.wg_size // adapter.subgroup_min * width
    constants |= {"COLUMNS": width, "TOTALS": totals, **_frame_constants(columns)}
    constants |= {"RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    lift = "lift_vector" if scan.num in ("f32", "u32") else "lift_pair"
    slots = {**arithmetic(scan), "columns": columns.snippet, "lift": lift}
    run = Dispatch("scan/columns_chain", across * down, params, bindings, slots, constants)
    return Plan((run,), shared=_status(scan, places))


def _stream(scan: Scan, adapter: Adapter) -> Plan:
    """Few lines: of long ones, sums of tiles are made ahead of the tiles that are scanned."""
    lines = count(scan.lines)
    tiles = tiles_of(scan)
    blocks = tiles // STREAM_FAN
    places = tiles + blocks + blocks // STREAM_FAN
    params = {
        **line_params(scan),
        "tiles": tiles,
        "blocks": blocks,
        "line_places": places,
        "places": lines * places,
        "all_tiles": lines * tiles,
        "axis_units": scan.axis_units,
    }
    slots, constants = _in_subgroups(scan, adapter)
    is_held = lines * tiles <= HELD_TILES or not Shape(scan, adapter).in_units
    ahead = 0 if is_held else STREAM_AHEAD[scan.bits]
    constants |= {"WG_SIZE": GROUP_WG, "AHEAD": ahead, "FAN": STREAM_FAN, "LOOKS": LOOKS}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    groups = lines * tiles + ahead
    run = Dispatch("scan/stream", groups, params, bindings, slots, constants)
    return Plan((run,), shared=_status(scan, lines * places))


def segment_units(scan: Scan, kernel: str, adapter: Adapter) -> int:
    """Units of the segments that lines are cut into: few, but enough to keep the adapter busy."""
    lines = count(scan.lines)
    if kernel == "walk":
        wanted = -(-(CPU_WALKERS if adapter.is_cpu else WALKERS) // lines)
        return max(64, min(WALK_UNITS, -(-scan.axis_units // wanted)))
    tiles = tiles_of(scan)
    if lines < FEW_LINES and tiles > ALONE_TILES:
        tiles = max(ALONE_TILES, -(-tiles // -(-SEGMENTS // lines)))
    return GROUP_WG * ROUNDS * tiles


def _segmented(
    scan: Scan, kernel: str, adapter: Adapter, scratch: dict[str, int]
) -> list[Dispatch]:
    """One pass, or three: totals of the segments, a scan of those, and the segments."""
    lines = count(scan.lines)
    segment = segment_units(scan, kernel, adapter)
    segments = -(-scan.axis_units // segment)
    if segments == 1:
        return [_pass(scan, kernel, "scan", 1, segment, "", adapter)]
    partials = f"partials{len(scratch)}"
    # The partials of a line lie side by side for groups, a step apart for walkers.
    apart, step = (segments, 1) if kernel == "groups" else (1, lines)
    carries = scan.carries(partials, segments, apart, step)
    scratch[partials] = lines * segments * carries.bits // 8
    return [
        *_passes(scan, kernel, "reduce", segments, segment, partials, adapter),
        *_segmented(carries, kernel, adapter, scratch),
        *_passes(scan, kernel, "scan_carried", segments, segment, partials, adapter),
    ]


def _passes(
    scan: Scan,
    kernel: str,
    entry: str,
    segments: int,
    segment: int,
    partials: str,
    adapter: Adapter,
) -> list[Dispatch]:
    """One pass; over a line that is too long for a binding, several, of as many segments as fit."""
    sizes, through = walks(scan)
    steps = segment * scan.per_unit
    step_bytes = max(w.bits * abs(w.steps[-1]) for w in through) // 8
    at_once = room_in(adapter.max_binding) // (steps * max(1, step_bytes))
    at_once -= at_once % (PARTIALS if at_once >= PARTIALS else 4)  # 16 bytes at least
    if _fits_binding(scan, adapter) or not at_once or count(scan.lines) > 1:
        return [_pass(scan, kernel, entry, segments, segment, partials, adapter)]
    made = []
    for first in range(0, segments, at_once):
        some = min(at_once, segments - first)
        size = min(some * steps, scan.axis_size - first * steps)
        part = part_of((0,) * len(scan.lines) + (first * steps,), (*sizes[:-1], size), through)
        width = 8 if scan.bits == 64 else 4
        spans = {**part.spans, partials: (first * width, (first + some) * width)}
        dispatch = _pass(within(scan, part), kernel, entry, some, segment, partials, adapter)
        made.append(replace(dispatch, spans=spans))
    return made


def _group_size(units: int, adapter: Adapter) -> int:
    """Invocations for a line of so many units: whole subgroups, and tiles of equal size."""
    subgroup = max(32, adapter.subgroup_max)
    tiles = -(-units // (ROUNDS * GROUP_WG))
    wanted = -(-units // (tiles * ROUNDS * subgroup)) * subgroup
    return min(GROUP_WG, wanted)


def _pass(
    scan: Scan,
    kernel: str,
    entry: str,
    segments: int,
    segment: int,
    partials: str,
    adapter: Adapter,
) -> Dispatch:
    is_walk = kernel == "walk"
    slots, constants = along_lines(scan) if is_walk else _in_subgroups(scan, adapter)
    lines = count(scan.lines)
    params = {
        **line_params(scan),
        "segments": segments,
        "segment_units": segment,
        "axis_units": scan.axis_units,
    }
    bindings = {"input": scan.input, "output": scan.output, "partials": partials}
    if entry == "scan":
        del bindings["partials"]
    if entry == "reduce":
        del bindings["output"]
    if is_walk:
        constants["WG_SIZE"] = WALK_WG
        groups = -(-lines * segments // WALK_WG)
        return Dispatch("scan/walk", groups, params, bindings, slots, constants, entry)
    constants["WG_SIZE"] = _group_size(min(scan.axis_units, segment), adapter)
    groups = lines * segments
    return Dispatch("scan/groups", groups, params, bindings, slots, constants, entry)
