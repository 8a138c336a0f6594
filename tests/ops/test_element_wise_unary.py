"""Functions of one element: what FLOAT64 is refused."""

from __future__ import annotations

import pytest

import dmlgpu as dml


def test_float64_is_copied_and_not_scaled() -> None:
    wide = dml.TensorDesc(dml.DataType.FLOAT64, (3,))
    dml.validate(dml.ElementWiseIdentityDesc(input_tensor=wide, output_tensor=wide))
    scaled = dml.ElementWiseIdentityDesc(
        input_tensor=wide, output_tensor=wide, scale_bias=dml.ScaleBias(2.0, 1.0)
    )
    with pytest.raises(
        dml.UnsupportedError, match=r"ELEMENT_WISE_IDENTITY: scale_bias is .*FLOAT64"
    ):
        dml.validate(scaled)
