"""Plans of element-wise work: every output element is an expression of the input elements there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.plan.elementwise import across, short_rows
from dmlgpu.plan.elementwise.lookups import Line, by_lines, held, lookup, near
from dmlgpu.plan.elementwise.spans import Spans, converting, is_brief
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import SMALLER, Move
from dmlgpu.plan.parts import Walk, in_turn, joined, split
from dmlgpu.plan.rows import DIVISION, divisors
from dmlgpu.plan.traffic import all_read, bytes_written, room_of
from dmlgpu.plan.values import (
    UNIT_BITS,
    Expression,
    Loop,
    Operand,
    Parameter,
    Reading,
    encoded,
    float_slots,
    folded,
    function,
    held_bits,
    in_groups,
    merged,
    of_halves,
    of_words,
    param_lines,
    parameter_words,
    places,
    quick,
    value_in,
    word_type,
    words_of,
)

Tile = across.Tile | short_rows.Run  # of operands that lie across

WG_SIZE = 128
EACH = 4  # groups of an invocation that writes more than it reads: workgroups start in turn
# Groups where the work on one takes longer than reading it, by what such work on FLOAT32 calls.
# Elsewhere two groups take longer than one.
EACH_OF_LONG = {"math_atan2": 2, "math_pow": 2, "math_pow_positive": 4, "math_sinh": 2, "T_mod": 2}
MORE = 2  # bytes written for each that is read
MANY = 1 << 16  # groups from which on there are enough workgroups nevertheless
MOST_SHARES = 16  # steps of a loop that are made side by side
FORGOTTEN = 1 << 24  # bytes from which on caches hold what is read again no more
MOST_UNITS = 4  # units of one tensor that an invocation handles at most
# Elements of a group whose expression looks others up; more where all of them are as few lookups.
# It is long: written out for more elements, or for more than a word's on CPU adapters, it would
# take drivers long to compile.
LOOKUPS, MOST_LOOKUPS = 4, 16
STORED = {"units": "vec4<u32>", "halves": "vec2<u32>"}  # by access; words where it is none of these
FOLLOWED = 4  # groups in a row of a tile, from which on it hardly matters that the last goes on
WORTH_MOVING = 1 << 20  # bytes of an operand from which on another dispatch costs less
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
        loops = _fold(self._loops())
        if moved := self._moved(loops, adapter) or self._put(adapter):
            return moved
        most = UNIT_BITS
        if self.lookups:
            texts = (text for _, e in self.outputs for text in (e.result, e.steps))
            count = sum(text.count(f"{name}_at(") for text in texts for name in self.lookups)
            several = 1 << max(1, MOST_LOOKUPS // count).bit_length() - 1
            most = 1 if adapter.is_cpu else max(LOOKUPS, several)
        shape = _shape(loops, self.operands, len(self.outputs), adapter, most)
        named = [o for o in self.operands if o.field]
        largest = max(o.tensor.total_tensor_size_in_bytes for o in named)
        fields = {o.field for o in named}
        alone = len({(o.field, o.bits, o.tensor) for o in named}) == len(fields)
        alone = alone and fields.isdisjoint(o.field for o in self.lookups.values())
        if self.line:
            shape = replace(shape, is_quick=shape.is_linear)
        if adapter.is_cpu:
            brief = all(is_brief(e, shape.group) for _, e in self.outputs)
            shape = replace(shape, on_cpu=True, is_spanned=brief)
        untiled = shape
        if shape.is_linear and (once := self._once(adapter)):
            return once
        if not self.lookups and not adapter.is_cpu:
            moved_bytes = self.traffic()
            written = sum(moved_bytes[o.field] for o, _ in self.outputs)
            if written >= adapter.shaped_from:
                whole = len(self.outputs) == 1 and not self._is_quick()
                shape = _tiled(shape, self.operands, len(self.outputs), adapter, whole)
                if not shape.tile and any(abs(step) >= APART for step in loops[-1].steps):
                    shape = _shape(loops, self.operands, len(self.outputs), adapter, 1)
            writes = sum(moved_bytes.values()) - written <= written // MORE
            is_plain = writes and shape.is_linear and not shape.tile
            if is_plain and (doubled := self._doubled(loops, adapter)):
                return doubled
            shape = replace(shape, writes=writes, shares=_shares(shape), is_quick=self._is_quick())
            if all(o.data_type is DataType.FLOAT32 for o in self.operands):
                called = {name for _, e in self.outputs for name in e.calls}
                each = max((EACH_OF_LONG.get(name, 1) for name in called), default=1)
                shape = replace(shape, each_of_long=each)
        if largest > adapter.max_binding and alone:
            cut = untiled  # loops that are cut are not baked in, nor where their parts begin
            if isinstance(shape.tile, across.Tile) and not shape.tile.inner:
                cut = replace(shape, tile=replace(shape.tile, aligned=()))
            parts = self._parts(cut, adapter.max_binding)
            if parts is not None:
                return parts
        starts = [operand.start for operand in self.operands]
        return Plan((self._dispatch(self._repeated(shape), starts),))

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

    def _moved(self, loops: tuple[Loop, ...], adapter: Adapter) -> Plan | None:
        """The work after operands were moved to where the output has them, or None."""
        if adapter.is_cpu or self.lookups:
            return None
        inputs, moves, room = dict(self.inputs), [], {}
        names = list(self.inputs)
        for t in across.not_for_tiles(loops, list(self.inputs.values())):
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
            if not WORTH_MOVING <= size <= adapter.max_binding:
                continue
            source = TensorDesc(data_type, sizes, strides)
            moves.append(Move.between(source, laid, operand.field, field).plan(adapter))
            still = [s if n > 1 else 0 for n, s in zip(sizes, laid.effective_strides, strict=True)]
            tensor = TensorDesc(data_type, operand.tensor.sizes, still)
            inputs[names[t]] = replace(operand, field=field, tensor=tensor)
            room[field] = size
        if not moves:
            return None
        made = in_turn([*moves, replace(self, inputs=inputs).plan(adapter)])
        return replace(made, scratch={**made.scratch, **room})

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
            if made.bits >= 32 or not WORTH_MOVING <= room <= adapter.max_binding:
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
        plan = in_turn([first.plan(adapter), move.plan(adapter)])
        return replace(plan, scratch={**plan.scratch, source.field: room})

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
        is_worth = bytes_written(made.tensor) >= max(WORTH_MOVING, 2 * size)
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
        plan = in_turn([replace(self, inputs=inputs, outputs=outputs).plan(adapter), again])
        return replace(plan, scratch={**plan.scratch, "once": size})

    def _doubled(self, loops: tuple[Loop, ...], adapter: Adapter) -> Plan | None:
        """The work after rows that are repeated were laid out twice each, or None.

        A group that goes on in the next row then finds the same elements behind the end of its own.
        """
        sizes = [loop.size for loop in loops]
        written = bytes_written(self.outputs[0][0].tensor)
        if written < WORTH_MOVING or len(sizes) == MAX_RANK:
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
        plan = in_turn([*moves, work])
        return replace(plan, scratch={**plan.scratch, **room})

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
                else o.start + sum(n * step for n, step in zip(part.first, steps[t], strict=False))
                for t, o in enumerate(self.operands)
            ]
            plans.append(Plan((self._dispatch(replace(shape, loops=loops), starts),)))
            reach = {}
            for name, walk in walks.items():
                begin, end = part.spans[name]
                extra = (group - 1) * abs(walk.steps[-2]) // group * walk.bits // 8
                reach[name] = (begin, -(-(end + extra) // 16) * 16)
            spans.append(reach)
        return joined(plans, spans)

    def _dispatch(self, shape: Shape, starts: Sequence[int]) -> Dispatch:
        loops, tile = shape.loops, shape.tile
        kernel, count, slots, wg_size = "elementwise/elements", shape.groups, {}, WG_SIZE
        groups = shape.shares * -(-shape.share // (WG_SIZE * shape.each))
        if shape.is_spanned:
            groups = shape.spans.workgroups
        if self.line:
            groups, wg_size = loops[0].size, self.line.workgroup(loops[-1].size // shape.group)
        # Row: add a transposed operand float32 bandwidth: 0.98 of a copy; moves without tiles 0.12.
        if tile:
            kernel, slots, wg_size = (
                "elementwise/tiles",
                {"turned": "move/turned"},
                tile.invocations,
            )
            count = groups = prod(tile.counts(loops))
        params: dict[str, Value] = {
            "count": count,
            "share": shape.share,
            "elements": prod(d.size for d in loops),
            "sizes": eight([d.size for d in loops]),
        }
        if shape.is_spanned:
            params |= shape.spans.params
        if shape.steps:
            params["elements"] = shape.steps * prod(d.size for d in loops[1:])
            params["groups"] = -(-shape.steps * count // loops[0].size)
            params |= {
                f"hop{t}": loops[0].size * n & 0xFFFFFFFF for t, n in enumerate(loops[0].steps)
            }
        divided = [d.size for d in loops]
        if tile:
            divided = tile.counts(loops)
            params["counts"] = eight(divided)
        elif not shape.is_linear:
            divided[-1] = -(-divided[-1] // shape.group)
        if shape.by_product:
            params |= divisors(divided)
        for t, start in enumerate(starts):
            params[f"start{t}"] = start
            params[f"strides{t}"] = eight([d.steps[t] for d in loops])
        params |= parameter_words(self.parameters) | (self.line.params if self.line else {})
        bindings = shape.reading.bindings
        bindings |= {f"look{t}": o.field for t, o in enumerate(self.lookups.values())}
        bindings |= {f"out{t}": o.field for t, (o, _) in enumerate(self.outputs)}
        every = [o.data_type for o in (*self.operands, *self.lookups.values())]
        return Dispatch(
            kernel,
            groups,
            params,
            bindings,
            {**float_slots(every, shape.exact_floats), **slots},
            {"WG_SIZE": wg_size},
            code="\n".join([*param_lines(params), *self._code(shape)]),
        )

    def _code(self, shape: Shape) -> list[str]:
        """Bindings, the operator's functions, and what makes one group."""
        lines = [*shape.reading.declarations, *(DIVISION if shape.by_product else ())]
        for n, access in enumerate(shape.stores):
            mode = "atomic" if access == "merge" else "write"
            lines.append(f"#bind {mode} out{n}: {STORED.get(access, 'u32')}")
        for t, (name, operand) in enumerate(self.lookups.items()):
            lines.append(f"#bind read look{t}: {word_type(operand.bits)}")
            if self.line and self.line.name == name:
                lines += held(self.line, operand, t, shape.repeats, beyond=shape.is_linear)
            else:
                lines += [lookup(f"{name}_at", operand, f"load_look{t}")]
        made = self.outputs[0][0].data_type
        first = next((o.data_type for o in self.inputs.values()), made)
        classes = {"T": first, "R": made}
        for n, (operand, expression) in enumerate(self.outputs):
            given = self.inputs, self.parameters, expression, operand.data_type, classes
            lines += function(f"operate{n}", *given)
        if shape.is_quick:
            ((operand, expression),) = self.outputs
            expression, functions = near(self.line, expression) if self.line else quick(expression)
            given = self.inputs, self.parameters, expression, operand.data_type, classes
            lines += [*functions, *function("quick0", *given)]
        if self._is_of_words(shape):
            lines += self._of_words(halves=shape.on_cpu)
        if shape.on_cpu:
            lines = [converting(line) for line in lines]
        return lines + self._group(shape)

    def _is_quick(self) -> bool:
        """Whether groups are made without branches, and again where an element needs one."""
        return len(self.outputs) == 1 and bool(quick(self.outputs[0][1])[1])

    def _result(self, tile: Tile) -> str:
        """WGSL of the bits of the first output, or of a word of it, from those of the inputs."""
        types = [o.data_type for o in self.inputs.values()]
        made = self.outputs[0][0].data_type
        if not tile.holds_words:
            given = (f"{one.name.lower()}_decode(v{t}_$)" for t, one in enumerate(types))
            return f"{made.name.lower()}_encode(operate0({', '.join(given)}))"
        if self._of_words():
            return f"by_words({', '.join(f'v{t}_$' for t in range(len(types)))})"
        values = [
            f"operate0({', '.join(value_in(one, k, f'v{t}_$') for t, one in enumerate(types))})"
            for k in range(32 // made.bits)
        ]
        return encoded(made, values)[0]

    def _of_words(self, *, halves: bool = False) -> list[str]:
        """The function that makes a word of the only output at once, where there is one."""
        ((operand, expression), *others) = self.outputs
        given = "by_words", self.inputs, expression, operand.data_type
        return [] if others else of_words(*given) or (of_halves(*given) if halves else [])

    def _is_of_words(self, shape: Shape) -> bool:
        """Whether all elements of a word are made at once."""
        is_held = shape.tile is not None and shape.tile.made > 0
        is_whole = "merge" not in shape.stores and (is_held or shape.reading.is_in_words)
        return is_whole and bool(self._of_words(halves=shape.on_cpu))

    def _group(self, shape: Shape) -> list[str]:
        where = self._places(shape)
        if shape.tile:
            made = self._result(shape.tile) if shape.tile.made else ""
            tensors = len(self.operands)
            lines = shape.tile.code(shape.reading, len(shape.loops), tensors, made)
            kept = [self._made(shape)]
            head, result = "place: u32, tile: Tile", " -> Made"
        else:
            lines, kept, head, result = [], [], "number: u32", ""
        if shape.is_spanned and shape.spans.by_rows:
            where, tensors = [], len(self.operands)
            head = ", ".join([head, *(f"at{t}_: u32" for t in range(tensors))])
        if shape.tile or shape.each > 1:
            ahead, loads = _ahead(shape.reading, head, where)
            lines += [
                *ahead,
                *kept,
                f"fn make_group({head}, ahead: Ahead){result} {{",
                *where,
                *loads,
            ]
        else:
            lines += [f"fn make_group({head}) {{", *where, *shape.reading.loads()]
        for r in range(shape.repeats):
            lines += self._operated(shape, r)
        if shape.tile:
            lines += self._together(shape, shape.tile)
        stores = [
            line
            for n, (operand, _) in enumerate(self.outputs)
            for line in _store(operand, len(self.inputs) + n, n, shape)
        ]
        lines += stores
        for r in range(1, shape.repeats):
            moved = [f"at{t}_" for t in range(len(self.inputs), len(self.operands))]
            lines.append(f"  if (number_{r} < params.groups) {{ let number = number_{r};")
            lines += [f"  let {at} = {at} + {r}u * params.hop{at[2:-1]};" for at in moved]
            lines += [f"  let {name} = {name}_{r};" for name in self._results(shape)]
            lines += [*stores, "  }"]
        if self.line:
            return [*lines, "}", *by_lines(shape.group, shape.repeats)]
        if shape.is_spanned:
            step = f"{shape.group}u * {_stride(shape.loops)}"
            steps = [step.format(t) for t in range(len(self.operands))]
            return [*lines, "}", *shape.spans.code(len(shape.loops), steps)]
        return [*lines, "}", *([] if shape.tile else _in_turn(shape))]

    def _places(self, shape: Shape) -> list[str]:
        """Statements from the number of a group, or its place in a tile, to its addresses."""
        tensors = range(len(self.operands))
        if shape.tile:
            return shape.tile.places(shape.reading, len(tensors))
        if shape.reading.rows:
            return _flat(shape, len(tensors))
        walks = [(f"at{t}_", f"params.start{t}", f"strides{t}") for t in tensors]
        given = len(shape.loops), "sizes", "number", walks, shape.group
        return places(*given, by_product=shape.by_product)

    def _operated(self, shape: Shape, r: int) -> list[str]:
        """Statements that make the results of a group's elements, at repeat `r` of it.

        What would lie beyond the last step is that of the first again, and is not stored.
        """
        lines, end, hops = [], f"_{r}" if r else "", dict[int, str]()
        if self.line:
            lines.append(f"  use_line({r}u);")
        if r:
            lines.append(f"  let number_{r} = number + {r}u * params.count;")
            hops = {t: f" + hop{t}_{r}" for t, o in enumerate(self.inputs.values()) if not o.field}
        for t in hops:
            hop = f"select(0u, {r}u * params.hop{t}, number_{r} < params.groups)"
            lines.append(f"  let hop{t}_{r} = {hop};")
        if shape.tile and shape.tile.made:
            bits = shape.tile.made
            words = words_of(bits, [held_bits(bits, 0, k) for k in range(shape.group)])
            if shape.tile.holds_words:
                words = [shape.reading.word(0, w) for w in range(len(words))]
            return [*lines, *(f"  let z0_{w} = {word};" for w, word in enumerate(words))]
        if self._is_of_words(shape):
            count = shape.group * self.outputs[0][0].bits // 32
            made = [", ".join(shape.reading.words(w)) for w in range(count)]
            return [*lines, *(f"  let z0_{w}{end} = by_words({x});" for w, x in enumerate(made))]
        for n, (operand, _) in enumerate(self.outputs):
            values = [f"y{n}_{k}{end}" for k in range(shape.group)]
            made = []
            for k in range(shape.group):
                given = enumerate(shape.reading.values(k).split(", "))
                read = ", ".join(x + hops.get(t, "") for t, x in given)
                made.append(f"{n}({read})")
            if shape.is_quick:
                lines.append("  strayed = false;")
                lines += [f"  var {v} = quick{m};" for v, m in zip(values, made, strict=True)]
                again = (f"{v} = operate{m};" for v, m in zip(values, made, strict=True))
                lines.append(f"  if (strayed) {{ {' '.join(again)} }}")
            else:
                lines += [f"  let {v} = operate{m};" for v, m in zip(values, made, strict=True)]
            if shape.stores[n] != "merge":
                words = encoded(operand.data_type, values)
                lines += [f"  let z{n}_{w}{end} = {word};" for w, word in enumerate(words)]
        return lines

    def _results(self, shape: Shape) -> list[str]:
        """What is stored of a group: words, or the only element."""
        names = []
        for n, (operand, _) in enumerate(self.outputs):
            words = [f"z{n}_{w}" for w in range(shape.group * operand.bits // 32)]
            names += words if shape.stores[n] != "merge" else [f"y{n}_0"]
        return names

    def _parts_of_group(self, shape: Shape) -> list[str]:
        """What is kept of a group until it is written: where, and its words."""
        first = len(self.inputs)
        where = [f"at{first + n}_" for n in range(len(self.outputs))]
        return [*where, *self._results(shape)]

    def _made(self, shape: Shape) -> str:
        """The structure of a group that is not written yet."""
        fields = ", ".join(f"{name}: u32" for name in self._parts_of_group(shape))
        return f"struct Made {{ inside: bool, number: u32, {fields} }}"

    def _together(self, shape: Shape, tile: Tile) -> list[str]:
        """The end of `make_group`, all groups of a tile, and the beginning of what writes one.

        What a loop would read would wait for what it wrote before. What is not held is read before
        the others are waited for.
        """
        parts = self._parts_of_group(shape)
        count, lanes = tile.at_once, tile.invocations
        place = f"place + $u * {lanes}u"
        ahead = f"  #repeat {count}: let ahead$ = read_ahead({place}, tile);"
        make = [
            f"  #repeat {count}: let made$ = make_group({place}, tile, ahead$);",
            f"  #repeat {count}: put_group(made$);",
        ]
        every, first = tile.all_groups, count * lanes
        again = f"  for (var place = lane + {first}u; place < {every}u; place += {first}u) {{"
        return [
            f"  return Made(inside, number, {', '.join(parts)});",
            "}",
            "fn make_tile(tile: Tile, lane: u32) {",
            "  let place = lane;",
            ahead,
            "  take_in(tile, lane);",
            "  workgroupBarrier();",
            *make,
            *([again, ahead, *make, "  }"] if first < every else []),
            "}",
            "fn put_group(made: Made) {",
            "  if (!made.inside) { return; }",
            *(f"  let {name} = made.{name};" for name in ("number", *parts)),
        ]


@dataclass(frozen=True, slots=True)
class Shape:
    """How the work is divided: groups of elements, and how an invocation reaches each tensor.

    An output is stored in `units` of 16 bytes, in `halves` of these, or in `words`. Elements that
    share a word with bytes of others are put between them with `merge`.
    """

    loops: tuple[Loop, ...]
    reading: Reading
    stores: tuple[str, ...]
    exact_floats: bool
    tile: Tile | None = None  # of what lies across, where the work is done in tiles
    writes: bool = False  # more than is read
    shares: int = 1  # parts of the work that workgroups take turns at
    each_of_long: int = 1  # groups of an invocation, by how long the work on one takes
    is_quick: bool = False  # branches are kept apart from what most elements need
    steps: int = 0  # of the outermost loop in all, where its size is those between repeats
    on_cpu: bool = False
    is_spanned: bool = False  # vectors of a CPU adapter make several groups in turn

    @property
    def group(self) -> int:
        """Elements that one invocation makes."""
        return self.reading.group

    @property
    def by_product(self) -> bool:
        """Whether there are quotients, and they are products of 64 bits."""
        return self.reading.wide and len(self.loops) > 1

    @property
    def groups(self) -> int:
        """How many there are."""
        rows, length = prod(d.size for d in self.loops[:-1]), self.loops[-1].size
        if self.is_linear:
            rows, length = 1, rows * length
        return rows * -(-length // self.group)

    @property
    def share(self) -> int:
        """Groups of a part that workgroups take turns at."""
        return -(-self.groups // self.shares)

    @property
    def each(self) -> int:
        """Groups of one invocation, a workgroup apart."""
        if self.groups < MANY:
            return 1
        return EACH if self.writes else self.each_of_long

    @property
    def spans(self) -> Spans:
        """Which groups the vectors of a CPU adapter make."""
        return Spans.of(self.loops, self.groups, is_linear=self.is_linear, wg_size=WG_SIZE)

    @property
    def repeats(self) -> int:
        """How often a group is made, at steps of the outermost loop."""
        return -(-self.steps // self.loops[0].size) if self.steps else 1

    @property
    def is_linear(self) -> bool:
        """Whether a group may go on in the next row, so each element has its own coordinates."""
        return self.reading.rows is not None


def _fold(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Loops of more than one step, by the last tensor's stride, merged where possible."""
    ordered = sorted(loops, key=lambda d: -d.steps[-1])
    return folded(ordered) or (Loop(1, (1,) * len(loops[0].steps)),)


def _shape(
    loops: tuple[Loop, ...], operands: Sequence[Operand], outputs: int, adapter: Adapter, most: int
) -> Shape:
    """The largest groups that every output allows, and the best access of each tensor to them.

    Groups have at most `most` elements, or as many as fill a word.
    """
    made = operands[-outputs:]
    read = operands[: len(operands) - outputs]
    firsts = len(read)
    least = max(1, *(32 // o.bits for o in made))
    moving = [t for t, o in enumerate(operands) if o.field and loops[-1].steps[t]]
    widths = [operands[t].bits for t in moving]
    halves = adapter.exact_floats
    # The widest tensors are reached one unit at a time: neighbours reach neighbours. Only a single
    # wide input may be reached several units at a time, so that a narrower output gets whole units:
    # a conversion of FLOAT32 to FLOAT16 ran at 0.80 of the limit with half units, at 1.01 with
    # whole ones; comparisons of two inputs fell from 1.05 to 0.50 that way, and of every second
    # element, which are loaded one by one. On CPU adapters half a unit is as good: `isnan` takes
    # lavapipe 25.0 0.8 times as long as word by word.
    wide = UNIT_BITS // max(widths)
    group = wide
    alone = len(moving) == 1 + outputs and loops[-1].steps[moving[0]] == 1
    if alone and max(o.bits for o in made) < widths[0]:
        unit, units = (UNIT_BITS // 2, 2) if adapter.is_cpu else (UNIT_BITS, MOST_UNITS)
        group = min(unit // min(widths), units * wide)
    group = max(least, min(most, group))
    count = prod(loop.size for loop in loops)
    packed = _are_packed(loops, operands, outputs)
    smaller = () if packed else (least,)
    for size in dict.fromkeys((group, max(least, wide), *smaller)):
        if any(o.shares and count % size for o in made):
            continue  # the last group would reach beyond the work
        if all(in_groups(loops, firsts + n, o.start, size) for n, o in enumerate(made)):
            return _in_groups(loops, operands, outputs, adapter, size)
    if packed:
        return _in_groups(loops, operands, outputs, adapter, group, goes_on=True)
    stores = _stores(made, 1)
    reading = Reading.along(read, loops, 1, _stride(loops), wide=adapter.wide_integers)
    return Shape(loops, reading, stores, halves)


def _stores(made: Sequence[Operand], group: int) -> tuple[str, ...]:
    """How groups of outputs are written."""
    bits = [group * o.bits % UNIT_BITS for o in made]
    ways = {0: "units", UNIT_BITS // 2: "halves"}
    return tuple("merge" if n % 32 else ways.get(n, "words") for n in bits)


def _stride(loops: Sequence[Loop]) -> str:
    """WGSL of the step between neighbours."""
    inner = len(loops) - 1
    return f"params.strides{{}}[{inner // 4}][{inner % 4}]"


def _in_groups(
    loops: tuple[Loop, ...],
    operands: Sequence[Operand],
    outputs: int,
    adapter: Adapter,
    group: int,
    *,
    goes_on: bool = False,
) -> Shape:
    """Groups that rows of every output are multiples of, or that go on in the next row."""
    read, made = operands[:-outputs], operands[-outputs:]
    stores = _stores(made, group)
    wide = adapter.wide_integers
    if goes_on:
        reading = Reading.in_rows(read, loops, group, _stride(loops), wide=wide)
    else:
        runs = not adapter.is_cpu
        reading = Reading.along(read, loops, group, _stride(loops), runs=runs, wide=wide)
    return Shape(loops, reading, stores, adapter.exact_floats)


def _tiled(
    shape: Shape, operands: Sequence[Operand], outputs: int, adapter: Adapter, whole: bool
) -> Shape:
    """The same work in tiles, where operands lie across the output.

    Its row is "add a transposed operand". A CPU's caches hold what is read again. Groups that go on
    in the next row need elements of it to be held with each row, so narrow tiles have small ones.
    Results may be held where they are made `whole`, by one function.
    """
    if "merge" in shape.stores:
        return shape
    least = max(1, *(32 // o.bits for o in operands[-outputs:]))
    linear, group, read = shape.is_linear, shape.group, shape.reading.operands
    made = operands[-1].bits if whole else 0
    packed = _are_packed(shape.loops, operands, outputs)
    run = short_rows.run_of(shape.loops, read, group, adapter, made) if packed else None
    if run:
        shape = _in_groups(shape.loops, operands, outputs, adapter, group, goes_on=True)
        return replace(shape, tile=run, reading=run.held_by(shape.reading))
    while True:
        beyond = group - 1 if linear else 0
        tile = across.tile_of(shape.loops, read, group, beyond, adapter, made)
        if not tile or not tile.beyond or group == least or FOLLOWED * group <= tile.own:
            break
        group //= 2
    if tile is None:
        return shape
    shape = _in_groups(shape.loops, operands, outputs, adapter, group, goes_on=linear)
    return replace(shape, tile=tile, reading=tile.held_by(shape.reading))


def _in_order_of(tensor: TensorDesc, data_type: DataType, sizes: Sequence[int]) -> TensorDesc:
    """A tensor of these sizes without gaps, whose dimensions follow one another as another's do."""
    strides, step = [0] * len(sizes), 1
    order = tensor.effective_strides
    for d in sorted(range(len(sizes)), key=lambda d: (order[d], -d)):
        strides[d], step = step, step * sizes[d]
    return TensorDesc(data_type, sizes, strides)


def _are_packed(loops: tuple[Loop, ...], operands: Sequence[Operand], outputs: int) -> bool:
    """Whether the loops step through the outputs' addresses one after the other, from 0 on."""
    if any(o.start or o.shares for o in operands[-outputs:]):
        return False
    step = 1
    for loop in reversed(loops):
        if any(n != step for n in loop.steps[-outputs:]):
            return False
        step *= loop.size
    return True


def _flat(shape: Shape, tensors: int) -> list[str]:
    """Statements from the number of a group to where it is in rows, and in tensors of one row."""
    rows = shape.reading.rows
    assert rows is not None
    lines = rows.places()
    for t in range(tensors):
        if t >= len(rows.steps):
            lines.append(f"  let at{t}_ = first;")
        elif rows.steps[t] is None:
            lines.append(f"  let at{t}_ = params.start{t} + first * {rows.stride(t)};")
    return lines


def _shares(shape: Shape) -> int:
    """Parts of the work that workgroups take turns at.

    Where an operand is read again with every step of the outermost loop, and caches hold it no more
    by then, the steps are made side by side.
    """
    first, *inner = shape.loops
    for t, operand in enumerate(shape.reading.operands):
        reach = prod(loop.size for loop in inner if loop.steps[t]) * operand.bits // 8
        if operand.field and not first.steps[t] and reach >= FORGOTTEN:
            most = min(first.size, MOST_SHARES)
            return next(n for n in range(most, 0, -1) if first.size % n == 0)
    return 1


def _ahead(reading: Reading, head: str, where: Sequence[str]) -> tuple[list[str], list[str]]:
    """A function that reads what a group needs ahead of its work, and what the work begins with."""
    found, first, loads = reading.parted()
    fields = ", ".join(f"{name}: {kind}" for name, kind in found.items()) or "none: u32"
    lines = [
        f"struct Ahead {{ {fields} }}",
        f"fn read_ahead({head}) -> Ahead {{",
        *where,
        *first,
        f"  return Ahead({', '.join(found)});",
        "}",
    ]
    return lines, loads


def _in_turn(shape: Shape) -> list[str]:
    """A function that makes several groups, from what is all read before the first is written."""
    each, shares = shape.each, shape.shares
    lines = [
        "fn make_groups(workgroup: u32, lane: u32) {",
        f"  let begin = workgroup % {shares}u * params.share;",
        "  let end = min(begin + params.share, params.count);",
        f"  let first = begin + workgroup / {shares}u * (WG_SIZE * {each}u) + lane;",
    ]
    if each == 1:
        return [*lines, "  if (first < end) { make_group(first); }", "}"]
    return [
        *lines,
        f"  #repeat {each}: let number$ = first + $u * WG_SIZE;",
        f"  #repeat {each}: let ahead$ = read_ahead(min(number$, params.count - 1u));",
        f"  #repeat {each}: if (number$ < end) {{ make_group(number$, ahead$); }}",
        "}",
    ]


def _store(operand: Operand, t: int, n: int, shape: Shape) -> list[str]:
    """What writes the group's words `z{n}_*`, or its only element `y{n}_0`."""
    bits, group, access = operand.bits, shape.group, shape.stores[n]
    at = f"at{t}_"
    if access == "merge":
        value = f"{operand.data_type.name.lower()}_encode(y{n}_0)"
        return [f"  {merged(f'out{n}', bits, at, value)}"]
    words = [f"z{n}_{w}" for w in range(group * bits // 32)]
    if access in STORED:
        per = 4 if access == "units" else 2
        vectors = [", ".join(words[v : v + per]) for v in range(0, len(words), per)]
        at = f"{at} / {32 * per // bits}u"
        return [
            f"  store_out{n}({at} + {v}u, {STORED[access]}({w}));" for v, w in enumerate(vectors)
        ]
    base = f"{at} / {32 // bits}u"
    lines = []
    for w, word in enumerate(words):
        first = w * 32 // bits  # element of the group that the word begins with
        store = f"store_out{n}({base} + {w}u, {word});"
        if first and (shape.is_linear or len(shape.loops) == 1):  # a group may end behind the last
            store = f"if (number * {group}u + {first}u < params.elements) {{ {store} }}"
        lines.append(f"  {store}")
    return lines
