"""Gathers: moves in which index tuples say where elements come from.

Pieces that a tuple picks are moved like the runs of other moves. Elements that each have a tuple of
their own are element-wise work on a GPU: the coordinates of a tuple are operands, and the source is
looked up where they lead.
"""

from __future__ import annotations

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.elementwise.lookups import Line
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import Layout, Move
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter

# Rows of narrow elements that an invocation makes at once where all have the same tuples: reading
# these takes longer than looking up. Of longer rows the caches hold fewer.
REPEATS, REPEATED = 4, 2048  # bytes
# Bytes that a row is picked from, or narrow elements, from which on a workgroup holds them: caches
# have the shorter ones, and where each row has tuples of its own these take longer than looking up.
# Rows from which on there are enough workgroups, most invocations of one, and most bytes that it
# holds: what memory is left caches indices.
HELD, HELD_NARROW, MANY, HOLDING, MOST_HELD = 8192, 2500, 512, 1024, 24576


class Picked(Move):
    """A move with a `gather`."""

    __slots__ = ()

    def plan(self, adapter: Adapter) -> Plan:
        """Element-wise work where elements have tuples of their own, or a move like others."""
        layout = self.layout(adapter)
        if layout.on_cpu or not layout.by_tuples:
            return Move.plan(self, adapter)
        return self._elements(layout).plan(adapter)

    def _elements(self, layout: Layout) -> ElementWise:
        """The element that a place and the coordinates of its tuple lead to."""
        gather, dims = layout.gather, layout.dims
        assert gather is not None
        sizes = [d.size for d in dims]
        # A place only goes forwards: steps backwards are taken off.
        inputs = {"base": Operand.place(sizes, [max(0, d.source) for d in dims], layout.base)}
        terms = ["base"]
        if any(d.source < 0 for d in dims):
            inputs["back"] = Operand.place(sizes, [max(0, -d.source) for d in dims])
            terms.append("0u - back")
        tuples = _walked(gather.indices, dims, [d.tuple_ for d in dims])
        parameters = []
        for n, (size, stride) in enumerate(zip(gather.sizes, gather.strides, strict=True)):
            inputs[f"i{n}"] = Operand(gather.field, tuples, RAW[gather.bits], n * gather.index_step)
            parameters.append(Parameter(f"p_size{n}", DataType.UINT32, size))
            parameters.append(Parameter(f"p_step{n}", DataType.UINT32, stride))
            terms.append(f"{gather.function}(i{n}, p_size{n}) * p_step{n}")
        raw = RAW[layout.bits]
        made = Operand(self.output_field, _walked(self.output, dims, [d.out for d in dims]), raw)
        found = Expression(f"x_at({' + '.join(terms)})")
        lookups = {"x": Operand(self.source_field, self.source, raw)}
        repeats = 1
        line = _line(layout)
        if layout.bits < 32 and line:
            several = MOST_HELD // line.nbytes(layout.bits)
            repeats = max(1, min(REPEATS, several, line.count // MANY))
        elif layout.bits < 32 and dims[-1].size * layout.bits <= 8 * REPEATED:
            repeats = REPEATS
        return ElementWise(inputs, ((made, found),), tuple(parameters), lookups, repeats, line)


def _line(layout: Layout) -> Line | None:
    """What a workgroup holds of the source, where rows are picked from lines that fit."""
    gather, adapter = layout.gather, layout.adapter
    if gather is None or len(gather.sizes) > 1 or len(layout.dims) != 2 or layout.in_windows:
        return None
    outer, inner = layout.dims
    length = (gather.sizes[0] - 1) * gather.strides[0] + 1
    invocations = min(HOLDING, adapter.max_workgroup_size)
    line = Line("x", layout.base, outer.source, length, outer.size, invocations)
    is_narrow = layout.bits < 32
    is_long = length >= HELD_NARROW if is_narrow else length * layout.bits >= 8 * HELD
    fits = line.nbytes(layout.bits) <= min(MOST_HELD, adapter.max_workgroup_storage)
    are_many = outer.size >= MANY and inner.size >= length // 2
    is_picked = not (inner.source or outer.tuple_)  # by tuples that all lines have
    return line if is_long and fits and are_many and is_picked else None


def _walked(tensor: TensorDesc, dims: tuple[Dim, ...], steps: list[int]) -> TensorDesc:
    """A tensor as the loops step through it."""
    total = tensor.total_tensor_size_in_bytes
    sizes = [d.size for d in dims]
    return TensorDesc(tensor.data_type, sizes, steps, total_tensor_size_in_bytes=total)
