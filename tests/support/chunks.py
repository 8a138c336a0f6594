"""Chunks that workers make for themselves, and what the tests ask of worker processes."""

from __future__ import annotations

import contextlib
import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Event

import dmlgpu as dml
from dmlgpu.dask.backend import meta


def values(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 255 that depend on both coordinates."""
    mixed = rows[:, None] * np.uint32(2654435761) ^ columns * np.uint32(40503)
    return (mixed >> np.uint32(24)).astype(np.int32)


passed: Counter[str] = Counter()  # chunks that this process made, by gate
BEFORE_THE_GATE = 3


def chunk(gate: str, block_info: Any = None) -> dml.Tensor:
    """One chunk, on the worker's device; after its first few a worker waits at the gate, if any."""
    (top, bottom), (left, right) = block_info[None]["array-location"]
    if gate and passed[gate] >= BEFORE_THE_GATE:
        Event(gate).wait(60)
    passed[gate] += 1
    rows, columns = (np.arange(*span, dtype=np.uint32) for span in ((top, bottom), (left, right)))
    return dml.tensor(values(rows, columns))


def array(shape: tuple[int, int], rows: int, gate: str = "") -> da.Array:
    """An array in chunks of whole rows, which nobody has in one piece."""
    chunks = da.core.normalize_chunks((rows, shape[1]), shape)
    made: da.Array = da.map_blocks(
        chunk, gate, chunks=chunks, dtype=np.int32, meta=meta(2, np.int32)
    )
    return made


def peak_bytes() -> int:
    """The most memory that this process had.

    Linux counts the memory of whoever started it among what getrusage tells.
    """
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def lose_device() -> None:
    """As if the GPU went away."""
    dml.default_device().wgpu_device.destroy()
