"""Plans of operators that move elements without changing them: slices and gathers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.layout import Dim, count, extent, fold, is_nested, resized, widen
from dmlgpu.operator import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.parts import Part, Walk, joined, split

WG_SIZE = 256
RUN = 16  # units side by side that an invocation of a CPU adapter copies, when there are many
COPY_BYTES = 2048  # shortest run that a CPU adapter moves sooner with a buffer copy
COPY_RUNS = 4096  # most runs recorded that way
AT_ONCE = 3  # coordinates of a tuple that CPU adapters take written out; more compile for minutes
SPARSE_FACTOR = 4  # an output with more gaps than this is written element by element


@dataclass(frozen=True, slots=True)
class Gather:
    """What a gather adds to a copy: index tuples that pick the source."""

    index: str  # snippet that decodes one index value
    index_bits: int
    index_step: int
    sizes: tuple[int, ...]  # of the input dimensions the coordinates select from
    strides: tuple[int, ...]


def move(
    shader: str,
    bits: int,
    loops: list[Dim],
    source_base: int,
    gather: Gather | None,
    adapter: Adapter,
    largest: int,
) -> Plan:
    """Copies `loops` of elements of `bits` bits each; the largest tensor has `largest` bytes."""
    strides = gather.strides if gather else ()
    folded = fold(loops)
    dense = is_nested(folded) and extent(folded) <= SPARSE_FACTOR * count(folded) + 64
    most = 128 if dense else 32
    bits, dims, grouped = widen(bits, folded, source_base, *strides, most=most)
    if gather:
        gather = replace(gather, strides=tuple(s // grouped for s in strides))
    base = source_base // grouped
    parts = None
    if largest > adapter.max_binding:
        parts = _parts(bits, dims, base, gather, adapter.max_binding)
    if parts:
        plans = []
        for part in parts:
            moved = sum(n * d.source for n, d in zip(part.first, dims, strict=False))
            start = part.starts.get("input_tensor", base + moved)
            cut = resized(dims, part.sizes[: len(dims)])
            plans.append(_dispatch(shader, bits, cut, dense, start, gather, adapter))
        made = joined(plans, [part.spans for part in parts])
    else:
        made = _dispatch(shader, bits, dims, dense, base, gather, adapter)
    copies = _copies(bits, dims, base) if adapter.is_cpu and not gather else ()
    return replace(made, copies=copies)


def _parts(
    bits: int, dims: tuple[Dim, ...], base: int, gather: Gather | None, most: int
) -> tuple[Part, ...] | None:
    """Parts in which each tensor fits a binding, but for the input of a gather."""
    sizes = [d.size for d in dims]
    out = tuple(d.out for d in dims)
    if not gather:
        source = Walk("input_tensor", bits, base, tuple(d.source for d in dims), based=True)
        return split(sizes, [Walk("output_tensor", bits, 0, out, False), source], most, len(dims))
    sizes.append(len(gather.sizes))  # a loop over the coordinates of a tuple, never cut
    steps = (*(d.tuple_ for d in dims), gather.index_step)
    walks = [
        Walk("output_tensor", bits, 0, (*out, 0), based=False),
        Walk("indices_tensor", gather.index_bits, 0, steps, based=False),
    ]
    return split(sizes, walks, most, len(dims))


def _dispatch(
    shader: str,
    bits: int,
    dims: tuple[Dim, ...],
    dense: bool,
    base: int,
    gather: Gather | None,
    adapter: Adapter,
) -> Plan:
    elements = count(dims)
    reached = extent(dims)
    last = dims[-1]
    invocations = -(-reached * bits // 128) if dense else elements
    params: dict[str, Value] = {
        "count": invocations,
        "source_base": base,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    bindings = {"input": "input_tensor", "output": "output_tensor"}
    kind = "units" if dense and bits == 128 else "dense" if dense else "sparse"
    if adapter.is_cpu and dense and (run := row_run(bits, dims)):
        return _rows(shader, bits, dims, run, params, gather, base)
    if adapter.is_cpu and dense and invocations >= 64*64*16:
        if bits == 128 and len(dims) == 2 and not last.tuple_ and last.source == 1:
            return _short(shader, "move_short", bits, dims, params, gather)
        if gather and len(dims) == 1 and last.tuple_ and _tuples(bits, last, gather, replace(adapter, is_cpu=False)) == "tuples_packed":
            return _short(shader, "move_tuples", bits, dims, params, gather)
    slots = {"move": f"move_{kind}"}
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims)}
    if kind != "units":
        constants["BITS"] = bits
    if kind != "sparse":
        constants["PAIRS"] = int(not adapter.is_cpu and not (last.tuple_ and bits >= 32))
        constants["RUN"] = run_units(invocations) if adapter.is_cpu else 1
    if kind == "dense":
        slots["tuples"] = _tuples(bits, last, gather, adapter)
        constants["STEP"] = last.source if last.source in (1, -1, 2) else 0
        constants["TUPLE_PER_ELEMENT"] = int(last.tuple_ != 0)
    if gather:
        params["index_step"] = gather.index_step
        params["tuple_strides"] = eight([d.tuple_ for d in dims])
        params["gather_sizes"] = eight(gather.sizes)
        params["gather_strides"] = eight(gather.strides)
        bindings["indices"] = "indices_tensor"
        slots["index"] = gather.index
        packed = slots.get("tuples") == "tuples_packed"
        slots["indices"] = "indices_units" if packed else "indices_words"
        many = adapter.is_cpu and len(gather.sizes) > AT_ONCE
        slots["resolve"] = "resolve_loop" if many else "resolve_at_once"
        constants["TUPLE"] = len(gather.sizes)
    per_group = WG_SIZE * max(1 + constants.get("PAIRS", 0), constants.get("RUN", 1))
    workgroups = -(-invocations // per_group)
    return Plan((Dispatch(shader, workgroups, params, bindings, slots, constants),))


def row_run(bits, dims):
    last = dims[-1]
    units = last.size * bits // 128
    if last.tuple_ or last.source not in (1, -1, 2) or units < 16:
        return 0
    return 512 if count(dims) * bits // 128 >= 64 * 64 * 64 else 0


def _rows(shader, bits, dims, run, params, gather, base):
    unit = 128 // bits
    last = dims[-1]
    rows = count(dims[:-1])
    pieces = -(-(last.size // unit) // run)
    params["count"] = rows * pieces
    bindings = {"input": "input_tensor", "output": "output_tensor"}
    slots = {"move": "move_rows"}
    edges = any(d.out % unit for d in dims[:-1]) or last.size % unit
    starts = [base + (last.source < 0), *(d.source for d in dims[:-1]), *(gather.strides if gather else ())]
    aligned = not edges and not any(s % unit for s in starts)
    import os
    team = max(t for t in (1, 2, 4, 8) if t == 1 or last.size // unit >= int(os.environ.get("IT", "64")) * t)
    constants = {"WG_SIZE": 64, "TEAM": team, "RANK": len(dims), "BITS": bits, "ALIGNED": int(aligned), "STEP": last.source, "EDGES": int(bool(edges)), "RUN": run}
    if gather:
        params["index_step"] = gather.index_step
        params["tuple_strides"] = eight([d.tuple_ for d in dims])
        params["gather_sizes"] = eight(gather.sizes)
        params["gather_strides"] = eight(gather.strides)
        bindings["indices"] = "indices_tensor"
        slots["index"] = gather.index
        slots["indices"] = "indices_words"
        many = len(gather.sizes) > AT_ONCE
        slots["resolve"] = "resolve_loop" if many else "resolve_at_once"
        constants["TUPLE"] = len(gather.sizes)
    workgroups = -(-params["count"] * team // 64)
    return Plan((Dispatch(shader, workgroups, params, bindings, slots, constants),))


def _short(shader, kind, bits, dims, params, gather):
    bindings = {"input": "input_tensor", "output": "output_tensor"}
    slots = {"move": kind}
    constants = {"WG_SIZE": 64, "RUN": 16}
    if kind == "move_tuples":
        constants["BITS"] = bits
    else:
        params["count"] = dims[0].size
        constants["CHUNK"] = next(c for c in (4, 2, 1) if dims[-1].size % c == 0)
    units = params["count"]
    if gather:
        params["index_step"] = gather.index_step
        params["tuple_strides"] = eight([d.tuple_ for d in dims])
        params["gather_sizes"] = eight(gather.sizes)
        params["gather_strides"] = eight(gather.strides)
        bindings["indices"] = "indices_tensor"
        slots["index"] = gather.index
        slots["indices"] = "indices_units" if kind == "move_tuples" else "indices_words"
        many = len(gather.sizes) > AT_ONCE
        slots["resolve"] = "resolve_loop" if many else "resolve_at_once"
        constants["TUPLE"] = len(gather.sizes)
    workgroups = -(-units // (64*16))
    return Plan((Dispatch(shader, workgroups, params, bindings, slots, constants),))


def _tuples(bits: int, last: Dim, gather: Gather | None, adapter: Adapter) -> str:
    """The snippet that fills a unit whose elements each have an index tuple of their own."""
    if adapter.is_cpu or not gather or not last.tuple_:
        return "tuples_loop"
    coordinates = len(gather.sizes)
    words = coordinates * gather.index_bits // 32
    packed = last.tuple_ == coordinates and (coordinates == 1 or gather.index_step == 1)
    fits = words in (1, 2, 4) and 128 // bits * words >= 4
    return "tuples_packed" if packed and fits else "tuples_at_once"


def run_units(units: int) -> int:
    """Units per invocation on a CPU: few where that would leave lanes idle."""
    return RUN if units >= 64 * RUN * WG_SIZE else 1


def _copies(bits: int, dims: tuple[Dim, ...], source_base: int) -> tuple[tuple[int, int, int], ...]:
    """The runs of a copy in bytes, where they are long, few and whole words; else none."""
    *outer, last = dims
    size = last.size * bits // 8
    if (last.out, last.source) != (1, 1) or size < COPY_BYTES or bits < 32:
        return ()
    if count(tuple(outer)) > COPY_RUNS:
        return ()
    runs = [(source_base, 0)]
    for d in outer:
        runs = [(s + c * d.source, o + c * d.out) for s, o in runs for c in range(d.size)]
    return tuple((s * bits // 8, o * bits // 8, size) for s, o in runs)
