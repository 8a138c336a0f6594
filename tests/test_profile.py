"""Profiles: what they collect, what they print, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu.ops import traffic
from dmlgpu.runtime import profile as profile_module
from dmlgpu.runtime.profile import Profile, ProfiledCall

pytestmark = pytest.mark.gpu
SUM, SLICE1, GATHER = "CUMULATIVE_SUMMATION", "SLICE1", "GATHER_ND"


@pytest.fixture
def opened(device: dml.Device) -> Iterator[dml.Device]:
    """A device of the test's own."""
    with dml.Device(device.adapter) as made:
        yield made


@pytest.fixture
def x(opened: dml.Device) -> dml.Tensor:
    return opened.tensor(np.ones((64, 64), np.float32))


@pytest.fixture
def without_timestamps(opened: dml.Device, monkeypatch: pytest.MonkeyPatch) -> dml.Device:
    """The device as it would be on an adapter that has none."""
    monkeypatch.setattr(opened.context.gpu, "has_timestamps", False)
    return opened


def names(profile: Profile) -> list[str]:
    return [call.name for call in profile.calls]


def has_timestamps(device: dml.Device) -> bool:
    return "timestamp-query" in device.wgpu_device.features


def test_calls_are_collected_in_order(opened: dml.Device, x: dml.Tensor) -> None:
    dml.cumulative_summation(x, 0)
    with opened.profile() as p:
        y = dml.cumulative_summation(x, 1)
        z = y[::-1]
        dml.gather_nd(z, [[0, 63]])
    dml.cumulative_summation(x, 0)
    assert names(p) == [SUM, SLICE1, GATHER]
    assert p.clock == ("gpu" if has_timestamps(opened) else "host")
    assert all(call.end >= call.start > 0 for call in p.calls)
    assert all(a.start <= b.start for a, b in zip(p.calls, p.calls[1:], strict=False))
    assert not opened.is_observed
    np.testing.assert_array_equal(z.numpy(), np.cumsum(np.ones((64, 64)), 1)[::-1])


def test_bytes_are_those_that_must_move(opened: dml.Device) -> None:
    """Not the size of the tensors: a small window of a large one is a small call."""
    large = opened.tensor(np.zeros((1024, 1024), np.float32))
    with opened.profile() as p:
        large[:1].copy()
        dml.cumulative_summation(large, 0)
    small, whole = (call.nbytes for call in p.calls)
    assert small == 2 * 1024 * 4
    assert whole == 2 * large.desc.total_tensor_size_in_bytes


def test_more_calls_than_a_query_set_holds(
    opened: dml.Device, x: dml.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_module, "QUERIES", 8)
    with opened.profile() as p:
        for _ in range(11):
            y = dml.cumulative_summation(x, 1)
            x[:2, ::-1].copy()
    assert names(p) == [SUM, SLICE1] * 11
    assert all(call.end >= call.start > 0 for call in p.calls)
    np.testing.assert_array_equal(y.numpy()[0], np.arange(1, 65))


def test_a_whole_query_set_and_one_more(opened: dml.Device, x: dml.Tensor) -> None:
    count = profile_module.QUERIES // 2 + 1
    op = opened.compile(
        dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=1)
    )
    out = opened.empty(x.desc)
    with opened.profile() as p:
        for _ in range(count):
            op(x, out=out)
    assert len(p.calls) == count
    assert p.operators[0].calls == count


def test_profiles_nest(opened: dml.Device, x: dml.Tensor) -> None:
    with opened.profile() as outer:
        dml.cumulative_summation(x, 0)
        with opened.profile() as inner:
            x[::-1].copy()
        dml.gather_nd(x, [[0, 0]])
    assert names(inner) == [SLICE1]
    assert names(outer) == [SUM, SLICE1, GATHER]
    assert inner.calls[0] == outer.calls[1]


def test_profiles_may_end_in_any_order(opened: dml.Device, x: dml.Tensor) -> None:
    first, second = opened.profile(), opened.profile()
    first.__enter__()
    dml.cumulative_summation(x, 0)
    second.__enter__()
    x[::-1].copy()
    first.__exit__(None, None, None)
    dml.gather_nd(x, [[0, 0]])
    second.__exit__(None, None, None)
    assert names(first) == [SUM, SLICE1]
    assert names(second) == [SLICE1, GATHER]
    assert not opened.is_observed


def test_a_profile_is_not_entered_twice_at_once(opened: dml.Device, x: dml.Tensor) -> None:
    p = opened.profile()
    with p:
        with pytest.raises(dml.DeviceError, match="this profile is open already"), p:
            pass
        dml.cumulative_summation(x, 0)
    with p:  # but again later, and goes on collecting
        x[::-1].copy()
    assert names(p) == [SUM, SLICE1]


def test_it_can_be_read_while_it_is_open(opened: dml.Device, x: dml.Tensor) -> None:
    with opened.profile() as p:
        assert str(p) == "no calls were made while the profile was open"
        dml.cumulative_summation(x, 0)
        assert names(p) == [SUM]
        x[::-1].copy()
        assert names(p) == [SUM, SLICE1]
    assert names(p) == [SUM, SLICE1]


def test_an_exception_keeps_what_was_done(opened: dml.Device, x: dml.Tensor) -> None:
    p = opened.profile()

    def fails() -> None:
        with p:
            dml.cumulative_summation(x, 0)
            _ = 1 // 0

    with pytest.raises(ZeroDivisionError):
        fails()
    assert names(p) == [SUM]
    assert not opened.is_observed


def test_a_refused_call_is_none(opened: dml.Device, x: dml.Tensor) -> None:
    with opened.profile() as p:
        with pytest.raises(dml.InvalidDescError):
            dml.cumulative_summation(x, 5)
        x[::-1].copy()
    assert names(p) == [SLICE1]


def test_a_device_closed_inside_says_so(opened: dml.Device, x: dml.Tensor) -> None:
    def closes() -> None:
        with opened.profile():
            dml.cumulative_summation(x, 0)
            opened.close()

    with pytest.raises(dml.DeviceLostError, match="the device is closed"):
        closes()
    assert not opened.is_observed
    with pytest.raises(dml.DeviceLostError, match="the device is closed"):
        opened.profile()


def test_a_debug_check_counts_with_its_call(device: dml.Device) -> None:
    with dml.Device(device.adapter, debug=True) as debugged:
        x = debugged.tensor(np.arange(16, dtype=np.float32))
        indices = debugged.tensor(np.array([[3], [5]], np.int32))
        with debugged.profile() as p:
            y = dml.gather_nd(x, indices)
        assert names(p) == [GATHER]
        assert y.numpy().tolist() == [3, 5]
        with pytest.raises(dml.IndexRangeError), debugged.profile() as p:
            dml.gather_nd(x, debugged.tensor(np.array([[16]], np.int32))).numpy()
        assert names(p) == [GATHER]


def test_calls_of_several_threads(opened: dml.Device, x: dml.Tensor) -> None:
    def work() -> None:
        for _ in range(20):
            dml.cumulative_summation(x, 0)

    with opened.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names(p) == [SUM] * 60


def test_totals_by_operator(opened: dml.Device, x: dml.Tensor) -> None:
    with opened.profile() as p:
        for _ in range(3):
            dml.cumulative_summation(x, 0)
        x[::-1].copy()
    found = {o.name: o for o in p.operators}
    assert {name: o.calls for name, o in found.items()} == {SUM: 3, SLICE1: 1}
    assert found[SUM].nbytes == 3 * 2 * x.desc.total_tensor_size_in_bytes
    for name, o in found.items():
        assert o.seconds == pytest.approx(sum(c.seconds for c in p.calls if c.name == name))
        assert o.gb_per_s == pytest.approx(o.nbytes / o.seconds / 1e9 if o.seconds else 0)
    assert sum(o.share for o in found.values()) == pytest.approx(1)
    assert [o.seconds for o in p.operators] == sorted(o.seconds for o in p.operators)[::-1]


def made_up(device: dml.Device, *calls: ProfiledCall) -> Profile:
    p = device.profile()
    p._calls.extend(calls)
    return p


def test_the_table(opened: dml.Device) -> None:
    p = made_up(
        opened,
        ProfiledCall(SUM, 8_000_000, 1_000, 3_001_000),
        ProfiledCall(SUM, 8_000_000, 4_000_000, 5_000_000),
        ProfiledCall(SLICE1, 1_500_000, 6_000_000, 7_000_000),
        ProfiledCall("GATHER_ND check", 0, 8_000_000, 8_000_000),
    )
    unit = "GPU ms" if p.clock == "gpu" else "host ms"
    assert str(p).splitlines()[:4] == [
        f"operator                calls{unit:>11}     GB/s   share",
        "CUMULATIVE_SUMMATION        2      4.000      4.0   80.0%",
        "SLICE1                      1      1.000      1.5   20.0%",
        "GATHER_ND check             1      0.000        -    0.0%",
    ]


def test_without_timestamps_the_host_clock_steps_in(without_timestamps: dml.Device) -> None:
    device = without_timestamps
    x = device.tensor(np.ones((64, 64), np.float32))
    with device.profile() as p:
        y = dml.cumulative_summation(x, 1)
        y[::-1].copy()
    assert p.clock == "host"
    assert names(p) == [SUM, SLICE1]
    assert all(call.seconds > 0 for call in p.calls)
    head, *_, last = str(p).splitlines()
    assert "host ms" in head
    assert "GPU" not in head
    assert last == (
        f"{device.adapter.name} has no timestamp queries: times are the host's, each call waited "
        "for."
    )
    assert y.numpy()[3, 63] == 64


def test_copies_without_timestamps(without_timestamps: dml.Device) -> None:
    x = without_timestamps.tensor(np.arange(8192, dtype=np.float32).reshape(2, 4096))
    with without_timestamps.profile() as p:
        y = x[1:, 2048:].copy()
    (op,) = without_timestamps._compiled.all()
    assert bool(op.plan.copies) == without_timestamps.context.facts.is_cpu
    assert names(p) == [SLICE1]
    np.testing.assert_array_equal(y.numpy()[0], np.arange(6144, 8192))


def test_a_shared_device_without_the_feature(device: dml.Device) -> None:
    gpu = device.wgpu_device
    plain = gpu.adapter.request_device_sync()
    shared = dml.Device.from_wgpu(plain)
    with shared.profile() as p:
        dml.cumulative_summation(shared.tensor(np.ones(8, np.float32)), 0)
    assert p.clock == "host"
    assert names(p) == [SUM]
    shared.close()


def test_ticks_are_scaled_by_the_adapters_period(
    opened: dml.Device, x: dml.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_timestamps(opened):
        pytest.skip(f"{opened.adapter.name} has no timestamps")

    def resolved(buffer: Any, offset: int, target: np.ndarray[Any, Any]) -> None:
        target.view(np.uint64)[:] = [1000, 1300]

    monkeypatch.setattr(type(opened.context.gpu), "timestamp_period", 83.5)
    with opened.profile() as p:
        dml.cumulative_summation(x, 0)
        monkeypatch.setattr(opened.context.transfers, "read", resolved)
        (call,) = p.calls
        monkeypatch.undo()
    assert call.start == 83500
    assert call.seconds == pytest.approx(300 * 83.5e-9)


def test_traffic_is_told_per_tensor(opened: dml.Device, x: dml.Tensor) -> None:
    desc = dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=0)
    with opened.profile() as p:
        opened.compile(desc)(x)
    assert p.calls[0].nbytes == sum(traffic(desc).values())
