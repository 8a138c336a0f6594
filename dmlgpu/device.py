"""Device: opens an adapter, holds tensors, compiles descriptions and records their calls."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.levels import FeatureLevel, feature_level
from dmlgpu.desc.tensor import DataType, TensorDesc, as_array, check_desc, integer
from dmlgpu.errors import (
    BindingError,
    DeviceError,
    DeviceLostError,
    InvalidDescError,
    OutOfMemoryError,
)
from dmlgpu.gpu.adapter import AdapterInfo
from dmlgpu.gpu.foreign import check
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.interrupt import uninterrupted
from dmlgpu.gpu.memory import Lease, Memory, Pool, Storage
from dmlgpu.gpu.recording import Call, Recording
from dmlgpu.interop import imported
from dmlgpu.ops import BY_DESC
from dmlgpu.plan.operator import Dispatch
from dmlgpu.runtime.compiled import CompiledOperator
from dmlgpu.runtime.dump import dump_wgsl
from dmlgpu.runtime.index_checks import Reports
from dmlgpu.runtime.profile import Profile, Recorder
from dmlgpu.runtime.readback import Reads
from dmlgpu.tensor import Tensor, laid_out
from dmlgpu.wgsl.assembly import Access, Shader, assemble

COMPILED_LIMIT = 512  # descriptions whose compiled operator a device keeps
PIPELINE_LIMIT = 512  # compiled shaders a device keeps
NUMBERED_LIMIT = 1 << 16  # tensor descriptions a device has numbers for
POOL_LIMIT = {True: 1 << 30, False: 8 << 30}  # bytes kept for reuse, on a CPU and on a GPU


def validate(desc: Any, feature_level: FeatureLevel = FeatureLevel.FL_6_4) -> None:
    """Raises unless `desc` is a valid description at the level; touches no adapter."""
    operator_of(desc).validate(desc, _level(feature_level))


_level = feature_level


def operator_of(desc: Any) -> Any:
    """The operator a description belongs to."""
    operator = BY_DESC.get(type(desc))
    if operator is None:
        known = ", ".join(sorted(d.__name__ for d in BY_DESC))
        raise InvalidDescError(f"desc is {type(desc).__name__}; it must be one of {known}")
    return operator


class Device:
    """One opened adapter, with its tensors and compiled operators; a context manager.

    `adapter` is part of a name, an entry of `adapters()`, or None: the one that the variable
    DMLGPU_ADAPTER names, else the best. Descriptions are validated against `feature_level`.
    `debug=True` checks index values on the GPU, and the next read or `wait` raises what it found.
    Threads may share a device; calls run in the order in which they are made.
    """

    def __init__(
        self,
        adapter: AdapterInfo | str | None = None,
        *,
        feature_level: FeatureLevel = FeatureLevel.FL_6_4,
        debug: bool = False,
    ) -> None:
        level = _level(feature_level)
        self._start(Gpu.open(adapter), level, debug, owned=True)

    @classmethod
    def from_wgpu(
        cls,
        wgpu_device: Any,
        *,
        feature_level: FeatureLevel = FeatureLevel.FL_6_4,
        debug: bool = False,
    ) -> Device:
        """A device over a wgpu device made elsewhere; closing it leaves that one open."""
        device = cls.__new__(cls)
        device._start(Gpu.share(wgpu_device), _level(feature_level), debug, owned=False)
        return device

    def _start(self, gpu: Gpu, level: FeatureLevel, debug: bool, *, owned: bool) -> None:
        self.adapter: AdapterInfo = gpu.info
        self.feature_level: FeatureLevel = level
        self.debug: bool = bool(debug)
        self.gpu: Any = gpu
        self.lock: threading.RLock = threading.RLock()
        self._owned = owned
        self._process = os.getpid()
        self._closed = ""
        self.profiling: Recorder | None = None
        self.recording: Recording = gpu.recording
        self.notes: dict[int, str] = gpu.recording.notes
        # Takes a bound call; the lock must be held.
        self.record: Callable[[Call], None] = gpu.recording.append
        self._numbers: dict[TensorDesc, int] = {}
        self._next_number = count()
        self._pipelines: OrderedDict[Any, Any] = OrderedDict()
        self._compiled: OrderedDict[Any, CompiledOperator] = OrderedDict()
        self.remembered: dict[Any, CompiledOperator] = {}  # by the arguments of a function
        self.reports: Reports = Reports(self)
        self.reads: Reads = Reads(self)
        self._scratch: dict[int | str, Lease] = {}
        self._uses: dict[int, dict[tuple[int, Any], CompiledOperator]] = {}
        self._pool = Pool(gpu.buffer, self, POOL_LIMIT[gpu.facts.is_cpu], gpu.max_buffer)
        # Room for so many bytes; the lock must be held.
        self.take: Callable[[int], Lease] = self._pool.take

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Device({self.adapter.name!r}, feature_level={self.feature_level.name})"

    def close(self) -> None:
        """Gives the adapter back; the device and its tensors cannot be used any more."""
        if os.getpid() != self._process:
            return  # it is another process's to close
        with self.lock:
            if self._closed:
                return
            self._closed = "the device is closed"
            self.reads.drain()
            self._compiled.clear()
            self.remembered.clear()
            self._pipelines.clear()
            self.gpu.close()
            if self._owned:
                self.gpu.device.destroy()

    @property
    def is_usable(self) -> bool:
        """Whether the device is open and belongs to this process."""
        gone = self._closed or self.gpu.lost or self.gpu.is_destroyed
        return not gone and os.getpid() == self._process

    def check_usable(self) -> None:
        """Raises when the device is closed, lost, or belongs to another process."""
        gpu = self.gpu
        if self._closed or gpu.lost or gpu.is_destroyed:
            raise DeviceLostError(self._closed or gpu.lost or "the wgpu device was destroyed")
        self._check_process()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise DeviceError(
                "this device was made in another process; make a new Device after fork"
            )

    def desc_number(self, desc: TensorDesc) -> int:
        """A small number that stands for a description wherever equality is all that matters."""
        number = self._numbers.get(desc)
        if number is None:
            if len(self._numbers) >= NUMBERED_LIMIT:
                self._numbers.clear()  # numbers go on rising: none ever means two descriptions
            number = self._numbers.setdefault(desc, next(self._next_number))
        return number

    @property
    def memory(self) -> Memory:
        """Bytes held by tensors and kept for reuse."""
        self._check_process()
        with self.lock:
            return self._pool.memory()

    def tensor(self, array: Tensor | npt.ArrayLike) -> Tensor:
        """Uploads an array, or whatever NumPy can view, as a packed tensor.

        >>> device.tensor([[1, 2], [3, 4]]).shape
        (2, 2)
        """
        values = as_array("array", array)
        desc = TensorDesc(DataType.from_numpy(values.dtype), values.shape or (1,))
        values = values.astype(desc.data_type.numpy, copy=False).reshape(desc.sizes)
        return self.upload(desc, laid_out(values, desc))

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
        tensor = self.empty(desc)
        with self.lock:
            if self.is_recorded(tensor.storage):
                self.recording.submit()  # a write overtakes work that used the buffer before
            self.gpu.write(tensor.buffer, 0, raw)
        return tensor

    def empty(self, desc: TensorDesc) -> Tensor:
        """An uninitialised tensor."""
        check_desc(desc)
        self.check_usable()
        with self.lock:
            lease = self._pool.take(desc.total_tensor_size_in_bytes)
        return Tensor(self, lease, desc, 0, whole=True)

    def wrap(self, wgpu_buffer: Any, desc: TensorDesc, offset: int = 0) -> Tensor:
        """A tensor over part of a wgpu buffer made elsewhere on this device, from byte `offset`.

        Nothing is copied; the buffer's usage needs STORAGE.
        """
        check_desc(desc)
        self.check_usable()
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
        self.gpu.check_usage(wgpu_buffer)
        with self.lock:
            lease = self._pool.adopt(wgpu_buffer)
        return Tensor(self, lease, desc, offset)

    def compile(self, desc: Any) -> CompiledOperator:
        """Validates a description and returns the operator that runs it; kept for next time."""
        self.check_usable()
        try:
            known = self._compiled.get(desc)
        except Exception:  # not hashable, so not a description; validation names the field
            known = None
        if known is not None:
            return known
        operator = operator_of(desc)
        operator.validate(desc, self.feature_level)
        compiled = CompiledOperator(self, operator, desc)
        with self.lock:
            known = self._compiled.get(desc)  # by another thread meanwhile
            if known is None:
                self.keep(compiled)
            return known or compiled

    def keep(self, operator: CompiledOperator) -> None:
        """Puts an operator among those kept: only they have bound calls, so these are bounded."""
        known = self._compiled.get(operator.desc)
        if known is operator:
            return
        if known is not None:
            known.drop_calls()
        self._compiled[operator.desc] = operator
        if len(self._compiled) > COMPILED_LIMIT:
            with uninterrupted():  # finalizers of wgpu swallow a Ctrl-C
                oldest = next(iter(self._compiled))
                self._compiled[oldest].drop_calls()
                del self._compiled[oldest]

    def remember(self, key: Any, operator: CompiledOperator) -> None:
        """Keeps an operator under the arguments of the function that needed it; bounded."""
        with self.lock:
            if len(self.remembered) >= COMPILED_LIMIT:
                self.remembered.clear()
            self.remembered[key] = operator

    def flush(self) -> None:
        """Submits what is recorded, so that the GPU starts on it; reads do so themselves."""
        self.check_usable()
        with self.lock:
            self.recording.submit()

    def wait(self) -> None:
        """Returns when the GPU has done everything asked for so far."""
        self.check_usable()
        with self.lock:
            self.gpu.wait()
            self.reports.raise_first()

    def read(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The tensor's bytes, padding included."""
        self.check_usable()
        size = tensor.desc.total_tensor_size_in_bytes
        try:
            raw = np.empty(size, np.uint8)
        except MemoryError:
            raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
        with self.lock:
            self.check_intact(tensor)
            self.gpu.read(tensor.buffer, tensor.offset, raw)
            self.reports.raise_first()
        return raw

    def check_intact(self, tensor: Tensor) -> None:
        """Raises when the tensor's bytes are lost; submits first, for then it is known."""
        if self.notes:
            self.recording.submit()
            check(self.notes, tensor.buffer, tensor.storage.serial, "the tensor")

    def profile(self) -> Profile:
        """Measures GPU time: `with device.profile() as p: ...; print(p)`."""
        self.check_usable()
        return Profile(self)

    def is_recorded(self, storage: Storage) -> bool:
        """Whether recorded but unsubmitted work uses it."""
        return storage.batch == self.recording.number

    def finish(self) -> None:
        """Returns when the GPU is idle, or there is not even the memory to ask it."""
        with contextlib.suppress(OutOfMemoryError):
            self.gpu.wait()

    def probe(self, buffer: Any) -> None:
        """Raises when a buffer made elsewhere cannot be used."""
        self.gpu.probe(buffer)

    def scratch(self, place: int | str, size: int) -> Lease:
        """Memory for the inside of one call, which all share in turn; by name, zeros at first."""
        lease = self._scratch.get(place)
        if lease is None or lease.storage.size < size:
            if lease is not None:
                self.forget(lease.storage.serial)
            new = self._pool.take if isinstance(place, int) else self._pool.fresh
            lease = self._scratch[place] = new(size)
        return lease

    def pipeline(self, dispatch: Dispatch, access: Mapping[str, Access]) -> tuple[Any, Shader]:
        """The pipeline of a dispatch whose tensors are reached as `access` says; kept."""
        key = (
            dispatch.shader,
            tuple(sorted(dispatch.slots.items())),
            dispatch.entry,
            tuple(sorted(dispatch.constants.items())),
            tuple(sorted(access.items(), key=lambda item: item[0])),
        )
        found = self._pipelines.get(key)
        if found is None:
            shader = assemble(dispatch.shader, dispatch.slots, access)
            dump_wgsl(shader, dispatch)
            pipeline = self.gpu.pipeline(shader, dispatch.entry, dispatch.constants)
            found = self._pipelines[key] = (pipeline, shader)
            if len(self._pipelines) > PIPELINE_LIMIT:
                self._pipelines.popitem(last=False)  # calls bound to it keep it
        return found

    def remember_use(self, serials: Iterable[int], operator: CompiledOperator, key: Any) -> None:
        """Notes that a kept call uses these buffers, to be dropped when one of them goes."""
        for serial in serials:
            self._uses.setdefault(serial, {})[id(operator), key] = operator

    def forget_use(self, serials: Iterable[int], operator: CompiledOperator, key: Any) -> None:
        """The kept call is gone."""
        for serial in serials:
            uses = self._uses.get(serial)
            if uses is not None:
                uses.pop((id(operator), key), None)
                if not uses:
                    del self._uses[serial]

    def forget(self, serial: int) -> None:
        """A buffer is gone: so are the calls that were bound to it."""
        for (_, key), operator in list(self._uses.get(serial, {}).items()):
            operator.drop_call(key)
        self._uses.pop(serial, None)
