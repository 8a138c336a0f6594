"""What may be bound to an operator: count, device, size, alignment, overlap; and the errors."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import wgpu

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.compiled import CompiledOperator

ERRORS: dict[str, tuple[type[Exception], int]] = {
    "InvalidDescError": (ValueError, 0x80070057),
    "UnsupportedError": (ValueError, 0x887A0004),
    "BindingError": (ValueError, 0x80070057),
    "IndexRangeError": (IndexError, 0x80070057),
    "DeviceError": (RuntimeError, 0x887A0004),
    "DeviceLostError": (dml.DeviceError, 0x887A0005),
    "OutOfMemoryError": (MemoryError, 0x8007000E),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_carry_directmls_codes(name: str) -> None:
    error = getattr(dml, name)
    also, hresult = ERRORS[name]
    assert issubclass(error, dml.DmlError)
    assert issubclass(error, also)
    assert error("a sentence").hresult == hresult


def test_the_base_of_all_errors_is_an_exception() -> None:
    assert dml.DmlError.__mro__[1] is Exception


def f32(*sizes: int, **more: Any) -> TensorDesc:
    return TensorDesc(T.FLOAT32, sizes, **more)


def copy_desc(source: TensorDesc, target: TensorDesc) -> dml.Slice1Desc:
    return dml.Slice1Desc(
        input_tensor=source,
        output_tensor=target,
        input_window_offsets=(0,) * source.rank,
        input_window_sizes=source.sizes,
        input_window_strides=(1,) * source.rank,
    )


def sum_desc(source: TensorDesc, target: TensorDesc | None = None) -> dml.CumulativeSummationDesc:
    return dml.CumulativeSummationDesc(
        input_tensor=source,
        output_tensor=source if target is None else target,
        axis=source.rank - 1,
        axis_direction=dml.AxisDirection.INCREASING,
        has_exclusive_sum=False,
    )


@pytest.fixture
def arena(device: dml.Device) -> dml.Tensor:
    """1 KiB of zeros to put tensors into."""
    desc = TensorDesc(T.UINT32, (256,), guaranteed_base_offset_alignment=256)
    return device.upload(desc, bytes(1024))


@pytest.fixture
def other_device(device: dml.Device) -> Iterator[dml.Device]:
    with dml.Device() as made:
        yield made


@pytest.mark.gpu
@pytest.mark.parametrize("count", [0, 2, 3])
def test_a_wrong_number_of_inputs_is_refused(device: dml.Device, count: int) -> None:
    op = device.compile(copy_desc(f32(8), f32(8)))
    tensors = [device.tensor(np.zeros(8, np.float32)) for _ in range(count)]
    with pytest.raises(dml.BindingError, match=rf"^SLICE1\b.*\b{count}\b"):
        op(*tensors)


@pytest.mark.gpu
def test_a_tensor_of_another_device_is_refused(
    device: dml.Device, other_device: dml.Device
) -> None:
    op = device.compile(copy_desc(f32(8), f32(8)))
    own, foreign = (d.tensor(np.ones(8, np.float32)) for d in (device, other_device))
    with pytest.raises(dml.BindingError, match=r"^SLICE1: input_tensor.*device"):
        op(foreign)
    with pytest.raises(dml.BindingError, match=r"^SLICE1: out(put_tensor)?\b.*device"):
        op(own, out=foreign)
    with pytest.raises(dml.BindingError, match="device"):
        dml.gather_nd(own, other_device.tensor(np.zeros((1, 1), np.int32)))


@pytest.mark.gpu
def test_a_tensor_that_is_too_small_is_refused(device: dml.Device) -> None:
    roomy = f32(8, total_tensor_size_in_bytes=64)
    small, right = device.empty(f32(8)), device.empty(roomy)
    with pytest.raises(dml.BindingError, match=r"^SLICE1: input_tensor.*\b32\b.*\b64\b"):
        device.compile(copy_desc(roomy, f32(8)))(small)
    with pytest.raises(dml.BindingError, match=r"^SLICE1: out(put_tensor)?\b.*\b32\b.*\b64\b"):
        device.compile(copy_desc(roomy, roomy))(right, out=small)
    with pytest.raises(dml.BindingError, match=r"^SLICE1: input_tensor.*7.*8"):
        device.compile(copy_desc(f32(8), f32(8)))(device.empty(f32(7)))


@pytest.mark.gpu
@pytest.mark.parametrize("offset", [4, 8, 17, -16])
def test_wrap_refuses_a_misaligned_offset(
    device: dml.Device, arena: dml.Tensor, offset: int
) -> None:
    error = dml.BindingError if offset > 0 else (dml.BindingError, dml.InvalidDescError)
    with pytest.raises(error, match=rf"{offset}\b"):
        device.wrap(arena.buffer, f32(4), offset)


@pytest.mark.gpu
def test_wrap_refuses_what_does_not_fit(device: dml.Device, arena: dml.Tensor) -> None:
    size = arena.buffer.size
    device.wrap(arena.buffer, f32(4), size - 16)
    with pytest.raises(dml.BindingError, match=rf"\b{size}\b"):
        device.wrap(arena.buffer, f32(5), size - 16)
    with pytest.raises(dml.BindingError):
        device.wrap(arena.buffer, f32(4), size)


@pytest.mark.gpu
def test_the_guaranteed_alignment_is_kept(device: dml.Device, arena: dml.Tensor) -> None:
    aligned = f32(8, guaranteed_base_offset_alignment=64)
    op = device.compile(copy_desc(aligned, f32(8)))
    op(device.wrap(arena.buffer, aligned, arena.offset + 64))
    with pytest.raises(dml.BindingError, match=r"\b64\b"):
        op(device.wrap(arena.buffer, f32(8), arena.offset + 16))
    with pytest.raises(dml.BindingError, match=r"\b64\b"):
        device.compile(copy_desc(f32(8), aligned))(
            device.tensor(np.ones(8, np.float32)),
            out=device.wrap(arena.buffer, f32(8), arena.offset + 32),
        )


@pytest.mark.gpu
@pytest.mark.parametrize("distance", [0, 16, 32, 48])
def test_overlap_is_refused_where_in_place_is_not_allowed(
    device: dml.Device, arena: dml.Tensor, distance: int
) -> None:
    source = device.wrap(arena.buffer, f32(16), arena.offset)
    target = device.wrap(arena.buffer, f32(16), arena.offset + distance)
    op = device.compile(copy_desc(f32(16), f32(16)))
    with pytest.raises(dml.BindingError, match=r"^SLICE1: out(put_tensor)?\b.*input_tensor"):
        op(source, out=target)
    with pytest.raises(dml.BindingError, match=r"^SLICE1: out(put_tensor)?\b.*input_tensor"):
        op(target, out=source)


@pytest.mark.gpu
@pytest.mark.parametrize("distance", [16, 32, 48])
def test_partial_overlap_is_never_allowed(
    device: dml.Device, arena: dml.Tensor, distance: int
) -> None:
    first = device.wrap(arena.buffer, f32(16), arena.offset)
    second = device.wrap(arena.buffer, f32(16), arena.offset + distance)
    op = device.compile(sum_desc(f32(16)))
    for source, target in ((first, second), (second, first)):
        with pytest.raises(dml.BindingError, match=r"^CUMULATIVE_SUMMATION: out(put_tensor)?\b"):
            op(source, out=target)


@pytest.mark.gpu
def test_regions_of_unequal_length_are_a_partial_overlap(
    device: dml.Device, arena: dml.Tensor
) -> None:
    short, long = f32(8), f32(8, total_tensor_size_in_bytes=64)
    op = device.compile(sum_desc(short, long))
    source, target = (device.wrap(arena.buffer, d, arena.offset) for d in (short, long))
    with pytest.raises(dml.BindingError, match=r"^CUMULATIVE_SUMMATION: out(put_tensor)?\b"):
        op(source, out=target)


@pytest.mark.gpu
def test_an_output_over_the_indices_is_refused(device: dml.Device, arena: dml.Tensor) -> None:
    one = TensorDesc(T.UINT32, (1,))
    desc = dml.GatherNdDesc(
        input_tensor=f32(8),
        indices_tensor=one,
        output_tensor=f32(1),
        input_dimension_count=1,
        indices_dimension_count=1,
    )
    indices = device.wrap(arena.buffer, one, arena.offset)
    target = device.wrap(arena.buffer, f32(1), arena.offset)
    with pytest.raises(dml.BindingError, match=r"^GATHER_ND: out(put_tensor)?\b.*indices_tensor"):
        device.compile(desc)(device.tensor(np.ones(8, np.float32)), indices, out=target)


@pytest.mark.gpu
def test_in_place_needs_equal_strides(device: dml.Device) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    op = device.compile(sum_desc(f32(2, 3), TensorDesc(T.FLOAT32, (2, 3), (1, 2))))
    t = device.tensor(x)
    with pytest.raises(dml.BindingError, match=r"^CUMULATIVE_SUMMATION: .*strides"):
        op(t, out=t)
    op = device.compile(sum_desc(f32(2, 3), TensorDesc(T.FLOAT32, (2, 3), (3, 1))))
    result = op(t, out=t)
    assert np.array_equal(np.asarray(t), np.cumsum(x, 1))
    assert np.array_equal(np.asarray(result), np.cumsum(x, 1))


@pytest.mark.gpu
def test_in_place_over_two_tensors_of_the_same_range(device: dml.Device) -> None:
    x = np.arange(16, dtype=np.float32)
    image = device.upload(TensorDesc(T.UINT8, (128,)), x.tobytes() * 2)
    source, target = (device.wrap(image.buffer, f32(16), image.offset + 64) for _ in range(2))
    device.compile(sum_desc(f32(16)))(source, out=target)
    assert image.tobytes() == x.tobytes() + np.cumsum(x, dtype=np.float32).tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("reverse", [False, True])
def test_disjoint_ranges_of_one_buffer_work(device: dml.Device, reverse: bool) -> None:
    x = np.arange(4, dtype=np.float32) + 1
    image = device.upload(TensorDesc(T.FLOAT32, (12,)), x.tobytes() * 3)
    parts = [device.wrap(image.buffer, f32(4), image.offset + 16 * n) for n in range(3)]
    source, target = (parts[2], parts[1]) if reverse else (parts[0], parts[1])
    device.compile(sum_desc(f32(4)))(source, out=target)
    expected = [*x, *np.cumsum(x), *x]
    assert image.numpy().tolist() == expected
    device.compile(copy_desc(f32(4), f32(4)))(source, out=parts[0] if reverse else parts[2])
    assert image.numpy().tolist() == expected


@pytest.mark.gpu
def test_one_tensor_may_be_two_inputs(device: dml.Device) -> None:
    indices = np.array([3, 1, 2, 0], np.uint32)
    t = device.tensor(indices.reshape(4, 1))
    desc = dml.GatherNdDesc(
        input_tensor=TensorDesc(T.UINT32, (4, 1)),
        indices_tensor=TensorDesc(T.UINT32, (4, 1)),
        output_tensor=TensorDesc(T.UINT32, (4, 1)),
        input_dimension_count=2,
        indices_dimension_count=2,
    )
    out = device.compile(desc)(t, t)
    assert out.numpy().ravel().tolist() == indices[indices].tolist()


@pytest.mark.gpu
def test_in_place_runs_follow_each_other(device: dml.Device) -> None:
    t = device.tensor(np.ones(100, np.int32))
    op = device.compile(sum_desc(TensorDesc(T.INT32, (100,))))
    expected = np.ones(100, np.int32)
    for _ in range(4):
        op(t, out=t)
        expected = np.cumsum(expected, dtype=np.int32)
    assert np.array_equal(t.numpy(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", dml.AxisDirection)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_ragged_lines_agree_wherever_they_are_written(
    device: dml.Device, dtype: str, direction: dml.AxisDirection
) -> None:
    """Into another buffer, in place, and back into the other with the call that is kept."""
    x = np.random.default_rng(3).integers(-1, 2, (301, 77)).astype(dtype)
    desc = TensorDesc(T.from_numpy(dtype), x.shape)
    op = device.compile(
        dml.CumulativeSummationDesc(
            input_tensor=desc, output_tensor=desc, axis=1, axis_direction=direction
        )
    )
    step = 1 if direction == dml.AxisDirection.INCREASING else -1
    expected = np.cumsum(x[:, ::step], 1, x.dtype)[:, ::step]
    given, out = device.tensor(x), device.empty(desc)
    for _ in range(2):
        assert np.array_equal(op(given, out=out).numpy(), expected)
        placed = device.tensor(x)
        assert np.array_equal(op(placed, out=placed).numpy(), expected)


@pytest.mark.gpu
def test_memory_that_calls_share_starts_as_zeros_and_grows(device: dml.Device) -> None:
    """Calls that were bound to the smaller one are bound anew, to the one that others use."""
    with dml.Device(device.adapter) as alone:

        def summed(count: int, size: int) -> tuple[CompiledOperator, dml.Tensor]:
            d = TensorDesc(T.INT32, (count,))
            op = alone.compile(dml.CumulativeSummationDesc(input_tensor=d, output_tensor=d, axis=0))
            op._executable.plan = replace(op.plan, shared={"status": size})
            return op, alone.tensor(np.ones(count, np.int32))

        def status() -> dml.Tensor:
            storage = alone.context._scratch["status"].storage
            return alone.wrap(storage.buffer, TensorDesc(T.INT32, (storage.size // 4,)))

        small, x = summed(60, 1 << 10)
        large, y = summed(70, 1 << 17)
        alone.tensor(np.full(1 << 14, -1, np.int32))  # its memory is free for reuse
        before = alone.memory.in_use
        out = small(x)
        assert alone.memory.in_use == before + 256 + (1 << 16)
        assert (status().nbytes, status().numpy().any()) == (1 << 16, False)
        also = large(y)
        assert (status().nbytes, status().numpy().any()) == (1 << 18, False)
        assert alone.memory.in_use == before + 768 + (1 << 18)
        assert small(x, out=out).numpy()[-1] == 60
        assert large(y, out=also).numpy()[-1] == 70
        (call,) = small._executable.calls.values()
        assert alone.context._scratch["status"] in call.held


@pytest.mark.gpu
def test_memory_is_not_reused_before_its_last_reader_has_run(device: dml.Device) -> None:
    results = []
    for n in range(20):
        x = device.tensor(np.full(64, n, np.int32))
        results.append(dml.cumulative_summation(x, 0))
        del x
    for n, result in enumerate(results):
        assert result.numpy()[-1] == 64 * n


@pytest.mark.gpu
def test_a_wrapped_buffer_outlives_the_tensor_it_came_from(device: dml.Device) -> None:
    x = np.arange(64, dtype=np.int32)
    first = device.tensor(x)
    second = device.wrap(first.buffer, first.desc, first.offset)
    del first
    gc.collect()
    others = [device.tensor(np.zeros(64, np.int32)) for _ in range(8)]
    assert np.array_equal(second.numpy(), x)
    assert all(not other.numpy().any() for other in others)


@pytest.mark.gpu
def test_a_tensor_lost_in_a_reference_cycle_leaves_the_device_usable(
    other_device: dml.Device,  # fresh: nothing else holds the buffer that is lost
) -> None:
    x = np.ones(8, np.float32)
    loop: list[Any] = [other_device.tensor(x)]
    loop.append(loop)
    del loop
    gc.collect()
    for _ in range(3):
        assert dml.cumulative_summation(other_device.tensor(x), 0).numpy()[-1] == 8


@pytest.mark.gpu
def test_a_tensor_owned_by_dml_cannot_be_bound_at_execution(device: dml.Device) -> None:
    owned = f32(8, flags=dml.TensorFlags.OWNED_BY_DML)
    with pytest.raises(dml.DmlError):
        device.compile(copy_desc(owned, f32(8)))(device.tensor(np.ones(8, np.float32)))


@pytest.mark.gpu
@pytest.mark.parametrize("size", [28, 36, 0])
def test_upload_wants_exactly_the_tensors_bytes(device: dml.Device, size: int) -> None:
    with pytest.raises((dml.BindingError, dml.InvalidDescError), match=rf"\b{size}\b.*\b32\b"):
        device.upload(f32(8), bytes(size))


def test_an_adapter_nobody_has_is_a_device_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dml.DeviceError):
        dml.Device("no adapter is called this")
    monkeypatch.setenv("DMLGPU_ADAPTER", "no adapter is called this")
    with pytest.raises(dml.DeviceError, match="no adapter is called this"):
        dml.Device()


@pytest.mark.gpu
def test_a_device_validates_against_its_own_level(device: dml.Device) -> None:
    desc = copy_desc(f32(1, 1, 2, 2), f32(1, 1, 2, 2))
    device.compile(desc)
    old = dml.Device(feature_level=dml.FeatureLevel.FL_2_0)
    with old, pytest.raises(dml.UnsupportedError, match=r"^SLICE1.*FL_2_1.*FL_2_0"):
        old.compile(desc)


@pytest.mark.gpu
def test_buffers_and_devices_made_elsewhere(device: dml.Device) -> None:
    foreign = wgpu.gpu.request_adapter_sync().request_device_sync()
    shared = dml.Device.from_wgpu(foreign)
    x = np.arange(8, dtype=np.float32)
    usage = wgpu.BufferUsage
    buffer = foreign.create_buffer_with_data(
        data=x, usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
    )
    out = shared.compile(sum_desc(f32(4)))(shared.wrap(buffer, f32(4), 16))
    assert out.numpy().tolist() == np.cumsum(x[4:]).tolist()
    with pytest.raises(dml.BindingError, match="STORAGE"):
        shared.wrap(foreign.create_buffer(size=64, usage=usage.COPY_DST), f32(4))
    with pytest.raises(dml.BindingError):
        device.compile(sum_desc(f32(4)))(shared.wrap(buffer, f32(4)))
