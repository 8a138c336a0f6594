"""Plans of element-wise work: every output element is an expression of the input elements there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.elementwise import across
from dmlgpu.plan.elementwise.code import Kernel
from dmlgpu.plan.elementwise.lookups import Line
from dmlgpu.plan.elementwise.shape import MANY, Shape, fold, shape_of, shares_of, tiled
from dmlgpu.plan.elementwise.spans import is_brief
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import SMALLER, Move
from dmlgpu.plan.move.windows import Window
from dmlgpu.plan.parts import Walk, in_turn, joined, split
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.traffic import all_read, bytes_written, room_of
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter, quick
from dmlgpu.plan.words import UNIT_BITS

# Groups where the work on one takes longer than reading it, by what such work on FLOAT32 calls.
# Elsewhere two groups take longer than one.
EACH_OF_LONG = {"math_atan2": 2, "math_pow": 2, "math_pow_positive": 4, "math_sinh": 2, "T_mod": 2}
MORE = 2  # bytes written for each that is read
# Elements of a group whose expression looks others up; more where all of them are as few lookups.
# It is long: written out for more elements, or for more than a word's on CPU adapters, it would
# take drivers long to compile.
LOOKUPS, MOST_LOOKUPS = 4, 16
FEW_OWN = 4  # elements of a unit that a CPU adapter reads and writes back, at least
# Elements of an operand from one to the next, from which on groups are no more than a word:
# invocations side by side then read what is near.
APART = 5


@dataclass(frozen=True, slots=True)
class ElementWise:
    """One or more outputs, each an expression of input elements at the same place.

    Tensors of `lookups` are read wherever an expression says: `x_at(i)` is the value of element
    `i` of the buffer of `x`.
    """

    inputs: Mapping[str, Operand]  # by the name that the expressions use
    outputs: tuple[tuple[Operand, Expression], ...]
    parameters: tuple[Parameter, ...] = ()
    lookups: Mapping[str, Operand] = field(default_factory=dict)
    repeats: int = 1  # steps of the outermost loop that a GPU's invocation makes at once, at most
    line: Line | None = None  # of a lookup, that workgroups hold; only where no tensor is cut

    def traffic(self) -> dict[str, int]:
        """Every element is moved once; one that is broadcast is read once."""
        inputs = (*self.inputs.values(), *self.lookups.values())
        read = {o.field: all_read(o.tensor) for o in inputs if o.field}
        return read | {o.field: bytes_written(o.tensor) for o, _ in self.outputs}

    def part(self, first: Sequence[int], sizes: Sequence[int]) -> ElementWise:
        """The same work for a box of the output alone, which begins with the element at `first`."""
        inputs = {name: o.box(first, sizes) for name, o in self.inputs.items()}
        made = ((replace(o.box(first, sizes), shares=True), e) for o, e in self.outputs)
        return replace(self, inputs=inputs, outputs=tuple(made))

    def plan(self, adapter: Adapter) -> Plan:
        """One dispatch, or as many as parts are needed to fit bindings.

        Tiles serve operands that lie across the output in one way. Those that do in yet another
        are brought into its order before.
        """
        loops = fold(self._loops())
        if put := self._put(adapter):
            return put
        if not adapter.is_cpu and not self.lookups:
            across_all = across.not_for_tiles(loops, list(self.inputs.values()))
            if moved := self._moved(across_all, adapter):
                return moved
        shape = shape_of(loops, self.operands, len(self.outputs), adapter, self._most(adapter))
        if self.line:
            shape = replace(shape, is_quick=shape.is_linear)
        if adapter.is_cpu:
            brief = all(is_brief(e, shape.group) for _, e in self.outputs)
            shape = replace(shape, on_cpu=True, is_spanned=brief)
        if shape.is_linear and (once := self._once(adapter)):
            return once
        if window := self._in_window(shape, adapter):
            return window
        cut = shape
        if not self.lookups and not adapter.is_cpu:
            shape = self._on_gpu(shape, adapter)
            is_plain = shape.writes and shape.is_linear and not shape.tile
            if is_plain and (doubled := self._doubled(loops, adapter)):
                return doubled
        if self._exceeds(adapter.max_binding):
            # Loops that are cut are not baked in, nor where their parts begin.
            if isinstance(shape.tile, across.Tile) and not shape.tile.inner:
                cut = replace(shape, tile=replace(shape.tile, aligned=()))
            if parts := self._parts(cut, adapter.max_binding):
                return parts
        starts = [operand.start for operand in self.operands]
        return Plan((self._kernel(self._repeated(shape)).dispatch(starts),))

    def _most(self, adapter: Adapter) -> int:
        """Elements that a group has at most, for an expression that may be long."""
        if not self.lookups:
            return UNIT_BITS
        if adapter.is_cpu:
            return 1
        texts = (text for _, e in self.outputs for text in (e.result, e.steps))
        count = sum(text.count(f"{name}_at(") for text in texts for name in self.lookups)
        return max(LOOKUPS, 1 << max(1, MOST_LOOKUPS // count).bit_length() - 1)

    def _on_gpu(self, shape: Shape, adapter: Adapter) -> Shape:
        """The same division where neighbours should reach neighbours, and groups wait together."""
        loops, moved = shape.loops, self.traffic()
        written = sum(moved[o.field] for o, _ in self.outputs)
        is_quick = self._is_quick()
        if written >= adapter.shaped_from:
            whole = len(self.outputs) == 1 and not is_quick
            shape = tiled(shape, self.operands, len(self.outputs), adapter, whole)
            if not shape.tile and any(abs(step) >= APART for step in loops[-1].steps):
                shape = shape_of(loops, self.operands, len(self.outputs), adapter, 1)
        writes = sum(moved.values()) - written <= written // MORE
        shape = replace(shape, writes=writes, shares=shares_of(shape), is_quick=is_quick)
        if all(o.data_type is DataType.FLOAT32 for o in self.operands):
            called = {name for _, e in self.outputs for name in e.calls}
            each = max((EACH_OF_LONG.get(name, 1) for name in called), default=1)
            shape = replace(shape, each_of_long=each)
        return shape

    def _exceeds(self, binding: int) -> bool:
        """Whether a tensor is larger than a binding, and each can be cut: it is read in one way."""
        named = [o for o in self.operands if o.field]
        fields = {o.field for o in named}
        return (
            self._is_larger(binding)
            and len({(o.field, o.bits, o.tensor) for o in named}) == len(fields)
            and fields.isdisjoint(o.field for o in self.lookups.values())
        )

    def _is_larger(self, binding: int) -> bool:
        """Whether a tensor is larger than a binding."""
        named = (o for o in self.operands if o.field)
        return max(o.tensor.total_tensor_size_in_bytes for o in named) > binding

    def _repeated(self, shape: Shape) -> Shape:
        """The same work, `repeats` steps of the outermost loop at once where it moves nothing read.

        What is read, and what follows from it, then serves all of them.
        """
        outer, *inner = shape.loops
        moved = [outer.steps[t] for t, o in enumerate(self.inputs.values()) if o.field]
        if self.repeats == 1 or not inner or any(moved):
            return shape
        beside = prod(loop.size for loop in inner)
        whole = shape.group // gcd(beside, shape.group) if shape.is_linear else 1
        steps = -(-outer.size // (self.repeats * whole)) * whole
        if steps * beside < MANY * shape.group:
            return shape
        return replace(shape, loops=(Loop(steps, outer.steps), *inner), steps=outer.size)

    @property
    def operands(self) -> list[Operand]:
        """Inputs, then outputs."""
        return [*self.inputs.values(), *(operand for operand, _ in self.outputs)]

    def _moved(self, found: Iterable[int], adapter: Adapter) -> Plan | None:
        """The work after operands were moved to where the output has them, or None."""
        inputs, moves, room = dict(self.inputs), [], {}
        names = list(self.inputs)
        for t in found:
            operand = self.inputs[names[t]]
            if operand.start:
                continue
            strides = operand.tensor.effective_strides
            sizes = [
                n if step else 1 for n, step in zip(operand.tensor.sizes, strides, strict=True)
            ]
            data_type, field = operand.tensor.data_type, f"laid{t}"
            laid = _in_order_of(self.outputs[0][0].tensor, data_type, sizes)
            size = room_of(laid)
            if not adapter.worth_a_dispatch <= size <= adapter.max_binding:
                continue
            source = TensorDesc(data_type, sizes, strides)
            moves.append(Move.between(source, laid, operand.field, field).plan(adapter))
            still = [s if n > 1 else 0 for n, s in zip(sizes, laid.effective_strides, strict=True)]
            tensor = TensorDesc(data_type, operand.tensor.sizes, still)
            inputs[names[t]] = replace(operand, field=field, tensor=tensor)
            room[field] = size
        if not moves:
            return None
        return in_turn([*moves, replace(self, inputs=inputs).plan(adapter)], room)

    def _in_window(self, shape: Shape, adapter: Adapter) -> Plan | None:
        """The work in whole units of an output whose rows begin anywhere, or None.

        What lies across is moved before: a tile makes no units of 16 bytes there.
        """
        ((made, expression), *others) = self.outputs
        is_other = self.lookups or others or self.repeats > 1 or shape.is_linear
        if is_other or _is_whole(shape, self.operands) or self._is_larger(adapter.max_binding):
            return None
        window = Window.of(shape.loops, made.start, made.bits)
        if window is None or not _is_worth(window, bytes_written(made.tensor), adapter):
            return None
        if adapter.is_cpu and not is_brief(expression, window.own):
            return None
        if not adapter.is_cpu:
            far = across.by_loop(shape.loops, list(self.inputs.values())).values()
            if moved := self._moved([t for found in far for t in found], adapter):
                return moved
        work = self
        if source := expression.copied(self.inputs, made):
            raw, out = (replace(o, data_type=RAW[made.bits]) for o in (source, made))
            work = replace(self, inputs={expression.result: raw}, outputs=((out, expression),))
        reading = window.reading(list(work.inputs.values()), wide=adapter.wide_integers)
        shape = Shape(
            shape.loops,
            reading,
            ("units",),
            adapter.exact_floats,
            writes=window.is_uniform(reading),
            is_quick=not adapter.is_cpu and self._is_quick(),
            on_cpu=adapter.is_cpu,
            window=window,
        )
        return Plan((work._kernel(shape).dispatch([o.start for o in work.operands]),))

    def _put(self, adapter: Adapter) -> Plan | None:
        """Rows that are moved to a part of an output, made apart if they are no copy; or None.

        `concat` of 2 x 16 MiB of bytes along odd rows takes lavapipe 25.0 11 ms, element by element
        290. On GPUs it was not measured.
        """
        (made, expression), *others = self.outputs
        if not adapter.is_cpu or others or not made.shares:
            return None
        sizes, source, room = made.tensor.sizes, expression.copied(self.inputs, made), 0
        if source is None:
            laid = TensorDesc(made.data_type, sizes)
            room = room_of(laid)
            if made.bits >= 32 or not adapter.worth_a_dispatch <= room <= adapter.max_binding:
                return None
            source = Operand("put", laid, made.data_type)
        strides = made.tensor.effective_strides, source.tensor.effective_strides
        loops = tuple(Dim(*step) for step in zip(sizes, *strides, strict=True))
        fields = source.field, made.field
        move = Move(source.tensor, made.tensor, loops, source.start, None, *fields, made.start)
        layout = move.layout(adapter)
        last = layout.dims[-1]
        is_run = made.bits < 32 and last.out == 1 and last.size * layout.bits >= UNIT_BITS
        if not layout.has_long_rows and (room or not is_run):
            return None
        if not room:
            return move.plan(adapter)
        first = replace(self, outputs=((source, expression),))
        return in_turn([first.plan(adapter), move.plan(adapter)], {source.field: room})

    def _once(self, adapter: Adapter) -> Plan | None:
        """The work at one step of all loops along which nothing moves, then copied, or None.

        Its groups would go on in the next row, for each of these steps anew.
        """
        (made, expression), *others = self.outputs
        if adapter.is_cpu or self.lookups or others or made.start or made.shares:
            return None
        strides = [o.tensor.effective_strides for o in self.inputs.values()]
        still = [n > 1 and not any(s[d] for s in strides) for d, n in enumerate(made.tensor.sizes)]
        sizes = [1 if stays else n for n, stays in zip(made.tensor.sizes, still, strict=True)]
        data_type = made.tensor.data_type
        kept = _in_order_of(made.tensor, data_type, sizes)
        size = room_of(kept)
        is_worth = bytes_written(made.tensor) >= max(adapter.worth_a_dispatch, 2 * size)
        if not any(still) or not is_worth or size > adapter.max_binding:
            return None
        inputs = {
            name: replace(o, tensor=TensorDesc(o.tensor.data_type, sizes, s))
            for (name, o), s in zip(self.inputs.items(), strides, strict=True)
        }
        outputs = ((replace(made, field="once", tensor=kept), expression),)
        seen = [0 if s else n for n, s in zip(kept.effective_strides, still, strict=True)]
        source = TensorDesc(data_type, made.tensor.sizes, seen)
        again = Move.between(source, made.tensor, "once", made.field).plan(adapter)
        first = replace(self, inputs=inputs, outputs=outputs).plan(adapter)
        return in_turn([first, again], {"once": size})

    def _doubled(self, loops: tuple[Loop, ...], adapter: Adapter) -> Plan | None:
        """The work after rows that are repeated were laid out twice each, or None.

        A group that goes on in the next row then finds the same elements behind the end of its own.
        """
        sizes = [loop.size for loop in loops]
        written = bytes_written(self.outputs[0][0].tensor)
        if written < adapter.worth_a_dispatch or len(sizes) == MAX_RANK:
            return None
        operands, moves, room = list[Operand](), [], {}
        for t, o in enumerate(self.operands):
            data_type, steps = o.tensor.data_type, [loop.steps[t] for loop in loops]
            operands.append(replace(o, tensor=TensorDesc(data_type, sizes, steps)))
            is_row = steps[-2:] == [0, 1] and o.bits < 32 and sizes[-1] * o.bits >= UNIT_BITS
            if not is_row or not o.field or o.start or o.doubled:
                continue
            rows = [n if s else 1 for n, s in zip(sizes[:-1], steps[:-1], strict=True)]
            laid = TensorDesc(data_type, [*rows, 2, sizes[-1]])
            if SMALLER * laid.total_tensor_size_in_bytes > written:
                continue
            field, source = f"twice{t}", TensorDesc(data_type, laid.sizes, [*steps[:-1], 0, 1])
            moves.append(Move.between(source, laid, o.field, field).plan(adapter))
            strides = zip(laid.effective_strides, steps[:-1], strict=False)
            tensor = TensorDesc(data_type, sizes, [*(n if s else 0 for n, s in strides), 1])
            operands[t] = replace(o, field=field, tensor=tensor, doubled=True)
            room[field] = room_of(laid)
        if not moves:
            return None
        inputs = dict(zip(self.inputs, operands, strict=False))
        made = zip(operands[len(inputs) :], (e for _, e in self.outputs), strict=True)
        work = replace(self, inputs=inputs, outputs=tuple(made)).plan(adapter)
        return in_turn([*moves, work], room)

    def _loops(self) -> list[Loop]:
        sizes = self.outputs[0][0].tensor.sizes
        strides = [o.tensor.effective_strides for o in self.operands]
        return [Loop(n, tuple(s[d] for s in strides)) for d, n in enumerate(sizes)]

    def _parts(self, shape: Shape, most: int) -> Plan | None:
        """The work cut along its loops so that each tensor fits a binding, or None."""
        if shape.is_linear:
            return None
        group = shape.group
        sizes = [loop.size for loop in shape.loops]
        sizes[-1] = -(-sizes[-1] // group)  # whole groups are never cut
        walks = {}
        steps = [[d.steps[t] for d in shape.loops] for t in range(len(self.operands))]
        for t, operand in enumerate(self.operands):
            steps[t][-1] *= group
            # Operands that begin further behind in a tensor are steps of a loop that is not cut.
            begins = [o.start for o in self.operands if o.field == operand.field]
            every = (*steps[t], max(begins) - min(begins))
            walks[operand.field] = Walk(operand.field, operand.bits, min(begins), every, based=True)
        walks.pop("", None)  # places
        # The last group of a part reaches beyond its own first element.
        parts = split([*sizes, 2], list(walks.values()), most - group * 8, len(sizes))
        if parts is None:
            return None
        plans, spans = [], []
        for part in parts:
            cut = list(part.sizes[:-1])
            whole = shape.loops[-1].size
            first = part.first[-2] * group
            cut[-1] = min(cut[-1] * group, whole - first)
            loops = tuple(replace(d, size=n) for d, n in zip(shape.loops, cut, strict=True))
            starts = [
                o.start - walks[o.field].start + part.starts[o.field]
                if o.field
                else o.start + _places(part.first, steps[t]) & 0xFFFFFFFF
                for t, o in enumerate(self.operands)
            ]
            plans.append(Plan((self._kernel(replace(shape, loops=loops)).dispatch(starts),)))
            reach = {}
            for name, walk in walks.items():
                begin, end = part.spans[name]
                extra = (group - 1) * abs(walk.steps[-2]) // group * walk.bits // 8
                reach[name] = (begin, -(-(end + extra) // 16) * 16)
            spans.append(reach)
        return joined(plans, spans)

    def _kernel(self, shape: Shape) -> Kernel:
        """The kernel of the work, divided in one way."""
        return Kernel(self.inputs, self.outputs, self.parameters, self.lookups, self.line, shape)

    def _is_quick(self) -> bool:
        """Whether groups are made without branches, and again where an element needs one."""
        return len(self.outputs) == 1 and bool(quick(self.outputs[0][1])[1])


def _places(first: Sequence[int], steps: Sequence[int]) -> int:
    """How far a part begins from where all begins, in an operand that counts; it may be wrapped."""
    return sum(n * step for n, step in zip(first, steps, strict=False))


def _is_worth(window: Window, written: int, adapter: Adapter) -> bool:
    """Whether a window is better made by units than element by element.

    On CPU adapters units that are read and written back cost more than elements, unless several
    narrow ones share a word: every second byte of 8 MiB took lavapipe 25.0 67 ms and takes 12,
    SwiftShader 137 and 60, every eighth SwiftShader 24 and 84. Rows are moved as such there.
    """
    if adapter.is_cpu:
        is_stepped = window.bits < 32 and window.step > 1 and window.own >= FEW_OWN
        return is_stepped and not window.is_short and written >= adapter.worth_a_dispatch
    return not window.is_short or written >= adapter.shaped_from


def _is_whole(shape: Shape, operands: Sequence[Operand]) -> bool:
    """Whether groups are as large as the widest tensor that moves along them has in a unit."""
    moving = [o for t, o in enumerate(operands) if o.field and shape.loops[-1].steps[t]]
    return shape.group >= UNIT_BITS // max(o.bits for o in moving) and "merge" not in shape.stores


def _in_order_of(tensor: TensorDesc, data_type: DataType, sizes: Sequence[int]) -> TensorDesc:
    """A tensor of these sizes without gaps, whose dimensions follow one another as another's do."""
    strides, step = [0] * len(sizes), 1
    order = tensor.effective_strides
    for d in sorted(range(len(sizes)), key=lambda d: (order[d], -d)):
        strides[d], step = step, step * sizes[d]
    return TensorDesc(data_type, sizes, strides)
