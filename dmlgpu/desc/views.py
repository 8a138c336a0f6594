"""Shapes and axes, read and refused as NumPy does, and descriptions of other shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.desc.values import UINT32_MAX, as_index, as_indices, integers
from dmlgpu.errors import AxisError, InvalidDescError, shown

REMEMBERED = 1024  # descriptions each function remembers: making one costs more than a call


def axis_of(what: str, axis: Any, rank: int) -> int:
    """An axis, counted from the end where negative, as a number from 0."""
    number = as_index(f"{what}: axis", axis)
    if not -rank <= number < rank:
        raise AxisError(max(-(2**63), min(number, 2**63)), rank, what)  # what can be printed
    return number % rank


def axes_of(what: str, axes: Any, rank: int) -> tuple[int, ...]:
    """One axis or several, each at most once."""
    numbers = tuple(axis_of(what, axis, rank) for axis in as_indices(f"{what}: axes", axes))
    if len(set(numbers)) != len(numbers):
        raise InvalidDescError(f"{what}: repeated axis in {shown(axes)}")
    return numbers


def _are_sizes(given: tuple[Any, ...], low: int) -> bool:
    """Whether nothing of a shape needs to be converted or refused."""
    return all(n.__class__ is int and low <= n <= UINT32_MAX for n in given)


def shape_of(what: str, shape: Sequence[Any], low: int = 0) -> tuple[int, ...]:
    """A shape given as separate integers or as one sequence of them."""
    first = shape[0] if len(shape) == 1 else shape
    if first.__class__ is tuple and len(first) <= MAX_RANK and _are_sizes(first, low):
        return first
    name = f"{what}: shape"
    given = as_indices(name, shape[0]) if len(shape) == 1 else shape
    numbers = [as_index(f"{name}[{i}]", n) for i, n in enumerate(given)]
    sizes = integers(name, numbers, low, UINT32_MAX)
    if len(sizes) > MAX_RANK:
        raise InvalidDescError(
            f"{what}: shape {sizes} has {len(sizes)} dimensions; at most {MAX_RANK} are allowed"
        )
    return sizes


def filled(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The sizes of a reshape of `count` elements, with -1 replaced by what is left over."""
    if sizes.count(-1) > 1:
        raise InvalidDescError("reshape: can only specify one unknown dimension")
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and known and count % known == 0:
        return tuple(count // known if size == -1 else size for size in sizes)
    if known != count or -1 in sizes:
        shape = f"({sizes[0]},)" if len(sizes) == 1 else str(sizes)
        raise InvalidDescError(f"cannot reshape array of size {count} into shape {shape}")
    return sizes


@lru_cache(REMEMBERED)
def packed(data_type: DataType, sizes: tuple[int, ...]) -> TensorDesc:
    """The description of a tensor without gaps."""
    return TensorDesc(data_type, sizes)


@lru_cache(REMEMBERED)
def relaid(desc: TensorDesc, sizes: tuple[int, ...], strides: tuple[int, ...]) -> TensorDesc:
    """The bytes of `desc` under other sizes and strides; packed ones are not spelled out."""
    fields: dict[str, Any] = {
        "total_tensor_size_in_bytes": desc.total_tensor_size_in_bytes,
        "guaranteed_base_offset_alignment": desc.guaranteed_base_offset_alignment,
        "flags": desc.flags,
    }
    strided = TensorDesc(desc.data_type, sizes, strides, **fields)
    return TensorDesc(desc.data_type, sizes, **fields) if strided.is_packed else strided


def broadcast(desc: TensorDesc, sizes: tuple[int, ...]) -> TensorDesc:
    """Dimensions of size 1, and missing leading ones, repeated with stride 0."""
    missing = len(sizes) - desc.rank
    own = (1,) * missing + desc.sizes
    if missing < 0 or any(n not in (1, wanted) for n, wanted in zip(own, sizes, strict=True)):
        raise InvalidDescError(
            f"broadcast_to: could not broadcast array from shape {desc.sizes} into shape {sizes}"
        )
    strides = (0,) * missing + desc.effective_strides
    steps = (0 if n == 1 else stride for n, stride in zip(own, strides, strict=True))
    return relaid(desc, sizes, tuple(steps))


def padded(desc: TensorDesc, rank: int) -> TensorDesc:
    """With leading dimensions of size 1 up to `rank`."""
    missing = rank - desc.rank
    return relaid(desc, (1,) * missing + desc.sizes, (0,) * missing + desc.effective_strides)


def replaced(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    """Sizes, strides or places with another one along an axis."""
    return (*values[:at], value, *values[at + 1 :])


def broadcast_shapes(what: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """NumPy's rule; sizes of 0 take part in it."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, n in enumerate(reversed(shape), 1):
            if result[-i] == 1:
                result[-i] = n
            elif n not in (1, result[-i]):
                told = " ".join(map(str, shapes))
                raise InvalidDescError(
                    f"{what}: operands could not be broadcast together with shapes {told}"
                )
    return tuple(result)
