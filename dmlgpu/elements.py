"""Array functions on tensors: promotion, broadcasting, and one kernel that does all of it.

Operands are tensors and Python numbers. Conversions to the computing type, broadcasting and the
numbers themselves are part of the kernel, so that no operand is copied first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlgpu.arguments import is_fixed, key_of, number_key
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
from dmlgpu.desc.indexing import Span, Window, span_of
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.views import broadcast, broadcast_shapes, packed, reshaped
from dmlgpu.errors import InvalidDescError, InvalidTypeError, NumberRangeError
from dmlgpu.plan.values import of_class
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device
    from dmlgpu.waiting import Origin

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
    apart = [_apart(x, out) for x in given(device, operands)]
    return _run(device, name, lambda: formula(name, apart), apart, out)


def select(device: Device, condition: Any, a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """Elements of `a` where the condition is not zero, else of `b`."""
    apart = [_apart(x, out) for x in given(device, (condition, a, b))]
    return _run(device, "select", lambda: selection(apart), apart, out)


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
    origin: Origin | None = None,
) -> Tensor:
    """A function of lines of elements by its name, with NumPy's rules: sum, max, argmax, ...

    `dtype` is the type asked for of sums, products and averages, `correction` what var and std
    take from the count. Conversions to the type it computes in and of the result are part of it.
    The elements of a window that waits for its copy are read at their origin.
    """
    if x.is_traced:
        ending = Reduced.of(name, x.shape, x.dtype, axis, keepdims, dtype, correction)
        ended: Tensor = x.traced_ending(ending)
        return ended
    if x.is_waiting and origin is None:
        with device.context.lock:
            found = x.there()
            if found is not None:
                made = reduce(device, name, x, axis, keepdims, dtype, correction, found)
                if x.is_waiting:  # still: a signal handler may have written to the origin
                    return made
    along = axis if axis is None or axis.__class__ is int else key_of(axis)
    layout = x.key[2] if origin is None else origin.layout
    key = (name, layout, along, keepdims, dtype, correction, correction.__class__)
    try:
        known = device.remembered.get(key)
    except TypeError:  # an axis that is not hashable is not an integer: reading says so
        known = None
    if known is None:
        ending = Reduced.of(name, x.shape, x.dtype, axis, keepdims, dtype, correction)
        if not x.size:
            return filled(device, ending.shape, ending.dtype, ending.empty)
        desc = x.desc if origin is None else origin.view.desc
        starts = () if origin is None else (origin.first,)
        chain = reduction(name, (desc,), (), (), ending, x.dtype, desc, starts)
        views = () if origin is None else (origin.view,)
        known = device.internal(chain).prepared(ending.shape, ending.dtype, views=views)
        if is_fixed((axis, correction)):
            device.remember(key, known)
    result: Tensor = known(x if origin is None else origin.source)
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
        starts=starts,
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
    known = device.remembered.get(key)
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


def assign(device: Device, target: Tensor, window: Window, value: Any) -> None:
    """Writes a value, broadcast, to the elements that a basic index names."""
    source = assigned(device, value, target.dtype)
    if 0 in window.shape or not target.size:
        check_value(source, window.shape)
        return
    check_writable(target)
    span = span_of(target.desc, window)
    if isinstance(source, Tensor) and source.is_waiting and source.shape == window.shape:
        with device.context.lock:
            origin = None if span.is_backward else source.there()
            if origin is not None and origin.source.storage is not target.storage:
                _assign(device, target, window, span, source, origin)
                if source.is_waiting:  # still: a signal handler may have written to the origin
                    return
    if isinstance(source, Tensor) and source.size and source.storage is target.storage:
        source = source.copy()
    _assign(device, target, window, span, source, None)


def _assign(
    device: Device,
    target: Tensor,
    window: Window,
    span: Span,
    source: Any,
    origin: Origin | None,
) -> None:
    """Writes a tensor or a number, or the elements of a window where they are."""
    part = reshaped(span.desc, window.shape or (1,))
    assert part is not None  # dimensions of one element come or go, and no others
    place = Place(span.lowest, part.sizes, part.effective_strides)
    check_value(source, window.shape)
    if isinstance(source, Tensor) and origin is None:
        if source.shape != window.shape:
            extra = max(0, source.ndim - len(window.shape))
            source = source.reshape(source.shape[extra:]).broadcast_to(window.shape)
        if span.is_backward:  # turned round, since the loops of a place go forward
            steps = iter(
                [step for n, step in zip(span.desc.sizes, span.steps, strict=True) if n > 1]
            )
            axes = [a for a, n in enumerate(window.shape) if n > 1 and next(steps) < 0]
            source = source.flip(axes)
    within = target
    if part != target.desc:
        # Nothing of others lies behind the last bytes where they are the target's last ones.
        reach = span.begin + part.total_tensor_size_in_bytes
        whole = target.whole and reach == target.desc.total_tensor_size_in_bytes
        within = Tensor(device, target.lease, part, target.offset + span.begin, whole)
    key = ("assign", _key(source, origin), part, target.dtype, place)
    known = device.remembered.get(key)
    if known is None:
        alike = ("assign", part, target.dtype, place)
        data_type = data_type_of(target.dtype)
        sources: tuple[TensorDesc, ...] = ()
        constants: tuple[Constant, ...] = ()
        if isinstance(source, Tensor):
            text = converted("x0", source.dtype, target.dtype)
            sources = (source.desc if origin is None else origin.view.desc,)
        else:
            check_fits(source, target.dtype)
            text = "k0"
            constants = (Constant.of(source, target.dtype),)
            various = Various.met_again(device, alike)
            if various is not None:
                various.once(constants, within)
                return
        chain = Chain(
            name="assign",
            sources=sources,
            starts=() if origin is None else (origin.first,),
            constants=constants,
            steps=(Step(text, data_type),),
            output=part,
            place=place,
        )
        if constants:
            known = Various.first(device, alike, chain, (), target.dtype)
        else:
            known = device.internal(chain)
        device.remember(key, known)
    if origin is not None:
        source = origin.view.of(origin.source)
    known(*([source] if isinstance(source, Tensor) else []), out=within)


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


def _key(operand: Any, origin: Origin | None = None) -> Hashable:
    """What a prepared function depends on of an operand, or of the origin that it is read at."""
    if origin is not None:
        return origin.layout
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
    waiting = {id(x): x for x in given if isinstance(x, Tensor) and x.is_waiting}
    if waiting and out is None:
        with device.context.lock:
            origins = {n: x.there() for n, x in waiting.items()}
            made = _made(device, name, make, given, [origins.get(id(x)) for x in given], None, more)
            # Unless a signal handler has had them copied, since it wrote where they were.
            if all(x.is_waiting or origins[n] is None for n, x in waiting.items()):
                return made
    return _made(device, name, make, given, [None] * len(given), out, more)


def _made(
    device: Device,
    name: str,
    make: Callable[[], Formula],
    given: Sequence[Any],
    origins: Sequence[Origin | None],
    out: Tensor | None,
    more: tuple[Hashable, ...],
) -> Tensor:
    """A function of operands, of which some are read at their origins."""
    kinds = [_key(x, origin) for x, origin in zip(given, origins, strict=True)]
    key: Hashable = (name, *kinds, *more)
    if out is not None:
        key = (key, "out", out.key[2])
    known = device.remembered.get(key)
    pairs = [(x, p) for x, p in zip(given, origins, strict=True) if isinstance(x, Tensor)]
    tensors = [x if origin is None else origin.source for x, origin in pairs]
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
                return various.once([various.constant(n) for n in numbers], out, *tensors)
        known = _prepared(device, name, make(), pairs, out, alike)
        device.remember(key, known)
    made: Tensor = known(*tensors) if out is None else known(out, *tensors)
    return made


def _prepared(
    device: Device,
    name: str,
    made: Formula,
    given: Sequence[tuple[Tensor, Origin | None]],
    out: Tensor | None,
    alike: Hashable,
) -> Callable[..., Tensor]:
    """What runs a function on tensors like these, after `out` if it is given."""
    shape = broadcast_shapes(name, [x.shape for x, _ in given])
    steps = [Step(made.text, data_type_of(made.dtype))]
    if out is not None:
        if broadcast_shapes(name, [shape, out.shape]) == out.shape:
            shape = out.shape  # which may be larger than that of the operands
        else:
            raise InvalidDescError(
                f"{name}: non-broadcastable output operand with shape {out.shape} doesn't match "
                f"the broadcast shape {shape}"
            )
        check_castable(name, made.dtype, out.dtype)
        if out.dtype != made.dtype:
            steps.append(Step(converted("t0", made.dtype, out.dtype), data_type_of(out.dtype)))
        check_writable(out)
    dtype = made.dtype if out is None else out.dtype
    if 0 in shape:
        if out is not None:
            return lambda out, *_: out
        return lambda *_: Tensor.without_elements(device, shape, dtype)
    sizes = shape or (1,)
    descs = [x.desc if origin is None else origin.view.desc for x, origin in given]
    sources = tuple(d if d.sizes == sizes else broadcast(d, sizes) for d in descs)
    starts = tuple(0 if origin is None else origin.first for _, origin in given)
    chain = Chain(
        name=name,
        sources=sources,
        starts=starts if any(starts) else (),
        constants=made.constants,
        steps=tuple(steps),
        output=packed(data_type_of(dtype), sizes) if out is None else out.desc,
    )
    op = device.internal(chain)
    seen = tuple(
        _view(op, x, origin, desc) for (x, origin), desc in zip(given, sources, strict=True)
    )
    if made.constants and alike is not None and alike not in device.remembered:
        device.remember(alike, Various(op, chain, seen, shape, dtype, made.computed))
    if out is None:
        return op.prepared(shape, dtype, views=seen)
    return lambda out, *xs: op(*map(_viewed, xs, seen), out=out)


def _view(op: CompiledOperator, x: Tensor, origin: Origin | None, desc: TensorDesc) -> View | None:
    """How a call sees an operand under a description; None: as it is."""
    if origin is not None:
        return op.view(desc, origin.view.start, is_all=False)
    return None if desc is x.desc else op.view(desc)


def _viewed(x: Tensor, view: View | None) -> Tensor:
    return x if view is None else view.of(x)


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
        if alike not in device.remembered:
            device.remember(alike, cls(op, chain, (), shape, dtype, dtype))
        return op

    @staticmethod
    def met_again(device: Device, alike: Hashable) -> Various | None:
        """What takes the numbers of a call, where others were met often enough."""
        found: Various | None = device.remembered.get(alike)
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
        self.op.once(out, self.chain.values_of(constants), *seen)
        return out


def check_castable(name: str, source: DType, target: DType) -> None:
    """NumPy's rule for writing a result into an array of another type: the kind must not drop."""
    if not np.can_cast(source, target, "same_kind"):
        raise InvalidTypeError(
            f"Cannot cast ufunc '{name}' output from dtype('{source}') to dtype('{target}') with "
            "casting rule 'same_kind'"
        )


def check_writable(out: Tensor) -> None:
    """Raises for a view in which one element stands for several."""
    if out.size and out.desc.overlaps_itself:
        raise InvalidDescError(
            f"the tensor has strides {out.strides} over shape {out.shape}, which let two elements "
            "share an address; it is read-only"
        )


def _apart(x: Any, out: Tensor | None) -> Any:
    """An operand, or a copy of it where writing `out` would change elements yet to be read."""
    if out is None or not isinstance(x, Tensor) or not x.size or not out.size:
        return x
    if x.storage is not out.storage:
        return x
    alike = x.offset == out.offset and x.desc.steps == out.desc.steps
    return x if alike and x.desc.data_type is out.desc.data_type else x.copy()
