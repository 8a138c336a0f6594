"""Array functions on tensors: promotion, broadcasting, and one kernel that does all of it.

Operands are tensors and Python numbers. Conversions to the computing type, broadcasting and the
numbers themselves are part of the kernel, so that no operand is copied first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlgpu.arguments import is_fixed, key_of, number_key
from dmlgpu.arithmetic import NUMBERS
from dmlgpu.array.chain import Chain, Constant, Ending, Place, Step, converted
from dmlgpu.array.functions import FUNCTIONS, computing_type
from dmlgpu.array.promotion import (
    BOOL,
    FLOAT32,
    FLOAT64,
    UINT64,
    DType,
    check_fits,
    compared,
    data_type_of,
    is_number,
    no_integer_holds,
    promoted,
)
from dmlgpu.array.reductions import Reduced
from dmlgpu.array.uploads import type_for
from dmlgpu.compiled import CompiledOperator, View, Views
from dmlgpu.desc.layout import Layout, layout_of
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.values import exact
from dmlgpu.desc.views import broadcast_shapes, packed
from dmlgpu.errors import InvalidDescError, InvalidTypeError, NumberRangeError
from dmlgpu.plan.values import of_class
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device

Number = bool | int | float
# Functions whose expression depends on the values of numbers, not on their types alone.
BY_VALUE = frozenset(("pow", "select", *(n for n, f in FUNCTIONS.items() if f.compares)))
FEW_NUMBERS = 8  # of one function and one layout that have kernels of their own


# Exponents whose results can be right to the last bit.
EXACT_POWERS = {1: "positive", 2: "square", 0.5: "sqrt", -1: "reciprocal"}


@dataclass(frozen=True, slots=True)
class Formula:
    """One step over operands: its expression with names x0, k0, ... put in, and its types."""

    text: str
    constants: tuple[Constant, ...]
    dtype: DType
    computed: DType = BOOL  # of the numbers, where there are any


def function(device: Device, name: str, *operands: Any, out: Tensor | None = None) -> Tensor:
    """An element-wise function of the array API by its name, with NumPy's rules.

    Operands are tensors, arrays and Python numbers. Types are promoted and shapes broadcast;
    `out` is a tensor to write into.

    >>> device.elementwise("hypot", device.tensor([3.0, 5.0]), [4, 12]).tolist()
    [5.0, 13.0]
    """
    tensors: list[Tensor] = []
    key = _key_of(name, operands, out, tensors)
    known = None if key is None else device.remembered[key]
    if known is not None:
        made: Tensor = known(*tensors) if out is None else known(out, *tensors)
        return made
    values = given(device, operands)
    return _run(device, name, lambda: formula(name, values), values, out)


def _key_of(
    name: str, operands: Sequence[Any], out: Tensor | None, tensors: list[Tensor]
) -> Hashable:
    """What a function of tensors and numbers is remembered by; tensors are collected.

    None where operands have to be looked at first: what is neither, and what shares a storage with
    `out`, unless it is `out` itself.
    """
    key: list[Hashable] = [name]
    for x in operands:
        if x.__class__ is Tensor:
            if out is not None and x.key[0] == out.key[0] and not (x is out and out.layout.is_own):
                return None
            key.append(x.key[2])
            tensors.append(x)
        elif x.__class__ in NUMBERS:
            key.append((x.__class__, exact(x)))
        else:
            return None
    return tuple(key) if out is None else (tuple(key), "out", out.key[2])


def select(device: Device, condition: Any, a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """Elements of `a` where the condition is not zero, else of `b`."""
    operands = given(device, (condition, a, b))
    return _run(device, "select", lambda: selection(operands), operands, out)


def cast(device: Device, x: Tensor, dtype: DType) -> Tensor:
    """The elements as another type holds them; a copy where the type stays."""

    def make() -> Formula:
        return Formula(converted("x0", x.dtype, dtype), (), dtype)

    return _run(device, "cast", make, [x], None, dtype)


def reduce(
    device: Device,
    name: str,
    x: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: DType | None = None,
    correction: float = 0,
) -> Tensor:
    """A function of lines of elements by its name, with NumPy's rules: sum, max, argmax, ...

    `dtype` is the type asked for of sums, products and averages, `correction` what var and std
    take from the count. Conversions to the type it computes in and of the result are part of it.
    """
    if x.is_traced:
        ending = Reduced.of(name, x.shape, x.dtype, axis, keepdims, dtype, correction)
        ended: Tensor = x.traced_ending(ending)
        return ended
    layout = x.key[2]
    if not layout.is_forward:
        x = x.copy()
        layout = x.key[2]
    along = axis if axis is None or axis.__class__ is int else key_of(axis)
    key = (name, layout, along, keepdims, dtype, correction, correction.__class__)
    try:
        known = device.remembered[key]
    except TypeError:  # an axis that is not hashable is not an integer: reading says so
        known = None
    if known is None:
        ending = Reduced.of(name, x.shape, x.dtype, axis, keepdims, dtype, correction)
        if not x.size:
            return filled(device, ending.shape, ending.dtype, ending.empty)
        memory = layout.memory
        chain = reduction(name, (memory,), (), (), ending, x.dtype, memory, (layout.start,))
        known = device.internal(chain).prepared(
            ending.shape, ending.dtype, views=(_view(layout, memory),)
        )
        if is_fixed((axis, correction)):
            device.remember(key, known)
    result: Tensor = known(x)
    return result


def reduction(
    name: str,
    sources: tuple[TensorDesc, ...],
    constants: tuple[Constant, ...],
    steps: tuple[Step, ...],
    ending: Reduced,
    dtype: DType,
    layout: TensorDesc,
    starts: tuple[int, ...] = (),
) -> Chain:
    """Steps whose last values are of a type and would lie as `layout` says, and their reduction."""
    if dtype != ending.computed:
        last = f"t{len(steps) - 1}" if steps else "x0"
        text = converted(last, dtype, ending.computed)
        steps = (*steps, Step(text, data_type_of(ending.computed)))
    return Chain(
        name=name,
        sources=sources,
        starts=starts if any(starts) else (),
        constants=constants,
        steps=steps,
        output=packed(data_type_of(ending.dtype), ending.shape or (1,)),
        ending=Ending(ending, layout),
    )


def filled(device: Device, shape: tuple[int, ...], dtype: DType, value: Number) -> Tensor:
    """A tensor with one number everywhere."""
    check_fits(value, dtype)
    if 0 in shape:
        return Tensor.without_elements(device, shape, dtype)
    key = ("filled", shape, dtype, number_key(value))
    known = device.remembered[key]
    if known is None:
        constant = Constant.of(value, dtype)
        alike = ("filled", shape, dtype)
        various = Various.met_again(device, alike)
        if various is not None:
            return various.once((constant,), None)
        output = packed(data_type_of(dtype), shape or (1,))
        step = Step("k0", output.data_type)
        chain = Chain(name="full", sources=(), constants=(constant,), steps=(step,), output=output)
        op = Various.first(device, alike, chain, shape, dtype)
        known = op.prepared(shape, dtype)
        device.remember(key, known)
    made: Tensor = known()
    return made


def assign(device: Device, target: Tensor, value: Any) -> None:
    """Writes a value, broadcast, to all elements of a tensor, which may be a view."""
    is_tensor = value.__class__ is Tensor and value.key[0] != target.key[0]
    if is_tensor or value.__class__ in NUMBERS:
        known = device.remembered[("assign", operand_key(value), target.key[2])]
        if known is not None:
            op, views, written = known
            op(*map(_viewed, (value,) if is_tensor else (), views), out=written.of(target))
            return
    source = assigned(device, value, target.dtype)
    check_value(source, target.shape)
    check_writable(target)
    if not target.size:
        return
    if isinstance(source, Tensor):
        if source.shape != target.shape:
            extra = max(0, source.ndim - target.ndim)
            source = source.reshape(source.shape[extra:])
        if source.key == target.key:
            return
        if overlap(source, target):
            source = source.copy()
        source = source.broadcast_to(target.shape)
    if not target.layout.is_forward:  # the loops of a place go forward
        axes = [a for a, step in enumerate(target.layout.strides) if step < 0]
        target = target.flip(axes)
        source = source.flip(axes) if isinstance(source, Tensor) else source
    if isinstance(source, Tensor):
        source = source.forward()
    _assign(device, target, source)


def _assign(device: Device, target: Tensor, source: Any) -> None:
    """Writes a tensor of the same shape, or a number, to elements that lie forward."""
    layout = target.layout
    key = ("assign", operand_key(source), layout)
    known = device.remembered[key]
    if known is None:
        written = View.of_memory(layout)
        alike = ("assign", layout)
        data_type = data_type_of(target.dtype)
        sources: tuple[TensorDesc, ...] = ()
        starts: tuple[int, ...] = ()
        constants: tuple[Constant, ...] = ()
        views: Views = ()
        if isinstance(source, Tensor):
            text = converted("x0", source.dtype, target.dtype)
            sources, starts = (source.layout.memory,), (source.layout.start,)
            views = (_view(source.layout, source.layout.memory),)
        else:
            check_fits(source, target.dtype)
            text = "k0"
            constants = (Constant.of(source, target.dtype),)
            various = Various.met_again(device, alike)
            if various is not None:
                various.once(constants, written.of(target))
                return
        chain = Chain(
            name="assign",
            sources=sources,
            starts=starts if any(starts) else (),
            constants=constants,
            steps=(Step(text, data_type),),
            output=layout.memory,
            place=_place(layout),
        )
        if constants:
            op = Various.first(device, alike, chain, (), target.dtype)
        else:
            op = device.internal(chain)
        known = op, views, written
        device.remember(key, known)
    op, views, written = known
    tensors = (source,) if isinstance(source, Tensor) else ()
    op(*map(_viewed, tensors, views), out=written.of(target))


def _place(layout: Layout) -> Place:
    """Where in the bytes of a layout its elements are."""
    return Place(layout.start, layout.memory.sizes, layout.memory.effective_strides)


def overlap(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have bytes in common, or units of 16 bytes that both reach."""
    if not x.size or not y.size or x.storage is not y.storage:
        return False
    ends = [t.begin + t.layout.memory.total_tensor_size_in_bytes for t in (x, y)]
    return x.begin < ends[1] and y.begin < ends[0]


def check_value(source: Any, shape: tuple[int, ...]) -> None:
    """Raises where a value cannot be broadcast to the elements it is assigned to."""
    have = source.shape if isinstance(source, Tensor) else ()
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    if len(have) > len(shape) or any(
        n not in (1, m) for n, m in zip(have[::-1], shape[::-1], strict=False)
    ):
        raise InvalidDescError(
            f"could not broadcast input array from shape {have} into shape {shape}"
        )


def given(device: Device, operands: Sequence[Any]) -> list[Any]:
    """Operands as tensors and Python numbers, which float64 without dimensions is too."""
    operands = [
        float(x) if isinstance(x, np.ndarray) and not x.ndim and x.dtype == FLOAT64 else x
        for x in operands
    ]
    beside_floats = any(isinstance(x, Tensor) and x.dtype.kind == "f" for x in operands)
    return [
        x if isinstance(x, Tensor) or is_number(x) else _uploaded(device, x, beside_floats)
        for x in operands
    ]


def _uploaded(device: Device, x: Any, beside_floats: bool) -> Tensor:
    try:
        return device.tensor(x)
    except NumberRangeError:  # integers that have no type in common are floats beside floats
        if not beside_floats:
            raise
        return device.tensor(x, FLOAT32)


def assigned(device: Device, value: Any, dtype: DType) -> Any:
    """A value for elements of a type, which lists of Python numbers have from the beginning."""
    if isinstance(value, Tensor) or is_number(value):
        return value
    return device.tensor(value, type_for(value, dtype))


def operand_key(operand: Any) -> Hashable:
    """What a prepared function depends on of an operand."""
    return operand.key[2] if isinstance(operand, Tensor) else number_key(operand)


def formula(name: str, given: Sequence[Any]) -> Formula:
    """A function of operands as one step."""
    made = FUNCTIONS[name]
    if len(given) != made.arity:
        raise InvalidTypeError(f"{name} takes {made.arity} operands; {len(given)} are given")
    dtypes = [x.dtype for x in given if isinstance(x, Tensor)]
    numbers = [x for x in given if not isinstance(x, Tensor)]
    if made.compares and no_integer_holds(*dtypes) and not numbers:
        both = [_wide(f"x{n}", t) for n, t in enumerate(dtypes)]
        return Formula(_with_operands(made.text_of("wide"), both), (), BOOL)
    if made.compares:
        common, numbers = compared(dtypes, numbers)
    else:
        common = promoted(dtypes, numbers)
    dtype = computing_type(name, common)
    if name == "pow" and dtype.kind in "iu" and is_number(given[1]) and given[1] < 0:
        raise InvalidDescError("Integers to negative integer powers are not allowed")
    if name == "pow" and is_number(given[1]) and given[0].dtype == dtype:
        exact = EXACT_POWERS.get(given[1])
        if exact is not None and (dtype.kind == "f" or given[1] in (1, 2)):
            return formula(exact, given[:1])
    names, constants = _named(given, numbers, dtype)
    text = _with_operands(made.expression(dtype), names)
    return Formula(text, constants, BOOL if made.is_truth else dtype, dtype)


def _wide(value: str, dtype: DType) -> str:
    """A signed integer or a uint64 as a value of 65 bits."""
    if dtype == UINT64:
        return f"wide_from_u64({value})"
    return f"wide_from_i64({of_class(value, data_type_of(dtype), DataType.INT64)})"


def _with_operands(text: str, names: Sequence[str]) -> str:
    """An expression of `a`, `b` and `c` with operands in their places."""
    return re.sub(r"\b[abc]\b", lambda m: names["abc".index(m[0])], text)


def selection(given: Sequence[Any]) -> Formula:
    """The choice between two operands, bit for bit."""
    condition, *chosen = given
    dtypes = [x.dtype for x in chosen if isinstance(x, Tensor)]
    dtype = promoted(dtypes, [x for x in chosen if not isinstance(x, Tensor)])
    names, constants = _named(chosen, [x for x in chosen if not isinstance(x, Tensor)], dtype)
    if not isinstance(condition, Tensor):
        return Formula(names[0] if condition else names[1], constants, dtype)
    # The condition is the first source: the others come after it.
    names = [re.sub(r"\bx(\d)\b", lambda m: f"x{int(m[1]) + 1}", name) for name in names]
    truth = converted("x0", condition.dtype, BOOL)
    return Formula(f"select({names[1]}, {names[0]}, {truth} != 0u)", constants, dtype)


def _named(
    given: Sequence[Any], numbers: Sequence[Number], dtype: DType
) -> tuple[list[str], tuple[Constant, ...]]:
    """Each operand as a value of the computing type, and the constants among them."""
    names: list[str] = []
    constants: list[Constant] = []
    sources = 0
    for operand in given:
        if isinstance(operand, Tensor):
            names.append(converted(f"x{sources}", operand.dtype, dtype))
            sources += 1
        else:
            number = numbers[len(constants)]
            check_fits(number, dtype)
            names.append(f"k{len(constants)}")
            constants.append(Constant.of(number, dtype))
    return names, tuple(constants)


def _run(
    device: Device,
    name: str,
    make: Callable[[], Formula],
    given: Sequence[Any],
    out: Tensor | None,
    *more: Hashable,
) -> Tensor:
    """A function of operands; with `more` that it depends on."""
    for x in given:
        if isinstance(x, Tensor) and x.is_traced:
            return x.traced_step(make(), given)
    given = [x.forward() if isinstance(x, Tensor) else x for x in given]
    if out is not None and not out.layout.is_forward:
        _check_out(name, make().dtype, [x for x in given if isinstance(x, Tensor)], out)
        assign(device, out, _made(device, name, make, given, None, more))
        return out
    if out is not None:
        given = [_apart(x, out) for x in given]
    return _made(device, name, make, given, out, more)


def _made(
    device: Device,
    name: str,
    make: Callable[[], Formula],
    given: Sequence[Any],
    out: Tensor | None,
    more: tuple[Hashable, ...],
) -> Tensor:
    """A function of operands that all lie forward."""
    kinds = list(map(operand_key, given))
    key: Hashable = (name, *kinds, *more)
    if out is not None:
        key = (key, "out", out.key[2])
    known = device.remembered[key]
    tensors = [x for x in given if isinstance(x, Tensor)]
    if known is None:
        numbers = [x for x in given if not isinstance(x, Tensor)]
        alike: Hashable = None
        if numbers and name not in BY_VALUE:
            kinds = [
                k if isinstance(x, Tensor) else x.__class__
                for x, k in zip(given, kinds, strict=True)
            ]
            alike = ("alike", name, None if out is None else out.key[2], *kinds)
            various = Various.met_again(device, alike)
            if various is not None:
                constants = [various.constant(n) for n in numbers]
                return various.once(constants, out, *tensors)
        known = _prepared(device, name, make(), tensors, out, alike)
        device.remember(key, known)
    made: Tensor = known(*tensors) if out is None else known(out, *tensors)
    return made


def _check_out(name: str, dtype: DType, given: Sequence[Tensor], out: Tensor) -> None:
    """Raises where a function's results cannot be written to a tensor."""
    shape = broadcast_shapes(name, [x.shape for x in given])
    if broadcast_shapes(name, [shape, out.shape]) != out.shape:
        raise InvalidDescError(
            f"{name}: non-broadcastable output operand with shape {out.shape} doesn't match "
            f"the broadcast shape {shape}"
        )
    check_castable(name, dtype, out.dtype)
    check_writable(out)


def _prepared(
    device: Device,
    name: str,
    made: Formula,
    given: Sequence[Tensor],
    out: Tensor | None,
    alike: Hashable,
) -> Callable[..., Tensor]:
    """What runs a function on tensors like these, after `out` if it is given."""
    steps = [Step(made.text, data_type_of(made.dtype))]
    if out is None:
        shape, dtype = broadcast_shapes(name, [x.shape for x in given]), made.dtype
    else:
        _check_out(name, made.dtype, given, out)
        shape, dtype = out.shape, out.dtype  # which may be larger than that of the operands
        if dtype != made.dtype:
            steps.append(Step(converted("t0", made.dtype, dtype), data_type_of(dtype)))
    if 0 in shape:
        if out is not None:
            return lambda out, *_: out
        return lambda *_: Tensor.without_elements(device, shape, dtype)
    sources, starts = broadcast_sources([x.layout for x in given], shape)
    is_own = out is None or out.layout.is_own
    chain = Chain(
        name=name,
        sources=sources,
        starts=starts,
        constants=made.constants,
        steps=tuple(steps),
        output=packed(data_type_of(dtype), shape or (1,)) if out is None else out.layout.memory,
        place=None if out is None or is_own else _place(out.layout),
    )
    op = device.internal(chain)
    seen = tuple(_view(x.layout, desc) for x, desc in zip(given, sources, strict=True))
    if made.constants and alike is not None and device.remembered[alike] is None:
        device.remember(alike, Various(op, chain, seen, shape, dtype, made.computed))
    if out is None:
        return op.prepared(shape, dtype, views=seen)

    def run(out: Tensor, *xs: Tensor) -> Tensor:
        op(*map(_viewed, xs, seen), out=_written(out))
        return out

    return run


def broadcast_sources(
    layouts: Iterable[Layout], shape: tuple[int, ...]
) -> tuple[tuple[TensorDesc, ...], tuple[int, ...]]:
    """The sources of a chain, broadcast to a shape, and where they start; () if all at the first.

    No layout goes backward.
    """
    seen = [each if each.shape == shape else each.broadcast(shape) for each in layouts]
    starts = tuple(each.start for each in seen)
    return tuple(each.memory for each in seen), starts if any(starts) else ()


def _view(layout: Layout, desc: TensorDesc) -> View | None:
    """How a call sees an operand under a description; None: as it is."""
    return None if layout.desc is desc else View(layout_of(desc))


def _viewed(x: Tensor, view: View | None) -> Tensor:
    return x if view is None else view.of(x)


def _written(out: Tensor) -> Tensor:
    """A tensor to write, or all bytes of a view, in which a place says where its elements are."""
    return out if out.layout.is_own else View.of_memory(out.layout).of(out)


@dataclass(slots=True)
class Various:
    """A function that is called with other numbers each time: one kernel takes them all.

    The first few numbers have kernels of their own parameters, which calls are bound to once. What
    comes after these has its parameters for one call.
    """

    op: CompiledOperator
    chain: Chain
    views: Views
    shape: tuple[int, ...]
    dtype: DType
    computed: DType  # of the numbers
    met: int = 1

    @classmethod
    def first(
        cls, device: Device, alike: Hashable, chain: Chain, shape: tuple[int, ...], dtype: DType
    ) -> CompiledOperator:
        """The operator of a chain that writes a number, kept for others that are alike."""
        op = device.internal(chain)
        if device.remembered[alike] is None:
            device.remember(alike, cls(op, chain, (), shape, dtype, dtype))
        return op

    @staticmethod
    def met_again(device: Device, alike: Hashable) -> Various | None:
        """What takes the numbers of a call, where others were met often enough."""
        found: Various | None = device.remembered[alike]
        if found is None:
            return None
        found.met += 1
        return found if found.met > FEW_NUMBERS else None

    def constant(self, number: Number) -> Constant:
        """A number in the type that the function computes in."""
        check_fits(number, self.computed)
        return Constant.of(number, self.computed)

    def once(self, constants: Sequence[Constant], out: Tensor | None, *tensors: Tensor) -> Tensor:
        """One call with these numbers."""
        device = self.op.device
        if out is None:
            out = device.empty(self.chain.output).marked(self.shape, self.dtype)
        seen = map(_viewed, tensors, self.views) if self.views else tensors
        self.op.once(_written(out), self.chain.values_of(constants), *seen)
        return out


def check_castable(name: str, source: DType, target: DType) -> None:
    """NumPy's rule for writing a result into an array of another type: the kind must not drop."""
    if not np.can_cast(source, target, "same_kind"):
        raise InvalidTypeError(
            f"Cannot cast ufunc '{name}' output from dtype('{source}') to dtype('{target}') with "
            "casting rule 'same_kind'"
        )


def check_writable(out: Tensor) -> None:
    """Raises for a view that is read-only, or in which one element stands for several."""
    if out.layout.is_read_only:
        raise InvalidDescError(
            "the tensor is read-only, as views made by broadcast_to, diagonal and "
            "sliding_window_view are; its copy() is not"
        )
    if out.size and out.layout.memory.overlaps_itself:
        raise InvalidDescError(
            f"the tensor has strides {out.strides} over shape {out.shape}, which let two elements "
            "share an address; it is read-only"
        )


def _apart(x: Any, out: Tensor) -> Any:
    """An operand, or a copy of it where writing `out` would change elements yet to be read."""
    if not isinstance(x, Tensor) or not overlap(x, out):
        return x
    is_same = x.begin == out.begin and x.layout.is_own and out.layout.is_own
    alike = is_same and x.layout.memory.steps == out.layout.memory.steps
    return x if alike and x.layout.memory.data_type is out.layout.memory.data_type else x.copy()
