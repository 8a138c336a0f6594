"""Bytes to and from a device: every size, each way they can go, and how often work is submitted."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu.gpu import gpu, private, recording, transfer
from dmlgpu.gpu.transfer import CHUNK, READ_IN_PLACE, SMALL, WAIT_IN_PLACE

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["as it is", "a GPU's", "unseen"])
def any_way(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dml.Device]:
    """A device whose bytes go as they go here, as on a GPU, or where the host sees no memory."""
    if request.param == "unseen":
        monkeypatch.setattr(gpu, "stays_mapped", lambda _: False)
    with dml.Device() as device:
        if request.param == "a GPU's":
            made = device.context.gpu
            made.is_cpu, made._most_seen = False, min(made._most_seen, gpu.SEEN)
        yield device


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> Iterator[dml.Device]:
    """A device none of whose memory the host sees: all goes through mapped staging memory."""
    monkeypatch.setattr(gpu, "stays_mapped", lambda _: False)
    with dml.Device() as device:
        yield device


@pytest.mark.parametrize(
    "size",
    [
        4,
        READ_IN_PLACE,
        WAIT_IN_PLACE,
        SMALL,
        SMALL + 4,
        CHUNK,
        CHUNK + 4,
        4 * CHUNK + 12,
    ],
)
def test_what_goes_up_comes_down(any_way: dml.Device, size: int) -> None:
    x = np.random.default_rng(size).integers(0, 1 << 32, size // 4, np.uint32)
    tensor = any_way.tensor(x)
    np.testing.assert_array_equal(tensor.numpy(), x)
    np.testing.assert_array_equal((tensor ^ 5).numpy(), x ^ 5)


@pytest.mark.parametrize("size", [64, READ_IN_PLACE + 4, WAIT_IN_PLACE - 1024])
def test_calls_see_uploads_made_before_them_and_none_made_later(
    any_way: dml.Device, size: int
) -> None:
    """Though each lies in memory that the one before has left."""
    found = []
    for i in range(20):
        x = any_way.tensor(np.full(size // 4, i, np.int32))
        found.append(x + 100)
        if i % 3 == 0:
            any_way.flush()
    for i, y in enumerate(found):
        np.testing.assert_array_equal(y.numpy(), np.full(size // 4, i + 100))


@pytest.mark.parametrize("size", [1024, WAIT_IN_PLACE])
def test_an_upload_is_not_overtaken_by_an_earlier_one_into_the_same_memory(
    any_way: dml.Device, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """While the device is busy small ones wait in its queue, for the next submission."""
    with monkeypatch.context() as busy:
        busy.setattr(transfer, "is_idle", lambda *_: False)
        first = any_way.tensor(np.full(size - 4, 1, np.uint8))
    storage = first.storage
    del first
    second = any_way.tensor(np.full(size, 2, np.uint8))
    assert second.storage is storage
    np.testing.assert_array_equal((second + second).numpy(), np.full(size, 4))
    np.testing.assert_array_equal(second.numpy(), np.full(size, 2))


@pytest.mark.parametrize("size", [16, gpu.SEEN // 8], ids=["small", "largest"])
def test_what_is_seen_is_transferred_without_a_submission(
    any_way: dml.Device, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Uploads of up to 4 MiB, and reads of 1 KiB."""
    sees = any_way.context.gpu._most_seen > 0
    submitted = []
    monkeypatch.setattr(recording.Recording, "_submit", lambda *_: submitted.append(1))
    flush = any_way.context.gpu.flush_writes
    monkeypatch.setattr(any_way.context.gpu, "flush_writes", lambda: submitted.append(1) or flush())
    x = any_way.tensor(np.arange(size))
    any_way.wait()
    assert len(submitted) == (0 if sees else 1)
    if sees and x.nbytes <= READ_IN_PLACE:
        np.testing.assert_array_equal(x.numpy(), np.arange(size))
        assert not submitted


def test_the_host_sees_only_so_much_of_a_gpus_memory(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small tensors in any case; memory that is gone is no longer counted."""
    made = device.context.gpu
    if not made._most_seen:
        pytest.skip("the host sees no memory here")
    monkeypatch.setattr(made, "is_cpu", False)
    monkeypatch.setattr(made, "_most_seen", gpu.SEEN)
    monkeypatch.setattr(made, "_seen", WeakSet())  # other tests may have left tensors
    monkeypatch.setattr(gpu, "SEEN_IN_ALL", 2 * gpu.SEEN)
    first, second, third = (made.buffer(gpu.SEEN) for _ in range(3))
    few, more = made.buffer(gpu.FEW), made.buffer(gpu.FEW + 16)
    sees = [private.seen(buffer) is not None for buffer in (first, second, third, few, more)]
    assert sees == [True, True, False, True, False]
    del first
    assert private.seen(made.buffer(gpu.SEEN)) is not None
    assert private.seen(made.buffer(gpu.SEEN + 16)) is None


def test_a_buffer_that_others_hold_is_read_through_a_copy(device: dml.Device) -> None:
    """They may destroy it while it is read."""
    x = device.tensor(np.arange(16))
    assert x.buffer is not None
    assert not device.context.transfers.is_read_in_place(x.storage, x.nbytes)
    np.testing.assert_array_equal(x.numpy(), np.arange(16))


def test_a_read_sees_a_small_write_that_nothing_was_submitted_after(device: dml.Device) -> None:
    """Small writes wait in the queue; a large buffer of a CPU adapter is mapped and read itself."""
    whole = device.tensor(np.zeros(WAIT_IN_PLACE, np.uint32))
    head = whole.view(dml.TensorDesc(dml.DataType.UINT32, (16,)))
    assert whole.numpy()[0] == 0
    device.context.transfers.write(head.buffer, head.offset, np.full(64, 7, np.uint8))
    np.testing.assert_array_equal(whole.numpy()[:17], [0x07070707] * 16 + [0])


def test_reading_back_submits_once(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """wgpu's own way to map for reading submits another time, which costs up to a sixth of it."""
    x = device.tensor(np.ones(16, np.float32))
    device.wait()
    submitted = []
    submit = recording.submit_once

    def counted(*arguments: Any) -> None:
        submitted.append(1)
        submit(*arguments)

    monkeypatch.setattr(recording, "submit_once", counted)
    dml.cumulative_summation(x, 0).numpy()
    assert submitted == [1]
    device.wait()
    assert submitted == [1]


def test_a_read_needs_no_batch_where_nothing_is_recorded(
    any_way: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one it took 11 us longer; behind a call it goes with that, in one submission."""
    x = np.arange(READ_IN_PLACE, dtype=np.uint32)
    tensor = any_way.tensor(x)
    any_way.wait()
    batches = []
    submit = recording.Recording._submit

    def counted(self: recording.Recording, batch: recording.Batch) -> None:
        batches.append(len(batch.calls))
        submit(self, batch)

    monkeypatch.setattr(recording.Recording, "_submit", counted)
    np.testing.assert_array_equal(tensor.numpy(), x)
    assert not batches
    more = tensor + 1
    staged = not any_way.context.transfers.is_read_in_place(more.storage, x.nbytes)
    np.testing.assert_array_equal(more.numpy(), x + 1)
    assert batches == [1 + staged]


@pytest.mark.parametrize("is_cpu", [True, False])
def test_batches_grow_while_nobody_waits(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, is_cpu: bool
) -> None:
    """A GPU idles between submissions; a CPU adapter has nothing to gain."""
    sizes: list[int] = []
    submit = recording.Recording._submit

    def counted(self: recording.Recording, batch: recording.Batch) -> None:
        sizes.append(len(batch.calls))
        submit(self, batch)

    x = device.tensor(np.ones(1 << 10, np.float32))
    kept = -x
    device.wait()
    monkeypatch.setattr(device.context.gpu, "is_cpu", is_cpu)
    monkeypatch.setattr(recording, "BATCH_BYTES", 2 * x.nbytes)
    monkeypatch.setattr(recording, "MOST_BYTES", {True: 2 * x.nbytes, False: 8 * x.nbytes})
    monkeypatch.setattr(recording.Recording, "_submit", counted)
    device.wait()
    for _ in range(12):
        kept = -x
    device.wait()
    kept = -x
    device.wait()
    assert sizes == ([1] * 13 if is_cpu else [1, 2, 4, 4, 1, 1])
    assert kept.numpy()[0] == -1


def test_a_read_waits_for_as_long_as_it_takes(
    unseen: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device may say that it has nothing to do before it has answered."""
    x = unseen.tensor(np.arange(16, dtype=np.uint32))
    polls = []
    poll = private.poll

    def late(of: Any) -> bool:
        polls.append(1)
        return poll(of) if len(polls) > 2 * private.IDLE else True

    monkeypatch.setattr(private, "LONGEST_PAUSE", 1e-5)
    monkeypatch.setattr(private, "poll", late)
    np.testing.assert_array_equal(x.numpy(), np.arange(16))
    assert len(polls) > 2 * private.IDLE


def test_a_read_without_an_answer_is_refused(
    unseen: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process would end where bytes were read that are not mapped."""
    x = unseen.tensor(np.arange(16, dtype=np.uint32))
    with monkeypatch.context() as patched:
        patched.setattr(private, "LOST", 0.0)
        patched.setattr(private, "poll", lambda _: True)
        with pytest.raises(dml.DeviceError, match="did not answer while mapping 64 bytes"):
            x.numpy()
    np.testing.assert_array_equal(x.numpy(), np.arange(16))


def test_a_device_with_work_is_not_idle(device: dml.Device) -> None:
    x = device.tensor(np.ones((64, 1 << 18), np.float32))
    device.wait()
    results = [x.cumsum(1) for _ in range(4)]
    device.flush()
    assert private.poll(device.wgpu_device) is False
    assert results[-1][-1, -1].item() == 1 << 18
    assert private.poll(device.wgpu_device) is True


@pytest.mark.parametrize(
    ("kind", "milliseconds", "pauses"),
    [("DiscreteGPU", 10, False), ("DiscreteGPU", 100, True), ("CPU", 10, True)],
)
def test_a_gpu_is_asked_without_pauses_for_milliseconds(
    monkeypatch: pytest.MonkeyPatch, kind: str, milliseconds: int, pauses: bool
) -> None:
    """Each pause may make the end of the work known so much later: never more than a 32nd."""
    now = [0.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        assert seconds <= now[0] / 32
        slept.append(seconds)
        now[0] += seconds

    def poll(_: Any) -> bool:
        now[0] += 1e-4
        if now[0] > milliseconds / 1e3:
            question.answer.append(private.SUCCESS)
        return False

    clock = SimpleNamespace(perf_counter=lambda: now[0], sleep=sleep)
    question = private.Question(
        SimpleNamespace(adapter=SimpleNamespace(info={"adapter_type": kind}))  # type: ignore[arg-type]
    )
    monkeypatch.setattr(private, "time", clock)
    monkeypatch.setattr(private, "poll", poll)
    monkeypatch.setattr(private, "is_destroyed", lambda _: False)
    with question:
        question.wait("waiting for the GPU")
    assert bool(slept) == pauses
