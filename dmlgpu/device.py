"""Device: opens an adapter, holds tensors, compiles descriptions and records their calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu import elements, indexed, ordering
from dmlgpu.arguments import is_fixed, key_of
from dmlgpu.array.internal import Internal
from dmlgpu.array.promotion import (
    BOOL,
    INT32,
    INT64,
    data_type_of,
    fits,
    is_number,
    promoted,
)
from dmlgpu.array.uploads import host_array, is_python
from dmlgpu.compiled import CompiledOperator, View
from dmlgpu.desc.cached import Cache
from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.host import described, laid_out, native
from dmlgpu.desc.layout import layout_of
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.levels import feature_level as level_of
from dmlgpu.desc.tensor import TensorDesc, check_desc
from dmlgpu.desc.values import integer
from dmlgpu.desc.views import broadcast, broadcast_shapes, packed
from dmlgpu.errors import BindingError, InvalidDescError, InvalidTypeError, shown
from dmlgpu.gpu.adapters import AdapterInfo
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.memory import Memory
from dmlgpu.gpu.objects import Buffer, WgpuDevice
from dmlgpu.interop import imported
from dmlgpu.ops import BY_DESC, BY_NAME, operator_of
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.operator import validate as validate_by_catalogue
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.index_checks import Reports
from dmlgpu.runtime.profile import Profile, Profiling
from dmlgpu.runtime.readback import ReadBack
from dmlgpu.tensor import Tensor

IMPLICIT = "DMLGPU_IMPLICIT"  # what reads do that nobody wrote down
REMEMBERED_LIMIT = 4096  # arguments of functions that a device knows again
COMPILED_LIMIT = 512  # descriptions whose compiled operator a device keeps


def validate(desc: Any, feature_level: FeatureLevel = FeatureLevel.FL_6_4) -> None:
    """Raises unless `desc` is a valid description at the level; touches no adapter.

    Descriptions of operators that are not built are held against what the catalogue says of them:
    feature levels, and tensors that must agree.
    """
    level = level_of(feature_level)
    operator = BY_DESC.get(type(desc))
    if operator is not None:
        operator.validate(desc, level)
    elif isinstance(desc, Description):
        validate_by_catalogue(desc, level)
    else:
        operator_of(desc)  # says what a description is


class Device:
    """One opened adapter, with its tensors and compiled operators; a context manager.

    `adapter` is part of a name, an entry of `adapters()`, or None: the one that the variable
    DMLGPU_ADAPTER names, else the best. Descriptions are validated against `feature_level`.
    `debug=True` checks index values on the GPU, and the next read or `wait` raises what it found.
    `implicit="raise"`, or the variable DMLGPU_IMPLICIT, refuses reads that nobody wrote down:
    `np.asarray(x)`, `float(x)`, `if x:`. `x.numpy()`, `x.tolist()` and `x.item()` always read.
    Threads may share a device; calls run in the order in which they are made.
    """

    def __init__(
        self,
        adapter: AdapterInfo | str | None = None,
        *,
        feature_level: FeatureLevel = FeatureLevel.FL_6_4,
        debug: bool = False,
        implicit: str | None = None,
    ) -> None:
        level, implicit = level_of(feature_level), _checked_implicit(implicit)
        self._start(Gpu.open(adapter), level, debug, implicit, owned=True)

    @classmethod
    def from_wgpu(
        cls,
        wgpu_device: WgpuDevice,
        *,
        feature_level: FeatureLevel = FeatureLevel.FL_6_4,
        debug: bool = False,
        implicit: str | None = None,
    ) -> Device:
        """A device over a wgpu device made elsewhere; closing it leaves that one open."""
        device = cls.__new__(cls)
        level, implicit = level_of(feature_level), _checked_implicit(implicit)
        device._start(Gpu.share(wgpu_device), level, debug, implicit, owned=False)
        return device

    def _start(
        self, gpu: Gpu, level: FeatureLevel, debug: bool, implicit: str, *, owned: bool
    ) -> None:
        self.adapter: AdapterInfo = gpu.info
        self.feature_level: FeatureLevel = level
        self.debug: bool = bool(debug)
        self.implicit: str = implicit
        self._owned = owned
        self.context: Context = Context(gpu, self.debug)
        self.reports: Reports = Reports(self.context)
        self._read_back = ReadBack(self.context, self.reports)
        self._profiling = Profiling()
        self._compiled: Cache[Description, CompiledOperator] = Cache(COMPILED_LIMIT)
        # Operators by the arguments that need them.
        self.remembered: Cache[Hashable, Any] = Cache(REMEMBERED_LIMIT)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self.is_usable else ", closed" if self.context.closed else ", lost"
        level = self.feature_level.name
        debug = ", debug=True" if self.context.debug else ""
        return f"Device({self.adapter.name!r}, feature_level={level}{debug}{state})"

    def __reduce__(self) -> Any:
        raise InvalidTypeError(
            "a Device belongs to its process and cannot be pickled; open another one there"
        )

    @property
    def wgpu_device(self) -> WgpuDevice:
        """The wgpu.GPUDevice below, for those who share it."""
        return self.context.gpu.device

    def close(self) -> None:
        """Gives the adapter back; the device and its tensors cannot be used any more."""
        context = self.context
        if not context.is_of_this_process:
            return  # it is another process's to close
        with context.lock:
            if context.closed:
                return
            context.gpu.gone, context.closed = True, "the device is closed"
            self._read_back.drain()
            self._compiled.clear()
            self.remembered.clear()
            context.close(self._owned)
            if self._owned:
                context.gpu.device.destroy()

    @property
    def is_usable(self) -> bool:
        """Whether the device is open and belongs to this process."""
        return self.context.is_usable

    @property
    def is_observed(self) -> bool:
        """Whether a read would be noticed: by an open profile, or by debug checks that wait."""
        return self._profiling.recorder is not None or bool(self.reports)

    @property
    def memory(self) -> Memory:
        """Bytes held by tensors and kept for reuse."""
        return self.context.memory()

    @property
    def memory_limit(self) -> int:
        """Most bytes kept for reuse.

        That is half of a GPU's own memory, a quarter of what it shares with the host, and for
        software a 32nd of the host's, unless another limit is set. What was not asked for longest
        goes first. `device.memory_limit = None` is the default again.

        >>> device.memory_limit = 2**30
        >>> device.memory.limit
        1073741824
        """
        return self.context.pool.limit

    @memory_limit.setter
    def memory_limit(self, wanted: int | None) -> None:
        limit = None if wanted is None else integer("memory_limit", wanted, 0, (1 << 63) - 1)
        with self.context.lock:
            self.context.pool.limit = limit

    def release(self) -> None:
        """Gives back all memory that is kept for reuse; waits for the GPU.

        >>> device.release()
        >>> device.memory.pooled
        0
        """
        self.context.check_usable()
        self.context.release()

    def tensor(self, obj: Tensor | npt.ArrayLike, dtype: Any = None) -> Tensor:
        """Uploads an array, or whatever NumPy can view, as a packed tensor.

        Python numbers become float32, int64 (uint64 where only that holds them) or bool; arrays
        keep their type, unless `dtype` says another one.

        >>> device.tensor([[1, 2], [3, 4]]).dtype
        dtype('int64')
        """
        if isinstance(obj, Tensor) and obj.device is self:
            return obj.copy() if dtype is None else obj.astype(dtype)
        values = host_array("array", obj, dtype)
        if not values.size:
            return Tensor.without_elements(self, values.shape, values.dtype)
        desc = packed(data_type_of(values.dtype), values.shape or (1,))
        stored = values.astype(np.uint8) if values.dtype == BOOL else values
        stored = stored.reshape(desc.sizes)
        return self.upload(desc, laid_out(stored, desc)).marked(values.shape, values.dtype)

    def from_dlpack(self, x: Any) -> Tensor:
        """Uploads what another array library exports from CPU memory: `device.from_dlpack(x)`."""
        return self.tensor(imported(x))

    def upload(self, desc: TensorDesc, data: Any) -> Tensor:
        """Uploads raw bytes that lie as `desc` says, padding included.

        >>> padded = dml.TensorDesc(dml.DataType.UINT8, (2, 2), strides=(4, 1))
        >>> device.upload(padded, bytes(range(8))).tolist()
        [[0, 1], [4, 5]]
        """
        check_desc(desc)
        try:
            if "O" in memoryview(data).format:
                raise TypeError("Python objects are no bytes")
            raw = np.frombuffer(data, np.uint8)
        except (TypeError, ValueError, BufferError):
            raise InvalidDescError(
                f"data is {type(data).__name__}; it must be contiguous bytes"
            ) from None
        if raw.nbytes != desc.total_tensor_size_in_bytes:
            raise InvalidDescError(
                f"data has {raw.nbytes} bytes; total_tensor_size_in_bytes is "
                f"{desc.total_tensor_size_in_bytes}"
            )
        context = self.context
        context.check_usable()
        with context.lock:
            lease = context.pool.take_idle(desc.total_tensor_size_in_bytes)
            tensor = Tensor(self, lease, layout_of(desc), 0, whole=True)
            if context.is_recorded(tensor.storage):
                context.recording.submit()  # a write overtakes work that used the buffer before
                tensor.storage.note = None  # nor does it matter what was to lie there
            context.transfers.write(tensor.storage.buffer, 0, raw)
        return tensor

    def empty(self, desc: TensorDesc) -> Tensor:
        """An uninitialised tensor."""
        check_desc(desc)
        self.context.check_usable()
        with self.context.lock:
            lease = self.context.take(desc.total_tensor_size_in_bytes)
        return Tensor(self, lease, layout_of(desc), 0, whole=True)

    def wrap(self, wgpu_buffer: Buffer, desc: TensorDesc, offset: int = 0) -> Tensor:
        """A tensor over part of a wgpu buffer made elsewhere on this device, from byte `offset`.

        Nothing is copied; the buffer's usage needs STORAGE.
        """
        check_desc(desc)
        self.context.check_usable()
        offset = integer("wrap: offset", offset, -(2**63), 2**64 - 1)
        usage, size = getattr(wgpu_buffer, "usage", None), getattr(wgpu_buffer, "size", None)
        if not isinstance(usage, int) or not isinstance(size, int):
            raise BindingError(
                f"wrap: wgpu_buffer is {type(wgpu_buffer).__name__}; it must be a wgpu buffer"
            )
        if offset < 0 or offset % desc.alignment:
            raise BindingError(
                f"wrap: offset is {offset}; it must be a multiple of {desc.alignment}, at least 0"
            )
        total = desc.total_tensor_size_in_bytes
        if offset + total > size:
            raise BindingError(
                f"wrap: offset {offset} plus total_tensor_size_in_bytes {total} is "
                f"{offset + total}; the buffer has {size} bytes"
            )
        self.context.gpu.check_usage(wgpu_buffer)
        with self.context.lock:
            lease = self.context.pool.adopt(wgpu_buffer)
            self.context.transfers.expect(wgpu_buffer)
        return Tensor(self, lease, layout_of(desc), offset)

    # What tensors ask of their device: functions of rooms above theirs, which take it first.
    elementwise = elements.function
    select = elements.select
    cast = elements.cast
    reduce = elements.reduce
    full = elements.filled
    assign = elements.assign
    take = indexed.take
    nonzero = indexed.nonzero
    put = indexed.put

    def sort(self, x: Tensor, axis: int | None, descending: bool = False) -> Tensor:
        """The elements of every line in order."""
        return ordering.sort(x, axis, descending)

    def argsort(self, x: Tensor, axis: int | None, descending: bool = False) -> Tensor:
        """The places that put every line in order, as int64."""
        return ordering.argsort(x, axis, descending)

    def kept(self, desc: Description, make: Callable[[], CompiledOperator]) -> CompiledOperator:
        """The compiled operator of a description, made where it is not among those kept."""
        self.context.check_usable()
        known = self._compiled[desc]
        if known is not None:
            return known
        made = make()
        with self.context.lock:
            known = self._compiled[desc]  # by another thread meanwhile
            if known is None:
                self.keep(made)
            return known or made

    def internal(self, desc: Internal) -> CompiledOperator:
        """The compiled operator of a description that only the library makes; kept."""
        return self.kept(desc, lambda: CompiledOperator(self, desc.record(), desc))

    def compile(self, desc: Any) -> CompiledOperator:
        """Validates a description and returns the operator that runs it; kept for next time."""
        self.context.check_usable()
        try:
            known = self._compiled[desc]
        except Exception:  # not hashable, so not a description; validation names the field
            known = None
        if known is not None:
            return known
        operator = operator_of(desc)
        operator.validate(desc, self.feature_level)
        return self.kept(desc, lambda: CompiledOperator(self, operator, desc))

    def operator(self, name: str, **fields: Any) -> CompiledOperator:
        """The operator of this name, compiled; outputs that are not given are inferred."""
        return self.compile(BY_NAME[name].complete(fields))

    def run(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        """Runs the operator of this name on tensors or arrays, in the description's order.

        Outputs are inferred. Inputs that DirectML wants in one size are broadcast as NumPy does,
        and where DirectML wants leading dimensions of size 1 in a result, it is seen without.
        """
        known, given = self.found(name, inputs, attributes)
        return known(*given)

    def found(
        self, name: str, inputs: Sequence[Any], attributes: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What runs these inputs, remembered or prepared, and the inputs as it takes them."""
        operator = BY_NAME[name]
        fields = operator.inputs
        given = tuple(
            x.described() if isinstance(x, Tensor) else self._given(operator, field, x, inputs)
            for field, x in zip(fields, inputs, strict=False)
        )
        if len(inputs) > len(given):
            names = ", ".join(field.name for field in fields)
            raise BindingError(
                f"{name}: {len(inputs)} inputs given; it takes {len(given)}: {names}"
            )
        try:
            descs = tuple(map(_desc_of, given))
        except InvalidDescError as error:  # a tensor without elements
            raise InvalidDescError(f"{name}: {error}") from None
        values = key_of(*attributes.values())
        is_single = operator.keeps_sizes and not any(map(_has_axes, inputs))
        key = (name, descs, is_single, *attributes, values)
        try:
            known = self.remembered[key]
        except Exception:  # an argument that is not hashable is not an integer: reading says so
            known = None
        if known is None:
            known = self._prepared(operator, descs, attributes, () if is_single else (1,))
            if is_fixed(values):
                self.remember(key, known)
        return known, given

    def _given(self, operator: Operator[Any], field: Field, x: Any, inputs: Sequence[Any]) -> Any:
        """What stands for an input that is no tensor: an array, a list of inputs, or nothing."""
        if x is None:
            if field.optional:
                return None
            raise InvalidTypeError(
                f"{operator.name}: {field.name} is None; it must be a tensor or an array"
            )
        if field.is_array and isinstance(x, (list, tuple)):
            tensors = (
                item if isinstance(item, Tensor) else self.tensor(_alone(field.argument, item))
                for item in x
            )
            return tuple(item.described() for item in tensors)
        if is_python(x):
            alike = operator.alike.get(field.name, ())
            peers = [y for o, y in zip(operator.inputs, inputs, strict=False) if o.name in alike]
            x = _numbers(field.argument, x, peers)
        return native(x, field.argument)

    def _prepared(
        self,
        operator: Operator[Any],
        descs: tuple[Any, ...],
        attributes: dict[str, Any],
        shape: tuple[int, ...],
    ) -> Callable[..., Any]:
        """What runs an operator on inputs that lie so; `shape` is () for results without axes."""
        names = [field.name for field in operator.inputs]
        fields: dict[str, Any] = dict(zip(names, descs, strict=False))
        equal = [name for name in operator.equal_inputs if fields.get(name) is not None]
        sizes = broadcast_shapes(operator.name, [fields[name].sizes for name in equal])
        views: dict[str, TensorDesc] = {}
        for name in equal:
            if fields[name].sizes != sizes:
                views[name] = fields[name] = broadcast(fields[name], sizes)
        compiled = self.operator(operator.name, **fields, **attributes)
        seen = None
        if operator.natural_sizes is not None:
            output: TensorDesc = compiled.desc.output_tensor
            natural = operator.natural_sizes(compiled.desc)
            seen = None if natural == output.sizes else packed(output.data_type, natural)
        if not compiled.makes_one:
            return compiled
        every = tuple(
            View(layout_of(views[n])) if n in views else None for n in names[: len(descs)]
        )
        return compiled.prepared(shape, seen=seen, views=every)

    def keep(self, operator: CompiledOperator) -> None:
        """Puts an operator among those kept: only they have bound calls, so these are bounded."""
        known = self._compiled[operator.desc]
        if known is operator:
            return
        if known is not None:
            known.drop_calls()
        for dropped in self._compiled.put(operator.desc, operator):
            dropped.drop_calls()

    def remember(self, key: Hashable, made: Any) -> None:
        """Keeps an operator under the arguments of the function that needed it; bounded."""
        with self.context.lock:
            self.remembered.put(key, made)

    def flush(self) -> None:
        """Submits what is recorded, so that the GPU starts on it; reads do so themselves."""
        self.context.check_usable()
        with self.context.lock:
            self.context.recording.submit()

    def wait(self) -> None:
        """Returns when the GPU has done everything asked for so far."""
        self.context.check_usable()
        with self.context.lock:
            self.context.transfers.wait()
            self.reports.raise_first()

    def read(self, tensor: Tensor) -> npt.NDArray[Any]:
        """The tensor's bytes, padding included."""
        return self._read_back.read(tensor)

    async def read_async(self, tensor: Tensor) -> npt.NDArray[Any]:
        """`read` for asyncio: a thread waits for the bytes, not the event loop."""
        return await self._read_back.read_async(tensor)

    def profile(self) -> Profile:
        """Measures GPU time: `with device.profile() as p: ...; print(p)`."""
        self.context.check_usable()
        return Profile(self.context, self._profiling)


def _checked_implicit(given: str | None) -> str:
    """What implicit reads do: `allow` or `raise`, by the argument or the environment."""
    wanted = os.environ.get(IMPLICIT, "") or "allow" if given is None else given
    if wanted not in ("allow", "raise"):
        name = IMPLICIT if given is None else "Device: implicit"
        raise InvalidDescError(f"{name} is {shown(wanted)}; it must be 'allow' or 'raise'")
    return wanted


def _numbers(what: str, x: Any, peers: Sequence[Any]) -> npt.NDArray[Any]:
    """Python's numbers as an array, of the type of peers that must have the same, if it can be."""
    values = _alone(what, x)
    dtypes = {y.dtype for y in peers if hasattr(y, "dtype")}
    if not dtypes:
        numbers = (_alone(what, y).dtype for y in peers if is_python(y))
        return host_array(what, x, promoted([values.dtype, *numbers]))
    wanted = promoted([*dtypes], [values.dtype.type(0).item()])
    return host_array(what, x, wanted) if dtypes == {wanted} else values


def _alone(what: str, x: Any) -> npt.NDArray[Any]:
    """Numbers as an input of an operator: integers of 32 bits, which every level has, if they fit.

    Arrays keep their type, as everywhere.
    """
    values = host_array(what, x)
    if values.dtype == INT64 and is_python(x):
        ends = (values.min(), values.max()) if values.size else ()
        return values.astype(INT32) if all(fits(int(n), INT32) for n in ends) else values
    return values


def _has_axes(x: Any) -> bool:
    """Whether what is given as an input is more than one element without dimensions."""
    if x is None or is_number(x):
        return False
    return isinstance(x, (list, tuple)) or np.ndim(x) > 0


def _desc_of(x: Any) -> Any:
    """The description of a tensor or an array, or of each in a list."""
    if isinstance(x, Tensor):
        return x.desc
    if isinstance(x, tuple):
        return tuple(map(_desc_of, x))
    return None if x is None else described(x)
