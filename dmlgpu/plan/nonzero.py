"""Plans that find the elements that are not zero, and pick them: flags, sums, and what is picked.

One kernel looks at all elements and leaves a bit for each, and how many are set in each block. The
counts are summed with the planner of running sums, and then each block knows where its first one
goes: the order is that of the elements, on every run. What is wanted of the elements found is then
written side by side, block by block: their coordinates, or the elements of another tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.scan import plan_counts
from dmlgpu.plan.traffic import all_read, bytes_written

WORD = 32  # flags of a word
WG_SIZE = 64
FLAGS, SUMS, COUNTS, PACKED, TOTAL = "flags", "sums", "counts", "packed", "total"


def words_of(elements: int) -> int:
    """Words of flags for so many elements."""
    return -(-elements // WORD)


def sums_of(elements: int) -> int:
    """Sums: what comes before each block, and the number of all flags that are set."""
    return 1 + -(-elements // (WORD * WG_SIZE))


@dataclass(frozen=True, slots=True)
class Find:
    """Flags of the elements of a tensor that are not zero, and their sums."""

    source: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """A packed copy of what is not packed, the flags, and a scan of their counts."""
        source, field = self.source, "input_tensor"
        plans: list[Plan] = []
        scratch: dict[str, int] = {}
        if not source.is_packed:
            packed = TensorDesc(source.data_type, source.sizes)
            plans.append(Move.between(source, packed, field, PACKED).plan(adapter))
            field, scratch[PACKED] = PACKED, packed.total_tensor_size_in_bytes
        blocks = sums_of(source.element_count) - 1
        bits = source.data_type.bits
        sign = 1 << (min(bits, 32) - 1) if source.data_type.name.startswith("FLOAT") else 0
        sign |= sign << 16 if bits == 16 else 0
        constants = {"WG_SIZE": WG_SIZE, "BITS": bits, "MASK": 0xFFFFFFFF - sign}
        params: dict[str, Value] = {"count": source.element_count, "blocks": blocks}
        slots = _sums(adapter) | {"words": "words_loop" if adapter.is_cpu else "words_shared"}
        bindings = {"input": field, "flags": FLAGS, "counts": COUNTS}
        flags = Dispatch("nonzero/flags", blocks, params, bindings, slots, constants)
        summed, held = plan_counts(1, blocks + 1, COUNTS, SUMS, adapter)
        return in_turn([*plans, Plan((flags,)), summed], {**scratch, COUNTS: held[COUNTS]})

    def traffic(self) -> dict[str, int]:
        """The elements, and a bit for each."""
        flags = 4 * words_of(self.source.element_count)
        return {"input_tensor": all_read(self.source), FLAGS: flags}


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A row of coordinates for each of the flagged elements, and their number."""

    sizes: tuple[int, ...]  # of the dimensions that the coordinates are of; others have size 1
    elements: int
    row: int  # elements of the output from one row to the next
    column: int
    output: TensorDesc
    field: str = "output_tensor"
    total: str = TOTAL

    def plan(self, adapter: Adapter) -> Plan:
        """One kernel."""
        params: dict[str, Value] = {
            "columns": len(self.sizes),
            "row": self.row,
            "column": self.column,
            "blocks": sums_of(self.elements) - 1,
            "column_sizes": eight(self.sizes),
        }
        bindings = {"output": self.field, "total": self.total}
        made = _pick("coordinates", self.elements, params, bindings, {}, adapter)
        return replace(made, scratch={TOTAL: 16} if self.total == TOTAL else {})

    def traffic(self) -> dict[str, int]:
        """The flags and every row."""
        return {FLAGS: 4 * words_of(self.elements), self.field: bytes_written(self.output)}


@dataclass(frozen=True, slots=True)
class Compress:
    """The flagged elements of a packed tensor, side by side."""

    source: TensorDesc
    output: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """One kernel."""
        bits = self.source.data_type.bits
        kind = "elements" if bits >= 32 else "narrow"
        constants = {"WORDS": bits // 32} if bits >= 32 else {"BITS": bits}
        bindings = {"input": "input_tensor", "output": "output_tensor"}
        return _pick(kind, self.source.element_count, {}, bindings, constants, adapter)

    def traffic(self) -> dict[str, int]:
        """The flags and what is picked, which may lie in as many sectors as there are."""
        made = bytes_written(self.output)
        read = min(all_read(self.source), 32 * self.output.element_count)
        flags = 4 * words_of(self.source.element_count)
        return {FLAGS: flags, "input_tensor": read, "output_tensor": made}


@dataclass(frozen=True, slots=True)
class NonZero:
    """The coordinates of the elements of `source` that are not zero, as rows, and their number."""

    source: TensorDesc
    coordinates: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """The flags and the coordinates."""
        source = self.source
        count = source.element_count
        memory = {FLAGS: 4 * words_of(count), SUMS: 4 * sums_of(count)}
        return in_turn([Find(source).plan(adapter), self._rows.plan(adapter)], memory)

    @property
    def _rows(self) -> Coordinates:
        columns = self.coordinates.sizes[-1]
        row, column = self.coordinates.effective_strides[-2:]
        sizes = self.source.sizes[self.source.rank - columns :]
        fields = ("output_coordinates_tensor", "output_count_tensor")
        return Coordinates(sizes, self.source.element_count, row, column, self.coordinates, *fields)

    def traffic(self) -> dict[str, int]:
        """The input once and every row, as if all were found."""
        return {
            "input_tensor": all_read(self.source),
            "output_count_tensor": 4,
            "output_coordinates_tensor": bytes_written(self.coordinates),
        }


def _pick(
    kind: str,
    elements: int,
    params: Mapping[str, Value],
    bindings: Mapping[str, str],
    constants: Mapping[str, int],
    adapter: Adapter,
) -> Plan:
    """What is wanted of the flagged elements of each block."""
    slots = _sums(adapter) | {"put": kind}
    bound = {"flags": FLAGS, "sums": SUMS, **bindings}
    blocks = sums_of(elements) - 1
    given = {"words": words_of(elements), **params}
    fixed = {"WG_SIZE": WG_SIZE, **constants}
    return Plan((Dispatch("nonzero/pick", blocks, given, bound, slots, fixed),))


def _sums(adapter: Adapter) -> dict[str, str]:
    """How a workgroup sums up."""
    in_subgroups = adapter.subgroup_min and not adapter.is_cpu
    return {"sums": "sums_subgroups" if in_subgroups else "sums_teams"}
