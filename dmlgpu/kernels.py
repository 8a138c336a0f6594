"""Own kernels: a caller's WGSL over tensors, as an expression of elements or as a whole shader.

They run in the recording of their device, on memory of its pool, and are rows of its profile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dmlgpu.array.chain import Chain, Constant, Step, converted
from dmlgpu.array.promotion import (
    BOOL,
    DType,
    check_computes,
    check_fits,
    data_type_of,
    dtype_of,
    is_number,
    promoted,
)
from dmlgpu.compiled import View
from dmlgpu.desc.layout import layout_of
from dmlgpu.desc.views import broadcast_shapes, packed
from dmlgpu.device import Device
from dmlgpu.elements import assign, broadcast_sources, operand_key
from dmlgpu.errors import BindingError, InvalidDescError, InvalidTypeError, UnsupportedError, shown
from dmlgpu.functions import device_of
from dmlgpu.gpu.objects import Pipeline
from dmlgpu.gpu.recording import Call
from dmlgpu.plan.values import truth, wgsl_type
from dmlgpu.runtime.context import Context
from dmlgpu.tensor import Tensor

# Names of WGSL that stand where operands could.
_WORDS = frozenset(["true", "false", "f32", "i32", "u32", "bool", "bitcast"])
# Functions of WGSL for single values; no other may be called, so that nothing else is reached.
_FUNCTIONS = (
    "abs acos acosh asin asinh atan atan2 atanh bitcast bool ceil clamp cos cosh countLeadingZeros "
    "countOneBits countTrailingZeros degrees exp exp2 extractBits f32 firstLeadingBit "
    "firstTrailingBit floor fma fract i32 insertBits inverseSqrt ldexp log log2 max min mix pow "
    "quantizeToF16 radians reverseBits round saturate select sign sin sinh smoothstep sqrt step "
    "tan tanh trunc u32"
)
_CALLED = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()")
_BINDING = re.compile(
    r"@(?:group\((?P<group>\d+)\)\s*@binding\((?P<binding>\d+)\)|"
    r"binding\((?P<binding2>\d+)\)\s*@group\((?P<group2>\d+)\))\s*"
    r"var\s*<\s*(?P<kind>[^>]*?)\s*>\s*(?P<name>\w+)\s*:\s*(?P<type>[^;]+);"
)
_ELEMENT = re.compile(r"array\s*<\s*(?:vec[234]\s*<\s*)?(f32|i32|u32|f16)\b")
_TYPES = {"f32": "float32", "i32": "int32", "u32": "uint32", "f16": "float16"}


class Elementwise:
    """A function of elements, written in WGSL; made by `elementwise`."""

    def __init__(self, expression: str, dtype: Any = None, name: str = "elementwise") -> None:
        if not isinstance(expression, str) or not expression.strip():
            raise InvalidTypeError(
                f"elementwise: expression is {shown(expression)}; it must be WGSL, such as 'x * k'"
            )
        if wrong := re.search(r"[;{}@]", expression):
            raise InvalidDescError(
                f"elementwise: expression has {wrong[0]!r}; it must be one expression, and Kernel "
                "takes whole shaders"
            )
        if unknown := sorted(set(_CALLED.findall(expression)) - set(_FUNCTIONS.split())):
            raise InvalidDescError(
                f"elementwise: {unknown[0]} is no function of WGSL for single values; there are "
                + _FUNCTIONS.replace(" ", ", ")
            )
        self.expression = expression
        self.name = name
        self._dtype = None if dtype is None else dtype_of("elementwise: dtype", dtype)
        found = [n for n in _NAME.findall(expression) if n not in _WORDS]
        self.operands: tuple[str, ...] = tuple(dict.fromkeys(found))
        if not self.operands:
            raise InvalidDescError(f"elementwise: {expression!r} names no operand")

    def __repr__(self) -> str:
        return f"elementwise({self.expression!r})"

    def __call__(self, *operands: Any, out: Tensor | None = None, **named: Any) -> Tensor:
        """The expression of these operands, in the order in which it names them, or by name."""
        given = self._read(operands, named)
        device = device_of(*(x for x in (*given, out) if isinstance(x, (Tensor, Device))))
        values = [
            x.forward() if isinstance(x, Tensor) else x if is_number(x) else device.tensor(x)
            for x in given
        ]
        tensors = [x for x in values if isinstance(x, Tensor)]
        key = (self.name, self.expression, self._dtype, *map(operand_key, values))
        known = device.remembered[key]
        if known is None:
            known = self._prepared(device, values, tensors)
            device.remember(key, known)
        made: Tensor = known(*tensors)
        if out is None:
            return made
        if out.shape != made.shape:
            raise InvalidDescError(
                f"{self.name}: out has shape {out.shape}; the result has {made.shape}"
            )
        assign(device, out, made)
        return out

    def _read(self, operands: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        given = dict(zip(self.operands, operands, strict=False))
        wrong = [name for name in named if name not in self.operands or name in given]
        given.update(named)
        if len(operands) > len(self.operands) or wrong or len(given) < len(self.operands):
            raise InvalidTypeError(
                f"{self.name}: {self.expression!r} takes {', '.join(self.operands)}, each once; "
                f"given are {len(operands)} in order and {sorted(named)} by name"
            )
        return [given[name] for name in self.operands]

    def _prepared(self, device: Device, values: Sequence[Any], tensors: Sequence[Tensor]) -> Any:
        common = promoted([x.dtype for x in tensors], [x for x in values if is_number(x)])
        check_computes(self.name, common)
        dtype = common if self._dtype is None else self._dtype
        for kind in (common, dtype):
            if kind.itemsize == 8:
                raise UnsupportedError(
                    f"{self.name}: {kind} has 64 bits, for which WGSL has no arithmetic; use a type"
                    " of 32 bits, or the functions of dmlgpu.numpy"
                )
        if not tensors:
            raise InvalidTypeError(f"{self.name}: no operand is a tensor or an array")
        shape = broadcast_shapes(self.name, [x.shape for x in tensors])
        if 0 in shape:
            return lambda *_: Tensor.without_elements(device, shape, dtype)
        texts: dict[str, str] = {}
        constants: list[Constant] = []
        for name, x in zip(self.operands, values, strict=True):
            if isinstance(x, Tensor):
                count = len(texts) - len(constants)
                texts[name] = converted(f"x{count}", x.dtype, common)
            else:
                check_fits(x, common)
                texts[name] = f"k{len(constants)}"
                constants.append(Constant.of(x, common))
        text = _NAME.sub(lambda m: texts.get(m[0], m[0]), self.expression)
        wanted = data_type_of(dtype)
        text = truth(f"bool({text})") if dtype == BOOL else f"{wgsl_type(wanted)}({text})"
        sources, starts = broadcast_sources([x.layout for x in tensors], shape)
        chain = Chain(
            name=self.name,
            sources=sources,
            starts=starts,
            constants=tuple(constants),
            steps=(Step(text, wanted),),
            output=packed(wanted, shape or (1,)),
        )
        seen = tuple(View(layout_of(desc)) for desc in chain.sources)
        return device.internal(chain).prepared(shape, dtype, views=seen)


def elementwise(
    expression: str, *operands: Any, dtype: Any = None, name: str = "elementwise", **named: Any
) -> Any:
    """A kernel of single elements from one WGSL expression, or its result for operands.

    Names in the expression that are not WGSL's are operands: tensors and arrays, which are
    broadcast, and numbers, all in the type that they have together. `dtype` is the result's.

    >>> axpy = dml.elementwise("x * k + y")
    >>> axpy(dml.tensor([1.0, 2.0]), 3.0, dml.tensor([0.5, 0.5])).tolist()
    [3.5, 6.5]
    >>> dml.elementwise("select(0.0, x, x > low)", x=dml.tensor([1.0, 5.0]), low=2.0).tolist()
    [0.0, 5.0]
    """
    kernel = Elementwise(expression, dtype, name)
    return kernel(*operands, **named) if operands or named else kernel


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable of a shader that a tensor is bound to."""

    number: int
    name: str
    is_written: bool
    is_uniform: bool
    dtype: DType | None  # of the elements, where the shader has an array of scalars


class Kernel:
    """A whole WGSL shader over tensors.

    Every `@group(0) @binding(n) var<storage, ...>` is a tensor, in the order of the numbers or by
    its name, and every `var<uniform>` an array or bytes. `read_write` ones are written in place.
    Tensors are bound packed, so a shader counts their elements in C's order; accesses out of range
    are harmless, as everywhere in WebGPU.

    >>> double = dml.Kernel('''
    ... @group(0) @binding(0) var<storage, read> x: array<f32>;
    ... @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    ... @compute @workgroup_size(64)
    ... fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    ...     if id.x < arrayLength(&y) { y[id.x] = 2.0 * x[id.x]; }
    ... }
    ... ''')
    >>> y = dml.tensor([0.0, 0.0, 0.0])
    >>> double(dml.tensor([1.0, 2.0, 3.0]), y, workgroups=1)
    >>> y.tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(self, wgsl: str, *, entry: str = "main", name: str = "kernel") -> None:
        if not isinstance(wgsl, str):
            raise InvalidTypeError(f"Kernel: wgsl is {type(wgsl).__name__}; it must be text")
        self.wgsl, self.entry, self.name = wgsl, entry, name
        self.bindings: tuple[Binding, ...] = tuple(
            sorted(map(_binding, _BINDING.finditer(wgsl)), key=lambda b: b.number)
        )
        if not any(b.is_written for b in self.bindings):
            raise InvalidDescError(
                f"{name}: the shader has no `@group(0) @binding(n) var<storage, read_write>`, and "
                "so nothing to write"
            )
        self._pipelines: WeakKeyDictionary[Context, Pipeline] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, {', '.join(b.name for b in self.bindings)})"

    def __call__(self, *given: Any, workgroups: int | Sequence[int], **named: Any) -> None:
        """Runs so many workgroups, in one or two dimensions, over these tensors."""
        values = self._read(given, named)
        device = device_of(*(x for x in values if isinstance(x, Tensor)))
        context = device.context
        context.check_usable()
        grid = self._grid(workgroups, context.gpu.max_groups)
        bound = [
            x if b.is_uniform else self._tensor(b, x, device)
            for b, x in zip(self.bindings, values, strict=True)
        ]
        self._check_shared(bound)
        gpu = context.gpu
        with context.lock:
            pipeline = self._pipelines.get(context)
            if pipeline is None:
                pipeline = gpu.pipeline(self.name, self.wgsl, self.entry, {}, is_own=False)
                self._pipelines[context] = pipeline
            entries = []
            for binding, x in zip(self.bindings, bound, strict=True):
                if binding.is_uniform:
                    buffer = gpu.uniform(_uniform(self.name, binding.name, x))
                    entries.append((binding.number, buffer, 0, buffer.size))
                else:
                    size = x.layout.memory.total_tensor_size_in_bytes
                    entries.append((binding.number, x.storage.buffer, x.begin, size))
            group = gpu.bind(f"binding tensors to {self.name}", gpu.layout(pipeline), entries)
            tensors = [x for x in bound if isinstance(x, Tensor)]
            written = [x for b, x in zip(self.bindings, bound, strict=True) if b.is_written]
            context.record(
                Call(
                    self.name,
                    ((pipeline, group, *grid),),
                    tuple({x.key[0]: x.storage for x in tensors}.values()),
                    sum(x.nbytes for x in tensors),
                    tuple(x.storage for x in written),
                    tensors=", ".join(f"{x.dtype} {x.shape}" for x in tensors),
                )
            )
        for binding, x, target in zip(self.bindings, bound, values, strict=True):
            if binding.is_written and x is not target:
                target[...] = x

    def _read(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        names = [b.name for b in self.bindings]
        values = dict(zip(names, given, strict=False))
        wrong = [name for name in named if name not in names or name in values]
        values.update(named)
        if len(given) > len(names) or wrong or len(values) < len(names):
            raise BindingError(
                f"{self.name}: the shader binds {', '.join(names)}, each once; given are "
                f"{len(given)} in order and {sorted(named)} by name"
            )
        return [values[name] for name in names]

    def _grid(self, workgroups: Any, most: int) -> tuple[int, int]:
        counts = workgroups if isinstance(workgroups, (list, tuple)) else (workgroups,)
        is_right = 1 <= len(counts) <= 2 and all(
            isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in counts
        )
        if not is_right or not all(1 <= n <= most for n in counts):
            raise InvalidDescError(
                f"{self.name}: workgroups is {shown(workgroups)}; it must be one or two counts from"
                f" 1 to {most}"
            )
        return int(counts[0]), int(counts[1]) if len(counts) == 2 else 1

    def _tensor(self, binding: Binding, x: Any, device: Device) -> Tensor:
        """What is bound: the tensor, or its packed copy at the start of a buffer."""
        where = f"{self.name}: {binding.name}"
        if not isinstance(x, Tensor):
            if binding.is_written:
                raise BindingError(f"{where} is {type(x).__name__}; what is written is a Tensor")
            x = device.tensor(x, binding.dtype)
        if not x.size:
            raise BindingError(f"{where} has shape {x.shape}, and so no elements to bind")
        if binding.dtype is not None and binding.dtype != x.dtype:
            raise BindingError(
                f"{where} is {x.dtype}; the shader has an array of {binding.dtype} there"
            )
        if binding.is_written and x.layout.is_read_only:
            raise BindingError(f"{where} is a read-only view; give its copy()")
        is_ready = x.layout.is_own and x.layout.is_packed
        is_ready &= x.begin % device.context.gpu.offset_alignment == 0
        tensor: Tensor = x if is_ready else x.copy()
        return tensor

    def _check_shared(self, bound: Sequence[Any]) -> None:
        """WebGPU refuses a buffer that is written and bound once more."""
        written = [x.key[0] for b, x in zip(self.bindings, bound, strict=True) if b.is_written]
        tensors = [
            (b.name, x) for b, x in zip(self.bindings, bound, strict=True) if isinstance(x, Tensor)
        ]
        for serial in written:
            sharing = [name for name, x in tensors if x.key[0] == serial]
            if len(sharing) > 1:
                raise BindingError(
                    f"{self.name}: {' and '.join(sharing)} lie in one buffer, and one of them is "
                    "written; give a copy() of the other"
                )


def _binding(found: re.Match[str]) -> Binding:
    group = found["group"] or found["group2"]
    kinds = [word.strip() for word in found["kind"].split(",")]
    name, number = found["name"], int(found["binding"] or found["binding2"])
    if int(group) or kinds[0] not in ("storage", "uniform"):
        raise InvalidDescError(
            f"Kernel: {name} is var<{found['kind']}> in group {group}; bindings are storage and "
            "uniform variables of group 0"
        )
    element = _ELEMENT.match(found["type"].strip())
    dtype = None if element is None else np.dtype(_TYPES[element[1]])
    return Binding(number, name, "read_write" in kinds, kinds[0] == "uniform", dtype)


def _uniform(kernel: str, name: str, value: Any) -> bytes:
    """The bytes of a uniform variable, whole units of 16 of them."""
    try:
        data = bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else None
        data = np.asarray(value).tobytes() if data is None else data
    except (TypeError, ValueError) as error:
        raise BindingError(f"{kernel}: {name} has no bytes: {error}") from None
    if not data:
        raise BindingError(f"{kernel}: {name} has no bytes")
    return data + bytes(-len(data) % 16)
