"""Large tensors: more than an adapter binds at once, and more than it can hold.

HYPOTHESIS_PROFILE=long takes 1.5 GiB and needs about 6 GiB of memory; otherwise the tensor is just
larger than a binding of 128 MiB. Peak memory is printed; `pytest -rP` shows it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
ROWS, COLUMNS = (3 << 15 if LONG else 9000), 4096  # float32: 1.5 GiB, or 141 MiB
Array = np.ndarray[Any, Any]


def peak_gib() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most) / (1 << 30 if sys.platform == "darwin" else 1 << 20)


class Large:
    """A large tensor whose elements say where they are, and the same on the host."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.host = np.empty((ROWS, COLUMNS), np.float32)
        steps = np.arange(COLUMNS, dtype=np.int64)
        for row in range(ROWS):
            self.host[row] = (steps * 7 + row * 13) % 1021 - 510
        self.tensor = device.tensor(self.host)

    def check(self, what: str, made: dml.Tensor, expected: Callable[[slice], Array]) -> None:
        """Compares some rows at a time: two whole copies would be as much again."""
        got = made.numpy()
        step = max(1, (1 << 24) // int(np.prod(got.shape[1:])))
        for first in range(0, len(got), step):
            rows = slice(first, min(first + step, len(got)))
            np.testing.assert_array_equal(got[rows], expected(rows))
        gib = self.tensor.nbytes / (1 << 30)
        print(f"{what} of {gib:.2f} GiB: right; peak memory {peak_gib():.2f} GiB")


@pytest.fixture(scope="module")
def large(device: dml.Device) -> Iterator[Large]:
    with dml.Device(device.adapter) as made:
        yield Large(made)


@pytest.mark.gpu
def test_a_large_tensor_is_sliced(large: Large) -> None:
    x = large.host[1:, 3:]
    large.check("a slice", large.tensor[1:, 3:], lambda rows: x[rows])


@pytest.mark.gpu
def test_a_large_tensor_is_reversed(large: Large) -> None:
    x = large.host[::-1, ::-1]
    large.check("the reverse", large.tensor[::-1, ::-1], lambda rows: x[rows])


@pytest.mark.gpu
def test_rows_of_a_large_tensor_are_gathered(large: Large) -> None:
    index = np.random.default_rng(1).integers(-ROWS, ROWS, (ROWS // 2, 1))
    made = dml.gather_nd(large.tensor, index)
    large.check("rows gathered", made, lambda rows: large.host[index[rows, 0]])


@pytest.mark.gpu
def test_elements_of_a_large_tensor_are_gathered(large: Large) -> None:
    rng = np.random.default_rng(2)
    index = np.stack([rng.integers(0, ROWS, 1 << 20), rng.integers(0, COLUMNS, 1 << 20)], -1)
    made = dml.gather_nd(large.tensor, index.astype(np.uint32))
    large.check("elements gathered", made, lambda rows: large.host[tuple(index[rows].T)])


@pytest.mark.gpu
def test_a_large_tensor_is_summed_along_its_rows(large: Large) -> None:
    made = dml.cumulative_summation(large.tensor, 1)
    large.check("sums of rows", made, lambda rows: large.host[rows].cumsum(1))


@pytest.mark.gpu
def test_a_large_tensor_is_summed_across_its_rows(large: Large) -> None:
    """A column at a time, so that the host needs no second tensor; few columns are enough."""
    made = dml.cumulative_summation(large.tensor, 0)[:, 1000:1010]
    expected = large.host[:, 1000:1010].astype(np.float64).cumsum(0).astype(np.float32)
    large.check("sums of columns", made, lambda rows: expected[rows])


@pytest.mark.gpu
def test_one_large_line_is_summed_in_place(large: Large) -> None:
    line = large.device.tensor(np.ones(ROWS * COLUMNS, np.int32))
    desc = dml.CumulativeSummationDesc(input_tensor=line.desc, output_tensor=line.desc, axis=0)
    made = large.device.compile(desc)(line, out=line)
    large.check("a line", made, lambda rows: np.arange(rows.start, rows.stop) + 1)


@pytest.mark.gpu
def test_more_than_the_adapter_holds_is_refused_and_nothing_is_lost(device: dml.Device) -> None:
    kept = device.tensor(np.arange(5))
    held = device.memory.in_use
    most = device.context.gpu.max_buffer
    rows = min(most // 4096 + 1, (1 << 32) // 1024 - 1)
    with pytest.raises((dml.OutOfMemoryError, dml.DeviceError), match=rf"\b{most}\b") as caught:
        device.empty(TensorDesc(T.INT64, (rows, 512)))
    assert str(rows * 4096) in str(caught.value)
    assert device.memory.in_use == held
    np.testing.assert_array_equal(dml.cumulative_summation(kept, 0), [0, 1, 3, 6, 10])


@pytest.mark.gpu
def test_the_largest_buffer_can_be_had(device: dml.Device) -> None:
    """Sizes are rounded up for reuse, but not beyond what the adapter makes."""
    most = min(device.context.gpu.max_buffer // 16 * 16, 4 * ((1 << 32) - 1) // 16 * 16)
    with dml.Device(device.adapter) as other:
        try:
            tensor = other.empty(TensorDesc(T.UINT32, (most // 4,)))
        except dml.OutOfMemoryError:
            pytest.skip("this adapter holds less than it says")
        assert tensor.buffer.size == most
        tail = tensor.view(TensorDesc(T.UINT32, (4,)))
        np.testing.assert_array_equal(dml.cumulative_product(tail, 0).shape, (4,))


def test_more_elements_than_32_bits_count_are_refused() -> None:
    with pytest.raises(dml.InvalidDescError, match=r"4294967296 elements.*4294967295"):
        TensorDesc(T.UINT8, (1 << 16, 1 << 16))
    assert TensorDesc(T.UINT8, (65537, 65535)).element_count == (1 << 32) - 1


@pytest.mark.gpu
def test_more_elements_for_one_result_than_32_bits_count(device: dml.Device) -> None:
    x = device.tensor(np.ones((1, 1), np.float32)).broadcast_to(1 << 16, 1 << 16)
    for use in (lambda: x.sum(), lambda: x.argmax(), lambda: x.var()):
        with pytest.raises(dml.UnsupportedError, match="4294967296 elements cannot be reduced"):
            use()
