"""DML_OPERATOR_PADDING, PADDING1 and UPSAMPLE_2D: more elements around and between those there are.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_padding_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_padding1_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_upsample_2d_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output, Scalar, entry_of
from dmlgpu.desc.enumerations import InterpolationMode, PaddingMode, Size2D
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.ops.rules import check_sizes, check_value_type, per_dimension, require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.framed import Framed, framed
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.mapped import Rule, bits_of, coordinate
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Work
from dmlgpu.plan.values import Expression, Operand, Parameter, converted


class PaddingDesc(Description):
    """DML_PADDING_OPERATOR_DESC: the input with more elements before and behind it.

    Fields:
        input_tensor (tensor): what is padded.
        padding_mode (DML_PADDING_MODE): what the new elements are: CONSTANT: `padding_value`;
            EDGE: the nearest element; REFLECTION: the input mirrored at its first and last
            elements; SYMMETRIC: mirrored with these repeated; WRAP: the input from its other end.
        padding_value (FLOAT): of CONSTANT; truncated toward zero for integers.
        start_padding (UINT[]): new elements before the first, per dimension.
        end_padding (UINT[]): new elements behind the last.

    Rules:
        - Both tensors have the same data type and rank; each array has one entry per dimension.
        - The output's size is the input's plus both paddings; the pattern goes on where a padding
          is longer than the input.

    Example:
        >>> x = [[11, 12, 13], [21, 22, 23]]
        >>> print(dml.padding(x, dml.PaddingMode.REFLECTION, 0, start=(1, 2), end=(0, 1)).numpy())
        [[23 22 21 22 23 22]
         [13 12 11 12 13 12]
         [23 22 21 22 23 22]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    padding_mode: PaddingMode
    padding_value: float
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]


class Padding1Desc(Description):
    """DML_PADDING1_OPERATOR_DESC: PADDING with a value of any data type.

    Fields:
        input_tensor (tensor): what is padded.
        padding_mode (DML_PADDING_MODE): what the new elements are, as in PADDING.
        padding_value_data_type (DML_TENSOR_DATA_TYPE): the tensors' own.
        padding_value (DML_SCALAR_UNION): of CONSTANT.
        start_padding (UINT[]): new elements before the first, per dimension.
        end_padding (UINT[]): new elements behind the last.

    Rules:
        - Both tensors have the same data type and rank; each array has one entry per dimension.
        - The output's size is the input's plus both paddings.
        - `padding_value_data_type` is the data type of the tensors.

    Example:
        >>> x = [[11, 12, 13], [21, 22, 23]]
        >>> print(dml.padding1(x, dml.PaddingMode.CONSTANT, 7, start=(1, 2), end=(0, 1)).numpy())
        [[ 7  7  7  7  7  7]
         [ 7  7 11 12 13  7]
         [ 7  7 21 22 23  7]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    padding_mode: PaddingMode
    padding_value_data_type: DataType
    padding_value: Scalar
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]


class Upsample2dDesc(Description):
    """DML_UPSAMPLE_2D_OPERATOR_DESC: images with each pixel as several.

    Fields:
        input_tensor (tensor): images; height and width are the last two dimensions.
        scale_size (DML_SIZE_2D): pixels for each one, {width, height}.
        interpolation_mode (DML_INTERPOLATION_MODE): NEAREST_NEIGHBOR repeats pixels; LINEAR
            takes the output's pixel centres between the input's.

    Rules:
        - Both tensors have the same data type and rank.
        - The output's height and width are the input's times the scale, the other sizes equal.

    Example:
        >>> x = np.float32([[[[11, 12], [21, 22]]]])
        >>> scale, mode = dml.Size2D(width=3, height=2), dml.InterpolationMode.NEAREST_NEIGHBOR
        >>> print(dml.upsample_2d(x, scale, mode).numpy())
        [[[[11. 11. 11. 12. 12. 12.]
           [11. 11. 11. 12. 12. 12.]
           [21. 21. 21. 22. 22. 22.]
           [21. 21. 21. 22. 22. 22.]]]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    scale_size: Size2D
    interpolation_mode: InterpolationMode


AnyPadding = PaddingDesc | Padding1Desc


def check_padding(d: AnyPadding) -> None:
    """The rules that the catalogue does not say."""
    operator, source = entry_of(type(d)).name, d.input_tensor
    per_dimension(operator, "start_padding", d.start_padding, source.rank)
    per_dimension(operator, "end_padding", d.end_padding, source.rank)
    wanted = _padded(source.sizes, d.start_padding, d.end_padding)
    check_sizes(operator, "output_tensor", d.output_tensor, wanted)
    if isinstance(d, Padding1Desc):
        name = "padding_value_data_type"
        check_value_type(operator, name, d.padding_value_data_type, source.data_type)


SINCE = {PaddingMode.SYMMETRIC: FeatureLevel.FL_3_0, PaddingMode.WRAP: FeatureLevel.FL_6_4}


def check_mode(d: AnyPadding, level: FeatureLevel) -> None:
    """Some modes came later."""
    since = SINCE.get(d.padding_mode, level)
    if level < since:
        raise UnsupportedError(
            f"{entry_of(type(d)).name}: padding_mode is {d.padding_mode.name}, allowed from "
            f"{since.name}; the level in force is {level.name}"
        )


def _padded(
    sizes: tuple[int, ...], start: tuple[int, ...], end: tuple[int, ...]
) -> tuple[int, ...]:
    return tuple(sum(each) for each in zip(sizes, start, end, strict=False))


def infer_padding(given: Given) -> dict[str, TensorDesc]:
    """The input's sizes and both paddings; the type of the value is the input's."""
    source: TensorDesc = given.input_tensor
    for name in ("start_padding", "end_padding"):
        if getattr(given, name) is None:
            setattr(given, name, (0,) * source.rank)
        per_dimension(given.operator, name, getattr(given, name), source.rank)
    if hasattr(given, "padding_value_data_type") and given.padding_value_data_type is None:
        given.padding_value_data_type = source.data_type
    if given.padding_value is None:
        given.padding_value = 0
    sizes = _padded(source.sizes, given.start_padding, given.end_padding)
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def work_padding(d: AnyPadding) -> Framed:
    """Rows of the input, and around them what the rules of the padded dimensions say."""
    source, data_type = d.input_tensor, d.input_tensor.data_type
    value = d.padding_value
    if isinstance(d, PaddingDesc):
        value = converted(value, data_type)
    rules = {
        i: _rule(d.padding_mode, size, start, end)
        for i, (size, start, end) in enumerate(
            zip(source.sizes, d.start_padding, d.end_padding, strict=True)
        )
        if start or end
    }
    output = ("output_tensor", d.output_tensor)
    return framed(("input_tensor", source), output, rules, bits_of(value, data_type))


def _rule(mode: PaddingMode, size: int, start: int, end: int) -> Rule:
    """Which element of `size` a coordinate takes when `start` others come before them.

    Coordinates of elements are kept, and those before them are counted modulo 2^32.
    """
    if mode is PaddingMode.CONSTANT:
        return Rule("c$", inside="c$ < p_n$", values={"n": size}, start=-start)
    is_mirrored = mode in (PaddingMode.REFLECTION, PaddingMode.SYMMETRIC) and size > 1
    ends = int(mode is PaddingMode.REFLECTION)  # that are not repeated
    turn, low, high = 1, size, -size
    if mode is PaddingMode.EDGE or size == 1:
        turn, low, high = 0, 0, size - 1
    elif is_mirrored:
        turn, low, high = -1, ends - 1, 2 * size - 1 - ends
    if not turn or max(start, end) <= size - ends:
        values = {"turn": turn, "low": low, "high": high, "before": start, "n": size}
        return Rule(
            "select(select(c$, t$ + p_high$, c$ >= p_n$), t$ + p_low$, c$ + p_before$ < p_before$)",
            "let t$ = c$ * p_turn$;",
            values={name: value & 0xFFFFFFFF for name, value in values.items()},
            start=-start,
        )
    # The pattern repeats, and its second half, if there is one, runs backwards.
    length = 2 * (size - ends) if is_mirrored else size
    before = -(-start // length) * length
    return Rule(
        "select(p_mirror$ - q$, q$, q$ < p_n$)",
        "let q$ = (c$ + p_before$) % p_length$;",
        values={"n": size, "length": length, "mirror": length - 1 + ends, "before": before},
        start=-start,
    )


def check_upsample(d: Upsample2dDesc) -> None:
    """The sizes that the scale gives."""
    scale = d.scale_size
    if not scale.width or not scale.height:
        raise InvalidDescError(
            f"UPSAMPLE_2D: scale_size is {scale.width} by {scale.height}; both must be at least 1"
        )
    wanted = _upsampled(d.input_tensor.sizes, scale)
    check_sizes("UPSAMPLE_2D", "output_tensor", d.output_tensor, wanted)


def _upsampled(sizes: tuple[int, ...], scale: Size2D) -> tuple[int, ...]:
    *outer, height, width = sizes
    return (*outer, height * max(1, scale.height), width * max(1, scale.width))


def infer_upsample(given: Given) -> dict[str, TensorDesc]:
    """Height and width times the scale."""
    require(given, "scale_size")
    source: TensorDesc = given.input_tensor
    sizes = _upsampled(source.sizes, given.scale_size) if source.rank > 1 else source.sizes
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def work_upsample(d: Upsample2dDesc) -> Work:
    """Pixels repeated by a move; between pixels, four are weighed."""
    if d.interpolation_mode is InterpolationMode.LINEAR:
        return _linear(d)
    source, output, scale = d.input_tensor, d.output_tensor, d.scale_size
    factors = (1,) * (source.rank - 2) + (scale.height, scale.width)
    loops = []
    steps = zip(source.sizes, output.effective_strides, source.effective_strides, strict=True)
    for n, (size, out, step) in zip(factors, steps, strict=True):
        loops += [Dim(size, out * n, step), Dim(n, out, 0)]
    return Move(source, output, tuple(loops))


def _linear(d: Upsample2dDesc) -> ElementWise:
    """Pixel centres at halves: the two nearest rows and columns, by distance."""
    source, sizes = d.input_tensor, d.output_tensor.sizes
    strides, last = source.effective_strides, source.rank - 1
    inputs = {
        "base": Operand.place(sizes, (*strides[:-2], 0, 0)),
        "y": coordinate(sizes, last - 1),
        "x": coordinate(sizes, last),
    }
    parameters = []
    steps = []
    for name, i, scale in (("y", last - 1, d.scale_size.height), ("x", last, d.scale_size.width)):
        parameters += [
            Parameter(f"p_{name}_scale", DataType.FLOAT32, float(scale)),
            Parameter(f"p_{name}_size", DataType.UINT32, source.sizes[i]),
            Parameter(f"p_{name}_step", DataType.UINT32, strides[i]),
        ]
        steps.append(
            f"let {name}_in = f32_div(f32_from_u32({name}) + 0.5, p_{name}_scale) - 0.5; "
            f"let {name}_low = floor({name}_in); let {name}_part = {name}_in - {name}_low; "
            f"let {name}_last = p_{name}_size - 1u; "
            f"let {name}0 = min(u32(max({name}_low, 0.0)), {name}_last) * p_{name}_step; "
            f"let {name}1 = min(u32({name}_low + 1.0), {name}_last) * p_{name}_step;"
        )
    for row in (0, 1):
        steps.append(
            f"let row{row} = (1.0 - x_part) * pixel_at(base + y{row} + x0) "
            f"+ x_part * pixel_at(base + y{row} + x1);"
        )
    text = Expression("(1.0 - y_part) * row0 + y_part * row1", " ".join(steps))
    made = Operand.of("output_tensor", d.output_tensor)
    lookups = {"pixel": Operand.of("input_tensor", source)}
    return ElementWise(inputs, ((made, text),), tuple(parameters), lookups)


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(PaddingDesc, infer_padding, work_padding, check_padding, check_level=check_mode),
    Operator(Padding1Desc, infer_padding, work_padding, check_padding, check_level=check_mode),
    Operator(Upsample2dDesc, infer_upsample, work_upsample, check_upsample),
)
