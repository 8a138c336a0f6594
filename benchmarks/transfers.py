"""Transfers between host and device memory, beside PyTorch's from and to pageable memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.data import values
from benchmarks.problem import Array
from benchmarks.rivals import Library, Torch

KIB, MIB = 1 << 10, 1 << 20
SMALL = (4 * KIB, 64 * KIB, 256 * KIB)
SIZES = (*SMALL, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB)
LARGEST = {"discrete": 1024 * MIB}
LARGEST_ELSEWHERE = 256 * MIB
ROUNDS = 5
MANY = 50  # rounds of small ones
SECONDS = 1.0  # spent on one transfer at most, once it has run three times


@dataclass(frozen=True, slots=True)
class Transfer:
    """One direction at one size."""

    library: str
    direction: str  # upload, download; copy within the host
    bytes: int
    seconds: float

    @property
    def gb_per_s(self) -> float:
        """Bytes moved per second."""
        return self.bytes / self.seconds / 1e9


def upload(device: dml.Device, array: Array) -> dml.Tensor:
    """From NumPy to the device, done when it returns."""
    tensor = device.tensor(array)
    device.wait()
    return tensor


def download(tensor: dml.Tensor) -> Array:
    """From the device to NumPy."""
    return tensor.numpy()


def measure_transfers(
    device: dml.Device, others: list[Library], most: int | None = None
) -> Iterator[Transfer]:
    """Both directions at every size; each result is compared with what was sent."""
    largest = most or LARGEST.get(device.adapter.kind, LARGEST_ELSEWHERE)
    largest = min(largest, device.context.gpu.max_buffer)
    source = values("float32", largest // 4)
    for size in (size for size in SIZES if size <= largest):
        array = source[: size // 4]
        yield from _both("dmlgpu", size, partial(upload, device, array), download, array)
        for rival in others:
            if isinstance(rival, Torch) and rival.where == "cuda":
                send, fetch = _torch_pair(rival, array)
                yield from _both("PyTorch", size, send, fetch, array)
                rival.free()
        out = np.zeros_like(array)
        out[...] = 1
        copied = _timed(partial(np.copyto, out, array))
        yield Transfer("NumPy", "copy", size, copied)


def _torch_pair(rival: Torch, array: Array) -> tuple[Callable[[], Any], Callable[[Any], Array]]:
    def send() -> Any:
        sent = rival.module.from_numpy(array).to(rival.where)
        rival.synchronize()
        return sent

    def fetch(tensor: Any) -> Array:
        fetched: Array = tensor.cpu().numpy()
        return fetched

    return send, fetch


def _both(
    library: str,
    size: int,
    send: Callable[[], Any],
    fetch: Callable[[Any], Array],
    array: Array,
) -> Iterator[Transfer]:
    sent = send()
    if not np.array_equal(fetch(sent), array):
        raise AssertionError(f"{library}: {size} bytes came back changed")
    del sent
    rounds = MANY if size in SMALL else ROUNDS
    yield Transfer(library, "upload", size, _timed(send, rounds))
    sent = send()
    yield Transfer(library, "download", size, _timed(lambda: fetch(sent), rounds))


def _timed(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Median seconds; what a call returns is dropped before the next one."""
    call()
    seconds: list[float] = []
    end = perf_counter() + SECONDS
    while len(seconds) < 3 or (len(seconds) < rounds and perf_counter() < end):
        before = perf_counter()
        made = call()
        seconds.append(perf_counter() - before)
        del made
    return median(seconds)
