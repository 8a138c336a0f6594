"""Reads that nobody wrote down, where a device refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

IMPLICIT: dict[str, Callable[[Any], object]] = {
    "np.asarray": np.asarray,
    "np.array": lambda x: np.array([x, x]),
    "dlpack": np.from_dlpack,
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "index": lambda x: [1, 2, 3][x.argmin()],
    "truth": lambda x: bool(x.any()),
    "in": lambda x: 3 in x,
    "format": lambda x: f"{x.sum():.1f}",
    "math": lambda x: round(x.sum()),
}
EXPLICIT: dict[str, Callable[[Any], object]] = {
    "numpy": lambda x: x.numpy(),
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x.sum().item(),
    "tobytes": lambda x: x.tobytes(),
    "arithmetic": lambda x: dnp.where(x > 1, x, 0).sum(),
    "repr": repr,
}


@pytest.fixture
def strict(device: dml.Device) -> Iterator[dml.Device]:
    with dml.Device(device.adapter, implicit="raise") as opened:
        yield opened


@pytest.mark.parametrize("name", [n for n in IMPLICIT if n != "math"])
def test_an_implicit_read_raises_and_names_an_explicit_one(strict: dml.Device, name: str) -> None:
    x = strict.tensor(np.arange(3, dtype=np.float32))
    with pytest.raises(dml.UnsupportedError, match=r"x\.numpy\(\)"):
        IMPLICIT[name](x)


@pytest.mark.parametrize("name", EXPLICIT)
def test_an_explicit_read_reads(strict: dml.Device, name: str) -> None:
    EXPLICIT[name](strict.tensor(np.arange(3, dtype=np.float32)))


@pytest.mark.parametrize("name", IMPLICIT)
def test_all_are_allowed_unless_somebody_says_otherwise(device: dml.Device, name: str) -> None:
    assert device.implicit == "allow"
    IMPLICIT[name](device.tensor(np.arange(3, dtype=np.float32)))


def test_the_environment_says_so_for_all_devices(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMLGPU_IMPLICIT", "raise")
    with dml.Device(device.adapter) as opened:
        assert opened.implicit == "raise"
    with dml.Device(device.adapter, implicit="allow") as opened:
        assert opened.implicit == "allow"
    monkeypatch.setenv("DMLGPU_IMPLICIT", "no")
    with pytest.raises(dml.InvalidDescError, match="DMLGPU_IMPLICIT is 'no'"):
        dml.Device(device.adapter)
    with pytest.raises(dml.InvalidDescError, match="implicit is 1"):
        dml.Device(device.adapter, implicit=1)  # type: ignore[arg-type]
