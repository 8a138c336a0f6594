"""Moves through workgroup memory, for layouts whose neighbours are not neighbours on both sides.

A tile is a box in the space of the loops: long enough along the loops that step least through the
source and along those that step least through the output. A workgroup reads it in the order of the
source and writes it in the order of the output, so that both are walked by whole sectors. That
serves transposes, permutations of all kinds and short innermost axes alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dmlgpu.plan.dispatch import Dispatch, Plan, Value, eight
from dmlgpu.plan.loops import Dim

WG_SIZE = 256
HELD = 20480  # bytes of workgroup memory, where an adapter has as many: 4096 words and padding


@dataclass(frozen=True, slots=True)
class Side:
    """One order of a tile's loops: those of a run, which lie side by side, and the rest."""

    run: tuple[int, ...]  # loops, the one with the least step first
    rest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """The box of a move: how many steps of each loop, and how the two sides walk them."""

    dims: tuple[Dim, ...]
    bits: int
    box: tuple[int, ...]  # steps of each loop
    own: tuple[int, ...]  # steps from one tile to the next: fewer where neighbours share words
    source: Side
    output: Side
    room: int  # elements that workgroup memory holds

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each loop."""
        return tuple(-(-d.size // own) for d, own in zip(self.dims, self.own, strict=True))

    def length(self, side: Side) -> int:
        """Elements of a run."""
        return prod(self.box[d] for d in side.run)


def tile_of(bits: int, dims: tuple[Dim, ...], out_base: int, storage: int) -> Tile:
    """The tile of a move in `storage` bytes of workgroup memory."""
    room = min(HELD, storage) // 4 // max(1, bits // 32)
    by_output = sorted(range(len(dims)), key=lambda d: dims[d].out)
    by_source = sorted(range(len(dims)), key=lambda d: _rank(dims[d].source))
    box = _box(1 << (room * 4 // 5).bit_length() - 1, dims, by_output, by_source)
    in_box = [d for d in by_output if box[d] > 1] or [by_output[0]]
    output = _side(in_box, box, dims, [dims[d].out for d in range(len(dims))])
    ordered = [d for d in by_source if d in in_box]
    source = _side(ordered, box, dims, [abs(d.source) for d in dims])
    own = list(box)
    per_word = 32 // bits if bits < 32 else 1
    if per_word > 1 and not _whole_words(per_word, dims, box, output, out_base):
        last = output.run[-1]
        inner = prod(box[d] for d in output.run[:-1])
        if box[last] < dims[last].size:
            own[last] = box[last] - -(-(per_word - 1) // inner)
    return Tile(dims, bits, box, tuple(own), source, output, room)


def dispatch(tile: Tile, source_base: int, out_base: int, bindings: dict[str, str]) -> Plan:
    """One workgroup for each tile."""
    dims = tile.dims
    tiles = prod(tile.counts)
    params: dict[str, Value] = {
        "count": tiles,
        "source_base": source_base,
        "out_base": out_base,
        "sizes": eight([d.size for d in dims]),
        "counts": eight(tile.counts),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([abs(d.source) for d in dims]),
    }
    is_small = tile.bits < 32
    side_by_side = abs(dims[tile.source.run[0]].source) == 1
    slots = {
        "take_in": "take_words" if is_small and side_by_side else "take_elements",
        "put_out": "put_words" if is_small else "put_elements",
    }
    constants = {"WG_SIZE": WG_SIZE, "BITS": tile.bits}
    code = _code(tile)
    return Plan((Dispatch("move/tile", tiles, params, bindings, slots, constants, code=code),))


def _rank(source: int) -> tuple[bool, int]:
    """Least steps first; loops that stay where they are last, since they bring no neighbours."""
    return source == 0, abs(source)


def _box(
    room: int, dims: tuple[Dim, ...], by_output: Sequence[int], by_source: Sequence[int]
) -> tuple[int, ...]:
    """Steps of each loop: about the root of `room` elements along each side, `room` in all."""
    box = [1] * len(dims)
    edge = 1 << (room.bit_length() // 2)
    for order in (by_output, by_source):
        length = 1
        for d in order:
            if length >= edge:
                break
            box[d] = max(box[d], _steps(dims[d].size, -(-edge // length)))
            length *= box[d]
    while prod(box) > room:
        d = box.index(max(box))
        box[d] = 1 << (box[d] - 1).bit_length() - 1
    for d in (*by_output, *by_source):  # what is left makes runs longer
        while box[d] > 1 and 2 * box[d] <= dims[d].size and 2 * prod(box) <= room:
            box[d] *= 2
    return tuple(box)


def _steps(size: int, wanted: int) -> int:
    """`wanted` steps as a power of two; all where there are hardly more."""
    steps = 1 << (wanted - 1).bit_length()
    return size if size <= steps + steps // 4 else steps


def _side(
    order: Sequence[int], box: Sequence[int], dims: Sequence[Dim], steps: Sequence[int]
) -> Side:
    """A run goes on through loops that begin where the one before ends, taken whole."""
    run = [order[0]]
    for d in order[1:]:
        last = run[-1]
        if box[last] < dims[last].size or steps[d] != dims[last].size * steps[last]:
            break
        run.append(d)
    return Side(tuple(run), tuple(order[len(run) :]))


def _whole_words(
    per_word: int, dims: Sequence[Dim], box: Sequence[int], output: Side, out_base: int
) -> bool:
    """Whether every run of a tile begins and ends with a word of the output."""
    steps = [d.out for n, d in enumerate(dims) if n not in output.run]
    length = prod(box[d] for d in output.run)
    ends = prod(dims[d].size for d in output.run)
    return not any(n % per_word for n in (out_base, length, ends, *steps))


def _code(tile: Tile) -> str:
    """The structure of a tile in WGSL."""
    length = tile.length(tile.output)
    runs = prod(tile.box) // length
    pitch = length | 1 if (length | 1) * runs <= tile.room else length  # so that banks differ
    held: dict[int, int] = {}
    step = 1
    for d in tile.output.run:
        held[d] = step
        step *= tile.box[d]
    step = pitch
    for d in tile.output.rest:
        held[d] = step
        step *= tile.box[d]
    plane = step
    own = length // tile.box[tile.output.run[-1]] * tile.own[tile.output.run[-1]]
    words = max(1, tile.bits // 32)
    lines = [
        f"const ELEMENTS = {prod(tile.box)}u;",
        f"const SOURCE_RUN = {tile.length(tile.source)}u;",
        f"const OUTPUT_RUN = {length}u;",
        f"const OWN = {own}u;",
        f"const PLANE = {plane}u;",
        f"var<workgroup> held: array<u32, {plane * words}>;",
        "struct Tile { source: u32, output: u32, begins: bool, "
        f"n: array<u32, {len(tile.dims)}> }}",
        *_tile_at(tile),
    ]
    for name, side in (("source", tile.source), ("output", tile.output)):
        lines += _spot(f"from_{name}_run", name, side.rest, tile, held, f"tile.{name}")
        lines += _spot(f"from_{name}_step", name, side.run, tile, held, "0u")
    return "\n".join(lines)


def _at(array: str, d: int) -> str:
    return f"params.{array}[{d // 4}u][{d % 4}u]"


def _tile_at(tile: Tile) -> list[str]:
    """Where tile `number` begins on both sides, and how many steps of each loop are left for it."""
    last = tile.output.run[-1]
    lines = [
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var first = 0u;",
        "  var tile = Tile();",
        "  tile.source = params.source_base;",
        "  tile.output = params.out_base;",
        "  tile.begins = true;",
    ]
    for d in reversed(range(len(tile.dims))):
        lines += [
            f"  first = rest % {_at('counts', d)} * {tile.own[d]}u;",
            f"  rest /= {_at('counts', d)};",
            f"  tile.n[{d}] = min({_at('sizes', d)} - first, {tile.box[d]}u);",
            f"  tile.output += first * {_at('out_strides', d)};",
        ]
        if tile.dims[d].source < 0:
            at = f"(first + tile.n[{d}] - 1u) * {_at('source_strides', d)}"
            lines.append(f"  tile.source -= {at};")
        else:
            lines.append(f"  tile.source += first * {_at('source_strides', d)};")
        if d == last:
            lines.append("  tile.begins = first == 0u;")
    return [*lines, "  return tile;", "}"]


def _spot(
    name: str, side: str, loops: Sequence[int], tile: Tile, held: dict[int, int], start: str
) -> list[str]:
    """A function from a number to where it lies, the loop with the least step counting fastest."""
    lines = [
        f"fn {name}(number: u32, tile: Tile) -> Spot {{",
        f"  var spot = Spot({start}, 0u, true);",
        "  var rest = number;",
        "  var k = 0u;",
    ]
    for i, d in enumerate(loops):
        is_last = i == len(loops) - 1
        lines.append("  k = rest;" if is_last else f"  k = rest % {tile.box[d]}u;")
        if not is_last:
            lines.append(f"  rest /= {tile.box[d]}u;")
        array = "source_strides" if side == "source" else "out_strides"
        lines.append(f"  spot.address += k * {_at(array, d)};")
        backwards = side == "source" and tile.dims[d].source < 0
        c = f"(tile.n[{d}] - 1u - k)" if backwards else "k"
        lines.append(f"  spot.held += {c} * {held[d]}u;")
        lines.append(f"  spot.inside = spot.inside && k < tile.n[{d}];")
    return [*lines, "  return spot;", "}"]
