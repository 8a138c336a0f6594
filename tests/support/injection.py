"""Faults at the n-th call that reaches wgpu, for n = 1, 2, 3 ... until a scenario meets none.

The methods of wgpu's own classes are wrapped, so that every way to them is covered, calls that
wgpu makes to itself included; and so is what calls the functions below them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from wgpu.backends.wgpu_native import _api as native

from dmlgpu.gpu.encoding import Encoding

ALLOCATIONS: dict[Any, tuple[str, ...]] = {
    native.GPUDevice: (
        "create_buffer",
        "create_buffer_with_data",
        "create_compute_pipeline",
        "create_bind_group",
        "create_command_encoder",
        "create_query_set",
    ),
    native.GPUComputePipeline: ("get_bind_group_layout",),
    native.GPUCommandEncoder: ("begin_compute_pass", "finish"),
    native.GPUQueue: ("submit", "write_buffer"),
    native.GPUBuffer: ("map_async",),
    Encoding: ("__init__", "_pass", "_copy"),
    native.libf: (
        "wgpuCommandEncoderFinish",
        "wgpuDeviceCreateBindGroup",
        "wgpuDeviceCreateShaderModuleTrusted",
    ),
}
CALLS: dict[Any, tuple[str, ...]] = {
    **ALLOCATIONS,
    native.GPUCommandEncoder: (
        *ALLOCATIONS[native.GPUCommandEncoder],
        "copy_buffer_to_buffer",
        "resolve_query_set",
    ),
    native.GPUComputePassEncoder: ("set_pipeline", "set_bind_group", "dispatch_workgroups", "end"),
    native.GPUBuffer: ("map_async", "read_mapped", "write_mapped", "unmap"),
}


class Injection:
    """Counts calls, and acts at one of them, or from it on."""

    def __init__(self, at: int, act: Callable[[], None], *, after: bool, lasting: bool) -> None:
        self.at = at
        self.calls = 0
        self.hit = ""  # the call it acted at
        self._act = act
        self._after = after
        self._lasting = lasting

    def wrap(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            self.calls += 1
            now = self.calls == self.at or (self._lasting and self.calls > self.at)
            if now:
                self.hit = self.hit or name
            if now and not self._after:
                self._act()
            result = method(*args, **named)
            if now and self._after:
                self._act()
            return result

        return wrapped


@contextlib.contextmanager
def injected(
    at: int,
    act: Callable[[], None],
    points: dict[Any, tuple[str, ...]],
    *,
    after: bool = False,
    lasting: bool = False,
) -> Iterator[Injection]:
    """Acts before (or after) the `at`-th of the calls named in `points`."""
    injection = Injection(at, act, after=after, lasting=lasting)
    before = []
    try:
        for cls, name in ((cls, name) for cls, names in points.items() for name in names):
            where = getattr(cls, "__name__", "wgpu-native")
            wrapped = injection.wrap(f"{where}.{name}", getattr(cls, name))
            before.append((cls, name, vars(cls).get(name)))
            setattr(cls, name, wrapped)
        yield injection
    finally:
        for cls, name, own in before:
            if own is None:
                delattr(cls, name)
            else:
                setattr(cls, name, own)
