"""Plans of operators that move elements without changing them: slices, gathers, and joins.

A move that makes all of an output may write what lies between its elements too. One that makes
only a part of it writes nothing but its own elements, since others are not its business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Copy, Dispatch, Plan, Value, eight
from dmlgpu.plan.loops import Dim, closed, count, extent, fold, is_nested, order_of, resized, widen
from dmlgpu.plan.move.packed import INDICES, READ_AGAIN, Gather, Repeats
from dmlgpu.plan.move.packed import dispatch as packed
from dmlgpu.plan.move.tile import tile_of
from dmlgpu.plan.move.tile_code import dispatch as tiled
from dmlgpu.plan.parts import Part, Walk, in_turn, joined, split
from dmlgpu.plan.rows import DIVISION, divisors
from dmlgpu.plan.traffic import all_read, bytes_read, bytes_written, room_of
from dmlgpu.plan.values import UNIT_BITS

WG_SIZE = 256
MANY_WORDS = 1 << 20  # from which on a GPU's invocation makes several, if each is looked up
RUN = 16  # neighbouring units that one invocation copies on a CPU adapter, if there are many
COPY_BYTES = 8192  # shortest run for which a buffer copy is faster than a shader on a CPU adapter
COPY_RUNS = 4096  # most runs of one call that are recorded as buffer copies
PLACED = "units", "words", "dense", "rows"  # kernels that divide to find an element's place
CPU_WG_SIZE = 64  # of the kernels that only CPU adapters run
CPU_TEAM = 8  # most invocations of these that work side by side
CPU_SHARES = 2048  # invocations among which these divide their work
LONG_ROW = 16  # units, from which on a row is worth cutting into pieces
AT_ONCE = 3  # coordinates of a tuple that CPU adapters take written out; more compile for minutes
# As plans call them until they are renamed.
SOURCE, OUTPUT = "input_tensor", "output_tensor"
PIECE = 512  # bits of a run, up to which it is less than what memory is read by
NARROW_PIECE = 320  # the same of elements that are less than a word
LATE_PIECE = 1024  # where caches have let go of what lies beside it; not of bytes in odd rows
SHORT_RUN = 128  # bits of a run, up to which its elements are moved with those of others
COORDINATE = (
    "const INDEX_WORDS = {}u;\n"
    "fn coordinate(low: u32, high: u32, size: u32) -> u32 {{ return {}({}, size); }}"
)
LAID = "laid"  # scratch memory for what is read again and again
LAID_ROW = 1024  # bits that must be neighbours then: there are none where less is repeated
LAID_AGAIN = 32  # times that elements are read, from which on they are laid out before
SMALLER = 16  # times that repeated rows of narrow elements are smaller than what is made of them
WORTH_LAYING = 1 << 25  # bytes of an output, from which on that saves more than the 3 us it takes
SPARSE_FACTOR = 4  # an output whose extent is more than this many times its elements is sparse


@dataclass(frozen=True, slots=True)
class Move:
    """Elements of one tensor copied to another without a change of their bits.

    Every output element is reached by the loops, each of which steps through the output and the
    source at once; with `gather`, index tuples add to where the source is read.
    """

    source: TensorDesc
    output: TensorDesc
    loops: tuple[Dim, ...]
    base: int = 0  # element of the source where the loops start
    gather: Gather | None = None
    source_field: str = "input_tensor"
    output_field: str = "output_tensor"
    out_base: int | None = None  # element of the output where a part of it starts; None: all of it

    @classmethod
    def between(
        cls,
        source: TensorDesc,
        output: TensorDesc,
        source_field: str = "input_tensor",
        output_field: str = "output_tensor",
    ) -> Move:
        """Every element where it belongs in the output's layout."""
        steps = zip(output.sizes, output.effective_strides, source.effective_strides, strict=True)
        loops = tuple(Dim(*step) for step in steps)
        return cls(source, output, loops, source_field=source_field, output_field=output_field)

    def plan(self, adapter: Adapter) -> Plan:
        """The dispatches, or where an adapter has nothing better to do, plain copies."""
        if self.out_base is None:
            layout = self.layout(adapter)
            if layout.is_worth_laying:
                return self._laid(adapter)
            if layout.is_worth_repeating:
                return self._repeated(adapter)
        return self._directly(adapter)

    def _directly(self, adapter: Adapter) -> Plan:
        """The same, from the source as it is."""
        if self.out_base is not None:
            assert self.gather is None
            bits, largest = self.source.data_type.bits, self._largest
            made = _plan_part(bits, self.loops, self.base, self.out_base, adapter, largest)
        else:
            made = _plan(self.layout(adapter), self._largest)
        fields = {SOURCE: self.source_field, OUTPUT: self.output_field}
        if self.gather:
            fields[INDICES] = self.gather.field
        return _renamed(made, fields)

    def _laid(self, adapter: Adapter) -> Plan:
        """What loops repeat is laid out side by side before, in the order of the output."""
        steps, size = dict[int, int](), 1
        for d in order_of([loop.out for loop in self.loops]):
            if self.loops[d].source:
                steps[d] = size
                size *= self.loops[d].size
        laid = TensorDesc(self.source.data_type, (size,))
        once = tuple(replace(self.loops[d], out=step) for d, step in steps.items())
        again = tuple(replace(loop, source=steps.get(d, 0)) for d, loop in enumerate(self.loops))
        first = replace(self, output=laid, loops=once, output_field=LAID)
        second = replace(self, source=laid, loops=again, base=0, source_field=LAID)
        return _after_laying(laid, first._directly(adapter), second._directly(adapter))

    def _repeated(self, adapter: Adapter) -> Plan:
        """Narrow rows that a loop repeats are laid out before, each with what a unit may go on to.

        Units are then shifted out of neighbours wherever they begin, and go on in the same row.
        """
        bits, dims = self.source.data_type.bits, fold(list(self.loops))
        d = _innermost_stay(dims)
        row = count(dims[d + 1 :])
        copies = _copies_of_row(bits, row)
        laid_dims = [*dims[d + 1 :], Dim(copies, row, 0)]
        size, steps = copies * row, [0] * d
        for k in reversed(range(d)):
            if dims[k].source:
                laid_dims.append(replace(dims[k], out=size))
                steps[k], size = size, size * dims[k].size
        laid = TensorDesc(self.source.data_type, (size,))
        first = replace(self, output=laid, loops=tuple(laid_dims), output_field=LAID)
        again = (
            *(replace(dim, source=step) for dim, step in zip(dims[:d], steps, strict=True)),
            Dim(dims[d].size * row, 1, 1),
        )
        bindings = {"input": LAID, "output": self.output_field}
        second = Plan((packed(bits, again, 0, bindings, adapter, period=row),))
        return _after_laying(laid, first._directly(adapter), second)

    @property
    def _largest(self) -> int:
        """Bytes of the largest tensor."""
        tensors = (self.source, self.output, *([self.gather.indices] if self.gather else []))
        return max(tensor.total_tensor_size_in_bytes for tensor in tensors)

    def layout(self, adapter: Adapter) -> Layout:
        """The loops folded, in the widest elements that move as one."""
        gather, bits = self.gather, self.source.data_type.bits
        strides = gather.strides if gather else ()
        folded = fold(list(self.loops))
        dense = is_nested(folded) and extent(folded) <= SPARSE_FACTOR * count(folded) + 64
        most = 128 if dense else 32
        bits, dims, grouped = widen(bits, folded, self.base, *strides, most=most)
        if gather:
            gather = replace(gather, strides=tuple(s // grouped for s in strides))
        # Parts of one buffer need windows too: what lies between them is bound with them.
        in_windows = self._largest > adapter.max_binding
        return Layout(bits, dims, self.base // grouped, gather, adapter, dense, in_windows)

    def traffic(self) -> dict[str, int]:
        """The sectors that hold what is picked, the indices, and the output."""
        written = {self.output_field: bytes_written(self.output)}
        if self.out_base is not None:
            written = {self.output_field: count(self.loops) * self.output.data_type.bits // 8}
        if self.gather is None:
            steps = [(d.size, d.source) for d in self.loops if d.size > 1]
            lowest = self.base + sum((d.size - 1) * min(0, d.source) for d in self.loops)
            return {self.source_field: bytes_read(self.source, steps, lowest)} | written
        tuples = len(self.loops) - self.gather.kept
        piece = [(d.size, d.source) for d in self.loops[tuples:] if d.size > 1]
        moved = prod(d.size for d in self.loops[:tuples]) * bytes_read(self.source, piece)
        return {
            self.source_field: min(moved, self.source.total_tensor_size_in_bytes),
            self.gather.field: all_read(self.gather.indices),
        } | written


def _after_laying(laid: TensorDesc, *plans: Plan) -> Plan:
    """Plans in turn, which share what is laid out in scratch memory."""
    return replace(in_turn(list(plans)), scratch={LAID: room_of(laid)})


def _plan(layout: Layout, largest: int) -> Plan:
    """Copies what a layout says; the largest tensor has `largest` bytes."""
    bits, dims, base, gather = layout.bits, layout.dims, layout.base, layout.gather
    adapter = layout.adapter
    parts = None
    if layout.in_windows and not (layout.stores_repeats and largest <= 2 * adapter.max_binding):
        parts = _parts(bits, dims, base, gather, adapter.max_binding)
    if parts:
        plans = []
        for part in parts:
            moved = sum(n * d.source for n, d in zip(part.first, dims, strict=False))
            start = part.starts.get("input_tensor", base + moved)
            cut = resized(dims, part.sizes[: len(dims)])
            plans.append(_dispatch(replace(layout, dims=cut, base=start)))
        made = joined(plans, [part.spans for part in parts])
    else:
        made = _dispatch(layout)
    copies = _copies(bits, dims, base) if adapter.is_cpu and not gather else ()
    return replace(made, copies=copies)


def _renamed(plan: Plan, fields: Mapping[str, str]) -> Plan:
    """A plan with its tensors under the names that the description has for them."""
    if all(old == new for old, new in fields.items()):
        return plan

    def name(field: str) -> str:
        return fields.get(field, field)

    dispatches = tuple(
        replace(
            dispatch,
            bindings={n: name(field) for n, field in dispatch.bindings.items()},
            spans={name(field): span for field, span in dispatch.spans.items()},
        )
        for dispatch in plan.dispatches
    )
    copies = tuple(replace(c, source=name(c.source), target=name(c.target)) for c in plan.copies)
    return replace(plan, dispatches=dispatches, copies=copies)


def _plan_part(
    bits: int, loops: Sequence[Dim], base: int, out_base: int, adapter: Adapter, largest: int
) -> Plan:
    """Copies into a part of an output from element `out_base` on, and writes nothing else."""
    bits, dims, grouped = widen(bits, fold(list(loops)), base, out_base)
    base, out_base = base // grouped, out_base // grouped
    parts, by_rows = None, None
    if largest <= adapter.max_binding:
        by_rows = _part_by_rows(bits, dims, base, out_base, adapter)
    else:
        sizes = [d.size for d in dims]
        walks = [
            Walk(OUTPUT, bits, out_base, tuple(d.out for d in dims), based=True),
            Walk(SOURCE, bits, base, tuple(d.source for d in dims), based=True),
        ]
        parts = split(sizes, walks, adapter.max_binding, len(dims))
    if parts:
        plans = [
            _dispatch_part(bits, resized(dims, p.sizes), p.starts[SOURCE], p.starts[OUTPUT])
            for p in parts
        ]
        made = joined(plans, [part.spans for part in parts])
    else:
        made = by_rows or _dispatch_part(bits, dims, base, out_base)
    copies = _copies(bits, dims, base, out_base) if adapter.is_cpu else ()
    return replace(made, copies=copies)


def _part_by_rows(
    bits: int, dims: tuple[Dim, ...], base: int, out_base: int, adapter: Adapter
) -> Plan | None:
    """Long rows on a CPU adapter: their whole units, then the units in which they begin and end."""
    if bits == 64 and dims[-1].source == 1:
        words = tuple(replace(d.scaled(2, 1), size=d.size) for d in dims[:-1])
        dims = (*words, replace(dims[-1], size=2 * dims[-1].size))
        bits, base, out_base = 32, 2 * base, 2 * out_base
    layout = Layout(
        bits, dims, base, None, adapter, is_dense=False, in_windows=False, out_base=out_base
    )
    if bits == 64 or not (adapter.is_cpu and layout.has_long_rows):
        return None
    whole = _dispatch(layout, "rows")
    if not _ends_within_units(layout):
        return whole
    edges = _dispatch_part(bits, dims, base, out_base, edges=True)
    return Plan((*whole.dispatches, *edges.dispatches))


def _dispatch_part(
    bits: int, dims: tuple[Dim, ...], base: int, out_base: int, *, edges: bool = False
) -> Plan:
    """One invocation for each unit or element; for each word where a word holds several of a run.

    Words that two runs share are put together with atomic operations. Of `edges`, only the units in
    which runs begin and end.
    """
    kind = "part_units" if bits == 128 else "part_elements"
    made = count(dims)
    last = dims[-1]
    if edges or (bits < 32 and last.out == 1 and last.size > 1):
        kind = "part_words"
        per = 32 // bits
        made = count(dims[:-1]) * (8 if edges else (last.size + per - 2) // per + 1)
    params: dict[str, Value] = {
        "count": made,
        "source_base": base,
        "out_base": out_base,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims)}
    if bits < 128:
        constants["BITS"] = bits
    if kind == "part_words":
        constants["EDGES"] = int(edges)
    bindings = {"input": SOURCE, "output": OUTPUT}
    groups = -(-made // WG_SIZE)
    return Plan((Dispatch("move/part", groups, params, bindings, {"move": kind}, constants),))


def _parts(
    bits: int, dims: tuple[Dim, ...], base: int, gather: Gather | None, most: int
) -> tuple[Part, ...] | None:
    """Parts in which each tensor fits a binding, but for the input of a gather."""
    sizes = [d.size for d in dims]
    out = tuple(d.out for d in dims)
    if not gather:
        source = Walk("input_tensor", bits, base, tuple(d.source for d in dims), based=True)
        return split(sizes, [Walk("output_tensor", bits, 0, out, False), source], most, len(dims))
    sizes.append(len(gather.sizes))  # a loop over the coordinates of a tuple, never cut
    steps = (*(d.tuple_ for d in dims), gather.index_step)
    walks = [
        Walk("output_tensor", bits, 0, (*out, 0), based=False),
        Walk("indices_tensor", gather.bits, 0, steps, based=False),
    ]
    return split(sizes, walks, most, len(dims))


@dataclass(frozen=True, slots=True)
class Layout:
    """What decides which kernel a move gets: its loops, in elements of `bits` bits."""

    bits: int
    dims: tuple[Dim, ...]
    base: int  # element of the source where the loops start
    gather: Gather | None
    adapter: Adapter
    is_dense: bool  # an output address names its coordinates, and gaps between elements are few
    in_windows: bool  # a tensor is bound in several pieces, among which every load chooses
    out_base: int | None = None  # element of the output where a part of it starts; None: all of it

    @property
    def on_cpu(self) -> bool:
        """Whether the adapter is software."""
        return self.adapter.is_cpu

    @property
    def is_small(self) -> bool:
        """Whether no kernel is made for its shape."""
        return count(self.dims) * self.bits < 8 * self.adapter.shaped_from

    @property
    def by_tuples(self) -> bool:
        """Whether every element of a run has an index tuple of its own."""
        return self.dims[-1].tuple_ != 0

    @property
    def is_short(self) -> bool:
        """Whether runs are so short that most of what is loaded at once belongs to others."""
        return self.dims[-1].size * self.bits <= SHORT_RUN

    @property
    def picks_afar(self) -> bool:
        """Whether index tuples pick from more than caches hold."""
        if self.gather is None:
            return False
        picked = zip(self.gather.sizes, self.gather.strides, strict=True)
        return max(n * abs(step) for n, step in picked) * self.bits // 8 >= READ_AGAIN

    @property
    def is_stepped(self) -> bool:
        """Whether neighbours of a run are so near in the source that units of it are rearranged."""
        return self.dims[-1].source in (1, -1, 2)

    @property
    def has_long_rows(self) -> bool:
        """Whether units are rearranged in runs that are worth cutting into pieces."""
        last = self.dims[-1]
        return self.is_stepped and last.out == 1 and last.size * self.bits >= 128 * LONG_ROW

    @property
    def is_permuted(self) -> bool:
        """Whether another loop than the output's innermost steps least through the source.

        A short piece that is a run on both sides counts as an element.
        """
        last = self.dims[-1]
        is_piece = last.source == 1 and last.size * self.bits <= self._piece
        loops = self.dims[:-1] if is_piece else self.dims
        steps = [abs(d.source) for d in loops if d.size > 1]
        return bool(steps) and steps[-1] > min((step for step in steps if step), default=0)

    @property
    def _piece(self) -> int:
        """Bits of a run, up to which it is less than what memory is read by.

        What lies beside it in the source may be wanted soon, or when it must be read again.
        """
        length = self.dims[-1].size
        beside = [d for d in self.dims[:-1] if d.size > 1 and 0 < abs(d.source) < 2 * length]
        if self.bits > 8 and any(d.out * self.bits >= 8 * READ_AGAIN for d in beside):
            return LATE_PIECE
        return PIECE if self.bits >= 32 else NARROW_PIECE

    @property
    def stays(self) -> bool:
        """Whether a loop stays where it is in the source."""
        return any(not d.source for d in self.dims)

    @property
    def stores_repeats(self) -> bool:
        """Whether what is made once is stored several times: each part would make it again."""
        return not self.dims[0].source and choose(self) == "packed"

    @property
    def is_worth_laying(self) -> bool:
        """Whether a few words that are apart in the source are read again and again.

        A load of neighbours that are apart reaches as many lines of a cache as there are, which
        takes longer than what is written. Narrow elements are shifted out of words instead, and
        what is stored often is read seldom.
        """
        if self.on_cpu or self.gather or self.in_windows or self.bits not in (32, 64):
            return False
        made, last = count(self.dims), self.dims[-1]
        again = made // count(tuple(d for d in self.dims if d.source))
        if again < LAID_AGAIN or made * self.bits < 8 * WORTH_LAYING:
            return False
        row = prod(d.size for d in takewhile(lambda d: d.source, reversed(self.dims)))
        is_apart = abs(last.source) > 1 or self.is_short
        if not is_apart or row * self.bits < LAID_ROW or choose(self) != "packed":
            return False
        return self._stored_times <= 2

    @property
    def is_worth_repeating(self) -> bool:
        """Whether rows of narrow elements, which are short or apart, are read again and again.

        What a unit goes on to, or each of its elements, would be looked up for all that is written.
        Short rows of halves have few in a unit, and what is stored often is read seldom.
        """
        if self.on_cpu or self.gather or self.in_windows or self.bits >= 32:
            return False
        dims, d = self.dims, _innermost_stay(self.dims)
        inner, last = dims[d + 1 :], dims[-1]
        if d < 1 or not inner or not (dims[d].out == count(inner) == extent(inner)):
            return False
        is_apart, is_long = abs(last.source) > 1, last.size * self.bits >= UNIT_BITS * LONG_ROW
        bytes_gain, halves_gain = is_apart or not is_long, is_apart and is_long
        if not (bytes_gain if self.bits == 8 else halves_gain):
            return False
        row, made = count(inner), count(dims) * self.bits
        if dims[d].size * row * self.bits < UNIT_BITS or choose(self) != "packed":
            return False
        laid = count(tuple(dim for dim in dims if dim.source)) * _copies_of_row(self.bits, row)
        is_worth = made >= 8 * WORTH_LAYING and SMALLER * laid * self.bits <= made
        return is_worth and self._stored_times <= 2

    @property
    def _stored_times(self) -> int:
        """How often a unit is stored that is made once."""
        units = -(-extent(self.dims) * self.bits // UNIT_BITS)
        return Repeats.of(self.bits, closed(self.dims), units).times

    @property
    def starts_units(self) -> bool:
        """Whether runs start where units of the source do; or end there, backwards."""
        *outer, last = self.dims
        starts = [self.base + (last.source < 0), *(d.source for d in outer)]
        starts += self.gather.strides if self.gather else ()
        return not any(start * self.bits % 128 for start in starts)

    @property
    def tuples_fill_units(self) -> bool:
        """Whether tuples lie side by side in parts of 16 bytes, one unit needing 16 at least."""
        if not self.gather or len(self.dims) > 1:
            return False
        coordinates = len(self.gather.sizes)
        words = coordinates * self.gather.bits // 32
        together = coordinates == 1 or self.gather.index_step == 1
        packed = self.dims[-1].tuple_ == coordinates and together
        return packed and words in (1, 2, 4) and 128 // self.bits * words >= 4


# From top to bottom: the first kernel whose condition holds; then why it is there, with the row of
# the benchmarks that it is 15 % faster on than what would follow. Kernels for CPUs load often;
# where each load chooses a window, compiling them takes minutes.
Choice = tuple[Callable[[Layout], bool], str, str]
CHOICES: tuple[Choice, ...] = (
    (
        lambda m: not m.is_dense,
        "sparse",
        "any output, of which it writes only the elements",
    ),
    (
        lambda m: (
            not (m.on_cpu or m.gather or m.is_small)
            and (m.is_permuted or (m.is_short and m.bits < 128 and len(m.dims) > 1 and not m.stays))
        ),
        "tile",
        "transpose float32 bandwidth: whole sectors on both sides, where dense is 0.12 of a copy",
    ),
    (
        lambda m: not (m.on_cpu or m.bits == 128) and m.is_short and m.picks_afar,
        "words",
        "gather pixels of 3 bytes uint8 bandwidth: 0.53 ms, packed 0.72; a palette 0.57 and 0.30",
    ),
    (
        lambda m: not m.on_cpu,
        "packed",
        "slice window uint8 bandwidth: 0.13 ms, dense 0.99; one channel of 4 0.31 and 3.5",
    ),
    (
        lambda m: not m.in_windows and m.by_tuples and m.tuples_fill_units,
        "tuples",
        "gather scalars float16 bandwidth, lavapipe 25.0: 34 ms, dense 41; uint8 3.7 times as fast",
    ),
    (
        lambda m: not (m.in_windows or m.by_tuples) and m.has_long_rows,
        "rows",
        "slice window uint8 bandwidth, lavapipe 25.0: 8.9 ms, dense 15.2",
    ),
    (
        lambda m: not (m.in_windows or m.by_tuples) and m.bits == 128 and _two(m),
        "short",
        "gather rows of 16 float32 bandwidth, lavapipe 25.0: 12.4 ms, units 14.7",
    ),
    (
        lambda m: m.bits == 128,
        "units",
        "crop 32 of 64 channels float32 bandwidth, lavapipe 25.0: 5.2 ms, rows 6.6",
    ),
    (
        lambda m: (
            m.is_short
            and not (m.is_stepped or m.gather or m.in_windows)
            and (m.bits < 32 or not m.adapter.wide_integers)  # lavapipe has those
        ),
        "words",
        "NCHW to NHWC, 3 channels uint8 bandwidth, lavapipe 25.0: 139 ms, dense 182; SwiftShader "
        "246 and 1897, and float32 127 and 188; float32 on lavapipe 25.0 61 and 36",
    ),
    (lambda m: True, "dense", "any output that has its elements side by side, in whole units"),
)


def choose(layout: Layout) -> str:
    """The kernel for a layout, by the last part of its shader's name."""
    return next(kernel for holds, kernel, _ in CHOICES if holds(layout))


def _innermost_stay(dims: Sequence[Dim]) -> int:
    """The innermost loop that stays where it is in the source; -1: none."""
    return next((d for d in reversed(range(len(dims))) if not dims[d].source), -1)


def _copies_of_row(bits: int, row: int) -> int:
    """How often a row lies there so that a unit may begin with any element of the first."""
    return 1 + -(-(UNIT_BITS // bits - 1) // row)


def _two(layout: Layout) -> bool:
    return len(layout.dims) == 2


def _dispatch(layout: Layout, kind: str = "") -> Plan:
    """A kernel, or the one that is chosen for a layout, and how it divides the work."""
    bits, dims, gather = layout.bits, layout.dims, layout.gather
    kind = kind or choose(layout)
    bindings = {"input": SOURCE, "output": OUTPUT}
    if kind == "tile":
        tile = tile_of(bits, dims, layout.adapter.max_workgroup_storage)
        base, by_product = layout.base * max(1, bits // 32), layout.adapter.wide_integers
        return tiled(tile, base, bindings, by_product=by_product)
    if gather:
        bindings["indices"] = INDICES
    if kind == "packed":
        return Plan((packed(bits, dims, layout.base, bindings, layout.adapter, gather),))
    made = _WORK[kind](layout)
    params: dict[str, Value] = {
        "count": made.count,
        "source_base": layout.base,
        "run": made.run,
        "team": made.team,
        "sizes": eight([d.size for d in dims]),
        "out_strides": eight([d.out for d in dims]),
        "source_strides": eight([d.source for d in dims]),
    }
    if kind == "rows":
        params["out_base"] = layout.out_base or 0
    slots, code = {"move": kind}, list[str]()
    constants = dict(made.constants)
    # Row: NCHW to NHWC, 4 channels uint8 bandwidth, lavapipe 25.0.
    if layout.on_cpu and layout.adapter.wide_integers and kind in PLACED and len(dims) > 1:
        params |= divisors([d.out for d in dims])
        slots["divide"] = "divide_by_product"
        code += DIVISION
    if gather:
        params |= {"tuple_strides": eight([d.tuple_ for d in dims]), **gather.params}
        given = "low" if gather.bits == 32 else "vec2<u32>(low, high)"
        code.append(COORDINATE.format(gather.bits // 32, gather.function, given))
        slots["indices"] = "indices_units" if kind == "tuples" else "indices_words"
        many = layout.on_cpu and len(gather.sizes) > AT_ONCE
        slots["resolve"] = "resolve_loop" if many else "resolve_at_once"
        constants["TUPLE"] = len(gather.sizes)
    shader = "move/gather" if gather else "move/copy"
    workgroups = -(-made.invocations // constants["WG_SIZE"])
    return Plan(
        (Dispatch(shader, workgroups, params, bindings, slots, constants, code="\n".join(code)),)
    )


@dataclass(frozen=True, slots=True)
class Work:
    """How a kernel divides a copy."""

    count: int  # of what it counts in params
    invocations: int
    constants: Mapping[str, int]
    # Not constants, so that few pipelines serve all sizes.
    run: int = 1  # what a team does
    team: int = 1  # invocations that take turns


def _elements(layout: Layout) -> Work:
    """Element by element."""
    dims = layout.dims
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims), "BITS": layout.bits}
    return Work(count(dims), count(dims), constants)


def _words(layout: Layout) -> Work:
    """Word by word of the output, or elements of 64 bits."""
    dims, bits = layout.dims, layout.bits
    made = -(-extent(dims) // max(1, 32 // bits))
    words = (2 if bits < 32 else 4) if made >= MANY_WORDS and not layout.on_cpu else 1
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(dims), "BITS": bits, "WORDS": words}
    return Work(made, -(-made // words), constants)


def _units(layout: Layout) -> Work:
    """Units, several side by side for an invocation."""
    units = -(-extent(layout.dims) * layout.bits // 128)
    run = run_units(units)
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(layout.dims), "RUN": run}
    return Work(units, -(-units // run), constants)


def run_units(units: int) -> int:
    """Units per invocation on a CPU: few where that would leave lanes idle."""
    return RUN if units >= 64 * RUN * WG_SIZE else 1


def _dense(layout: Layout) -> Work:
    """Units, each put together from the elements of one run or of several."""
    made, last = _units(layout), layout.dims[-1]
    constants = {
        **made.constants,
        "BITS": layout.bits,
        "STEP": last.source if layout.is_stepped else 0,
        "TUPLE_PER_ELEMENT": int(last.tuple_ != 0),
        "WHOLE": int(_in_whole_units(layout.bits, layout.dims)),
    }
    return replace(made, constants=constants)


def _in_whole_units(bits: int, dims: tuple[Dim, ...]) -> bool:
    """Whether every 16 bytes of the output belong to one run of the innermost loop."""
    *outer, last = dims
    edges = [last.size, *(d.out for d in outer)]
    return extent(dims) == count(dims) and not any(n * bits % 128 for n in edges)


def _share(whole: int, least: int, most: int) -> int:
    """What one of CPU_SHARES invocations does, as a power of two."""
    return min(most, max(least, 1 << max(1, whole // CPU_SHARES).bit_length() - 1))


def _ends_within_units(layout: Layout) -> bool:
    """Whether rows of the output begin or end within units."""
    *outer, last = layout.dims
    edges = [layout.out_base or 0, last.size, *(d.out for d in outer)]
    return any(n * layout.bits % 128 for n in edges)


def _rows(layout: Layout) -> Work:
    """Pieces of rows, each for a team of invocations that take its units in turn."""
    bits, (*outer, last) = layout.bits, layout.dims
    unit = 128 // bits
    units = last.size // unit
    edges = _ends_within_units(layout)
    share = _share(units * count(tuple(outer)), 8, 256 if edges else 64)
    team = min(CPU_TEAM, 1 << max(1, units // share).bit_length() - 1)
    pieces = count(tuple(outer)) * -(-units // (share * team))
    constants = {
        "WG_SIZE": CPU_WG_SIZE,
        "RANK": len(layout.dims),
        "BITS": bits,
        "STEP": last.source,
        "EDGES": int(edges),
        "ALIGNED": int(not edges and layout.starts_units),
    }
    if layout.out_base is not None:
        constants["PART"] = 1
    return Work(pieces, pieces * team, constants, share * team, team)


def _short(layout: Layout) -> Work:
    """Whole rows of a few units."""
    rows, row = layout.dims
    chunk = next(n for n in (4, 2, 1) if row.size % n == 0)
    run = _share(rows.size, 1, 16)
    constants = {"WG_SIZE": CPU_WG_SIZE, "CHUNK": chunk}
    return Work(rows.size, -(-rows.size // run), constants, run, CPU_TEAM)


def _tuples(layout: Layout) -> Work:
    """Units of one row whose elements each have an index tuple of their own."""
    units = -(-count(layout.dims) * layout.bits // 128)
    run = _share(units, 1, 16)
    constants = {"WG_SIZE": CPU_WG_SIZE, "BITS": layout.bits}
    return Work(units, -(-units // run), constants, run, CPU_TEAM)


_WORK: Mapping[str, Callable[[Layout], Work]] = {
    "sparse": _elements,
    "words": _words,
    "units": _units,
    "dense": _dense,
    "rows": _rows,
    "short": _short,
    "tuples": _tuples,
}


def _copies(
    bits: int, dims: tuple[Dim, ...], source_base: int, out_base: int = 0
) -> tuple[Copy, ...]:
    """The runs of a copy in bytes, where they are long, few and whole words; else none."""
    *outer, last = dims
    size = last.size * bits // 8
    if (last.out, last.source) != (1, 1) or size < COPY_BYTES or bits < 32:
        return ()
    if count(tuple(outer)) > COPY_RUNS:
        return ()
    runs = [(source_base, out_base)]
    for d in outer:
        runs = [(s + c * d.source, o + c * d.out) for s, o in runs for c in range(d.size)]
    return tuple(Copy(SOURCE, s * bits // 8, OUTPUT, o * bits // 8, size) for s, o in runs)
