"""NumPy oracles on raw bytes: take the logical array out of a byte image, compute, put it back.

Every function follows the formulas of the DirectML operator pages as literally as NumPy allows.
Strides are worked out from the description's own fields, not with the library's properties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dmlgpu as dml
from dmlgpu import DataType

Array = npt.NDArray[Any]

NUMPY_TYPES: dict[DataType, np.dtype[Any]] = {
    DataType.FLOAT32: np.dtype("<f4"),
    DataType.FLOAT16: np.dtype("<f2"),
    DataType.UINT32: np.dtype("<u4"),
    DataType.UINT16: np.dtype("<u2"),
    DataType.UINT8: np.dtype("<u1"),
    DataType.INT32: np.dtype("<i4"),
    DataType.INT16: np.dtype("<i2"),
    DataType.INT8: np.dtype("<i1"),
    DataType.FLOAT64: np.dtype("<f8"),
    DataType.UINT64: np.dtype("<u8"),
    DataType.INT64: np.dtype("<i8"),
}
FLOATS = (DataType.FLOAT32, DataType.FLOAT16)


def item_size(desc: dml.TensorDesc) -> int:
    return NUMPY_TYPES[desc.data_type].itemsize


def bits_of(data_type: DataType) -> np.dtype[Any]:
    """The unsigned type of the same width, so that comparing values compares bits."""
    return np.dtype(f"<u{NUMPY_TYPES[data_type].itemsize}")


def strides_of(sizes: Sequence[int], strides: Sequence[int] | None) -> tuple[int, ...]:
    if strides is not None:
        return tuple(strides)
    return tuple(int(np.prod(sizes[d + 1 :], dtype=object)) for d in range(len(sizes)))


def minimum_size(data_type: DataType, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    last = sum((n - 1) * s for n, s in zip(sizes, strides_of(sizes, strides), strict=True))
    return ((last + 1) * NUMPY_TYPES[data_type].itemsize + 3) // 4 * 4


def addresses(sizes: Sequence[int], strides: Sequence[int] | None) -> npt.NDArray[np.int64]:
    """The element address of every coordinate, shaped like the tensor."""
    result = np.zeros(sizes, np.int64)
    for d, stride in enumerate(strides_of(sizes, strides)):
        along = [1] * len(sizes)
        along[d] = sizes[d]
        result += (np.arange(sizes[d], dtype=np.int64) * stride).reshape(along)
    return result


def read(data: bytes, desc: dml.TensorDesc, dtype: np.dtype[Any] | None = None) -> Array:
    """The logical array that lies in data as desc says."""
    dtype = NUMPY_TYPES[desc.data_type] if dtype is None else dtype
    flat = np.frombuffer(data, dtype, count=len(data) // dtype.itemsize)
    return flat[addresses(desc.sizes, desc.strides)]


def write(image: bytearray, desc: dml.TensorDesc, values: Array) -> None:
    """Puts a logical array into a byte image; bytes that are not elements stay."""
    dtype = NUMPY_TYPES[desc.data_type]
    assert values.shape == tuple(desc.sizes)
    flat = np.frombuffer(image, dtype, count=len(image) // dtype.itemsize)
    flat[addresses(desc.sizes, desc.strides)] = values.view(dtype)


def random_bytes(size: int, seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def slice_(x: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Array:
    steps = zip(offsets, sizes, strides, strict=True)
    return x[np.ix_(*(first + step * np.arange(count) for first, count, step in steps))]


def slice1(
    x: Array,
    offsets: Sequence[int],
    window_sizes: Sequence[int],
    strides: Sequence[int],
    output_sizes: Sequence[int],
) -> Array:
    windows = zip(offsets, window_sizes, strides, strict=True)
    starts = [first if step > 0 else first + window - 1 for first, window, step in windows]
    return slice_(x, starts, output_sizes, strides)


def coordinate(value: int, size: int) -> int:
    """A negative value counts from the end; what is still outside is clamped."""
    if value < 0:
        value += size
    return min(max(value, 0), size - 1)


def gather_nd(x: Array, indices: Array, real_x: int, real_indices: int, batch: int = 0) -> Array:
    rank = x.ndim
    data = x.reshape(x.shape[rank - real_x :])
    tuples = indices.reshape(indices.shape[rank - real_indices :])
    positions, per_tuple = tuples.shape[:-1], tuples.shape[-1]
    indexed = data.shape[batch : batch + per_tuple]
    out = np.empty(positions + data.shape[batch + per_tuple :], x.dtype)
    for p in np.ndindex(positions):
        k = tuple(coordinate(int(v), n) for v, n in zip(tuples[p], indexed, strict=True))
        out[p] = data[p[:batch] + k]
    return out.reshape((1,) * (rank - out.ndim) + out.shape)


def gather_nd_sizes(
    x_sizes: Sequence[int], index_sizes: Sequence[int], real_x: int, real_indices: int, batch: int
) -> tuple[int, ...]:
    """The output's sizes: index positions, then the input dimensions kept whole."""
    rank = len(x_sizes)
    kept = real_x - batch - index_sizes[-1]
    natural = (*index_sizes[rank - real_indices : -1], *x_sizes[rank - kept :])
    return (1,) * (rank - len(natural)) + natural


def scan(
    x: Array,
    axis: int,
    *,
    decreasing: bool,
    exclusive: bool,
    product: bool,
    accumulator: npt.DTypeLike,
) -> Array:
    """The running sum or product in the accumulator's type, not rounded to the output's."""
    if decreasing:
        x = np.flip(x, axis)
    with np.errstate(all="ignore"):
        running = (np.cumprod if product else np.cumsum)(x, axis=axis, dtype=accumulator)
    if exclusive:
        first = np.full_like(np.take(running, [0], axis), 1 if product else 0)
        but_last = np.take(running, np.arange(running.shape[axis] - 1), axis)
        begun = first * but_last if product else first + but_last  # no sum is -0.0
        running = np.concatenate([first, begun], axis)
    return np.flip(running, axis) if decreasing else running


def assert_scan_close(
    out: Array, x: Array, axis: int, *, decreasing: bool, exclusive: bool, product: bool
) -> None:
    """Within n * eps of FLOAT32 of a float64 reference; FLOAT16 then rounds exactly once.

    Rounding is monotonic, so it is enough to round both ends of the interval. Denormal results
    have no eps, each step is off by as much as the least of them; and WGSL may flush them to zero.
    """
    how = {"decreasing": decreasing, "exclusive": exclusive, "product": product}
    wide = x.astype(np.float64)
    exact = scan(wide, axis, accumulator=np.float64, **how)
    scale = np.abs(exact) if product else scan(np.abs(wide), axis, accumulator=np.float64, **how)
    exact = np.clip(exact, -1e300, 1e300)  # beyond any FLOAT32, and no infinity minus infinity
    single = np.finfo(np.float32)
    slack = x.shape[axis] * single.eps * np.minimum(scale, 1e300)
    denormal = np.abs(exact) < single.tiny
    slack[denormal] += x.shape[axis] * float(single.smallest_subnormal)
    with np.errstate(over="ignore"):
        low, high = (exact - slack).astype(out.dtype), (exact + slack).astype(out.dtype)
    flushed = (out == 0) & (np.abs(exact) - slack < np.finfo(out.dtype).tiny)
    bad = ~((low <= out) & (out <= high) | flushed)
    where = np.argwhere(bad)
    assert not where.size, (
        f"{len(where)} of {out.size} wrong, first at {tuple(where[0])}: "
        f"got {out[tuple(where[0])]!r}, reference {exact[tuple(where[0])]!r}"
    )


def assert_same_values(out: Array, exact: Array) -> None:
    """Equal after one rounding of the exact values; a zero of either sign for denormal ones."""
    with np.errstate(over="ignore"):
        want = exact.astype(out.dtype)
    bad = (out != want) & ~((out == 0) & (np.abs(exact) < np.finfo(out.dtype).tiny))
    where = np.argwhere(bad)
    assert not where.size, (
        f"{len(where)} of {out.size} wrong, first at {tuple(where[0])}: "
        f"got {out[tuple(where[0])]!r}, expected {want[tuple(where[0])]!r}"
    )


def converted(x: Array, dtype: Any) -> Array:
    """Numbers in another type: floats truncate and saturate, NaN is 0; integers keep low bits."""
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        if x.dtype.kind != "f" or dtype.kind == "f":
            return x.astype(dtype)
        info = np.iinfo(dtype)
        wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300))
        low, high = wide <= float(info.min), wide >= float(info.max)
        made = np.where(low | high, 0.0, wide).astype(dtype)
        return np.where(high, info.max, np.where(low, info.min, made)).astype(dtype)


def assert_close(out: Array, want: Array, ulps: float, least: float = 0.0) -> None:
    """Integers equal; floats within `ulps` of the exact value, or `least` absolute."""
    if out.dtype.kind != "f":
        np.testing.assert_array_equal(out, want.astype(out.dtype))
        return
    with np.errstate(all="ignore"):
        rounded = want.astype(out.dtype)
        slack = ulps * np.spacing(np.abs(rounded)).astype(np.float64) + least
        near = np.abs(out.astype(np.float64) - want) <= slack + np.abs(rounded - want)
        flushed = (out == 0) & (np.abs(want) < np.finfo(out.dtype).tiny)
    bad = ~(near | (out == rounded) | flushed | (np.isnan(out) & np.isnan(rounded)))
    assert not bad.any(), (out[bad][0], want[bad][0], int(bad.sum()))


def assert_same_elements(actual: bytes, desc: dml.TensorDesc, expected: Array) -> None:
    """Bit for bit; expected holds the output's elements, of any type of the same width."""
    bits = bits_of(desc.data_type)
    got = read(actual, desc, bits)
    want = np.ascontiguousarray(expected).view(bits).reshape(tuple(desc.sizes))
    where = np.argwhere(got != want)
    assert not where.size, (
        f"{len(where)} of {got.size} elements differ, first at {tuple(where[0])}: "
        f"got {got[tuple(where[0])]:#x}, expected {want[tuple(where[0])]:#x}"
    )


def assert_refused(validate: Callable[[], None], operator: str, error: type[dml.DmlError]) -> None:
    """Raises exactly this class, with one sentence that begins with what was refused."""
    with pytest.raises(dml.DmlError) as caught:
        validate()
    message = str(caught.value)
    assert type(caught.value) is error, f"{caught.type.__name__}: {message}"
    assert re.match(rf"({operator}|TensorDesc)\b\W", message), message
    assert "\n" not in message
    assert not message.endswith("."), message
