"""The operators as functions on tensors and arrays.

Each takes its device from the tensors it is given, and uses `default_device()` when it is given
arrays alone. Outputs are packed.
"""

from __future__ import annotations

import builtins
import operator
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from dmlgpu.array import Tensor, as_array
from dmlgpu.compiled import CompiledOperator
from dmlgpu.device import COMPILED_LIMIT, Device
from dmlgpu.errors import IndexRangeError, InvalidDescError, shown
from dmlgpu.ops.cumulative import AxisDirection, CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc, batch_count, output_sizes
from dmlgpu.ops.slice import Slice1Desc, SliceDesc, reachable
from dmlgpu.tensor import MAX_RANK, DataType, TensorDesc, integer, integers

_default: list[Device] = []
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device of calls that are given only arrays; made on first use, then kept."""
    with _default_lock:
        if not _default or not _default[0].is_usable:
            _default[:] = [Device()]
        return _default[0]


def slice(x: Any, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Tensor:
    """SLICE: `sizes` elements per dimension, from `offsets` on, every `strides`-th."""
    device, source, desc = _input(x)

    def describe() -> SliceDesc:
        wanted = integers("SLICE: sizes", sizes, 0, 2**32 - 1)
        return SliceDesc(
            input_tensor=desc,
            output_tensor=_packed("SLICE: sizes", desc.data_type, wanted),
            offsets=offsets,  # type: ignore[arg-type]  # a description makes tuples of them
            sizes=wanted,
            strides=strides,  # type: ignore[arg-type]
        )

    return _compiled(device, "slice", (desc, _key(offsets, sizes, strides)), describe)(source)


def slice1(
    x: Any,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> Tensor:
    """SLICE1: steps through a window, from its far end where a stride is negative."""
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
            input_window_offsets=input_window_offsets,  # type: ignore[arg-type]
            input_window_sizes=sizes,
            input_window_strides=steps,
        )

    windows = _key(input_window_offsets, input_window_sizes, input_window_strides, output_sizes)
    return _compiled(device, "slice1", (desc, windows), describe)(source)


def gather_nd(
    x: Any,
    indices: Any,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
) -> Tensor:
    """GATHER_ND: the blocks of `x` that the tuples along the last axis of `indices` name."""
    return _gather("GATHER_ND", x, indices, input_dimension_count, indices_dimension_count, 0)


def gather_nd1(
    x: Any,
    indices: Any,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
    batch_dimension_count: int = 0,
) -> Tensor:
    """GATHER_ND1: GATHER_ND within each of the leading batch dimensions."""
    counts = (input_dimension_count, indices_dimension_count, batch_dimension_count)
    return _gather("GATHER_ND1", x, indices, *counts)


def cumulative_summation(
    x: Any,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Tensor:
    """CUMULATIVE_SUMMATION: running sums along an axis; a negative axis counts from the end."""
    device, source, desc = _input(x)

    def describe() -> CumulativeSummationDesc:
        return CumulativeSummationDesc(
            input_tensor=desc,
            output_tensor=TensorDesc(desc.data_type, desc.sizes),
            axis=_axis("CUMULATIVE_SUMMATION", axis, desc.rank),
            axis_direction=axis_direction,
            has_exclusive_sum=exclusive,
        )

    return _compiled(device, "sum", (desc, _key(axis, axis_direction, exclusive)), describe)(source)


def cumulative_product(
    x: Any,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Tensor:
    """CUMULATIVE_PRODUCT: running products along an axis; a negative axis counts from the end."""
    device, source, desc = _input(x)

    def describe() -> CumulativeProductDesc:
        return CumulativeProductDesc(
            input_tensor=desc,
            output_tensor=TensorDesc(desc.data_type, desc.sizes),
            axis=_axis("CUMULATIVE_PRODUCT", axis, desc.rank),
            axis_direction=axis_direction,
            has_exclusive_product=exclusive,
        )

    return _compiled(device, "product", (desc, _key(axis, axis_direction, exclusive)), describe)(
        source
    )


def _compiled(
    device: Device, name: str, arguments: Hashable, describe: Callable[[], Any]
) -> CompiledOperator:
    """The operator these arguments describe: remembered, or described and compiled."""
    try:
        known = device.remembered.get((name, arguments))
    except Exception:  # an argument that is not hashable is not an integer: describing says so
        return device.compile(describe())
    if known is None:
        known = device.compile(describe())
        if _is_fixed(arguments):
            device.remember((name, arguments), known)
    return known


def _is_fixed(value: Any) -> bool:
    """Whether a value will always mean what it means now: objects of other types may change."""
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return value is None or value is ... or isinstance(value, (int, type, np.integer, TensorDesc))


def _key(*arrays: Any) -> Any:
    """Array arguments as one hashable value; what is no sequence stands for itself.

    Types belong to it: 1.0 equals 1, but only one of them is an index.
    """
    return tuple(
        (*a, *map(type, a)) if isinstance(a, (list, tuple)) else (type(a), a) for a in arrays
    )


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


def _axis(operator: str, axis: int, rank: int) -> int:
    number = integer(f"{operator}: axis", axis, -(2**31), 2**31 - 1)
    if not -rank <= number < rank:
        raise InvalidDescError(
            f"{operator}: axis is {number}; with {rank} dimensions it must be in [{-rank}, {rank})"
        )
    return number % rank


def _gather(name: str, x: Any, indices: Any, real: Any, real_index: Any, batch: Any) -> Tensor:
    device = _device(x, indices)
    source = x if isinstance(x, Tensor) else _array(x)
    index = indices if isinstance(indices, Tensor) else _array(indices, "indices")
    descs = (_desc(source), _desc(index))

    def describe() -> Any:
        return _gather_desc(name, *descs, real, real_index, batch)

    op = _compiled(device, name, (descs, _key(real, real_index, batch)), describe)
    desc = op.desc
    rank = desc.input_tensor.rank
    result = op(_padded(source, rank), _padded(index, rank))
    kept = desc.input_dimension_count - batch_count(desc) - desc.indices_tensor.sizes[-1]
    natural = desc.indices_dimension_count - 1 + kept
    return _reshaped(result, result.shape[rank - natural :] or (1,))


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


def _padded(x: Any, rank: int) -> Any:
    """`x` with leading dimensions of size 1 up to `rank`."""
    missing = rank - x.ndim
    if not missing:
        return x
    if not isinstance(x, Tensor):
        return x.reshape((1,) * missing + x.shape)
    return x.view(_padded_desc(x.desc, rank))


def _padded_desc(desc: TensorDesc, rank: int) -> TensorDesc:
    missing = rank - desc.rank
    if not missing:
        return desc
    return TensorDesc(
        desc.data_type,
        (1,) * missing + desc.sizes,
        None if desc.strides is None else (0,) * missing + desc.strides,
        total_tensor_size_in_bytes=desc.total_tensor_size_in_bytes,
    )


def _reshaped(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A packed tensor under other sizes."""
    return x if x.shape == sizes else x.view(TensorDesc(x.desc.data_type, sizes))


def take_slice(x: Tensor, index: Any) -> Tensor:
    """`x[index]` for integers, slices, Ellipsis and None, as one SLICE1."""
    parts = index if isinstance(index, tuple) else (index,)
    key = _key(*((p.start, p.stop, p.step) if isinstance(p, builtins.slice) else p for p in parts))
    shape: list[int] = []

    def describe() -> Slice1Desc:
        offsets, windows, steps, sizes = _windows(x, index)
        shape[:] = sizes
        reached = [reachable(size, step) for size, step in zip(windows, steps, strict=True)]
        return Slice1Desc(
            input_tensor=x.desc,
            output_tensor=TensorDesc(x.desc.data_type, reached),
            input_window_offsets=tuple(offsets),
            input_window_sizes=tuple(windows),
            input_window_strides=tuple(steps),
        )

    op = _compiled(x.device, "index", (x.desc, key), describe)
    if not shape and key not in op.shapes:  # the operator is remembered, its shape was let go
        describe()
    if shape and _is_fixed(key):
        if len(op.shapes) >= COMPILED_LIMIT:
            op.shapes.clear()
        op.shapes[key] = tuple(shape)
    return _reshaped(op(x), tuple(shape) or op.shapes[key])


def _windows(x: Tensor, index: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    """Offsets, sizes and strides of the window that a basic index names, and the result's sizes."""
    entries = list(index) if isinstance(index, tuple) else [index]
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if taken > x.ndim:
        raise IndexRangeError(
            f"too many indices for tensor: it has {x.ndim} dimensions, but {taken} were indexed"
        )
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexRangeError("an index can only have a single ellipsis ('...')")
    if not any(entry is Ellipsis for entry in entries):
        entries.append(Ellipsis)
    at = next(i for i, entry in enumerate(entries) if entry is Ellipsis)
    entries[at : at + 1] = [builtins.slice(None)] * (x.ndim - taken)
    offsets: list[int] = []
    windows: list[int] = []
    steps: list[int] = []
    shape: list[int] = []
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        size = x.shape[len(offsets)]
        if isinstance(entry, builtins.slice):
            start, count, step = _span(entry, len(offsets), size)
            shape.append(count)
        else:
            start, count, step = _position(entry, len(offsets), size), 1, 1
        end = start + (count - 1) * step
        offsets.append(builtins.min(start, end))
        windows.append(abs(end - start) + 1)
        steps.append(step if count > 1 else 1)
    if len(shape) > MAX_RANK:
        raise InvalidDescError(f"the index gives {len(shape)} dimensions; at most {MAX_RANK}")
    return offsets, windows, steps, shape or [1]


def _span(entry: builtins.slice, axis: int, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = entry.indices(size)
    except Exception as error:  # Python's, or whatever an object's own __index__ raises
        detail = " ".join(str(error).split())
        raise InvalidDescError(f"index of axis {axis}: {detail}") from None
    count = len(range(start, stop, step))
    if count == 0:
        raise InvalidDescError(
            f"index of axis {axis} selects no element of {size}; a tensor has at least one element"
        )
    return start, count, step


def _position(entry: Any, axis: int, size: int) -> int:
    try:
        number = None if isinstance(entry, (bool, np.bool_)) else operator.index(entry)
    except Exception:  # whatever an object's own __index__ raises
        number = None
    if number is None:
        raise InvalidDescError(
            f"index of axis {axis} is {type(entry).__name__}; integers, slices (`:`), ellipsis "
            "(`...`) and None are allowed, and gather_nd takes index arrays"
        )
    if not -size <= number < size:
        raise IndexRangeError(
            f"index {shown(number)} is out of bounds for axis {axis} with size {size}"
        )
    return number % size
