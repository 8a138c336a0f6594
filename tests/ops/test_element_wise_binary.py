"""Functions of two elements, where the types of the two differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("exponent", [np.float32, np.float16])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_a_power_beyond_the_type_saturates(
    device: dml.Device, dtype: type[Any], exponent: type[Any]
) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    bases, powers = [0, 100, 100, 5, 2], [-1, 9, 3, 2, 0.5]
    wanted = [most, most, min(100**3, most), 25, 1]
    if least < 0:
        bases, powers, wanted = [*bases, -100, -5], [*powers, 9, 0.5], [*wanted, least, 0]
    x = device.tensor(np.array(bases, dtype))
    found = dml.element_wise_pow(x, np.array(powers, exponent))
    assert found.dtype == dtype
    assert found.tolist() == wanted
