"""Operators that make elements from nothing but their place.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_fill_value_constant_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_fill_value_sequence_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_diagonal_matrix_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_diagonal_matrix1_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Int, Output, Scalar, entry_of
from dmlgpu.desc.tensor import DataType, TensorDesc, packed_strides
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_sizes, check_value_type, require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.mapped import bits_of, coordinate
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.values import RAW, Expression, Operand, Parameter, class_of, converted


class FillValueConstantDesc(Description):
    """DML_FILL_VALUE_CONSTANT_OPERATOR_DESC: one value everywhere.

    Fields:
        value_data_type (DML_TENSOR_DATA_TYPE): the output's own.
        value (DML_SCALAR_UNION): the value.

    Example:
        >>> y = dml.fill_value_constant(
        ...     value_data_type=dml.DataType.INT32, value=7, output_sizes=(3, 4)
        ... )
        >>> print(y.numpy())
        [[7 7 7 7]
         [7 7 7 7]
         [7 7 7 7]]
    """

    output_tensor: Output
    value_data_type: DataType
    value: Scalar


class FillValueSequenceDesc(Description):
    """DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC: numbers in equal steps.

        out[i] = value_start + i * value_delta

    where i counts the elements row by row, whatever the strides.

    Fields:
        value_data_type (DML_TENSOR_DATA_TYPE): the output's own.
        value_start (DML_SCALAR_UNION): the first number.
        value_delta (DML_SCALAR_UNION): the step; integers wrap at the limits of their type.

    Example:
        >>> y = dml.fill_value_sequence(
        ...     value_data_type=dml.DataType.INT32,
        ...     value_start=10,
        ...     value_delta=5,
        ...     output_sizes=(3, 4),
        ... )
        >>> print(y.numpy())
        [[10 15 20 25]
         [30 35 40 45]
         [50 55 60 65]]
    """

    output_tensor: Output
    value_data_type: DataType
    value_start: Scalar
    value_delta: Scalar


class DiagonalMatrixDesc(Description):
    """DML_DIAGONAL_MATRIX_OPERATOR_DESC: a value along a diagonal of each matrix, else zeros.

        out[..., y, x] = value where x == y + offset

    Fields:
        output_tensor (tensor): matrices in the last two dimensions.
        offset (INT): which diagonal; positive ones lie above the main one.
        value (FLOAT): the value; truncated toward zero for integers.

    Example:
        >>> print(dml.diagonal_matrix(offset=1, value=7, output_sizes=(3, 4)).numpy())
        [[0. 7. 0. 0.]
         [0. 0. 7. 0.]
         [0. 0. 0. 7.]]
    """

    output_tensor: Output
    offset: Int
    value: float


class DiagonalMatrix1Desc(Description):
    """DML_DIAGONAL_MATRIX1_OPERATOR_DESC: a value in a band of diagonals of each matrix.

        out[..., y, x] = value where diagonal_fill_begin <= x - y < diagonal_fill_end

    and the input, or zero, elsewhere. Where the begin lies behind the end, it is the other way
    round: the value is everywhere but in the band from end to begin.

    Fields:
        input_tensor (tensor, optional): what the other elements are.
        output_tensor (tensor): matrices in the last two dimensions.
        value_data_type (DML_TENSOR_DATA_TYPE): the output's own.
        value (DML_SCALAR_UNION): the value.
        diagonal_fill_begin (INT): the first diagonal of the band.
        diagonal_fill_end (INT): the first one behind it.

    Example:
        >>> x = np.int32([[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]])
        >>> y = dml.diagonal_matrix1(
        ...     x,
        ...     value_data_type=dml.DataType.INT32,
        ...     value=7,
        ...     diagonal_fill_begin=0,
        ...     diagonal_fill_end=2,
        ... )
        >>> print(y.numpy())
        [[ 7  7 13 14]
         [21  7  7 24]
         [31 32  7  7]]
    """

    input_tensor: TensorDesc | None = None
    output_tensor: Output
    value_data_type: DataType
    value: Scalar
    diagonal_fill_begin: Int
    diagonal_fill_end: Int


def check_fill(d: FillValueConstantDesc | FillValueSequenceDesc) -> None:
    """The value has the output's type."""
    operator = entry_of(type(d)).name
    check_value_type(operator, "value_data_type", d.value_data_type, d.output_tensor.data_type)


def infer_fill(given: Given) -> dict[str, TensorDesc]:
    """The type of the value; `output_sizes` says the sizes, nothing else does."""
    require(given, "value_data_type", "output_sizes")
    return {"output_tensor": TensorDesc(given.value_data_type, given.output_sizes)}


def work_constant(d: FillValueConstantDesc) -> ElementWise:
    """The value's bits everywhere."""
    output = d.output_tensor
    bits = bits_of(d.value, output.data_type)
    value = Parameter("p_value", RAW[output.data_type.bits], bits)
    made = Operand.of("output_tensor", output, raw=True)
    return ElementWise({}, ((made, Expression("p_value")),), (value,))


def work_sequence(d: FillValueSequenceDesc) -> ElementWise:
    """The place of each element, times the step."""
    output = d.output_tensor
    kind = class_of(output.data_type)
    data_type = output.data_type
    if kind != "f32":  # integers wrap, so their bits are enough
        data_type = DataType.UINT64 if data_type.bits == 64 else DataType.UINT32
        kind = class_of(data_type)
    values = {"p_start": d.value_start, "p_delta": d.value_delta}
    if kind != "f32":
        values = {name: bits_of(value, output.data_type) for name, value in values.items()}
    parameters = tuple(Parameter(name, data_type, value) for name, value in values.items())
    place = "i" if kind == "u32" else f"{kind}_from_u32(i)"
    text = Expression(f"{kind}_add(p_start, {kind}_mul({place}, p_delta))")
    places = {"i": Operand.place(output.sizes, packed_strides(output.sizes))}
    made = Operand.of("output_tensor", output, raw=kind != "f32")
    return ElementWise(places, ((made, text),), parameters)


def check_diagonal1(d: DiagonalMatrix1Desc) -> None:
    """The value has the output's type, and the input its sizes."""
    operator = "DIAGONAL_MATRIX1"
    check_value_type(operator, "value_data_type", d.value_data_type, d.output_tensor.data_type)
    if d.input_tensor is not None:
        check_sizes(operator, "output_tensor", d.output_tensor, d.input_tensor.sizes)


def infer_diagonal(given: Given) -> dict[str, TensorDesc]:
    """`output_sizes` says the sizes, and `output_data_type` the type, FLOAT32 unless given."""
    require(given, "output_sizes")
    data_type = given.output_data_type or DataType.FLOAT32
    return {"output_tensor": TensorDesc(data_type, given.output_sizes)}


def infer_diagonal1(given: Given) -> dict[str, TensorDesc]:
    """The input's sizes and type; without one, those asked for."""
    source: TensorDesc | None = given.input_tensor
    if given.value_data_type is None and source is not None:
        given.value_data_type = source.data_type
    require(given, "value_data_type")
    if source is None and given.output_sizes is None:
        raise InvalidDescError(
            "DIAGONAL_MATRIX1: output_sizes is missing; without input_tensor nothing says them"
        )
    sizes = given.output_sizes if source is None else source.sizes
    data_type = given.value_data_type if source is None else source.data_type
    return {"output_tensor": TensorDesc(data_type, sizes)}


def _diagonal(
    output: TensorDesc, source: TensorDesc | None, bits: int, chosen: str, limits: dict[str, int]
) -> ElementWise:
    """`value` where `chosen` says so of t, how far an element lies right of the main diagonal."""
    sizes, raw = output.sizes, RAW[output.data_type.bits]
    inputs = {
        "y": coordinate(sizes, output.rank - 2),
        "x": coordinate(sizes, output.rank - 1),
    }
    parameters = [Parameter("p_value", raw, bits), Parameter("p_zero", raw, 0)]
    parameters += [Parameter(name, DataType.INT64, value) for name, value in limits.items()]
    if source is not None:
        inputs["other"] = Operand.of("input_tensor", source, raw=True)
    other = "p_zero" if source is None else "other"
    steps = "let t = i64_sub(i64_from_u32(x), i64_from_u32(y));"  # beyond what 32 bits hold
    text = Expression(f"select({other}, p_value, {chosen})", steps)
    made = Operand.of("output_tensor", output, raw=True)
    return ElementWise(inputs, ((made, text),), tuple(parameters))


def work_diagonal(d: DiagonalMatrixDesc) -> ElementWise:
    """The value where the place lies on the diagonal."""
    data_type = d.output_tensor.data_type
    bits = bits_of(converted(d.value, data_type), data_type)
    return _diagonal(d.output_tensor, None, bits, "i64_eq(t, p_offset)", {"p_offset": d.offset})


def work_diagonal1(d: DiagonalMatrix1Desc) -> ElementWise:
    """The value where the place lies in the band."""
    begin, end = d.diagonal_fill_begin, d.diagonal_fill_end
    chosen = "!i64_lt(t, p_begin) && i64_lt(t, p_end)"
    if begin > end:
        chosen = "!i64_lt(t, p_begin) || i64_lt(t, p_end)"
    bits = bits_of(d.value, d.output_tensor.data_type)
    limits = {"p_begin": begin, "p_end": end}
    return _diagonal(d.output_tensor, d.input_tensor, bits, chosen, limits)


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(DiagonalMatrixDesc, infer_diagonal, work_diagonal),
    Operator(FillValueConstantDesc, infer_fill, work_constant, check_fill),
    Operator(FillValueSequenceDesc, infer_fill, work_sequence, check_fill),
    Operator(DiagonalMatrix1Desc, infer_diagonal1, work_diagonal1, check_diagonal1),
)
