"""Operands that lie across the output: read through workgroup memory, a tile at a time.

Where neighbours of the output are far apart in an input, and neighbours of the input belong to
another loop, as in `x + y.T`, each read of 16 bytes would use one element of them. A workgroup
reads a tile of such an operand along the loop where its elements are side by side, and makes the
groups of that tile from what it holds.

A row of a tile is a piece of the innermost loops of the output. Where rows are no multiple of a
group, a group belongs to the tile in which it begins; the tile reads as many elements beyond its
own as such a group needs, from the next row where a row ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.plan.rows import Rows
from dmlgpu.plan.values import Loop, Operand, Reading, element_at

WG_SIZE = 256
ALONG = 64  # elements of a tile along the output, where the other loop has enough steps
RUN = 1024  # bits that a tile reads side by side, where that is no more than ALONG elements
FAR = 512  # bits: less than that side by side is read from sectors of its own
FEW = 8  # steps of a loop from which it is one side of a tile; shorter rows take in more loops
# Bytes of the output between neighbours of an operand from which on caches hold what was read no
# more when the other part of it is used.
FORGOTTEN = 1 << 22


@dataclass(frozen=True, slots=True)
class Tile:
    """A piece of a row of the output by `steps` of another loop."""

    loop: int  # the other one
    steps: int
    row: int  # the outermost loop of a row
    inner: tuple[int, ...]  # sizes of the loops inside of that, which are taken whole
    own: int  # elements along a row
    beyond: int  # elements behind these that a group which begins in the tile may need
    operands: tuple[int, ...]  # that are held

    @property
    def along(self) -> int:
        """Elements that are held of each row."""
        return self.own + self.beyond

    @property
    def pitch(self) -> int:
        """Words from one row that is held to the next: odd, so that banks differ."""
        return self.along | 1

    def groups(self, group: int) -> int:
        """Groups that can begin in a row of the tile."""
        return -(-self.own // group)

    def counts(self, loops: Sequence[Loop]) -> list[int]:
        """Tiles along each loop; those along a row count at its outermost one."""
        counts = [loop.size for loop in loops[: self.row]]
        counts[self.loop] = -(-counts[self.loop] // self.steps)
        length = prod(loop.size for loop in loops[self.row :])
        return [*counts, -(-length // self.own)] + [1] * len(self.inner)


@dataclass(frozen=True, slots=True)
class InTile(Rows):
    """The rows of a tile: what is not held is addressed by its place in the tile."""

    def address(self, t: int, k: int) -> str:
        """The address of element `k` of a group that begins at `a` in row `b`."""
        return f"spot{t}(tile, b, a + {k}u)"


def tile_of(
    loops: Sequence[Loop], operands: Sequence[Operand], group: int, beyond: int, storage: int
) -> Tile | None:
    """The tile for the operands that lie across, in `storage` bytes of workgroup memory."""
    last = len(loops) - 1
    far: dict[int, list[int]] = {}
    for t, operand in enumerate(operands):
        loop = _side_by_side(loops, t, operand) if operand.field else None
        if loop is not None:
            far.setdefault(loop, []).append(t)
    if not far:
        return None
    loop = max(far, key=lambda d: len(far[d]))
    row = last
    while row - 1 > loop and prod(d.size for d in loops[row:]) < ALONG // 2:
        row -= 1
    length = prod(d.size for d in loops[row:])
    inner = tuple(d.size for d in loops[row + 1 :])
    if length < FEW or prod(inner) > ALONG:
        return None
    bits = max(operands[t].bits for t in far[loop])
    steps = _all_or(min(ALONG, RUN // bits), loops[loop].size)
    elements = ALONG * min(ALONG, RUN // bits)
    own = _all_or(elements // steps - beyond, length)
    own = own if own == length else own // group * group if not beyond else own
    if own == length:
        steps = min(loops[loop].size, max(steps, elements // (own + beyond)))
    tile = Tile(loop, steps, row, inner, own, beyond, ())
    held, left = [], storage
    for t in far[loop]:
        left -= tile.pitch * steps * max(4, operands[t].bits // 8)
        if left >= 0:
            held.append(t)
    return replace(tile, operands=tuple(held)) if held else None


def _all_or(some: int, size: int) -> int:
    """So many steps, or all where there are hardly more."""
    return size if size <= some + some // 4 else some


def _side_by_side(loops: Sequence[Loop], t: int, operand: Operand) -> int | None:
    """The loop along which an operand should be read, if that is not how the output goes."""
    steps = [abs(loop.steps[t]) for loop in loops]
    last = len(loops) - 1
    wanted = [d for d in range(last) if steps[d] and loops[d].size > 1]
    run, d = 1, last  # elements of the operand from the first one to where the next is far away
    while d >= 0 and steps[d] * operand.bits <= max(run * operand.bits, FAR // 2):
        run += (loops[d].size - 1) * steps[d]
        wanted = [other for other in wanted if other != d]
        d -= 1
    if d < 0 or not wanted:
        wanted, d = [n for n in range(last) if 0 < steps[n] < steps[last]], last
        is_far = False
    else:
        is_far = run * operand.bits < FAR
    wanted = [n for n in wanted if 4 * steps[n] <= steps[d] or not is_far]
    if not wanted:
        return None
    loop = min(wanted, key=lambda n: steps[n])
    if is_far:
        return loop if loops[loop].size * run >= FEW else None
    # Each sector is used by several rows of the output, which are far apart.
    apart = loops[loop].steps[-1] * operand.bits // 8
    return loop if steps[loop] < steps[last] and apart >= FORGOTTEN else None


def held_by(reading: Reading, tile: Tile) -> Reading:
    """The same reading, with the operands of the tile taken from workgroup memory."""
    access = list(reading.access)
    rows = reading.rows
    for t in range(len(access)):
        if t in tile.operands:
            access[t] = "held"
        elif rows and rows.steps[t] is not None and access[t] in ("run", "row"):
            access[t] = "each"
    if rows:
        rows = InTile(rows.group, rows.rank, rows.length, rows.steps)
    return replace(reading, access=tuple(access), rows=rows)


def code(tile: Tile, reading: Reading, rank: int, tensors: int) -> list[str]:
    """The tile in WGSL: where it begins in each tensor, and how it is read."""
    starts = " ".join(f"at{t}: u32, next{t}: u32, turn{t}: u32," for t in range(tensors))
    lines = [
        f"const GROUPS = {tile.groups(reading.group) * tile.steps}u;",
        f"struct Tile {{ {starts} first: u32, left: u32, own: u32, across: u32, end: u32, }}",
        *_tile_at(tile, tensors),
        *(line for t in range(tensors) for line in _spot(tile, t, rank)),
    ]
    for t in tile.operands:
        words = ("", "_high") if reading.operands[t].bits == 64 else ("",)
        size = tile.pitch * tile.steps
        lines += [f"var<workgroup> held{t}{word}: array<u32, {size}>;" for word in words]
    lines.append("fn take_in(tile: Tile, lane: u32) {")
    elements = tile.along * tile.steps
    rounds = -(-elements // WG_SIZE)
    reach = f"tile.own + {tile.beyond}u" if tile.beyond else "tile.own"
    for t in tile.operands:
        operand = reading.operands[t]
        # What lies beyond the work is read as its last element, so that no load is in a branch.
        spot = f"spot{t}(tile, min(b{t}_$, tile.across - 1u), min(a{t}_$, {reach} - 1u))"
        lines += [
            f"  #repeat {rounds}: let a{t}_$ = (lane + $u * {WG_SIZE}u) / {tile.steps}u; "
            f"let b{t}_$ = (lane + $u * {WG_SIZE}u) % {tile.steps}u;",
            f"  #repeat {rounds}: let at{t}_$ = {spot};",
            f"  #repeat {rounds}: let v{t}_$ = "
            f"{element_at(operand.bits, reading.load_of(t), f'at{t}_$')};",
        ]
        for word, part in (("", "x"), ("_high", "y")) if operand.bits == 64 else (("", "x"),):
            put = f"held{t}{word}[b{t}_$ * {tile.pitch}u + a{t}_$] = v{t}_$.{part};"
            lines.append(f"  #repeat {elements // WG_SIZE}: {put}")
            if elements % WG_SIZE:
                end = put.replace("$", str(rounds - 1))
                lines.append(f"  if (lane < {elements % WG_SIZE}u) {{ {end} }}")
    return [*lines, "}"]


def _at(array: str, d: int) -> str:
    return f"params.{array}[{d // 4}][{d % 4}]"


def _tile_at(tile: Tile, tensors: int) -> list[str]:
    """Where tile `number` begins, and how far its next rows are where a row ends."""
    row = tile.row
    length = " * ".join([_at("sizes", row), *(f"{n}u" for n in tile.inner)])
    lines = [
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var tile = Tile();",
        f"  tile.first = rest % {_at('counts', row)} * {tile.own}u;",
        f"  rest /= {_at('counts', row)};",
        f"  tile.left = {length} - tile.first;",
        f"  tile.own = min(tile.left, {tile.own}u);",
        *(f"  tile.at{t} = params.start{t};" for t in range(tensors)),
    ]
    for d in reversed(range(row)):
        own = f" * {tile.steps}u" if d == tile.loop else ""
        lines.append(f"  let c{d} = rest % {_at('counts', d)}{own};")
        lines.append(f"  rest /= {_at('counts', d)};")
        lines += [f"  tile.at{t} += c{d} * {_at(f'strides{t}', d)};" for t in range(tensors)]
    size, first = _at("sizes", tile.loop), f"c{tile.loop}"
    lines.append(f"  tile.across = min({size} - {first}, {tile.steps}u);")
    lines.append(f"  tile.end = {size} - {first} - 1u;")
    for name, at_end in (("next", "false"), ("turn", "true")) if tile.beyond else ():
        ends = []
        for d in reversed(range(1, row)):
            here = at_end if d == tile.loop else f"c{d} + 1u == {_at('sizes', d)}"
            before = f"{name}_{d + 1} && " if ends else ""
            lines.append(f"  let {name}_{d} = {before}{here};")
            ends.append(d)
        for t in range(tensors):
            ahead = _at(f"strides{t}", row - 1)
            for d in ends:
                strides = _at(f"strides{t}", d - 1), _at(f"strides{t}", d)
                jump = f"{strides[0]} - {_at('sizes', d)} * {strides[1]}"
                ahead += f" + select(0u, {jump}, {name}_{d})"
            lines.append(f"  tile.{name}{t} = {ahead};")
    return [*lines, "  return tile;", "}"]


def _spot(tile: Tile, t: int, rank: int) -> list[str]:
    """A function from a place in the tile to an address: element `a` from the tile's on, row `b`."""
    lines = [
        f"fn spot{t}(tile: Tile, b: u32, a: u32) -> u32 {{",
        f"  var at = tile.at{t} + b * {_at(f'strides{t}', tile.loop)};",
        "  var rest = tile.first + a;",
    ]
    if tile.beyond:
        ahead = f"select(tile.next{t}, tile.turn{t}, b == tile.end)"
        lines += [
            f"  at += select(0u, {ahead}, a >= tile.left);",
            "  rest = select(rest, a - tile.left, a >= tile.left);",
        ]
    for d in reversed(range(tile.row + 1, rank)):
        size = tile.inner[d - tile.row - 1]
        lines.append(f"  at += rest % {size}u * {_at(f'strides{t}', d)};")
        lines.append(f"  rest /= {size}u;")
    return [*lines, f"  return at + rest * {_at(f'strides{t}', tile.row)};", "}"]


def places(tile: Tile, reading: Reading, tensors: int) -> list[str]:
    """Statements from the number of a group of the tile to its addresses, and to what is held."""
    group, per_row = reading.group, tile.groups(reading.group)
    lines = [f"  let b = place / {per_row}u;"]
    outputs = range(len(reading.operands), tensors)
    if reading.rows is None:
        lines.append(f"  let a = place % {per_row}u * {group}u;")
    else:  # the output is packed: its addresses number the elements
        lines += [
            f"  let begin = spot{outputs[0]}(tile, b, 0u);",
            f"  let number = (begin + {group - 1}u) / {group}u + place % {per_row}u;",
            f"  let first = number * {group}u;",
            "  let a = first - begin;",
        ]
    lines += [
        "  if (a >= tile.own || b >= tile.across) { return; }",
        f"  let spot = b * {tile.pitch}u + a;",
    ]
    for t in range(tensors):
        if reading.rows is None:
            lines.append(f"  let at{t}_ = spot{t}(tile, b, a);")
        elif t in outputs:
            lines.append(f"  let at{t}_ = first;")
        elif reading.rows.steps[t] is None:
            stride = reading.rows.stride(t)
            lines.append(f"  let at{t}_ = params.start{t} + first * {stride};")
    return lines
