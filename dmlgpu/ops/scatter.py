"""DML_OPERATOR_SCATTER_ELEMENTS and DML_OPERATOR_SCATTER_ND: updates put where indices say.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_scatter_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_scatter_nd_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.desc.views import padded, replaced
from dmlgpu.ops.elements import like_first
from dmlgpu.ops.gather_nd import check_tuples
from dmlgpu.ops.gather_nd import index_values as index_values_nd
from dmlgpu.ops.index import index_values
from dmlgpu.ops.rules import check_axis, check_sizes
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.scatter import Scatter, table_of


class ScatterDesc(Description):
    """DML_SCATTER_OPERATOR_DESC: the input, with updates along an axis where indices say.

        out = in, then out[c with indices[c] in place of the coordinate along the axis] = updates[c]

    Fields:
        input_tensor (tensor): what the output is where nothing is updated.
        indices_tensor (tensor): where in its line each update goes.
        updates_tensor (tensor): what is put there.
        axis (UINT): the dimension of the output that the indices select from.

    Rules:
        - The four tensors have one rank; all but the indices have the same data type.
        - Output and input have equal sizes, and so have indices and updates.
        - The indices' sizes are the input's but along `axis`.
        - Where several updates go to one place, the last one, row by row, stays.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else their updates are dropped.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> indices, updates = [[3], [0], [-2]], [[51], [52], [53]]
        >>> print(dml.scatter_elements(x, indices, updates, axis=1).numpy())
        [[11 12 13 51]
         [52 22 23 24]
         [31 32 53 34]]
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    updates_tensor: TensorDesc
    output_tensor: Output
    axis: int


class ScatterNdDesc(Description):
    """DML_SCATTER_ND_OPERATOR_DESC: the input, with blocks updated where index tuples say.

        out = in, then out[indices[p, 0], ..., indices[p, T - 1], r] = updates[p, r]

    with tuples of T coordinates; p runs over the tuples, r over the dimensions left whole.

    Fields:
        input_tensor (tensor): what the output is where nothing is updated.
        indices_tensor (tensor): index tuples along its last dimension.
        updates_tensor (tensor): the blocks that are put there.
        input_dimension_count (UINT): how many trailing dimensions of the input are meant.
        indices_dimension_count (UINT): how many trailing dimensions of the indices are meant.

    Rules:
        - The four tensors have one rank; all but the indices have the same data type.
        - Output and input have equal sizes; dimensions before the ones meant have size 1.
        - Both dimension counts are at least 1 and at most the rank.
        - A tuple has at most `input_dimension_count` coordinates.
        - The updates' sizes are those of the indices without the last, then those of the input
          dimensions left whole; leading 1s fill up to the rank.
        - Where several updates go to one place, the last one, row by row, stays.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else their updates are dropped.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> indices, updates = [[2], [0]], [[51, 52, 53, 54], [61, 62, 63, 64]]
        >>> print(dml.scatter_nd(x, indices, updates).numpy())
        [[61 62 63 64]
         [21 22 23 24]
         [51 52 53 54]]
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    updates_tensor: TensorDesc
    output_tensor: Output
    input_dimension_count: int
    indices_dimension_count: int


def check_scatter(d: ScatterDesc) -> None:
    """The rules of SCATTER_ELEMENTS that the catalogue does not say."""
    operator, sizes = "SCATTER_ELEMENTS", d.input_tensor.sizes
    check_axis(operator, d.axis, d.input_tensor.rank)
    wanted = replaced(sizes, d.axis, d.indices_tensor.sizes[d.axis])
    check_sizes(operator, "indices_tensor", d.indices_tensor, wanted)
    check_sizes(operator, "updates_tensor", d.updates_tensor, wanted)
    check_sizes(operator, "output_tensor", d.output_tensor, sizes)


def work_scatter(d: ScatterDesc) -> Scatter:
    """Every update has an index of its own."""
    output, indices, updates = d.output_tensor, d.indices_tensor, d.updates_tensor
    table, entries = table_of(output.sizes)
    strides = output.effective_strides
    steps = zip(
        updates.sizes,
        replaced(strides, d.axis, 0),
        updates.effective_strides,
        indices.effective_strides,
        strict=True,
    )
    return Scatter(
        source=d.input_tensor,
        indices=indices,
        updates=updates,
        output=output,
        positions=tuple(Dim(*step) for step in steps),
        kept=(),
        table_steps=replaced(table, d.axis, 0),
        index_step=1,
        sizes=(output.sizes[d.axis],),
        strides=(strides[d.axis],),
        table_strides=(table[d.axis],),
        table_size=entries,
        axis=d.axis,
        places=table,
        block=(0,) * output.rank,
    )


def check_scatter_nd(d: ScatterNdDesc) -> None:
    """The rules of SCATTER_ND that the catalogue does not say."""
    check_tuples(d, "updates_tensor")
    check_sizes("SCATTER_ND", "output_tensor", d.output_tensor, d.input_tensor.sizes)


def infer_scatter_nd(given: Given) -> dict[str, TensorDesc]:
    """The sizes of the input, and leading 1s up to a rank that all tensors have.

    Counts that are not given are the tensors' own ranks, which is why this also changes what it
    is given.
    """
    source, index, updates = given.input_tensor, given.indices_tensor, given.updates_tensor
    if given.input_dimension_count is None:
        given.input_dimension_count = source.rank
    if given.indices_dimension_count is None:
        given.indices_dimension_count = index.rank
    rank = max(source.rank, index.rank, updates.rank)
    given.input_tensor, given.indices_tensor = padded(source, rank), padded(index, rank)
    given.updates_tensor = padded(updates, rank)
    return {"output_tensor": TensorDesc(source.data_type, given.input_tensor.sizes)}


def natural_scatter_nd(d: ScatterNdDesc) -> tuple[int, ...]:
    """The output's sizes without the leading 1s that DirectML asks for."""
    return d.output_tensor.sizes[d.output_tensor.rank - d.input_dimension_count :]


def work_scatter_nd(d: ScatterNdDesc) -> Scatter:
    """Tuples name blocks, whose elements are moved together."""
    output, indices, updates = d.output_tensor, d.indices_tensor, d.updates_tensor
    rank, coordinates = output.rank, indices.sizes[-1]
    kept = d.input_dimension_count - coordinates
    positions = d.indices_dimension_count - 1
    first = rank - d.input_dimension_count
    at = rank - kept - positions  # first dimension of the updates that is meant
    index_at = rank - d.indices_dimension_count
    picked = slice(first, first + coordinates)
    table, entries = table_of(output.sizes[picked])
    loops = tuple(
        Dim(
            updates.sizes[at + p],
            0,
            updates.effective_strides[at + p],
            indices.effective_strides[index_at + p],
        )
        for p in range(positions)
    )
    blocks = tuple(
        Dim(updates.sizes[k], output.effective_strides[k], updates.effective_strides[k])
        for k in range(rank - kept, rank)
    )
    return Scatter(
        source=d.input_tensor,
        indices=indices,
        updates=updates,
        output=output,
        positions=loops or (Dim(1, 0, 0),),
        kept=blocks,
        table_steps=(0,) * max(1, positions),
        index_step=indices.effective_strides[-1],
        sizes=output.sizes[picked],
        strides=output.effective_strides[picked],
        table_strides=table,
        table_size=entries,
        places=(0,) * first + table + (0,) * kept,
        block=(0,) * (rank - kept) + updates.effective_strides[rank - kept :],
    )


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(ScatterDesc, like_first, work_scatter, check_scatter, index_values),
    Operator(
        ScatterNdDesc,
        infer_scatter_nd,
        work_scatter_nd,
        check_scatter_nd,
        index_values_nd,
        natural_scatter_nd,
    ),
)
