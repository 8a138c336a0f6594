"""Gpu: one wgpu device, its limits, and the making of buffers, pipelines and bind groups."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Mapping, Sequence
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import wgpu
from wgpu import classes

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, DmlError, OutOfMemoryError
from dmlgpu.gpu.adapters import (
    NVIDIA,
    AdapterInfo,
    check_not_forked,
    choose,
    described,
    noting_use,
    quiet_warnings,
    subgroup_sizes,
)
from dmlgpu.gpu.objects import (
    MAPPABLE,
    STORAGE,
    UNIFORM,
    BindGroup,
    Buffer,
    Layout,
    Pipeline,
    QuerySet,
)
from dmlgpu.gpu.private import (
    READ,
    HostMap,
    bound,
    device_of,
    in_thread,
    poller,
    see,
    stays_mapped,
    timestamp_period,
    trusted_module,
    warm_up,
)
from dmlgpu.gpu.translate import reason, translated, translation

CHECKED = "DMLGPU_CHECKED"  # =1: the environment asks for checks in every kernel
LEAST_BINDING = 1024  # bytes
MAPPED_IN_PLACE = "mappable-primary-buffers"  # tensors themselves can be mapped
SEEN = 4 << 20  # bytes of a GPU's tensor that the host sees
FEW = 256 << 10  # bytes of a tensor that it sees in any case
SEEN_IN_ALL = 64 << 20  # bytes of all larger ones: of many GPUs the host sees no more than 256 MiB
_WANTED_FEATURES = ("subgroup", "timestamp-query", "shader-int64", MAPPED_IN_PLACE)


def _refusal(label: str, text: str, info: AdapterInfo, told: str) -> str:
    """Says which shader, which line of it and which driver do not go together."""
    place = re.search(r"wgsl:(\d+):\d+", told)
    fault = re.search(r"error: (.+)", told)
    if place is None:
        return f"{label} does not compile on {info}: {reason(told)}"
    number = int(place[1])
    line = text.splitlines()[number - 1].strip()
    why = fault[1] if fault else reason(told)
    return f"{label} line {number}, `{line}`, does not compile on {info}: {why}"


_opened: WeakSet[Gpu] = WeakSet()


def _after_fork() -> None:
    """In a child: the devices of its parent are not its own."""
    for gpu in list(_opened):
        gpu.gone = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Doing:
    """Something that is done with a device; see `Gpu.doing`."""

    __slots__ = ("_gpu", "_what")

    def __init__(self, gpu: Gpu, what: str) -> None:
        self._gpu = gpu
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            told = translation(self._what, error) or error
            if isinstance(told, DeviceLostError):
                self._gpu.gone, self._gpu.lost = True, str(told)
            elif isinstance(told, Exception) and self._gpu.is_destroyed:
                # wgpu-py stumbles over a destroyed device in many ways.
                told = DeviceLostError(f"the GPU device was lost while {self._what}")
                self._gpu.gone, self._gpu.lost = True, str(told)
            if told is not error:
                raise told from None


class Gpu:
    """One wgpu device: its limits, and the making of buffers, pipelines and bind groups."""

    def __init__(self, info: AdapterInfo, device: classes.GPUDevice) -> None:
        self.info: AdapterInfo = info
        self.device: classes.GPUDevice = device
        self.poller = poller(device)  # returns None once the wgpu device is destroyed
        limits = device.limits
        self.max_buffer: int = int(limits["max-buffer-size"])
        self.max_binding: int = int(limits["max-storage-buffer-binding-size"])
        self.max_bindings: int = int(limits["max-storage-buffers-per-shader-stage"])
        self.offset_alignment: int = int(limits["min-storage-buffer-offset-alignment"])
        self.max_groups: int = int(limits["max-compute-workgroups-per-dimension"])
        features = set(device.features)
        adapter = device.adapter
        lanes = subgroup_sizes(adapter.info) if "subgroup" in features else (0, 0)
        self.subgroup_min, self.subgroup_max = lanes
        self.is_cpu: bool = info.kind == "cpu"
        self.exact_floats: bool = int(adapter.info.get("vendor_id", 0)) == NVIDIA
        self.wide_integers: bool = "shader-int64" in features
        # WGSL lets a store to one word of a vector store all of them, which Metal does.
        self.stores_words: bool = info.backend in ("Vulkan", "D3D12") and sys.platform != "darwin"
        self.max_workgroup_size: int = int(limits["max-compute-invocations-per-workgroup"])
        self.max_workgroup_storage: int = int(limits["max-compute-workgroup-storage-size"])
        self.has_timestamps: bool = "timestamp-query" in features
        self.queue: classes.GPUQueue = device.queue
        self.stays_mapped: bool = stays_mapped(device)
        sees = self.stays_mapped and MAPPED_IN_PLACE in features
        self._most_seen = sees * (self.max_buffer if self.is_cpu else SEEN)
        self._seen: WeakSet[Buffer] = WeakSet()  # those of more than FEW bytes
        self._check_limits()
        self.lost: str = ""  # what was being done when the device went away
        # Whether wgpu checks every index of every kernel, and counts the turns of loops.
        self.checked: bool = os.environ.get(CHECKED) == "1"
        self.gone: bool = False  # lost, closed, or of the process that forked this one
        _opened.add(self)

    def _check_limits(self) -> None:
        """Refuses a device made elsewhere with less room than any kernel needs."""
        have = {
            "max-storage-buffer-binding-size": (self.max_binding, LEAST_BINDING),
            "max-compute-workgroups-per-dimension": (self.max_groups, 1),
            "max-compute-invocations-per-workgroup": (self.max_workgroup_size, 1),
        }
        for name, (limit, least) in have.items():
            if limit < least:
                raise DeviceError(f"the device's {name} is {limit}; at least {least} is needed")

    @classmethod
    def open(cls, wanted: AdapterInfo | str | None) -> Gpu:
        """Opens the adapter asked for with all the room it has."""
        check_not_forked()
        info, adapter = choose(wanted)
        features = [f for f in _WANTED_FEATURES if f in adapter.features]
        limits = {
            name: value
            for name, value in adapter.limits.items()
            if name.startswith(("max-buffer", "max-storage-buffer", "max-compute", "min-storage"))
        }

        def request() -> classes.GPUDevice:
            with translated(f"opening {info.name}"), quiet_warnings():
                made: classes.GPUDevice = adapter.request_device_sync(
                    required_features=features, required_limits=limits
                )
                return made

        def request_and_warm_up() -> classes.GPUDevice:
            made = request()
            warm_up(made)
            return made

        try:
            return cls(info, in_thread(request_and_warm_up))
        except DmlError:
            pass
        # A driver has only so many devices, and closed ones may wait for Python to collect them.
        gc.collect()
        return cls(info, in_thread(request_and_warm_up))

    @classmethod
    def share(cls, device: classes.GPUDevice) -> Gpu:
        """Wraps a wgpu device made elsewhere."""
        if not isinstance(device, classes.GPUDevice):
            raise DeviceError(
                f"wgpu_device is {type(device).__name__}; it must be a wgpu.GPUDevice"
            )
        noting_use()
        in_thread(lambda: warm_up(device))
        return cls(described(-1, device.adapter), device)

    @property
    def is_gone(self) -> bool:
        """Whether it cannot be used any more; asked on every call."""
        return self.gone or self.poller() is None

    @property
    def is_destroyed(self) -> bool:
        """Whether someone has destroyed the wgpu device, which ends its polling."""
        return self.poller() is None

    def doing(self, what: str) -> Doing:
        """`translated`, and the loss of the device is remembered."""
        return Doing(self, what)

    def buffer(self, size: int, what: str = "a tensor") -> Buffer:
        """A new storage buffer of `size` bytes."""
        if size > self.max_buffer:
            raise OutOfMemoryError(
                f"{what} needs a buffer of {size} bytes; {self.info.name} allows {self.max_buffer}"
            )
        sees = size <= self._most_seen
        counts = sees and size > FEW and not self.is_cpu
        if counts:
            sees = size + sum(other.size for other in list(self._seen)) <= SEEN_IN_ALL
        usage = STORAGE | MAPPABLE * sees
        with self.doing(f"allocating {size} bytes"):
            made = self.device.create_buffer(size=size, usage=usage, mapped_at_creation=sees)
            if sees:
                see(made)
                made.unmap()
                if counts:
                    self._seen.add(made)
            return made

    def check_usage(self, buffer: Buffer) -> None:
        """Raises unless tensors can lie in a buffer made elsewhere."""
        if not isinstance(buffer, classes.GPUBuffer):
            raise BindingError(f"wrap: {type(buffer).__name__} is not a wgpu.GPUBuffer")
        if device_of(buffer) is not self.device:
            raise BindingError("wrap: the buffer belongs to another wgpu device")
        if not buffer.usage & wgpu.BufferUsage.STORAGE:
            raise BindingError("wrap: the buffer's usage lacks STORAGE, which every tensor needs")
        if buffer.map_state != "unmapped":  # wgpu-native ends the process that submits it
            raise BindingError(f"wrap: the buffer is {buffer.map_state}; unmap it first")

    def staging(self, size: int, usage: str) -> Buffer:
        """A buffer that host memory goes through."""
        with self.doing(f"allocating {size} bytes of staging memory"):
            return self.device.create_buffer(size=size, usage=usage)

    def seen_staging(self, size: int) -> Buffer:
        """A buffer that a GPU's memory goes through to the host, which sees it if it can."""
        made = self.staging(size, "MAP_READ|COPY_DST")
        if self.stays_mapped:
            with self.doing("mapping staging memory"):
                mapping = HostMap(self.device, made)
                try:
                    mapping.wait(READ, 0, size)
                    see(made)
                finally:
                    mapping.end()
        return made

    def flush_writes(self) -> None:
        """Lets small writes reach their buffers: they wait in the queue for a submission."""
        if self.is_destroyed:
            raise DeviceLostError("the wgpu device was destroyed")
        self.queue.submit([])

    def probe(self, buffer: Buffer) -> None:
        """Raises when a buffer made elsewhere has been destroyed: binding it is refused then."""
        entry = {"binding": 0, "visibility": "COMPUTE", "buffer": {"type": "read-only-storage"}}
        resource = {"buffer": buffer, "offset": 0, "size": min(16, buffer.size // 4 * 4)}
        with self.doing("wrapping it"):
            layout = self.device.create_bind_group_layout(entries=[entry])
            entries = [{"binding": 0, "resource": resource}]
            self.device.create_bind_group(layout=layout, entries=entries)

    def uniform(self, data: bytes) -> Buffer:
        """A uniform buffer holding `data`."""
        with self.doing(f"allocating {len(data)} bytes of parameters"):
            made: Buffer = self.device.create_buffer_with_data(data=data, usage=UNIFORM)
            return made

    def _module(self, label: str, text: str, *, is_own: bool) -> classes.GPUShaderModule:
        """A shader module, with wgpu's checks where the kernels are not trusted.

        Vulkan and D3D12 check accesses to buffers by themselves, Metal does not.
        """
        if self.checked or not is_own:
            return self.device.create_shader_module(label=label, code=text)
        bounds = self.info.backend not in ("Vulkan", "D3D12")
        return trusted_module(self.device, label, text, bounds=bounds)

    def pipeline(
        self,
        label: str,
        text: str,
        entry: str,
        constants: Mapping[str, int],
        *,
        is_own: bool = True,
    ) -> Pipeline:
        """A compute pipeline; a shader the driver refuses is named with the driver.

        Shaders that are not this library's own have all of wgpu's checks.
        """
        with self.doing(f"compiling {label}"):
            try:
                module = self._module(label, text, is_own=is_own)
                compute = {"module": module, "entry_point": entry, "constants": dict(constants)}
                return self.device.create_compute_pipeline(layout="auto", compute=compute)
            except (
                classes.GPUValidationError,
                classes.GPUPipelineError,
                classes.GPUInternalError,
            ) as error:
                if self.is_destroyed or "device is lost" in str(error).lower():
                    raise
                raise DeviceError(_refusal(label, text, self.info, str(error))) from None

    def run_apart(
        self, label: str, text: str, words: int, workgroups: int
    ) -> npt.NDArray[np.uint32]:
        """What a shader leaves in a buffer of zeros; recorded calls have no part in it."""
        pipeline = self.pipeline(label, text, "main", {})
        buffer = self.buffer(4 * words)
        group = self.bind_group(pipeline, [], [(0, buffer, 0, 4 * words)])
        with self.doing(f"running {label}"):
            encoder = self.device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(workgroups)
            compute.end()
            staging = self.device.create_buffer(size=4 * words, usage="MAP_READ|COPY_DST")
            encoder.copy_buffer_to_buffer(buffer, 0, staging, 0, 4 * words)
            self.queue.submit([encoder.finish()])
            found = np.empty(4 * words, np.uint8)
            mapping = HostMap(self.device, staging)
            try:
                mapping.wait(READ, 0, 4 * words)
                mapping.read(0, found)
            finally:
                mapping.end()
        buffer.destroy()
        return found.view(np.uint32)

    def bind_group(
        self,
        pipeline: Pipeline,
        uniforms: Sequence[tuple[int, Buffer]],
        ranges: Sequence[tuple[int, Buffer, int, int]],
    ) -> classes.GPUBindGroup:
        """A bind group of uniform (binding, buffer) and storage (binding, buffer, offset, size)."""
        entries = [
            {"binding": binding, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for binding, buffer in uniforms
        ]
        entries += [
            {"binding": binding, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for binding, buffer, offset, size in ranges
        ]
        sizes = ", ".join(str(size) for *_, size in ranges)
        with self.doing(f"binding tensors of {sizes} bytes"):
            layout = pipeline.get_bind_group_layout(0)
            return self.device.create_bind_group(layout=layout, entries=entries)

    def layout(self, pipeline: Pipeline) -> Layout:
        """How the bind group of a pipeline is laid out."""
        with self.doing("asking a pipeline for its layout"):
            return pipeline.get_bind_group_layout(0)

    def bind(
        self, what: str, layout: Layout, entries: Sequence[tuple[int, Buffer, int, int]]
    ) -> BindGroup:
        """A bind group of (binding, buffer, offset, size), for calls alone."""
        with self.doing(what):
            return bound(self.device, layout, entries)

    def timestamps(self, count: int) -> tuple[QuerySet, Buffer]:
        """A set of timestamp queries and the buffer they are resolved into."""
        with self.doing(f"allocating {8 * count} bytes of timestamps"):
            queries = self.device.create_query_set(type="timestamp", count=count)
            usage = "QUERY_RESOLVE|COPY_SRC"
            return queries, self.device.create_buffer(size=8 * count, usage=usage)

    @property
    def timestamp_period(self) -> float:
        """Nanoseconds of one tick of the timestamps: 1 on some adapters, 10 or 83.3 on others."""
        return timestamp_period(self.queue)
