"""The one module that speaks to wgpu: adapters, buffers, pipelines, recording, read-back.

Every error of wgpu is turned into one of this library's here, so none reaches a caller.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import wgpu

from dmlgpu import forward_progress
from dmlgpu.adapter import NVIDIA, AdapterInfo, described, subgroup_sizes
from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, DmlError, OutOfMemoryError
from dmlgpu.interrupt import uninterrupted
from dmlgpu.operator import Adapter, Plan
from dmlgpu.recording import Recording
from dmlgpu.transfer import Transfers
from dmlgpu.wgsl import Shader

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
_UNIFORM = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST

_WANTED_FEATURES = ("subgroup", "timestamp-query")
MAPPABLE = "mappable-primary-buffers"  # tensors can be mapped themselves; only wise on a CPU
_PREFERENCE = ("discrete", "integrated", "unknown", "cpu")


@cache
def _listed() -> tuple[tuple[AdapterInfo, Any], ...]:
    """Adapters that can run compute shaders with storage buffers, in the machine's order.

    Asking is slow (up to a second) and the answer does not change, so it is asked once.
    """
    with translated("listing adapters"):
        # Imported here: it loads wgpu-native, which takes longer than all the rest together.
        from wgpu.backends.wgpu_native import _helpers as native_helpers
        from wgpu.backends.wgpu_native.extras import set_instance_extras

        if native_helpers._the_instance is None:
            # OpenGL drivers are slow to ask, and Mesa's ends a forked child with a crash.
            set_instance_extras(backends=["Primary"])
        found = wgpu.gpu.enumerate_adapters_sync()
        if not found:
            native_helpers._the_instance = None  # the next one has OpenGL too
            found = wgpu.gpu.enumerate_adapters_sync()
    every = [(described(i, a), a) for i, a in enumerate(found)]
    modern = [pair for pair in every if pair[0].backend not in ("OpenGL", "OpenGLES")]
    return tuple(modern or every)


_forks: list[int] = []  # of this process, while the GPU was in use: its number, once


def _after_fork() -> None:
    """In a child process: what it inherits of the GPU is left to its parent.

    Drivers' threads do not survive a fork: releasing an object would wait for them forever, and so
    would the handlers that drivers have for the end of the process.
    """
    native_helpers: Any = sys.modules.get("wgpu.backends.wgpu_native._helpers")
    native: Any = sys.modules.get("wgpu.backends.wgpu_native._api")
    if native is None or native_helpers is None or native_helpers._the_instance is None:
        return
    last = wgpu.GPUObjectBase("", None, None).uid
    release = native.GPUObjectBase._release

    def release_own(made: Any) -> None:
        if made.uid > last:
            release(made)

    native.GPUObjectBase._release = release_own
    native.GPUAdapter._release = lambda _: None
    native_helpers._the_instance = None
    _listed.cache_clear()
    _forks[:] = [os.getpid()]
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        libc.on_exit(libc._exit, None)  # before theirs: the last one added runs first


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
        kind = type(wanted).__name__
        raise DeviceError(f"adapter is {kind}; it must be None, a name or an entry of adapters()")
    if not matches:
        have = "; ".join(str(info) for info, _ in listed)
        raise DeviceError(f"{asked} is {str(wanted)[:100]!r}; this machine has: {have}")
    return matches[0]


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns whatever wgpu raises while `doing` something into an error of this library."""
    try:
        yield
    except DmlError:
        raise
    except (wgpu.GPUOutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError(f"out of memory while {doing}: {_reason(str(error))}") from None
    except (wgpu.GPUError, RuntimeError, ValueError, OSError) as error:
        raise _as_dml_error(doing, error) from None


def _as_dml_error(doing: str, error: Exception) -> DmlError:
    text = str(error).lower()
    if "device is lost" in text or "device lost" in text:
        return DeviceLostError(f"the GPU device was lost while {doing}")
    if "not enough memory" in text:  # some drivers do not say it with wgpu's class for it
        return OutOfMemoryError(f"out of memory while {doing}: {_reason(str(error))}")
    if "buffer" in text and "has been destroyed" in text:
        return BindingError(f"a buffer that its owner has destroyed was used while {doing}")
    return DeviceError(f"the adapter failed while {doing}: {_reason(str(error))}")


def _reason(text: str) -> str:
    """The innermost cause that a message of wgpu names, on one line."""
    lines = [line.strip().rstrip(".") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Caused by", "In wgpu"))]
    named = [line for line in lines if line != "Validation Error"]
    return (named or lines or ["no reason given"])[-1]


def _refusal(shader: Shader, info: AdapterInfo, text: str) -> str:
    """Says which shader, which line of it and which driver do not go together."""
    place = re.search(r"wgsl:(\d+):\d+", text)
    fault = re.search(r"error: (.+)", text)
    if place is None:
        return f"{shader.label} does not compile on {info}: {_reason(text)}"
    number = int(place[1])
    line = shader.text.splitlines()[number - 1].strip()
    reason = fault[1] if fault else _reason(text)
    return f"{shader.label} line {number}, `{line}`, does not compile on {info}: {reason}"


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
        lanes = subgroup_sizes(adapter.info) if "subgroup" in features else (0, 0)
        self.facts: Adapter = Adapter(
            is_cpu=info.kind == "cpu",
            subgroup_min=lanes[0],
            subgroup_max=lanes[1],
            exact_halves=int(adapter.info.get("vendor_id", 0)) == NVIDIA,
            forward_progress=forward_progress.is_candidate(info),  # a guess, until it is probed
            max_workgroup_size=int(limits["max-compute-invocations-per-workgroup"]),
            max_workgroup_storage=int(limits["max-compute-workgroup-storage-size"]),
            max_binding=self.max_binding,
        )
        self.queue: Any = device.queue
        direct = self.facts.is_cpu and MAPPABLE in features
        self._storage_usage = (
            STORAGE | (wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.MAP_WRITE) * direct
        )
        self.lost: str = ""  # what was being done when the device went away
        self.recording: Recording = Recording(self)
        self._transfers = Transfers(self)
        self.settle: Callable[[], None] = self._transfers.settle

    @classmethod
    def open(cls, wanted: AdapterInfo | str | None) -> Gpu:
        """Opens the adapter asked for with all the room it has."""
        info, adapter = choose(wanted)
        forked = DeviceError(
            f"{info.name} cannot be opened in a process forked from one that used it; start the "
            "process with the method spawn"
        )
        if _forks and "SwiftShader" in info.name:  # it would wait for threads that are gone
            raise forked
        features = [f for f in _WANTED_FEATURES if f in adapter.features]
        if info.kind == "cpu" and MAPPABLE in adapter.features:
            features.append(MAPPABLE)
        limits = {
            name: value
            for name, value in adapter.limits.items()
            if name.startswith(("max-buffer", "max-storage-buffer", "max-compute", "min-storage"))
        }

        def request() -> Any:
            with translated(f"opening {info.name}"):
                return adapter.request_device_sync(
                    required_features=features, required_limits=limits
                )

        try:
            return cls(info, request())
        except DmlError:
            if _forks:  # NVIDIA's driver says that the device is lost
                raise forked from None
        # A driver has only so many devices, and closed ones may wait for Python to collect them.
        gc.collect()
        return cls(info, request())

    @classmethod
    def share(cls, device: Any) -> Gpu:
        """Wraps a wgpu device made elsewhere."""
        if not isinstance(device, wgpu.GPUDevice):
            raise DeviceError(
                f"wgpu_device is {type(device).__name__}; it must be a wgpu.GPUDevice"
            )
        return cls(described(-1, device.adapter), device)

    @cached_property
    def has_forward_progress(self) -> bool:
        """Whether workgroups that waited for each other on this adapter all went on."""
        return forward_progress.holds(self)

    def probed_facts(self) -> Adapter:
        """The facts, of which forward progress is no longer a guess."""
        if self.facts.forward_progress and not self.has_forward_progress:
            self.facts = replace(self.facts, forward_progress=False)
        return self.facts

    def plan(self, planned: Callable[[Adapter], Plan]) -> Plan:
        """A plan for this adapter; before the first one that waits, forward progress is probed."""
        guessed = self.facts
        made = planned(guessed)
        if made.waits and self.probed_facts() is not guessed:
            made = planned(self.facts)
        return made

    @property
    def is_destroyed(self) -> bool:
        """Whether someone has destroyed the wgpu device, which ends its polling."""
        return self.device._poller is None

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """`translated`, and the loss of the device is remembered."""
        try:
            with translated(what):
                yield
        except DeviceLostError as error:
            self.lost = str(error)
            raise
        except Exception:  # wgpu-py stumbles over a destroyed device in many ways
            if self.is_destroyed:
                self.lost = f"the GPU device was lost while {what}"
                raise DeviceLostError(self.lost) from None
            raise

    def buffer(self, size: int, what: str = "a tensor") -> Any:
        """A new storage buffer of `size` bytes."""
        if size > self.max_buffer:
            raise OutOfMemoryError(
                f"{what} needs a buffer of {size} bytes; {self.info.name} allows {self.max_buffer}"
            )
        with self.doing(f"allocating {size} bytes"):
            return self.device.create_buffer(size=size, usage=self._storage_usage)

    def check_usage(self, buffer: Any) -> None:
        """Raises unless tensors can lie in a buffer made elsewhere."""
        if not isinstance(buffer, wgpu.GPUBuffer):
            raise BindingError(f"wrap: {type(buffer).__name__} is not a wgpu.GPUBuffer")
        if buffer._device is not self.device:
            raise BindingError("wrap: the buffer belongs to another wgpu device")
        if not buffer.usage & wgpu.BufferUsage.STORAGE:
            raise BindingError("wrap: the buffer's usage lacks STORAGE, which every tensor needs")
        if buffer.map_state != "unmapped":  # wgpu-native ends the process that submits it
            raise BindingError(f"wrap: the buffer is {buffer.map_state}; unmap it first")

    def staging(self, size: int, usage: str) -> Any:
        """A buffer that host memory goes through."""
        with self.doing(f"allocating {size} bytes of staging memory"):
            return self.device.create_buffer(size=size, usage=usage)

    def probe(self, buffer: Any) -> None:
        """Raises when a buffer made elsewhere has been destroyed: binding it is refused then."""
        entry = {"binding": 0, "visibility": "COMPUTE", "buffer": {"type": "read-only-storage"}}
        resource = {"buffer": buffer, "offset": 0, "size": min(16, buffer.size // 4 * 4)}
        with self.doing("wrapping it"):
            layout = self.device.create_bind_group_layout(entries=[entry])
            entries = [{"binding": 0, "resource": resource}]
            self.device.create_bind_group(layout=layout, entries=entries)

    def uniform(self, data: bytes) -> Any:
        """A uniform buffer holding `data`."""
        with self.doing(f"allocating {len(data)} bytes of parameters"):
            return self.device.create_buffer_with_data(data=data, usage=_UNIFORM)

    def pipeline(self, shader: Shader, entry: str, constants: Mapping[str, int]) -> Any:
        """A compute pipeline; a shader the driver refuses is named with the driver."""
        with self.doing(f"compiling {shader.label}"):
            try:
                module = self.device.create_shader_module(label=shader.label, code=shader.text)
                compute = {"module": module, "entry_point": entry, "constants": dict(constants)}
                return self.device.create_compute_pipeline(layout="auto", compute=compute)
            except (wgpu.GPUValidationError, wgpu.GPUPipelineError, wgpu.GPUInternalError) as error:
                if self.is_destroyed or "device is lost" in str(error).lower():
                    raise
                raise DeviceError(_refusal(shader, self.info, str(error))) from None

    def run_apart(self, shader: Shader, words: int, workgroups: int) -> np.ndarray[Any, Any]:
        """What a shader leaves in a buffer of zeros; recorded calls have no part in it."""
        pipeline = self.pipeline(shader, "main", {})
        buffer = self.buffer(4 * words)
        group = self.bind_group(pipeline, [], [(0, buffer, 0, 4 * words)])
        with self.doing(f"running {shader.label}"):
            encoder = self.device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(workgroups)
            compute.end()
            self.queue.submit([encoder.finish()])
            found = np.frombuffer(self.queue.read_buffer(buffer, 0, 4 * words), np.uint32)
        buffer.destroy()
        return found

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
        sizes = ", ".join(str(size) for *_, size in ranges)
        with self.doing(f"binding tensors of {sizes} bytes"):
            layout = pipeline.get_bind_group_layout(0)
            return self.device.create_bind_group(layout=layout, entries=entries)

    def timestamps(self, count: int) -> tuple[Any, Any]:
        """A set of timestamp queries and the buffer they are resolved into."""
        with self.doing(f"allocating {8 * count} bytes of timestamps"):
            queries = self.device.create_query_set(type="timestamp", count=count)
            usage = "QUERY_RESOLVE|COPY_SRC"
            return queries, self.device.create_buffer(size=8 * count, usage=usage)

    @property
    def timestamp_period(self) -> float:
        """Nanoseconds of one tick of the timestamps: 1 on some adapters, 10 or 83.3 on others."""
        native = wgpu.backends.wgpu_native.lib
        return float(native.wgpuQueueGetTimestampPeriod(self.queue._internal))

    def write(self, buffer: Any, offset: int, data: np.ndarray[Any, Any]) -> None:
        """Writes host bytes into a buffer that nothing recorded but unsubmitted uses."""
        with self.doing(f"uploading {data.nbytes} bytes"):
            self._transfers.write(buffer, offset, data)

    def read(self, buffer: Any, offset: int, target: np.ndarray[Any, Any]) -> None:
        """Fills `target` (bytes) from a buffer, after everything recorded so far."""
        with self.doing(f"reading back {target.nbytes} bytes"):
            self._transfers.read(buffer, offset, target)

    def fetch(self, staging: Any, target: np.ndarray[Any, Any]) -> None:
        """Fills `target` (bytes) when the copies submitted to a staging buffer are done; drops it.

        Needs no lock: other threads may record and submit meanwhile.
        """
        with self.doing(f"reading back {target.nbytes} bytes"):
            self._transfers.fetch(staging, target)
            staging.destroy()

    def wait(self) -> None:
        """Returns when everything recorded so far is done."""
        with self.doing("waiting for the GPU"):
            self._transfers.wait()

    def unmap(self, buffer: Any) -> None:
        """Ends a map, or calls it off while it is pending."""
        if buffer.map_state == "unmapped":
            return
        with uninterrupted(), contextlib.suppress(wgpu.GPUError):
            buffer._map_state = "mapped"  # wgpu-py refuses to call off what WebGPU allows to
            buffer.unmap()
        buffer._map_state = "unmapped"

    def close(self) -> None:
        """Drops the recording and the staging memory."""
        self.recording.clear()
        self._transfers.close()
