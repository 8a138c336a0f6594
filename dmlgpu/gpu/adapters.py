"""The adapters of this machine, what they say of themselves, and which one is meant."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import wgpu
from wgpu import classes

from dmlgpu.errors import DeviceError
from dmlgpu.gpu.private import Held, forget_instance, in_thread, native
from dmlgpu.gpu.translate import translated

NVIDIA = 0x10DE  # PCI vendor number
NVML = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
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


def described(index: int, adapter: classes.GPUAdapter) -> AdapterInfo:
    """A wgpu adapter as an entry of the list."""
    info = adapter.info
    return AdapterInfo(
        name=str(info.get("device") or info.get("description") or "unnamed adapter"),
        kind=_KINDS.get(str(info.get("adapter_type")), "unknown"),
        backend=str(info.get("backend_type")),
        driver=str(info.get("description") or ""),
        index=index,
    )


def memory_of(adapter: AdapterInfo) -> int | None:
    """Bytes of memory that an adapter has, or shares with the host; None where nobody tells.

    WebGPU does not tell. NVIDIA's library and Linux's driver for AMD do.
    """
    if adapter.kind != "discrete":
        with contextlib.suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return None
    with contextlib.suppress(OSError, AttributeError):  # no library, or one without a function
        for name, size in _of_nvidia(ctypes.CDLL(NVML)):
            if name in adapter.name:
                return size
    files = Path("/sys/class/drm").glob("card*/device/mem_info_vram_total")
    sizes = [int(file.read_text()) for file in files]
    return min(sizes, default=None)


def _of_nvidia(nvml: Any) -> list[tuple[str, int]]:
    """The name and the bytes of memory of each GPU that NVIDIA's management library knows."""
    if nvml.nvmlInit_v2():
        return []
    count = ctypes.c_uint()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found = []
    for number in range(count.value):
        device, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        sizes = (ctypes.c_ulonglong * 3)()  # in all, free, and used
        nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number), ctypes.byref(device))
        nvml.nvmlDeviceGetName(device, name, ctypes.c_uint(len(name)))
        if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(sizes)) == 0:
            found.append((name.value.decode(), sizes[0]))
    nvml.nvmlShutdown()
    return found


def subgroup_sizes(info: Mapping[str, Any]) -> tuple[int, int]:
    """Fewest and most lanes a subgroup can have; wgpu reports no more than a bound for all GPUs."""
    by_vendor = {NVIDIA: (32, 32), 0x1002: (32, 64), 0x106B: (32, 32), 0x8086: (8, 32)}
    return by_vendor.get(int(info.get("vendor_id", 0)), (4, 128))


@cache
def _listed() -> tuple[tuple[AdapterInfo, classes.GPUAdapter], ...]:
    """Adapters that can run compute shaders with storage buffers, in the machine's order.

    Asking is slow (up to a second) and the answer does not change, so it is asked once.
    """
    check_not_forked()
    noting_use()
    with translated("listing adapters"), _no_wayland():
        found = in_thread(_asked)
    every = [(described(i, a), a) for i, a in enumerate(found)]
    modern = [pair for pair in every if pair[0].backend not in ("OpenGL", "OpenGLES")]
    return tuple(modern or every)


def _asked() -> list[classes.GPUAdapter]:
    native()
    # Imported here: it needs wgpu-native, which takes longer to load than all the rest together.
    from wgpu.backends.wgpu_native.extras import set_instance_extras

    with contextlib.suppress(RuntimeError):  # the program has made one already
        # OpenGL drivers are slow to ask, and Mesa's ends a forked child with a crash.
        set_instance_extras(backends=["Primary"])
    found = wgpu.gpu.enumerate_adapters_sync()
    if not found:
        forget_instance()  # the next one has OpenGL too
        found = wgpu.gpu.enumerate_adapters_sync()
    return list(found)


@contextlib.contextmanager
def _no_wayland() -> Iterator[None]:
    """Keeps Mesa's drivers from complaining that there is no Wayland display.

    They look for one when adapters are listed, and libwayland prints four lines about
    XDG_RUNTIME_DIR where it is not set, as in containers. It is set meanwhile, to a place in which
    there can be no display, and only where the program has not set it.
    """
    name, nowhere = "XDG_RUNTIME_DIR", "/dev/null"
    wanted = sys.platform.startswith("linux") and not os.environ.get(name)
    before = os.environ.get(name)
    if wanted:
        os.environ[name] = nowhere
    try:
        yield
    finally:
        if wanted and os.environ.get(name) == nowhere:  # nobody else has set it meanwhile
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before


class _Downlevel(logging.Filter):
    """Leaves out wgpu-native's warnings: of features of WebGPU that no shader here uses, and of
    tensors that can be mapped, which only small ones are on a GPU.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        return not text.startswith(
            (
                "Missing downlevel flags",
                "The underlying API or device",
                "DownlevelCapabilities",
                "Feature MAPPABLE_PRIMARY_BUFFERS",
            )
        )


@contextlib.contextmanager
def quiet_warnings() -> Iterator[None]:
    """Without the page that wgpu-native logs whenever an older driver's device is opened."""
    logger, quiet = logging.getLogger("wgpu"), _Downlevel()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)


_users: set[int] = set()  # this process and those it was forked from, if they used a GPU


def noting_use() -> None:
    """This process uses a GPU: its children cannot."""
    _users.add(os.getpid())


def check_not_forked() -> None:
    """Raises in a child of a process that used a GPU.

    Drivers and wgpu-native have threads and locks, which a fork leaves half behind: some drivers
    hang then, some report a lost device, and none says that it may be done.
    """
    if _users - {os.getpid()}:
        raise DeviceError(
            "this process was forked from one that used a GPU, and drivers do not survive that; "
            "start it with the method spawn: multiprocessing.set_start_method('spawn')"
        )


def _after_fork() -> None:
    """In a child: what it inherits of the GPU is its parent's, and is never released here.

    Releasing an object would wait for drivers' threads that the child does not have. So each is
    given a reference that nobody drops. What remains: a driver's own handlers for the end of a
    process, where it has some, run in a child that ends by `sys.exit` (not in one that ends by
    `os._exit`, as those of multiprocessing do); Mesa's and SwiftShader's do no harm.
    """
    if not _users:
        return
    kinds = (classes.GPUObjectBase, classes.GPUAdapter, Held)
    inherited = [made for made in gc.get_objects() if issubclass(type(made), kinds)]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def adapters() -> list[AdapterInfo]:
    """What this machine has."""
    return [info for info, _ in _listed()]


def choose(wanted: AdapterInfo | str | None) -> tuple[AdapterInfo, classes.GPUAdapter]:
    """The adapter asked for, by entry, part of a name or place in the list ("#1").

    Else the one that DMLGPU_ADAPTER names so, else the best.
    """
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
    elif isinstance(wanted, str) and wanted.startswith("#"):  # names may be equal, places are not
        matches = [pair for pair in listed if wanted == f"#{pair[0].index}"]
    elif isinstance(wanted, str):
        matches = [pair for pair in listed if wanted.lower() in str(pair[0]).lower()]
    else:
        kind = type(wanted).__name__
        raise DeviceError(f"adapter is {kind}; it must be None, a name or an entry of adapters()")
    if not matches:
        have = "; ".join(str(info) for info, _ in listed)
        raise DeviceError(f"{asked} is {str(wanted)[:100]!r}; this machine has: {have}")
    return matches[0]
