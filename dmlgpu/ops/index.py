"""Operators that pick elements by index values: GATHER, GATHER_ELEMENTS, ONE_HOT.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_elements_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_one_hot_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.desc.views import padded, replaced
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_axis, check_sizes, require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.gather import Picked
from dmlgpu.plan.index_values import IndexValues
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.mapped import coordinate
from dmlgpu.plan.move.packed import Gather
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter


class GatherDesc(Description):
    """DML_GATHER_OPERATOR_DESC: slices of the input along an axis, picked by indices.

        out[p, j, q] = in[p, indices[j], q]

    where p and q run over the dimensions before and behind the axis, j over those of the indices.

    Fields:
        indices_tensor (tensor): which slices are taken.
        axis (UINT): the dimension of the input that the indices select from.
        index_dimensions (UINT): how many trailing dimensions of the indices are meant.

    Rules:
        - The three tensors have one rank; input and output have the same data type.
        - The output's sizes are the input's before the axis, those of the indices that are meant,
          and the input's behind the axis; leading 1s are dropped or added to make up the rank.
        - Dimensions of the indices before the ones meant have size 1.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else they are clamped.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> print(dml.gather(x, indices=[2, 0, -1], axis=1).numpy())
        [[13 11 14]
         [23 21 24]
         [33 31 34]]
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: Output
    axis: int
    index_dimensions: int


class GatherElementsDesc(Description):
    """DML_GATHER_ELEMENTS_OPERATOR_DESC: each element picked by an index of its own along an axis.

        out[c] = in[c with indices[c] in place of the coordinate along the axis]

    Fields:
        indices_tensor (tensor): which element of its line each output element takes.
        axis (UINT): the dimension of the input that the indices select from.

    Rules:
        - The three tensors have one rank; input and output have the same data type.
        - Output and indices have equal sizes, which are the input's but along `axis`.
        - Index values of a signed type may be negative and count from the end. Values out of range
          are refused in arrays and with `Device(debug=True)`; else they are clamped.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> indices = [[3, 0], [1, 1], [-1, 2]]
        >>> print(dml.gather_elements(x, indices, axis=1).numpy())
        [[14 11]
         [22 22]
         [34 33]]
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: Output
    axis: int


class OneHotDesc(Description):
    """DML_ONE_HOT_OPERATOR_DESC: lines that are `off` but where an index says `on`.

        out[c] = on where the coordinate along the axis is indices[c], else off

    Fields:
        indices_tensor (tensor): where each line is on.
        values_tensor (tensor): the value for off, then the one for on.
        axis (UINT): the dimension along which the lines lie.

    Rules:
        - The three tensors have one rank; values and output have the same data type.
        - The indices have size 1 along `axis` and else the output's sizes.
        - The values have at least two elements along their last dimension of more than one.
        - Index values of a signed type may be negative and count from the end; a line whose index
          is out of range is off everywhere.

    Example:
        >>> indices, values = [[2], [0], [-1]], [[0, 7]]
        >>> print(dml.one_hot(indices, values, axis=1, output_sizes=(3, 4)).numpy())
        [[0 0 7 0]
         [7 0 0 0]
         [0 0 0 7]]
    """

    indices_tensor: TensorDesc
    values_tensor: TensorDesc
    output_tensor: Output
    axis: int


def _gathered(sizes: tuple[int, ...], index: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """All sizes that a gather gives: before the axis, of the indices, behind the axis."""
    return (*sizes[:axis], *index, *sizes[axis + 1 :])


def _meant(d: GatherDesc) -> tuple[int, ...]:
    """The sizes of the indices that are meant."""
    return d.indices_tensor.sizes[d.indices_tensor.rank - d.index_dimensions :]


def check_gather(d: GatherDesc) -> None:
    """The rules of GATHER that the catalogue does not say."""
    rank = d.input_tensor.rank
    check_axis("GATHER", d.axis, rank)
    if d.index_dimensions > rank:
        raise InvalidDescError(
            f"GATHER: index_dimensions is {d.index_dimensions}; with tensors of {rank} dimensions "
            f"it must be in [0, {rank}]"
        )
    for i, n in enumerate(d.indices_tensor.sizes[: rank - d.index_dimensions]):
        if n != 1:
            raise InvalidDescError(
                f"GATHER: indices_tensor has size {n} in dimension {i}; only the last "
                f"{d.index_dimensions} dimensions count and the leading ones must be 1"
            )
    given = _gathered(d.input_tensor.sizes, _meant(d), d.axis)
    surplus = len(given) - rank
    if any(n != 1 for n in given[: max(0, surplus)]):
        raise InvalidDescError(
            f"GATHER: output_tensor would need sizes {given}, {len(given)} dimensions; the tensors "
            f"have {rank}, and only leading 1s can be dropped"
        )
    wanted = (1,) * -surplus + given[max(0, surplus) :]
    check_sizes("GATHER", "output_tensor", d.output_tensor, wanted)


def infer_gather(given: Given) -> dict[str, TensorDesc]:
    """The natural sizes, and leading 1s up to a rank that all three tensors have.

    All dimensions of the indices are meant unless given, and tensors of unequal rank get leading
    1s, as DirectML wants them; that is why this also changes what it is given.
    """
    require(given, "axis")
    source, index = given.input_tensor, given.indices_tensor
    rank = max(source.rank, index.rank)
    whole = given.index_dimensions is None
    if whole:
        given.index_dimensions = index.rank
    meant = min(given.index_dimensions, index.rank)  # check names the fault
    axis = min(given.axis, source.rank - 1)
    natural = _gathered(source.sizes, index.sizes[index.rank - meant :], axis)
    surplus = len(natural) - rank
    if not whole and surplus > 0 and all(n == 1 for n in natural[:surplus]):
        natural = natural[surplus:]  # as DirectML describes it, leading 1s are dropped
    rank = max(rank, len(natural))
    if rank > MAX_RANK:
        raise InvalidDescError(
            f"GATHER: the result has sizes {natural}, {rank} dimensions; at most {MAX_RANK} are "
            "allowed"
        )
    given.axis += rank - source.rank
    given.input_tensor, given.indices_tensor = padded(source, rank), padded(index, rank)
    return {"output_tensor": TensorDesc(source.data_type, (1,) * (rank - len(natural)) + natural)}


def natural_gather(d: GatherDesc) -> tuple[int, ...]:
    """The output's sizes without the leading 1s that DirectML asks for."""
    rank = d.output_tensor.rank
    count = len(_gathered(d.input_tensor.sizes, _meant(d), d.axis))
    return d.output_tensor.sizes[max(0, rank - count) :] or (1,)


def work_gather(d: GatherDesc) -> Picked:
    """One move: dimensions of the indices step through these, the others through the input."""
    source, indices, output = d.input_tensor, d.indices_tensor, d.output_tensor
    rank, meant = source.rank, d.index_dimensions
    steps = [(s, 0) for s in source.effective_strides[: d.axis]]
    steps += [(0, t) for t in indices.effective_strides[rank - meant :]]
    steps += [(s, 0) for s in source.effective_strides[d.axis + 1 :]]
    surplus = len(steps) - rank
    steps = [(0, 0)] * -surplus + steps[max(0, surplus) :]
    dims = zip(output.sizes, output.effective_strides, steps, strict=True)
    loops = tuple(Dim(size, out, step, tuple_) for size, out, (step, tuple_) in dims)
    return _picked(d, loops, kept=rank - 1 - d.axis)


def _picked(d: GatherDesc | GatherElementsDesc, loops: tuple[Dim, ...], kept: int) -> Picked:
    """A move by one index each, which is a place along the axis."""
    source = d.input_tensor
    sizes, strides = (source.sizes[d.axis],), (source.effective_strides[d.axis],)
    gather = Gather(d.indices_tensor, 1, sizes, strides, kept)
    return Picked(source, d.output_tensor, loops, 0, gather)


def index_values(d: Any) -> IndexValues:
    """The indices select from the axis."""
    return IndexValues("indices_tensor", d.indices_tensor, (d.input_tensor.sizes[d.axis],))


def check_gather_elements(d: GatherElementsDesc) -> None:
    """The rules of GATHER_ELEMENTS that the catalogue does not say."""
    operator = "GATHER_ELEMENTS"
    check_axis(operator, d.axis, d.input_tensor.rank)
    count = d.indices_tensor.sizes[d.axis]
    wanted = replaced(d.input_tensor.sizes, d.axis, count)
    check_sizes(operator, "indices_tensor", d.indices_tensor, wanted)
    check_sizes(operator, "output_tensor", d.output_tensor, d.indices_tensor.sizes)


def infer_gather_elements(given: Given) -> dict[str, TensorDesc]:
    """The sizes of the indices."""
    return {"output_tensor": TensorDesc(given.input_tensor.data_type, given.indices_tensor.sizes)}


def work_gather_elements(d: GatherElementsDesc) -> Picked:
    """One move in which every element has an index of its own."""
    source, indices, output = d.input_tensor, d.indices_tensor, d.output_tensor
    steps = zip(
        output.sizes,
        output.effective_strides,
        replaced(source.effective_strides, d.axis, 0),
        indices.effective_strides,
        strict=True,
    )
    return _picked(d, tuple(Dim(*step) for step in steps), kept=0)


def _on(values: TensorDesc) -> int | None:
    """The element of the values that means on: the second one along the fastest dimension."""
    for size, stride in reversed(list(zip(values.sizes, values.effective_strides, strict=True))):
        if size > 1:
            return stride
    return None


def check_one_hot(d: OneHotDesc) -> None:
    """The rules of ONE_HOT that the catalogue does not say."""
    check_axis("ONE_HOT", d.axis, d.output_tensor.rank)
    lines = replaced(d.output_tensor.sizes, d.axis, 1)
    check_sizes("ONE_HOT", "indices_tensor", d.indices_tensor, lines)
    if _on(d.values_tensor) is None:
        raise InvalidDescError(
            f"ONE_HOT: values_tensor has sizes {d.values_tensor.sizes}; it must hold two values, "
            "off and on"
        )


def infer_one_hot(given: Given) -> dict[str, TensorDesc]:
    """`output_sizes` says how long the lines are; nothing else does."""
    require(given, "axis", "output_sizes")
    return {"output_tensor": TensorDesc(given.values_tensor.data_type, given.output_sizes)}


def work_one_hot(d: OneHotDesc) -> ElementWise:
    """Every element compares its coordinate with the index of its line."""
    indices, values, output = d.indices_tensor, d.values_tensor, d.output_tensor
    sizes, raw = output.sizes, RAW[output.data_type.bits]
    lines = TensorDesc(indices.data_type, sizes, replaced(indices.effective_strides, d.axis, 0))
    everywhere = TensorDesc(values.data_type, sizes, (0,) * output.rank)
    inputs = {
        "index": Operand("indices_tensor", lines, RAW[indices.data_type.bits]),
        "c": coordinate(sizes, d.axis),
        "off": Operand("values_tensor", everywhere, raw),
        "on": Operand("values_tensor", everywhere, raw, start=_on(values) or 0),
    }
    size = Parameter("p_size", DataType.UINT32, sizes[d.axis])
    signed = indices.data_type.name.startswith("INT")
    if indices.data_type.bits == 64:
        ends = "select(0u, p_size, index.y > 0x7fffffffu)" if signed else "0u"
        steps = f"let at = u64_add(index, vec2<u32>({ends}, 0u));"
        same = "u64_eq(at, vec2<u32>(c, 0u))"
    else:
        ends = "select(0u, p_size, index > 0x7fffffffu)" if signed else "0u"
        steps = f"let at = index + {ends};"
        same = "at == c"
    made = Operand.of("output_tensor", output, raw=True)
    text = Expression(f"select(off, on, {same})", steps)
    return ElementWise(inputs, ((made, text),), (size,))


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(GatherDesc, infer_gather, work_gather, check_gather, index_values, natural_gather),
    Operator(OneHotDesc, infer_one_hot, work_one_hot, check_one_hot),
    Operator(
        GatherElementsDesc,
        infer_gather_elements,
        work_gather_elements,
        check_gather_elements,
        index_values,
    ),
)
