"""DML_OPERATOR_GATHER_ND and DML_OPERATOR_GATHER_ND1: blocks of the input picked by index tuples.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_nd_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_nd1_operator_desc
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dmlgpu.desc.levels import RANK_1_8, RANK_4, T8, T11, Allowed, FeatureLevel, Support
from dmlgpu.desc.tensor import UINT32_MAX, DataType, TensorDesc, integer
from dmlgpu.errors import IndexRangeError, InvalidDescError
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import Gather, move
from dmlgpu.plan.operator import Adapter, Dispatch, Operator, Plan, Value, eight, rank_of, same_type

__all__ = ["GatherNd1Desc", "GatherNdDesc"]

IDX1 = frozenset({DataType.UINT32})
IDX4 = frozenset({DataType.INT64, DataType.INT32, DataType.UINT64, DataType.UINT32})

GATHER_ND_SUPPORT = {
    level: {
        "input_tensor": Allowed(ranks, types),
        "indices_tensor": Allowed(ranks, indices),
        "output_tensor": Allowed(ranks, types),
    }
    for level, ranks, types, indices in (
        (FeatureLevel.FL_2_1, RANK_4, T8, IDX1),
        (FeatureLevel.FL_3_0, RANK_1_8, T8, IDX4),
        (FeatureLevel.FL_4_1, RANK_1_8, T11, IDX4),
    )
}
GATHER_ND1_SUPPORT = {at: row for at, row in GATHER_ND_SUPPORT.items() if at >= FeatureLevel.FL_3_0}

TENSORS = ("input_tensor", "indices_tensor", "output_tensor")

CHECK_WG_SIZE = 256


@dataclass(frozen=True, kw_only=True)
class GatherNdDesc:
    """DML_GATHER_ND_OPERATOR_DESC: blocks of the input, each picked by a tuple of coordinates.

        out[p, r] = in[indices[p, 0], ..., indices[p, T - 1], r]

    with tuples of T coordinates; p runs over the tuples, r over the dimensions left whole.

    Fields:
        input_tensor (tensor): what is read.
        indices_tensor (tensor): index tuples along its last dimension.
        output_tensor (tensor): what is written.
        input_dimension_count (UINT): how many trailing dimensions of the input are meant.
        indices_dimension_count (UINT): how many trailing dimensions of the indices are meant.

    Rules:
        - The three tensors have one rank; dimensions before the ones meant have size 1.
        - Input and output have the same data type.
        - Both dimension counts are at least 1 and at most the rank.
        - A tuple has at most `input_dimension_count` coordinates.
        - The output's sizes are those of the indices without the last, then those of the input
          dimensions left whole; leading 1s fill up to the rank.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else each coordinate is clamped.
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

    def __post_init__(self) -> None:
        _to_ints("GATHER_ND", self, "input_dimension_count", "indices_dimension_count")


@dataclass(frozen=True, kw_only=True)
class GatherNd1Desc:
    """DML_GATHER_ND1_OPERATOR_DESC: GATHER_ND within each entry of leading batch dimensions.

        out[b, p, r] = in[b, indices[b, p, 0], ..., indices[b, p, T - 1], r]

    with tuples of T coordinates; b runs over the batch dimensions, p over the tuples of one entry,
    r over the dimensions left whole.

    Fields:
        input_tensor (tensor): what is read.
        indices_tensor (tensor): index tuples along its last dimension.
        output_tensor (tensor): what is written.
        input_dimension_count (UINT): how many trailing dimensions of the input are meant.
        indices_dimension_count (UINT): how many trailing dimensions of the indices are meant.
        batch_dimension_count (UINT): how many of the first dimensions meant are the batch.

    Rules:
        - The three tensors have one rank; dimensions before the ones meant have size 1.
        - Input and output have the same data type.
        - Both dimension counts are at least 1 and at most the rank.
        - `batch_dimension_count` is below both; batch sizes of input and indices are equal.
        - A tuple has at most `input_dimension_count - batch_dimension_count` coordinates.
        - The output's sizes are those of the indices without the last, then those of the input
          dimensions left whole; leading 1s fill up to the rank.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else each coordinate is clamped.
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int
    batch_dimension_count: int

    def __post_init__(self) -> None:
        names = ("input_dimension_count", "indices_dimension_count", "batch_dimension_count")
        _to_ints("GATHER_ND1", self, *names)


AnyDesc = GatherNdDesc | GatherNd1Desc


def _to_ints(operator: str, desc: AnyDesc, *names: str) -> None:
    for name in names:
        value = integer(f"{operator}: {name}", getattr(desc, name), 0, UINT32_MAX)
        object.__setattr__(desc, name, value)


def batch_count(d: AnyDesc) -> int:
    """BatchDimensionCount; GATHER_ND is GATHER_ND1 with none."""
    return d.batch_dimension_count if isinstance(d, GatherNd1Desc) else 0


def output_sizes(
    sizes: tuple[int, ...], index_sizes: tuple[int, ...], real: int, real_index: int, batch: int
) -> tuple[int, ...]:
    """Natural output sizes: index sizes without the tuple, then the input dimensions kept whole."""
    rank = len(sizes)
    kept = real - batch - index_sizes[-1]
    return index_sizes[rank - real_index : -1] + sizes[rank - kept :]


def check(operator: str, d: AnyDesc) -> None:
    """The rules that the table does not say."""
    same_type(operator, d)
    rank = rank_of(operator, d, TENSORS)
    real, real_index, batch = d.input_dimension_count, d.indices_dimension_count, batch_count(d)
    for name, value in (("input_dimension_count", real), ("indices_dimension_count", real_index)):
        if not 1 <= value <= rank:
            raise InvalidDescError(
                f"{operator}: {name} is {value}; with tensors of {rank} dimensions it must be in "
                f"[1, {rank}]"
            )
    if batch >= min(real, real_index):
        raise InvalidDescError(
            f"{operator}: batch_dimension_count is {batch}; it must be below input_dimension_count "
            f"{real} and indices_dimension_count {real_index}"
        )
    sizes, index_sizes = d.input_tensor.sizes, d.indices_tensor.sizes
    for name, all_sizes, n in (
        ("input_tensor", sizes, real),
        ("indices_tensor", index_sizes, real_index),
    ):
        for i in range(rank - n):
            if all_sizes[i] != 1:
                raise InvalidDescError(
                    f"{operator}: {name} has size {all_sizes[i]} in dimension {i}; only the last "
                    f"{n} dimensions count and the leading ones must be 1"
                )
    coordinates = index_sizes[-1]
    if coordinates > real - batch:
        raise InvalidDescError(
            f"{operator}: indices_tensor has {coordinates} coordinates per tuple; "
            f"input_dimension_count {real} less the batch dimensions {batch} leaves {real - batch}"
        )
    for i in range(batch):
        given, index = sizes[rank - real + i], index_sizes[rank - real_index + i]
        if given != index:
            raise InvalidDescError(
                f"{operator}: indices_tensor has size {index} in batch dimension {i}; input_tensor "
                f"has {given}, and the two must be equal"
            )
    natural = output_sizes(sizes, index_sizes, real, real_index, batch)
    if len(natural) > rank:
        raise InvalidDescError(
            f"{operator}: output_tensor would need sizes {natural}, {len(natural)} dimensions; the "
            f"tensors have {rank}"
        )
    expected = (1,) * (rank - len(natural)) + natural
    if d.output_tensor.sizes != expected:
        raise InvalidDescError(
            f"{operator}: output_tensor has sizes {d.output_tensor.sizes}; the other fields give "
            f"{expected}"
        )


def plan(d: AnyDesc, adapter: Adapter) -> Plan:
    """One gather: position dimensions step through the tuples, kept ones through the input."""
    source, indices, output = d.input_tensor, d.indices_tensor, d.output_tensor
    rank, batch = source.rank, batch_count(d)
    positions = d.indices_dimension_count - 1
    first = rank - d.input_dimension_count  # first real input dimension
    coordinates = indices.sizes[-1]
    kept = d.input_dimension_count - batch - coordinates
    out_first = rank - positions - kept
    loops = []
    for p in range(positions):
        at = out_first + p
        step = source.effective_strides[first + p] if p < batch else 0
        tuple_step = indices.effective_strides[rank - d.indices_dimension_count + p]
        loops.append(Dim(output.sizes[at], output.effective_strides[at], step, tuple_step))
    for k in range(rank - kept, rank):
        loops.append(Dim(output.sizes[k], output.effective_strides[k], source.effective_strides[k]))
    picked = slice(first + batch, first + batch + coordinates)
    gather = Gather(
        index=f"index_{_index_snippet(indices.data_type)}",
        index_bits=indices.data_type.bits,
        index_step=indices.effective_strides[-1],
        sizes=source.sizes[picked],
        strides=source.effective_strides[picked],
    )
    largest = max(t.total_tensor_size_in_bytes for t in (source, indices, output))
    return move("gather_nd", source.data_type.bits, loops, 0, gather, adapter, largest)


def _index_snippet(data_type: DataType) -> str:
    return data_type.name.lower().replace("uint", "u").replace("int", "i")


def check_indices(d: AnyDesc) -> tuple[Dispatch, ...]:
    """Dispatches that leave the first out-of-range index value in the binding `report`."""
    indices = d.indices_tensor
    params: dict[str, Value] = {
        "count": indices.element_count,
        "coordinates": indices.sizes[-1],
        "sizes": eight(indices.sizes),
        "strides": eight(indices.effective_strides),
        "gather_sizes": eight(gathered_sizes(d)),
    }
    constants = {
        "RANK": indices.rank,
        "WORDS": indices.data_type.bits // 32,
        "SIGNED": int(indices.data_type in (DataType.INT32, DataType.INT64)),
    }
    bindings = {"indices": "indices_tensor", "report": "report"}
    groups = -(-indices.element_count // CHECK_WG_SIZE)
    find = Dispatch("gather_nd_check", groups, params, bindings, {}, constants, "find")
    fetch = Dispatch("gather_nd_check", 1, params, bindings, {}, constants, "fetch")
    return (find, fetch)


def check_values(operator: str, d: AnyDesc, name: str, values: np.ndarray[Any, Any]) -> None:
    """Refuses index values, given as an array, that lie outside their dimension."""
    if name != "indices_tensor":
        return
    sizes = np.array(gathered_sizes(d), np.uint64)
    lowest = -sizes.astype(np.int64) if values.dtype.kind == "i" else np.uint64(0)
    with np.errstate(all="ignore"):
        bad = (values < lowest) | ((values >= 0) & (values.astype(np.uint64) >= sizes))
    if bad.any():
        position = tuple(int(i) for i in np.argwhere(bad)[0])
        raise_index(operator, d, position, int(values[position]))


def raise_report(operator: str, d: AnyDesc, words: np.ndarray[Any, Any]) -> None:
    """Raises when the debug check reported a position."""
    if not words[0]:
        return
    position = np.unravel_index(0xFFFFFFFF - int(words[0]), d.indices_tensor.sizes)
    value = int(words[1]) | int(words[2]) << 32
    if d.indices_tensor.data_type in (DataType.INT32, DataType.INT64) and value >= 2**63:
        value -= 2**64
    raise_index(operator, d, tuple(int(i) for i in position), value)


def raise_index(operator: str, d: AnyDesc, position: tuple[int, ...], value: int) -> None:
    """The one message of both checks."""
    size = gathered_sizes(d)[position[-1]]
    signed = d.indices_tensor.data_type in (DataType.INT32, DataType.INT64)
    raise IndexRangeError(
        f"{operator}: indices_tensor{list(position)} is {value}; it selects from a dimension of "
        f"size {size} and must be in [{-size if signed else 0}, {size})"
    )


def gathered_sizes(d: AnyDesc) -> tuple[int, ...]:
    """Sizes of the input dimensions that the coordinates of a tuple select from."""
    first = d.input_tensor.rank - d.input_dimension_count + batch_count(d)
    return d.input_tensor.sizes[first : first + d.indices_tensor.sizes[-1]]


def _operator(name: str, value: int, desc: type[Any], support: Support) -> Operator[Any]:
    return Operator(
        name,
        value,
        desc,
        support,
        partial(check, name),
        plan,
        check_values=partial(check_values, name),
        check_indices=check_indices,
        raise_report=partial(raise_report, name),
    )


GATHER_ND = _operator("GATHER_ND", 108, GatherNdDesc, GATHER_ND_SUPPORT)
GATHER_ND1 = _operator("GATHER_ND1", 140, GatherNd1Desc, GATHER_ND1_SUPPORT)
OPERATORS: tuple[Operator[Any], ...] = (GATHER_ND, GATHER_ND1)
