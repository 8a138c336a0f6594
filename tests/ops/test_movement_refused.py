"""What JOIN, SPLIT, PADDING and their family refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L

Invalid = dml.InvalidDescError


def f32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.FLOAT32, sizes)


def pad(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(2, 3),
        "output_tensor": f32(3, 5),
        "padding_mode": 0,
        "padding_value_data_type": T.FLOAT32,
        "padding_value": 0,
        "start_padding": (1, 1),
        "end_padding": (0, 1),
    }
    return dml.Padding1Desc(**{**fields, **change})


def blocks(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_tensor": f32(1, 2, 5, 5),
        "output_tensor": f32(1, 8, 16),
        "window_sizes": (2, 2),
        "strides": (1, 1),
        "dilations": (1, 1),
        "start_padding": (0, 0),
        "end_padding": (0, 0),
    }
    return dml.UnfoldDesc(**{**fields, **change})


def grad(**change: Any) -> Any:
    fields: dict[str, Any] = {
        "input_gradient_tensor": f32(2),
        "output_gradient_tensor": f32(9),
        "input_window_offsets": (1,),
        "input_window_sizes": (4,),
        "input_window_strides": (-2,),
    }
    return dml.SliceGradDesc(**{**fields, **change})


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: dml.JoinDesc(input_tensors=[f32(2, 3), f32(2, 3)], output_tensor=f32(2, 6), axis=2),
        r"JOIN: axis is 2; with tensors of 2 dimensions it must be in \[0, 2\)",
    ),
    (
        lambda: dml.JoinDesc(input_tensors=[f32(2, 3), f32(1, 3)], output_tensor=f32(2, 6), axis=1),
        r"JOIN: input_tensors\[1\] has sizes \(1, 3\); output_tensor has \(2, 6\)",
    ),
    (
        lambda: dml.JoinDesc(input_tensors=[f32(2, 3)], output_tensor=f32(2, 6), axis=1),
        "JOIN: output_tensor has size 6 along axis 1; input_tensors have 3 together",
    ),
    (
        lambda: dml.SplitDesc(input_tensor=f32(5), output_tensors=[f32(2), f32(2)], axis=0),
        "SPLIT: input_tensor has size 5 along axis 0; output_tensors have 4 together",
    ),
    (
        lambda: dml.TileDesc(input_tensor=f32(2), output_tensor=f32(2), repeats=(0,)),
        r"TILE: repeats\[0\] is 0",
    ),
    (
        lambda: dml.TileDesc(input_tensor=f32(2), output_tensor=f32(5), repeats=(2,)),
        r"TILE: output_tensor has sizes \(5,\); the other fields give \(4,\)",
    ),
    (lambda: pad(start_padding=(1,)), "PADDING1: start_padding has 1 entries"),
    (lambda: pad(end_padding=(1, 1)), r"PADDING1: output_tensor has sizes \(3, 5\)"),
    (lambda: pad(padding_value_data_type=T.INT32), "PADDING1: padding_value_data_type is INT32"),
    (lambda: blocks(window_sizes=(2, 9)), r"UNFOLD: window_sizes\[1\] is 9"),
    (lambda: blocks(strides=(0, 1)), r"UNFOLD: strides\[0\] is 0"),
    (lambda: blocks(dilations=(1,)), "UNFOLD: dilations has 1 entries; window_sizes has 2"),
    (lambda: blocks(output_tensor=f32(1, 8, 15)), "UNFOLD: output_tensor has sizes"),
    (lambda: blocks(input_tensor=f32(2, 1, 2, 5, 5)), "UNFOLD: input_tensor has sizes"),
    (lambda: blocks(input_tensor=f32(2, 5, 5)), "UNFOLD: input_tensor has 3 dimensions"),
    (lambda: grad(input_window_strides=(0,)), r"SLICE_GRAD: input_window_strides\[0\] is 0"),
    (lambda: grad(input_window_sizes=(0,)), r"SLICE_GRAD: input_window_sizes\[0\] is 0"),
    (lambda: grad(input_window_sizes=(9,)), r"SLICE_GRAD: input_window_offsets\[0\] 1 plus"),
    (lambda: grad(input_gradient_tensor=f32(3)), "SLICE_GRAD: input_gradient_tensor has 3"),
    (
        lambda: dml.DepthToSpaceDesc(
            input_tensor=f32(1, 6, 2, 2), output_tensor=f32(1, 1, 4, 4), block_size=2
        ),
        "DEPTH_TO_SPACE: input_tensor has 6 channels",
    ),
    (
        lambda: dml.SpaceToDepthDesc(
            input_tensor=f32(1, 1, 3, 4), output_tensor=f32(1, 4, 1, 2), block_size=2
        ),
        "SPACE_TO_DEPTH: input_tensor has 3 by 4 pixels",
    ),
    (
        lambda: dml.SpaceToDepthDesc(
            input_tensor=f32(1, 1, 4, 4), output_tensor=f32(1, 4, 2, 2), block_size=0
        ),
        "SPACE_TO_DEPTH: block_size is 0",
    ),
    (
        lambda: dml.ReverseSubsequencesDesc(
            input_tensor=f32(3, 4),
            sequence_lengths_tensor=dml.TensorDesc(T.UINT32, (3, 4)),
            output_tensor=f32(3, 4),
            axis=1,
        ),
        r"REVERSE_SUBSEQUENCES: sequence_lengths_tensor has sizes \(3, 4\)",
    ),
    (
        lambda: dml.FillValueConstantDesc(output_tensor=f32(3), value_data_type=T.INT32, value=1),
        "FILL_VALUE_CONSTANT: value_data_type is INT32",
    ),
    *(
        (
            lambda t=t, value=value: dml.FillValueConstantDesc(
                output_tensor=dml.TensorDesc(t, (3,)), value_data_type=t, value=value
            ),
            rf"FILL_VALUE_CONSTANT: value is .*; value_data_type is {t.name}, and .* must be",
        )
        for t, value in (
            *((T.UINT8, -1), (T.UINT8, 256), (T.UINT8, 2.0), (T.INT64, 2**63), (T.INT8, -129)),
            *((T.INT32, float("nan")), (T.UINT64, -1), (T.FLOAT32, 10**400)),
        )
    ),
    (
        lambda: dml.FillValueSequenceDesc(
            output_tensor=dml.TensorDesc(T.UINT8, (3,)),
            value_data_type=T.UINT8,
            value_start=-1,
            value_delta=-2,
        ),
        r"FILL_VALUE_SEQUENCE: value_start is -1; .* must be in \[0, 255\]",
    ),
    (
        lambda: dml.Padding1Desc(
            input_tensor=dml.TensorDesc(T.UINT8, (3,)),
            output_tensor=dml.TensorDesc(T.UINT8, (4,)),
            padding_mode=0,
            padding_value_data_type=T.UINT8,
            padding_value=-1,
            start_padding=(1,),
            end_padding=(0,),
        ),
        r"PADDING1: padding_value is -1; .* must be in \[0, 255\]",
    ),
    (
        lambda: dml.ElementWiseClip1Desc(
            input_tensor=dml.TensorDesc(T.INT8, (3,)),
            output_tensor=dml.TensorDesc(T.INT8, (3,)),
            min_max_data_type=T.INT8,
            min=-128,
            max=0.5,
        ),
        "ELEMENT_WISE_CLIP1: max is 0.5; min_max_data_type is INT8, and .* must be an integer",
    ),
    (
        lambda: dml.ElementWiseClipGrad1Desc(
            input_tensor=dml.TensorDesc(T.INT8, (3,)),
            input_gradient_tensor=dml.TensorDesc(T.INT8, (3,)),
            output_gradient_tensor=dml.TensorDesc(T.INT8, (3,)),
            min_max_data_type=T.INT8,
            min=-128,
            max=128,
        ),
        r"ELEMENT_WISE_CLIP_GRAD1: max is 128; .* must be in \[-128, 127\]",
    ),
    (
        lambda: dml.Upsample2dDesc(
            input_tensor=f32(1, 1, 2, 2),
            output_tensor=f32(1, 1, 2, 4),
            scale_size=(2, 0),
            interpolation_mode=0,
        ),
        "UPSAMPLE_2D: scale_size is 2 by 0",
    ),
    (
        lambda: dml.DiagonalMatrix1Desc(
            input_tensor=f32(2, 3),
            output_tensor=f32(2, 2),
            value_data_type=T.FLOAT32,
            value=1,
            diagonal_fill_begin=0,
            diagonal_fill_end=1,
        ),
        r"DIAGONAL_MATRIX1: output_tensor has sizes \(2, 2\)",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=[words[:50] for _, words in REFUSED])
def test_refusals(make: Callable[[], Any], words: str) -> None:
    desc = make()
    with pytest.raises(Invalid, match=words):
        dml.validate(desc)


@pytest.mark.parametrize(
    ("mode", "level"), [("SYMMETRIC", L.FL_2_1), ("WRAP", L.FL_6_3), ("WRAP", L.FL_3_1)]
)
def test_padding_modes_that_came_later(mode: str, level: L) -> None:
    sizes = (1, 1, 1, 3)
    desc = dml.PaddingDesc(
        input_tensor=f32(*sizes),
        output_tensor=f32(*sizes),
        padding_mode=dml.PaddingMode[mode],
        padding_value=0,
        start_padding=(0,) * 4,
        end_padding=(0,) * 4,
    )
    dml.validate(desc)
    with pytest.raises(dml.UnsupportedError, match=f"PADDING: padding_mode is {mode}, allowed"):
        dml.validate(desc, level)


@pytest.mark.parametrize(
    ("desc", "given", "word"),
    [
        ("SplitDesc", {"input_tensor": f32(4), "axis": 0}, "SPLIT: output_sizes is missing"),
        ("SplitDesc", {"input_tensor": f32(4)}, "SPLIT: axis is missing"),
        ("JoinDesc", {"input_tensors": [f32(4)]}, "JOIN: axis is missing"),
        ("TileDesc", {"input_tensor": f32(4)}, "TILE: repeats is missing"),
        ("FillValueConstantDesc", {"value": 1}, "value_data_type is missing"),
        ("FoldDesc", {"input_tensor": f32(1, 4, 4)}, "FOLD: output_sizes is missing"),
        ("UnfoldDesc", {"input_tensor": f32(1, 4, 4)}, "UNFOLD: window_sizes is missing"),
    ],
)
def test_what_inference_misses(desc: str, given: dict[str, Any], word: str) -> None:
    with pytest.raises(Invalid, match=word):
        dml.infer(getattr(dml, desc), **given)
