"""Plans of scatters: the input, and updates where index tuples say.

Where several updates name one place, the last one in order wins, on every run: each claims its
place in a table with the maximum of all positions. The table has one word for each place that a
tuple can name. Every piece of the output is then written once, from the update that has won it or
from the input; where lines along an axis fit workgroup memory, their tables lie there.
Otherwise the input is copied, and the winners write: where a table would be larger than a binding,
the places are gone through in several turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import TensorDesc, packed_strides
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.loops import Dim, count, fold, widen
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.reading import Loop, folded
from dmlgpu.plan.traffic import SECTOR, all_read, bytes_written

WG_SIZE = 256
CLEARED = 8  # words that an invocation clears
EACH = 8  # words or units of a run that an invocation of a CPU moves; a GPU's take one each
PIECES = 4  # pieces that one writes, all loads under way at once
ROOM = 32768  # bytes of workgroup memory for the tables of lines, of which several share a core
MANY_GROUPS = 128  # workgroups that keep a GPU busy, however far each of them walks:
LONG_WALK = 16384  # turns of a loop; some software adapters end one after 65,535
SHORT_WALK = 256  # turns for which fewer workgroups are no loss
FEW_UPDATES = 4  # an element that shares its word costs so much less by a copy than by itself
LARGE_BLOCK = 128  # bytes that a tuple moves, from which on the table is small beside them
BINDINGS = 8  # that every adapter has, of which the table takes one
TABLE = "winners"
UPDATES, OUTPUT = "updates_tensor", "output_tensor"


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
    axis: int | None = None  # of the output, where a tuple is a place along it
    # Steps of each dimension of the output through the table and through the block of a tuple.
    places: tuple[int, ...] = ()
    block: tuple[int, ...] = ()

    def plan(self, adapter: Adapter) -> Plan:
        """One kernel, or the claims and one, or the copy, the claims and what winners write."""
        if self.source is not None:
            tensors = (self.source, self.indices, self.updates, self.output)
            if sum(_windows(t, adapter.max_binding) for t in tensors) < BINDINGS - 1:
                found = self._by_lines(self.source, adapter) or self._merged(self.source, adapter)
                if found is not None:
                    return found
        most = max(1, adapter.max_binding // 4)
        dispatches: list[Dispatch] = []
        for first in range(0, self.table_size, most):
            dispatches += self._turn(first, min(most, self.table_size - first), adapter)
        made = Plan(tuple(dispatches), {TABLE: 4 * min(most, self.table_size)})
        if self.source is None:
            return made
        copy = Move.between(self.source, self.output).plan(adapter)
        return in_turn([copy, made])

    # Row: scatter elements of rows float32 bandwidth: 1.0 ms, with a table in memory 5.7.
    def _by_lines(self, source: TensorDesc, adapter: Adapter) -> Plan | None:
        """Lines along the axis, whose winners are found in workgroup memory; None: no room."""
        if self.axis is None:
            return None
        tensors = (self.output, source, self.updates, self.indices)
        length, updates = self.output.sizes[self.axis], self.updates.sizes[self.axis]
        along, *others = _loops(self.output, [t.effective_strides for t in tensors], self.axis)
        loops = folded(others) or (Loop(1, (0,) * 4),)
        lines, bits = prod(d.size for d in loops), self.output.data_type.bits
        across = 0 < loops[-1].steps[0] < along.steps[0] and lines > 1
        # Powers of two: lines side by side, places of them, invocations.
        most = max(1, max(length, updates) // PIECES)
        beside = WG_SIZE if across else max(1, WG_SIZE >> most.bit_length() - 1)
        while beside > 1 and 4 * beside * length > min(ROOM, adapter.max_workgroup_storage):
            beside //= 2
        places = max(WG_SIZE, 1 << (beside * length - 1).bit_length())
        lanes = WG_SIZE  # few of them with much workgroup memory would leave a core idle
        while lanes < places // (2 * PIECES) and 2 * lanes <= adapter.max_workgroup_size:
            lanes *= 2
        groups, turns = -(-lines // beside), updates * beside // (PIECES * lanes)
        least = min(8 * SECTOR // bits, lines) if across else 1
        if 4 * places > adapter.max_workgroup_storage or beside < least:
            return None
        if bits < 32 and FEW_UPDATES * updates < length:
            return None
        if turns > (LONG_WALK if groups >= MANY_GROUPS else SHORT_WALK):
            return None
        steps = [eight([d.steps[t] for d in loops]) for t in range(4)]
        params: dict[str, Value] = {
            "lines": lines,
            "length": length,
            "updates_length": updates,
            "out_step": along.steps[0],
            "source_step": along.steps[1],
            "update_step": along.steps[2],
            "index_step": along.steps[3],
            "sizes": eight([d.size for d in loops]),
            "out_strides": steps[0],
            "source_strides": steps[1],
            "update_strides": steps[2],
            "tuple_strides": steps[3],
        }
        constants = {
            "WG_SIZE": lanes,
            "RANK": len(loops),
            "TEAM": lanes // beside,
            "ACROSS": int(across),
            "PLACES": places,
            **self._index_constants,
        }
        slots, more = _piece(bits)
        bindings = {"indices": "indices_tensor", **_MERGED}
        return Plan(
            (Dispatch("scatter/lines", groups, params, bindings, slots, {**constants, **more}),)
        )

    # Row: scatter rows of 1024 float32 bandwidth: 0.53 ms, a copy and then the winners 1.18.
    def _merged(self, source: TensorDesc, adapter: Adapter) -> Plan | None:
        """The claims, and every piece of the output from its update or the input; None: it costs.

        The table is cleared and read as a whole, for which named places are neither cleared, nor
        read, nor copied one by one, and what is updated is not copied before.
        """
        tuples, size = count(self.positions), self.table_size
        moved = self.output.element_count // size * self.output.data_type.bits // 8
        saved = tuples * 2 * (SECTOR + moved)
        updates = folded([Loop(d.size, (d.source,)) for d in self.positions])
        if 4 * size > adapter.max_binding or len(updates) > 1:
            return None
        if moved < LARGE_BLOCK and 8 * size > saved:
            return None
        strides = [self.output.effective_strides, source.effective_strides, self.places, self.block]
        loops = folded(_loops(self.output, strides)) or (Loop(1, (1, 1, 0, 1)),)
        step = updates[0].steps[0] if updates else 0
        bits, loops, step = _in_pieces(self.output.data_type.bits, loops, step)
        if bits < 32:
            return None
        pieces = prod(d.size for d in loops)
        params: dict[str, Value] = {
            "count": pieces,
            "update_step": step,
            "sizes": eight([d.size for d in loops]),
        }
        names = ("out_strides", "source_strides", "table_strides", "block_strides")
        params |= {name: eight([d.steps[t] for d in loops]) for t, name in enumerate(names)}
        slots, more = _piece(bits)
        constants = {"WG_SIZE": WG_SIZE, "RANK": len(loops), **more}
        bindings = {"winners": TABLE, **_MERGED}
        groups = -(-pieces // (PIECES * WG_SIZE))
        merge = Dispatch("scatter/merge", groups, params, bindings, slots, constants)
        return Plan((*self._claims(0, size, whole=True), merge), {TABLE: 4 * size})

    @property
    def _index_constants(self) -> dict[str, int]:
        """How index values are read."""
        return {
            "INDEX_WORDS": self.indices.data_type.bits // 32,
            "SIGNED": int(self.indices.data_type.name.startswith("INT")),
        }

    def _target(self, first: int, size: int) -> tuple[dict[str, Value], dict[str, int]]:
        """What kernels must know of `size` places from `first` on: parameters and constants."""
        params: dict[str, Value] = {
            "count": count(self.positions),
            "index_step": self.index_step,
            "table_first": first,
            "table_size": size,
            "sizes": eight([d.size for d in self.positions]),
            "tuple_strides": eight([d.tuple_ for d in self.positions]),
            "table_strides": eight(self.table_steps),
            "gather_sizes": eight(self.sizes),
            "gather_table": eight(self.table_strides),
        }
        constants = {"WG_SIZE": WG_SIZE, "RANK": len(self.positions), "TUPLE": len(self.sizes)}
        return params, constants | self._index_constants

    def _claims(self, first: int, size: int, whole: bool) -> list[Dispatch]:
        """The table cleared, as a whole or where it is named, and every tuple's claim."""
        params, constants = self._target(first, size)
        bindings = {"indices": "indices_tensor", "winners": TABLE}
        groups = -(-count(self.positions) // WG_SIZE)
        named, claim = (
            Dispatch("scatter/claim", groups, params, bindings, {}, constants, entry)
            for entry in ("clear", "claim")
        )
        if not whole:
            return [named, claim]
        groups = -(-size // (CLEARED * WG_SIZE))
        fixed = {"WG_SIZE": WG_SIZE}
        clear = Dispatch("scatter/clear", groups, {"size": size}, {"winners": TABLE}, {}, fixed)
        return [clear, claim]

    def _turn(self, first: int, size: int, adapter: Adapter) -> list[Dispatch]:
        """The claims and the writes of `size` places from `first` on."""
        # A word that is cleared by itself costs a sector.
        whole = 4 * size <= SECTOR * count(self.positions)
        written = self._write(*self._target(first, size), adapter)
        return [*self._claims(first, size, whole), written]

    def _write(
        self, shared: Mapping[str, Value], fixed: Mapping[str, int], adapter: Adapter
    ) -> Dispatch:
        """One invocation for each unit, word or element of the updates that moves.

        Words are those that a run of narrow elements touches. An invocation of a CPU moves several
        units or words of a run.
        """
        own = bits = self.output.data_type.bits
        kept = fold(list(self.kept)) if count(self.kept) > 1 else ()
        dims = (*self.positions, *kept)
        if kept:
            bits, dims, _ = widen(bits, dims, self.base, *self.strides)
        order = packed_strides(tuple(d.size for d in self.positions))
        put, constants = "put_units" if bits == 128 else "put_elements", dict(fixed)
        more: dict[str, Value] = {}
        is_run = bool(kept) and (dims[-1].out, dims[-1].source) == (1, 1)
        if is_run and (bits < 32 or adapter.is_cpu):
            bits, dims, put, more, each = _in_runs(bits, dims, adapter)
            constants["EACH"] = each
        made = count(dims)
        params: dict[str, Value] = {
            **shared,
            **more,
            "count": made,
            "sizes": eight([d.size for d in dims]),
            "tuple_strides": eight([d.tuple_ for d in dims]),
            "out_base": self.base * own // bits,
            "positions": eight(order),
            "out_strides": eight([d.out for d in dims]),
            "source_strides": eight([d.source for d in dims]),
            "gather_out": eight([s * own // bits for s in self.strides]),
        }
        constants["RANK"] = len(dims)
        if bits < 128:
            constants["BITS"] = bits
        bindings = {
            "indices": "indices_tensor",
            "winners": TABLE,
            "updates": UPDATES,
            "output": OUTPUT,
        }
        groups = -(-made // WG_SIZE)
        return Dispatch("scatter/write", groups, params, bindings, {"put": put}, constants)

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


_MERGED = {"input": "input_tensor", "updates": UPDATES, "output": OUTPUT}


def _windows(tensor: TensorDesc, most: int) -> int:
    """Bindings of at most `most` bytes that a tensor needs."""
    size = tensor.total_tensor_size_in_bytes
    return 1 if size <= most else -(-size // (1 << most.bit_length() - 1))


def _piece(bits: int) -> tuple[dict[str, str], dict[str, int]]:
    """The snippet that moves pieces of so many bits, and its constants."""
    if bits == 128:
        return {"piece": "piece_units"}, {}
    if bits < 32:
        return {"piece": "piece_parts"}, {"BITS": bits}
    return {"piece": "piece_words"}, {"WORDS": bits // 32}


def _loops(
    output: TensorDesc, strides: Sequence[Sequence[int]], first: int | None = None
) -> list[Loop]:
    """Loops over an output through several tensors, the longest steps first, but for `first`."""
    made = [Loop(n, tuple(s[d] for s in strides)) for d, n in enumerate(output.sizes)]
    order = sorted(range(len(made)), key=lambda d: (d != first, -made[d].steps[0]))
    return [made[d] for d in order]


def _in_runs(
    bits: int, dims: tuple[Dim, ...], adapter: Adapter
) -> tuple[int, tuple[Dim, ...], str, dict[str, Value], int]:
    """Pieces of the runs that the innermost loop walks: units of 16 bytes, else words.

    Their bits, the loops with one over the invocations that share a run, the snippet that puts them
    and its parameters, and how many of them an invocation puts.
    """
    if bits == 64:
        bits, dims = 32, _halved(dims)
    run, per_piece = dims[-1].size, max(1, 32 // bits)
    touched = (run + per_piece - 2) // per_piece + 1
    each = min(EACH, touched) if adapter.is_cpu else 1
    turns = -(-touched // each)
    put = "put_runs" if bits == 128 else "put_words"
    return bits, (*dims[:-1], Dim(turns, 0, 0)), put, {"run": run, "turns": turns}, each


def _halved(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Loops over elements as loops over the halves of them; the innermost goes one by one."""
    *outer, last = dims
    return (*(d.scaled(2, 1) for d in outer), replace(last, size=2 * last.size))


def _in_pieces(bits: int, loops: tuple[Loop, ...], step: int) -> tuple[int, tuple[Loop, ...], int]:
    """The widest pieces that move as one, up to 128 bits; the steps through the table stay."""
    while bits < 128:
        *outer, last = loops
        whole = [step, last.size, *(d.steps[t] for d in outer for t in (0, 1, 3))]
        if last.steps != (1, 1, 0, 1) or any(n % 2 for n in whole):
            break
        halved = [
            Loop(d.size, (*(n // 2 for n in d.steps[:2]), d.steps[2], d.steps[3] // 2))
            for d in outer
        ]
        loops = (*halved, Loop(last.size // 2, last.steps))
        step //= 2
        bits *= 2
    return bits, loops, step
