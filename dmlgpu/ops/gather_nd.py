"""DML_OPERATOR_GATHER_ND and DML_OPERATOR_GATHER_ND1: blocks of the input picked by index tuples.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_nd_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_nd1_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.tensor import MAX_RANK, TensorDesc
from dmlgpu.desc.views import padded
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_sizes
from dmlgpu.plan.gather import Picked
from dmlgpu.plan.index_values import IndexValues
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move.packed import Gather
from dmlgpu.plan.operator import Given, Operator

__all__ = ["GatherNd1Desc", "GatherNdDesc"]


class GatherNdDesc(Description):
    """DML_GATHER_ND_OPERATOR_DESC: blocks of the input, each picked by a tuple of coordinates.

        out[p, r] = in[indices[p, 0], ..., indices[p, T - 1], r]

    with tuples of T coordinates; p runs over the tuples, r over the dimensions left whole.

    Fields:
        indices_tensor (tensor): index tuples along its last dimension.
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

    Example:
        >>> x = [[11, 12, 13], [21, 22, 23]]
        >>> print(dml.gather_nd(x, indices=[[1, 0], [0, 2], [1, -1]]).numpy())
        [21 13 23]
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: Output
    input_dimension_count: int
    indices_dimension_count: int


class GatherNd1Desc(GatherNdDesc):
    """DML_GATHER_ND1_OPERATOR_DESC: GATHER_ND within each entry of leading batch dimensions.

        out[b, p, r] = in[b, indices[b, p, 0], ..., indices[b, p, T - 1], r]

    with tuples of T coordinates; b runs over the batch dimensions, p over the tuples of one entry,
    r over the dimensions left whole.

    Fields:
        batch_dimension_count (UINT): how many of the first dimensions meant are the batch.

    Rules:
        - `batch_dimension_count` is below both others; batch sizes of input and indices are equal.
        - Batch dimensions take no coordinates: so many fewer has a tuple at most.

    Example:
        >>> x = [[11, 12, 13], [21, 22, 23]]
        >>> indices = [[[2], [0]], [[1], [-1]]]
        >>> print(dml.gather_nd1(x, indices, batch_dimension_count=1).numpy())
        [[13 11]
         [22 23]]
    """

    batch_dimension_count: int


def batch_count(d: Any) -> int:
    """BatchDimensionCount; GATHER_ND is GATHER_ND1 with none."""
    return d.batch_dimension_count if isinstance(d, GatherNd1Desc) else 0


def output_sizes(
    sizes: tuple[int, ...], index_sizes: tuple[int, ...], real: int, real_index: int, batch: int
) -> tuple[int, ...]:
    """Natural output sizes: index sizes without the tuple, then the input dimensions kept whole."""
    rank = len(sizes)
    kept = real - batch - index_sizes[-1]
    return index_sizes[rank - real_index : -1] + sizes[rank - kept :]


def check(d: GatherNdDesc) -> None:
    """The rules that the catalogue does not say."""
    check_tuples(d, "output_tensor", batch_count(d))


def check_tuples(d: Any, blocks: str, batch: int = 0) -> None:
    """The rules of index tuples, and of the tensor that holds the blocks which they name."""
    operator, rank = entry_of(type(d)).name, d.input_tensor.rank
    real, real_index = d.input_dimension_count, d.indices_dimension_count
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
        for i, size in enumerate(all_sizes[: rank - n]):
            if size != 1:
                raise InvalidDescError(
                    f"{operator}: {name} has size {size} in dimension {i}; only the last {n} "
                    "dimensions count and the leading ones must be 1"
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
            f"{operator}: {blocks} would need sizes {natural}, {len(natural)} dimensions; the "
            f"tensors have {rank}"
        )
    check_sizes(operator, blocks, getattr(d, blocks), (1,) * (rank - len(natural)) + natural)


def infer(given: Given) -> dict[str, TensorDesc]:
    """The natural sizes, and leading 1s up to a rank that all three tensors have.

    Counts that are not given are the tensors' own ranks, and tensors of unequal rank get leading
    1s, as DirectML wants them; that is why this also changes what it is given.
    """
    source, index = given.input_tensor, given.indices_tensor
    if given.input_dimension_count is None:
        given.input_dimension_count = source.rank
    if given.indices_dimension_count is None:
        given.indices_dimension_count = index.rank
    if getattr(given, "batch_dimension_count", 0) is None:
        given.batch_dimension_count = 0
    batch = getattr(given, "batch_dimension_count", 0)
    real, real_index = given.input_dimension_count, given.indices_dimension_count
    rank = max(source.rank, index.rank)
    natural: tuple[int, ...] = (1,)
    kept = real - batch - index.sizes[-1]
    if kept >= 0 and 1 <= real <= rank and 1 <= real_index <= rank:  # else check names the fault
        sizes = padded(source, rank).sizes, padded(index, rank).sizes
        natural = output_sizes(*sizes, real, real_index, batch) or (1,)
        rank = max(rank, len(natural))
    if rank > MAX_RANK:
        raise InvalidDescError(
            f"{given.operator}: the result has sizes {natural}, {rank} dimensions; at most "
            f"{MAX_RANK} are allowed"
        )
    given.input_tensor, given.indices_tensor = padded(source, rank), padded(index, rank)
    sizes_out = (1,) * (rank - len(natural)) + natural
    return {"output_tensor": TensorDesc(source.data_type, sizes_out)}


def natural_sizes(d: GatherNdDesc) -> tuple[int, ...]:
    """The output's sizes without the leading 1s that DirectML asks for."""
    kept = d.input_dimension_count - batch_count(d) - d.indices_tensor.sizes[-1]
    natural = d.indices_dimension_count - 1 + kept
    return d.output_tensor.sizes[d.output_tensor.rank - natural :] or (1,)


def work(d: GatherNdDesc) -> Picked:
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
        indices=indices,
        index_step=indices.effective_strides[-1],
        sizes=source.sizes[picked],
        strides=source.effective_strides[picked],
        kept=kept,
    )
    return Picked(source, output, tuple(loops), 0, gather)


def index_values(d: Any) -> IndexValues:
    """The coordinates of a tuple select from the input dimensions behind the batch."""
    first = d.input_tensor.rank - d.input_dimension_count + batch_count(d)
    sizes = d.input_tensor.sizes[first : first + d.indices_tensor.sizes[-1]]
    return IndexValues("indices_tensor", d.indices_tensor, sizes)


OPERATORS: tuple[Operator[Any], ...] = tuple(
    Operator(desc, infer, work, check, index_values, natural_sizes)
    for desc in (GatherNdDesc, GatherNd1Desc)
)
