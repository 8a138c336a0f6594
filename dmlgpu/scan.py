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
    fits_packed,
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
TICKETS = (1 << 20) - 256  # of one call, as in publish.wgsl; a grid may be a few more
SPINS = 1 << 14  # looks of an invocation at what is not published yet: milliseconds, a tile takes us
CHAIN_LANES = 32  # fewest lanes of a subgroup that a single-pass scan runs with
COLUMNS_WG = 128
COLUMNS_AHEAD = 8  # as in cumulative_columns.wgsl
COLUMNS_SHORT = 512  # steps that are walked even by few columns
CHAIN_STEPS = 64  # fewest steps worth a tile, and as many columns per step
TILE_COLUMNS = 8  # as in cumulative_columns_chain.wgsl
TILE_BLOCK = 16  # tiles down that are added up together
TILES_ACROSS = 32  # from which each tile just waits for the one above
TILE_SHAPES = {  # of that kernel, by bits of an element: most steps of the axis, WG_SIZE, STEPS
    16: ((1024, 256, 8), (8192, 128, 16), (1 << 32, 128, 28)),
    32: ((1 << 32, 256, 16),),
    64: ((1 << 32, 256, 12),),
}  # as measured
GROUPS_FILL = 1024  # lines that fill a GPU with a workgroup each
GROUPS_WANTED = 8192  # segments to cut fewer lines into
GROUP_TILES = 2  # fewest tiles of a segment, where there are many
TWO_PASSES = 256  # segments of a line whose totals a workgroup adds up sooner than one pass more
ONE_PASS = 4  # tiles that one workgroup scans sooner than two passes do
MANY_PASS = 16  # the same where there are a quarter of the lines that fill a GPU
LINKED = 1024  # tiles of a line whose sums a workgroup adds up sooner than further passes take
STREAM_UNITS = 1 << 20  # of all lines, beyond which reading ahead is faster
STREAM_FAN = 32  # of cumulative_stream.wgsl
STREAM_NARROW = {"WG_SIZE": 256, "AHEAD": 448, "NEAR": 1, "AT_ONCE": 1}
STREAM_WIDE = {"WG_SIZE": 512, "AHEAD": 224, "NEAR": 4, "AT_ONCE": 0}  # faster for 32 bits
CPU_WALKERS = 64  # invocations that fill a CPU
MAX_LOOP = 65535
PARTIALS = 64  # partials that end on what a binding may start on


def can_chain(adapter: Adapter) -> bool:
    """Whether workgroups may wait for those that started before them."""
    return adapter.forward_progress and adapter.subgroup_min >= CHAIN_LANES


def choose(scan: Scan, adapter: Adapter) -> str:
    """The kernel for a scan, by the last part of its shader's name; walk is the plain one."""
    lines = count(scan.lines)
    columns = lines // scan.per_unit
    if adapter.is_cpu:
        few_loops = scan.axis_size <= MAX_LOOP * COLUMNS_AHEAD
        return "columns" if fits_columns(scan) and columns >= 16 and few_loops else "walk"
    chains = can_chain(adapter)
    if fits_columns(scan):
        if chains:
            if columns >= WALKERS or scan.axis_size < max(CHAIN_STEPS, columns // CHAIN_STEPS):
                return "columns"
            _, _, across, down = _tiles(scan, columns)
            return "columns_chain" if across * down <= TICKETS else "walk"
        few = columns < WALKERS // 2 and scan.axis_size > COLUMNS_SHORT
        return "walk" if few else "columns"
    adjacent = abs(scan.in_step) <= 1 and abs(scan.out_step) == 1
    if adapter.subgroup_min >= 4 and (adjacent or lines < GROUPS_FILL):
        if scan.axis_units <= adapter.subgroup_min:
            return "lanes"
        if scan.axis_units <= 2 * ROW_ROUNDS * adapter.subgroup_min:
            return "rows"
        shared = lines < GROUPS_FILL and tiles_of(scan) > most_alone(lines, chains)
        if chains and shared and _fits_binding(scan, adapter):
            whole = fits_units(scan) or fits_packed(scan)
            few = lines * tiles_of(scan) <= TICKETS // 2
            if whole and few and lines * scan.axis_units > STREAM_UNITS:
                return "stream"
            if tiles_of(scan) <= LINKED:
                return "linked"
        return "groups"
    return "walk"


def tiles_of(scan: Scan) -> int:
    """Tiles of a line, of as many units as a workgroup holds at a time."""
    return -(-scan.axis_units // (ROW_WG * ROW_ROUNDS))


def most_alone(lines: int, chains: bool) -> int:
    """Tiles of a line that one workgroup scans sooner than several do."""
    if 4 * lines >= GROUPS_FILL:
        return MANY_PASS
    return 1 if chains else ONE_PASS


def _fits_binding(scan: Scan, adapter: Adapter) -> bool:
    """Whether each tensor can be reached through one binding."""
    sizes, through = walks(scan)
    return all(w.nbytes(sizes, 0) <= room_in(adapter.max_binding) for w in through)


def plan_scan(scan: Scan, adapter: Adapter, largest: int = 0) -> Plan:
    """The dispatches of one scan, whose larger tensor has `largest` bytes.

    In place no workgroup waits for another: the input that it would compute a late value from may be
    overwritten by then. Nor does a unit hold elements of two lines.
    """
    made = _in_parts(scan, adapter, largest)
    if not (made.shared or fits_packed(scan)):
        return made
    alone, patient = replace(scan, alone=False), replace(adapter, forward_progress=False)
    in_place = _in_parts(alone, patient, largest)
    return made if in_place == made else replace(made, in_place=in_place)


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
    if scan.num == "f16" and adapter.exact_halves:
        scan = replace(scan, num="f16_hardware")
    kernel = choose(scan, adapter)
    if kernel in ("rows", "lanes"):
        return Plan((_in_subgroups(scan, kernel, adapter),))
    if kernel == "columns":
        return Plan((_columns(scan, adapter),))
    waits = {"columns_chain": _columns_chain, "linked": _linked, "stream": _stream}.get(kernel)
    if waits is not None:
        made = waits(scan, adapter)
        if made.shared["status"] <= adapter.max_binding:
            return made
        kernel = "walk" if kernel == "columns_chain" else "groups"
    scratch: dict[str, int] = {}
    return Plan(tuple(_segmented(scan, kernel, adapter, scratch)), scratch)


def _in_subgroups(scan: Scan, kernel: str, adapter: Adapter) -> Dispatch:
    """Lines that a subgroup scans by itself: one at a time, or short ones side by side."""
    slots, constants = along_lines(scan)
    lines = count(scan.lines)
    params = {**line_params(scan), "lines": lines, "axis_units": scan.axis_units}
    bindings = {"input": scan.input, "output": scan.output}
    constants["WG_SIZE"] = ROW_WG
    if kernel == "lanes":
        at_once = ROW_ROUNDS * (adapter.subgroup_min // scan.axis_units)
    else:
        pairs = scan.axis_units <= ROW_ROUNDS // 2 * adapter.subgroup_min
        constants["PAIRS"] = int(pairs)
        at_once = 2 if pairs else 1
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


def _status(scan: Scan, places: int) -> dict[str, int]:
    """Bytes of the words a single-pass scan publishes through."""
    size = 16 + places * 2 * (2 if scan.num == "u64" else 1) * 4
    return {"status": -(-size // 16) * 16}


def _tiles(scan: Scan, columns: int) -> tuple[int, int, int, int]:
    """WG_SIZE and STEPS of a tile, and the tiles across and down.

    No more steps than the axis needs, and few different numbers of them: few pipelines.
    """
    wg, steps = next((wg, n) for most, wg, n in TILE_SHAPES[scan.bits] if scan.axis_size <= most)
    needed = -(-scan.axis_size * TILE_COLUMNS // wg)
    steps = min(steps, 1 << (needed - 1).bit_length())
    return wg, steps, -(-columns // TILE_COLUMNS), -(-needed // steps)


def _columns_chain(scan: Scan, _: Adapter) -> Plan:
    unit = scan.per_unit
    scan = scan.in_columns()
    columns = count(scan.lines)
    wg, steps, across, down = _tiles(scan, columns)
    block = TILE_BLOCK if across < TILES_ACROSS else 1
    sums = down // block + (down if block > 1 else 0)
    places = across * sums * TILE_COLUMNS * unit
    params = {
        **line_params(scan, unit),
        "columns": columns,
        "tiles_across": across,
        "tiles_down": down,
        "places": places,
    }
    constants = {"WG_SIZE": wg, "STEPS": steps, "BLOCK": block, "SPINS": SPINS}
    constants |= {"RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    lift = "lift_vector" if scan.num in ("f32", "u32") else "lift_pair"
    slots = {**arithmetic(scan), "lift": lift}
    run = Dispatch("cumulative_columns_chain", across * down, params, bindings, slots, constants)
    return Plan((run,), shared=_status(scan, places))


def _stream(scan: Scan, adapter: Adapter) -> Plan:
    wide = scan.bits == 32 and fits_units(scan)
    wide = wide and adapter.max_workgroup_size >= STREAM_WIDE["WG_SIZE"]
    shape = STREAM_WIDE if wide else STREAM_NARROW
    lines = count(scan.lines)
    tiles = -(-scan.axis_units // (shape["WG_SIZE"] * ROW_ROUNDS))
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
    slots, constants = along_lines(scan)
    constants |= {**shape, "FAN": STREAM_FAN, "SPINS": SPINS}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    groups = lines * tiles + shape["AHEAD"]
    run = Dispatch("cumulative_stream", groups, params, bindings, slots, constants)
    return Plan((run,), shared=_status(scan, lines * places))


def _linked(scan: Scan, _: Adapter) -> Plan:
    lines = count(scan.lines)
    tiles = tiles_of(scan)
    params = {
        **line_params(scan),
        "tiles": tiles,
        "places": lines * tiles,
        "axis_units": scan.axis_units,
    }
    slots, constants = along_lines(scan)
    constants |= {"WG_SIZE": ROW_WG, "SPINS": SPINS}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    run = Dispatch("cumulative_linked", lines * tiles, params, bindings, slots, constants)
    return Plan((run,), shared=_status(scan, lines * tiles))


def segment_units(scan: Scan, kernel: str, adapter: Adapter) -> int:
    """Units of the segments that lines are cut into: few, but enough to keep the adapter busy."""
    lines = count(scan.lines)
    if kernel == "walk":
        wanted = -(-(CPU_WALKERS if adapter.is_cpu else WALKERS) // lines)
        return max(64, min(WALK_UNITS, -(-scan.axis_units // wanted)))
    tile, tiles = ROW_WG * ROW_ROUNDS, tiles_of(scan)
    if lines >= GROUPS_FILL or tiles <= most_alone(lines, False):
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
        alone=False,
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
