"""Plans of scans: which kernel walks the lines, in how many passes.

A scan is lines times steps. A backward scan is a forward one with negative steps, so no kernel
knows of directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.layout import Dim, count, resized
from dmlgpu.layout import fold as fold_loops
from dmlgpu.operator import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.parts import Part, Walk, joined, part_of, room_in, split
from dmlgpu.tensor import DataType

WALK_WG = 64
WALK_UNITS = 1024  # 16-byte units one invocation walks; some drivers stop every loop at 65,535
WALKERS = 32768  # invocations that fill a GPU
ROW_ROUNDS = 4  # units per lane, as in cumulative_rows.wgsl and cumulative_lanes.wgsl
ROW_WG = 256
CHAIN_LANES = 32  # fewest lanes of a subgroup that a single-pass scan runs with
COLUMNS_WG = 128
COLUMNS_AHEAD = 8  # as in cumulative_columns.wgsl
COLUMNS_SHORT = 512  # steps that are walked even by few columns
TILE_WG = {16: 128, 32: 256, 64: 128}  # by bits of an element, as measured
TILE_COLUMNS = 8  # as in cumulative_columns_chain.wgsl
TILE_STEPS = 16  # of one invocation
GROUPS_FILL = 1024  # lines that fill a GPU with a workgroup each
GROUPS_WANTED = 8192  # segments to cut fewer lines into
GROUP_TILES = 2  # fewest tiles of a segment
ONE_PASS = 16  # tiles that one workgroup scans sooner than three passes do
CPU_WALKERS = 64  # invocations that fill a CPU
MAX_LOOP = 65535
PARTIALS = 64  # partials that end on what a binding may start on


@dataclass(frozen=True, slots=True)
class Scan:
    """Scans of `axis_size` steps along every line that the `lines` loops reach."""

    fold: str  # sum or product
    num: str  # arithmetic snippet
    bits: int
    lines: tuple[Dim, ...]
    axis_size: int
    in_base: int
    in_step: int
    out_base: int
    out_step: int
    exclusive: bool
    input: str = "input_tensor"
    output: str = "output_tensor"

    @property
    def per_unit(self) -> int:
        """Elements in 16 bytes."""
        return 128 // self.bits

    @property
    def axis_units(self) -> int:
        """16-byte units along a line, the last one perhaps not full."""
        return -(-self.axis_size // self.per_unit)

    def in_columns(self) -> Scan:
        """The same scan with the innermost lines taken a unit at a time."""
        *outer, last = self.lines
        unit = self.per_unit
        return replace(self, lines=(*outer, Dim(last.size // unit, unit, unit)))

    @classmethod
    def of(
        cls,
        *,
        fold: str,
        data_type: DataType,
        sizes: tuple[int, ...],
        in_strides: tuple[int, ...],
        out_strides: tuple[int, ...],
        axis: int,
        backward: bool,
        exclusive: bool,
    ) -> Scan:
        """The scan of a tensor along one of its axes."""
        last = sizes[axis] - 1 if backward else 0
        sign = -1 if backward else 1
        loops = [
            Dim(size, out, source)
            for d, (size, out, source) in enumerate(
                zip(sizes, out_strides, in_strides, strict=True)
            )
            if d != axis
        ]
        return cls(
            fold=fold,
            num=NUM[data_type],
            bits=data_type.bits,
            lines=fold_loops(loops),
            axis_size=sizes[axis],
            in_base=last * in_strides[axis],
            in_step=sign * in_strides[axis],
            out_base=last * out_strides[axis],
            out_step=sign * out_strides[axis],
            exclusive=exclusive,
        )


NUM = {
    DataType.FLOAT32: "f32",
    DataType.FLOAT16: "f16",
    DataType.UINT16: "u16",
    DataType.INT32: "u32",
    DataType.UINT32: "u32",
    DataType.INT64: "u64",
    DataType.UINT64: "u64",
}
RUNNING = {
    "f16": "f32",
    "f16_hardware": "f32",
    "u16": "u32",
}  # what running values are kept as, where not as themselves


def fits_units(scan: Scan) -> bool:
    """Whether each line is adjacent elements that start and end on whole 16-byte units."""
    unit = scan.per_unit
    if scan.in_step != scan.out_step or abs(scan.in_step) != 1 or scan.axis_size % unit:
        return False
    ahead = 1 if scan.in_step < 0 else 0
    strides = [n for d in scan.lines if d.size > 1 for n in (d.source, d.out)]
    starts = (scan.in_base + ahead, scan.out_base + ahead)
    return all(n % unit == 0 for n in (*starts, *strides))


def fits_columns(scan: Scan) -> bool:
    """Whether neighbouring lines lie side by side in whole 16-byte units."""
    unit = scan.per_unit
    *outer, last = scan.lines
    if (last.source, last.out) != (1, 1) or last.size % unit:
        return False
    strides = [n for d in outer for n in (d.source, d.out)]
    rest = (scan.in_base, scan.out_base, scan.in_step, scan.out_step)
    return all(n % unit == 0 for n in (*rest, *strides))


def choose(scan: Scan, adapter: Adapter) -> str:
    """The kernel for a scan: walk, columns, columns_chain, lanes, rows or groups."""
    lines = count(scan.lines)
    columns = lines // scan.per_unit
    if adapter.is_cpu:
        few_loops = scan.axis_size <= MAX_LOOP * COLUMNS_AHEAD
        return "columns" if fits_columns(scan) and columns >= 16 and few_loops else "walk"
    chains = adapter.keeps_running and adapter.subgroup_min >= CHAIN_LANES
    if fits_columns(scan):
        if columns >= WALKERS // 2 or scan.axis_size <= COLUMNS_SHORT:
            return "columns"
        return "columns_chain" if chains else "walk"
    adjacent = abs(scan.in_step) <= 1 and abs(scan.out_step) == 1
    if adapter.subgroup_min >= 4 and (adjacent or lines < GROUPS_FILL):
        if scan.axis_units <= adapter.subgroup_min:
            return "lanes"
        if scan.axis_units <= 2 * ROW_ROUNDS * adapter.subgroup_min:
            return "rows"
        return "groups"
    return "walk"


def plan_scan(scan: Scan, adapter: Adapter, largest: int = 0) -> Plan:
    """The dispatches of one scan, whose larger tensor has `largest` bytes.

    Lines that together are too much for a binding are scanned in parts.
    """
    too_large = largest > adapter.max_binding
    parts = split(*_walks(scan), adapter.max_binding, len(scan.lines)) if too_large else None
    if not parts:
        return _plan(scan, adapter)
    plans = [_plan(_within(scan, part), adapter) for part in parts]
    return joined(plans, [part.spans for part in parts])


def _walks(scan: Scan) -> tuple[tuple[int, ...], list[Walk]]:
    """The loops of a scan, the axis innermost, and how they step through its tensors."""
    sizes = (*(d.size for d in scan.lines), scan.axis_size)
    steps = (*(d.source for d in scan.lines), scan.in_step)
    out_steps = (*(d.out for d in scan.lines), scan.out_step)
    return sizes, [
        Walk(scan.input, scan.bits, scan.in_base, steps, based=True),
        Walk(scan.output, scan.bits, scan.out_base, out_steps, based=True),
    ]


def _within(scan: Scan, part: Part) -> Scan:
    """A part of the scan, its tensors starting where the spans of the part do."""
    lines, steps = resized(scan.lines, part.sizes[:-1]), part.sizes[-1]
    starts = part.starts[scan.input], part.starts[scan.output]
    return replace(scan, lines=lines, axis_size=steps, in_base=starts[0], out_base=starts[1])


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
    scratch: dict[str, int] = {}
    return Plan(tuple(_segmented(scan, kernel, adapter, scratch)), scratch)


def _common(scan: Scan, per_unit: int = 1) -> dict[str, Value]:
    """Params that every kernel over lines has, in elements or in units."""
    return {
        "axis_size": scan.axis_size,
        "in_base": scan.in_base // per_unit,
        "in_step": scan.in_step // per_unit & 0xFFFFFFFF,
        "out_base": scan.out_base // per_unit,
        "out_step": scan.out_step // per_unit & 0xFFFFFFFF,
        "sizes": eight([d.size for d in scan.lines]),
        "in_strides": eight([d.source // per_unit for d in scan.lines]),
        "out_strides": eight([d.out // per_unit for d in scan.lines]),
    }


def _slots(scan: Scan) -> dict[str, str]:
    return {"num": f"num_{scan.num}", "fold": f"fold_{scan.fold}"}


def _io(scan: Scan) -> tuple[dict[str, str], dict[str, int]]:
    """Slots and constants of a kernel that walks along lines."""
    constants = {"RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    if fits_units(scan):
        constants["BACKWARD"] = int(scan.in_step < 0)
        return {**_slots(scan), "io": "io_units"}, constants
    put = "put_half" if scan.bits == 16 else "put_whole"
    constants["BITS"] = scan.bits
    return {**_slots(scan), "io": "io_elements", "put": put}, constants


def _in_subgroups(scan: Scan, kernel: str, adapter: Adapter) -> Dispatch:
    """Lines that a subgroup scans by itself: one at a time, or short ones side by side."""
    slots, constants = _io(scan)
    lines = count(scan.lines)
    params = {**_common(scan), "lines": lines, "axis_units": scan.axis_units}
    bindings = {"input": scan.input, "output": scan.output}
    constants["WG_SIZE"] = ROW_WG
    at_once = ROW_ROUNDS * (adapter.subgroup_min // scan.axis_units) if kernel == "lanes" else 1
    groups = -(-lines // (ROW_WG // adapter.subgroup_max * at_once))
    return Dispatch(f"cumulative_{kernel}", groups, params, bindings, slots, constants)


def _columns(scan: Scan, adapter: Adapter) -> Dispatch:
    unit = scan.per_unit
    scan = scan.in_columns()
    columns = count(scan.lines)
    params = {**_common(scan, unit), "columns": columns}
    constants = {"WG_SIZE": COLUMNS_WG, "RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    constants["EARLY"] = int(not adapter.is_cpu)
    bindings, groups = {"input": scan.input, "output": scan.output}, -(-columns // COLUMNS_WG)
    return Dispatch("cumulative_columns", groups, params, bindings, _slots(scan), constants)


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
    wg = TILE_WG[scan.bits]
    down = -(-scan.axis_size // (wg // TILE_COLUMNS * TILE_STEPS))
    size, clear = _status(scan, across * down * TILE_COLUMNS * unit)
    params = {
        **_common(scan, unit),
        "columns": columns,
        "tiles_across": across,
        "tiles_down": down,
    }
    constants = {"WG_SIZE": wg, "RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    bindings = {"input": scan.input, "output": scan.output, "status": "status"}
    lift = "lift_vector" if scan.num in ("f32", "u32") else "lift_pair"
    slots = {**_slots(scan), "lift": lift}
    run = Dispatch("cumulative_columns_chain", across * down, params, bindings, slots, constants)
    return Plan((clear, run), {"status": size})


def segment_units(scan: Scan, kernel: str, adapter: Adapter) -> int:
    """Units of the segments that lines are cut into: few, but enough to keep the adapter busy."""
    lines = count(scan.lines)
    if kernel == "walk":
        wanted = -(-(CPU_WALKERS if adapter.is_cpu else WALKERS) // lines)
        return max(64, min(WALK_UNITS, -(-scan.axis_units // wanted)))
    tiles = -(-scan.axis_units // (ROW_WG * ROW_ROUNDS))
    wanted = 1 if lines >= GROUPS_FILL or tiles <= ONE_PASS else -(-GROUPS_WANTED // lines)
    return ROW_WG * ROW_ROUNDS * max(GROUP_TILES, -(-tiles // wanted))


def _segmented(
    scan: Scan, kernel: str, adapter: Adapter, scratch: dict[str, int]
) -> list[Dispatch]:
    """One pass, or three: totals of the segments, a scan of those, and the segments themselves."""
    lines = count(scan.lines)
    segment = segment_units(scan, kernel, adapter)
    segments = -(-scan.axis_units // segment)
    if segments == 1:
        return [_pass(scan, kernel, "scan", 1, segment, "")]
    running = RUNNING.get(scan.num, scan.num)
    bits = 64 if running == "u64" else 32
    partials = f"partials{len(scratch)}"
    scratch[partials] = lines * segments * bits // 8
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
    sizes, walks = _walks(scan)
    room = room_in(adapter.max_binding)
    steps = segment * scan.per_unit
    step_bytes = max(w.bits * abs(w.steps[-1]) for w in walks) // 8
    at_once = room // (steps * max(1, step_bytes))
    at_once -= at_once % (PARTIALS if at_once >= PARTIALS else 4)  # 16 bytes at least
    fits = all(w.nbytes(sizes, 0) <= room for w in walks)
    if fits or not at_once or count(scan.lines) > 1:
        return [_pass(scan, kernel, entry, segments, segment, partials)]
    made = []
    for first in range(0, segments, at_once):
        some = min(at_once, segments - first)
        size = min(some * steps, scan.axis_size - first * steps)
        part = part_of((0,) * len(scan.lines) + (first * steps,), (*sizes[:-1], size), walks)
        width = 8 if scan.bits == 64 else 4
        spans = {**part.spans, partials: (first * width, (first + some) * width)}
        dispatch = _pass(_within(scan, part), kernel, entry, some, segment, partials)
        made.append(replace(dispatch, spans=spans))
    return made


def _pass(
    scan: Scan, kernel: str, entry: str, segments: int, segment: int, partials: str
) -> Dispatch:
    slots, constants = _io(scan)
    lines = count(scan.lines)
    params = {
        **_common(scan),
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
    groups = lines * segments
    return Dispatch("cumulative_groups", groups, params, bindings, slots, constants, entry)
