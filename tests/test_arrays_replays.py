"""Array functions that are called again: what is replayed is what would be done anew."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.replays import Program

pytestmark = pytest.mark.gpu

TIMES = 5  # the second call is noted, later ones are replayed


def drawn(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, (6, 8)).astype(np.float32)
    y = rng.integers(-9, 9, (6, 8)).astype(np.float32)
    j = rng.permutation(6).astype(np.int32)
    return [x, y, j]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concatenate": lambda n, x, y, j: np.concatenate([x, y, x]),
    "concatenate none": lambda n, x, y, j: np.concatenate((x, y), axis=None),
    "stack": lambda n, x, y, j: n.stack([x, y], -1),
    "roll": lambda n, x, y, j: n.roll(x, (2, -3), axis=(0, 1)),
    "tile": lambda n, x, y, j: n.tile(x, (2, 3)),
    "repeat": lambda n, x, y, j: n.repeat(x, [0, 1, 2, 3, 1, 0], axis=0),
    "pad": lambda n, x, y, j: n.pad(x, ((1, 2), (0, 3)), "reflect"),
    "diff": lambda n, x, y, j: n.diff(x, 2, 0, prepend=0.5),
    "triu": lambda n, x, y, j: n.triu(x, 1),
    "split": lambda n, x, y, j: n.split(x, [1, 4]),
    "meshgrid": lambda n, x, y, j: n.meshgrid(x[0], y[1]),
    "take": lambda n, x, y, j: np.take(x, j, axis=0),
    "take host": lambda n, x, y, j: np.take(x, [3, 1, 1], axis=1),
    "along": lambda n, x, y, j: np.take_along_axis(x, np.argsort(x, 1), 1),
    "where": lambda n, x, y, j: np.where(x > 0, x, y),
    "clip": lambda n, x, y, j: np.clip(x, y, 5),
    "outer": lambda n, x, y, j: np.outer(x[0], y[0]),
    "cross": lambda n, x, y, j: np.cross(x[:, :3], y[:, :3]),
    "gradient": lambda n, x, y, j: np.gradient(x),
    "median": lambda n, x, y, j: np.median(x, axis=1),
    "average": lambda n, x, y, j: np.average(x, weights=abs(y) + 1),
    "convolve": lambda n, x, y, j: np.convolve(x[0], y[0, :3]),
    "interp": lambda n, x, y, j: np.interp(x[0] / 3, [-3.0, 0.0, 3.0], [1.0, 2.0, 0.0]),
    "nanmean": lambda n, x, y, j: np.nanmean(np.where(x > 5, np.nan, x), axis=0),
    "read": lambda n, x, y, j: np.bincount((x + 9).astype(np.int32).reshape(-1)),
    "unique": lambda n, x, y, j: np.unique(x, return_counts=True),
    "fancy": lambda n, x, y, j: x[j, 1],
    "mask": lambda n, x, y, j: x[x > y],
    "lists": lambda n, x, y, j: x[[1, 2], [3, 4]],
    "same twice": lambda n, x, y, j: np.concatenate([x, x]),
    "astype": lambda n, x, y, j: np.concatenate([x, j.astype(np.float32)[:, None]], 1),
}


def same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for mine, theirs in zip(got, wanted, strict=True):
            same(mine, theirs)
        return
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_call_has_the_values_of_its_own_tensors(device: dml.Device, name: str) -> None:
    function, kept = FUNCTIONS[name], []
    for seed in range(TIMES):
        arrays = drawn(seed)
        wanted = function(np, *arrays)
        got = function(dnp, *map(device.tensor, arrays))
        same(got, wanted)
        kept.append((got, wanted))
    for got, wanted in kept:  # nor has a later call written over what an earlier one returned
        same(got, wanted)


def counted(device: dml.Device, kind: Any) -> int:
    known = list(device.remembered.values())
    return sum(k == kind if isinstance(kind, str) else isinstance(k, kind) for k in known)


def test_arguments_that_lie_in_one_buffer(device: dml.Device) -> None:
    """Aliases are other arguments: what is read there may be what was just written."""
    for _ in range(TIMES):
        a = np.arange(24, dtype=np.float32).reshape(4, 6)
        x, y = device.tensor(a), device.tensor(a + 100)
        x[1:, 1:] = y[:-1, :-1]
        a[1:, 1:] = (a + 100)[:-1, :-1]
        same(x, a)
        x[1:] = x[:-1]
        a[1:] = a[:-1].copy()
        same(x, a)
        np.copyto(x, x.T.reshape(4, 6))
        same(x, a.T.reshape(4, 6).copy())
        np.put_along_axis(y, np.zeros((4, 1), np.int32), x[:, :1], 1)
        same(y[:, :1], x[:, :1].numpy())


def test_a_result_that_is_an_argument(device: dml.Device) -> None:
    x, out = device.tensor(drawn(0)[0]), device.tensor(np.zeros((12, 8), np.float32))
    for k in range(TIMES):
        x += 1
        assert np.concatenate([x, x], out=out) is out
        same(out, np.concatenate([drawn(0)[0] + k + 1] * 2))


def test_what_is_assigned_is_an_argument(device: dml.Device) -> None:
    x, wanted = device.tensor(drawn(0)[0]), drawn(0)[0]
    for value in (
        1,
        1.0,
        2,
        True,
        np.float32(3),
        np.int8(4),
        1,
        2.5,
        2.5,
        2.5,
        [7] * 8,
        drawn(1)[1],
    ):
        for _ in range(3):
            x[..., :] = value
            wanted[...] = value
            same(x, wanted)


def test_numbers_of_each_type_are_other_arguments(device: dml.Device) -> None:
    x = device.tensor(np.arange(4, dtype=np.int32))
    for _ in range(TIMES):
        assert np.where(x > 1, x, 1).dtype == np.int32
        assert np.where(x > 1, x, 1.0).dtype == np.where(x > 1, x, True + 0.0).dtype
        assert np.where(x > 1, 0.0, -0.0).tolist() == [0.0] * 4
        assert np.signbit(np.where(x > 1, 0.0, -0.0).numpy()).tolist() == [1, 1, 0, 0]
        assert np.full_like(x, True).dtype == np.int32


@pytest.mark.parametrize("first", ["with out", "without"])
def test_an_out_is_another_argument(first: str) -> None:
    """Of many numbers, which share a kernel; `h` has the second layout of its device."""
    a = np.arange(4, dtype=np.float32)
    with dml.Device() as device:
        x, h = device.tensor(a), device.tensor(np.zeros(4, np.float16))

        def into(k: float) -> None:
            assert np.add(x, k, out=h) is h
            same(h, (a + np.float32(k)).astype(np.float16))

        def anew(k: float) -> None:
            assert (x + k).dtype == np.float32
            same(x + k, a + np.float32(k))

        for work in (into, anew) if first == "with out" else (anew, into):
            for k in range(12):
                work(k + 0.5)


def test_shapes_and_layouts_are_other_arguments(device: dml.Device) -> None:
    a = np.arange(24, dtype=np.float32)
    for shape in ((4, 6), (6, 4), (2, 12), (4, 6)):
        for _ in range(TIMES):
            x, b = device.tensor(a.reshape(shape)), a.reshape(shape)
            same(np.concatenate([x.T, x.T]), np.concatenate([b.T, b.T]))
            same(np.concatenate([x, x.flip(0)]), np.concatenate([b, b[::-1]]))
            same(np.concatenate([x[None], x[None]]), np.concatenate([b[None], b[None]]))


def test_tensors_without_dimensions_or_elements(device: dml.Device) -> None:
    for _ in range(TIMES):
        none, one = device.tensor(np.zeros((0, 3), np.float32)), device.tensor(np.float32(2))
        assert np.concatenate([none, none]).shape == (0, 3)
        same(np.stack([one, one]), np.array([2, 2], np.float32))
        assert np.where(one > 1, one, 0).shape == ()


def test_every_device_has_its_own(device: dml.Device) -> None:
    with dml.Device() as other:
        a = drawn(0)[0]
        for _ in range(TIMES):
            for on in (device, other):
                x = on.tensor(a)
                made = np.concatenate([x, x])
                assert made.device is on
                same(made, np.concatenate([a, a]))
            with pytest.raises(dml.BindingError, match="two devices"):
                np.concatenate([device.tensor(a), other.tensor(a)])


def test_what_is_refused_is_refused_each_time(device: dml.Device) -> None:
    x, y = device.tensor(np.zeros((2, 3), np.float32)), device.tensor(np.zeros((3, 2), np.float32))
    for _ in range(TIMES):
        with pytest.raises(ValueError, match="stack"):
            np.stack([x, y])
        with pytest.raises(IndexError):
            x[[5]]
    assert device.context.tape is None


def test_threads_do_not_note_each_other(device: dml.Device) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for k in range(30):
            a = np.full((3, 4 + number), 10 * number + k, np.float32)
            x = device.tensor(a)
            made = np.concatenate([x, x + 1, np.roll(x, 1, axis=0)])
            if not np.array_equal(made.numpy(), np.concatenate([a, a + 1, a])):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_of_steps_is_let_go(device: dml.Device) -> None:
    """What a program takes for itself is free again behind it."""
    with dml.Device() as device:
        x = device.tensor(np.zeros((256, 1024), np.float32))
        for call in range(40):
            made = np.roll(x, 3, axis=1)
            if call == TIMES:
                held = device.memory.in_use
        assert device.memory.in_use <= held
        del made


def test_debugging_does_every_step_anew() -> None:
    with dml.Device(debug=True) as device:
        x = device.tensor(drawn(0)[0])
        for _ in range(TIMES):
            same(np.concatenate([x, x]), np.concatenate([drawn(0)[0]] * 2))
        assert not counted(device, Program)


def test_a_profile_shows_what_is_replayed(device: dml.Device) -> None:
    x = device.tensor(drawn(0)[0])
    names = []
    for _ in range(TIMES):
        with device.profile() as profile:
            np.roll(x, 3, axis=1)
        names.append([call.name for call in profile.calls])
    assert names[0]
    assert all(told == names[0] for told in names)
