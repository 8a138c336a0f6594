"""Sequences and bands made on the device: every bit is NumPy's, of whatever type and step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.array.promotion import DTYPES
from dmlgpu.array.sequences import Line, Sequence
from dmlgpu.numpy import creation

pytestmark = [pytest.mark.gpu, pytest.mark.facts, pytest.mark.large]
TYPES = [t for t in DTYPES if t.kind != "b"]
FLOATS = [t for t in TYPES if t.kind == "f"]


@pytest.fixture
def made(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> list[Sequence]:
    """The sequences that are made on the device, which all of them are, however small."""
    monkeypatch.setattr(creation, "SMALL", 0)
    found: list[Sequence] = []
    make = creation._made

    def noted(sequence: Any, on: dml.Device) -> Any:
        found.extend([sequence] if sequence is not None else [])
        return make(sequence, on)

    monkeypatch.setattr(creation, "_made", noted)
    return found


def same(tensor: dml.Tensor, array: Any) -> None:
    assert (tensor.shape, tensor.dtype) == (array.shape, array.dtype)
    assert tensor.numpy().tobytes() == array.tobytes()


INTEGERS = {
    "small": (0, 1000, 1),
    "wrapping": (5, 70000, 7),
    "falling": (100, -100, -3),
    "negative": (-5, 5, 1),
    "above 32 bits": (2**40, 2**40 + 3000, 7),
    "wide steps": (-(2**62), 2**62, 2**53 + 12345),
    "one": (7, 8, 5),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(made: list[Sequence], dtype: Any, name: str) -> None:
    start, stop, step = INTEGERS[name]
    with np.errstate(over="ignore"):
        same(dnp.arange(start, stop, step, dtype), np.arange(start, stop, step).astype(dtype))
    assert len(made) == (dtype.kind != "f" or name != "wide steps")


def test_types_of_integers(made: list[Sequence]) -> None:
    for ends, dtype in (
        ((5,), np.int64),
        ((2**31 - 2, 2**31), np.int64),
        ((2**31 - 2, 2**31 + 1), np.int64),
        ((2**63 - 2, 2**63 + 3), np.uint64),
        ((-(2**40), 0, 2**38), np.int64),
    ):
        same(dnp.arange(*ends), np.arange(*ends, dtype=dtype))
    assert len(made) == 5


REALS = {
    "tenths": (0, 1, 0.1),
    "many": (0.0, 1000.0, 0.37),
    "through 0": (-1, 1, 0.1),
    "far from 0": (1e10, 1e10 + 50, 0.01),
    "falling": (5.5, -5.5, -0.25),
    "whole": (0.0, 3000.0, 1.0),
    "tiny": (1e-30, 2e-28, 1e-31),
    "minus 0": (-0.0, 10.0, 0.5),
    "below 1": (0.0, 1.0, 2.0**-12),
    "odd sixteenths": (0.0625, 9000.0, 8.125),
}


def is_held(args: tuple[Any, ...], dtype: Any) -> bool:
    """Whether a type has the numbers; beyond it, casts of NumPy's depend on the machine."""
    return dtype.kind == "f" or (
        max(map(abs, args)) <= 100 and (dtype.kind == "i" or min(args[:2]) >= 0)
    )


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_steps_of_floats(made: list[Sequence], dtype: Any) -> None:
    held = {name: args for name, args in REALS.items() if is_held(args, dtype)}
    for args in held.values():
        with np.errstate(over="ignore"):
            same(dnp.arange(*args, dtype=dtype), np.arange(*args).astype(dtype))
    # Integers below 0 are truncated, which is for NumPy.
    assert len(made) == len(held) - len({"through 0", "falling"} & held.keys()) * (
        dtype.kind != "f"
    )


LINES: dict[str, tuple[Any, ...]] = {
    "halves": (0, 1, 3),
    "odd": (0, 1, 1000),
    "through 0": (-1, 1, 1001),
    "beside 0": (-1, 1, 1000),
    "falling": (3, -7, 333),
    "open": (0.1, 99.7, 5000, False),
    "wide": (1e-3, 1e2, 777),
    "whole": (0, 100, 101),
    "to minus 0": (1, -0.0, 6),
    "from minus 0": (-0.0, 1, 5),
    "two": (0, 1, 2),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_lines(made: list[Sequence], dtype: Any) -> None:
    held = [args for args in LINES.values() if is_held((*args[:2], 0), dtype)]
    for args in held:
        values = np.linspace(*args)
        tensor = dnp.linspace(*args, dtype=dtype)
        same(tensor, (values if dtype.kind == "f" else np.floor(values)).astype(dtype))
        assert tensor[0].item() == dtype.type(args[0])
        assert len(args) > 3 or tensor[-1].item() == dtype.type(args[1])
    assert len(made) == len(held)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_random_lines(made: list[Sequence], dtype: Any) -> None:
    """Starts and steps of all sizes beside each other."""
    rng = random.Random(7)
    for _ in range(60):
        most = rng.choice([0, 5, 30, 60])
        start, stop = (rng.uniform(-1, 1) * 2.0 ** rng.randint(-most, most) for _ in range(2))
        check(start, stop, rng.randint(2, 3000), dtype)
    assert len(made) > 100


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_lines_that_cancel(made: list[Sequence], dtype: Any) -> None:
    """In the middle little is left of two large addends, but what was rounded away before."""
    rng = random.Random(8)
    for _ in range(60):
        end, count = rng.uniform(1, 2) * 2.0 ** rng.randint(-9, 9), 2 * rng.randint(1, 500) + 1
        check(-end, end * (1 + rng.choice([0.0, 1e-15, -1e-9])), count, dtype)
    assert len(made) > 100


def check(start: float, stop: float, count: int, dtype: Any) -> None:
    step = (stop - start) / count
    with np.errstate(all="ignore"):
        line = np.linspace(start, stop, count).astype(dtype)
        steps = np.arange(start, stop, step).astype(dtype)
    same(dnp.linspace(start, stop, count, dtype=dtype), line)
    same(dnp.arange(start, stop, step, dtype), steps)


def test_other_numbers_share_a_kernel(device: dml.Device, made: list[Sequence]) -> None:
    for n in range(5):
        same(dnp.arange(n, 500 + n), np.arange(n, 500 + n))
        same(dnp.linspace(n + 0.1, 3, 50), np.linspace(n + 0.1, 3, 50).astype(np.float32))
    assert len({sequence.form for sequence in made}) == 2


def test_what_only_numpy_makes() -> None:
    for numbers in ((np.inf, 1.0), (1.0, np.nan), (0.0, 0.0), (2.0**901, 1.0), (1.0, 2.0**-901)):
        start, step = numbers
        assert Line(10, start, step, start, start).sequence(np.dtype(np.float32)) is None
    assert Line(10, 0.0, 100.0, 0.0, 900.0).sequence(np.dtype(np.int8)) is None
    with pytest.raises(ValueError, match="arange"):
        dnp.arange(0, 5, 0)
    with pytest.raises(ValueError, match="linspace"):
        dnp.linspace(0, 1, -1)
    assert dnp.arange(5, 0).shape == dnp.linspace(0, 1, 0).shape == (0,)
    assert dnp.linspace(3, 4, 1).tolist() == [3]


def test_large_ones(device: dml.Device) -> None:
    same(dnp.arange(1 << 20), np.arange(1 << 20))
    same(dnp.linspace(-3, 7, 1 << 20), np.linspace(-3, 7, 1 << 20).astype(np.float32))
    same(dnp.arange(0.0, 1.0, 1e-5), np.arange(0.0, 1.0, 1e-5).astype(np.float32))
    same(dnp.arange(np.int64(70000)), np.arange(70000))
    same(dnp.linspace(np.float64(0), np.pi, 70000), np.linspace(0, np.pi, 70000).astype(np.float32))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, np.float64, np.int64])
def test_bands(device: dml.Device, dtype: Any) -> None:
    for sizes in ((1, 1), (3, 5), (40, 33), (33, 40), (4, 0)):
        for k in (0, 1, -1, 7, -100, 100):
            same(dnp.eye(*sizes, k, dtype), np.eye(*sizes, k, dtype))
    for sizes in ((5, 7), (7, 5), (2, 3, 4, 4), (3, 64), (2, 0)):
        a = (np.arange(np.prod(sizes)).reshape(sizes) % 3 + 1).astype(dtype)
        x, y = device.tensor(a), device.tensor(a).mT
        for k in (0, 1, -1, 3, -3, 100, -100):
            same(dnp.tril(x, k), np.tril(a, k))
            same(dnp.triu(x, k), np.triu(a, k))
            same(dnp.triu(y, k), np.triu(np.swapaxes(a, -1, -2), k))
    same(
        dnp.tril(device.tensor(np.ones(3, dtype)).broadcast_to(4, 3)),
        np.tril(np.ones((4, 3), dtype)),
    )


def test_a_triangle_in_a_chain(device: dml.Device) -> None:
    a = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    for name in ("tril", "triu"):
        chain = dml.fuse(lambda x, name=name: getattr(dnp, name)(x, 1) + 1)
        same(chain(device.tensor(a)), getattr(np, name)(a, 1) + 1)
