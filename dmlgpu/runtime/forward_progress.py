"""Whether workgroups of an adapter may wait for each other: asked of the adapter itself, once.

WebGPU does not promise forward progress: that a workgroup that has started goes on while another
one waits for it. Kernels that wait are right without it, but slow, so they are used only where a
probe has found it. DMLGPU_WAITING_KERNELS=0 turns them off; =1 has every adapter probed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from dmlgpu.errors import DmlError
from dmlgpu.gpu.adapters import AdapterInfo
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.wgsl.assembly import assemble

VARIABLE = "DMLGPU_WAITING_KERNELS"
WORKGROUPS = 4096  # more than run at a time, so that some start while others wait
TEAM = 32  # workgroups that wait for the same one, as in the shader
HEAD = 3  # words before the values, as in the shader


@dataclass(frozen=True)
class Waits:
    """How many workgroups saw the value that they waited for, and how many did not."""

    seen: int
    missed: int

    @property
    def all_seen(self) -> bool:
        """Whether each workgroup saw the value of the one before it in time."""
        return (self.seen, self.missed) == (WORKGROUPS - TEAM, 0)


_found: dict[AdapterInfo, bool] = {}  # adapters, with their drivers, that were asked


def is_candidate(info: AdapterInfo) -> bool:
    """Whether the probe is worth trying: on others kernels that wait were never measured."""
    setting = os.environ.get(VARIABLE, "")
    discrete = info.kind == "discrete" and info.backend in ("Vulkan", "D3D12")
    return setting != "0" and (discrete or setting == "1")


def probe(gpu: Gpu) -> Waits:
    """Workgroups that wait for earlier ones, on the adapter itself; some hundred microseconds."""
    shader = assemble("doctor/forward_progress", {})
    words = gpu.run_apart(shader.label, shader.text, HEAD + WORKGROUPS, WORKGROUPS)
    return Waits(int(words[1]), int(words[2]))


def holds(gpu: Gpu) -> bool:
    """Whether the probe passes; asked once in a process for each adapter and driver."""
    if gpu.info not in _found:
        try:
            _found[gpu.info] = probe(gpu).all_seen
        except DmlError:
            if gpu.lost:
                raise
            _found[gpu.info] = False
    return _found[gpu.info]
