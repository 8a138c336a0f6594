"""Small tensors on GPUs: a few kernels serve all shapes, since to compile one takes longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu
from support.plans import ADAPTERS, plan

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.plan.dispatch import SMALL

Sizes = tuple[int, int, int]


def transposed(data_type: T, sizes: Sizes) -> Any:
    across = TensorDesc(data_type, sizes, (1, sizes[0] * sizes[2], sizes[0]))
    made = TensorDesc(data_type, sizes)
    return dml.ElementWiseIdentityDesc(input_tensor=across, output_tensor=made)


def added(data_type: T, sizes: Sizes) -> Any:
    across = TensorDesc(data_type, sizes, (1, sizes[0], sizes[0] * sizes[1]))
    made = TensorDesc(data_type, sizes)
    return dml.ElementWiseAddDesc(a_tensor=made, b_tensor=across, output_tensor=made)


def stepped(data_type: T, sizes: Sizes) -> Any:
    return dml.Slice1Desc(
        input_tensor=TensorDesc(data_type, sizes),
        output_tensor=TensorDesc(data_type, [-(-n // 2) for n in sizes]),
        input_window_offsets=(0, 0, 0),
        input_window_sizes=sizes,
        input_window_strides=(2, 2, 2),
    )


def reduced(*axes: int) -> Callable[[T, Sizes], Any]:
    def desc(data_type: T, sizes: Sizes) -> Any:
        return dml.ReduceDesc(
            function=dml.ReduceFunction.SUM,
            input_tensor=TensorDesc(data_type, sizes),
            output_tensor=TensorDesc(
                data_type, [1 if d in axes else n for d, n in enumerate(sizes)]
            ),
            axes=axes,
        )

    return desc


@pytest.mark.parametrize("data_type", [T.FLOAT32, T.FLOAT16])
@pytest.mark.parametrize(
    ("desc", "few"),
    [
        *((transposed, 16), (added, 16), (stepped, 32)),
        *((reduced(0), 40), (reduced(1), 40), (reduced(0, 1), 60)),
    ],
    ids=["transposed", "added", "stepped", "first axis", "middle axis", "both"],
)
def test_a_few_kernels_serve_all_shapes(
    desc: Callable[[T, Sizes], Any], few: int, data_type: T
) -> None:
    rng = np.random.default_rng(11)
    given = [desc(data_type, tuple(rng.integers(2, 36, 3).tolist())) for _ in range(300)]

    assert kernels(given, SMALL) <= few < kernels(given, 0)


@pytest.mark.parametrize(("axis", "few"), [(0, 40), (1, 45)])
def test_large_sums_share_kernels_too(axis: int, few: int) -> None:
    """To compile one takes tens of milliseconds; 500 shapes had 133 and 52 before."""
    rng = np.random.default_rng(13)
    sizes = [(*rng.integers(300, 4000, 2).tolist(), 1) for _ in range(500)]
    assert kernels([reduced(axis)(T.FLOAT32, one) for one in sizes], SMALL) <= few


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("data_type", [T.FLOAT32, T.UINT32])
def test_sums_on_software_adapters_share_kernels_too(axis: int, data_type: T) -> None:
    """One takes lavapipe 20 ms; almost each of these shapes had its own before."""
    rng = np.random.default_rng(14)
    shapes = [tuple(rng.integers(2, 400, 2).tolist()) for _ in range(200)]
    given = [reduced(axis)(data_type, (*shape, 3)) for shape in shapes]
    assert kernels(given, 0, "software") <= 80


def kernels(given: list[Any], shaped_from: int, adapter: str = "discrete") -> int:
    """How many kernels an adapter needs for so many descriptions."""
    facts = replace(ADAPTERS[adapter], shaped_from=shaped_from)
    found = [d for one in given for d in plan(one, facts).dispatches]
    return len({(d.shader, *map(repr, (d.slots, d.constants, d.code))) for d in found})


@pytest.fixture(scope="module")
def gpu(device: dml.Device) -> Iterator[dml.Device]:
    if "SwiftShader" in device.adapter.name:
        pytest.skip("SwiftShader takes all memory to compile these kernels, and uses none of them")
    with as_gpu(device) as made:
        made.context.facts = replace(made.context.facts, shaped_from=SMALL)
        yield made


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64"])
@pytest.mark.parametrize("sizes", [(37,), (3, 5), (31, 18), (2, 3, 7), (1, 40, 9), (6, 25, 4, 5)])
def test_results_are_right(gpu: dml.Device, dtype: str, sizes: tuple[int, ...]) -> None:
    """Whole numbers, so that no order of additions matters."""
    a = np.random.default_rng(12).integers(0, 4, sizes).astype(dtype)
    x = gpu.tensor(a)
    np.testing.assert_array_equal(x.T.copy().numpy(), a.T)
    np.testing.assert_array_equal((x.T + gpu.tensor(a.T.copy())).numpy(), a.T + a.T)
    wide = np.dtype("uint32" if dtype == "uint8" else dtype)
    for axis in (None, *range(len(sizes))):
        total = dnp.sum(x, axis=axis, dtype=wide).numpy()
        np.testing.assert_array_equal(total, a.astype(np.float64).sum(axis).astype(wide))
        np.testing.assert_array_equal(dnp.argmax(x, axis=axis).numpy(), a.argmax(axis))
        np.testing.assert_array_equal(dnp.any(x, axis=axis).numpy(), a.any(axis))
