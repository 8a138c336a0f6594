"""Uploads and downloads under pytest-benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from benchmarks.conftest import is_measuring
from benchmarks.data import values
from benchmarks.problem import Array
from benchmarks.transfers import MIB, download, upload

SMALL, LARGE = MIB, 64 * MIB


@pytest.fixture
def array(request: pytest.FixtureRequest) -> Array:
    """64 MiB when measuring, else 1 MiB."""
    return values("float32", (LARGE if is_measuring(request.config) else SMALL) // 4)


@pytest.mark.gpu
def bench_run_upload(device: dml.Device, array: Array, benchmark: Any) -> None:
    """Slower here: host memory is copied more than once on its way to the device."""
    benchmark.extra_info.update(adapter=str(device.adapter), bytes=array.nbytes)
    sent = benchmark.pedantic(upload, (device, array), warmup_rounds=2, rounds=5)
    assert np.array_equal(sent.numpy(), array)


@pytest.mark.gpu
def bench_run_download(device: dml.Device, array: Array, benchmark: Any) -> None:
    """Slower here: staging memory is made anew, or read twice."""
    benchmark.extra_info.update(adapter=str(device.adapter), bytes=array.nbytes)
    tensor = upload(device, array)
    fetched = benchmark.pedantic(download, (tensor,), warmup_rounds=2, rounds=5)
    assert np.array_equal(fetched, array)
