"""Every scan kernel against NumPy, whichever of them this adapter would choose by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu import scan
from dmlgpu.operator import Adapter

pytestmark = pytest.mark.gpu

TYPES = ("float32", "float16", "uint16", "int32", "uint64")

# kernel: shapes and axes it can take; sizes straddle tiles, rounds and workgroups
CASES = {
    "walk": [((3, 5000), 1), ((7, 300, 3), 1)],
    "rows": [((5, 64), 1), ((2, 9000), 1), ((2, 777), 1)],
    "groups": [((3, 4096), 1), ((2, 9000), 1), ((2, 777), 1), ((3, 1001, 2), 1), ((2, 70_001), 1)],
    "lanes": [((1000, 16), 1), ((640, 8), 1), ((333, 3), 1), ((132, 2), 1), ((70, 11, 5), 1)],
    "columns": [((70, 64), 0), ((3, 37, 160), 1), ((1, 9, 8), 1)],
    "columns_chain": [((1500, 64), 0), ((2, 1100, 72), 1), ((513, 264), 0)],
}


@pytest.fixture(scope="module")
def opened() -> Iterator[dml.Device]:
    with dml.Device() as device:
        yield device


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(7)
    if dtype.startswith("float"):
        return rng.integers(-3, 4, shape).astype(dtype)  # sums stay exact
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def reference(x: np.ndarray, axis: int, backward: bool, exclusive: bool) -> np.ndarray:
    y = np.flip(x, axis) if backward else x
    exact = np.cumsum(y, axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)
    if exclusive:
        exact = exact - y if x.dtype.kind == "f" else (exact - y).astype(x.dtype)
    result = np.flip(exact, axis) if backward else exact
    return result.astype(x.dtype)


def usable(kernel: str, device: dml.Device) -> bool:
    """Single-pass kernels wait for other workgroups, which only some adapters keep running."""
    facts = device.gpu.facts
    if kernel.endswith("chain"):
        return facts.keeps_running and facts.subgroup_min >= scan.CHAIN_LANES
    return kernel not in ("rows", "lanes", "groups") or facts.subgroup_min >= 4


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("kernel", "shape", "axis"),
    [(kernel, *case) for kernel, cases in CASES.items() for case in cases],
    ids=str,
)
def test_kernel_agrees_with_numpy(
    kernel: str,
    shape: tuple[int, ...],
    axis: int,
    dtype: str,
    opened: dml.Device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not usable(kernel, opened):
        pytest.skip(f"{opened.adapter.name} cannot run {kernel}")
    x = values(dtype, shape)
    data_type = dml.DataType.from_numpy(dtype)
    tensor = dml.TensorDesc(data_type, shape)
    for backward, exclusive in ((False, False), (True, False), (False, True), (True, True)):
        desc = dml.CumulativeSummationDesc(
            input_tensor=tensor,
            output_tensor=tensor,
            axis=axis,
            axis_direction=int(backward),
            has_exclusive_sum=exclusive,
        )
        problem = scan.Scan.of(
            fold="sum",
            data_type=data_type,
            sizes=shape,
            in_strides=tensor.effective_strides,
            out_strides=tensor.effective_strides,
            axis=axis,
            backward=backward,
            exclusive=exclusive,
        )
        facts = opened.gpu.facts
        if kernel == "lanes" and problem.axis_units > facts.subgroup_min:
            continue
        if kernel.startswith("columns") and not scan.fits_columns(problem):
            continue
        monkeypatch.setattr(scan, "choose", lambda *_: kernel)
        opened._compiled.clear()
        op = opened.compile(desc)
        assert kernel in op.plan.dispatches[-1].shader.replace("cumulative", "walk_")
        expected = reference(x, axis, backward, exclusive)
        given = opened.tensor(x)
        first = op(given).numpy()
        np.testing.assert_array_equal(first, expected)
        assert op(given, out=given) is given  # in place, and the same bits again
        np.testing.assert_array_equal(given.numpy(), expected)


def chosen(
    shape: tuple[int, ...], axis: int, adapter: Adapter, dtype: dml.DataType = dml.DataType.FLOAT32
) -> str:
    strides = dml.TensorDesc(dtype, shape).effective_strides
    problem = scan.Scan.of(
        fold="sum",
        data_type=dtype,
        sizes=shape,
        in_strides=strides,
        out_strides=strides,
        axis=axis,
        backward=False,
        exclusive=False,
    )
    return scan.choose(problem, adapter)


GPU = Adapter(subgroup_min=32, subgroup_max=32, keeps_running=True, max_workgroup_storage=49152)


@pytest.mark.parametrize(
    ("shape", "axis", "kernel"),
    [
        ((65536, 4096), 1, "groups"),
        ((65536, 4096), 0, "columns_chain"),
        ((64, 1024, 4096), 1, "columns"),
        ((1 << 22, 64), 1, "lanes"),
        ((1 << 28,), 0, "groups"),
        ((100,), 0, "lanes"),
        ((1000,), 0, "rows"),
    ],
)
def test_a_gpu_chooses(shape: tuple[int, ...], axis: int, kernel: str) -> None:
    assert chosen(shape, axis, GPU) == kernel


def test_without_subgroups_or_progress_long_lines_are_walked() -> None:
    assert chosen((1 << 28,), 0, Adapter()) == "walk"
    assert chosen((65536, 4096), 0, replace(GPU, keeps_running=False)) == "walk"


def test_a_cpu_chooses_long_private_runs() -> None:
    cpu = Adapter(is_cpu=True, subgroup_min=8, subgroup_max=8)
    assert chosen((4096, 4096), 0, cpu) == "columns"
    assert chosen((4096, 4096), 1, cpu) == "walk"
