"""Plans of scatters: updates written over a copy of the input, where index tuples say.

Where several updates name one place, the last one in order wins, on every run: each claims its
place in a table with the maximum of all positions, and then only the winners write. The table has
one word for each place that a tuple can name, and only the words that are named are ever touched.
Where it would be larger than a binding, the places are gone through in several turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from dmlgpu.desc.tensor import TensorDesc, packed_strides
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.loops import Dim, count, fold, widen
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import joined
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 256
TABLE = "winners"


@dataclass(frozen=True, slots=True)
class Scatter:
    """Updates put into an output that is else a copy of the input, or what it was.

    `positions` are the loops over the index tuples, row by row, and `kept` those over the block
    that one tuple moves; a loop steps through the output, the updates and the tuples. Steps of
    `positions` through the output and the table are for coordinates that no tuple names.
    """

    source: TensorDesc | None  # None: what is not updated stays as it is
    indices: TensorDesc
    updates: TensorDesc
    output: TensorDesc
    positions: tuple[Dim, ...]
    kept: tuple[Dim, ...]
    table_steps: tuple[int, ...]  # of each position loop through the table of winners
    index_step: int  # index elements between the coordinates of a tuple
    sizes: tuple[int, ...]  # of the output dimensions that the coordinates select from
    strides: tuple[int, ...]
    table_strides: tuple[int, ...]
    table_size: int
    base: int = 0  # element of the output where the loops start

    def plan(self, adapter: Adapter) -> Plan:
        """The copy, then the claims, then what the winners write."""
        most = max(1, adapter.max_binding // 4)
        dispatches: list[Dispatch] = []
        for first in range(0, self.table_size, most):
            dispatches += self._turn(first, min(most, self.table_size - first))
        made = Plan(tuple(dispatches), {TABLE: 4 * min(most, self.table_size)})
        if self.source is None:
            return made
        steps = zip(
            self.output.sizes,
            self.output.effective_strides,
            self.source.effective_strides,
            strict=True,
        )
        copy = Move(self.source, self.output, tuple(Dim(*step) for step in steps)).plan(adapter)
        return joined([copy, made], [{}, {}])

    def _turn(self, first: int, size: int) -> list[Dispatch]:
        """The claims and the writes of `size` places from `first` on."""
        tuples = count(self.positions)
        params: dict[str, Value] = {
            "count": tuples,
            "index_step": self.index_step,
            "table_first": first,
            "table_size": size,
            "sizes": eight([d.size for d in self.positions]),
            "tuple_strides": eight([d.tuple_ for d in self.positions]),
            "table_strides": eight(self.table_steps),
            "gather_sizes": eight(self.sizes),
            "gather_table": eight(self.table_strides),
        }
        constants = {
            "WG_SIZE": WG_SIZE,
            "RANK": len(self.positions),
            "TUPLE": len(self.sizes),
            "INDEX_WORDS": self.indices.data_type.bits // 32,
            "SIGNED": int(self.indices.data_type.name.startswith("INT")),
        }
        bindings = {"indices": "indices_tensor", "winners": TABLE}
        groups = -(-tuples // WG_SIZE)
        claims = [
            Dispatch("scatter/claim", groups, params, bindings, {}, constants, entry)
            for entry in ("clear", "claim")
        ]
        return [*claims, self._write(params, constants)]

    def _write(self, shared: Mapping[str, Value], fixed: Mapping[str, int]) -> Dispatch:
        """One invocation for each unit or element of the updates that moves."""
        bits = self.output.data_type.bits
        kept = fold(list(self.kept)) if count(self.kept) > 1 else ()
        dims = (*self.positions, *kept)
        grouped = 1
        if kept:
            bits, dims, grouped = widen(bits, dims, self.base, *self.strides)
        order = packed_strides(tuple(d.size for d in self.positions))
        made = count(dims)
        params: dict[str, Value] = {
            **shared,
            "count": made,
            "sizes": eight([d.size for d in dims]),
            "tuple_strides": eight([d.tuple_ for d in dims]),
            "out_base": self.base // grouped,
            "positions": eight(order),
            "out_strides": eight([d.out for d in dims]),
            "source_strides": eight([d.source for d in dims]),
            "gather_out": eight([s // grouped for s in self.strides]),
        }
        constants = {**fixed, "RANK": len(dims)}
        if bits < 128:
            constants["BITS"] = bits
        bindings = {
            "indices": "indices_tensor",
            "winners": TABLE,
            "updates": "updates_tensor",
            "output": "output_tensor",
        }
        slots = {"put": "put_units" if bits == 128 else "put_elements"}
        groups = -(-made // WG_SIZE)
        return Dispatch("scatter/write", groups, params, bindings, slots, constants)

    def traffic(self) -> dict[str, int]:
        """The indices and the updates, and all of the input and the output where it is copied."""
        moved = {
            "indices_tensor": all_read(self.indices),
            "updates_tensor": all_read(self.updates),
        }
        if self.source is None:
            return moved | {"output_tensor": moved["updates_tensor"]}
        copied = {
            "input_tensor": all_read(self.source),
            "output_tensor": bytes_written(self.output),
        }
        return moved | copied


def table_of(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Steps through a table with an entry for each place of these sizes, and its entries."""
    return packed_strides(sizes) if sizes else (), prod(sizes)
