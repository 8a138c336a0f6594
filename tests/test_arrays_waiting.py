"""Windows that wait for their copy cannot be told from those that are copied at once."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu import waiting
from dmlgpu.waiting import MOST_READS, Waiting

pytestmark = pytest.mark.gpu

X = (np.arange(24, dtype=np.float32).reshape(4, 6) * 7 % 11) - 3


@pytest.fixture(autouse=True)
def small(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Windows of any size may wait, and no other test meets such a window."""
    monkeypatch.setattr(waiting, "LEAST", 0)
    monkeypatch.setattr(waiting, "SHARE", 1000)
    monkeypatch.setattr(waiting, "SHORT", 0)
    yield
    device.remembered.clear()


@pytest.fixture
def opened() -> Iterator[dml.Device]:
    with dml.Device() as made:
        yield made


def same(got: Any, wanted: Any) -> None:
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


def names(device: dml.Device, work: Callable[[], Any]) -> list[str]:
    """What runs while work is done; a profile would have every window copied."""
    made: list[str] = []
    record = device.context.record
    device.context.record = lambda call: made.append(call.name) or record(call)
    try:
        work()
    finally:
        device.context.record = record
    return made


READ: dict[str, Callable[[Any], Any]] = {
    "difference": lambda x: x[1:] - x[:-1],
    "columns": lambda x: x[:, 1:] * x[:, :-1],
    "number": lambda x: 2 - x[1:],
    "negative": lambda x: -x[1:, 1:],
    "compared": lambda x: x[1:] > x[:-1],
    "beside a tensor": lambda x: x[:, :3] + x[:, ::2],
    "reflected": lambda x: np.float32(1) + x[1:],
    "broadcast": lambda x: x[1:] - x[:1, :] * 1,
    "one dimension": lambda x: x.reshape(-1)[3:] + 1,
    "row": lambda x: x[2] + x[3],
    "new axis": lambda x: x[1:, None, 2:] + 1,
    "of a view": lambda x: x.T[1:, :3] * 2,
    "function": lambda x: np.hypot(x[1:], x[:-1]),
    "selected": lambda x: np.where(x[1:] > 0, x[1:], x[:-1]),
    "cast": lambda x: x[1:].astype(np.int32),
    "sum": lambda x: x[1:, 2:].sum(1),
    "sum of all": lambda x: x[1:, 2:].sum(),
    "maxima": lambda x: x[:, 1:].max(0, keepdims=True),
    "deviation": lambda x: x[1:].std(1),
    "position": lambda x: x[1:].argmax(1).astype(np.int32),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64])
@pytest.mark.parametrize("name", READ)
def test_elements_are_read_where_they_are(device: dml.Device, name: str, dtype: Any) -> None:
    a = abs(X).astype(dtype)
    for _ in range(3):
        x = device.tensor(a)
        with np.errstate(all="ignore"):
            wanted = READ[name](a)
        np.testing.assert_allclose(
            READ[name](x).numpy(), wanted, rtol=2e-3 if dtype in (np.float16, np.uint8) else 1e-6
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64])
def test_windows_are_assigned_from_where_they_are(opened: dml.Device, dtype: Any) -> None:
    a, b = abs(X).astype(dtype), np.zeros((4, 6), np.float32)
    x, y = opened.tensor(a), opened.tensor(b)
    for to, of, copies in (
        (np.s_[1:], np.s_[:-1], 0),
        (np.s_[:, 2:], np.s_[:, 1:-1], 0),
        (np.s_[::-1, 1:], np.s_[:, :-1], 2),
        (np.s_[0], np.s_[3], 0),
        (np.s_[::2, ::2], np.s_[1:3, 3:], 0),
        (np.s_[1:], np.s_[2], 1),
        (np.s_[1:, 1:], np.s_[1:, 1:], 0),
    ):
        told = names(opened, lambda to=to, of=of: y.__setitem__(to, x[of]))
        b[to] = a[of]
        same(y, b)
        waits = opened.adapter.kind != "cpu" or a.itemsize > 2
        assert len(told) == 1 + copies or not waits
    for _ in range(3):
        y[1:] = y[:-1]
        b[1:] = b[:-1].copy()
        same(y, b)


@pytest.mark.parametrize(
    ("work", "made"),
    [
        (lambda x: x[1:] - x[:-1], ["subtract"]),
        (lambda x: x[1:] * 2.0, ["multiply"]),
        (lambda x: x + x[:], ["slice", "add"]),
        (lambda x: x[1:, 1:].sum(0), ["sum"]),
        (lambda x: x[1:], []),
        (lambda x: x[1:].numpy(), ["slice"]),
        (lambda x: x[1:].copy(), ["slice"]),
        (lambda x: x[::-1] + 1, ["slice", "add"]),
    ],
)
def test_what_runs(opened: dml.Device, work: Any, made: list[str]) -> None:
    x = opened.tensor(X)
    told = names(opened, lambda: work(x))
    assert len(told) == len(made), told


def test_what_is_read_again_and_again_is_copied(device: dml.Device) -> None:
    x = device.tensor(X)
    y = x[1:]
    for k in range(MOST_READS):
        same(y + k, X[1:] + k)
        assert type(y) is Waiting
    same(y + 5, X[1:] + 5)
    assert type(y) is dml.Tensor
    same(y, X[1:])


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "assigned": lambda x, n: x.__setitem__(..., 5),
    "row": lambda x, n: x.__setitem__(2, [1, 2, 3, 4, 5, 6]),
    "array": lambda x, n: x.__setitem__([3, 1], 9),
    "mask": lambda x, n: x.__setitem__(x > 0, 0),
    "in place": lambda x, n: x.__iadd__(1),
    "out": lambda x, n: np.multiply(x, 2, out=x),
    "copyto": lambda x, n: np.copyto(x, -1),
    "put": lambda x, n: np.put(x, [7, 8, 9], 4),
    "sort": lambda x, n: x.sort(1),
    "along": lambda x, n: np.put_along_axis(x, np.zeros((4, 1), np.int32), 3, 1),
    "add at": lambda x, n: np.add.at(x, [1, 1, 2], 1),
    "a view": lambda x, n: x.reshape(6, 4).__setitem__(slice(1, None), 8),
    "fill": lambda x, n: np.fill_diagonal(x, 6),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_window_keeps_what_it_was_taken_of(device: dml.Device, name: str) -> None:
    for _ in range(3):
        x, a = device.tensor(X), X.copy()
        windows = [x[1:], x[:, 2:], x[3], x.T[1:]]
        wanted = [w.copy() for w in (a[1:], a[:, 2:], a[3], a.T[1:])]
        sums = windows[0] + windows[0]
        WRITES[name](x, dnp)
        WRITES[name](a, np)
        same(x, a)
        for window, values in zip(windows, wanted, strict=True):
            same(window, values)
        same(sums, wanted[0] * 2)


def test_an_operator_of_the_documents_writes(device: dml.Device) -> None:
    x = device.tensor(X)
    y = x[1:]
    desc = dml.TensorDesc(dml.DataType.FLOAT32, (4, 6))
    op = device.compile(dml.CumulativeSummationDesc(input_tensor=desc, output_tensor=desc, axis=1))
    op(x, out=x)
    same(x, X.cumsum(1, dtype=np.float32))
    same(y, X[1:])


@pytest.mark.parametrize("dtype", [np.float32, bool, np.int64])
def test_a_copy_is_one_of_its_own(device: dml.Device, dtype: Any) -> None:
    a = X.astype(dtype)
    x = device.tensor(a)
    y, z = x[1:, 2:], x[2, 3:4]
    for _ in range(MOST_READS + 2):
        copied, one = y.copy(), z.copy()
        same(copied, a[1:, 2:])
        same(one, a[2, 3:4])
        copied[...] = 1
        same(y, a[1:, 2:])
        y = x[1:, 2:]
    copied = y.copy()
    x[...] = 0
    same(copied, a[1:, 2:])
    same(y, a[1:, 2:])


def test_a_window_of_a_window(device: dml.Device) -> None:
    x = device.tensor(X)
    y = x[1:][:, 1:][1:]
    x[...] = 0
    same(y, X[2:, 1:])


def test_a_window_is_written(device: dml.Device) -> None:
    """It is a tensor of its own: what is written there does not reach what it is of."""
    x = device.tensor(X)
    for write in (lambda y: y.__iadd__(1), lambda y: y.__setitem__(0, 5)):
        y, wanted = x[1:], X[1:].copy()
        write(y)
        write(wanted)
        same(y, wanted)
        same(x, X)
    y = x[1:]
    np.add(y, y, out=y)
    same(y, X[1:] * 2)


def test_what_writes_reads_a_window_of_the_same(device: dml.Device) -> None:
    x, a = device.tensor(X), X.copy()
    x += x[:1]
    a += a[:1].copy()
    same(x, a)
    x[1:] = x[:-1]
    a[1:] = a[:-1].copy()
    same(x, a)
    np.subtract(x[1:], x[:-1], out=x[1:])
    same(x, a)  # a copy was written
    x[:-1] -= x[1:]
    a[:-1] -= a[1:].copy()
    same(x, a)


def test_the_buffer_is_shown(opened: dml.Device) -> None:
    """Whoever has it may write, so what waits is copied, and no window waits from then on."""
    x = opened.tensor(X)
    y = x[1:]
    buffer = x.buffer
    assert type(y) is dml.Tensor
    opened.wgpu_device.queue.write_buffer(buffer, 0, np.zeros(24, np.float32))
    same(y, X[1:])
    assert type(x[1:]) is dml.Tensor
    same(x[1:], np.zeros((3, 6), np.float32))


def test_memory_is_let_go(opened: dml.Device) -> None:
    held = opened.memory.in_use
    x = opened.tensor(np.zeros((256, 1024), np.float32))
    one = opened.memory.in_use - held
    y = x[1:]
    assert opened.memory.in_use == held + one
    del x
    same(y, np.zeros((255, 1024), np.float32))
    gc.collect()
    assert opened.memory.in_use <= held + one
    x = opened.tensor(np.zeros((256, 1024), np.float32))
    for _ in range(100):
        x[1:]
    assert not x.storage.readers


def test_small_windows_of_large_tensors_hold_nothing(
    opened: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    x = opened.tensor(np.zeros((1 << 10, 1 << 10), np.float32))
    assert type(x[1:]) is Waiting
    assert type(x[:300]) is dml.Tensor
    assert type(x[:, ::2]) is dml.Tensor
    assert type(x[::-1]) is dml.Tensor
    assert type(x[...]) is dml.Tensor
    assert type(x.copy()) is dml.Tensor
    assert type(opened.tensor(X)[1:]) is dml.Tensor


def test_others_see_a_tensor(device: dml.Device) -> None:
    x = device.tensor(X)
    assert isinstance(x[1:], dml.Tensor)
    assert repr(x[1:]) == repr(x[1:].copy())
    assert x[1:].shape == (3, 6)
    assert (x[1:].ndim, x[1:].size, x[1:].nbytes, x[1:].strides) == (2, 18, 72, (6, 1))
    same(pickle.loads(pickle.dumps(x[1:])), X[1:])
    same(np.concatenate([x[1:], x[:1]]), np.concatenate([X[1:], X[:1]]))
    same(x[x[0].astype(np.int32) % 4], X[X[0].astype(np.int32) % 4])
    assert float(x[1:][0][0]) == X[1, 0]
    assert x[3][1:].tolist() == X[3][1:].tolist()
    bits = device.tensor(X > 0)
    assert bits[1:].dtype == bool
    same(bits[1:] & bits[:-1], (X > 0)[1:] & (X > 0)[:-1])
    same(~bits[1:], ~(X > 0)[1:])


def test_a_type_is_part_of_what_is_known(device: dml.Device) -> None:
    """A window of bool lies as one of uint8 does."""
    a = np.array([[1, 0, 1, 1], [0, 1, 1, 0]], np.uint8)
    for _ in range(3):
        same(device.tensor(a)[1:] + 1, a[1:] + 1)
        assert (device.tensor(a.astype(bool))[1:] + 1).dtype == np.int32


def test_a_profile_and_debugging_copy_at_once(opened: dml.Device) -> None:
    x = opened.tensor(X)
    with opened.profile() as profile:
        x[1:] - x[:-1]
    assert len(profile.calls) == 3
    with dml.Device(debug=True) as device:
        assert type(device.tensor(X)[1:]) is dml.Tensor


def test_copies_for_others_are_no_steps_of_a_function(opened: dml.Device) -> None:
    """Assigning to x has its windows copied first, also while the assignment is noted."""

    def assigned(n: int, *, is_watched: bool) -> list[str]:
        x = opened.tensor(np.zeros(n, np.float32))
        window = x[1:] if is_watched else None
        part = x.view(dml.TensorDesc(dml.DataType.FLOAT32, (8,)))

        def assign() -> None:
            part[1:3] = 1.0

        made = names(opened, assign)
        same(x, np.where((np.arange(n) > 0) & (np.arange(n) < 3), np.float32(1), np.float32(0)))
        if window is not None:
            same(window, np.zeros(n - 1, np.float32))
        return made

    for _ in range(3):
        assert assigned(64, is_watched=True) == ["assign", "SLICE1"]
    assert assigned(64, is_watched=False) == ["assign"]
    assert assigned(16, is_watched=False) == ["assign"]
    assert assigned(16, is_watched=True) == ["assign", "SLICE1"]


def test_a_function_copies_its_own_windows_again(device: dml.Device) -> None:
    for k in range(5):
        a = X + k
        x, kept = device.tensor(a), device.tensor(a)
        window = x[:, 2:]
        x[1:] = x[:-1]
        wanted = a.copy()
        wanted[1:] = a[:-1]
        same(x, wanted)
        same(window, a[:, 2:])
        same(np.diff(kept), np.diff(a))


def test_a_copy_that_others_have_made_meanwhile(device: dml.Device) -> None:
    """Another thread may have a window copied while a method of it runs."""
    x, z = device.tensor(X), device.tensor(X[1:])
    for _ in range(3):
        y = x[1:]
        y.read()
        same(Waiting._unary(y, "negative"), -X[1:])
        same(Waiting._binary(y, "add", 1), X[1:] + 1)
        same(Waiting._binary(y, "subtract", z), X[1:] - X[1:])
        assert Waiting.there(y) is None
        assert Waiting.__getattr__(y, "key") == y.key
        Waiting.settle(y)
        Waiting.read(y)
        with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
            Waiting.__getattr__(y, "nothing")
        Waiting.assign_to(y, z, slice(None), z._set)
        same(z, X[1:])


def test_messages_call_it_a_tensor(device: dml.Device) -> None:
    x = device.tensor(X)
    with pytest.raises(TypeError) as caught:
        x[1:] + object()
    assert "Tensor" in str(caught.value)
    assert "Waiting" not in str(caught.value)


def test_the_device_is_closed(opened: dml.Device) -> None:
    y = opened.tensor(X)[1:]
    opened.close()
    for use in (lambda: y.numpy(), lambda: y + 1, lambda: y.sum()):
        with pytest.raises(dml.DeviceError):
            use()


def test_threads_copy_once(device: dml.Device) -> None:
    wrong: list[Any] = []

    def use(y: dml.Tensor, wanted: Any) -> None:
        for k in range(4):
            if not np.array_equal((y + k).numpy(), wanted + k):
                wrong.append(k)

    for round_ in range(20):
        a = X + round_
        x = device.tensor(a)
        y = x[1:]
        threads = [Thread(target=use, args=(y, a[1:])) for _ in range(3)]
        for thread in threads:
            thread.start()
        x[...] = 0
        for thread in threads:
            thread.join()
    assert not wrong
