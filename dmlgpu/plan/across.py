"""Operands that lie across the output: read through workgroup memory, a tile at a time.

Where neighbours of the output are far apart in an input, and neighbours of the input belong to
another loop, as in `x + y.T`, each read of 16 bytes would use one element of them. A workgroup
reads a tile of such an operand along the loop where its elements are side by side, and makes the
groups of that tile from what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmlgpu.plan.values import Loop, Operand, Reading, element_at

WG_SIZE = 256
ALONG = 64  # elements of a tile along the output
RUN = 1024  # bits that a tile reads side by side, where that is no more than ALONG elements
FAR = 512  # bits between neighbours, from which on each is read from a sector of its own
FEW = 8  # steps of the other loop from which it is


@dataclass(frozen=True, slots=True)
class Tile:
    """ALONG elements of the innermost loop by `steps` of another one."""

    loop: int
    steps: int
    operands: tuple[int, ...]  # that are held

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        return ALONG * self.steps

    def counts(self, loops: Sequence[Loop]) -> list[int]:
        """Tiles along each loop."""
        own = [1] * len(loops)
        own[self.loop], own[-1] = self.steps, ALONG
        return [-(-loop.size // n) for loop, n in zip(loops, own, strict=True)]


def tile_of(
    loops: Sequence[Loop], operands: Sequence[Operand], group: int, storage: int
) -> Tile | None:
    """The tile for the operands that lie across, in `storage` bytes of workgroup memory."""
    far: dict[int, list[int]] = {}
    for t, operand in enumerate(operands):
        steps = [abs(loop.steps[t]) for loop in loops]
        wanted = [d for d in range(len(loops) - 1) if 0 < steps[d] < steps[-1]]
        if not operand.field or not wanted or steps[-1] * operand.bits < FAR:
            continue
        d = min(wanted, key=lambda d: steps[d])
        if loops[d].size >= FEW and 4 * steps[d] <= steps[-1]:
            far.setdefault(d, []).append(t)
    if not far or loops[-1].size < FEW or ALONG % group:
        return None
    loop = max(far, key=lambda d: len(far[d]))
    across = min(ALONG, RUN // max(operands[t].bits for t in far[loop]))
    held, left = [], storage
    for t in far[loop]:
        left -= (ALONG + 1) * across * max(4, operands[t].bits // 8)
        if left >= 0:
            held.append(t)
    return Tile(loop, across, tuple(held)) if held else None


def held_by(reading: Reading, tile: Tile) -> Reading:
    """The same reading, with the operands of the tile taken from workgroup memory."""
    access = ["held" if t in tile.operands else a for t, a in enumerate(reading.access)]
    return replace(reading, access=tuple(access))


def code(tile: Tile, reading: Reading, rank: int, tensors: int) -> list[str]:
    """The tile in WGSL: where it begins in each tensor, and how it is read."""

    def at(array: str, d: int) -> str:
        return f"params.{array}[{d // 4}][{d % 4}]"

    last = rank - 1
    starts = " ".join(f"at{t}: u32," for t in range(tensors))
    lines = [
        f"const GROUPS = {tile.elements // reading.group}u;",
        f"struct Tile {{ {starts} along: u32, across: u32, }}",
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var first = 0u;",
        "  var tile = Tile();",
        *(f"  tile.at{t} = params.start{t};" for t in range(tensors)),
    ]
    for d in reversed(range(rank)):
        own = {last: ALONG, tile.loop: tile.steps}.get(d, 1)
        lines.append(f"  first = rest % {at('counts', d)} * {own}u;")
        lines.append(f"  rest /= {at('counts', d)};")
        lines += [f"  tile.at{t} += first * {at(f'strides{t}', d)};" for t in range(tensors)]
        if own > 1:
            name = "along" if d == last else "across"
            lines.append(f"  tile.{name} = min({at('sizes', d)} - first, {own}u);")
    lines += ["  return tile;", "}"]
    for t in tile.operands:
        words = ("", "_high") if reading.operands[t].bits == 64 else ("",)
        size = (ALONG + 1) * tile.steps
        lines += [f"var<workgroup> held{t}{word}: array<u32, {size}>;" for word in words]
    lines.append("fn take_in(tile: Tile, lane: u32) {")
    rounds = -(-tile.elements // WG_SIZE)
    for t in tile.operands:
        operand = reading.operands[t]
        strides = at(f"strides{t}", last), at(f"strides{t}", tile.loop)
        # What lies beyond the work is read as its last element, so that no load is in a branch.
        lines += [
            f"  #repeat {rounds}: let a{t}_$ = (lane + $u * {WG_SIZE}u) / {tile.steps}u; "
            f"let b{t}_$ = (lane + $u * {WG_SIZE}u) % {tile.steps}u;",
            f"  #repeat {rounds}: let at{t}_$ = tile.at{t}"
            f" + min(a{t}_$, tile.along - 1u) * {strides[0]}"
            f" + min(b{t}_$, tile.across - 1u) * {strides[1]};",
            f"  #repeat {rounds}: let v{t}_$ = "
            f"{element_at(operand.bits, reading.load_of(t), f'at{t}_$')};",
        ]
        for word, part in (("", "x"), ("_high", "y")) if operand.bits == 64 else (("", "x"),):
            spot = f"b{t}_$ * {ALONG + 1}u + a{t}_$"
            lines.append(f"  #repeat {rounds}: held{t}{word}[{spot}] = v{t}_$.{part};")
    return [*lines, "}"]


def places(tile: Tile, group: int, rank: int, tensors: int) -> list[str]:
    """Statements from the number of a group of the tile to its addresses, and to what is held."""
    per_row = ALONG // group
    lines = [
        f"  let a = number % {per_row}u * {group}u;",
        f"  let b = number / {per_row}u;",
        "  if (a >= tile.along || b >= tile.across) { return; }",
        f"  let spot = b * {ALONG + 1}u + a;",
    ]
    for t in range(tensors):
        steps = [f"params.strides{t}[{d // 4}][{d % 4}]" for d in (rank - 1, tile.loop)]
        lines.append(f"  let at{t}_ = tile.at{t} + a * {steps[0]} + b * {steps[1]};")
    return lines
