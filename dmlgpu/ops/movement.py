"""Operators that put elements elsewhere without changing them.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_join_operator_desc and its
neighbours: SPLIT, TILE, DEPTH_TO_SPACE, SPACE_TO_DEPTH, SLICE_GRAD, REVERSE_SUBSEQUENCES.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Int, Output, entry_of
from dmlgpu.desc.enumerations import DepthSpaceOrder
from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.desc.values import sequence
from dmlgpu.desc.views import replaced
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.elements import like_first
from dmlgpu.ops.rules import check_axis, check_sizes, per_dimension, require
from dmlgpu.ops.slice import check_window
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.framed import framed
from dmlgpu.plan.loops import Dim, fold
from dmlgpu.plan.mapped import Rule, coordinate, mapped
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator, Together, Work
from dmlgpu.plan.values import Expression, Operand, Parameter


class JoinDesc(Description):
    """DML_JOIN_OPERATOR_DESC: tensors one behind the other along an axis.

    Fields:
        input_tensors (tensor[]): what is joined, in order.
        axis (UINT): the dimension along which they lie behind each other.

    Rules:
        - All tensors have the same data type and rank, and equal sizes but along `axis`.
        - The output's size along `axis` is the sum of the inputs'.

    Example:
        >>> print(dml.join([[[11, 12], [21, 22]], [[13], [23]]], axis=1).numpy())
        [[11 12 13]
         [21 22 23]]
    """

    input_tensors: tuple[TensorDesc, ...]
    output_tensor: Output
    axis: int


class SplitDesc(Description):
    """DML_SPLIT_OPERATOR_DESC: a tensor cut into pieces along an axis.

    Fields:
        input_tensor (tensor): what is cut.
        output_tensors (tensor[]): the pieces, in order.
        axis (UINT): the dimension that is cut.

    Rules:
        - All tensors have the same data type and rank, and equal sizes but along `axis`.
        - The outputs' sizes along `axis` add up to the input's.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> for piece in dml.split(x, sizes=(1, 3), axis=1):
        ...     print(piece.numpy())
        [[11]
         [21]
         [31]]
        [[12 13 14]
         [22 23 24]
         [32 33 34]]
    """

    input_tensor: TensorDesc
    output_tensors: tuple[Output, ...]
    axis: int


class TileDesc(Description):
    """DML_TILE_OPERATOR_DESC: the input again and again along each dimension.

        out[c] = in[c mod size]        per dimension

    Fields:
        input_tensor (tensor): what is repeated.
        repeats (UINT[]): how many times, per dimension.

    Rules:
        - Both tensors have the same data type and rank; `repeats` has one entry per dimension.
        - A repeat is at least 1; the output's size is the input's times the repeat.

    Example:
        >>> print(dml.tile([[11, 12], [21, 22]], repeats=(2, 3)).numpy())
        [[11 12 11 12 11 12]
         [21 22 21 22 21 22]
         [11 12 11 12 11 12]
         [21 22 21 22 21 22]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    repeats: tuple[int, ...]


class DepthToSpaceDesc(Description):
    """DML_DEPTH_TO_SPACE_OPERATOR_DESC: channels become blocks of pixels.

        out[n, c, y * B + by, x * B + bx] = in[n, (by * B + bx) * C + c, y, x]

    with blocks of B x B pixels and C channels in the output.

    Fields:
        input_tensor (tensor): images {N, C * B * B, H, W}.
        output_tensor (tensor): images {N, C, H * B, W * B}.
        block_size (UINT): B.

    Rules:
        - The input's channels are a multiple of B * B.

    Example:
        >>> x = [[[[11, 12]], [[21, 22]], [[31, 32]], [[41, 42]]]]
        >>> dml.depth_to_space(x, block_size=2).tolist()
        [[[[11, 21, 12, 22], [31, 41, 32, 42]]]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    block_size: int


class DepthToSpace1Desc(DepthToSpaceDesc):
    """DML_DEPTH_TO_SPACE1_OPERATOR_DESC: DEPTH_TO_SPACE with a choice of how channels are ordered.

    Fields:
        order (DML_DEPTH_SPACE_ORDER): DEPTH_COLUMN_ROW: channel (by * B + bx) * C + c is read;
            COLUMN_ROW_DEPTH: channel (c * B + by) * B + bx.

    Example:
        >>> x = [[[[11]], [[12]], [[13]], [[14]], [[15]], [[16]], [[17]], [[18]]]]
        >>> order = dml.DepthSpaceOrder.COLUMN_ROW_DEPTH
        >>> dml.depth_to_space1(x, block_size=2, order=order).tolist()
        [[[[11, 12], [13, 14]], [[15, 16], [17, 18]]]]
    """

    order: DepthSpaceOrder


class SpaceToDepthDesc(Description):
    """DML_SPACE_TO_DEPTH_OPERATOR_DESC: blocks of pixels become channels.

        out[n, (by * B + bx) * C + c, y, x] = in[n, c, y * B + by, x * B + bx]

    with blocks of B x B pixels and C channels in the input.

    Fields:
        input_tensor (tensor): images {N, C, H * B, W * B}.
        output_tensor (tensor): images {N, C * B * B, H, W}.
        block_size (UINT): B.

    Rules:
        - The input's height and width are multiples of B.

    Example:
        >>> x = [[[[11, 12, 13, 14], [21, 22, 23, 24]]]]
        >>> dml.space_to_depth(x, block_size=2).tolist()
        [[[[11, 13]], [[12, 14]], [[21, 23]], [[22, 24]]]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    block_size: int


class SpaceToDepth1Desc(SpaceToDepthDesc):
    """DML_SPACE_TO_DEPTH1_OPERATOR_DESC: SPACE_TO_DEPTH with a choice of how channels are ordered.

    Fields:
        order (DML_DEPTH_SPACE_ORDER): DEPTH_COLUMN_ROW: channel (by * B + bx) * C + c is written;
            COLUMN_ROW_DEPTH: channel (c * B + by) * B + bx.

    Example:
        >>> x = [[[[11, 12], [13, 14]], [[15, 16], [17, 18]]]]
        >>> order = dml.DepthSpaceOrder.COLUMN_ROW_DEPTH
        >>> dml.space_to_depth1(x, block_size=2, order=order).tolist()
        [[[[11]], [[12]], [[13]], [[14]], [[15]], [[16]], [[17]], [[18]]]]
    """

    order: DepthSpaceOrder


class SliceGradDesc(Description):
    """DML_SLICE_GRAD_OPERATOR_DESC: what SLICE1 took, put back where it came from; else zeros.

    Fields:
        input_gradient_tensor (tensor): of SLICE1's output.
        output_gradient_tensor (tensor): of SLICE1's input.
        input_window_offsets (UINT[]): the first element of the window, per dimension.
        input_window_sizes (UINT[]): the extent of the window.
        input_window_strides (INT[]): the step; its sign picks the end of the window to start from.

    Rules:
        - Both tensors have the same data type and rank; each array has one entry per dimension.
        - A window has at least 1 element and lies inside the output; a stride is not 0.
        - The input has at most `1 + (window size - 1) // |stride|` elements per dimension.

    Example:
        >>> y = dml.slice_grad(
        ...     [[11, 12], [21, 22]],
        ...     input_window_offsets=(0, 1),
        ...     input_window_sizes=(3, 3),
        ...     input_window_strides=(-2, 2),
        ...     output_sizes=(3, 4),
        ... )
        >>> print(y.numpy())
        [[ 0 21  0 22]
         [ 0  0  0  0]
         [ 0 11  0 12]]
    """

    input_gradient_tensor: TensorDesc
    output_gradient_tensor: Output
    input_window_offsets: tuple[int, ...]
    input_window_sizes: tuple[int, ...]
    input_window_strides: tuple[Int, ...]


class ReverseSubsequencesDesc(Description):
    """DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC: the first elements of each line, backwards.

        out[k] = in[length - 1 - k]        for k < length
        out[k] = in[k]                     for the others

    Fields:
        sequence_lengths_tensor (tensor): how many elements of each line are reversed.
        axis (UINT): the dimension along which the lines lie.

    Rules:
        - The three tensors have one rank; input and output have the same data type and sizes.
        - The lengths have size 1 along `axis` and else the input's sizes.
        - A length beyond the line means all of it.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> lengths = np.uint32([[2], [3], [4]])
        >>> print(dml.reverse_subsequences(x, lengths, axis=1).numpy())
        [[12 11 13 14]
         [23 22 21 24]
         [34 33 32 31]]
    """

    input_tensor: TensorDesc
    sequence_lengths_tensor: TensorDesc
    output_tensor: Output
    axis: int


def _check_pieces(
    operator: str, whole: tuple[str, TensorDesc], field: str, pieces: tuple[TensorDesc, ...], d: Any
) -> None:
    """The rules of JOIN and SPLIT: pieces of one tensor along an axis."""
    name, tensor = whole
    check_axis(operator, d.axis, tensor.rank)
    for i, piece in enumerate(pieces):
        wanted = replaced(tensor.sizes, d.axis, piece.sizes[d.axis])
        if piece.sizes != wanted:
            raise InvalidDescError(
                f"{operator}: {field}[{i}] has sizes {piece.sizes}; {name} has {tensor.sizes}, and "
                f"they must be equal but along axis {d.axis}"
            )
    total = sum(piece.sizes[d.axis] for piece in pieces)
    if total != tensor.sizes[d.axis]:
        raise InvalidDescError(
            f"{operator}: {name} has size {tensor.sizes[d.axis]} along axis {d.axis}; {field} have "
            f"{total} together, and the two must be equal"
        )


def check_join(d: JoinDesc) -> None:
    """Pieces that make up the output."""
    pieces = d.input_tensors
    _check_pieces("JOIN", ("output_tensor", d.output_tensor), "input_tensors", pieces, d)


def check_split(d: SplitDesc) -> None:
    """Pieces that make up the input."""
    pieces = d.output_tensors
    _check_pieces("SPLIT", ("input_tensor", d.input_tensor), "output_tensors", pieces, d)


def infer_join(given: Given) -> dict[str, TensorDesc]:
    """The sizes of the first; along the axis those of all together."""
    require(given, "axis")
    first = given.input_tensors[0]
    axis = min(given.axis, first.rank - 1)  # check names the fault
    total = sum(t.sizes[axis] if axis < t.rank else 0 for t in given.input_tensors)
    return {"output_tensor": TensorDesc(first.data_type, replaced(first.sizes, axis, total))}


def infer_split(given: Given) -> dict[str, tuple[TensorDesc, ...]]:
    """`output_sizes` says the size of each piece along the axis; nothing else does."""
    require(given, "axis", "output_sizes")
    source: TensorDesc = given.input_tensor
    axis = min(given.axis, source.rank - 1)
    sizes = sequence("SPLIT: output_sizes", given.output_sizes, "integers")
    pieces = tuple(
        TensorDesc(source.data_type, replaced(source.sizes, axis, size)) for size in sizes
    )
    if not pieces:
        raise InvalidDescError("SPLIT: output_sizes is empty; there is at least one piece")
    return {"output_tensors": pieces}


def work_join(d: JoinDesc) -> Work:
    """Each input moves to its part of the output."""
    strides = d.output_tensor.effective_strides
    works = []
    at = 0
    for i, piece in enumerate(d.input_tensors):
        steps = zip(piece.sizes, strides, piece.effective_strides, strict=True)
        loops = tuple(Dim(*step) for step in steps)
        base = at * strides[d.axis] if len(d.input_tensors) > 1 else None
        field = f"input_tensors[{i}]"
        move = Move(piece, d.output_tensor, loops, source_field=field, out_base=base)
        works.append(move)
        at += piece.sizes[d.axis]
    return Together(tuple(works))


def work_split(d: SplitDesc) -> Work:
    """Each output takes its part of the input."""
    strides = d.input_tensor.effective_strides
    works = []
    at = 0
    for i, piece in enumerate(d.output_tensors):
        steps = zip(piece.sizes, piece.effective_strides, strides, strict=True)
        loops = tuple(Dim(*step) for step in steps)
        field = f"output_tensors[{i}]"
        works.append(Move(d.input_tensor, piece, loops, at * strides[d.axis], output_field=field))
        at += piece.sizes[d.axis]
    return Together(tuple(works))


def check_tile(d: TileDesc) -> None:
    """One repeat for each dimension, and the sizes that follow."""
    per_dimension("TILE", "repeats", d.repeats, d.input_tensor.rank)
    for i, n in enumerate(d.repeats):
        if n == 0:
            raise InvalidDescError(f"TILE: repeats[{i}] is 0; a repeat must be at least 1")
    check_sizes("TILE", "output_tensor", d.output_tensor, _tiled(d.input_tensor.sizes, d.repeats))


def _tiled(sizes: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n * max(1, r) for n, r in zip(sizes, repeats, strict=False))


def infer_tile(given: Given) -> dict[str, TensorDesc]:
    """The sizes of the input times the repeats."""
    require(given, "repeats")
    source: TensorDesc = given.input_tensor
    per_dimension(given.operator, "repeats", given.repeats, source.rank)
    sizes = _tiled(source.sizes, given.repeats)
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def work_tile(d: TileDesc) -> Work:
    """A move whose source stands still from one repeat to the next."""
    source, output = d.input_tensor, d.output_tensor
    loops = []
    strides = output.effective_strides, source.effective_strides
    for size, repeat, out, step in zip(source.sizes, d.repeats, *strides, strict=True):
        loops += [Dim(repeat, out * size, 0), Dim(size, out, step)]
    if len(fold(loops)) <= MAX_RANK:
        return Move(source, output, tuple(loops))
    rules = {i: Rule("c$ % p_n$", values={"n": source.sizes[i]}) for i in range(source.rank)}
    rules = {i: rule for i, rule in rules.items() if d.repeats[i] > 1}
    return mapped(("input_tensor", source), ("output_tensor", output), rules)


def _blocks(image: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The sizes of an image's blocks as channels."""
    n, c, h, w = image
    return (n, c * block * block, h // block, w // block)


def _images(depth: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The sizes of channels as an image of blocks."""
    n, c, h, w = depth
    return (n, max(1, c // (block * block)), h * block, w * block)


def _check_block(d: Any) -> None:
    if d.block_size == 0:
        raise InvalidDescError(
            f"{entry_of(type(d)).name}: block_size is 0; a block has at least 1 element"
        )


def check_depth_to_space(d: DepthToSpaceDesc) -> None:
    """Whole blocks of channels."""
    _check_block(d)
    operator, block = entry_of(type(d)).name, d.block_size
    channels = d.input_tensor.sizes[1]
    if channels % (block * block):
        raise InvalidDescError(
            f"{operator}: input_tensor has {channels} channels; they must be a multiple of "
            f"block_size * block_size, which is {block * block}"
        )
    check_sizes(operator, "output_tensor", d.output_tensor, _images(d.input_tensor.sizes, block))


def check_space_to_depth(d: SpaceToDepthDesc) -> None:
    """Whole blocks of pixels."""
    _check_block(d)
    operator, block = entry_of(type(d)).name, d.block_size
    height, width = d.input_tensor.sizes[2:]
    if height % block or width % block:
        raise InvalidDescError(
            f"{operator}: input_tensor has {height} by {width} pixels; both must be multiples of "
            f"block_size {block}"
        )
    check_sizes(operator, "output_tensor", d.output_tensor, _blocks(d.input_tensor.sizes, block))


def infer_blocks(made: Any, given: Given) -> dict[str, TensorDesc]:
    """The sizes that `made` gives: of images, or of their blocks as channels."""
    require(given, "block_size")
    source: TensorDesc = given.input_tensor
    if source.rank != 4 or given.block_size == 0:  # validation names the fault
        return {"output_tensor": TensorDesc(source.data_type, source.sizes)}
    sizes = tuple(max(1, n) for n in made(source.sizes, given.block_size))
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def _block_steps(d: Any, image: TensorDesc, depth: TensorDesc) -> list[tuple[int, int, int]]:
    """(size, step through the image, step through the channels) of each loop over the blocks."""
    block = d.block_size
    order = getattr(d, "order", DepthSpaceOrder.DEPTH_COLUMN_ROW)
    n, c, y, x = image.effective_strides
    dn, dc, dy, dx = depth.effective_strides
    channels = image.sizes[1]
    if order is DepthSpaceOrder.DEPTH_COLUMN_ROW:
        by, bx, channel = block * channels, channels, 1
    else:
        by, bx, channel = block, 1, block * block
    return [
        (image.sizes[0], n, dn),
        (channels, c, channel * dc),
        (depth.sizes[2], y * block, dy),
        (block, y, by * dc),
        (depth.sizes[3], x * block, dx),
        (block, x, bx * dc),
    ]


def work_depth_to_space(d: DepthToSpaceDesc) -> Move:
    """One move that walks the image's blocks."""
    steps = _block_steps(d, d.output_tensor, d.input_tensor)
    return Move(d.input_tensor, d.output_tensor, tuple(Dim(*step) for step in steps))


def work_space_to_depth(d: SpaceToDepthDesc) -> Move:
    """One move that walks the image's blocks."""
    steps = _block_steps(d, d.input_tensor, d.output_tensor)
    loops = tuple(Dim(size, depth, image) for size, image, depth in steps)
    return Move(d.input_tensor, d.output_tensor, loops)


def check_slice_grad(d: SliceGradDesc) -> None:
    """The rules of SLICE1, whose output is this one's input."""
    check_window(d, "output_gradient_tensor", "input_gradient_tensor")


def infer_slice_grad(given: Given) -> dict[str, TensorDesc]:
    """`output_sizes` says the sizes of what SLICE1 read; nothing else does."""
    require(given, "output_sizes")
    return {
        "output_gradient_tensor": TensorDesc(
            given.input_gradient_tensor.data_type, given.output_sizes
        )
    }


def work_slice_grad(d: SliceGradDesc) -> Work:
    """Every element is one of the input's where the window's steps meet it, else zero."""
    source, output = d.input_gradient_tensor, d.output_gradient_tensor
    windows = (d.input_window_offsets, d.input_window_sizes, d.input_window_strides)
    rules = {}
    for i, (offset, size, stride) in enumerate(zip(*windows, strict=True)):
        have = source.sizes[i]
        if stride == 1:
            rules[i] = Rule("c$", inside="c$ < p_n$", values={"n": have}, start=-offset)
            continue
        start = offset if stride > 0 else offset + size - 1
        distance = "c$ - p_start$" if stride > 0 else "p_start$ - c$"  # wraps before the start
        rules[i] = Rule(
            "q$ / p_stride$",
            f"let q$ = {distance};",
            "q$ < p_span$ && q$ % p_stride$ == 0u",
            {"start": start, "stride": abs(stride), "span": (have - 1) * abs(stride) + 1},
        )
    tensors = ("input_gradient_tensor", source), ("output_gradient_tensor", output)
    if all(stride == 1 for stride in d.input_window_strides):
        return framed(*tensors, rules)
    return mapped(*tensors, rules)


def check_reverse(d: ReverseSubsequencesDesc) -> None:
    """One length for each line."""
    operator = "REVERSE_SUBSEQUENCES"
    check_axis(operator, d.axis, d.input_tensor.rank)
    check_sizes(operator, "output_tensor", d.output_tensor, d.input_tensor.sizes)
    lengths = replaced(d.input_tensor.sizes, d.axis, 1)
    check_sizes(operator, "sequence_lengths_tensor", d.sequence_lengths_tensor, lengths)


def work_reverse(d: ReverseSubsequencesDesc) -> ElementWise:
    """Every element looks up its counterpart from the other end of its sequence."""
    source, lengths, sizes = d.input_tensor, d.sequence_lengths_tensor, d.output_tensor.sizes
    strides = source.effective_strides
    everywhere = TensorDesc(
        lengths.data_type, sizes, replaced(lengths.effective_strides, d.axis, 0)
    )
    inputs = {
        "n": Operand("sequence_lengths_tensor", everywhere, lengths.data_type),
        "k": coordinate(sizes, d.axis),
        "base": Operand.place(sizes, replaced(strides, d.axis, 0)),
    }
    parameters = (
        Parameter("p_size", DataType.UINT32, sizes[d.axis]),
        Parameter("p_step", DataType.UINT32, strides[d.axis]),
    )
    length = "n" if lengths.data_type.bits == 32 else "select(n.x, p_size, n.y != 0u)"
    steps = f"let m = min({length}, p_size);"
    text = Expression("x_at(base + select(k, m - 1u - k, k < m) * p_step)", steps)
    made = Operand.of("output_tensor", d.output_tensor, raw=True)
    lookups = {"x": Operand.of("input_tensor", source, raw=True)}
    return ElementWise(inputs, ((made, text),), parameters, lookups)


to_images, to_blocks = partial(infer_blocks, _images), partial(infer_blocks, _blocks)
OPERATORS: tuple[Operator[Any], ...] = (
    Operator(SplitDesc, infer_split, work_split, check_split),
    Operator(JoinDesc, infer_join, work_join, check_join),
    Operator(TileDesc, infer_tile, work_tile, check_tile),
    Operator(DepthToSpaceDesc, to_images, work_depth_to_space, check_depth_to_space),
    Operator(DepthToSpace1Desc, to_images, work_depth_to_space, check_depth_to_space),
    Operator(SpaceToDepthDesc, to_blocks, work_space_to_depth, check_space_to_depth),
    Operator(SpaceToDepth1Desc, to_blocks, work_space_to_depth, check_space_to_depth),
    Operator(SliceGradDesc, infer_slice_grad, work_slice_grad, check_slice_grad),
    Operator(ReverseSubsequencesDesc, like_first, work_reverse, check_reverse),
)
