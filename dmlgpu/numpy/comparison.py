"""Whether arrays are equal or nearly so, and whether they share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlgpu.array.promotion import FLOAT32, promoted
from dmlgpu.array.uploads import host_cast
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, NumberRangeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray, computed, is_host_float64
from dmlgpu.tensor import Tensor


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether elements differ by no more than `atol` and a share `rtol` of the second one."""
    device = device_of(a, b)
    run = device.elementwise
    x, y = (computed(v, device) for v in (a, b))  # near after rounding, too
    x, y = (v.astype(np.uint8) if v.dtype.kind == "b" else v for v in (x, y))
    common = promoted([x.dtype, y.dtype])
    scale = y
    if common.kind == "f":
        apart = run("abs", x - y)
    else:  # the larger less the smaller is right in the unsigned type, whatever wraps
        least, most = run("minimum", x, y), run("maximum", x, y)
        unsigned = np.dtype(f"u{common.itemsize}")
        apart = (most.astype(unsigned) - least.astype(unsigned)).astype(np.float32)
        scale = y.astype(np.float32)
    near = run("less_equal", apart, run("abs", scale) * rtol + atol)
    result = (near & run("isfinite", y)) | (x == y)
    return result | (run("isnan", x) & run("isnan", y)) if equal_nan else result


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are near each other, as `isclose` has it."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and the same elements."""
    return _equal(a1, a2, equal_nan, broadcast=False)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays have the same elements where they are broadcast against each other."""
    return _equal(a1, a2, equal_nan=False, broadcast=True)


def _equal(a1: Any, a2: Any, equal_nan: bool, *, broadcast: bool) -> bool:
    device = device_of(a1, a2)
    try:
        x, y = _exactly(a1, a2, device), _exactly(a2, a1, device)
        if x is None or y is None or not (broadcast or x.shape == y.shape):
            return False
        same = x == y
    except (InvalidDescError, InvalidTypeError, NumberRangeError):  # no array of such numbers
        return False
    if equal_nan:
        same |= device.elementwise("isnan", x) & device.elementwise("isnan", y)
    return bool(same.all())


def _exactly(x: Any, beside: Any, device: Device) -> Tensor | None:
    """The numbers of an array in a type that is computed with; None if that has not all of them."""
    if not is_host_float64(x):
        return asarray(x, device=device)
    other = beside.dtype if isinstance(beside, Tensor) else np.asarray(beside).dtype
    given = np.asarray(x)
    held = host_cast(given, other if other.kind in "iu" else FLOAT32)
    with np.errstate(all="ignore"):
        # The largest integers are no float64, so what saturates is none of them.
        is_held = (held == given) & (held.astype(np.float64) == given) | (given != given)
        is_held &= (other.kind == "f") | (given < 2.0 ** (8 * held.itemsize - (other.kind == "i")))
    return asarray(held, device=device) if is_held.all() else None


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether two tensors have an element of the same bytes."""
    return _sharing(np.shares_memory, a, b, max_work)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether the bytes of two tensors lie between each other's."""
    return _sharing(np.may_share_memory, a, b, max_work)


def _sharing(ask: Callable[..., bool], a: Any, b: Any, max_work: Any) -> bool:
    """What NumPy says of views that lie as the tensors do; an array shares none with a tensor."""
    if not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        return ask(a, b, max_work)
    tensors = [x for x in (a, b) if isinstance(x, Tensor) and x.size]
    if len(tensors) < 2 or tensors[0].lease is not tensors[1].lease:
        return False
    ends = [x.begin + x.layout.memory.total_tensor_size_in_bytes for x in tensors]
    room = np.empty(max(ends), np.uint8)  # of which nothing is read
    starts = [x.begin + x.layout.start * x.itemsize for x in tensors]
    first, second = (
        np.ndarray(x.shape, x.dtype, room, start, x.strides)
        for x, start in zip(tensors, starts, strict=True)
    )
    return ask(first, second, max_work)
