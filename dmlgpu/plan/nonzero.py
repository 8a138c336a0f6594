"""Plans that find the elements that are not zero: a count, a sum over blocks, and the places.

Blocks of elements are counted, the counts summed up by one workgroup, and then each block knows
where its first row goes: the order is that of the elements, on every run.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 256
PER_LANE = 4  # elements side by side that an invocation looks at
BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class NonZero:
    """The coordinates of the elements of `source` that are not zero, as rows, and their number."""

    source: TensorDesc
    coordinates: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """Three dispatches."""
        source = self.source
        blocks = -(-source.element_count // (WG_SIZE * PER_LANE))
        is_float = source.data_type.name.startswith("FLOAT")
        bits = source.data_type.bits
        constants = {
            "WG_SIZE": WG_SIZE,
            "RANK": source.rank,
            "BITS": bits,
            "MASK": (1 << (bits - 1 if is_float else bits)) - 1,
            "PER_LANE": PER_LANE,
        }
        params: dict[str, Value] = {
            "count": source.element_count,
            "sizes": eight(source.sizes),
            "strides": eight(source.effective_strides),
        }
        row, column = self.coordinates.effective_strides[-2:]
        rows: dict[str, Value] = {
            "first": source.rank - self.coordinates.sizes[-1],
            "row": row,
            "column": column,
        }
        found = {"input": "input_tensor", "blocks": BLOCKS}
        count = Dispatch("nonzero/count", blocks, params, found, {}, constants)
        total = Dispatch(
            "nonzero/total",
            1,
            {"blocks": blocks},
            {"blocks": BLOCKS, "total": "output_count_tensor"},
            {},
            {"WG_SIZE": WG_SIZE},
        )
        written = {**found, "output": "output_coordinates_tensor"}
        write = Dispatch("nonzero/write", blocks, params | rows, written, {}, constants)
        return Plan((count, total, write), {BLOCKS: 4 * blocks})

    def traffic(self) -> dict[str, int]:
        """The input once and every row, as if all were found."""
        return {
            "input_tensor": all_read(self.source),
            "output_count_tensor": 4,
            "output_coordinates_tensor": bytes_written(self.coordinates),
        }
