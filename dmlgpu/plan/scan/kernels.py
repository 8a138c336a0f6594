"""The dispatches of scans: how each kernel divides its lines, in one pass or three."""

from __future__ import annotations

from dataclasses import replace

from dmlgpu.plan.dispatch import LOOKS, Adapter, Dispatch, Plan, Value
from dmlgpu.plan.loops import count
from dmlgpu.plan.parts import part_of, room_in
from dmlgpu.plan.scan.choice import (
    COLUMNS_BATCH,
    FEW_LINES,
    GROUP_WG,
    HELD_TILES,
    MAX_LOOP,
    ROUNDS,
    UNITS_ACROSS,
    WALK_UNITS,
    WALKERS,
    Shape,
    fits_binding,
    group_of,
    tiled_columns,
    tiles_of,
    tiling,
    walked_columns,
)
from dmlgpu.plan.scan.lines import (
    Columns,
    Scan,
    along_lines,
    arithmetic,
    fold_params,
    line_params,
    walks,
    within,
)

STREAM_FAN = 32  # tiles of a block, and blocks of a superblock, in scan/stream.wgsl
PARTIALS = 64  # partials that end on what a binding may start on

# Numbers that were tuned, on an NVIDIA H200 where nothing else is said.
WALK_WG = 64
CPU_WALKERS = 64  # invocations that fill a CPU
COLUMNS_WG = 128
TILE_BLOCK = 16  # tiles down that are added up together
ALONE_TILES = 4  # tiles that one workgroup scans sooner than several do in three passes
SEGMENTS = 8192  # to cut few long lines into
STREAM_AHEAD = {16: 640, 32: 640, 64: 448}  # by bits: tiles summed before they are scanned


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


def rows(scan: Scan, adapter: Adapter) -> Dispatch:
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


def runs(scan: Scan, adapter: Adapter) -> Dispatch:
    """Some whole lines that follow each other, for each workgroup."""
    group = group_of(scan, adapter)
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


def columns(scan: Scan, adapter: Adapter) -> Dispatch:
    """An invocation for each unit of neighbouring lines."""
    columns = walked_columns(scan, adapter)
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


def columns_chain(scan: Scan, adapter: Adapter) -> Plan:
    """Tiles of columns, each of which waits for what is above it."""
    columns = tiled_columns(scan, adapter)
    assert columns is not None
    tiles, width = tiling(scan, columns), columns.width
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


def stream(scan: Scan, adapter: Adapter) -> Plan:
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


def segmented(scan: Scan, kernel: str, adapter: Adapter, scratch: dict[str, int]) -> list[Dispatch]:
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
        *segmented(carries, kernel, adapter, scratch),
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
    if fits_binding(scan, adapter) or not at_once or count(scan.lines) > 1:
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
