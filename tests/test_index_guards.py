"""No index value reads outside its tensor: guard bytes lie around every tensor and are watched.

Inputs never hold such a byte, so an output that does has read what it must not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import oracle

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.desc.cached import Cache

pytestmark = pytest.mark.gpu

GUARD = b"\xa5"
AROUND = 4096  # bytes on each side
INDEX_TYPES = (T.INT32, T.UINT32, T.INT64, T.UINT64)
DATA_TYPES = (T.UINT8, T.FLOAT16, T.INT32, T.FLOAT64)

# input sizes, index sizes, real dimensions of both, batch dimensions, output strides
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, int], int, Any]] = {
    "blocks": ((6, 64), (64, 1), (2, 2), 0, None),
    "odd blocks": ((6, 5, 7), (1, 64, 1), (3, 2), 0, None),
    "elements": ((6, 5), (64, 2), (2, 2), 0, None),
    "gaps": ((6, 3), (64, 1), (2, 2), 0, (31, 7)),
    "batches": ((3, 6, 16), (3, 21, 1), (3, 3), 1, None),
    "batches of elements": ((2, 3, 6), (2, 3, 1), (3, 3), 2, None),
}


@pytest.fixture(scope="module", params=["trusted", "checked"])
def device(device: dml.Device, request: pytest.FixtureRequest) -> Iterator[dml.Device]:
    """Kernels without wgpu's checks of indices, and with them."""
    with dml.Device(device.adapter) as made:
        made.context.gpu.checked = request.param == "checked"
        yield made


def edges(index_type: T, count: int, seed: int) -> oracle.Array:
    """Values in range, beside it, and at the ends of the type."""
    dtype = oracle.NUMPY_TYPES[index_type]
    info = np.iinfo(dtype)
    near = [v for v in range(-9, 10) if v >= info.min]
    far = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
    far = [v for v in (*far, *(-v for v in far)) if info.min <= v <= info.max]
    choice = np.array([*near, *far, info.min, info.max], dtype)
    return np.random.default_rng(seed).choice(choice, count)


def guarded(device: dml.Device, desc: TensorDesc, image: bytes) -> tuple[dml.Tensor, dml.Tensor]:
    """A tensor with guard bytes on both sides, and all of its buffer."""
    padding = GUARD * (desc.total_tensor_size_in_bytes - len(image))  # up to three bytes
    everything = GUARD * AROUND + image + padding + GUARD * AROUND
    arena = device.upload(TensorDesc(T.UINT8, (len(everything),)), everything)
    return device.wrap(arena.buffer, desc, AROUND), arena


def described(layout: str, data_type: T, index_type: T) -> Any:
    sizes, index_sizes, counts, batch, strides = LAYOUTS[layout]
    out = oracle.gather_nd_sizes(sizes, index_sizes, *counts, batch)
    fields: dict[str, Any] = {
        "input_tensor": TensorDesc(data_type, sizes),
        "indices_tensor": TensorDesc(index_type, index_sizes),
        "output_tensor": TensorDesc(data_type, out, strides),
        "input_dimension_count": counts[0],
        "indices_dimension_count": counts[1],
    }
    if batch:
        return dml.GatherNd1Desc(**fields, batch_dimension_count=batch)
    return dml.GatherNdDesc(**fields)


def data(desc: TensorDesc) -> oracle.Array:
    """Bytes 1 to 100, so never a guard."""
    count = desc.element_count * oracle.item_size(desc)
    raw = (np.arange(count) % 100 + 1).astype(np.uint8)
    return raw.view(oracle.bits_of(desc.data_type)).reshape(desc.sizes)


def check(device: dml.Device, layout: str, data_type: T, index_type: T) -> None:
    desc = described(layout, data_type, index_type)
    x = data(desc.input_tensor)
    count = desc.indices_tensor.element_count
    indices = edges(index_type, count, count).reshape(desc.indices_tensor.sizes)
    made = [
        guarded(device, desc.input_tensor, x.tobytes()),
        guarded(device, desc.indices_tensor, indices.tobytes()),
        guarded(device, desc.output_tensor, bytes(desc.output_tensor.total_tensor_size_in_bytes)),
    ]
    before = [arena.tobytes() for _, arena in made]
    result = device.compile(desc)(made[0][0], made[1][0], out=made[2][0])
    got = oracle.read(result.tobytes(), desc.output_tensor, x.dtype)
    batch = getattr(desc, "batch_dimension_count", 0)
    counts = (desc.input_dimension_count, desc.indices_dimension_count)
    assert GUARD not in got.tobytes()
    np.testing.assert_array_equal(got, oracle.gather_nd(x, indices, *counts, batch))
    after = [arena.tobytes() for _, arena in made]
    assert after[:2] == before[:2]
    end = AROUND + desc.output_tensor.total_tensor_size_in_bytes
    assert after[2][:AROUND] == GUARD * AROUND
    assert after[2][end : end + AROUND] == GUARD * AROUND


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index_type", INDEX_TYPES, ids=lambda t: t.name)
def test_no_value_reaches_a_guard(device: dml.Device, layout: str, index_type: T) -> None:
    check(device, layout, DATA_TYPES[INDEX_TYPES.index(index_type)], index_type)
    check(device, layout, DATA_TYPES[-1 - INDEX_TYPES.index(index_type)], index_type)


@pytest.fixture(scope="module")
def narrow(device: dml.Device) -> Iterator[dml.Device]:
    """A device that binds no more than 1 KiB at once, as if every tensor were larger than that."""
    with dml.Device(device.adapter, debug=True) as made:
        made.context.gpu.max_binding = 1024
        yield made


BIG = dml.GatherNdDesc(
    input_tensor=TensorDesc(T.FLOAT32, (600, 1)),
    indices_tensor=TensorDesc(T.INT64, (300, 1)),
    output_tensor=TensorDesc(T.FLOAT32, (300, 1)),
    input_dimension_count=2,
    indices_dimension_count=2,
)


def test_values_in_tensors_larger_than_a_binding(
    narrow: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clamped as in small ones, and no guard is read, though three windows lie side by side."""
    monkeypatch.setattr(narrow.context, "debug", False)
    monkeypatch.setattr(narrow, "_compiled", Cache(8))
    x = data(BIG.input_tensor)
    indices = np.resize(edges(T.INT64, 40, 7) * 60, (300, 1))
    indices[-20:, 0] = np.arange(590, 610)
    source, arena = guarded(narrow, BIG.input_tensor, x.tobytes())
    chosen, _ = guarded(narrow, BIG.indices_tensor, indices.tobytes())
    op = narrow.compile(BIG)
    out = op(source, chosen)
    got = oracle.read(out.tobytes(), BIG.output_tensor, x.dtype)
    np.testing.assert_array_equal(got, oracle.gather_nd(x, indices, 2, 2))
    assert GUARD not in got.tobytes()
    assert arena.tobytes().count(GUARD) == 2 * AROUND
    found = [b for _, shader, _ in narrow.context._pipelines.values() for b in shader.bindings]
    (name,) = (n for n, field in op.plan.dispatches[0].bindings.items() if field == "input_tensor")
    assert {b.window for b in found if b.name == name} == {0, 1, 2}


@pytest.mark.parametrize("place", [0, 1, 127, 128, 255, 299])
@pytest.mark.parametrize("value", [600, -601, 2**40, -(2**63)])
def test_debug_checks_indices_in_every_window(narrow: dml.Device, place: int, value: int) -> None:
    indices = np.zeros((300, 1), np.int64)
    indices[place:] = value
    x = narrow.tensor(np.ones((600, 1), np.float32))
    narrow.compile(BIG)(x, narrow.tensor(indices))
    with pytest.raises(dml.IndexRangeError, match=rf"^GATHER_ND: .*\[{place}, 0\] is {value};"):
        narrow.wait()
    narrow.wait()


@pytest.fixture(scope="module")
def debug_device(device: dml.Device) -> Iterator[dml.Device]:
    with dml.Device(device.adapter, debug=True) as made:
        yield made


@pytest.mark.parametrize("index_type", INDEX_TYPES, ids=lambda t: t.name)
def test_debug_names_position_and_value_in_a_batch(debug_device: dml.Device, index_type: T) -> None:
    indices = np.zeros((3, 4, 1), oracle.NUMPY_TYPES[index_type])
    indices[1, 2, 0], indices[2, 0, 0] = 5, 9
    x = debug_device.tensor(np.zeros((3, 5, 2), np.float32))
    dml.gather_nd1(x, debug_device.tensor(indices), batch_dimension_count=1)
    low = 0 if index_type.name.startswith("U") else -5
    with pytest.raises(dml.IndexRangeError) as caught:
        debug_device.wait()
    assert str(caught.value) == (
        "GATHER_ND1: indices_tensor[1, 2, 0] is 5; it selects from a dimension of size 5 and must "
        f"be in [{low}, 5)"
    )


def test_debug_reads_indices_where_they_lie(debug_device: dml.Device) -> None:
    """Guard bytes around the indices are no indices; one behind the tensor's end stays unread."""
    desc = described("elements", T.FLOAT32, T.INT32)
    x = debug_device.tensor(np.zeros((6, 5), np.float32))
    good = np.zeros(desc.indices_tensor.sizes, np.int32)
    indices, _ = guarded(debug_device, desc.indices_tensor, good.tobytes())
    assert not debug_device.compile(desc)(x, indices).numpy().any()
    good[63, 1] = 5
    indices, _ = guarded(debug_device, desc.indices_tensor, good.tobytes())
    with pytest.raises(dml.IndexRangeError, match=r"\[63, 1\] is 5;.*\[-5, 5\)"):
        debug_device.compile(desc)(x, indices).numpy()


def test_debug_reports_come_with_the_next_read_of_anything(debug_device: dml.Device) -> None:
    x = debug_device.tensor(np.arange(5, dtype=np.float32))
    bad, worse = (debug_device.tensor(np.array([[v]], np.int32)) for v in (7, 8))
    dml.gather_nd(x, bad)
    debug_device.flush()  # submits; only waiting can know
    dml.gather_nd(x, worse)
    for value in (7, 8):
        with pytest.raises(dml.IndexRangeError, match=rf"is {value};"):
            x.numpy()
    assert x.numpy().tolist() == [0, 1, 2, 3, 4]


def test_debug_of_a_shared_device(device: dml.Device) -> None:
    shared = dml.Device.from_wgpu(device.wgpu_device, debug=True)
    x = shared.tensor(np.arange(5, dtype=np.float32))
    with pytest.raises(dml.IndexRangeError, match=r"is 7;"):
        dml.gather_nd(x, shared.tensor(np.array([[7]], np.int32))).tobytes()
    shared.close()
