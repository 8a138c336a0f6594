"""One case on one adapter: its shapes, its description, the bytes it must move, its NumPy twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.workloads import Workload
from dmlgpu.desc.indexing import window
from dmlgpu.ops import traffic
from dmlgpu.plan.traffic import SECTOR

Array = np.ndarray[Any, Any]
BARE_BELOW = 64  # bytes: gathers of shorter pieces are held against a bare gather


@dataclass(frozen=True)
class Problem:
    """A workload with everything decided but the values."""

    workload: Workload
    dtype: str
    shape: tuple[int, ...]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return np.dtype(self.dtype).itemsize

    @property
    def elements(self) -> int:
        """Elements of the input."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the input."""
        return self.elements * self.itemsize

    @cached_property
    def steps(self) -> tuple[slice, ...]:
        """Slices: one per axis."""
        whole = ((None, None, None),) * (len(self.shape) - len(self.workload.index))
        return tuple(slice(*step) for step in (*whole, *self.workload.index))

    @cached_property
    def output_shape(self) -> tuple[int, ...]:
        """Sizes of the output, in NumPy's sense."""
        if self.workload.family == "slice":
            pairs = zip(self.steps, self.shape, strict=True)
            return tuple(len(range(*step.indices(size))) for step, size in pairs)
        if self.workload.family == "gather_nd":
            return (self.pieces, *self.shape[self.workload.coordinates :])
        return self.shape

    @property
    def pieces(self) -> int:
        """Gathers: number of index tuples."""
        return prod(self.shape[: self.workload.coordinates]) // self.workload.one_in

    @property
    def piece_bytes(self) -> int:
        """Gathers: bytes that one tuple picks."""
        return prod(self.shape[self.workload.coordinates :]) * self.itemsize

    @property
    def is_bare_gather(self) -> bool:
        """Whether the limit is a bare gather instead of a copy."""
        return self.workload.family == "gather_nd" and self.piece_bytes < BARE_BELOW

    @property
    def index_shape(self) -> tuple[int, int]:
        """Gathers: sizes of the indices."""
        return (self.pieces, self.workload.coordinates)

    @cached_property
    def traffic(self) -> int:
        """Bytes that must be read, in whole sectors, plus bytes written.

        Pieces shorter than a sector are each read with all of it, however often that is read.
        """
        if not self.is_bare_gather:
            return sum(traffic(self.desc()).values())
        sectors = self.pieces * -(-self.piece_bytes // SECTOR)
        index = prod(self.index_shape) * np.dtype(self.workload.index_dtype).itemsize
        return sectors * SECTOR + index + prod(self.output_shape) * self.itemsize

    def desc(self) -> Any:
        """The description that dmlgpu compiles."""
        source = dml.TensorDesc(dml.DataType.from_numpy(self.dtype), self.shape)
        if self.workload.family == "slice":
            at = window(self.shape, self.steps)
            return dml.infer(
                dml.Slice1Desc,
                input_tensor=source,
                input_window_offsets=at.offsets,
                input_window_sizes=at.sizes,
                input_window_strides=at.strides,
            )
        if self.workload.family == "gather_nd":
            return dml.infer(
                dml.GatherNdDesc, input_tensor=source, indices_tensor=self.index_desc()
            )
        return dml.infer(dml.CumulativeSummationDesc, input_tensor=source, axis=self.workload.axis)

    def index_desc(self) -> dml.TensorDesc:
        """Gathers: the indices' description."""
        return dml.TensorDesc(dml.DataType.from_numpy(self.workload.index_dtype), self.index_shape)

    def flat_index(self) -> Array:
        """Gathers: the position of each piece, in pieces: rows in random order, or at random."""
        places = prod(self.shape[: self.workload.coordinates])
        random = np.random.default_rng(places)
        if self.workload.one_in == 1:
            return random.permutation(np.arange(places, dtype=np.uint32))
        return random.integers(0, places, self.pieces, np.uint32)

    def index(self, flat: Array) -> Array:
        """Gathers: the index tuples that name the flat positions."""
        if self.workload.coordinates == 1:
            return flat.astype(self.workload.index_dtype, copy=False).reshape(-1, 1)
        pairs = np.empty(self.index_shape, self.workload.index_dtype)
        pairs[:, 0] = flat // np.uint32(self.shape[1])
        pairs[:, 1] = flat % np.uint32(self.shape[1])
        return pairs

    def numpy_call(self, x: Array, index: Array | None) -> Callable[[Array], Array]:
        """What a NumPy user would write, into memory that is there already where NumPy can."""
        if self.workload.family == "slice":
            steps = self.steps

            def copied(out: Array) -> Array:
                out[...] = x[steps]
                return out

            return copied
        if self.workload.family == "cumulative":
            return lambda out: np.cumsum(x, self.workload.axis, x.dtype, out)
        assert index is not None
        columns = tuple(np.ascontiguousarray(column) for column in index.astype(np.int64).T)
        if len(columns) == 1:
            return lambda out: np.take(x, columns[0], 0, out, "clip")
        return lambda out: x[columns]
