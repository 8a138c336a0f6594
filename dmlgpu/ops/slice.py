"""DML_OPERATOR_SLICE and DML_OPERATOR_SLICE1: a window of the input, every n-th element of it.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_slice_operator_desc
https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_slice1_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Int, Output, entry_of
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import per_dimension
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import Move
from dmlgpu.plan.operator import Given, Operator

__all__ = ["Slice1Desc", "SliceDesc"]

WINDOW = ("input_window_offsets", "input_window_sizes", "input_window_strides")


class SliceDesc(Description):
    """DML_SLICE_OPERATOR_DESC: a box of the input, every n-th element of it.

        out[c] = in[offsets + strides * c]        per dimension, for 0 <= c < sizes

    Fields:
        offsets (UINT[]): the first element taken, per dimension.
        sizes (UINT[]): how many elements are taken.
        strides (UINT[]): the step from one to the next in the input.

    Rules:
        - Both tensors have the same data type and rank; each array has one entry per dimension.
        - `output_tensor` has the sizes `sizes`.
        - A stride is at least 1.
        - The last element, `offsets + (sizes - 1) * strides`, lies inside the input.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> print(dml.slice(x, offsets=(0, 1), sizes=(2, 2), strides=(2, 2)).numpy())
        [[12 14]
         [32 34]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Slice1Desc(Description):
    """DML_SLICE1_OPERATOR_DESC: steps through a window of the input, forwards or backwards.

        start  = input_window_offsets                             with a positive stride
        start  = input_window_offsets + input_window_sizes - 1    with a negative one
        out[c] = in[start + input_window_strides * c]

    Fields:
        output_tensor (tensor): what is written; its sizes say how many steps are taken.
        input_window_offsets (UINT[]): the first element of the window, per dimension.
        input_window_sizes (UINT[]): the extent of the window.
        input_window_strides (INT[]): the step; its sign picks the end of the window to start from.

    Rules:
        - Both tensors have the same data type and rank; each array has one entry per dimension.
        - A window has at least 1 element and lies inside the input.
        - A stride is not 0.
        - The output has at most `1 + (window size - 1) // |stride|` elements per dimension, and may
          have fewer: the copy stops early.

    Example:
        >>> x = [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]
        >>> y = dml.slice1(
        ...     x,
        ...     input_window_offsets=(0, 1),
        ...     input_window_sizes=(3, 3),
        ...     input_window_strides=(-2, 1),
        ... )
        >>> print(y.numpy())
        [[32 33 34]
         [12 13 14]]
    """

    input_tensor: TensorDesc
    output_tensor: Output
    input_window_offsets: tuple[int, ...]
    input_window_sizes: tuple[int, ...]
    input_window_strides: tuple[Int, ...]


def check_slice(d: SliceDesc) -> None:
    """The rules of SLICE that its table does not say."""
    rank = d.input_tensor.rank
    _check_counts("SLICE", rank, offsets=d.offsets, sizes=d.sizes, strides=d.strides)
    for i, (offset, size, stride) in enumerate(zip(d.offsets, d.sizes, d.strides, strict=True)):
        extent = d.input_tensor.sizes[i]
        if d.output_tensor.sizes[i] != size:
            raise InvalidDescError(
                f"SLICE: sizes[{i}] is {size}; output_tensor has {d.output_tensor.sizes[i]} "
                f"elements in dimension {i}, and the two must be equal"
            )
        if stride == 0:
            raise InvalidDescError(f"SLICE: strides[{i}] is 0; a stride must be at least 1")
        last = offset + (size - 1) * stride
        if last >= extent:
            raise InvalidDescError(
                f"SLICE: offsets[{i}] {offset}, sizes[{i}] {size} and strides[{i}] {stride} reach "
                f"element {last}; input_tensor has {extent} elements in dimension {i}"
            )


def reachable(window_size: int, stride: int) -> int:
    """Elements that a stride visits in a window; the sign only picks the end to start from."""
    return 1 + (window_size - 1) // abs(stride)


def check_slice1(d: Slice1Desc) -> None:
    """The rules of SLICE1 that its table does not say."""
    check_window(d, "input_tensor", "output_tensor")


def check_window(d: Any, whole: str, part: str) -> None:
    """The rules of a window of one tensor, whose steps reach the elements of another."""
    operator, tensor, sizes = entry_of(type(d)).name, getattr(d, whole), getattr(d, part).sizes
    windows = {name: getattr(d, name) for name in WINDOW}
    _check_counts(operator, tensor.rank, **windows)
    for i, (offset, size, stride) in enumerate(zip(*windows.values(), strict=True)):
        extent = tensor.sizes[i]
        if size == 0:
            raise InvalidDescError(
                f"{operator}: input_window_sizes[{i}] is 0; a window has at least 1 element"
            )
        if stride == 0:
            raise InvalidDescError(f"{operator}: input_window_strides[{i}] is 0; it must not be 0")
        if offset + size > extent:
            raise InvalidDescError(
                f"{operator}: input_window_offsets[{i}] {offset} plus input_window_sizes[{i}] "
                f"{size} is {offset + size}; {whole} has {extent} elements in dimension {i}"
            )
        most = reachable(size, stride)
        if sizes[i] > most:
            raise InvalidDescError(
                f"{operator}: {part} has {sizes[i]} elements in dimension {i}; "
                f"input_window_sizes[{i}] {size} and input_window_strides[{i}] {stride} give at "
                f"most {most}"
            )


def infer_slice(given: Given) -> dict[str, TensorDesc]:
    """`sizes` says the output's; what is left out takes all of the input that can be had."""
    source: TensorDesc = given.input_tensor
    if given.offsets is None:
        given.offsets = (0,) * source.rank
    if given.strides is None:
        given.strides = (1,) * source.rank
    _check_counts("SLICE", source.rank, offsets=given.offsets, strides=given.strides)
    if given.sizes is None:
        windows = zip(source.sizes, given.offsets, given.strides, strict=True)
        given.sizes = tuple(reachable(n - o, k) if n > o and k else 1 for n, o, k in windows)
    _check_counts("SLICE", source.rank, sizes=given.sizes)
    return {"output_tensor": TensorDesc(source.data_type, given.sizes)}


def infer_slice1(given: Given) -> dict[str, TensorDesc]:
    """As many elements as the steps reach; what the rules refuse counts as one.

    What is left out makes the window all of the input that can be had.
    """
    source: TensorDesc = given.input_tensor
    if given.input_window_offsets is None:
        given.input_window_offsets = (0,) * source.rank
    if given.input_window_strides is None:
        given.input_window_strides = (1,) * source.rank
    if given.input_window_sizes is None:
        _check_counts("SLICE1", source.rank, input_window_offsets=given.input_window_offsets)
        starts = zip(source.sizes, given.input_window_offsets, strict=True)
        given.input_window_sizes = tuple(max(1, size - offset) for size, offset in starts)
    windows = {name: getattr(given, name) for name in WINDOW}
    _check_counts("SLICE1", source.rank, **windows)
    steps = zip(given.input_window_sizes, given.input_window_strides, strict=True)
    sizes = [reachable(size, step) if size and step else 1 for size, step in steps]
    return {"output_tensor": TensorDesc(source.data_type, sizes)}


def _check_counts(operator: str, rank: int, **arrays: tuple[int, ...]) -> None:
    """Says which array has too few or too many entries before sizes are made of it."""
    for name, values in arrays.items():
        per_dimension(operator, name, values, rank)


def work_slice(d: SliceDesc) -> Move:
    """One copy from `offsets` in steps of `strides`."""
    return _copy(d.input_tensor, d.output_tensor, d.offsets, d.strides)


def work_slice1(d: Slice1Desc) -> Move:
    """One copy; a negative stride starts at the window's other end."""
    windows = zip(d.input_window_offsets, d.input_window_sizes, d.input_window_strides, strict=True)
    starts = tuple(offset if step > 0 else offset + size - 1 for offset, size, step in windows)
    return _copy(d.input_tensor, d.output_tensor, starts, d.input_window_strides)


def _copy(
    source: TensorDesc, output: TensorDesc, starts: tuple[int, ...], steps: tuple[int, ...]
) -> Move:
    strides = source.effective_strides
    loops = tuple(
        Dim(size, out, step * stride)
        for size, out, step, stride in zip(
            output.sizes, output.effective_strides, steps, strides, strict=True
        )
    )
    base = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    return Move(source, output, loops, base)


OPERATORS: tuple[Operator[Any], ...] = (
    Operator(SliceDesc, infer_slice, work_slice, check_slice),
    Operator(Slice1Desc, infer_slice1, work_slice1, check_slice1),
)
