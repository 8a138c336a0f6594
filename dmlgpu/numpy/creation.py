"""Creation of tensors. Constants are filled in on the GPU; sequences are made here and uploaded."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlgpu.array.promotion import (
    BOOL,
    DEFAULTS,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT64,
    DType,
    data_type_of,
    dtype_of,
    fits,
    is_integer,
    is_number,
    kind_of,
)
from dmlgpu.array.uploads import host_cast
from dmlgpu.desc.tensor import MAX_RANK
from dmlgpu.desc.views import packed, shape_of
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, shown
from dmlgpu.functions import default_device, device_of
from dmlgpu.interop import imported
from dmlgpu.tensor import Tensor

Shape = int | Sequence[int]


def _device(device: Any) -> Device:
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise InvalidTypeError(f"device is {shown(device)}; it must be a Device or None")
    return device


def asarray(
    obj: Any, /, dtype: Any = None, *, device: Device | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor of numbers, lists, arrays or another tensor, which is itself where nothing changes.

    Python numbers become float32, int32 or bool; arrays keep their type.
    """
    if not isinstance(obj, Tensor):
        if copy is False:
            raise InvalidDescError("asarray: copy is False; what is not on the GPU must be copied")
        return _device(device).tensor(obj, dtype)
    wanted = obj.dtype if dtype is None else dtype_of("asarray: dtype", dtype)
    moves = device is not None and device is not obj.device
    if copy is False and (moves or wanted != obj.dtype):
        raise InvalidDescError(f"asarray: copy is False; {obj.dtype} to {wanted} needs a copy")
    here = obj.to_device(_device(device)) if moves else obj
    return here.astype(wanted, copy=bool(copy) and not moves)


def is_host_float64(x: Any) -> bool:
    """Whether a value is an array of float64 in host memory, as NumPy's functions make them."""
    dtype = getattr(x, "dtype", None)  # which NumPy would take for float64 if there is none
    return not isinstance(x, Tensor) and dtype is not None and dtype == FLOAT64


def computed(x: Any, device: Device) -> Tensor:
    """A tensor of what a function computes with: float64 in host memory is rounded to float32."""
    return asarray(x, FLOAT32 if is_host_float64(x) else None, device=device)


def array(
    obj: Any, /, dtype: Any = None, *, copy: bool = True, device: Device | None = None
) -> Tensor:
    """NumPy's name for `asarray` that copies."""
    return asarray(obj, dtype, device=device, copy=True if copy else None)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of what another library exports; tensors of a device need no export."""
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("from_dlpack: copy is False; what is not on the GPU must be copied")
    return _device(device).tensor(imported(x))


def full(
    shape: Shape, fill_value: Any, *, dtype: Any = None, device: Device | None = None
) -> Tensor:
    """One number everywhere."""
    return _full("full", shape, fill_value, dtype, device)


def _full(name: str, shape: Shape, fill_value: Any, dtype: Any, device: Device | None) -> Tensor:
    sizes = shape_of(name, (shape,))
    if not is_number(fill_value):
        source = asarray(fill_value, dtype, device=device)
        return source.broadcast_to(sizes).copy()
    if dtype is None:
        wanted = DEFAULTS[kind_of(fill_value)]
        if wanted == INT32:
            wanted = next((t for t in (INT32, INT64) if fits(fill_value, t)), UINT64)
    else:
        wanted = dtype_of(f"{name}: dtype", dtype)
    return _device(device).full(sizes, wanted, fill_value)


def zeros(shape: Shape, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """Zeros, of float32 unless said."""
    return _full("zeros", shape, 0, FLOAT32 if dtype is None else dtype, device)


def ones(shape: Shape, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """Ones, of float32 unless said."""
    return _full("ones", shape, 1, FLOAT32 if dtype is None else dtype, device)


def empty(shape: Shape, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """A tensor whose elements may be anything; of bool, zeros."""
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
    x: Any, /, fill_value: Any, *, dtype: Any = None, device: Device | None = None
) -> Tensor:
    """One number everywhere, in the shape and the type of x."""
    x = asarray(x)
    wanted = x.dtype if dtype is None else dtype
    return full(x.shape, fill_value, dtype=wanted, device=device or device_of(x, fill_value))


def zeros_like(x: Any, /, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """Zeros in the shape and the type of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """Ones in the shape and the type of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """A tensor of the shape and the type of x whose elements may be anything."""
    x = asarray(x)
    return empty(x.shape, dtype=x.dtype if dtype is None else dtype, device=device or x.device)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Device | None = None,
) -> Tensor:
    """Numbers from `start` to before `stop`; of int32 where all three are integers."""
    if stop is None:
        start, stop = 0, start
    try:
        # NumPy makes float64 of these, for its own steps are int64.
        is_large = all(map(is_integer, (start, stop, step))) and stop > 2**63 > step > 0 <= start
        steps_in: Any = UINT64 if is_large else None
        values = np.arange(start, stop, step, dtype=steps_in)
    except (ZeroDivisionError, ValueError, TypeError) as error:
        raise InvalidDescError(f"arange: {error}") from None
    if dtype is not None:
        wanted = dtype_of("arange: dtype", dtype)
    elif values.dtype.kind == "f":
        wanted = FLOAT32
    else:
        ends = (int(values.min()), int(values.max())) if values.size else ()
        held = (t for t in (INT32, INT64, UINT64) if all(fits(n, t) for n in ends))
        wanted = next(held, UINT64)
    return _device(device).tensor(values.astype(wanted))


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    *,
    dtype: Any = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers from `start` to `stop` at equal distances, rounded once; integers down."""
    wanted = FLOAT32 if dtype is None else dtype_of("linspace: dtype", dtype)
    try:
        if any(isinstance(x, Tensor) and x.ndim for x in (start, stop)):
            raise TypeError("start and stop must be numbers, or tensors without dimensions")
        first, last = (x.item() if isinstance(x, Tensor) else x for x in (start, stop))
        values = np.linspace(first, last, operator.index(num), endpoint=endpoint)
    except (ValueError, TypeError) as error:
        raise InvalidDescError(f"linspace: {error}") from None
    if wanted.kind in "iu":
        values = np.floor(values)
    return _device(device).tensor(host_cast(values, wanted))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Device | None = None,
) -> Tensor:
    """Ones on the diagonal `k` columns to the right of the main one, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    wanted = FLOAT32 if dtype is None else dtype_of("eye: dtype", dtype)
    sizes = shape_of("eye", (n_rows, columns))
    on = _device(device)
    if 0 in sizes:
        return Tensor.without_elements(on, sizes, wanted)
    return (_distance(sizes, on) == k).astype(wanted)


def _distance(sizes: tuple[int, ...], device: Device) -> Tensor:
    """Columns less rows, for the last two axes."""
    rows, columns = (device.tensor(np.arange(n, dtype=np.int32)) for n in sizes[-2:])
    return columns - rows.reshape(-1, 1)


def tril(x: Any, /, *, k: int = 0) -> Tensor:
    """x on and below the diagonal `k` columns to the right of the main one, else zeros."""
    return _triangle("tril", x, k, below=True)


def triu(x: Any, /, *, k: int = 0) -> Tensor:
    """x on and above the diagonal `k` columns to the right of the main one, else zeros."""
    return _triangle("triu", x, k, below=False)


def _triangle(name: str, x: Any, k: int, *, below: bool) -> Tensor:
    tensor = asarray(x)
    if tensor.ndim < 2:
        raise InvalidDescError(f"{name}: x has {tensor.ndim} dimensions; at least 2 are needed")
    if not tensor.size:
        return tensor.copy()
    distance = _distance(tensor.shape, tensor.device)
    kept = distance <= k if below else distance >= k
    zero = False if tensor.dtype == BOOL else 0
    return tensor.device.select(kept, tensor, zero)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, one tensor per axis."""
    if indexing not in ("xy", "ij"):
        raise InvalidDescError(f"meshgrid: indexing is {indexing!r}; it must be 'xy' or 'ij'")
    device = device_of(*arrays)
    given = [asarray(x, device=device).reshape(-1) for x in arrays]
    if len(given) > MAX_RANK:
        raise InvalidDescError(f"meshgrid: {len(given)} arrays; at most {MAX_RANK} are allowed")
    turned = indexing == "xy" and len(given) > 1
    order = [1, 0, *range(2, len(given))] if turned else list(range(len(given)))
    shape = tuple(given[a].size for a in order)
    made = []
    for axis, x in enumerate(given):
        sizes = [1] * len(given)
        sizes[order.index(axis)] = x.size
        made.append(x.reshape(sizes).broadcast_to(shape).copy())
    return made
