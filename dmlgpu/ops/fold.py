"""DML_OPERATOR_UNFOLD and DML_OPERATOR_FOLD: the windows of an image as columns, and back.

https://learn.microsoft.com/windows/ai/directml/api/ns-directml-dml_fold_operator_desc
https://learn.microsoft.com/windows/ai/directml/api/ns-directml-dml_unfold_operator_desc
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import gcd, prod
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc, packed_strides
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import check_sizes, require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.framed import Axis, Framed
from dmlgpu.plan.loops import Dim, fold
from dmlgpu.plan.mapped import coordinate
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Work
from dmlgpu.plan.values import Expression, Operand, Parameter, class_of

ARRAYS = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")
MOST = 6  # spatial dimensions
# Terms of a sum that are loaded before they are added; in a loop each would be waited for.
WRITTEN = 9
IN_LOOPS = 4  # of those, where there are more than that: SwiftShader compiles nine for minutes


class Windows(Description):
    """An image and its windows as columns.

    Fields:
        window_sizes (UINT[]): elements of a window, per spatial dimension.
        strides (UINT[]): from one window to the next.
        dilations (UINT[]): from one element of a window to the next.
    """

    input_tensor: TensorDesc
    output_tensor: Output
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]


class UnfoldDesc(Windows):
    """DML_UNFOLD_OPERATOR_DESC: each window of the input as a column of the output.

        out[n, c * W + w, b] = in[n, c, b * strides + w * dilations - start_padding]

    with windows of W elements; w and b count the elements of a window and the windows row by row.
    Outside of the input there are zeros.

    Fields:
        input_tensor (tensor): {N, C, spatial dimensions}.
        output_tensor (tensor): {N, C * W, windows}.
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


class FoldDesc(Windows):
    """DML_FOLD_OPERATOR_DESC: columns put back as windows of an image, added where they overlap.

    Every element of the input is added to the output where UNFOLD would have read it; what falls
    into the padding is left out.

    Fields:
        input_tensor (tensor): {N, C * W, windows}.
        output_tensor (tensor): {N, C, spatial dimensions}.
        start_padding (UINT[]): what is left out before the output.
        end_padding (UINT[]): what is left out behind it.

    Rules:
        - Those of UNFOLD, with input and output exchanged.
        - The order of additions is that of a window's elements; integers wrap. What a single window
          holds keeps its bits.

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


def _image(d: Windows) -> tuple[str, TensorDesc]:
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


def check(d: Windows) -> None:
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


def _parameters(named: Mapping[str, Sequence[int]]) -> tuple[Parameter, ...]:
    """Numbers that expressions need, one parameter per spatial dimension."""
    return tuple(
        Parameter(f"p_{name}{i}", DataType.UINT32, value & 0xFFFFFFFF)
        for name, values in named.items()
        for i, value in enumerate(values)
    )


def _steps(step: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Steps of loops that count `step` apart row by row."""
    return tuple(step * n for n in packed_strides(tuple(sizes)))


def _loops(d: Windows) -> tuple[tuple[int, int, int], ...]:
    """Loops over all elements of all windows: sizes, steps of the columns and of the image."""
    count, image = len(d.window_sizes), _image(d)[1]
    columns = d.input_tensor if isinstance(d, FoldDesc) else d.output_tensor
    batch, row, column = columns.effective_strides[-3:]
    sizes, strides = image.sizes[-count - 2 :], image.effective_strides[-count - 2 :]
    blocks, windows = _blocks(d, sizes[2:]), d.window_sizes
    steps = [
        *zip(windows, _steps(row, windows), d.dilations, strides[2:], strict=True),
        *zip(blocks, _steps(column, blocks), d.strides, strides[2:], strict=True),
    ]
    return (
        (sizes[0], batch, strides[0]),
        (sizes[1], row * prod(windows), strides[1]),
        *((size, step, times * stride) for size, step, times, stride in steps),
    )


def work_unfold(d: UnfoldDesc) -> Work:
    """A move; where windows reach into the padding, rows of the image with zeros around them."""
    source, output, count = d.input_tensor, d.output_tensor, len(d.window_sizes)
    loops = _loops(d)
    dims = tuple(Dim(*loop) for loop in loops)
    if not any((*d.start_padding, *d.end_padding)) and len(fold(list(dims))) <= MAX_RANK:
        return Move(source, output, dims)
    axes = []
    sizes, strides = source.sizes[-count - 2 :], source.effective_strides[-count - 2 :]
    for i, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps, start = [0] * len(loops), 0
        steps[i] = 1
        if i > 1:
            steps[i], steps[i + count] = d.dilations[i - 2], d.strides[i - 2]
            start = -d.start_padding[i - 2]
        axes.append(Axis(size, stride, tuple(steps), start))
    fields = ("input_tensor", source), ("output_tensor", output)
    stepped = tuple((size, out) for size, out, _ in loops)
    return Framed(*fields, stepped, tuple(axes), 0, _looked_up(d))


def _looked_up(d: UnfoldDesc) -> ElementWise:
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
    spatial = source.sizes[-count:]
    parameters = _parameters(
        {
            "size": spatial,
            "step": strides[-count:],
            "window": d.window_sizes,
            "stride": d.strides,
            "dilation": d.dilations,
            "padding": d.start_padding,
            "blocks": _blocks(d, spatial),
            "windows": (prod(d.window_sizes),),
            "channel": (strides[batch + 1],),
        }
    )
    lines = [
        "let channel = row / p_windows0;",
        "var w = row - channel * p_windows0;",
        "var b = column;",
        "var at = base + channel * p_channel0;",
        "var inside = true;",
    ]
    for i in reversed(range(count)):
        lines.append(
            f"let c{i} = (b % p_blocks{i}) * p_stride{i} + (w % p_window{i}) * p_dilation{i} "
            f"- p_padding{i}; inside = inside && c{i} < p_size{i}; at += c{i} * p_step{i}; "
            f"w /= p_window{i}; b /= p_blocks{i};"  # c wraps before the first element
        )
    zero = "vec2<u32>()" if output.data_type.bits == 64 else "0u"
    made = Operand.of("output_tensor", output, raw=True)
    lookups = {"x": Operand.of("input_tensor", source, raw=True)}
    text = Expression(f"select({zero}, x_at(at), inside)", " ".join(lines))
    return ElementWise(inputs, ((made, text),), parameters, lookups)


def work_fold(d: FoldDesc) -> Work:
    """A move where windows lie side by side; else every element adds up those that are over it."""
    count, image = len(d.window_sizes), d.output_tensor.sizes
    covered = tuple(n * s for n, s in zip(_blocks(d, image[-count:]), d.strides, strict=True))
    is_alone = d.window_sizes == d.strides and covered == image[-count:]
    if is_alone and not any(n > 1 for n in d.dilations) and not any(d.start_padding):
        dims = tuple(Dim(size, out, source) for size, source, out in _loops(d))
        if len(fold(list(dims))) <= MAX_RANK:
            return Move(d.input_tensor, d.output_tensor, dims)
    return _added_up(d)


def _added_up(d: FoldDesc) -> ElementWise:
    """Every element adds up what the windows over it hold for it, in a window's order.

    Along a dimension, elements w of windows b are at y where b * stride + w * dilation is y. Of
    these the first is found by the inverse of the dilation. The next is `every` elements further
    on, in a window that is so many `fewer` before.
    """
    source, output, count = d.input_tensor, d.output_tensor, len(d.window_sizes)
    sizes, (batch, row, column) = output.sizes, source.effective_strides[-3:]
    first = output.rank - count - 2
    steps = [0] * output.rank
    steps[first : first + 2] = batch, row * prod(d.window_sizes)
    inputs = {"base": Operand.place(sizes, steps)}
    for i in range(count):
        inputs[f"y{i}"] = coordinate(sizes, first + 2 + i, d.start_padding[i])
    blocks = _blocks(d, sizes[-count:])
    common = [gcd(s, n) for s, n in zip(d.strides, d.dilations, strict=True)]
    every = [s // g for s, g in zip(d.strides, common, strict=True)]
    fewer = [n // g for n, g in zip(d.dilations, common, strict=True)]
    in_window, in_block = _steps(row, d.window_sizes), _steps(column, blocks)
    parameters = _parameters(
        {
            "window": d.window_sizes,
            "stride": d.strides,
            "dilation": d.dilations,
            "blocks": blocks,
            "common": common,
            "every": every,
            "fewer": fewer,
            "inverse": [pow(n, -1, e) for n, e in zip(fewer, every, strict=True)],
            "w_step": in_window,
            "b_step": in_block,
            "next": [
                e * w - f * b for e, w, f, b in zip(every, in_window, fewer, in_block, strict=True)
            ],
        }
    )
    kind = class_of(output.data_type)
    lines = [f"var sum = {kind}_zero(); var is_first = true;"]
    for i, (stride, dilation) in enumerate(zip(d.strides, d.dilations, strict=True)):
        found = f"y{i} / p_common{i} % p_every{i} * p_inverse{i} % p_every{i}"
        if dilation == 1:  # which is its own inverse
            found = f"y{i} % p_stride{i}" if stride > 1 else "0u"
        elif every[i] > 0xFFFF:  # 32 bits may not hold the product
            factors = f"y{i} / p_common{i} % p_every{i}, p_inverse{i}"
            found = f"u64_mod(u64_product({factors}), u64_from_u32(p_every{i})).x"
        block = f"y{i} / p_stride{i}" if stride > 1 else f"y{i}"
        exact = "true"
        if dilation > 1:
            block = f"(y{i} - w{i} * p_dilation{i}) / p_stride{i}"
            exact = f"b{i} * p_stride{i} + w{i} * p_dilation{i} == y{i} "
            exact += f"&& w{i} * p_dilation{i} <= y{i}"
        lines.append(
            f"let w{i} = {found}; let b{i} = {block}; let is{i} = {exact}; "
            f"let at{i} = w{i} * p_w_step{i} + b{i} * p_b_step{i};"
        )
    terms = [-(-n // e) for n, e in zip(d.window_sizes, every, strict=True)]
    most = WRITTEN if prod(terms) <= WRITTEN else IN_LOOPS
    looped = next(i for i in range(count + 1) if prod(terms[i:]) <= most or i == count)
    for i in range(looped):
        lines.append(f"for (var j{i} = 0u; j{i} < {terms[i]}u; j{i}++) {{")
    written = list(product(*(range(n) for n in terms[looped:])))
    for n, each in enumerate(written):
        j = [*(f"j{i}" for i in range(looped)), *(f"{k}u" for k in each)]
        at = " + ".join(["base", *(f"at{i} + {j[i]} * p_next{i}" for i in range(count))])
        inside = " && ".join(
            f"is{i} && w{i} + {j[i]} * p_every{i} < p_window{i} "
            f"&& b{i} - {j[i]} * p_fewer{i} < p_blocks{i}"
            for i in range(count)
        )
        lines.append(f"let v{n} = x_at({at}); let in{n} = {inside};")
    lines += [
        f"sum = select(sum, select({kind}_add(sum, v{n}), v{n}, is_first), in{n}); "
        f"is_first = is_first && !in{n};"
        for n in range(len(written))
    ]
    lines.append("}" * looped)
    made = Operand.of("output_tensor", output)
    lookups = {"x": Operand.of("input_tensor", source)}
    text = Expression("sum", " ".join(lines))
    return ElementWise(inputs, ((made, text),), parameters, lookups)


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(FoldDesc, infer_fold, work_fold, check),
    Operator(UnfoldDesc, infer_unfold, work_unfold, check),
)
