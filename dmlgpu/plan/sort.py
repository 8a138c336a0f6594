"""Plans that sort: the places of the first elements of every line, in order, and their values.

Elements become items: a key, which is an unsigned number in the order of the elements, and the
place in the line. Equal keys keep the order of their places. There are three ways:

- A line that fits workgroup memory is sorted there, several short ones side by side: by merges, or
  digit by digit where the invocations of a subgroup can vote. Few elements are picked.
- Of a longer line of which few elements are wanted, each piece that fits gives its first items, and
  those of all pieces are sorted again.
- Other lines are sorted by one digit of the keys after the other: every tile counts its digits,
  the counts are summed up, and then each tile knows where its items go.

No workgroup waits for another, and the bits are the same on every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import UnsupportedError
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.gather import Picked
from dmlgpu.plan.loops import Dim, count, fold
from dmlgpu.plan.move.packed import Gather
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.scan import plan_counts
from dmlgpu.plan.traffic import all_read, bytes_written

PER_LANE = 8  # items of an invocation, as in sort/tile.wgsl
RADIX_PER_LANE = 16  # as in sort/count.wgsl and sort/scatter.wgsl
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS  # as there
MOST_LANES = 512
RADIX_LANES = 256
CPU_LANES = 64  # of radix sorts, where a barrier costs much
LEAST_LANES = 64  # that short lines are put together for
PICKED = 128  # most items that are picked, without sorting the rest
PICK_LANES = 256
PICK_FROM = 1024  # items of a segment: fewer leave invocations without any
RANK_FROM = {1: 1024, 2: 4096}  # items of a segment sorted by digits, by the words of an item
PICK_SUBGROUPS = 64  # as in sort/pick.wgsl
FEW = 8  # pieces of a line are sorted by themselves where they are at least so much longer than k
WORD_PLACES = 1 << 16  # places that fit a word together with a key of 16 bits
MOST_ITEMS = 1 << 28  # of lines that are sorted together by digits; scratch memory holds them twice
MOST_SUBGROUPS = 16  # whose counts sort/rank.wgsl has room for
# Row: sort one line float32 bandwidth: 4.0 ms with votes of subgroups, 7.8 without.
SCATTERS = ("sort/scatter", "sort/ranked_scatter")
ITEMS = ("items", "sorted")  # scratch memory, read and written in turn
COUNTS, OFFSETS = "counts", "offsets"
# The bits of infinity, or of its high word.
INFINITY = {
    DataType.FLOAT16: 0x7C00,
    DataType.FLOAT32: 0x7F800000,
    DataType.FLOAT64: 0x7FF00000,
}


@dataclass(frozen=True, slots=True)
class Sort:
    """The first `index.sizes[axis]` elements of each line in rising or falling order.

    `index` takes their places, and `values` their bits.
    """

    source: TensorDesc
    values: TensorDesc | None
    index: TensorDesc
    axis: int
    descending: bool
    source_field: str = "input_tensor"
    values_field: str = "output_value_tensor"
    index_field: str = "output_index_tensor"

    def plan(self, adapter: Adapter) -> Plan:
        """The places, and what lies there: written with them, or gathered."""
        plans = [self._places(adapter)]
        if self.values is not None and not self._writes_values:
            plans.append(self._gather(self.values).plan(adapter))
        return in_turn(plans)

    @property
    def _writes_values(self) -> bool:
        """Whether a key tells its element, which has a word of its own in the output."""
        return self.values is not None and self.values.data_type.bits == 32

    def traffic(self) -> dict[str, int]:
        """Everything once."""
        values = {} if self.values is None else {self.values_field: bytes_written(self.values)}
        return {
            self.source_field: all_read(self.source),
            **values,
            self.index_field: bytes_written(self.index),
        }

    def _gather(self, values: TensorDesc) -> Picked:
        """The elements at the places."""
        steps = self.source.effective_strides
        loops = zip(
            values.sizes,
            values.effective_strides,
            (0 if d == self.axis else step for d, step in enumerate(steps)),
            self.index.effective_strides,
            strict=True,
        )
        gather = Gather(
            indices=self.index,
            index_step=1,
            sizes=(self.source.sizes[self.axis],),
            strides=(steps[self.axis],),
            kept=0,
            field=self.index_field,
        )
        return Picked(
            self.source,
            values,
            tuple(Dim(*loop) for loop in loops),
            gather=gather,
            source_field=self.source_field,
            output_field=self.values_field,
        )

    def _places(self, adapter: Adapter) -> Plan:
        length, wanted = self.source.sizes[self.axis], self.index.sizes[self.axis]
        tile = self._tile(adapter)
        if length <= tile:
            return Plan((self._sorted(Piece(length, length), wanted, tile, adapter),))
        if FEW * _room(wanted) <= tile:
            return self._picked(wanted, tile, adapter)
        return self._by_digits(adapter)

    @property
    def _item(self) -> tuple[str, int]:
        """The kind of items, and their words."""
        bits = self.source.data_type.bits
        if bits <= 16 and self.source.sizes[self.axis] <= WORD_PLACES:
            return "item_word", 1
        return ("item_pair", 2) if bits <= 32 else ("item_triple", 3)

    @property
    def _lines(self) -> tuple[Dim, ...]:
        loops = zip(
            self.index.sizes,
            self.index.effective_strides,
            self.source.effective_strides,
            (self.values or self.index).effective_strides,
            strict=True,
        )
        return fold([Dim(*loop) for d, loop in enumerate(loops) if d != self.axis])

    def _tile(self, adapter: Adapter) -> int:
        """Items that fit workgroup memory, a power of two."""
        lanes = min(MOST_LANES, adapter.max_workgroup_size)
        room = min(lanes * PER_LANE, adapter.max_workgroup_storage // (4 * self._item[1]))
        return 1 << room.bit_length() - 1

    def _sorted(self, piece: Piece, wanted: int, tile: int, adapter: Adapter) -> Dispatch:
        """Segments of lines sorted in workgroup memory, the first items of each written.

        A GPU picks the first ones, where they are few, without sorting the others.
        """
        room = max(PER_LANE, min(tile, _room(piece.length)))
        lanes = max(min(LEAST_LANES, tile // PER_LANE), room // PER_LANE)
        segments = count(self._lines) * -(-piece.length // room)
        target = piece.target or self.index_field
        params = self._params(piece, segments, wanted)
        params["out_plane"] = segments * wanted
        params["room"] = room.bit_length() - 1
        params["run"] = min(room, max(PER_LANE, _room(wanted))).bit_length() - 1
        # Row: top 16 of 4096 float32 bandwidth: 0.80 ms, all of it sorted 8.4.
        if wanted <= PICKED and _can_pick(adapter, room) and self._item[1] < 3:
            made = self._dispatch("sort/pick", segments, params, PICK_LANES, piece, target)
            return replace(made, constants={**made.constants, "PER": room // PICK_LANES})
        ranked = _ranked(adapter, self._item[1], room // RADIX_PER_LANE)
        fits = room // RADIX_PER_LANE == ranked.get("WG_SIZE")
        # Row: sort rows of 4096 float32 bandwidth: 1.03 ms by digits, 1.53 by merges.
        if fits and room >= RANK_FROM.get(self._item[1], tile + 1):
            lanes = ranked["WG_SIZE"]
            made = self._dispatch("sort/ranked_lines", segments, params, lanes, piece, target)
            return _with_votes(made, ranked, adapter)
        groups = -(-segments // (lanes * PER_LANE // room))
        made = self._dispatch("sort/tile", groups, params, lanes, piece, target)
        written = not adapter.is_cpu and room == lanes * PER_LANE
        load = "load_written" if written else "load_loop"
        return replace(made, slots={**made.slots, "load": load})

    def _picked(self, wanted: int, tile: int, adapter: Adapter) -> Plan:
        """The first items of each piece of a line, and of these again, until they fit a tile."""
        length, lines = self.source.sizes[self.axis], count(self._lines)
        dispatches: list[Dispatch] = []
        scratch: dict[str, int] = {}
        source = ""
        while length > tile:
            chunks = -(-length // tile)
            target = ITEMS[len(dispatches) % 2]
            size = 4 * self._item[1] * lines * chunks * wanted
            scratch[target] = max(size, scratch.get(target, 0))
            piece = Piece(length, tile, source, target)
            dispatches.append(self._sorted(piece, wanted, tile, adapter))
            length, source = chunks * wanted, target
        last = self._sorted(Piece(length, length, source), wanted, tile, adapter)
        return Plan((*dispatches, last), scratch)

    def _by_digits(self, adapter: Adapter) -> Plan:
        """A radix sort from the lowest digit on, of as many lines at once as memory is kept for."""
        length, lines = self.source.sizes[self.axis], count(self._lines)
        words = self._item[1]
        if length * words >= 1 << 32:
            raise UnsupportedError(
                f"a line of {length} elements of {self.source.data_type.name} cannot be sorted: "
                f"the words of its items must be fewer than 2^32"
            )
        at_once = max(1, min(lines, MOST_ITEMS // length))
        plans = [
            self._digits_of(first, min(at_once, lines - first), adapter)
            for first in range(0, lines, at_once)
        ]
        return in_turn(plans)

    def _digits_of(self, first: int, lines: int, adapter: Adapter) -> Plan:
        words = self._item[1]
        length, wanted = self.source.sizes[self.axis], self.index.sizes[self.axis]
        bits = self.source.data_type.bits
        ranked = _ranked(adapter, words)
        lanes = ranked.get("WG_SIZE") or _radix_lanes(adapter, words)
        tile = lanes * RADIX_PER_LANE
        tiles = -(-length // tile)
        summed, scratch = plan_counts(lines, DIGITS * tiles, COUNTS, OFFSETS, adapter)
        passes = range(0, bits, DIGIT_BITS)
        plans = []
        for n, shift in enumerate(passes):
            ends = n == len(passes) - 1
            source = ITEMS[(n - 1) % 2] if n else ""
            target = "" if ends else ITEMS[n % 2]
            piece = Piece(length, tile, source, target)
            params = self._params(piece, lines * tiles, wanted if ends else length)
            params |= {"first_line": first, "shift": shift}
            params |= dict.fromkeys(("in_plane", "out_plane"), lines * length)
            groups = lines * tiles
            counted = self._dispatch("sort/count", groups, params, lanes, piece, COUNTS)
            to = target or self.index_field
            put = self._dispatch(SCATTERS[bool(ranked)], groups, params, lanes, piece, to)
            if ranked:
                put = _with_votes(put, ranked, adapter)
            how = "loop" if adapter.is_cpu else "written"
            counted = replace(counted, slots={**counted.slots, "counted": f"counted_{how}"})
            plans += [Plan((counted,)), summed, Plan((put,))]
            if target:
                scratch[target] = 4 * words * lines * length
        return in_turn(plans, scratch)

    def _params(self, piece: Piece, segments: int, wanted: int) -> dict[str, Value]:
        lines = self._lines
        return {
            "first_line": 0,
            "segments": segments,
            "chunks": -(-piece.length // piece.size),
            "length": piece.length,
            "kept": wanted,
            "room": 0,
            "run": 0,
            "shift": 0,
            "digit_bits": DIGIT_BITS,
            "per_lane": RADIX_PER_LANE,
            "bits": self.source.data_type.bits,
            "word_shift": max(1, 32 // self.source.data_type.bits).bit_length() - 1,
            **key_rule(self.source.data_type, self.descending),
            "index_words": self.index.data_type.bits // 32,
            "rank": len(lines),
            "in_step": self.source.effective_strides[self.axis],
            "out_step": self.index.effective_strides[self.axis],
            "in_plane": count(lines) * piece.length,
            "out_plane": 0,
            "sizes": eight([d.size for d in lines]),
            "in_strides": eight([d.source for d in lines]),
            "out_strides": eight([d.out for d in lines]),
            "value_step": 0 if self.values is None else self.values.effective_strides[self.axis],
            "value_strides": eight([d.tuple_ for d in lines]),
        }

    def _dispatch(
        self,
        shader: str,
        groups: int,
        params: Mapping[str, Value],
        lanes: int,
        piece: Piece,
        target: str,
    ) -> Dispatch:
        """A kernel with the snippets that read its items and write them."""
        slots = {"item": self._item[0], "source": "from_items"}
        bindings = {"items": piece.source}
        if not piece.source:
            slots["source"] = "from_pairs" if self.source.data_type.bits == 64 else "from_words"
            bindings = {"input": self.source_field}
        if target == COUNTS:
            bindings["counts"] = COUNTS
        elif target in ITEMS:
            slots["target"] = "to_items"
            bindings["sorted"] = target
        else:
            slots["target"] = "to_results" if self._writes_values else "to_places"
            bindings["places"] = target
            if self._writes_values:
                bindings |= {"values": self.values_field, "elements": self.source_field}
        if shader in SCATTERS:
            bindings["offsets"] = OFFSETS
        return Dispatch(shader, groups, params, bindings, slots, {"WG_SIZE": lanes})


@dataclass(frozen=True, slots=True)
class Piece:
    """What one dispatch sorts: lines of `length` items in segments of `size`, from and to where."""

    length: int
    size: int
    source: str = ""  # scratch memory; empty: the tensor
    target: str = ""


def key_rule(data_type: DataType, descending: bool) -> dict[str, int]:
    """How elements become keys: the fields of key_rule in number/key.wgsl, in order."""
    word = min(data_type.bits, 32)
    sign, every = 1 << word - 1, (1 << word) - 1
    is_float, is_signed = (data_type.name.startswith(kind) for kind in ("FLOAT", "INT"))
    turned = every if descending else 0
    flip = turned ^ (sign if is_float or is_signed else 0)
    low = 0xFFFFFFFF if descending else 0
    return {
        "sign": sign,
        "negative_zero": sign if is_float else 0,
        "infinity": INFINITY[data_type] if is_float else 0xFFFFFFFF,
        "flip": flip,
        "flip_low": low,
        "flip_negative": turned ^ every if is_float else flip,
        "flip_negative_low": low ^ 0xFFFFFFFF if is_float else low,
        "unordered": turned ^ every,
    }


def _can_pick(adapter: Adapter, room: int) -> bool:
    """Whether invocations of a workgroup can keep so many items, and find the first together."""
    lanes = adapter.subgroup_min
    return (
        not adapter.is_cpu
        and adapter.max_workgroup_size >= PICK_LANES
        and lanes * PICK_SUBGROUPS >= PICK_LANES
        and PICK_FROM <= room <= 16 * PICK_LANES
    )


def _ranked(adapter: Adapter, words: int, most: int = RADIX_LANES) -> dict[str, int]:
    """Constants of the kernels that rank items by votes; none where they cannot run."""
    least = adapter.subgroup_min
    if adapter.is_cpu or not least or not most:
        return {}
    lanes = min(most, adapter.max_workgroup_size, MOST_SUBGROUPS * least)
    lanes = 1 << lanes.bit_length() - 1
    while lanes >= max(least, LEAST_LANES // 2):
        subgroups = -(-lanes // least)
        used = RADIX_PER_LANE * words * lanes + DIGITS * (-(-subgroups // 2) + 1) + subgroups
        if 4 * used <= adapter.max_workgroup_storage:
            return {"WG_SIZE": lanes, "SUBGROUPS": subgroups}
        lanes //= 2
    return {}


def _with_votes(made: Dispatch, constants: Mapping[str, int], adapter: Adapter) -> Dispatch:
    """A kernel that ranks items, with votes as wide as the adapter's subgroups."""
    votes = "votes_word" if adapter.subgroup_max <= 32 else "votes_words"
    return replace(
        made,
        slots={**made.slots, "votes": votes},
        constants={**made.constants, **constants},
    )


def _room(wanted: int) -> int:
    """The power of two that holds so many."""
    return 1 << (wanted - 1).bit_length()


def _radix_lanes(adapter: Adapter, words: int) -> int:
    """Lanes of a workgroup whose items and counters fit workgroup memory, a power of two."""
    lanes = min(CPU_LANES if adapter.is_cpu else RADIX_LANES, adapter.max_workgroup_size)
    lanes = 1 << lanes.bit_length() - 1
    per_lane = 4 * (RADIX_PER_LANE * words + 8 + 2)
    while lanes > 1 and lanes * per_lane + 4 * DIGITS > adapter.max_workgroup_storage:
        lanes //= 2
    return lanes
