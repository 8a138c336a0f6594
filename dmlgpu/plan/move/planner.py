"""Plans of operators that move elements without changing them: slices, gathers, and joins.

A move that makes all of an output may write what lies between its elements too. One that makes
only a part of it writes nothing but its own elements, since others are not its business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Copy, Plan
from dmlgpu.plan.loops import Dim, count, extent, fold, is_nested, order_of, resized, widen
from dmlgpu.plan.move.kernels import OUTPUT, SOURCE, dispatch, ends_within_units, part_dispatch
from dmlgpu.plan.move.layout import Layout, copies_of_row, innermost_stay
from dmlgpu.plan.move.packed import INDICES, Gather
from dmlgpu.plan.move.packed import dispatch as packed
from dmlgpu.plan.move.windows import Window
from dmlgpu.plan.parts import Part, Walk, in_turn, joined, split
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.traffic import all_read, bytes_read, bytes_written, room_of
from dmlgpu.plan.values import RAW, Operand
from dmlgpu.plan.words import UNIT_BITS

COPY_BYTES = 8192  # shortest run for which a buffer copy is faster than a shader on a CPU adapter
COPY_RUNS = 4096  # most runs of one call that are recorded as buffer copies
LAID = "laid"  # scratch memory for what is read again and again
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
    source_field: str = SOURCE
    output_field: str = OUTPUT
    out_base: int | None = None  # element of the output where a part of it starts; None: all of it

    @classmethod
    def between(
        cls,
        source: TensorDesc,
        output: TensorDesc,
        source_field: str = SOURCE,
        output_field: str = OUTPUT,
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
            made = self._part(self.out_base, adapter)
        else:
            made = _plan(self.layout(adapter), self._largest)
        fields = {SOURCE: self.source_field, OUTPUT: self.output_field}
        if self.gather:
            fields[INDICES] = self.gather.field
        return _renamed(made, fields)

    def _part(self, out_base: int, adapter: Adapter) -> Plan:
        """Copies into a part of an output from element `out_base` on, and writes nothing else."""
        given = self.source.data_type.bits, fold(list(self.loops))
        bits, dims, grouped = widen(*given, self.base, out_base)
        base, out_base = self.base // grouped, out_base // grouped
        made, parts = None, None
        if self._largest > adapter.max_binding:
            sizes = [d.size for d in dims]
            walks = [
                Walk(OUTPUT, bits, out_base, tuple(d.out for d in dims), based=True),
                Walk(SOURCE, bits, base, tuple(d.source for d in dims), based=True),
            ]
            parts = split(sizes, walks, adapter.max_binding, len(dims))
        elif adapter.is_cpu:
            made = _part_by_rows(bits, dims, base, out_base, adapter)
        else:
            made = self._in_window(bits, dims, base, out_base, adapter)
        if parts:
            plans = [
                part_dispatch(bits, resized(dims, p.sizes), p.starts[SOURCE], p.starts[OUTPUT])
                for p in parts
            ]
            made = joined(plans, [part.spans for part in parts])
        made = made or part_dispatch(bits, dims, base, out_base)
        copies = _copies(bits, dims, base, out_base) if adapter.is_cpu else ()
        return replace(made, copies=copies)

    def _in_window(
        self, bits: int, dims: tuple[Dim, ...], base: int, out_base: int, adapter: Adapter
    ) -> Plan | None:
        """Elements of less than a unit on a GPU, moved by units of the output; or None."""
        loops = [Loop(d.size, (d.source, d.out)) for d in dims]
        window = Window.of(loops, out_base, bits) if bits < UNIT_BITS else None
        if window is None:
            return None
        source = Operand(SOURCE, self.source, RAW[bits], base)
        return Plan((window.copied(source, OUTPUT, wide=adapter.wide_integers),))

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
        d = innermost_stay(dims)
        row = count(dims[d + 1 :])
        copies = copies_of_row(bits, row)
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
    return in_turn(plans, {LAID: room_of(laid)})


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
            start = part.starts.get(SOURCE, base + moved)
            cut = resized(dims, part.sizes[: len(dims)])
            plans.append(dispatch(replace(layout, dims=cut, base=start)))
        made = joined(plans, [part.spans for part in parts])
    else:
        made = dispatch(layout)
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
    if bits == 64 or not layout.has_long_rows:
        return None
    whole = dispatch(layout, "rows")
    if not ends_within_units(layout):
        return whole
    edges = part_dispatch(bits, dims, base, out_base, edges=True)
    return Plan((*whole.dispatches, *edges.dispatches))


def _parts(
    bits: int, dims: tuple[Dim, ...], base: int, gather: Gather | None, most: int
) -> tuple[Part, ...] | None:
    """Parts in which each tensor fits a binding, but for the input of a gather."""
    sizes = [d.size for d in dims]
    out = tuple(d.out for d in dims)
    if not gather:
        source = Walk(SOURCE, bits, base, tuple(d.source for d in dims), based=True)
        return split(sizes, [Walk(OUTPUT, bits, 0, out, False), source], most, len(dims))
    sizes.append(len(gather.sizes))  # a loop over the coordinates of a tuple, never cut
    steps = (*(d.tuple_ for d in dims), gather.index_step)
    walks = [
        Walk(OUTPUT, bits, 0, (*out, 0), based=False),
        Walk(INDICES, gather.bits, 0, steps, based=False),
    ]
    return split(sizes, walks, most, len(dims))


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
