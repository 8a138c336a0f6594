"""The kernel of a tile, written out: loops would keep loads from being under way at once.

`tile_at` says where a tile begins, `take_in` reads it into workgroup memory, with what comes behind
runs that end within units, and `put_out` writes units of the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import prod

from dmlgpu.plan.dispatch import Dispatch, Plan, Value, eight, of_eight
from dmlgpu.plan.move.packed import put_together
from dmlgpu.plan.move.tile import EDGE, Tile
from dmlgpu.plan.rows import DIVISION, divisors, quotient
from dmlgpu.plan.words import funnel, param_lines


def dispatch(tile: Tile, source_base: int, bindings: dict[str, str], *, by_product: bool) -> Plan:
    """One workgroup for each tile; `source_base` in elements of the tile."""
    tiles = prod(tile.counts)
    params: dict[str, Value] = {
        "count": tiles,
        "source_base": source_base,
        "end": -(-tile.end // tile.unit),
        "tail": (tile.end - 1) % tile.unit + 1,
        "sizes": eight([d.size for d in tile.dims][:8]),
        "counts": eight(tile.counts[:8]),
        "out_strides": eight([d.out for d in tile.dims][:8]),
        "source_strides": eight([abs(d.source) for d in tile.dims][:8]),
    }
    declared = _declared(tile, by_product)
    if by_product and sum(n > 1 for n in tile.counts) > 1:
        params |= divisors(tile.counts[:8])
        declared += DIVISION
    lines = [*param_lines(params), *declared, *_taken(tile, source_base, by_product)]
    lines += _put(tile, by_product)
    constants = {"WG_SIZE": tile.wg_size, "BITS": tile.bits}
    code = "\n".join(lines)
    return Plan((Dispatch("move/tile", tiles, params, bindings, {}, constants, code=code),))


def _declared(tile: Tile, by_product: bool) -> list[str]:
    """Workgroup memory, and where tile `number` begins on both sides.

    The last tile of a loop ends where the loop does and makes some of the one before again, so that
    all tiles are whole. Only where the output is one run it ends beyond that.
    """
    reach = tile.length + (0 if tile.in_units else tile.unit - 1)
    lines = [
        f"#bind read input: {f'vec{tile.at_once}<u32>' if tile.at_once > 1 else 'u32'}",
        f"var<workgroup> held: array<array<u32, {tile.plane}>, {tile.group}>;",
        "struct Tile { source: u32, output: u32, reach: u32, begin: u32, end: u32 }",
        "fn tile_at(number: u32) -> Tile {",
        "  var rest = number;",
        "  var next = 0u;",
        "  var first = 0u;",
        f"  var tile = Tile(params.source_base, 0u, {reach}u, {tile.unit}u, {tile.unit}u);",
    ]
    cut = [d for d in range(len(tile.dims)) if tile.counts[d] > 1]
    # Tiles that follow one another are neighbours on both sides: first the loop with the fewest.
    # Last are those of which a tile has one step, and which step further than all others, unless
    # what the next step reads lies in the same lines of a cache.
    furthest = max((d.out for d, n in zip(tile.dims, tile.box, strict=True) if n > 1), default=0)
    lines_apart = [not 0 < abs(d.source) * tile.bits < EDGE for d in tile.dims]
    is_far = [d.out > furthest and apart for d, apart in zip(tile.dims, lines_apart, strict=True)]
    cut.sort(key=lambda d: (is_far[d], tile.counts[d], -d))
    for d in cut:
        if d != cut[-1]:
            lines.append(f"  next = {quotient('rest', 'counts', d, by_product=by_product)};")
        else:
            lines.append("  next = 0u;")
        number = f"(rest - next * {of_eight('counts', d)})"
        left = f"{of_eight('sizes', d)} - {tile.box[d]}u"
        begin = f"{number} * {tile.own[d]}u"
        if not (tile.is_open and d == tile.out_run[-1]):
            begin = f"min({begin}, {left})"
        lines.append(f"  first = {begin};")
        lines.append("  rest = next;")
        lines.append(f"  tile.output += first * {of_eight('out_strides', d)};")
        lines.append(f"  tile.source {_sign(tile, d)}= first * {_stride(tile, d)};")
        if d == tile.out_run[-1]:
            ends = f"tile.reach = {tile.length}u; tile.end = {tile.sector}u;"
            lines.append(f"  if (first < {left}) {{ {ends} }}")
            lines.append(f"  if (first > 0u) {{ tile.begin = {tile.sector}u; }}")
    for d, dim in enumerate(tile.dims):
        if dim.source < 0:
            lines.append(f"  tile.source -= {tile.block[d] - 1}u * {_stride(tile, d)};")
    return [*lines, "  return tile;", "}"]


def _sign(tile: Tile, d: int) -> str:
    return "-" if tile.dims[d].source < 0 else "+"


def _stride(tile: Tile, d: int) -> str:
    """How far a step of a loop goes in the source; along its runs the text has it."""
    if d in tile.run:
        return f"{abs(tile.dims[d].source)}u"
    return of_eight("source_strides", d)


def _digits(
    number: str, loops: Sequence[int], sizes: Sequence[int] | Mapping[int, int], name: str
) -> list[str]:
    """Statements that take a number apart: steps of the loops, the first counting fastest."""
    lines, rest = [], number
    for i, d in enumerate(loops):
        if i == len(loops) - 1:
            lines.append(f"  let {name}{d} = {rest};")
        else:
            lines.append(f"  let {name}{d} = {rest} % {sizes[d]}u;")
            lines.append(f"  let {name}_from{d} = {rest} / {sizes[d]}u;")
            rest = f"{name}_from{d}"
    return lines


def _sum(terms: Sequence[str]) -> str:
    return " + ".join(terms) or "0u"


def _taken(tile: Tile, source_base: int, wide: bool) -> list[str]:
    """How a tile is read, block by block, and held in the order of the output.

    What is beyond the last block is the last again, so that no load is in a branch.
    """
    across = [d for d in range(len(tile.dims)) if tile.block[d] > 1 and d not in tile.run]
    steps = {d: pitch for d, (_, pitch) in tile.pitches.items()}
    steps |= {d: tile.block[d] * place // tile.per_word for d, place in tile.places.items()}
    source = {d: f"{tile.block[d]}u * {_stride(tile, d)}" for d in tile.order}
    cells = _cells(tile, across)
    turns = list(_turns(tile))
    n = len(turns)
    moved = [sum(turn[d] * steps[d] for d in tile.order) for turn in turns]
    shared = [d for d in tile.order if tile.lanes[d] > 1]
    apart = [f"{_sign(tile, d)} k{d} * {source[d]}" for d in shared]
    held = _sum([f"k{d} * {steps[d]}u" for d in shared])
    lanes = prod(tile.lanes.values())
    ends = range(0 if tile.in_units else -(-tile.runs // tile.wg_size))
    behind = [line for t in ends for line in _ahead(tile, t)]
    lines = [
        "fn take_in(tile: Tile, lane: u32) {",
        *(behind if tile.is_whole else ()),
        f"  let number = {'lane' if lanes % tile.wg_size == 0 else f'min(lane, {lanes - 1}u)'};",
        *_digits("number", shared, tile.lanes, "k"),
        f"  let from_lane = {' '.join(['tile.source', *apart])};",
        f"  let to_lane = {held};",
    ]
    to = []
    for i, turn in enumerate(turns):
        start, cell = ["from_lane"], ["to_lane"]
        for d in tile.order:
            if turn[d]:
                start.append(f"{_sign(tile, d)} {turn[d]}u * {source[d]}")
            room = tile.blocks[d] - 1 - turn[d]
            if room < tile.lanes[d] - 1:  # the last block again, so that no load is in a branch
                over = f"(max(k{d}, {room}u) - {room}u)"
                start.append(f"{'+' if _sign(tile, d) == '-' else '-'} {over} * {source[d]}")
                cell.append(f"- {over} * {steps[d]}u")
        lines.append(f"  let b{i} = {' '.join(start)};")
        to.append(" ".join(cell))
    is_aligned, per_word, bits = tile.starts_words(source_base), tile.per_word, tile.bits
    reached = [sum(at) for at in product(*(_offsets(tile, d) for d in tile.run))]
    words = sorted({at // per_word for at in reached})
    raw = words
    if not is_aligned and len(reached) > 1:
        raw = sorted({word + more for word in words for more in (0, 1)})
    # A block that reaches beyond the box may begin before the source, where addresses wrap.
    wraps = any(tile.dims[d].source < 0 for d in tile.run)
    shifted = []
    for i, rows in enumerate(product(*(_offsets(tile, d, step=1) for d in across))):
        terms = [f"{s}u * {_stride(tile, d)}" for s, d in zip(rows, across, strict=True) if s]
        lines.append(f"  #repeat {n}: let e$_{i} = {_sum(['b$', *terms])};")
        if tile.at_once > 1:
            lines.append(f"  #repeat {n}: let p$_{i} = load_input(e$_{i} / {tile.at_once}u);")
            lines += [f"  #repeat {n}: let l$_{i}_{word} = p$_{i}[{word}];" for word in raw]
        for word in [] if tile.at_once > 1 else raw:
            at = f"e$_{i} / {per_word}u + {word}u"
            at = f"({at}) & {0xFFFFFFFF // per_word}u" if wraps and per_word > 1 else at
            lines.append(f"  #repeat {n}: let l$_{i}_{word} = load_input({at});")
        shift = f"(e$_{i} % {per_word}u * {bits}u)"
        for word in words:
            low, high = f"l$_{i}_{word}", f"l$_{i}_{word + 1}"
            value = funnel(low, high, shift, wide=wide) if len(reached) > 1 else f"{low} >> {shift}"
            shifted.append(f"  #repeat {n}: let v$_{i}_{word} = {low if is_aligned else value};")
    lines += shifted
    for i, word in enumerate(moved):
        for ahead, value in cells.items():
            # A word that lies whole units behind another is in the same plane.
            units, rest = divmod(word + ahead, tile.group)
            at = f"({to[i]} + {rest}u)"
            at = f"held[{at} % {tile.group}u][{at} / {tile.group}u + {units}u]"
            lines.append(f"  {at} = {value.replace('$', str(i))};")
    lines += ["  workgroupBarrier();", *(() if tile.is_whole else behind)]
    lines += [line for t in ends for line in _followed(tile, t)]
    return [*lines, *(["  workgroupBarrier();"] if ends else []), "}"]


def _turns(tile: Tile) -> Iterator[dict[int, int]]:
    """Blocks by which every turn is ahead of the first, along each loop."""
    ahead = [range(0, tile.blocks[d], tile.lanes[d]) for d in tile.order]
    for turn in product(*ahead):
        yield dict(zip(tile.order, turn, strict=True))


def _offsets(tile: Tile, d: int, step: int = 0) -> list[int]:
    """Where the steps of a block along a loop lie in the source, the lowest being 0."""
    steps = range(tile.block[d])
    step = step or abs(tile.dims[d].source)
    return [step * (tile.block[d] - 1 - k if tile.dims[d].source < 0 else k) for k in steps]


def _cells(tile: Tile, across: Sequence[int]) -> dict[int, str]:
    """The words of a block that are held: how far behind its first, and made of what."""
    bits, per_word = tile.bits, tile.per_word
    rows = {at: i for i, at in enumerate(product(*(range(tile.block[d]) for d in across)))}
    pieces = []
    for at in product(*map(range, tile.block)):
        row = rows[tuple(at[d] for d in across)]
        word, source = divmod(sum(_offsets(tile, d)[at[d]] for d in tile.run), per_word)
        cell, to = divmod(sum(at[d] * tile.places[d] for d in tile.out_run), per_word)
        cell += sum(at[d] * tile.pitches[d][0] for d in tile.rest)
        pieces.append((32 * cell + to * bits, f"v$_{row}_{word}", source * bits))
    return put_together(bits, pieces)


def _run_at(tile: Tile) -> list[str]:
    """Statements that find run `run`: its address `base`, and `at`, where it is held."""
    held = []
    for d in tile.rest:
        step, far = (pitch // tile.group for pitch in tile.pitches[d])
        whole = far == step * tile.block[d]
        apart = f"(c{d} / {tile.block[d]}u * {far}u + c{d} % {tile.block[d]}u * {step}u)"
        held.append(f"c{d} * {step}u" if whole else apart)
    steps = [f"c{d} * {of_eight('out_strides', d)}" for d in tile.rest]
    return [
        *_digits("run", tile.rest, tile.box, "c"),
        f"  let base = {_sum(['tile.output', *steps])};",
        f"  let at = {_sum(held)};",
    ]


def _next_elements(tile: Tile, t: int) -> list[tuple[str, str]]:
    """Names and addresses of the elements that follow a run: `next{t}` is the first."""
    found = []
    for i in range(min(tile.unit - 1, tile.whole)):
        steps = {d: i // place % tile.dims[d].size for d, place in tile.places.items()}
        at = [f"{_sign(tile, d)} {step}u * {_stride(tile, d)}" for d, step in steps.items() if step]
        found.append((f"next{t}_{i}", f"({' '.join([f'next{t}', *at])})"))
    return found


def _ahead(tile: Tile, t: int) -> list[str]:
    """Loads of what follows runs that end within units, each by an invocation.

    Where every tile has such runs, they are under way together with those of the tile.
    """
    elements, run = _next_elements(tile, t), f"lane + {t}u * WG_SIZE"
    kind = f"vec{tile.at_once}<u32>" if tile.at_once > 1 else "u32"
    per = max(tile.at_once, tile.per_word)
    lines = [
        f"  var next{t} = params.source_base;",
        f"  var is_next{t} = tile.reach > {tile.length}u && {run} < {tile.runs}u;",
        *(f"  var {name} = {kind}();" for name, _ in elements),
        f"  if (is_next{t}) {{",
        f"  let run = {run};",
        *_run_at(tile),
        f"  var rest = base + {tile.length}u;",
    ]
    outer = {*range(len(tile.dims))} - {*tile.out_run}
    for d in sorted(outer, key=lambda d: -tile.dims[d].out):
        lines += [
            f"  let n{d} = rest / {of_eight('out_strides', d)};",
            f"  rest -= n{d} * {of_eight('out_strides', d)};",
            f"  next{t} {_sign(tile, d)}= n{d} * {_stride(tile, d)};",
            f"  is_next{t} = is_next{t} && n{d} < {of_eight('sizes', d)};",
        ]
    lines.append(f"  is_next{t} = is_next{t} && rest == 0u;")
    return [*lines, *(f"  {name} = load_input({at} / {per}u);" for name, at in elements), "  }"]


def _followed(tile: Tile, t: int) -> list[str]:
    """How what was loaded ahead is held behind its runs."""
    per_word, bits, length, run = tile.per_word, tile.bits, tile.length, f"lane + {t}u * WG_SIZE"
    words = ["0u"] * 4
    for i, (name, at) in enumerate(_next_elements(tile, t)):
        value = f"{name}[{at} % {tile.at_once}u]" if tile.at_once > 1 else name
        value = f"(({value} >> ({at} % {per_word}u * {bits}u)) & {(1 << bits) - 1}u)"
        words[i // per_word] += f" | ({value} << {i % per_word * bits}u)"
    cell, up = length // per_word, length % per_word * bits
    made = [f"after[{k}]" for k in range(4)]
    if up:  # it begins within the last word of the run
        pairs = pairwise([*made, "0u"])
        made = [f"(held[0][at + {cell}u] & {(1 << up) - 1}u) | (after[0] << {up}u)"]
        made += [f"({low} >> {32 - up}u) | ({high} << {up}u)" for low, high in pairs]
    return [
        f"  if (tile.reach > {length}u && {run} < {tile.runs}u) {{",
        f"  let run = {run};",
        *_run_at(tile),
        f"  let after = select(vec4<u32>(), vec4<u32>({', '.join(words)}), is_next{t});",
        *(f"  held[0][at + {cell + k}u] = {value};" for k, value in enumerate(made)),
        "  }",
    ]


def _put(tile: Tile, wide: bool) -> list[str]:
    """How a tile is written, unit by unit."""
    unit, bits, per_word, wg = tile.unit, tile.bits, tile.per_word, tile.wg_size
    columns = -(-tile.length // unit)
    units = tile.runs * columns
    number = "lane + $u * WG_SIZE" if units % wg == 0 else f"min(lane + $u * WG_SIZE, {units - 1}u)"
    is_cut = tile.sector > unit
    skipped = "0u" if tile.in_units else f"(0u - base) % {unit}u"
    skipped = "(0u - base) % tile.begin" if is_cut else skipped
    shifted = not tile.in_units and bits < 32
    words = [
        funnel(f"w{k}", f"w{k + 1}", "shift", wide=wide) if shifted else f"w{k}" for k in range(4)
    ]
    holds = [] if tile.in_units else [f"first + {unit}u <= tile.reach"]
    if is_cut:
        holds = ["((base + first) | (tile.end - 1u)) - base < tile.reach"]
    holds += ["unit < params.end"] if tile.reaches_beyond else []
    last = "if (unit + 1u == params.end) { bits &= first_elements(params.tail); }"
    return [
        "fn put_unit(number: u32, tile: Tile) {",
        f"  let run = {f'number / {columns}u' if tile.runs > 1 else '0u'};",
        *_run_at(tile),
        f"  let first = {skipped} + (number - run * {columns}u) * {unit}u;",  # before the unit
        f"  let cell = at + first / {per_word * tile.group}u;",
        *(
            f"  let w{k} = {f'held[{k}][cell]' if tile.in_units else f'held[0][cell + {k}u]'};"
            for k in range(4 + shifted)
        ),
        f"  let shift = first % {per_word}u * {bits}u;",
        f"  let unit = (base + first) / {unit}u;",
        f"  var bits = vec4<u32>({', '.join(words)});",
        *([f"  {last}"] if tile.reaches_beyond else []),
        f"  if ({' && '.join(holds) or 'true'}) {{ store_output(unit, bits); }}",
        "}",
        "fn put_out(tile: Tile, lane: u32) {",
        f"  #repeat {-(-units // wg)}: put_unit({number}, tile);",
        "}",
    ]
