"""Arrays in host memory, and their elements as bytes that lie as a description says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import (
    DmlError,
    InvalidDescError,
    InvalidTypeError,
    NumberRangeError,
    OutOfMemoryError,
    shown,
)


def as_array(what: str, value: Any) -> npt.NDArray[Any]:
    """`value` as NumPy sees it; what a mask hides would not stay hidden."""
    derived = isinstance(value, np.ndarray) and value.__class__ is not np.ndarray
    if derived and np.ma.is_masked(value):  # np.ma is slow to import, and seldom needed
        raise InvalidTypeError(
            f"{what} is a masked array, whose mask would be lost; fill it first with filled(value)"
        )
    try:
        return np.asarray(value)
    except (DmlError, MemoryError):
        raise
    except OverflowError as error:
        raise NumberRangeError(f"{what}: {error}") from None
    except Exception as error:  # NumPy's own, or whatever an object's __array__ raises
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidDescError(f"{what} is {shown(value)}, not an array: {reason}") from None


def native(x: Any, what: str = "x") -> npt.NDArray[Any]:
    """Anything NumPy can view, with at least one dimension, in this machine's byte order.

    DirectML has no bool: it is UINT8, as in tensors.
    """
    values = as_bytes(np.atleast_1d(as_array(what, x)))
    return values.astype(DataType.from_numpy(values.dtype).numpy, copy=False)


def as_bytes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of bool as the 0 and 1 that it holds; any other one as it is."""
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def described(values: npt.NDArray[Any]) -> TensorDesc:
    """The description of an array's elements as a packed tensor."""
    return TensorDesc(DataType.from_numpy(values.dtype), values.shape)


def strided_view(raw: npt.NDArray[Any], desc: TensorDesc, *, writeable: bool) -> npt.NDArray[Any]:
    """The logical array inside `raw` bytes that lie as `desc` says."""
    dtype = desc.data_type.numpy
    count = raw.nbytes // dtype.itemsize
    flat = raw[: count * dtype.itemsize].view(dtype)
    strides = tuple(s * dtype.itemsize for s in desc.effective_strides)
    return np.lib.stride_tricks.as_strided(flat, desc.sizes, strides, writeable=writeable)


def laid_out(array: npt.NDArray[Any], desc: TensorDesc) -> npt.NDArray[Any]:
    """`array`, which has the sizes and type of `desc`, as bytes that lie as it says; gaps are 0."""
    total = desc.total_tensor_size_in_bytes
    if desc.is_packed and array.nbytes == total:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    try:
        raw = np.zeros(total, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise OutOfMemoryError(f"no host memory for the {total} bytes of a tensor") from None
    strided_view(raw, desc, writeable=True)[...] = array
    return raw


@contextmanager
def host_memory(size: int) -> Iterator[None]:
    """Says in one sentence that a copy of a tensor does not fit into host memory."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError:
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
    except ValueError as error:  # NumPy's word for what no machine could hold
        if "too big" not in str(error) and "dimension" not in str(error):
            raise
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
