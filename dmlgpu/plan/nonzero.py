"""Plans that find the elements that are not zero: a count, a sum over blocks, and the places.

Blocks of elements are counted, the counts are summed with the planner of running sums, and then
each block knows where its first row goes: the order is that of the elements, on every run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.scan import plan_counts
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 256
PER_LANE = 8  # elements side by side that an invocation looks at, as in nonzero/found_written
CPU_WG_SIZE = 64
CPU_PER_LANE = 32  # where a barrier costs much
COUNTS, BLOCKS = "counts", "blocks"


@dataclass(frozen=True, slots=True)
class NonZero:
    """The coordinates of the elements of `source` that are not zero, as rows, and their number."""

    source: TensorDesc
    coordinates: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """A count, a scan of the counts, and the coordinates."""
        source = self.source
        loops = _folded(source)
        lanes = CPU_WG_SIZE if adapter.is_cpu else WG_SIZE
        per_lane = CPU_PER_LANE if adapter.is_cpu else PER_LANE
        blocks = -(-source.element_count // (lanes * per_lane))
        is_float = source.data_type.name.startswith("FLOAT")
        bits = source.data_type.bits
        constants = {
            "WG_SIZE": lanes,
            "RANK": len(loops),
            "BITS": bits,
            "MASK": (1 << (bits - 1 if is_float else bits)) - 1,
            "PER_LANE": per_lane,
        }
        params: dict[str, Value] = {
            "count": source.element_count,
            "sizes": eight([size for size, _ in loops]),
            "strides": eight([step for _, step in loops]),
        }
        columns = self.coordinates.sizes[-1]
        row, column = self.coordinates.effective_strides[-2:]
        rows: dict[str, Value] = {
            "blocks": blocks,
            "columns": columns,
            "row": row,
            "column": column,
            "column_sizes": eight(source.sizes[source.rank - columns :]),
        }
        slots = {"found": "found_loop" if adapter.is_cpu else "found_written"}
        found = {"input": "input_tensor", "blocks": COUNTS}
        count = Dispatch("nonzero/count", blocks, params, found, slots, constants)
        summed, scratch = plan_counts(1, blocks, COUNTS, BLOCKS, adapter)
        written = {"input": "input_tensor", "blocks": BLOCKS}
        written |= {"output": "output_coordinates_tensor", "total": "output_count_tensor"}
        write = Dispatch("nonzero/write", blocks, params | rows, written, slots, constants)
        made = in_turn([Plan((count,)), summed, Plan((write,))])
        return replace(made, scratch={**made.scratch, **scratch})

    def traffic(self) -> dict[str, int]:
        """The input once and every row, as if all were found."""
        return {
            "input_tensor": all_read(self.source),
            "output_count_tensor": 4,
            "output_coordinates_tensor": bytes_written(self.coordinates),
        }


def _folded(tensor: TensorDesc) -> list[tuple[int, int]]:
    """(size, stride) of the fewest loops that walk a tensor row by row."""
    folded: list[tuple[int, int]] = []
    for size, stride in tensor.steps:
        if folded and folded[-1][1] == size * stride:
            folded[-1] = (folded[-1][0] * size, stride)
        else:
            folded.append((size, stride))
    return folded or [(1, 1)]
