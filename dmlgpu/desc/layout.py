"""Layout: how the elements of an array lie in memory, and basic indexing as arithmetic on it.

A layout says more than DirectML's description can: shapes without dimensions and without elements,
bool, steps that go backward, and a first element anywhere within the 16 bytes at which the memory
begins. Equal layouts are one object, so that they are compared and hashed by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from math import prod
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from dmlgpu.desc.cached import Cache
from dmlgpu.desc.indexing import Window
from dmlgpu.desc.tensor import MAX_RANK, TENSOR_ALIGNMENT, DataType, TensorDesc, packed_strides
from dmlgpu.desc.values import UINT32_MAX, as_indices
from dmlgpu.desc.views import axes_of, packed, relaid
from dmlgpu.errors import InvalidDescError

DType = np.dtype[Any]
View = TypeVar("View", "Layout", "Layout | None")
VIEWS_LIMIT = 256  # views that one layout remembers
LATEST_LIMIT = 1024  # layouts that are remembered though nobody has them


def _remembered(
    made: Callable[[Layout, tuple[int, ...]], View],
) -> Callable[[Layout, tuple[int, ...]], View]:
    """A method that gives a view of a layout, which the layout remembers."""

    @wraps(made)
    def method(layout: Layout, argument: tuple[int, ...]) -> View:
        key = (made, argument)
        known: View | None = layout.views[key]
        if known is None:
            known = made(layout, argument)
            if known is not None:
                layout.views.put(key, known)
        return known

    return method


class Layout:
    """A type, a shape, and where the elements are. Made by `layout_of` and the methods.

    `strides` are in elements and signed, `start` is the element at which index (0, ..., 0) lies,
    counted from the first byte of the memory. `extent` describes that memory to DirectML: the same
    sizes and steps, all forward; it is None where there are no elements. `lowest` is the element of
    the memory that comes first. `desc` is the extent where it says everything, else None. `shares`
    says that elements of others, which must stay as they are, may lie among the bytes. Without
    steps that go backward a layout `is_forward`; `is_own` says that an operator may write it, and
    `is_read_only` that nobody may.
    """

    __slots__ = (
        "__weakref__",
        "desc",
        "dtype",
        "extent",
        "is_forward",
        "is_own",
        "is_read_only",
        "lowest",
        "shape",
        "shares",
        "start",
        "strides",
        "views",
    )

    def __init__(
        self,
        dtype: DType | None,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        start: int,
        extent: TensorDesc | None,
        shares: bool = False,
        is_read_only: bool = False,
    ) -> None:
        steps = zip(shape, strides, strict=True)
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.start = start
        self.extent = extent
        self.shares = shares
        self.lowest = start + sum((n - 1) * step for n, step in steps if step < 0 < n)
        self.is_forward = start == self.lowest
        self.desc = extent if start == self.lowest == 0 else None
        self.is_own = self.desc is not None and not shares and not is_read_only
        self.is_read_only = is_read_only
        self.views: Cache[Any, Any] = Cache(VIEWS_LIMIT)  # of it, by what they depend on

    def __repr__(self) -> str:
        return f"Layout({self.dtype}, {self.shape}, strides={self.strides}, start={self.start})"

    @property
    def is_packed(self) -> bool:
        """Whether the elements lie one behind the other from the first byte on, as in C."""
        return self.extent is None or (self.desc is not None and self.desc.is_packed)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one behind the other as in C, wherever the first one lies."""
        return self.extent is None or (self.is_forward and self.extent.is_packed)

    @property
    def untold(self) -> str:
        """Why DirectML has no description of such tensors, and what to do."""
        if self.extent is None:
            return f"a tensor of shape {self.shape} has no elements: it never reaches the GPU"
        where = "begins between two multiples of 16 bytes" if self.is_forward else "goes backward"
        return f"a view that {where} cannot be described to DirectML; its copy() can"

    @property
    def memory(self) -> TensorDesc:
        """The extent of a layout that has elements."""
        assert self.extent is not None
        return self.extent

    def at(
        self, shape: tuple[int, ...], strides: tuple[int, ...], *, is_read_only: bool = False
    ) -> Layout:
        """The same elements, in another order or number, in the same bytes."""
        sizes = shape or (1,)
        steps = tuple(min(abs(step), UINT32_MAX) for step in strides) or (1,)
        extent = relaid(self.memory, sizes, steps)
        fixed = is_read_only or self.is_read_only
        return _interned(self.dtype, shape, strides, self.start, extent, self.shares, fixed)

    def seen_as(self, dtype: DType, data_type: DataType) -> Layout:
        """The same bytes as elements of another type of the same width."""
        if self.extent is None:
            return empty_layout(self.shape, dtype)
        have = self.extent
        extent = TensorDesc(
            data_type,
            have.sizes,
            have.strides,
            total_tensor_size_in_bytes=have.total_tensor_size_in_bytes,
            guaranteed_base_offset_alignment=have.guaranteed_base_offset_alignment,
            flags=have.flags,
        )
        places = self.shape, self.strides, self.start
        return _interned(dtype, *places, extent, self.shares, self.is_read_only)

    @_remembered
    def permuted(self, axes: tuple[int, ...]) -> Layout:
        """The dimensions in another order."""
        return self.at(tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes))

    @_remembered
    def squeezed(self, axes: tuple[int, ...]) -> Layout:
        """Without these dimensions of size 1."""
        return self.permuted(tuple(a for a in range(len(self.shape)) if a not in axes))

    def expanded(self, axis: Any) -> Layout:
        """With dimensions of size 1 at these places of the result."""
        rank = len(self.shape) + len(as_indices("expand_dims: axis", axis))
        if rank > MAX_RANK:
            raise InvalidDescError(
                f"expand_dims: the result has {rank} dimensions; at most {MAX_RANK} are allowed"
            )
        shape, strides = list(self.shape), list(self.strides)
        for place in sorted(axes_of("expand_dims", axis, rank)):
            shape.insert(place, 1)
            strides.insert(place, 0)
        return self.at(tuple(shape), tuple(strides))

    @_remembered
    def broadcast(self, shape: tuple[int, ...]) -> Layout:
        """Dimensions of size 1, and missing leading ones, repeated with stride 0."""
        missing = len(shape) - len(self.shape)
        own = (1,) * missing + self.shape
        if missing < 0 or any(n not in (1, wanted) for n, wanted in zip(own, shape, strict=True)):
            raise InvalidDescError(
                f"broadcast_to: could not broadcast array from shape {self.shape} into shape "
                f"{shape}"
            )
        strides = (0,) * missing + self.strides
        steps = (
            0 if n == 1 != wanted else step
            for n, wanted, step in zip(own, shape, strides, strict=True)
        )
        return self.at(shape, tuple(steps), is_read_only=True)

    @_remembered
    def reshaped(self, shape: tuple[int, ...]) -> Layout | None:
        """The same elements in the same order under other sizes; None where only a copy can do it.

        Runs of dimensions with the same number of elements on both sides correspond; a run can be
        cut anew when its own dimensions lie behind each other without a gap.
        """
        if shape == self.shape:
            return self
        strides = [0] * len(shape)
        pairs = zip(self.shape, self.strides, strict=True)
        old = [(n, step) for n, step in pairs if n > 1]
        at = 0
        for stop in range(1, len(shape) + 1):
            count = prod(shape[at:stop])
            if count == 1:
                continue
            run, have = 0, 1
            while have < count and run < len(old):
                have *= old[run][0]
                run += 1
            if have != count:
                continue
            if any(outer != n * step for (_, outer), (n, step) in pairwise(old[:run])):
                return None
            step = old[run - 1][1]
            for i in reversed(range(at, stop)):
                strides[i] = step
                step *= shape[i]
            del old[:run]
            at = stop
        return self.at(shape, tuple(strides))

    def indexed(self, window: Window) -> tuple[int, Layout]:
        """Bytes to the 16 of them in which the elements of a window begin, and how they lie there.

        Windows of one form that begin elsewhere in an array have one layout, so that one kernel
        serves them all.
        """
        spans = zip(window.sizes, window.strides, self.strides, strict=True)
        longer = iter([step * stride for n, step, stride in spans if n > abs(step)])
        strides = tuple(next(longer) if n > 1 else 0 for n in window.shape)
        return self.cut(window.shape, strides, self.start_of(window))

    def start_of(self, window: Window) -> int:
        """The element at which a window begins."""
        spans = zip(window.offsets, window.sizes, window.strides, self.strides, strict=True)
        return self.start + sum((o if step > 0 else o + n - 1) * by for o, n, step, by in spans)

    def lie_together(self, axes: tuple[int, ...]) -> bool:
        """Whether the elements of neighbouring axes can be counted through with one stride."""
        return all(self.strides[a] == self.strides[b] * self.shape[b] for a, b in pairwise(axes))

    def cut(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        start: int,
        *,
        is_read_only: bool = False,
    ) -> tuple[int, Layout]:
        """Elements that lie so, in no more bytes than they need, and the bytes before these."""
        is_read_only |= self.is_read_only
        extent = self.memory
        width = extent.data_type.bits // 8
        below = sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if step < 0)
        reach = sum((n - 1) * abs(step) for n, step in zip(shape, strides, strict=True)) + 1
        first = (start + below) * width
        begin = first // TENSOR_ALIGNMENT * TENSOR_ALIGNMENT
        # Whole units of 16 bytes, where the tensor has them, can be read and written as such.
        nbytes = -(-(first - begin + reach * width) // TENSOR_ALIGNMENT) * TENSOR_ALIGNMENT
        nbytes = min(nbytes, extent.total_tensor_size_in_bytes - begin)
        start -= begin // width
        key = (shape, strides, start, nbytes, is_read_only)
        known = self.views[key]
        if known is None:
            sizes, steps = shape or (1,), tuple(map(abs, strides)) or (1,)
            desc = TensorDesc(extent.data_type, sizes, steps, total_tensor_size_in_bytes=nbytes)
            if desc.is_packed:
                desc = TensorDesc(extent.data_type, sizes, total_tensor_size_in_bytes=nbytes)
            is_own = start == 0 and desc.strides is None and reach * width == nbytes
            places = shape, strides, start
            known = _interned(self.dtype, *places, desc, not is_own, is_read_only)
            self.views.put(key, known)
        return begin, known


# All layouts that are in use, and those used last, with the views that they remember.
_KNOWN: WeakValueDictionary[Any, Layout] = WeakValueDictionary()
_LATEST: Cache[Any, Layout] = Cache(LATEST_LIMIT)


def _interned(
    dtype: DType | None,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    start: int,
    extent: TensorDesc | None,
    shares: bool = False,
    is_read_only: bool = False,
) -> Layout:
    if extent is not None and extent.strides is None:
        # The steps of dimensions with one element mean nothing; those of packed ones are the usual.
        ordinary = packed_strides(shape)
        strides = tuple(
            usual if n == 1 else own for n, usual, own in zip(shape, ordinary, strides, strict=True)
        )
    key = (extent, shape, dtype, start, strides, shares, is_read_only)
    known = _LATEST[key]
    if known is None:
        made = Layout(dtype, shape, strides, start, extent, shares, is_read_only)
        known = _KNOWN.setdefault(key, made)
        _LATEST.put(key, known)
    return known


def layout_of(
    desc: TensorDesc, shape: tuple[int, ...] | None = None, dtype: DType | None = None
) -> Layout:
    """The layout that a description says; of no dimensions or of bool, which it cannot say."""
    sizes = desc.sizes if shape is None else shape
    strides = desc.effective_strides if sizes else ()
    if dtype is None and desc.data_type.bits >= 8:  # NumPy has no type of 4 bits
        dtype = desc.data_type.numpy
    return _interned(dtype, sizes, strides, 0, desc)


def packed_layout(data_type: DataType, shape: tuple[int, ...], dtype: DType) -> Layout:
    """The layout of elements one behind the other."""
    return layout_of(packed(data_type, shape or (1,)), shape, dtype)


def empty_layout(shape: tuple[int, ...], dtype: DType, *, is_read_only: bool = False) -> Layout:
    """The layout of a shape without elements."""
    return _interned(dtype, shape, packed_strides(shape), 0, None, is_read_only=is_read_only)
