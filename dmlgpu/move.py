"""Plans of operators that move elements without changing them: slices and gathers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dmlgpu.layout import Dim, count, extent, fold, is_nested, widen
from dmlgpu.operator import Adapter, Dispatch, Plan, Value, eight

WG_SIZE = 256
SPARSE_FACTOR = 4  # an output with more gaps than this is written element by element


@dataclass(frozen=True, slots=True)
class Gather:
    """What a gather adds to a copy: index tuples that pick the source."""

    index: str  # snippet that decodes one index value
    index_step: int
    sizes: tuple[int, ...]  # of the input dimensions the coordinates select from
    strides: tuple[int, ...]
    params: Mapping[str, Value] = field(default_factory=dict)


def move(
    shader: str,
    bits: int,
    loops: list[Dim],
    source_base: int,
    gather: Gather | None,
    adapter: Adapter,
) -> Plan:
    """The dispatch that copies `loops` of elements of `bits` bits each."""
    strides = gather.strides if gather else ()
    bits, dims, grouped = widen(bits, fold(loops), source_base, *strides)
    elements = count(dims)
    reached = extent(dims)
    dense = is_nested(dims) and reached <= SPARSE_FACTOR * elements + 64
    last = dims[-1]
    invocations = -(-reached * bits // 128) if dense else elements
    params: dict[str, Value] = {
        "count": invocations,
        "source_base": source_base // grouped,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    bindings = {"input": "input_tensor", "output": "output_tensor"}
    slots = {"move": "move_dense" if dense else "move_sparse"}
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims), "BITS": bits}
    if dense:
        constants["STEP"] = last.source if last.source in (1, -1, 2) else 0
        constants["TUPLE_PER_ELEMENT"] = int(last.tuple_ != 0)
        constants["PAIRS"] = int(not adapter.is_cpu)
    if gather:
        params["index_step"] = gather.index_step
        params["tuple_strides"] = eight([d.tuple_ for d in dims])
        params["gather_sizes"] = eight(gather.sizes)
        params["gather_strides"] = eight([s // grouped for s in strides])
        bindings["indices"] = "indices_tensor"
        slots["index"] = gather.index
        constants["TUPLE"] = len(gather.sizes)
    per_group = WG_SIZE * (1 + constants.get("PAIRS", 0))
    workgroups = -(-invocations // per_group)
    return Plan((Dispatch(shader, workgroups, params, bindings, slots, constants),))
