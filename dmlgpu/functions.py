"""The operators as functions on tensors and arrays.

Each takes its device from the tensors it is given, and uses `default_device()` when it is given
arrays alone. Outputs are packed.
"""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dmlgpu.arguments import compiled_for, key_of
from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc, as_array, integer, integers
from dmlgpu.desc.views import axis_of, packed, relaid
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.ops.cumulative import AxisDirection, CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc, batch_count, output_sizes
from dmlgpu.ops.slice import Slice1Desc, SliceDesc, reachable
from dmlgpu.tensor import Tensor

Array: TypeAlias = Tensor | npt.ArrayLike

_default: list[Device] = []
_default_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child must not find it held by a thread it does not have
    os.register_at_fork(
        before=_default_lock.acquire,
        after_in_parent=_default_lock.release,
        after_in_child=_default_lock.release,
    )


def default_device() -> Device:
    """The device of calls that are given only arrays; made on first use, then kept.

    A closed or lost one is replaced by a new one.
    """
    with _default_lock:
        if not _default or not _default[0].is_usable:
            _default[:] = [Device()]
        return _default[0]


def from_dlpack(x: Any, device: Device | None = None) -> Tensor:
    """A tensor of what another array library holds in CPU memory; copies.

    >>> dml.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    return (device or default_device()).from_dlpack(x)


def slice(x: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Tensor:
    """SLICE: `sizes` elements per dimension, from `offsets` on, every `strides`-th.

    >>> dml.slice([1, 2, 3, 4, 5], offsets=[1], sizes=[2], strides=[3]).tolist()
    [2, 5]
    """
    device, source, desc = _input(x)

    def describe() -> SliceDesc:
        wanted = integers("SLICE: sizes", sizes, 0, 2**32 - 1)
        return SliceDesc(
            input_tensor=desc,
            output_tensor=_packed("SLICE: sizes", desc.data_type, wanted),
            offsets=integers("SLICE: offsets", offsets, 0, 2**32 - 1),
            sizes=wanted,
            strides=integers("SLICE: strides", strides, 0, 2**32 - 1),
        )

    return compiled_for(device, "slice", (desc, key_of(offsets, sizes, strides)), describe)(source)


def slice1(
    x: Array,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> Tensor:
    """SLICE1: steps through a window, from its far end where a stride is negative.

    `output_sizes` keeps only the first elements; by default all that the steps reach.

    >>> dml.slice1([1, 2, 3, 4, 5], [1], [4], [-2]).tolist()
    [5, 3]
    """
    device, source, desc = _input(x)

    def describe() -> Slice1Desc:
        sizes = integers("SLICE1: input_window_sizes", input_window_sizes, 0, 2**32 - 1)
        steps = integers("SLICE1: input_window_strides", input_window_strides, -(2**31), 2**31 - 1)
        wanted = output_sizes
        if wanted is None:  # what check refuses anyway counts as one element here
            pairs = zip(sizes, steps, strict=False)
            wanted = [reachable(size, step) if size and step else 1 for size, step in pairs]
            wanted = wanted or desc.sizes
        return Slice1Desc(
            input_tensor=desc,
            output_tensor=_packed("SLICE1: output_sizes", desc.data_type, wanted),
            input_window_offsets=integers(
                "SLICE1: input_window_offsets", input_window_offsets, 0, 2**32 - 1
            ),
            input_window_sizes=sizes,
            input_window_strides=steps,
        )

    windows = key_of(input_window_offsets, input_window_sizes, input_window_strides, output_sizes)
    return compiled_for(device, "slice1", (desc, windows), describe)(source)


def gather_nd(
    x: Array,
    indices: Array,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
) -> Tensor:
    """GATHER_ND: the blocks of `x` that the tuples along the last axis of `indices` name.

    Negative coordinates count from the end. The counts say how many trailing dimensions are
    meant, all by default; the result has as many as NumPy would give it.

    >>> dml.gather_nd([[1, 2], [3, 4]], [[1, 0], [0, -1]]).tolist()
    [3, 2]
    """
    return _gather("GATHER_ND", x, indices, input_dimension_count, indices_dimension_count, 0)


def gather_nd1(
    x: Array,
    indices: Array,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
    batch_dimension_count: int = 0,
) -> Tensor:
    """GATHER_ND1: GATHER_ND within each of the leading batch dimensions.

    >>> dml.gather_nd1([[1, 2], [3, 4]], [[1], [0]], batch_dimension_count=1).tolist()
    [2, 3]
    """
    counts = (input_dimension_count, indices_dimension_count, batch_dimension_count)
    return _gather("GATHER_ND1", x, indices, *counts)


def cumulative_summation(
    x: Array,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Tensor:
    """CUMULATIVE_SUMMATION: running sums along an axis; a negative axis counts from the end.

    DECREASING starts at the far end; `exclusive` leaves each element out of its own sum.

    >>> dml.cumulative_summation([1, 2, 3, 4], 0, exclusive=True).tolist()
    [0, 1, 3, 6]
    """
    device, source, desc = _input(x)

    def describe() -> CumulativeSummationDesc:
        return CumulativeSummationDesc(
            input_tensor=desc,
            output_tensor=TensorDesc(desc.data_type, desc.sizes),
            axis=axis_of("CUMULATIVE_SUMMATION", axis, desc.rank),
            axis_direction=axis_direction,
            has_exclusive_sum=exclusive,
        )

    return compiled_for(device, "sum", (desc, key_of(axis, axis_direction, exclusive)), describe)(
        source
    )


def cumulative_product(
    x: Array,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Tensor:
    """CUMULATIVE_PRODUCT: running products along an axis; a negative axis counts from the end.

    >>> dml.cumulative_product([1, 2, 3, 4], 0, dml.AxisDirection.DECREASING).tolist()
    [24, 24, 12, 4]
    """
    device, source, desc = _input(x)

    def describe() -> CumulativeProductDesc:
        return CumulativeProductDesc(
            input_tensor=desc,
            output_tensor=TensorDesc(desc.data_type, desc.sizes),
            axis=axis_of("CUMULATIVE_PRODUCT", axis, desc.rank),
            axis_direction=axis_direction,
            has_exclusive_product=exclusive,
        )

    return compiled_for(
        device, "product", (desc, key_of(axis, axis_direction, exclusive)), describe
    )(source)


def _device(*values: Any) -> Device:
    for value in values:
        if isinstance(value, Tensor):
            return value.device
    return default_device()


def _input(x: Any) -> tuple[Device, Any, TensorDesc]:
    """The device, the tensor or array, and its description."""
    device = _device(x)
    if isinstance(x, Tensor):
        return device, x, x.desc
    values = _array(x)
    return device, values, TensorDesc(DataType.from_numpy(values.dtype), values.shape)


def _array(x: Any, what: str = "x") -> np.ndarray[Any, Any]:
    """Anything NumPy can view, with at least one dimension, in this machine's byte order."""
    values = np.atleast_1d(as_array(what, x))
    return values.astype(DataType.from_numpy(values.dtype).numpy, copy=False)


def _packed(what: str, data_type: DataType, sizes: Sequence[int]) -> TensorDesc:
    try:
        return TensorDesc(data_type, sizes)
    except InvalidDescError as error:
        detail = str(error).removeprefix("TensorDesc: ")
        raise InvalidDescError(f"{what} {shown(sizes)} cannot be an output: {detail}") from None


def _gather(name: str, x: Any, indices: Any, real: Any, real_index: Any, batch: Any) -> Tensor:
    device = _device(x, indices)
    source = x if isinstance(x, Tensor) else _array(x)
    index = indices if isinstance(indices, Tensor) else _array(indices, "indices")
    descs = (_desc(source), _desc(index))

    def describe() -> Any:
        return _gather_desc(name, *descs, real, real_index, batch)

    op = compiled_for(device, name, (descs, key_of(real, real_index, batch)), describe)
    desc = op.desc
    rank = desc.input_tensor.rank
    result = op(source, index)  # dimensions of size 1 need not be spelled out
    kept = desc.input_dimension_count - batch_count(desc) - desc.indices_tensor.sizes[-1]
    natural = desc.indices_dimension_count - 1 + kept
    if natural == rank:
        return result
    sizes = result.shape[rank - natural :] or (1,)
    return result.view(packed(result.desc.data_type, sizes))


def _gather_desc(
    name: str, source: TensorDesc, index: TensorDesc, real: Any, real_index: Any, batch: Any
) -> GatherNdDesc | GatherNd1Desc:
    """The description of a gather, its tensors padded to one rank that also holds the result."""
    counts = {
        "input_dimension_count": source.rank if real is None else real,
        "indices_dimension_count": index.rank if real_index is None else real_index,
        "batch_dimension_count": batch,
    }
    known = {n: integer(f"{name}: {n}", v, 0, 2**32 - 1) for n, v in counts.items()}
    n_real, n_index, n_batch = known.values()
    rank = builtins.max(source.rank, index.rank)
    sizes = (1,) * (rank - source.rank) + source.sizes
    index_sizes = (1,) * (rank - index.rank) + index.sizes
    natural: tuple[int, ...] = (1,)
    kept = n_real - n_batch - index_sizes[-1]
    if kept >= 0 and 1 <= n_real <= rank and 1 <= n_index <= rank:  # else check names the fault
        natural = output_sizes(sizes, index_sizes, n_real, n_index, n_batch) or (1,)
        rank = builtins.max(rank, len(natural))
    if rank > MAX_RANK:
        raise InvalidDescError(
            f"{name}: the result has sizes {natural}, {rank} dimensions; at most {MAX_RANK} are "
            "allowed"
        )
    fields: dict[str, Any] = {
        "input_tensor": _padded_desc(source, rank),
        "indices_tensor": _padded_desc(index, rank),
        "output_tensor": TensorDesc(source.data_type, (1,) * (rank - len(natural)) + natural),
        "input_dimension_count": n_real,
        "indices_dimension_count": n_index,
    }
    if name == "GATHER_ND":
        return GatherNdDesc(**fields)
    return GatherNd1Desc(**fields, batch_dimension_count=n_batch)


def _desc(x: Any) -> TensorDesc:
    return x.desc if isinstance(x, Tensor) else TensorDesc(DataType.from_numpy(x.dtype), x.shape)


def _padded_desc(desc: TensorDesc, rank: int) -> TensorDesc:
    """With leading dimensions of size 1 up to `rank`."""
    missing = rank - desc.rank
    return relaid(desc, (1,) * missing + desc.sizes, (0,) * missing + desc.effective_strides)
