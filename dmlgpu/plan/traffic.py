"""The least memory traffic of a call: bytes that any kernel must read and write.

Memory delivers whole sectors, so an element read alone costs a sector. What is read twice counts
once: a cache could have kept it.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmlgpu.desc.tensor import TensorDesc

SECTOR = 32  # bytes that memory delivers at least


def bytes_written(tensor: TensorDesc) -> int:
    """Bytes of all elements of an output."""
    return tensor.element_count * tensor.data_type.bits // 8


def bytes_read(tensor: TensorDesc, loops: Iterable[tuple[int, int]], start: int = 0) -> int:
    """Bytes of the sectors that loops of (size, stride) elements touch, from element `start` on."""
    item = tensor.data_type.bits // 8
    run, runs = item, 1
    for size, stride in sorted(loops, key=lambda loop: abs(loop[1])):
        step = abs(stride) * item
        if step <= max(run, SECTOR):
            run += (size - 1) * step
        else:
            runs *= size
    sectors = -(-(start * item % SECTOR + run) // SECTOR)
    return min(runs * sectors * SECTOR, tensor.total_tensor_size_in_bytes)


def all_read(tensor: TensorDesc) -> int:
    """Bytes of the sectors that hold a tensor's elements."""
    return bytes_read(tensor, tensor.steps)


def room_of(tensor: TensorDesc) -> int:
    """Bytes of scratch memory that hold a tensor: whole units."""
    return -(-tensor.total_tensor_size_in_bytes // 16) * 16
