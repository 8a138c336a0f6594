"""The one module that speaks to wgpu: adapters, buffers, pipelines, recording, read-back.

Every error of wgpu is turned into one of this library's here, so none reaches a caller.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import wgpu

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, OutOfMemoryError
from dmlgpu.operator import Adapter
from dmlgpu.transfer import Transfers
from dmlgpu.wgsl import Shader

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
_UNIFORM = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
_READ = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST

_WANTED_FEATURES = ("subgroup", "timestamp-query")
MAPPABLE = "mappable-primary-buffers"  # tensors can be mapped themselves; only wise on a CPU
NVIDIA = 0x10DE  # PCI vendor number
_KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "cpu"}
_PREFERENCE = ("discrete", "integrated", "unknown", "cpu")


@dataclass(frozen=True)
class AdapterInfo:
    """One adapter of this machine."""

    name: str
    kind: str  # discrete, integrated, cpu, unknown
    backend: str  # Vulkan, Metal, D3D12, OpenGL
    driver: str
    index: int  # in the order the machine lists them

    def __str__(self) -> str:
        driver = f", {self.driver}" if self.driver else ""
        return f"{self.name} ({self.kind}, {self.backend}{driver})"


def _describe(index: int, adapter: Any) -> AdapterInfo:
    info = adapter.info
    return AdapterInfo(
        name=str(info.get("device") or info.get("description") or "unnamed adapter"),
        kind=_KINDS.get(str(info.get("adapter_type")), "unknown"),
        backend=str(info.get("backend_type")),
        driver=str(info.get("description") or ""),
        index=index,
    )


@cache
def _listed() -> tuple[tuple[AdapterInfo, Any], ...]:
    """Adapters that can run compute shaders with storage buffers, in the machine's order.

    Asking is slow (up to a second) and the answer does not change, so it is asked once.
    """
    with translated("listing adapters"):
        found = wgpu.gpu.enumerate_adapters_sync()
    described = [(_describe(i, a), a) for i, a in enumerate(found)]
    modern = [pair for pair in described if pair[0].backend not in ("OpenGL", "OpenGLES")]
    return tuple(modern or described)


def _subgroup_sizes(info: Mapping[str, Any]) -> tuple[int, int]:
    """Fewest and most lanes a subgroup can have; wgpu reports no more than a bound for all GPUs."""
    by_vendor = {NVIDIA: (32, 32), 0x1002: (32, 64), 0x106B: (32, 32), 0x8086: (8, 32)}
    return by_vendor.get(int(info.get("vendor_id", 0)), (4, 128))


def adapters() -> list[AdapterInfo]:
    """What this machine has."""
    return [info for info, _ in _listed()]


def choose(wanted: AdapterInfo | str | None) -> tuple[AdapterInfo, Any]:
    """The adapter asked for, by entry or part of a name; else DMLGPU_ADAPTER's, else the best."""
    listed = _listed()
    if not listed:
        raise DeviceError(
            "no GPU adapter found; install a Vulkan driver (on Debian or Ubuntu the package "
            "mesa-vulkan-drivers gives a software one)"
        )
    asked = "adapter"
    if wanted is None and os.environ.get("DMLGPU_ADAPTER"):
        wanted, asked = os.environ["DMLGPU_ADAPTER"], "DMLGPU_ADAPTER"
    if wanted is None or wanted == "":
        return min(listed, key=lambda pair: _PREFERENCE.index(pair[0].kind))
    if isinstance(wanted, AdapterInfo):
        matches = [pair for pair in listed if pair[0] == wanted]
    elif isinstance(wanted, str):
        matches = [pair for pair in listed if wanted.lower() in str(pair[0]).lower()]
    else:
        raise DeviceError(
            f"adapter is {wanted!r}; it must be None, part of a name or an entry of adapters()"
        )
    if not matches:
        have = "; ".join(str(info) for info, _ in listed)
        raise DeviceError(f"{asked} is {str(wanted)!r}; this machine has: {have}")
    return matches[0]


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns whatever wgpu raises while `doing` something into an error of this library."""
    try:
        yield
    except wgpu.GPUOutOfMemoryError as error:
        raise OutOfMemoryError(f"out of GPU memory while {doing}: {_first_line(error)}") from None
    except (wgpu.GPUError, RuntimeError, ValueError, OSError) as error:
        raise _as_device_error(doing, error) from None


def _as_device_error(doing: str, error: Exception) -> DeviceError:
    if isinstance(error, DeviceError):
        return error
    text = str(error).lower()
    if "lost" in text or "destroyed" in text or "parent device" in text:
        return DeviceLostError(f"the GPU device was lost while {doing}")
    return DeviceError(f"the adapter failed while {doing}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("Caused by", "Validation Error"))]
    return (kept or lines or [type(error).__name__])[0].rstrip(".")


class Gpu:
    """One wgpu device with its limits, one open recording, and kept staging memory."""

    def __init__(self, info: AdapterInfo, device: Any) -> None:
        self.info: AdapterInfo = info
        self.device: Any = device
        limits = device.limits
        self.max_buffer: int = int(limits["max-buffer-size"])
        self.max_binding: int = int(limits["max-storage-buffer-binding-size"])
        self.max_bindings: int = int(limits["max-storage-buffers-per-shader-stage"])
        self.offset_alignment: int = int(limits["min-storage-buffer-offset-alignment"])
        self.max_groups: int = int(limits["max-compute-workgroups-per-dimension"])
        features = set(device.features)
        adapter = device.adapter
        lanes = _subgroup_sizes(adapter.info) if "subgroup" in features else (0, 0)
        self.facts: Adapter = Adapter(
            is_cpu=info.kind == "cpu",
            subgroup_min=lanes[0],
            subgroup_max=lanes[1],
            exact_halves=int(adapter.info.get("vendor_id", 0)) == NVIDIA,
            keeps_running=info.kind == "discrete" and info.backend in ("Vulkan", "D3D12"),
            max_workgroup_size=int(limits["max-compute-invocations-per-workgroup"]),
            max_workgroup_storage=int(limits["max-compute-workgroup-storage-size"]),
        )
        self.queue: Any = device.queue
        direct = self.facts.is_cpu and MAPPABLE in features
        self._storage_usage = (
            STORAGE | (wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.MAP_WRITE) * direct
        )
        self.recorded: int = 0
        self.lost: str = ""  # what was being done when the device went away
        self._encoder: Any = None
        self._pass: Any = None
        self._pipeline: Any = None
        self._transfers = Transfers(self)
        self._marker: Any = None  # a copy between these two is done when all before it is

    @classmethod
    def open(cls, wanted: AdapterInfo | str | None) -> Gpu:
        """Opens the adapter asked for with all the room it has."""
        info, adapter = choose(wanted)
        features = [f for f in _WANTED_FEATURES if f in adapter.features]
        if info.kind == "cpu" and MAPPABLE in adapter.features:
            features.append(MAPPABLE)
        limits = {
            name: value
            for name, value in adapter.limits.items()
            if name.startswith(("max-buffer", "max-storage-buffer", "max-compute", "min-storage"))
        }
        with translated(f"opening {info.name}"):
            device = adapter.request_device_sync(required_features=features, required_limits=limits)
        return cls(info, device)

    @classmethod
    def share(cls, device: Any) -> Gpu:
        """Wraps a wgpu device made elsewhere."""
        if not isinstance(device, wgpu.GPUDevice):
            raise DeviceError(
                f"wgpu_device is {type(device).__name__}; it must be a wgpu.GPUDevice"
            )
        return cls(_describe(-1, device.adapter), device)

    @contextlib.contextmanager
    def _doing(self, doing: str) -> Iterator[None]:
        """`translated`, and the loss of the device is remembered."""
        try:
            with translated(doing):
                yield
        except DeviceLostError as error:
            raise self._noted(error) from None

    def _noted(self, error: DeviceError) -> DeviceError:
        if isinstance(error, DeviceLostError):
            self.lost = str(error)
        return error

    def buffer(self, size: int, what: str = "a tensor") -> Any:
        """A new storage buffer of `size` bytes."""
        if size > self.max_buffer:
            raise OutOfMemoryError(
                f"{what} needs a buffer of {size} bytes; {self.info.name} allows {self.max_buffer}"
            )
        with self._doing(f"allocating {size} bytes"):
            return self.device.create_buffer(size=size, usage=self._storage_usage)

    def check_usage(self, buffer: Any) -> None:
        """Raises unless tensors can lie in a buffer made elsewhere."""
        if not isinstance(buffer, wgpu.GPUBuffer):
            raise BindingError(f"wrap: {type(buffer).__name__} is not a wgpu.GPUBuffer")
        if buffer._device is not self.device:
            raise BindingError("wrap: the buffer belongs to another wgpu device")
        if not buffer.usage & wgpu.BufferUsage.STORAGE:
            raise BindingError("wrap: the buffer's usage lacks STORAGE, which every tensor needs")

    def uniform(self, data: bytes) -> Any:
        """A uniform buffer holding `data`."""
        with self._doing("making a uniform buffer"):
            return self.device.create_buffer_with_data(data=data, usage=_UNIFORM)

    def pipeline(self, shader: Shader, entry: str, constants: Mapping[str, int]) -> Any:
        """A compute pipeline; a shader the driver refuses is named with the driver."""
        try:
            module = self.device.create_shader_module(label=shader.label, code=shader.text)
            compute = {"module": module, "entry_point": entry, "constants": dict(constants)}
            return self.device.create_compute_pipeline(layout="auto", compute=compute)
        except wgpu.GPUOutOfMemoryError:
            raise OutOfMemoryError(f"out of GPU memory while compiling {shader.label}") from None
        except (wgpu.GPUError, RuntimeError) as error:
            lost = _as_device_error(f"compiling {shader.label}", error)
            if isinstance(lost, DeviceLostError):
                raise self._noted(lost) from None
            detail = " ".join(str(error).split())
            raise DeviceError(
                f"{shader.label} does not compile on {self.info}: {detail[:600]}"
            ) from None

    def bind_group(
        self,
        pipeline: Any,
        uniforms: list[tuple[int, Any]],
        ranges: list[tuple[int, Any, int, int]],
    ) -> Any:
        """A bind group of uniform (binding, buffer) and storage (binding, buffer, offset, size)."""
        entries = [
            {"binding": binding, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for binding, buffer in uniforms
        ]
        entries += [
            {"binding": binding, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for binding, buffer, offset, size in ranges
        ]
        with self._doing("binding tensors"):
            layout = pipeline.get_bind_group_layout(0)
            return self.device.create_bind_group(layout=layout, entries=entries)

    def dispatch(self, pipeline: Any, bind_group: Any, x: int, y: int) -> None:
        """Records one dispatch."""
        try:
            open_pass = self._pass
            if open_pass is None:
                open_pass = self._open_pass()
            if self._pipeline is not pipeline:
                open_pass.set_pipeline(pipeline)
                self._pipeline = pipeline
            open_pass.set_bind_group(0, bind_group)
            open_pass.dispatch_workgroups(x, y)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self._noted(_as_device_error("recording a dispatch", error)) from None
        self.recorded += 1

    def _open_pass(self) -> Any:
        if self._encoder is None:
            self._encoder = self.device.create_command_encoder()
        self._pass = self._encoder.begin_compute_pass()
        self._pipeline = None
        return self._pass

    def copy(self, source: Any, at: int, target: Any, to: int, size: int) -> None:
        """Records a copy of `size` bytes between buffers."""
        with self._doing("recording a copy"):
            self.outside_pass().copy_buffer_to_buffer(source, at, target, to, size)
        self.recorded += 1

    def outside_pass(self) -> Any:
        """The open encoder, outside any pass."""
        if self._pass is not None:
            self._pass.end()
            self._pass = self._pipeline = None
        if self._encoder is None:
            self._encoder = self.device.create_command_encoder()
        return self._encoder

    def in_pass(self, timestamp_writes: Mapping[str, Any], record: Callable[[], None]) -> None:
        """Lets `record` fill a pass of its own that writes timestamps at both ends."""
        with self._doing("recording a timed pass"):
            self._pass = self.outside_pass().begin_compute_pass(timestamp_writes=timestamp_writes)
        record()
        with self._doing("recording a timed pass"):
            self.outside_pass()

    def timestamps(self, count: int) -> tuple[Any, Any]:
        """A set of timestamp queries and the buffer they are resolved into."""
        with self._doing("making timestamp queries"):
            queries = self.device.create_query_set(type="timestamp", count=count)
            usage = "QUERY_RESOLVE|COPY_SRC"
            return queries, self.device.create_buffer(size=8 * count, usage=usage)

    @property
    def timestamp_period(self) -> float:
        """Nanoseconds of one tick of the timestamps: 1 on some adapters, 10 or 83.3 on others."""
        native = wgpu.backends.wgpu_native.lib
        return float(native.wgpuQueueGetTimestampPeriod(self.queue._internal))

    def resolve(self, queries: Any, count: int, target: Any) -> None:
        """Records that the first `count` timestamps go to a buffer."""
        with self._doing("resolving timestamps"):
            self.outside_pass().resolve_query_set(queries, 0, count, target, 0)

    def flush(self) -> None:
        """Submits what is recorded."""
        if self._encoder is None:
            return
        encoder, self._encoder = self._encoder, None
        with self._doing("submitting work"):
            if self._pass is not None:
                self._pass.end()
                self._pass = self._pipeline = None
            self.queue.submit([encoder.finish()])
        self.recorded = 0

    def write(self, buffer: Any, offset: int, data: np.ndarray[Any, Any]) -> None:
        """Writes host bytes into a buffer that nothing recorded but unsubmitted uses."""
        with self._doing(f"uploading {data.nbytes} bytes"):
            self._transfers.write(buffer, offset, data)

    def read(self, buffer: Any, offset: int, target: np.ndarray[Any, Any]) -> None:
        """Fills `target` (bytes) from a buffer, after everything recorded so far."""
        with self._doing(f"reading back {target.nbytes} bytes"):
            self._transfers.read(buffer, offset, target)

    def staging(self, size: int) -> Any:
        """A buffer that is copied to and then fetched, once."""
        with self._doing(f"allocating {size} bytes to read back"):
            return self.device.create_buffer(size=size, usage=_READ)

    def fetch(self, staging: Any, target: np.ndarray[Any, Any]) -> None:
        """Fills `target` (bytes) when the copies submitted to a staging buffer are done; drops it.

        Needs no lock: other threads may record and submit meanwhile.
        """
        with self._doing(f"reading back {target.nbytes} bytes"):
            self._transfers.fetch(staging, target)
            staging.destroy()

    def wait(self) -> None:
        """Returns when everything recorded so far is done."""
        with self._doing("waiting for the GPU"):
            if self._marker is None:
                ahead = self.device.create_buffer(size=16, usage=wgpu.BufferUsage.COPY_SRC)
                self._marker = (ahead, self.device.create_buffer(size=16, usage=_READ))
            ahead, marker = self._marker
            self.outside_pass().copy_buffer_to_buffer(ahead, 0, marker, 0, 16)
            self.flush()
            marker.map_sync(wgpu.MapMode.READ, 0, 16)
            marker.unmap()

    def close(self) -> None:
        """Drops the recording and the staging memory."""
        self._encoder = self._pass = self._pipeline = None
        self._transfers.close()
        self._marker = None
