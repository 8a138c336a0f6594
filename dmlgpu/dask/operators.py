"""DirectML's operators on arrays in chunks, across their borders.

Each function has the name and the arguments of the one in dmlgpu, takes a Dask array of tensors
(or of arrays, whose chunks are uploaded) and gives a Dask array. A chunk of the input is loaded or
computed once, and only where the result needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from dmlgpu import functions
from dmlgpu.array.promotion import FLOAT32, DType
from dmlgpu.dask.backend import from_array, meta
from dmlgpu.desc import views
from dmlgpu.desc.description import Description
from dmlgpu.desc.enumerations import AxisDirection
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.device import validate
from dmlgpu.errors import IndexRangeError, InvalidDescError, InvalidTypeError
from dmlgpu.numpy.manipulation import concat
from dmlgpu.ops.cumulative import CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.slice import Slice1Desc, SliceDesc
from dmlgpu.tensor import Tensor

Indices: TypeAlias = da.Array | npt.ArrayLike
builtin_slice = slice


def slice(x: Any, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> da.Array:
    """SLICE: `sizes` elements per dimension, from `offsets` on, every `strides`-th.

    >>> x = dmlgpu.dask.from_array(np.arange(10), chunks=4)
    >>> dmlgpu.dask.slice(x, offsets=[2], sizes=[3], strides=[3]).compute().tolist()
    [2, 5, 8]
    """
    array = from_array(x)
    fields = {"offsets": offsets, "sizes": sizes, "strides": strides}
    _check_slice(SliceDesc, array, fields)
    return array[
        tuple(
            builtin_slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(offsets, sizes, strides, strict=True)
        )
    ]


def slice1(
    x: Any,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> da.Array:
    """SLICE1: steps through a window, from its far end where a stride is negative.

    >>> x = dmlgpu.dask.from_array(np.arange(10), chunks=4)
    >>> dmlgpu.dask.slice1(x, [1], [8], [-3]).compute().tolist()
    [8, 5, 2]
    """
    array = from_array(x)
    fields = {
        "input_window_offsets": input_window_offsets,
        "input_window_sizes": input_window_sizes,
        "input_window_strides": input_window_strides,
    }
    if output_sizes is not None:
        fields["output_sizes"] = output_sizes
    made = _check_slice(Slice1Desc, array, fields)
    index = []
    windows = zip(input_window_offsets, input_window_sizes, input_window_strides, strict=True)
    for (offset, size, step), count in zip(windows, made, strict=True):
        start = offset if step > 0 else offset + size - 1
        stop = start + count * step
        index.append(builtin_slice(start, None if stop < 0 else stop, step))
    return array[tuple(index)]


def _check_slice(
    desc_type: type[Description], x: da.Array, fields: dict[str, Sequence[int]]
) -> tuple[int, ...]:
    """The sizes of the output; the rules hold for each axis, so the array may have any size."""
    for name, values in fields.items():
        if len(values) != x.ndim:
            raise InvalidDescError(f"{name} has {len(values)} entries; x has {x.ndim} dimensions")
    found = []
    for axis, size in enumerate(x.shape):

        def alone(value: int, other: int, axis: int = axis) -> tuple[int, ...]:
            return tuple(value if a == axis else other for a in range(x.ndim))

        given = {
            name: alone(values[axis], 0 if name.endswith("offsets") else 1)
            for name, values in fields.items()
        }
        made = _checked(desc_type, input_tensor=TensorDesc(x.dtype, alone(size, 1)), **given)
        found.append(int(made.output_tensor.sizes[axis]))
    return tuple(found)


def _checked(desc_type: type[Description], **fields: Any) -> Any:
    """A complete description that keeps the operator's rules."""
    made = functions.infer(desc_type, **fields)
    validate(made)
    return made


def cumulative_summation(
    x: Any,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> da.Array:
    """CUMULATIVE_SUMMATION: running sums along an axis, over the borders of its chunks.

    >>> x = dmlgpu.dask.from_array(np.arange(1, 7, dtype=np.int32), chunks=2)
    >>> dmlgpu.dask.cumulative_summation(x, 0, exclusive=True).compute().tolist()
    [0, 1, 3, 6, 10, 15]
    """
    return _cumulative(Scan("cumulative_summation", axis, axis_direction, bool(exclusive)), x)


def cumulative_product(
    x: Any,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> da.Array:
    """CUMULATIVE_PRODUCT: running products along an axis, over the borders of its chunks.

    >>> x = dmlgpu.dask.from_array(np.arange(1, 7, dtype=np.int32), chunks=2)
    >>> dmlgpu.dask.cumulative_product(x, 0, dml.AxisDirection.DECREASING).compute().tolist()
    [720, 720, 360, 120, 30, 6]
    """
    return _cumulative(Scan("cumulative_product", axis, axis_direction, bool(exclusive)), x)


class Scan(NamedTuple):
    """A running sum or product; what tasks are told of it."""

    name: str
    axis: int
    direction: AxisDirection
    exclusive: bool

    def __call__(self, chunk: Tensor) -> Tensor:
        """Within a chunk."""
        if not chunk.size:
            return chunk
        run = getattr(functions, self.name)
        made: Tensor = run(chunk, self.axis, self.direction, self.exclusive)
        return made

    def total(self, chunk: Tensor, scanned: Tensor) -> Tensor:
        """What a chunk adds to those behind it: a line, from the end at which the scan stops."""
        if not chunk.size:
            return scanned[self._line(builtin_slice(0))]
        last = self._line(
            builtin_slice(-1, None)
            if self.direction == AxisDirection.INCREASING
            else builtin_slice(0, 1)
        )
        return self.join(scanned[last], chunk[last]) if self.exclusive else scanned[last]

    def join(self, scanned: Tensor, carry: Tensor) -> Tensor:
        """What was scanned of a chunk, with what lies before it."""
        return scanned + carry if self.name == "cumulative_summation" else scanned * carry

    def _line(self, part: Any) -> tuple[Any, ...]:
        return (*(builtin_slice(None),) * self.axis, part)


def _cumulative(scan: Scan, x: Any) -> da.Array:
    """A scan of each chunk, a scan of the few totals, and one operation that joins both.

    FLOAT16 is scanned in FLOAT32 and rounded once, as within a tensor.
    """
    array = from_array(x)
    axis = views.axis_of(scan.name.upper(), scan.axis, array.ndim)
    scan = scan._replace(axis=axis, direction=AxisDirection(scan.direction))
    desc = CumulativeSummationDesc if scan.name.endswith("summation") else CumulativeProductDesc
    source = TensorDesc(array.dtype, (1,) * array.ndim)
    _checked(desc, input_tensor=source, axis=axis)  # not every type has it
    if array.dtype == np.float16:
        return _cumulative(scan, array.astype(FLOAT32)).astype(np.float16)
    same = {"dtype": array.dtype, "meta": meta(array.ndim, array.dtype)}
    scanned = array.map_blocks(scan, **same)
    count = array.numblocks[axis]
    if count == 1:
        return scanned
    lines = tuple((1,) * count if a == axis else c for a, c in enumerate(array.chunks))
    totals = da.map_blocks(scan.total, array, scanned, chunks=lines, **same)
    before = scan._replace(exclusive=True)
    carries = totals.rechunk({axis: count}).map_blocks(before, **same).rechunk({axis: 1})
    axes = tuple(range(array.ndim))
    whole = {a: array.chunks[a] for a in axes}
    joined: da.Array = da.blockwise(
        *(scan.join, axes, scanned, axes, carries, axes),
        align_arrays=False,
        adjust_chunks=whole,
        **same,
    )
    return joined


def gather(x: Any, indices: Indices, axis: int) -> da.Array:
    """GATHER: the slices of `x` along an axis that `indices` name, from whichever chunk has them.

    >>> x = dmlgpu.dask.from_array(np.arange(10) * 10, chunks=4)
    >>> dmlgpu.dask.gather(x, [9, 0, 5, -1], axis=0).compute().tolist()
    [90, 0, 50, 90]
    """
    array, index = from_array(x), _index_array(indices)
    place = views.axis_of("GATHER", axis, array.ndim)
    found = gather_nd(da.moveaxis(array, place, 0), index[..., None])
    order = [*range(index.ndim, index.ndim + place), *range(index.ndim)]
    order += range(len(order), found.ndim)
    return found if order == list(range(found.ndim)) else found.transpose(order)


def gather_nd(
    x: Any,
    indices: Indices,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
) -> da.Array:
    """GATHER_ND: the blocks of `x` that the tuples along the last axis of `indices` name.

    Indices in host memory are checked, and only chunks that they name are touched; those of a Dask
    array are clamped. Only the blocks that are asked for leave the worker that has them.

    >>> x = dmlgpu.dask.from_array(np.arange(12).reshape(3, 4), chunks=2)
    >>> dmlgpu.dask.gather_nd(x, [[2, 3], [0, -1]]).compute().tolist()
    [11, 3]
    """
    return gather_nd1(x, indices, input_dimension_count, indices_dimension_count)


def gather_nd1(
    x: Any,
    indices: Indices,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
    batch_dimension_count: int = 0,
) -> da.Array:
    """GATHER_ND1: GATHER_ND within each of the leading batch dimensions.

    >>> x = dmlgpu.dask.from_array(np.arange(12).reshape(3, 4), chunks=2)
    >>> dmlgpu.dask.gather_nd1(x, [[3], [0], [1]], batch_dimension_count=1).compute().tolist()
    [3, 4, 9]
    """
    array = _without_leading("input_dimension_count", from_array(x), input_dimension_count)
    index = _without_leading(
        "indices_dimension_count", _index_array(indices), indices_dimension_count
    )
    batch = batch_dimension_count
    if not index.ndim:
        raise InvalidDescError("GATHER_ND: indices has no dimensions; the last one holds tuples")
    if not 0 <= batch < min(array.ndim, index.ndim) or index.shape[:batch] != array.shape[:batch]:
        raise InvalidDescError(
            f"GATHER_ND1: batch_dimension_count is {batch}; the first sizes of x {array.shape} and "
            f"indices {index.shape} must agree, before the last of each"
        )
    coordinates = batch + int(index.shape[-1])
    if not 1 <= index.shape[-1] <= array.ndim - batch:
        raise InvalidDescError(
            f"GATHER_ND: the last size of indices is {index.shape[-1]}; x has "
            f"{array.ndim - batch} dimensions for it"
        )
    return _gathered(array, _cut(index, array, coordinates), batch, coordinates)


def _index_array(indices: Indices) -> Any:
    """Indices as an array of integers, which may have chunks."""
    made = indices if isinstance(indices, (da.Array, Tensor)) else np.asarray(indices)
    made = made.numpy() if isinstance(made, Tensor) else made
    if made.dtype.kind not in "iu":
        raise InvalidTypeError(f"indices have type {made.dtype}; they must be integers")
    return made


def _without_leading(name: str, x: Any, count: int | None) -> Any:
    """An array without the leading dimensions of size 1 that are not meant."""
    if count is None:
        return x
    if not 1 <= count <= x.ndim or any(n != 1 for n in x.shape[: x.ndim - count]):
        raise InvalidDescError(
            f"{name} is {count}; of shape {x.shape} only leading sizes of 1 can be left out"
        )
    return x[(0,) * (x.ndim - count)]


def _cut(index: Any, x: da.Array, coordinates: int) -> Any:
    """Indices as a Dask array whose results have chunks about as large as those of x."""
    if isinstance(index, da.Array):
        return index.rechunk({index.ndim - 1: -1})
    block = prod(max(c) for c in x.chunks[coordinates:])
    largest = prod(max(c) for c in x.chunks)
    room = max(1, largest // max(1, block))
    sizes = [int(index.shape[-1])]
    for size in reversed(index.shape[:-1]):
        part = max(1, min(size, room))
        sizes.insert(0, part)
        room = max(1, room // part)
    return _HostIndex(index, tuple(sizes))


class _HostIndex:
    """Indices whose values are known when the graph is made, cut into chunks."""

    def __init__(self, values: npt.NDArray[Any], sizes: tuple[int, ...]) -> None:
        self.values = values
        self.shape = values.shape
        self.ndim = values.ndim
        self.chunks: tuple[tuple[int, ...], ...] = da.core.normalize_chunks(sizes, values.shape)

    def chunk(self, place: tuple[int, ...]) -> npt.NDArray[Any]:
        spans = _spans(self.chunks, (*place, 0))
        return self.values[tuple(builtin_slice(start, start + n) for start, n in spans)]


def _spans(chunks: Sequence[Sequence[int]], place: Sequence[int]) -> list[tuple[int, int]]:
    """Where a chunk starts along each axis, and its sizes."""
    return [(sum(sizes[:i]), sizes[i]) for sizes, i in zip(chunks, place, strict=True)]


def _gathered(x: da.Array, index: Any, batch: int, coordinates: int) -> da.Array:
    """One task for each pair of chunks that meet, and one that puts their blocks in order."""
    limits = x.shape[:coordinates]
    if isinstance(index, _HostIndex):
        _check_range(index.values, limits[batch:])
    token = tokenize(x, index.values if isinstance(index, _HostIndex) else index, batch)
    name, part = f"gather-nd-{token}", f"gather-nd-part-{token}"
    leading, trailing = x.numblocks[:coordinates], x.numblocks[coordinates:]
    starts = [list(accumulate(sizes[:-1], initial=0)) for sizes in x.chunks[:coordinates]]
    graph: dict[Any, Any] = {}
    for place in product(*(range(len(c)) for c in index.chunks[:-1])):
        spans = _spans(index.chunks[:-1], place)
        offsets = tuple(start for start, _ in spans[:batch])
        shape = tuple(n for _, n in spans)
        parts: Iterator[tuple[tuple[int, ...], Any]]
        if isinstance(index, _HostIndex):
            tuples = _tuples(index.chunk(place), offsets, limits)
            owners = np.stack(
                [np.searchsorted(s, t, "right") - 1 for s, t in zip(starts, tuples.T, strict=True)]
            )
            flat = np.ravel_multi_index(tuple(owners), leading) if len(tuples) else owners[0]
            # Of each chunk of x that is named: where in the result, and where in the chunk.
            parts = (
                (at, (positions, tuples[positions] - _corner(starts, at)))
                for number in np.unique(flat)
                for at in [tuple(int(i) for i in np.unravel_index(number, leading))]
                for positions in [np.flatnonzero(flat == number)]
            )
        else:
            key = (index.name, *place, 0)
            parts = (
                (
                    at,
                    (_found, key, offsets, limits, _spans(x.chunks, (*at, *(0 for _ in trailing)))),
                )
                for at in product(*map(range, leading))
            )
        met = list(parts)
        for rest in product(*map(range, trailing)):
            block = tuple(x.chunks[coordinates + a][i] for a, i in enumerate(rest))
            keys = []
            for at, what in met:
                key = (part, *place, *at, *rest)
                graph[key] = (_picked, (x.name, *at, *rest), what)
                keys.append(key)
            graph[name, *place, *rest] = (_assembled, keys, shape, block, x.dtype)
    chunks = (*index.chunks[:-1], *x.chunks[coordinates:])
    sources = [x, index] if isinstance(index, da.Array) else [x]
    layers = HighLevelGraph.from_collections(name, graph, dependencies=sources)
    return da.Array(layers, name, chunks, meta=meta(len(chunks), x.dtype))


def _corner(starts: Sequence[Sequence[int]], at: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array([s[i] for s, i in zip(starts, at, strict=True)], np.int64)


def _check_range(values: npt.NDArray[Any], limits: Sequence[int]) -> None:
    sizes = np.array(limits, np.int64)
    wrong = (values < -sizes) | (values >= sizes)
    if wrong.any():
        *at, axis = np.argwhere(wrong)[0]
        raise IndexRangeError(
            f"indices{[int(i) for i in at]} has {values[(*at, axis)]} for an axis of size "
            f"{limits[axis]}"
        )


def _tuples(
    index: npt.NDArray[Any], offsets: Sequence[int], limits: Sequence[int]
) -> npt.NDArray[np.int64]:
    """The coordinates that a chunk of indices names, counted from the start, a row each.

    The leading dimensions that `offsets` is given for are batches: their place is a coordinate.
    """
    batch = len(offsets)
    given = index.astype(np.int64)
    sizes = np.array(limits[batch:], np.int64)
    given = np.clip(np.where(given < 0, given + sizes, given), 0, sizes - 1)
    places = np.indices(index.shape[:-1], np.int64)[:batch]
    columns = [place + start for place, start in zip(places, offsets, strict=True)]
    columns += list(np.moveaxis(given, -1, 0))
    return np.stack([c.reshape(-1) for c in columns], axis=1)


def _found(
    index: Any, offsets: Sequence[int], limits: Sequence[int], spans: Sequence[tuple[int, int]]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Which blocks of a chunk are asked for: where in the result, and where in the chunk."""
    tuples = _tuples(np.asarray(index), offsets, limits)
    corner = np.array([start for start, _ in spans[: len(limits)]], np.int64)
    local = tuples - corner
    inside = np.all((local >= 0) & (local < [n for _, n in spans[: len(limits)]]), axis=1)
    positions = np.flatnonzero(inside)
    return positions, local[positions]


def _picked(
    chunk: Tensor, what: tuple[npt.NDArray[Any], npt.NDArray[Any]]
) -> tuple[npt.NDArray[Any], Tensor | None]:
    """The blocks of a chunk at these coordinates, and where in the result they belong."""
    positions, coordinates = what
    if not len(positions) or not chunk.size:
        return positions, None
    return positions, chunk.gather_nd(coordinates.astype(np.uint32))


def _assembled(
    parts: list[tuple[npt.NDArray[Any], Tensor | None]],
    shape: tuple[int, ...],
    block: tuple[int, ...],
    dtype: DType,
) -> Tensor:
    """Blocks from several chunks in the order of the indices."""
    found = [(positions, rows) for positions, rows in parts if rows is not None]
    sizes = (*shape, *block)
    if not found:
        device = functions.default_device()
        return Tensor.without_elements(device, sizes, dtype)
    rows = [made.reshape(len(positions), *block) for positions, made in found]
    order = np.concatenate([positions for positions, _ in found])
    made = concat(rows) if len(rows) > 1 else rows[0]
    if (np.diff(order) < 0).any():
        made = made.take(np.argsort(order), 0)
    return made.reshape(sizes)
