"""What an adapter says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NVIDIA = 0x10DE  # PCI vendor number
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
