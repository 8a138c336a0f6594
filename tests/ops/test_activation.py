"""Activations of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("bias", [300.7, 1e9, -1e9])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_the_bias_of_shrink_saturates_to_the_type(
    device: dml.Device, dtype: type[Any], bias: float
) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([0, 1, 2, 3, most, least], dtype)
    by = np.array(int(min(max(bias, least), most)), dtype)
    moved = np.where(a > 1, a - by, np.where(a.astype(float) < -1, a + by, 0)).astype(dtype)
    found = dml.activation_shrink(device.tensor(a), bias=bias, threshold=1.0)
    assert found.tolist() == moved.tolist()
