"""Plans of scans: which kernel walks the lines, in how many passes."""

from __future__ import annotations

from dataclasses import replace

from dmlgpu.layout import Dim, count
from dmlgpu.lines import (
    RUNNING,
    Scan,
    along_lines,
    arithmetic,
    fits_columns,
    fits_units,
    line_params,
    walks,
    within,
)
from dmlgpu.operator import Adapter, Dispatch, Plan
from dmlgpu.parts import joined, part_of, room_in, split

WALK_WG = 64
WALK_UNITS = 1024  # 16-byte units one invocation walks; some drivers stop every loop at 65,535
WALKERS = 32768  # invocations that fill a GPU
ROW_ROUNDS = 4  # units per lane, as in cumulative_rows.wgsl and cumulative_lanes.wgsl
ROW_WG = 256
CHAIN_LANES = 32  # fewest lanes of a subgroup that a single-pass scan runs with
COLUMNS_WG = 128
COLUMNS_AHEAD = 8  # as in cumulative_columns.wgsl
COLUMNS_SHORT = 512  # steps that are walked even by few columns
CHAIN_SHORT = 128  # the same where tiles can wait for each other
TILE_COLUMNS = 8  # as in cumulative_columns_chain.wgsl
TILES = {  # of that kernel, by bits of an element, as measured
    16: {"WG_SIZE": 128, "STEPS": 28, "AT_ONCE": 1},
    32: {"WG_SIZE": 256, "STEPS": 16, "AT_ONCE": 0},
    64: {"WG_SIZE": 128, "STEPS": 16, "AT_ONCE": 0},
}
GROUPS_FILL = 1024  # lines that fill a GPU with a workgroup each
GROUPS_WANTED = 8192  # segments to cut fewer lines into
GROUP_TILES = 2  # fewest tiles of a segment, where there are many
TWO_PASSES = 256  # segments of a line whose totals a workgroup adds up sooner than one pass more
ONE_PASS = 4  # tiles that one workgroup scans sooner than two passes do
MANY_PASS = 16  # the same where there are a quarter of the lines that fill a GPU
STREAM_UNITS = 1 << 21  # of all lines, from which reading ahead is faster than more passes
STREAM_FAN = 32  # of cumulative_stream.wgsl
STREAM_NARROW = {"WG_SIZE": 256, "AHEAD": 448, "NEAR": 1, "AT_ONCE": 1}
STREAM_WIDE = {"WG_SIZE": 512, "AHEAD": 224, "NEAR": 4, "AT_ONCE": 0}  # faster for 32 bits
CPU_WALKERS = 64  # invocations that fill a CPU
MAX_LOOP = 65535
PARTIALS = 64  # partials that end on what a binding may start on


def choose(scan: Scan, adapter: Adapter) -> str:
    """The kernel for a scan: walk, columns, columns_chain, lanes, rows, groups or stream."""
    lines = count(scan.lines)
    columns = lines // scan.per_unit
    if adapter.is_cpu:
        few_loops = scan.axis_size <= MAX_LOOP * COLUMNS_AHEAD
        return "columns" if fits_columns(scan) and columns >= 16 and few_loops else "walk"
    chains = adapter.keeps_running and adapter.subgroup_min >= CHAIN_LANES
    if fits_columns(scan):
        short = CHAIN_SHORT if chains else COLUMNS_SHORT
        if columns >= WALKERS // 2 or scan.axis_size <= short:
            return "columns"
        return "columns_chain" if chains else "walk"
    adjacent = abs(scan.in_step) <= 1 and abs(scan.out_step) == 1
    if adapter.subgroup_min >= 4 and (adjacent or lines < GROUPS_FILL):
        if scan.axis_units <= adapter.subgroup_min:
            return "lanes"
        if scan.axis_units <= 2 * ROW_ROUNDS * adapter.subgroup_min:
            return "rows"
        long = lines < GROUPS_FILL and lines * scan.axis_units >= STREAM_UNITS
        if long and chains and fits_units(scan) and _fits_binding(scan, adapter):
            return "stream"
        return "groups"
    return "walk"


def _fits_binding(scan: Scan, adapter: Adapter) -> bool:
    """Whether each tensor can be reached through one binding."""
    sizes, through = walks(scan)
    return all(w.nbytes(sizes, 0) <= room_in(adapter.max_binding) for w in through)


def plan_scan(scan: Scan, adapter: Adapter, largest: int = 0) -> Plan:
    """The dispatches of one scan, whose larger tensor has `largest` bytes.

    Lines that together are too much for a binding are scanned in parts.
    """
    too_large = largest > adapter.max_binding
    parts = split(*walks(scan), adapter.max_binding, len(scan.lines)) if too_large else None
    if not parts:
        return _plan(scan, adapter)
    plans = [_plan(within(scan, part), adapter) for part in parts]
    return joined(plans, [part.spans for part in parts])


def _plan(scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of one scan, carries between segments included."""
    if scan.num == "f16" and adapter.exact_halves:
        scan = replace(scan, num="f16_hardware")
    kernel = choose(scan, adapter)
    if kernel in ("rows", "lanes"):
        return Plan((_in_subgroups(scan, kernel, adapter),))
    if kernel == "columns":
        return Plan((_columns(scan, adapter),))
    if kernel == "columns_chain":
        return _columns_chain(scan)
    if kernel == "stream":
        return _stream(scan, adapter)
    scratch: dict[str, int] = {}
    return Plan(tuple(_segmented(scan, kernel, adapter, scratch)), scratch)


def _in_subgroups(scan: Scan, kernel: str, adapter: Adapter) -> Dispatch:
    """Lines that a subgroup scans by itself: one at a time, or short ones side by side."""
    slots, constants = along_lines(scan)
    lines = count(scan.lines)
    params = {**line_params(scan), "lines": lines, "axis_units": scan.axis_units}
    bindings = {"input": scan.input, "output": scan.output}
    constants["WG_SIZE"] = ROW_WG
    at_once = ROW_ROUNDS * (adapter.subgroup_min // scan.axis_units) if kernel == "lanes" else 1
    groups = -(-lines // (ROW_WG // adapter.subgroup_max * at_once))
    return Dispatch(f"cumulative_{kernel}", groups, params, bindings, slots, constants)


def _columns(scan: Scan, adapter: Adapter) -> Dispatch:
    unit = scan.per_unit
    scan = scan.in_columns()
    columns = count(scan.lines)
    params = {**line_params(scan, unit), "columns": columns}
    constants = {"WG_SIZE": COLUMNS_WG, "RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    constants["EARLY"] = int(not adapter.is_cpu)
    bindings, groups = {"input": scan.input, "output": scan.output}, -(-columns // COLUMNS_WG)
    return Dispatch("cumulative_columns", groups, params, bindings, arithmetic(scan), constants)


def _status(scan: Scan, places: int) -> tuple[int, Dispatch]:
    """Bytes of the words a single-pass scan publishes through, and what clears them."""
    size = 16 + places * 2 * (2 if scan.num == "u64" else 1) * 4
    units = -(-size // 16)
    clear = Dispatch("cumulative_clear", -(-units // 256), {"count": units}, {"status": "status"})
    return units * 16, clear


def _columns_chain(scan: Scan) -> Plan:
    unit = scan.per_unit
    scan = scan.in_columns()
    columns = count(scan.lines)
    across = -(-columns // TILE_COLUMNS)
    tile = TILES[scan.bits]
    down = -(-scan.axis_size // (tile["WG_SIZE"] // TILE_COLUMNS * tile["STEPS"]))
    size, clear = _status(scan, across * down * TILE_COLUMNS * unit)
    params = {
        **line_params(scan, unit),
        "columns": columns,
        "tiles_across": across,
        "tiles_down": down,
    }
    constants = {**tile, "RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    lift = "lift_vector" if scan.num in ("f32", "u32") else "lift_pair"
    slots = {**arithmetic(scan), "lift": lift}
    run = Dispatch("cumulative_columns_chain", across * down, params, bindings, slots, constants)
    return Plan((clear, run), {"status": size})


def _stream(scan: Scan, adapter: Adapter) -> Plan:
    wide = scan.bits == 32 and adapter.max_workgroup_size >= STREAM_WIDE["WG_SIZE"]
    shape = STREAM_WIDE if wide else STREAM_NARROW
    lines = count(scan.lines)
    tiles = -(-scan.axis_units // (shape["WG_SIZE"] * ROW_ROUNDS))
    blocks = tiles // STREAM_FAN
    places = tiles + blocks + blocks // STREAM_FAN
    size, clear = _status(scan, lines * places)
    params = {
        **line_params(scan),
        "tiles": tiles,
        "blocks": blocks,
        "places": places,
        "all_tiles": lines * tiles,
        "axis_units": scan.axis_units,
    }
    slots, constants = along_lines(scan)
    constants |= {**shape, "FAN": STREAM_FAN}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    groups = lines * tiles + shape["AHEAD"]
    run = Dispatch("cumulative_stream", groups, params, bindings, slots, constants)
    return Plan((clear, run), {"status": size})


def segment_units(scan: Scan, kernel: str, adapter: Adapter) -> int:
    """Units of the segments that lines are cut into: few, but enough to keep the adapter busy."""
    lines = count(scan.lines)
    if kernel == "walk":
        wanted = -(-(CPU_WALKERS if adapter.is_cpu else WALKERS) // lines)
        return max(64, min(WALK_UNITS, -(-scan.axis_units // wanted)))
    tile = ROW_WG * ROW_ROUNDS
    tiles = -(-scan.axis_units // tile)
    alone = MANY_PASS if 4 * lines >= GROUPS_FILL else ONE_PASS
    if lines >= GROUPS_FILL or tiles <= alone:
        return tile * tiles
    fewest = 1 if tiles <= TWO_PASSES else GROUP_TILES
    return tile * max(fewest, -(-tiles // -(-GROUPS_WANTED // lines)))


def _segmented(
    scan: Scan, kernel: str, adapter: Adapter, scratch: dict[str, int]
) -> list[Dispatch]:
    """One pass, or more: totals of the segments, a scan of those if many, and the segments."""
    lines = count(scan.lines)
    segment = segment_units(scan, kernel, adapter)
    segments = -(-scan.axis_units // segment)
    if segments == 1:
        return [_pass(scan, kernel, "scan", 1, segment, "")]
    running = RUNNING.get(scan.num, scan.num)
    bits = 64 if running == "u64" else 32
    partials = f"partials{len(scratch)}"
    scratch[partials] = lines * segments * bits // 8
    together = lines > 1 or _fits_binding(scan, adapter)
    if kernel == "groups" and segments <= TWO_PASSES and together:
        return [
            _pass(scan, kernel, entry, segments, segment, partials)
            for entry in ("reduce", "scan_after")
        ]
    # The partials of a line lie side by side for groups, a step apart for walkers.
    apart, step = (segments, 1) if kernel == "groups" else (1, lines)
    carries = Scan(
        fold=scan.fold,
        num=running,
        bits=bits,
        lines=(Dim(lines, apart, apart),),
        axis_size=segments,
        in_base=0,
        in_step=step,
        out_base=0,
        out_step=step,
        exclusive=True,
        input=partials,
        output=partials,
    )
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
        return [_pass(scan, kernel, entry, segments, segment, partials)]
    made = []
    for first in range(0, segments, at_once):
        some = min(at_once, segments - first)
        size = min(some * steps, scan.axis_size - first * steps)
        part = part_of((0,) * len(scan.lines) + (first * steps,), (*sizes[:-1], size), through)
        width = 8 if scan.bits == 64 else 4
        spans = {**part.spans, partials: (first * width, (first + some) * width)}
        dispatch = _pass(within(scan, part), kernel, entry, some, segment, partials)
        made.append(replace(dispatch, spans=spans))
    return made


def _pass(
    scan: Scan, kernel: str, entry: str, segments: int, segment: int, partials: str
) -> Dispatch:
    slots, constants = along_lines(scan)
    lines = count(scan.lines)
    params = {
        **line_params(scan),
        "lines": lines,
        "segments": segments,
        "segment_units": segment,
        "axis_units": scan.axis_units,
    }
    bindings = {"input": scan.input, "output": scan.output, "partials": partials}
    if entry == "scan":
        del bindings["partials"]
    if entry == "reduce":
        del bindings["output"]
    if kernel == "walk":
        constants["WG_SIZE"] = WALK_WG
        groups = -(-lines * segments // WALK_WG)
        return Dispatch("cumulative", groups, params, bindings, slots, constants, entry)
    wg = ROW_WG
    while wg > 128 and wg // 2 * ROW_ROUNDS >= scan.axis_units:
        wg //= 2  # never below the largest subgroup there is
    constants["WG_SIZE"] = wg
    if entry == "scan_after":
        constants["AFTER"] = 1
    groups = lines * segments
    return Dispatch("cumulative_groups", groups, params, bindings, slots, constants, entry)
