"""The least memory traffic of a description: bytes that any kernel must read and write.

Memory delivers whole sectors, so an element read alone costs a sector. What is read twice counts
once: a cache could have kept it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.ops.cumulative import CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc, batch_count
from dmlgpu.ops.slice import Slice1Desc, SliceDesc

SECTOR = 32  # bytes


def traffic(desc: Any) -> dict[str, int]:
    """Bytes read of each input and written to the output, by tensor field."""
    return _TRAFFIC.get(type(desc), _everything)(desc)


def _everything(desc: Any) -> dict[str, int]:
    """All of every tensor: for operators that nothing more is known of."""
    tensors = {name: value for name, value in vars(desc).items() if isinstance(value, TensorDesc)}
    return {name: tensor.total_tensor_size_in_bytes for name, tensor in tensors.items()}


def _written(tensor: TensorDesc) -> int:
    return tensor.element_count * tensor.data_type.bits // 8


def _read(tensor: TensorDesc, loops: Iterable[tuple[int, int]], start: int = 0) -> int:
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


def _whole(tensor: TensorDesc) -> int:
    return _read(tensor, tensor.steps)


def _scan(d: CumulativeSummationDesc | CumulativeProductDesc) -> dict[str, int]:
    return {"input_tensor": _whole(d.input_tensor), "output_tensor": _written(d.output_tensor)}


def _window(
    source: TensorDesc, output: TensorDesc, offsets: tuple[int, ...], steps: tuple[int, ...]
) -> dict[str, int]:
    strides = source.effective_strides
    loops = [(n, k * s) for n, k, s in zip(output.sizes, steps, strides, strict=True) if n > 1]
    start = sum(offset * stride for offset, stride in zip(offsets, strides, strict=True))
    return {"input_tensor": _read(source, loops, start), "output_tensor": _written(output)}


def _slice(d: SliceDesc) -> dict[str, int]:
    return _window(d.input_tensor, d.output_tensor, d.offsets, d.strides)


def _slice1(d: Slice1Desc) -> dict[str, int]:
    # A negative stride starts at the window's far end and may stop before the near one.
    ends = zip(
        d.input_window_offsets,
        d.input_window_sizes,
        d.input_window_strides,
        d.output_tensor.sizes,
        strict=True,
    )
    lowest = tuple(o if k > 0 else o + n - 1 + (count - 1) * k for o, n, k, count in ends)
    return _window(d.input_tensor, d.output_tensor, lowest, d.input_window_strides)


def _gather(d: GatherNdDesc | GatherNd1Desc) -> dict[str, int]:
    source, indices = d.input_tensor, d.indices_tensor
    coordinates = indices.sizes[-1]
    kept = d.input_dimension_count - batch_count(d) - coordinates
    dims = list(zip(source.sizes, source.effective_strides, strict=True))[source.rank - kept :]
    pieces = prod(indices.sizes[:-1])
    piece = _read(source, [(size, stride) for size, stride in dims if size > 1])
    return {
        "input_tensor": min(pieces * piece, source.total_tensor_size_in_bytes),
        "indices_tensor": _whole(indices),
        "output_tensor": _written(d.output_tensor),
    }


_TRAFFIC: Mapping[type[Any], Callable[[Any], dict[str, int]]] = {
    CumulativeProductDesc: _scan,
    CumulativeSummationDesc: _scan,
    GatherNd1Desc: _gather,
    GatherNdDesc: _gather,
    Slice1Desc: _slice1,
    SliceDesc: _slice,
}
