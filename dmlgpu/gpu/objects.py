"""wgpu's classes under the names that the rest of the library uses, and bits of buffers' usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import wgpu
from wgpu import classes

from dmlgpu.gpu.private import Held

WgpuDevice: TypeAlias = classes.GPUDevice
Buffer: TypeAlias = classes.GPUBuffer
Pipeline: TypeAlias = classes.GPUComputePipeline
BindGroup: TypeAlias = classes.GPUBindGroup | Held
Layout: TypeAlias = classes.GPUBindGroupLayout
QuerySet: TypeAlias = classes.GPUQuerySet
Encoder: TypeAlias = classes.GPUCommandEncoder
Encode: TypeAlias = Callable[[Encoder], None]  # adds commands to a submission
Dispatch: TypeAlias = tuple[Pipeline, BindGroup, int, int]  # and the grid
Copy: TypeAlias = tuple[Buffer, int, Buffer, int, int]  # from an offset, to an offset, bytes

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
UNIFORM = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
MAPPABLE = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.MAP_WRITE


def can_be_copied(buffer: Buffer) -> bool:
    """Whether a copy may read it; buffers made elsewhere may lack the usage."""
    return bool(buffer.usage & wgpu.BufferUsage.COPY_SRC)


def can_be_written(buffer: Buffer) -> bool:
    """Whether a copy may write it."""
    return bool(buffer.usage & wgpu.BufferUsage.COPY_DST)
