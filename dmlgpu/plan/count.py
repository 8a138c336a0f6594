"""The plan that counts values: how often 0, 1, ... are among the elements of a tensor.

Integers are added to atomically, so that the counts are the same on every run.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value
from dmlgpu.plan.traffic import all_read, bytes_written
from dmlgpu.plan.words import UNIT_BITS

WG_SIZE = 256
UNITS = 4 * WG_SIZE  # of a workgroup, at least
MOST_GROUPS = 2048
MOST_COPIES = 16  # of each place in workgroup memory


@dataclass(frozen=True, slots=True)
class Count:
    """What is added to counts: for each value of a packed tensor, as often as it is there."""

    source: TensorDesc
    counts: TensorDesc
    source_field: str
    counts_field: str

    def plan(self, adapter: Adapter) -> Plan:
        """One kernel."""
        bits, bins = self.source.data_type.bits, self.counts.element_count
        count = self.source.element_count
        units = -(-count * bits // UNIT_BITS)
        each = max(UNITS, -(-units // MOST_GROUPS))
        places = adapter.max_workgroup_storage // 4
        constants = {"WG_SIZE": WG_SIZE, "BITS": bits}
        slots = {"found": "found_in_memory"}
        if bins <= places:
            slots = {"found": "found_in_workgroup"}
            constants |= {"BINS": bins, "COPIES": min(MOST_COPIES, places // bins)}
        params: dict[str, Value] = {"count": count, "units": each}
        bindings = {"input": self.source_field, "output": self.counts_field}
        groups = -(-units // each)
        return Plan((Dispatch("count/values", groups, params, bindings, slots, constants),))

    def traffic(self) -> dict[str, int]:
        """The elements, and the counts."""
        return {
            self.source_field: all_read(self.source),
            self.counts_field: bytes_written(self.counts),
        }
