"""DML_OPERATOR_UNFOLD and DML_OPERATOR_FOLD: the windows of an image as columns, and back.

https://learn.microsoft.com/windows/ai/directml/api/ns-directml-dml_fold_operator_desc
https://learn.microsoft.com/windows/ai/directml/api/ns-directml-dml_unfold_operator_desc
"""

from __future__ import annotations

from math import prod
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.movement import check_sizes, require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.mapped import coordinate
from dmlgpu.plan.operator import Given, Operator
from dmlgpu.plan.values import Expression, Operand, Parameter, class_of

ARRAYS = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")
MOST = 6  # spatial dimensions


class UnfoldDesc(Description):
    """DML_UNFOLD_OPERATOR_DESC: each window of the input as a column of the output.

        out[n, c * W + w, b] = in[n, c, b * strides + w * dilations - start_padding]

    with windows of W elements; w and b count the elements of a window and the windows row by row.
    Outside of the input there are zeros.

    Fields:
        input_tensor (tensor): {N, C, spatial dimensions}.
        output_tensor (tensor): {N, C * W, windows}.
        window_sizes (UINT[]): elements of a window, per spatial dimension.
        strides (UINT[]): from one window to the next.
        dilations (UINT[]): from one element of a window to the next.
        start_padding (UINT[]): zeros before the input.
        end_padding (UINT[]): zeros behind it.

    Rules:
        - Both tensors have the same data type; dimensions before those named have size 1.
        - Each array has one entry per spatial dimension, of which there are 1 to 6.
        - Windows, strides and dilations are at least 1, and a window fits the padded input.
        - There are `1 + (size + paddings - extent) // stride` windows per spatial dimension, with
          the extent `1 + (window - 1) * dilation`.

    Example:
        >>> x = [[[[11, 12, 13], [21, 22, 23], [31, 32, 33]]]]
        >>> y = dml.unfold(
        ...     x,
        ...     window_sizes=(2, 2),
        ...     strides=(1, 1),
        ...     dilations=(1, 1),
        ...     start_padding=(0, 0),
        ...     end_padding=(0, 0),
        ... )
        >>> print(y.numpy())
        [[[11 12 21 22]
          [12 13 22 23]
          [21 22 31 32]
          [22 23 32 33]]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]


class FoldDesc(Description):
    """DML_FOLD_OPERATOR_DESC: columns put back as windows of an image, added where they overlap.

    Every element of the input is added to the output where UNFOLD would have read it; what falls
    into the padding is left out.

    Fields:
        input_tensor (tensor): {N, C * W, windows}.
        output_tensor (tensor): {N, C, spatial dimensions}.
        window_sizes (UINT[]): elements of a window, per spatial dimension.
        strides (UINT[]): from one window to the next.
        dilations (UINT[]): from one element of a window to the next.
        start_padding (UINT[]): what is left out before the output.
        end_padding (UINT[]): what is left out behind it.

    Rules:
        - Those of UNFOLD, with input and output exchanged.
        - The order of additions is that of a window's elements; integers wrap.

    Example:
        >>> x = [[[11, 12], [21, 22], [31, 32]]]
        >>> y = dml.fold(
        ...     x,
        ...     window_sizes=(3,),
        ...     strides=(2,),
        ...     dilations=(1,),
        ...     start_padding=(0,),
        ...     end_padding=(0,),
        ...     output_sizes=(1, 1, 5),
        ... )
        >>> print(y.numpy())
        [[[11 21 43 22 32]]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]


AnyDesc = UnfoldDesc | FoldDesc


def _blocks(d: Any, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """Windows along each spatial dimension; 0 or less where none fits."""
    arrays = zip(spatial, *(getattr(d, name) for name in ARRAYS), strict=True)
    return tuple(
        1 + (n + start + end - (1 + (window - 1) * dilation)) // stride
        for n, window, stride, dilation, start, end in arrays
    )


def _columns(d: Any, image: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of an image's windows as columns."""
    count = len(d.window_sizes)
    batch, channels = image[-count - 2], image[-count - 1]
    return (batch, channels * prod(d.window_sizes), prod(_blocks(d, image[-count:])))


def _image(d: AnyDesc) -> tuple[str, TensorDesc]:
    """The tensor of the image, and its field."""
    if isinstance(d, FoldDesc):
        return "output_tensor", d.output_tensor
    return "input_tensor", d.input_tensor


def _check_arrays(operator: str, d: Any) -> None:
    count = len(d.window_sizes)
    if not 1 <= count <= MOST:
        raise InvalidDescError(
            f"{operator}: window_sizes has {count} entries; there are 1 to {MOST} spatial "
            "dimensions"
        )
    for name in ARRAYS:
        values = getattr(d, name)
        if len(values) != count:
            raise InvalidDescError(
                f"{operator}: {name} has {len(values)} entries; window_sizes has {count}"
            )
        for i, value in enumerate(values):
            if value == 0 and not name.endswith("padding"):
                raise InvalidDescError(f"{operator}: {name}[{i}] is 0; it must be at least 1")


def check(d: AnyDesc) -> None:
    """The rules that the catalogue does not say."""
    operator = entry_of(type(d)).name
    _check_arrays(operator, d)
    count = len(d.window_sizes)
    name, image = _image(d)
    other = "output_tensor" if name == "input_tensor" else "input_tensor"
    columns: TensorDesc = getattr(d, other)
    if image.rank < count + 2:
        raise InvalidDescError(
            f"{operator}: {name} has {image.rank} dimensions; with {count} spatial dimensions it "
            f"must have {count + 2} at least"
        )
    for field, tensor, meant in ((name, image, count + 2), (other, columns, 3)):
        if any(n != 1 for n in tensor.sizes[:-meant]):
            raise InvalidDescError(
                f"{operator}: {field} has sizes {tensor.sizes}; only the last {meant} dimensions "
                "count and the leading ones must be 1"
            )
    for i, blocks in enumerate(_blocks(d, image.sizes[-count:])):
        if blocks < 1:
            raise InvalidDescError(
                f"{operator}: window_sizes[{i}] is {d.window_sizes[i]} with dilations[{i}] "
                f"{d.dilations[i]}; that does not fit {name}, which has {image.sizes[i - count]} "
                f"elements and padding {d.start_padding[i]} and {d.end_padding[i]}"
            )
    natural = _columns(d, image.sizes)
    check_sizes(operator, other, columns, (1,) * (columns.rank - 3) + natural)


def _defaults(given: Given) -> int:
    """Steps of 1 and no padding unless given; returns the number of spatial dimensions."""
    require(given, "window_sizes")
    count = len(given.window_sizes)
    for name in ARRAYS[1:]:
        if getattr(given, name) is None:
            setattr(given, name, (0 if name.endswith("padding") else 1,) * count)
    _check_arrays(given.operator, given)
    return count


def infer_unfold(given: Given) -> dict[str, TensorDesc]:
    """All windows that fit."""
    source: TensorDesc = given.input_tensor
    count = _defaults(given)
    if source.rank < count + 2:  # check names the fault
        return {"output_tensor": TensorDesc(source.data_type, (1, 1, 1))}
    sizes = tuple(max(1, n) for n in _columns(given, source.sizes))
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def infer_fold(given: Given) -> dict[str, TensorDesc]:
    """`output_sizes` says the image's sizes; nothing else does."""
    require(given, "output_sizes")
    _defaults(given)
    return {"output_tensor": TensorDesc(given.input_tensor.data_type, given.output_sizes)}


def _parameters(d: AnyDesc) -> tuple[Parameter, ...]:
    """The numbers that both expressions need, one parameter per spatial dimension."""
    image = _image(d)[1]
    count = len(d.window_sizes)
    spatial = image.sizes[-count:]
    named = {
        "size": spatial,
        "step": image.effective_strides[-count:],
        "window": d.window_sizes,
        "stride": d.strides,
        "dilation": d.dilations,
        "padding": d.start_padding,
        "blocks": _blocks(d, spatial),
    }
    made = [
        Parameter(f"p_{name}{i}", DataType.UINT32, value)
        for name, values in named.items()
        for i, value in enumerate(values)
    ]
    return (*made, Parameter("p_windows", DataType.UINT32, prod(d.window_sizes)))


def work_unfold(d: UnfoldDesc) -> ElementWise:
    """Every element looks up the one that its row and column name."""
    source, output, count = d.input_tensor, d.output_tensor, len(d.window_sizes)
    sizes, strides = output.sizes, source.effective_strides
    batch = source.rank - count - 2
    steps = [0] * output.rank
    steps[-3] = strides[batch]
    inputs = {
        "base": Operand.place(sizes, steps),
        "row": coordinate(sizes, output.rank - 2),
        "column": coordinate(sizes, output.rank - 1),
    }
    channel = Parameter("p_channel", DataType.UINT32, strides[batch + 1])
    lines = [
        "let channel = row / p_windows;",
        "var w = row - channel * p_windows;",
        "var b = column;",
        "var at = base + channel * p_channel;",
        "var inside = true;",
    ]
    for i in reversed(range(count)):
        lines.append(
            f"let c{i} = (b % p_blocks{i}) * p_stride{i} + (w % p_window{i}) * p_dilation{i} "
            f"- p_padding{i}; inside = inside && c{i} < p_size{i}; at += c{i} * p_step{i}; "
            f"w /= p_window{i}; b /= p_blocks{i};"  # c wraps before the first element
        )
    zero = "vec2<u32>()" if output.data_type.bits == 64 else "0u"
    lines.append(f"var v = {zero}; if (inside) {{ v = x_at(at); }}")
    made = Operand.of("output_tensor", output, raw=True)
    lookups = {"x": Operand.of("input_tensor", source, raw=True)}
    text = Expression("v", " ".join(lines))
    return ElementWise(inputs, ((made, text),), (*_parameters(d), channel), lookups)


def work_fold(d: FoldDesc) -> ElementWise:
    """Every element adds up what the windows over it hold for it, in a window's order."""
    source, output, count = d.input_tensor, d.output_tensor, len(d.window_sizes)
    sizes, strides = output.sizes, source.effective_strides
    first = output.rank - count - 2
    steps = [0] * output.rank
    steps[first] = strides[-3]
    steps[first + 1] = strides[-2] * prod(d.window_sizes)
    inputs = {"base": Operand.place(sizes, steps)}
    for i in range(count):
        inputs[f"y{i}"] = coordinate(sizes, first + 2 + i, d.start_padding[i])
    more = (
        Parameter("p_row", DataType.UINT32, strides[-2]),
        Parameter("p_column", DataType.UINT32, strides[-1]),
    )
    kind = class_of(output.data_type)
    lines = [f"var sum = {kind}_zero();"]
    lines.append("for (var w = 0u; w < p_windows; w++) {")
    lines.append("var rest = w; var block = 0u; var pitch = 1u; var inside = true;")
    for i in reversed(range(count)):
        lines.append(
            f"let t{i} = y{i} - (rest % p_window{i}) * p_dilation{i}; rest /= p_window{i}; "
            f"let b{i} = t{i} / p_stride{i}; block += b{i} * pitch; pitch *= p_blocks{i}; "
            f"inside = inside && t{i} <= y{i} && b{i} < p_blocks{i} && b{i} * p_stride{i} == t{i};"
        )
    value = "x_at(base + w * p_row + block * p_column)"
    lines.append(f"if (inside) {{ sum = {kind}_add(sum, {value}); }} }}")
    made = Operand.of("output_tensor", output)
    lookups = {"x": Operand.of("input_tensor", source)}
    text = Expression("sum", " ".join(lines))
    return ElementWise(inputs, ((made, text),), (*_parameters(d), *more), lookups)


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(FoldDesc, infer_fold, work_fold, check),
    Operator(UnfoldDesc, infer_unfold, work_unfold, check),
)
