"""What demo and bench run: an operator at work, and NumPy's way to the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import dmlgpu as dml
from dmlgpu.cli.output import print_text
from dmlgpu.functions import slice as slice_

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One row: what is done, to what, on the GPU and with NumPy."""

    operator: str
    task: str
    inputs: tuple[Array, ...]
    gpu: Callable[..., dml.Tensor]
    numpy: Callable[..., Array]
    # The error allowed where floats are added or multiplied in another order: steps of the scan.
    steps: int = 0


def verdict(case: Case, found: Array) -> tuple[bool, str]:
    """Whether the result is NumPy's, and in words; sums and products are held against FLOAT64."""
    if not case.steps:
        expected = case.numpy(*case.inputs)
        same = found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        return same, "equal" if same else "DIFFERS"
    exact = case.numpy(*(x.astype(np.float64) for x in case.inputs))
    if found.shape != exact.shape:
        return False, "DIFFERS"
    error = float(np.max(np.abs(found / exact - 1)))
    same = error <= case.steps * float(np.finfo(found.dtype).eps)
    return same, f"within {error:.0e}" if same else f"DIFFERS by {error:.0e}"


def print_why_numpy_is_faster(adapter: dml.AdapterInfo) -> None:
    """A word to those who wonder at the times of a software adapter."""
    if adapter.kind == "cpu":
        print_text(
            "This adapter is software: it runs shaders on the processor's cores, where NumPy's own "
            "loops are often faster. On a GPU it is the other way round for large arrays."
        )


def demo_cases() -> list[Case]:
    """Operators of each kind on arrays of the kinds they are used for."""
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[0:1024, 0:1024]
    rings = np.hypot(rows - 512, columns - 512) // 8 % 2
    image = np.stack([rings * 255, rows // 4, columns // 4]).astype(np.uint8)
    light = rng.random((1024, 1024), np.float32)
    words = rng.standard_normal((32768, 64)).astype(np.float16)
    tokens = rng.integers(0, len(words), (8192, 1))
    boxes = rng.random((8, 4096, 4), np.float32)
    best = rng.integers(-4096, 4096, (8, 1000, 1), np.int32)
    growth = rng.normal(1.0004, 0.01, (4096, 252)).astype(np.float32)
    return [
        Case(
            "SLICE",
            "every 2nd pixel",
            (image,),
            lambda x: slice_(x, (0, 0, 0), (3, 512, 512), (1, 2, 2)),
            lambda x: x[:, ::2, ::2].copy(),
        ),
        Case(
            "SLICE1",
            "an image, mirrored",
            (image,),
            lambda x: dml.slice1(x, (0, 0, 0), x.shape, (1, 1, -1)),
            lambda x: x[:, :, ::-1].copy(),
        ),
        Case(
            "GATHER_ND",
            "rows of an embedding",
            (words, tokens),
            dml.gather_nd,
            lambda x, i: x[i[:, 0]],
        ),
        Case(
            "GATHER_ND1",
            "boxes of each image",
            (boxes, best),
            lambda x, i: dml.gather_nd1(x, i, batch_dimension_count=1),
            lambda x, i: x[np.arange(len(x))[:, None], i[..., 0]],
        ),
        Case(
            "CUMULATIVE_SUMMATION",
            "light, down each column",
            (light,),
            lambda x: dml.cumulative_summation(x, 0),
            lambda x: np.cumsum(x, 0),
            steps=1024,
        ),
        Case(
            "CUMULATIVE_PRODUCT",
            "growth over 252 days",
            (growth,),
            lambda x: dml.cumulative_product(x, -1),
            lambda x: np.cumprod(x, -1),
            steps=252,
        ),
        Case(
            "CAST",
            "pixels as numbers",
            (image,),
            lambda x: dml.cast(x, np.float32),
            lambda x: x.astype(np.float32),
        ),
        Case(
            "ELEMENT_WISE_MULTIPLY",
            "a factor for each row",
            (light, light[:, :1].copy()),
            dml.element_wise_multiply,
            lambda x, y: x * y,
        ),
        Case(
            "REDUCE",
            "the mean of each row",
            (light,),
            lambda x: dml.reduce(x, dml.ReduceFunction.AVERAGE, (1,)),
            lambda x: np.mean(x, 1, keepdims=True),
            steps=1024,
        ),
        Case(
            "ARGMAX",
            "the brightest column",
            (light,),
            lambda x: dml.argmax(x, (1,)),
            lambda x: np.argmax(x, 1, keepdims=True).astype(np.uint32),
        ),
        Case(
            "ACTIVATION_SOFTMAX1",
            "chances of 252 classes",
            (growth,),
            lambda x: dml.activation_softmax1(x, (1,)),
            lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
            steps=252,
        ),
    ]


def _scan(task: str, x: Array, axis: int) -> Case:
    return Case(
        "CUMULATIVE_SUMMATION",
        task,
        (x,),
        lambda x: dml.cumulative_summation(x, axis),
        lambda x: np.cumsum(x, axis),
    )


def bench_cases(nbytes: int) -> list[Case]:
    """Common calls on FLOAT32 arrays of about `nbytes` each, all of them bound by memory.

    The values are small integers whose running sums stay small: exact, whatever their order.
    """
    rng = np.random.default_rng(2)
    rows = nbytes // 4096
    table = rng.integers(-8, 9, (rows, 1024)).astype(np.float32)
    narrow, line = table.reshape(-1, 64), table.reshape(-1)
    other = np.roll(line, 3).reshape(table.shape)
    order = rng.permutation(rows).astype(np.int32)[:, None]
    return [
        Case(
            "SLICE",
            "every 2nd element",
            (table,),
            lambda x: slice_(x, (0, 0), (rows, 512), (1, 2)),
            lambda x: x[:, ::2].copy(),
        ),
        Case(
            "SLICE1",
            "a window of each row",
            (table,),
            lambda x: dml.slice1(x, (1, 2), (rows - 1, 1020), (1, 1)),
            lambda x: x[1:, 2:1022].copy(),
        ),
        Case(
            "SLICE1",
            "rows reversed",
            (table,),
            lambda x: dml.slice1(x, (0, 0), x.shape, (1, -1)),
            lambda x: x[:, ::-1].copy(),
        ),
        Case(
            "GATHER_ND",
            "rows of 1024, shuffled",
            (table, order),
            dml.gather_nd,
            lambda x, i: x[i[:, 0]],
        ),
        _scan("along rows of 1024", table, 1),
        _scan("along rows of 64", narrow, 1),
        _scan("down the columns", table, 0),
        _scan("one long line", line, 0),
        Case(
            "ELEMENT_WISE_ADD",
            "two tables",
            (table, other),
            dml.element_wise_add,
            lambda x, y: x + y,
        ),
        Case(
            "ELEMENT_WISE_ADD",
            "a row to every row",
            (table, other[0]),
            dml.element_wise_add,
            lambda x, y: x + y,
        ),
        Case(
            "ELEMENT_WISE_ABS",
            "of a transposed table",
            (table,),
            lambda x: dml.element_wise_abs(x.T),
            lambda x: np.ascontiguousarray(np.abs(x.T)),
        ),
        Case(
            "REDUCE",
            "the sum of each row",
            (table,),
            lambda x: dml.reduce(x, dml.ReduceFunction.SUM, (1,)),
            lambda x: np.sum(x, 1, keepdims=True),
        ),
        Case(
            "REDUCE",
            "the largest of each column",
            (table,),
            lambda x: dml.reduce(x, dml.ReduceFunction.MAX, (0,)),
            lambda x: np.max(x, 0, keepdims=True),
        ),
        Case(
            "ACTIVATION_RELU",
            "negative ones to zero",
            (table,),
            dml.activation_relu,
            lambda x: np.maximum(x, 0),
        ),
        Case(
            "JOIN",
            "two tables side by side",
            (table, other),
            lambda x, y: dml.join([x, y], 1),
            lambda x, y: np.concatenate([x, y], 1),
        ),
    ]
