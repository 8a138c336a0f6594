"""Functions of two elements, where the types of the two differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu import DataType as T

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


@pytest.mark.parametrize("exponent", [np.int32, np.uint32])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_whole_powers_keep_every_bit_of_the_exponent(
    device: dml.Device, dtype: type[Any], exponent: type[Any]
) -> None:
    """FLOAT32 has no odd numbers above 2^24, and few bases have powers of so many that matter."""
    near = 1 + np.arange(-40, 41) * 2.0**-24
    bases = np.array([*near, *-near, 0.0, -0.0, 2, -2, np.inf, -np.inf], dtype)[:, None]
    whole = [0, 1, 2, 3, 2**24 + 1, 2**25 + 3, 2**28 + 77, 2**29 + 129, 2**31 - 1]
    signed = exponent is np.int32
    powers = np.array([*whole, *(-n for n in whole if signed), -(2**31) * signed], exponent)[None]
    x, e = (np.ascontiguousarray(a) for a in np.broadcast_arrays(bases, powers))
    found = dml.element_wise_pow(device.tensor(x), e).numpy()
    with np.errstate(all="ignore"):
        wanted = np.abs(x).astype(np.longdouble) ** e.astype(np.longdouble)
        wanted = np.where(e.astype(np.int64) % 2 * np.signbit(x) == 1, -wanted, wanted)
        expected = wanted.astype(dtype)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    finite = np.isfinite(expected) & (np.abs(wanted) > 1e-37)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


def test_types_of_powers_differ_from_level_3_0_on() -> None:
    base, exponent = (dml.TensorDesc(t, (1, 1, 1, 3)) for t in (T.FLOAT32, T.FLOAT16))
    desc = dml.ElementWisePowDesc(input_tensor=base, exponent_tensor=exponent, output_tensor=base)
    dml.validate(desc, dml.FeatureLevel.FL_3_0)
    with pytest.raises(dml.UnsupportedError, match="different types are allowed from FL_3_0"):
        dml.validate(desc, dml.FeatureLevel.FL_2_1)
