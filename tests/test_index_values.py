"""Index values that the description cannot know: clamped, judged whole, or reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import oracle
from support.tables import IDX4

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc

X = np.array([10, 11, 12, 13, 14], np.float32)

# Each value with the element it must read from X on the GPU.
VALUES: dict[T, dict[int, int]] = {
    T.UINT32: {0: 10, 4: 14, 5: 14, 2**31: 14, 2**32 - 1: 14, 2**32 - 5: 14},
    T.INT32: {0: 10, 4: 14, 5: 14, -1: 14, -5: 10, -6: 10, 2**31 - 1: 14, -(2**31): 10},
    T.UINT64: {
        4: 14,
        5: 14,
        2**32: 14,  # the low word alone would be 0
        2**32 + 2: 14,
        2**63: 14,
        2**63 + 1: 14,
        2**64 - 1: 14,  # not -1: an unsigned value is never negative
        2**64 - 5: 14,
    },
    T.INT64: {
        4: 14,
        -1: 14,
        -2: 13,
        -5: 10,
        -6: 10,
        2**31: 14,
        2**32: 14,
        2**32 + 1: 14,
        2**32 - 1: 14,  # the low word alone would be -1
        -(2**32): 10,  # the low word alone would be 0
        -(2**32) + 3: 10,
        -(2**31): 10,
        2**63 - 1: 14,
        -(2**63): 10,
        -(2**63) + 2: 10,
    },
}
CASES = [(t, value) for t, values in VALUES.items() for value in values]


@pytest.fixture(scope="module", params=["trusted", "checked"])
def device(device: dml.Device, request: pytest.FixtureRequest) -> Iterator[dml.Device]:
    """Kernels without wgpu's checks of indices, and with them."""
    with dml.Device(device.adapter) as made:
        made.context.gpu.checked = request.param == "checked"
        yield made


def desc_for(index_type: T, tuples: int, width: int = 1) -> dml.GatherNdDesc:
    sizes = (5,) * width if width > 1 else (5, 1)
    return dml.GatherNdDesc(
        input_tensor=TensorDesc(T.FLOAT32, sizes),
        indices_tensor=TensorDesc(index_type, (tuples, width)),
        output_tensor=TensorDesc(T.FLOAT32, (tuples, 1) if width == 1 else (1, tuples)),
        input_dimension_count=2,
        indices_dimension_count=2,
    )


def in_range(value: int) -> bool:
    return -5 <= value < 5


def test_every_index_type_is_covered() -> None:
    assert VALUES.keys() == IDX4
    for values in VALUES.values():
        for value, element in values.items():
            assert X[oracle.coordinate(value, 5)] == element


@pytest.mark.gpu
@pytest.mark.parametrize("index_type", VALUES, ids=lambda t: t.name)
def test_values_on_the_gpu_are_clamped(device: dml.Device, index_type: T) -> None:
    values = VALUES[index_type]
    indices = np.array(list(values), oracle.NUMPY_TYPES[index_type]).reshape(-1, 1)
    op = device.compile(desc_for(index_type, len(values)))
    out = op(device.tensor(X.reshape(5, 1)), device.tensor(indices)).numpy()
    assert out.ravel().tolist() == list(values.values())
    again = dml.gather_nd(device.tensor(X), device.tensor(indices)).numpy()
    assert again.tolist() == list(values.values())


@pytest.mark.gpu
@pytest.mark.parametrize("index_type", VALUES, ids=lambda t: t.name)
def test_each_coordinate_is_clamped_on_its_own(device: dml.Device, index_type: T) -> None:
    x = np.arange(25, dtype=np.float32).reshape(5, 5)
    dtype = oracle.NUMPY_TYPES[index_type]
    values = np.array(list(VALUES[index_type]), dtype)
    indices = np.stack(np.meshgrid(values, values, indexing="ij"), -1).reshape(-1, 2)
    out = device.compile(desc_for(index_type, len(indices), 2))(
        device.tensor(x), device.tensor(indices)
    )
    expected = oracle.gather_nd(x, indices, 2, 2)
    assert out.numpy().tolist() == expected.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize(("index_type", "value"), CASES, ids=str)
def test_numpy_indices_are_checked(device: dml.Device, index_type: T, value: int) -> None:
    indices = np.array([[0], [0], [value], [0]], oracle.NUMPY_TYPES[index_type])
    op = device.compile(desc_for(index_type, 4))
    x = device.tensor(X.reshape(5, 1))
    calls: list[Any] = [
        lambda: dml.gather_nd(x, indices),
        lambda: dml.gather_nd1(x, indices),
        lambda: op(x, indices),
    ]
    for call in calls:
        if in_range(value):
            assert call().numpy().ravel()[2] == VALUES[index_type][value]
        else:
            with pytest.raises(dml.IndexRangeError, match=rf"^GATHER_ND1?\b.*\b2\b.*{value}\b"):
                call()


@pytest.mark.gpu
def test_the_first_bad_numpy_index_is_named(device: dml.Device) -> None:
    indices = np.zeros((4, 6, 2), np.int64)
    indices[2, 3, 1] = 77
    indices[3, 0, 0] = -99
    with pytest.raises(dml.IndexRangeError, match=r"2\D{1,3}3\D{1,3}1\D.*\b77\b"):
        dml.gather_nd(device.tensor(np.zeros((5, 5), np.float32)), indices)


@pytest.fixture(scope="module")
def debug_device(device: dml.Device) -> Iterator[dml.Device]:
    with dml.Device(debug=True) as made:
        yield made


@pytest.mark.gpu
@pytest.mark.parametrize(("index_type", "value"), CASES, ids=str)
def test_debug_devices_check_values_on_the_gpu(
    debug_device: dml.Device, index_type: T, value: int
) -> None:
    indices = np.array([[0], [0], [value], [0]], oracle.NUMPY_TYPES[index_type])
    x, i = debug_device.tensor(X.reshape(5, 1)), debug_device.tensor(indices)
    op = debug_device.compile(desc_for(index_type, 4))
    if in_range(value):
        assert op(x, i).numpy().ravel()[2] == VALUES[index_type][value]
    else:
        with pytest.raises(dml.IndexRangeError, match=rf"^GATHER_ND\b.*2\D{{1,3}}0\D.*{value}\b"):
            op(x, i).numpy()


@pytest.mark.gpu
def test_debug_names_the_first_bad_position(debug_device: dml.Device) -> None:
    indices = np.zeros((4, 6, 2), np.int64)
    indices[2, 3, 1] = 77
    indices[3, 0, 0] = -99
    x = debug_device.tensor(np.zeros((5, 5), np.float32))
    with pytest.raises(dml.IndexRangeError, match=r"2\D{1,3}3\D{1,3}1\D.*\b77\b"):
        dml.gather_nd(x, debug_device.tensor(indices)).numpy()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_debug_names_the_first_of_many(debug_device: dml.Device, dtype: Any) -> None:
    indices = np.zeros((50_000, 2), dtype)
    indices[12_345, 1] = 77
    indices[12_346:] = 10**9
    x = debug_device.tensor(np.zeros((5, 5), np.float32))
    with pytest.raises(dml.IndexRangeError, match=r"12345\D{1,3}1\D.*\b77\b"):
        dml.gather_nd(x, debug_device.tensor(indices)).numpy()


@pytest.mark.gpu
def test_a_debug_device_goes_on_after_an_error(debug_device: dml.Device) -> None:
    x = debug_device.tensor(X)
    bad, good = (debug_device.tensor(np.array([[v]], np.int32)) for v in (9, 3))
    with pytest.raises(dml.IndexRangeError, match=r"\b9\b"):
        dml.gather_nd(x, bad).numpy()
    assert dml.gather_nd(x, good).numpy().tolist() == [13]


@pytest.mark.gpu
def test_debug_checks_strided_and_broadcast_indices(debug_device: dml.Device) -> None:
    desc = dml.GatherNdDesc(
        input_tensor=TensorDesc(T.FLOAT32, (5, 1)),
        indices_tensor=TensorDesc(T.INT64, (3, 1), (2, 1)),
        output_tensor=TensorDesc(T.FLOAT32, (3, 1)),
        input_dimension_count=2,
        indices_dimension_count=2,
    )
    op = debug_device.compile(desc)
    x = debug_device.tensor(X.reshape(5, 1))
    padding_is_bad = np.array([1, 99, 2, 99, 3], np.int64)
    last_is_bad = np.array([1, 99, 2, 99, -7], np.int64)
    good = debug_device.upload(desc.indices_tensor, padding_is_bad.tobytes())
    assert op(x, good).numpy().ravel().tolist() == [11, 12, 13]
    with pytest.raises(dml.IndexRangeError, match=r"2\D{1,3}0\D.*-7\b"):
        op(x, debug_device.upload(desc.indices_tensor, last_is_bad.tobytes())).numpy()
