"""Creation of tensors: constants and sequences are made on the GPU, the rest is uploaded.

Arguments have NumPy's names and places, and beside them the standard's names.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from dmlgpu.array import sequences
from dmlgpu.array.promotion import (
    BOOL,
    DEFAULTS,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    DType,
    data_type_of,
    dtype_of,
    fits,
    integer_holding,
    is_integer,
    is_number,
    kind_of,
)
from dmlgpu.array.sequences import Band, Line
from dmlgpu.array.uploads import host_cast
from dmlgpu.desc.tensor import MAX_RANK
from dmlgpu.desc.values import as_index
from dmlgpu.desc.views import axis_of, packed, shape_of
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, shown
from dmlgpu.functions import default_device, device_of
from dmlgpu.interop import imported
from dmlgpu.tensor import Tensor

Shape = int | Sequence[int]
MOST_PLACES = 2**32 - 1  # that a word counts
SMALL = (
    1 << 16
)  # bytes of a sequence below which an upload costs less than another call of a kernel


def _device(device: Any) -> Device:
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise InvalidTypeError(f"device is {shown(device)}; it must be a Device or None")
    return device


def check_order(what: str, order: Any) -> None:
    """Raises for an order of elements that tensors do not have; NumPy's A and K leave it open."""
    if order not in (None, "C", "A", "K"):
        raise InvalidTypeError(f"{what}: order is {shown(order)}; a tensor has no other than 'C'")


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Device | None = None,
    copy: bool | None = None,
) -> Tensor:
    """A tensor of numbers, lists, arrays or another tensor, which is itself where nothing changes.

    Python numbers become float32, int64 or bool; arrays keep their type.
    """
    if order is not None:
        check_order("asarray", order)
    if not isinstance(a, Tensor):
        if copy is False:
            raise InvalidDescError("asarray: copy is False; what is not on the GPU must be copied")
        return _device(device).tensor(a, dtype)
    wanted = a.dtype if dtype is None else dtype_of("asarray: dtype", dtype)
    moves = device is not None and device is not a.device
    if copy is False and (moves or wanted != a.dtype):
        raise InvalidDescError(f"asarray: copy is False; {a.dtype} to {wanted} needs a copy")
    here = a.to_device(_device(device)) if moves else a
    return here.astype(wanted, copy=bool(copy) and not moves)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A tensor of one dimension at least, whose elements lie side by side."""
    x = asarray(a, dtype, device=device)
    x = x.reshape(1) if not x.ndim else x
    return x if not x.size or x.layout.is_contiguous else x.copy()


def copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    """A packed tensor of its own with the same elements."""
    check_order("copy", order)
    return asarray(a, copy=True)


def is_host_float64(x: Any) -> bool:
    """Whether a value is an array of float64 in host memory, as NumPy's functions make them."""
    dtype = getattr(x, "dtype", None)  # which NumPy would take for float64 if there is none
    return not isinstance(x, Tensor) and dtype is not None and dtype == FLOAT64


def computed(x: Any, device: Device) -> Tensor:
    """A tensor of what a function computes with: float64 in host memory is rounded to float32."""
    return asarray(x, FLOAT32 if is_host_float64(x) else None, device=device)


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    device: Device | None = None,
) -> Tensor:
    """NumPy's name for `asarray` that copies, of `ndmin` dimensions at least."""
    check_order("array", order)
    x = asarray(object, dtype, device=device, copy=True if copy else None)
    least = as_index("array: ndmin", ndmin)
    return x.reshape((1,) * (least - x.ndim) + x.shape) if least > x.ndim else x


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of what another library exports; tensors of a device need no export."""
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("from_dlpack: copy is False; what is not on the GPU must be copied")
    return _device(device).tensor(imported(x))


def full(
    shape: Shape,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Device | None = None,
) -> Tensor:
    """One number everywhere."""
    check_order("full", order)
    return _full("full", shape, fill_value, dtype, device)


def _full(name: str, shape: Shape, fill_value: Any, dtype: Any, device: Device | None) -> Tensor:
    sizes = shape_of(name, (shape,))
    if not is_number(fill_value):
        source = asarray(fill_value, dtype, device=device)
        return source.broadcast_to(sizes).copy()
    if dtype is None:
        wanted = DEFAULTS[kind_of(fill_value)]
        if wanted == INT64:
            wanted = _holding((fill_value,))
    else:
        wanted = dtype_of(f"{name}: dtype", dtype)
    return _device(device).full(sizes, wanted, fill_value)


def zeros(
    shape: Shape, dtype: Any = None, order: str | None = "C", *, device: Device | None = None
) -> Tensor:
    """Zeros, of float32 unless said."""
    check_order("zeros", order)
    return _full("zeros", shape, 0, FLOAT32 if dtype is None else dtype, device)


def ones(
    shape: Shape, dtype: Any = None, order: str | None = "C", *, device: Device | None = None
) -> Tensor:
    """Ones, of float32 unless said."""
    check_order("ones", order)
    return _full("ones", shape, 1, FLOAT32 if dtype is None else dtype, device)


def empty(
    shape: Shape, dtype: Any = None, order: str | None = "C", *, device: Device | None = None
) -> Tensor:
    """A tensor whose elements may be anything; of bool, zeros."""
    check_order("empty", order)
    sizes = shape_of("empty", (shape,))
    wanted = FLOAT32 if dtype is None else dtype_of("empty: dtype", dtype)
    return uninitialised(sizes, wanted, _device(device))


def uninitialised(sizes: tuple[int, ...], dtype: DType, device: Device) -> Tensor:
    """Room for elements; bytes of bool must be 0 or 1, so they are filled."""
    if 0 in sizes:
        return Tensor.without_elements(device, sizes, dtype)
    if dtype == BOOL:
        return device.full(sizes, dtype, False)
    return device.empty(packed(data_type_of(dtype), sizes or (1,))).marked(sizes, dtype)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Tensor:
    """One number everywhere, in the shape and the type of `a` unless others are given."""
    x, on = asarray(a), device or device_of(a, fill_value)
    wanted = x.dtype if dtype is None else dtype
    return full(x.shape if shape is None else shape, fill_value, wanted, order, device=on)


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Tensor:
    """Zeros in the shape and the type of `a` unless others are given."""
    return full_like(a, 0, dtype, order, subok, shape, device=device)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Tensor:
    """Ones in the shape and the type of `a` unless others are given."""
    return full_like(a, 1, dtype, order, subok, shape, device=device)


def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Tensor:
    """A tensor of the shape and the type of another, unless others are given, of any elements."""
    x = asarray(prototype)
    wanted = x.dtype if dtype is None else dtype
    return empty(x.shape if shape is None else shape, wanted, order, device=device or x.device)


def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Device | None = None,
) -> Tensor:
    """Numbers from `start` to before `stop`; of int64 where all three are integers.

    One number alone is `stop`, and they start from 0. Large ones are made on the device. They have
    NumPy's bits: integers wrap, and floats are calculated as float64 and rounded once.
    """
    if stop is None:
        start, stop = 0, start
    if stop is None:
        raise InvalidTypeError("arange: stop is missing")
    start = 0 if start is None else start
    wanted = None if dtype is None else dtype_of("arange: dtype", dtype)
    made = _counted(start, stop, step, wanted, _device(device))
    if made is not None:
        return made
    try:
        # NumPy makes float64 of these, for its own steps are int64.
        is_large = all(map(is_integer, (start, stop, step))) and stop > 2**63 > step > 0 <= start
        steps_in: Any = UINT64 if is_large else None
        values = np.arange(start, stop, step, dtype=steps_in)
    except (ZeroDivisionError, ValueError, TypeError) as error:
        raise InvalidDescError(f"arange: {error}") from None
    if wanted is None:
        ends = (values.min(), values.max()) if values.size else ()
        wanted = FLOAT32 if values.dtype.kind == "f" else _holding(map(int, ends))
    return _device(device).tensor(host_cast(values, wanted))


def _holding(numbers: Iterable[int]) -> DType:
    """The type of integers that are not said to have another."""
    return integer_holding(numbers) or UINT64


def _counted(start: Any, stop: Any, step: Any, wanted: DType | None, on: Device) -> Tensor | None:
    """What `arange` makes on a device; None where that is for NumPy."""
    given = [_number(x) for x in (start, stop, step)]
    if None in given or not given[2] or wanted == BOOL:
        return None
    start, stop, step = given
    length = (stop - start) / step
    if not SMALL / (wanted or FLOAT32).itemsize <= length < MOST_PLACES:
        return None
    count = math.ceil(length)
    if all(x.__class__ is int for x in given):
        end = start + (count - 1) * step
        is_large = stop > 2**63 > step > 0 <= start  # of uint64, where NumPy's own steps are int64
        if not all(fits(n, UINT64 if is_large else INT64) for n in given):
            return None
        wanted = _holding((start, end)) if wanted is None else wanted
        if wanted.kind != "f":
            return _made(sequences.integers(count, wanted, start, step), on)
        if max(abs(start), abs(end), abs(step)) >> 53:
            return None
    first, second = float(start), float(start + step)
    each = second - first  # as NumPy finds it again from the first two
    if first + each != second:
        return None
    wanted = FLOAT32 if wanted is None else wanted
    line = Line(count, first, each, first, first + (count - 1) * each)
    if wanted.kind != "f" and min(line.first, line.last) < 0:  # NumPy rounds these toward 0
        return None
    return _made(line.sequence(wanted), on)


def _number(x: Any) -> Any:
    """A number that NumPy calculates with as with int64 or float64, as Python's; else None."""
    if isinstance(x, (np.float64, np.int64)):
        x = x.item()
    return x if x.__class__ in (int, float) and abs(x) <= sequences.FAR else None


def _made(sequence: sequences.Sequence | None, on: Device) -> Tensor | None:
    """A sequence, by the kernel of the first one like it."""
    if sequence is None:
        return None
    known = on.remembered[sequence.form]
    if known is None:
        known = (sequence, on.internal(sequence))
        on.remember(sequence.form, known)
    first, made_by = known
    if first == sequence:
        made: Tensor = made_by()
        return made
    out = on.empty(sequence.output)
    made_by.once(out, sequence.values)
    return out


@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Tensor: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: Any = None,
    axis: int = 0,
    device: Device | None = None,
) -> tuple[Tensor, float]: ...
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Any:
    """`num` numbers from `start` to `stop` at equal distances; with `retstep`, the distance too.

    They have NumPy's bits: they are calculated as float64 and rounded once, integers down, on the
    device where they are many. Both ends are exact.
    """
    wanted = FLOAT32 if dtype is None else dtype_of("linspace: dtype", dtype)
    axis_of("linspace", axis, 1)
    on = device_of(device, start, stop) if device is None else _device(device)
    try:
        if any(isinstance(x, Tensor) and x.ndim for x in (start, stop)):
            raise TypeError("start and stop must be numbers, or tensors without dimensions")
        first, last = (x.item() if isinstance(x, Tensor) else x for x in (start, stop))
        count = operator.index(num)
        made = _spaced(first, last, count, endpoint, wanted, on)
        if made is None:
            values = np.linspace(first, last, count, endpoint=endpoint)
    except (ValueError, TypeError) as error:
        raise InvalidDescError(f"linspace: {error}") from None
    if made is None:
        values = np.floor(values) if wanted.kind in "iu" else values
        made = on.tensor(host_cast(values, wanted))
    if not retstep:
        return made
    steps = count - bool(endpoint)
    return made, (float(last) - float(first)) / steps if steps > 0 else float("nan")


def _spaced(
    start: Any, stop: Any, count: int, endpoint: bool, wanted: DType, on: Device
) -> Tensor | None:
    """What `linspace` makes on a device; None where that is for NumPy."""
    given = [_number(x) for x in (start, stop)]
    is_large = count > 1 and SMALL / wanted.itemsize <= count < MOST_PLACES
    if None in given or not is_large or wanted == BOOL:
        return None
    first, last, steps = float(given[0]), float(given[1]), count - bool(endpoint)
    step = (last - first) / steps
    end = last if endpoint else (count - 1) * step + first
    return _made(Line(count, first, step, 0.0 * step + first, end).sequence(wanted), on)


def eye(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Device | None = None,
) -> Tensor:
    """Ones on the diagonal `k` columns to the right of the main one, zeros elsewhere."""
    check_order("eye", order)
    wanted = FLOAT32 if dtype is None else dtype_of("eye: dtype", dtype)
    sizes = shape_of("eye", (N, N if M is None else M))
    on, k = _device(device), as_index("eye: k", k)
    if 0 in sizes:
        return Tensor.without_elements(on, sizes, wanted)
    one = True if wanted == BOOL else 1
    return _banded(Band.of(wanted, sizes, one, k, k + 1), on, sizes, wanted)


def identity(n: int, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A square matrix with ones on the main diagonal, zeros elsewhere."""
    return eye(n, dtype=dtype, device=device)


def tri(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = float,
    *,
    device: Device | None = None,
) -> Tensor:
    """Ones on and below the diagonal `k` columns to the right of the main one, else zeros."""
    return tril(ones((N, N if M is None else M), dtype, device=device), k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of each element as a row, from the highest one on unless `increasing`."""
    line = asarray(x)
    if line.ndim != 1:
        raise InvalidDescError(f"vander: x has {line.ndim} dimensions; it must have one")
    count = line.size if N is None else as_index("vander: N", N)
    powers = arange(count, device=line.device)
    powers = powers if increasing else powers[::-1]
    base = line.astype(INT64, copy=False) if line.dtype.kind in "bi" else line
    return base.reshape(-1, 1) ** powers.astype(base.dtype, copy=False)


def tril(m: Any, k: int = 0) -> Tensor:
    """m on and below the diagonal `k` columns to the right of the main one, else zeros."""
    return _triangle("tril", m, k, below=True)


def triu(m: Any, k: int = 0) -> Tensor:
    """m on and above the diagonal `k` columns to the right of the main one, else zeros."""
    return _triangle("triu", m, k, below=False)


def _triangle(name: str, m: Any, k: int, *, below: bool) -> Tensor:
    x, k = asarray(m), as_index(f"{name}: k", k)
    if x.ndim < 2:
        raise InvalidDescError(f"{name}: x has {x.ndim} dimensions; at least 2 are needed")
    if not x.size:
        return x.copy()
    first, end = (k + 1, x.shape[-1]) if below else (-x.shape[-2], k)
    if x.is_traced:  # a step of a chain, beside what is known before
        zeros = _banded(Band.of(BOOL, x.shape[-2:], 1, first, end), x.device, x.shape[-2:], BOOL)
        return x.device.select(zeros, False if x.dtype == BOOL else 0, x)
    x = x.described()
    band = Band.of(x.dtype, x.shape, 0, first, end, x.desc)
    return _banded(band, x.device, x.shape, x.dtype, x)


def _banded(band: Band, on: Device, shape: tuple[int, ...], dtype: DType, *x: Tensor) -> Tensor:
    known = on.remembered[(band, dtype)]
    if known is None:
        known = on.internal(band).prepared(shape, dtype)
        on.remember((band, dtype), known)
    made: Tensor = known(*x)
    return made


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor per axis.

    With `sparse` each goes along its own axis alone; without `copy` they are views that repeat.
    """
    if indexing not in ("xy", "ij"):
        raise InvalidDescError(f"meshgrid: indexing is {indexing!r}; it must be 'xy' or 'ij'")
    device = device_of(*xi)
    given = [asarray(x, device=device).reshape(-1) for x in xi]
    if len(given) > MAX_RANK:
        raise InvalidDescError(f"meshgrid: {len(given)} arrays; at most {MAX_RANK} are allowed")
    turned = indexing == "xy" and len(given) > 1
    order = [1, 0, *range(2, len(given))] if turned else list(range(len(given)))
    shape = tuple(given[a].size for a in order)
    made = []
    for axis, x in enumerate(given):
        sizes = [1] * len(given)
        sizes[order.index(axis)] = x.size
        seen = x.reshape(sizes) if sparse else x.reshape(sizes).broadcast_to(shape)
        made.append(seen.copy() if copy else seen)
    return tuple(made)
