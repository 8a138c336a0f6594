"""The adapters of this machine, what they say of themselves, and which one is meant."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import wgpu
from wgpu import classes

from dmlgpu.errors import DeviceError
from dmlgpu.gpu.translate import translated

NVIDIA = 0x10DE  # PCI vendor number
_PREFERENCE = ("discrete", "integrated", "unknown", "cpu")
_KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "cpu"}


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


def described(index: int, adapter: Any) -> AdapterInfo:
    """A wgpu adapter as an entry of the list."""
    info = adapter.info
    return AdapterInfo(
        name=str(info.get("device") or info.get("description") or "unnamed adapter"),
        kind=_KINDS.get(str(info.get("adapter_type")), "unknown"),
        backend=str(info.get("backend_type")),
        driver=str(info.get("description") or ""),
        index=index,
    )


def subgroup_sizes(info: Mapping[str, Any]) -> tuple[int, int]:
    """Fewest and most lanes a subgroup can have; wgpu reports no more than a bound for all GPUs."""
    by_vendor = {NVIDIA: (32, 32), 0x1002: (32, 64), 0x106B: (32, 32), 0x8086: (8, 32)}
    return by_vendor.get(int(info.get("vendor_id", 0)), (4, 128))


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


forks: list[int] = []  # of this process, while the GPU was in use: its number, once


def _after_fork() -> None:
    """In a child process: what it inherits of the GPU is left to its parent.

    Drivers' threads do not survive a fork: releasing an object would wait for them forever, and so
    would the handlers that drivers have for the end of the process.
    """
    native_helpers: Any = sys.modules.get("wgpu.backends.wgpu_native._helpers")
    native: Any = sys.modules.get("wgpu.backends.wgpu_native._api")
    if native is None or native_helpers is None or native_helpers._the_instance is None:
        return
    base: Any = classes.GPUObjectBase
    last = base("", None, None).uid
    release = native.GPUObjectBase._release

    def release_own(made: Any) -> None:
        if made.uid > last:
            release(made)

    native.GPUObjectBase._release = release_own
    native.GPUAdapter._release = lambda _: None
    native_helpers._the_instance = None
    _listed.cache_clear()
    forks[:] = [os.getpid()]
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
