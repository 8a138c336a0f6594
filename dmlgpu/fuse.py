"""fuse: a chain of element-wise operators, and a reduction of it, as one kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from types import MethodType
from typing import Any, ClassVar, NoReturn

import numpy as np

from dmlgpu.arguments import number_key
from dmlgpu.array.chain import Chain, Constant, Step
from dmlgpu.array.promotion import DType, data_type_of
from dmlgpu.array.reductions import Reduced
from dmlgpu.compiled import CompiledOperator, View
from dmlgpu.desc.indexing import Arrays, Window, read
from dmlgpu.desc.layout import Layout, layout_of
from dmlgpu.desc.tensor import DataType
from dmlgpu.desc.views import broadcast, broadcast_shapes, packed, shape_of
from dmlgpu.device import Device
from dmlgpu.elements import Formula, broadcast_sources, reduction
from dmlgpu.errors import InvalidTypeError, UnsupportedError
from dmlgpu.functions import device_of
from dmlgpu.tensor import Tensor

MOST_TRACES = 256  # traces that one function keeps
_NAME = re.compile(r"\b([xk])(\d+)\b")
_VALUE = re.compile(r"\b([xt])(\d+)\b")


@dataclass
class Trace:
    """The steps of a function, as they are met."""

    device: Device
    arguments: Sequence[Layout]
    leaves: list[Tensor | Traced] = field(default_factory=list)  # x0, x1, ...
    parts: list[Part] = field(default_factory=list)  # of which tensor each leaf is what
    captured: dict[int, Tensor] = field(default_factory=dict)  # tensors that are no arguments
    constants: list[Constant] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the steps' values

    def leaf(self) -> Traced:
        """A stand-in for the next argument."""
        number = len(self.leaves)
        layout = self.arguments[number]
        assert layout.dtype is not None
        made = Traced.of(self, f"x{number}", layout.shape, layout.dtype)
        self.leaves.append(made)
        self.parts.append(Part(number, layout))
        return made

    def window(self, x: Traced, index: Any) -> Traced:
        """The elements of an argument that a basic index names: an operand of its own."""
        if x.name[0] != "x" or x.shape != self.leaves[int(x.name[1:])].shape:
            raise UnsupportedError(
                "fuse: only the function's arguments can be indexed; index before the steps"
            )
        found = read(x.shape, index if isinstance(index, tuple) else (index,), Tensor)
        if isinstance(found, Arrays) or any(step < 0 for step in found.strides):
            raise UnsupportedError(
                "fuse: an index within the function has integers and slices that go forward; index "
                "outside the function"
            )
        part = self.parts[int(x.name[1:])]
        made = Traced.of(self, f"x{len(self.leaves)}", found.shape, x.dtype)
        self.leaves.append(made)
        self.parts.append(part.window(found))
        return made

    def name_of(self, operand: Tensor) -> str:
        """An operand as expressions name it; a tensor from outside becomes a source."""
        if isinstance(operand, Traced):
            if operand.trace is not self:
                raise UnsupportedError("fuse: a value of one traced function is used in another")
            return operand.name
        for number, known in self.captured.items():
            if known is operand:
                return f"x{number}"
        number = len(self.leaves)
        operand = operand.forward()
        self.captured[number] = operand
        self.leaves.append(operand)
        self.parts.append(Part(number, operand.layout))
        return f"x{number}"

    def step(self, formula: Formula, operands: Sequence[Any]) -> Traced:
        """The value of a formula over operands."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        names: list[str] = []
        for x in tensors:
            name = self.name_of(x)
            names.append(self._again(name, x) if name in names and x.dtype.kind == "f" else name)
        first = len(self.constants)
        self.constants += formula.constants

        def put(match: re.Match[str]) -> str:
            number = int(match[2])
            return names[number] if match[1] == "x" else f"k{first + number}"

        text = _NAME.sub(put, formula.text)
        self.steps.append(Step(text, data_type_of(formula.dtype)))
        shape = broadcast_shapes("fuse", [x.shape for x in tensors])
        self.shapes.append(shape)
        return Traced.of(self, f"t{len(self.steps) - 1}", shape, formula.dtype)

    def _again(self, name: str, operand: Tensor) -> str:
        """The same value under a second name, as if it had been read twice.

        A compiler takes `x - x` for 0, which it is not where x is infinite or NaN.
        """
        self.steps.append(Step(name, data_type_of(operand.dtype)))
        self.shapes.append(operand.shape)
        return f"t{len(self.steps) - 1}"

    def needed(self, last: str, data_type: DataType) -> tuple[tuple[Step, ...], list[int]]:
        """The steps that a value needs, numbered anew as the sources are, and those sources."""
        if last[0] == "x":
            return (Step("x0", data_type),), [int(last[1:])]
        wanted = {last}
        for number in reversed(range(int(last[1:]) + 1)):
            if f"t{number}" in wanted:
                wanted |= {m[0] for m in _VALUE.finditer(self.steps[number].text)}
        kept = {kind: sorted(int(name[1:]) for name in wanted if name[0] == kind) for kind in "xt"}
        steps = tuple(
            Step(
                _VALUE.sub(lambda m: f"{m[1]}{kept[m[1]].index(int(m[2]))}", self.steps[n].text),
                self.steps[n].data_type,
            )
            for n in kept["t"]
        )
        return steps, kept["x"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a leaf is of a tensor: how it lies in the bytes from `begin` on."""

    leaf: int  # the argument or the captured tensor
    layout: Layout
    begin: int = 0
    is_all: bool = True

    def window(self, window: Window) -> Part:
        """The elements of a window of this."""
        if 0 in window.shape:
            return replace(self, is_all=False)  # no kernel will read it
        begin, layout = self.layout.indexed(window)
        return Part(self.leaf, layout, self.begin + begin, is_all=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """A reduction at the end of a traced function: nothing may follow it."""

    source: Traced
    reduced: Reduced

    def __getattr__(self, name: str) -> NoReturn:
        self._followed()

    def _followed(self, *_: object) -> NoReturn:
        raise UnsupportedError(
            f"fuse: {self.reduced.name} must be the last step, and more follows it; a function that"
            " needs its result takes it as an argument"
        )

    # Python looks for these on the class, not by __getattr__.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _followed
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _followed
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = _followed
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = _followed
    __getitem__ = __iter__ = __len__ = _followed


TRACED = (
    "fuse: only element-wise functions, broadcasts and conversions can be traced, and one "
    "reduction at the end"
)


class Nowhere(Layout):
    """The layout of what is traced: a shape and a type, but no place in memory."""

    __slots__ = ()

    @property
    def memory(self) -> NoReturn:
        """There is none."""
        raise UnsupportedError(TRACED)


class Traced(Tensor):
    """What stands for a tensor while a function is traced: a shape, a type and a name."""

    __slots__ = ("name", "trace")
    name: str
    trace: Trace

    is_traced: ClassVar[bool] = True

    @classmethod
    def of(cls, trace: Trace, name: str, shape: tuple[int, ...], dtype: DType) -> Traced:
        """A stand-in on the trace's device."""
        made = cls.__new__(cls)
        made.device = trace.device
        made.base = None
        # A layout of its own, under which nothing is remembered.
        made.key = (-1, 0, Nowhere(dtype, shape, (0,) * len(shape), 0, None), False)
        made.trace = trace
        made.name = name
        return made

    def traced_step(self, formula: Any, operands: Sequence[Any]) -> Tensor:
        """The next step of the trace."""
        return self.trace.step(formula, operands)

    def traced_ending(self, ending: Any) -> Any:
        """The end of the trace."""
        return Ended(self, ending)

    def copy(self, order: str = "C") -> Tensor:
        """The same values as a step of their own: a copy is laid out without gaps."""
        return self.trace.step(Formula("x0", (), self.dtype), [self])

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """The same values in a larger shape."""
        sizes = broadcast_shapes("broadcast_to", [self.shape, shape_of("broadcast_to", shape)])
        return Traced.of(self.trace, self.name, sizes, self.dtype)

    @property
    def desc(self) -> NoReturn:
        """There is none."""
        raise UnsupportedError(TRACED)

    def numpy(self) -> NoReturn:
        """There are no values yet."""
        raise UnsupportedError("fuse: values are not known while a function is traced")

    def __repr__(self) -> str:
        return f"Traced({self.name}, shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, index: Any) -> Traced:
        return self.trace.window(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise UnsupportedError("fuse: assignment is no element-wise step; use dnp.where")

    def _in_place(self, name: str, other: Any) -> NoReturn:
        raise UnsupportedError(f"fuse: {name} in place; write x = x + y instead of x += y")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A traced function: its chain, and what the sources of this are."""

    chain: Chain
    parts: tuple[Part, ...]  # what each source is
    arguments: int  # how many there are
    captured: tuple[Tensor, ...]  # those among the sources
    shape: tuple[int, ...]  # of the result
    dtype: DType

    def bindings(self, most: int) -> int:
        """Bindings of at most so many bytes that the sources take: a reduction has no parts."""
        if self.chain.ending is None:
            return len(self.chain.sources)
        return sum(-(-desc.total_tensor_size_in_bytes // most) for desc in self.chain.sources)


def drawn(
    function: Callable[..., Any], device: Device, given: Sequence[Any], named: Any
) -> Drawn | None:
    """The chain of a function of tensors, of layouts that stand for some, or of what is neither.

    None where there is nothing to run as one kernel: no elements, or none that a reduction reads.
    """
    leaves = [
        x.layout if isinstance(x, Tensor) else x for x in given if isinstance(x, (Tensor, Layout))
    ]
    trace = Trace(device, leaves)
    if not leaves or any(0 in x.shape for x in leaves):
        return None
    made = function(
        *(trace.leaf() if isinstance(x, (Tensor, Layout)) else x for x in given),
        **named,
    )
    last = made.source if isinstance(made, Ended) else made
    if not isinstance(last, Traced):
        raise InvalidTypeError(
            f"fuse: the function returns {type(last).__name__}; it must return one tensor that is"
            " made of its arguments"
        )
    shape, dtype = last.shape, last.dtype
    if 0 in shape:
        return None
    sizes = shape or (1,)
    steps, used = trace.needed(last.name, data_type_of(dtype))
    if isinstance(made, Ended) and not used:
        return None  # the same number everywhere, such as whether an integer is NaN
    parts = [trace.parts[i] for i in used]
    views, starts = broadcast_sources((part.layout for part in parts), shape)
    name = f"fuse({getattr(function, '__name__', 'function')})"
    constants = tuple(trace.constants)
    if isinstance(made, Ended):
        if last.name[0] == "x":
            steps, layout = (), views[0]
        else:
            own = trace.shapes[int(last.name[1:])]
            layout = broadcast(packed(data_type_of(dtype), own or (1,)), sizes)
        chain = reduction(name, views, constants, steps, made.reduced, dtype, layout, starts)
        shape, dtype = made.reduced.shape, made.reduced.dtype
    else:
        output = packed(data_type_of(dtype), sizes)
        chain = Chain(
            name=name,
            sources=views,
            starts=starts,
            constants=constants,
            steps=steps,
            output=output,
        )
    captured = tuple(trace.captured[p.leaf] for p in parts if p.leaf in trace.captured)
    return Drawn(chain, tuple(parts), len(leaves), captured, shape, dtype)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A traced function, compiled."""

    operator: CompiledOperator
    drawn: Drawn
    run: Callable[..., Tensor] = field(init=False)

    def __post_init__(self) -> None:
        made = self.drawn
        views = tuple(
            View(layout_of(desc), part.begin, part.is_all)
            for desc, part in zip(made.chain.sources, made.parts, strict=True)
        )
        run = self.operator.prepared(made.shape, made.dtype, views=views)
        object.__setattr__(self, "run", run)

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        drawn = self.drawn
        outside, count = iter(drawn.captured), drawn.arguments
        sources = [tensors[p.leaf] if p.leaf < count else next(outside) for p in drawn.parts]
        return self.run(*sources)


class Fused:
    """A function of tensors that runs as one kernel; made by `fuse`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._kernels: dict[Hashable, Kernel | None] = {}
        update_wrapper(self, function)

    def __get__(self, instance: Any, _: type | None = None) -> Any:
        """As a method, with the object as its first argument."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        device = device_of(*args, *named.values())
        arrays = (np.ndarray, list)
        values = [device.tensor(x) if isinstance(x, arrays) else x for x in args]
        values = [x.forward() if isinstance(x, Tensor) else x for x in values]
        tensors = [x for x in values if isinstance(x, Tensor)]
        if any(x.is_traced for x in tensors):  # inside another traced function
            return self._function(*values, **named)
        kernel = self._kernel(device, values, named)
        if kernel is None or not kernel.operator.device.is_usable:
            return self._function(*values, **named)
        return kernel(tensors)

    def compiled(self, *args: Any, **named: Any) -> CompiledOperator | None:
        """The operator that a call with these arguments runs; its `plan` lists the dispatches.

        None where the steps run one by one: without elements, with too many tensors, or where a
        reduction reads none.
        """
        device = device_of(*args, *named.values())
        values = [x.forward() if isinstance(x, Tensor) else x for x in args]
        kernel = self._kernel(device, values, named)
        return None if kernel is None else kernel.operator

    def _kernel(self, device: Device, values: Sequence[Any], named: Any) -> Kernel | None:
        """The function's kernel; None where its steps must run one by one."""
        key = (id(device.context), *map(_key, values), *((n, _key(v)) for n, v in named.items()))
        try:
            known = key in self._kernels
        except TypeError:
            raise InvalidTypeError(
                "fuse: an argument is neither a tensor nor an array, and not hashable; it must be "
                "one of these, for the trace is kept by it"
            ) from None
        if not known:
            if len(self._kernels) >= MOST_TRACES:
                self._kernels.clear()
            made = drawn(self._function, device, values, named)
            gpu = device.context.gpu
            if made is not None and made.bindings(gpu.max_binding) >= gpu.max_bindings:
                made = None
            self._kernels[key] = None if made is None else Kernel(device.internal(made.chain), made)
        return self._kernels[key]


def _key(value: Any) -> Hashable:
    """What a trace depends on of an argument."""
    return value.layout if isinstance(value, Tensor) else number_key(value)


def fuse(function: Callable[..., Any]) -> Fused:
    """Runs a function of tensors as one kernel: element-wise steps, broadcasts, conversions.

    The function is traced once for each combination of shapes and types, so it must do the same
    steps every time; arguments that are no tensors belong to the combination. The results are
    those of the steps one by one, bit for bit. A reduction may come last, in the same kernel. An
    argument may be indexed by integers and slices that go forward: `x[1:] - x[:-1]` reads `x` where
    it lies.

    >>> f = dml.fuse(lambda x, y: (x - y) * 0.5 + 1)
    >>> f(dml.tensor([3.0, 5.0]), dml.tensor([1.0, 1.0])).tolist()
    [2.0, 3.0]
    """
    if not callable(function):
        raise InvalidTypeError(f"fuse: {type(function).__name__} is not callable")
    return Fused(function)
