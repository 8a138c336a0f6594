"""The dispatches of moves: how each kernel divides a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dmlgpu.plan.dispatch import Dispatch, Plan, Value, eight
from dmlgpu.plan.loops import Dim, count, extent
from dmlgpu.plan.move.layout import Layout, choose
from dmlgpu.plan.move.packed import INDICES
from dmlgpu.plan.move.packed import dispatch as packed
from dmlgpu.plan.move.tile import tile_of
from dmlgpu.plan.move.tile_code import dispatch as tiled
from dmlgpu.plan.rows import DIVISION, divisors

WG_SIZE = 256
MANY_WORDS = 1 << 20  # from which on a GPU's invocation makes several, if each is looked up
RUN = 16  # neighbouring units that one invocation copies on a CPU adapter, if there are many
PLACED = "units", "words", "dense", "rows"  # kernels that divide to find an element's place
CPU_WG_SIZE = 64  # of the kernels that only CPU adapters run
CPU_TEAM = 8  # most invocations of these that work side by side
CPU_SHARES = 2048  # invocations among which these divide their work
AT_ONCE = 3  # coordinates of a tuple that CPU adapters take written out; more compile for minutes
# As plans call them until they are renamed.
SOURCE, OUTPUT = "input_tensor", "output_tensor"
COORDINATE = (
    "const INDEX_WORDS = {}u;\n"
    "fn coordinate(low: u32, high: u32, size: u32) -> u32 {{ return {}({}, size); }}"
)


def dispatch(layout: Layout, kind: str = "") -> Plan:
    """A kernel, or the one that is chosen for a layout, and how it divides the work."""
    bits, dims, gather = layout.bits, layout.dims, layout.gather
    kind = kind or choose(layout)
    bindings = {"input": SOURCE, "output": OUTPUT}
    if kind == "tile":
        tile = tile_of(bits, dims, layout.adapter.max_workgroup_storage)
        base, by_product = layout.base * max(1, bits // 32), layout.adapter.wide_integers
        return tiled(tile, base, bindings, by_product=by_product)
    if gather:
        bindings["indices"] = INDICES
    if kind == "packed":
        return Plan((packed(bits, dims, layout.base, bindings, layout.adapter, gather),))
    made = _WORK[kind](layout)
    params: dict[str, Value] = {
        "count": made.count,
        "source_base": layout.base,
        "run": made.run,
        "team": made.team,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    if kind == "rows":
        params["out_base"] = layout.out_base or 0
    slots, code = {"move": kind}, list[str]()
    constants = dict(made.constants)
    # Row: NCHW to NHWC, 4 channels uint8 bandwidth, lavapipe 25.0.
    if layout.on_cpu and layout.adapter.wide_integers and kind in PLACED and len(dims) > 1:
        params |= divisors([d.out for d in dims])
        slots["divide"] = "divide_by_product"
        code += DIVISION
    if gather:
        params |= {"tuple_strides": eight([d.tuple_ for d in dims]), **gather.params}
        given = "low" if gather.bits == 32 else "vec2<u32>(low, high)"
        code.append(COORDINATE.format(gather.bits // 32, gather.function, given))
        slots["indices"] = "indices_units" if kind == "tuples" else "indices_words"
        many = layout.on_cpu and len(gather.sizes) > AT_ONCE
        slots["resolve"] = "resolve_loop" if many else "resolve_at_once"
        constants["TUPLE"] = len(gather.sizes)
    shader = "move/gather" if gather else "move/copy"
    workgroups = -(-made.invocations // constants["WG_SIZE"])
    return Plan(
        (Dispatch(shader, workgroups, params, bindings, slots, constants, code="\n".join(code)),)
    )


def part_dispatch(
    bits: int, dims: tuple[Dim, ...], base: int, out_base: int, *, edges: bool = False
) -> Plan:
    """One invocation for each unit or element; for each word where a word holds several of a run.

    Words that two runs share are put together with atomic operations. Of `edges`, only the units in
    which runs begin and end.
    """
    kind = "part_units" if bits == 128 else "part_elements"
    made = count(dims)
    last = dims[-1]
    if edges or (bits < 32 and last.out == 1 and last.size > 1):
        kind = "part_words"
        per = 32 // bits
        made = count(dims[:-1]) * (8 if edges else (last.size + per - 2) // per + 1)
    params: dict[str, Value] = {
        "count": made,
        "source_base": base,
        "out_base": out_base,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims)}
    if bits < 128:
        constants["BITS"] = bits
    if kind == "part_words":
        constants["EDGES"] = int(edges)
    bindings = {"input": SOURCE, "output": OUTPUT}
    groups = -(-made // WG_SIZE)
    return Plan((Dispatch("move/part", groups, params, bindings, {"move": kind}, constants),))


@dataclass(frozen=True, slots=True)
class Work:
    """How a kernel divides a copy."""

    count: int  # of what it counts in params
    invocations: int
    constants: Mapping[str, int]
    # Not constants, so that few pipelines serve all sizes.
    run: int = 1  # what a team does
    team: int = 1  # invocations that take turns


def _elements(layout: Layout) -> Work:
    """Element by element."""
    dims = layout.dims
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims), "BITS": layout.bits}
    return Work(count(dims), count(dims), constants)


def _words(layout: Layout) -> Work:
    """Word by word of the output, or elements of 64 bits."""
    dims, bits = layout.dims, layout.bits
    made = -(-extent(dims) // max(1, 32 // bits))
    words = (2 if bits < 32 else 4) if made >= MANY_WORDS and not layout.on_cpu else 1
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims), "BITS": bits, "WORDS": words}
    return Work(made, -(-made // words), constants)


def _units(layout: Layout) -> Work:
    """Units, several side by side for an invocation."""
    units = -(-extent(layout.dims) * layout.bits // 128)
    run = run_units(units)
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(layout.dims), "RUN": run}
    return Work(units, -(-units // run), constants)


def run_units(units: int) -> int:
    """Units per invocation on a CPU: few where that would leave lanes idle."""
    return RUN if units >= 64 * RUN * WG_SIZE else 1


def _dense(layout: Layout) -> Work:
    """Units, each put together from the elements of one run or of several."""
    made, last = _units(layout), layout.dims[-1]
    constants = {
        **made.constants,
        "BITS": layout.bits,
        "STEP": last.source if layout.is_stepped else 0,
        "TUPLE_PER_ELEMENT": int(last.tuple_ != 0),
        "WHOLE": int(_in_whole_units(layout.bits, layout.dims)),
    }
    return replace(made, constants=constants)


def _in_whole_units(bits: int, dims: tuple[Dim, ...]) -> bool:
    """Whether every 16 bytes of the output belong to one run of the innermost loop."""
    *outer, last = dims
    edges = [last.size, *(d.out for d in outer)]
    return extent(dims) == count(dims) and not any(n * bits % 128 for n in edges)


def _share(whole: int, least: int, most: int) -> int:
    """What one of CPU_SHARES invocations does, as a power of two."""
    return min(most, max(least, 1 << max(1, whole // CPU_SHARES).bit_length() - 1))


def ends_within_units(layout: Layout) -> bool:
    """Whether rows of the output begin or end within units."""
    *outer, last = layout.dims
    edges = [layout.out_base or 0, last.size, *(d.out for d in outer)]
    return any(n * layout.bits % 128 for n in edges)


def _rows(layout: Layout) -> Work:
    """Pieces of rows, each for a team of invocations that take its units in turn."""
    bits, (*outer, last) = layout.bits, layout.dims
    unit = 128 // bits
    units = last.size // unit
    edges = ends_within_units(layout)
    share = _share(units * count(tuple(outer)), 8, 256 if edges else 64)
    team = min(CPU_TEAM, 1 << max(1, units // share).bit_length() - 1)
    pieces = count(tuple(outer)) * -(-units // (share * team))
    constants = {
        "WG_SIZE": CPU_WG_SIZE,
        "RANK": len(layout.dims),
        "BITS": bits,
        "STEP": last.source,
        "EDGES": int(edges),
        "ALIGNED": int(not edges and layout.starts_units),
    }
    if layout.out_base is not None:
        constants["PART"] = 1
    return Work(pieces, pieces * team, constants, share * team, team)


def _short(layout: Layout) -> Work:
    """Whole rows of a few units."""
    rows, row = layout.dims
    chunk = next(n for n in (4, 2, 1) if row.size % n == 0)
    run = _share(rows.size, 1, 16)
    constants = {"WG_SIZE": CPU_WG_SIZE, "CHUNK": chunk}
    return Work(rows.size, -(-rows.size // run), constants, run, CPU_TEAM)


def _tuples(layout: Layout) -> Work:
    """Units of one row whose elements each have an index tuple of their own."""
    units = -(-count(layout.dims) * layout.bits // 128)
    run = _share(units, 1, 16)
    constants = {"WG_SIZE": CPU_WG_SIZE, "BITS": layout.bits}
    return Work(units, -(-units // run), constants, run, CPU_TEAM)


_WORK: Mapping[str, Callable[[Layout], Work]] = {
    "sparse": _elements,
    "words": _words,
    "units": _units,
    "dense": _dense,
    "rows": _rows,
    "short": _short,
    "tuples": _tuples,
}
