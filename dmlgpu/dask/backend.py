"""Tensors as the chunks of dask.array: what CuPy's arrays are registered for, under its names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask import config
from dask.array.backends import ArrayBackendEntrypoint, array_creation_dispatch
from dask.array.dispatch import (
    concatenate_lookup,
    divide_lookup,
    einsum_lookup,
    empty_lookup,
    nannumel_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
)
from dask.sizeof import sizeof
from dask.utils import Dispatch

from dmlgpu import numpy as dnp
from dmlgpu.array.promotion import DType
from dmlgpu.array.reductions import Reduced
from dmlgpu.device import Device
from dmlgpu.errors import UnsupportedError
from dmlgpu.functions import default_device
from dmlgpu.numpy import creation, manipulation
from dmlgpu.tensor import Tensor

NAME = "dmlgpu"  # of the backend: dask.config.set({"array.backend": "dmlgpu"})
to_dmlgpu_dispatch = Dispatch("to_dmlgpu_dispatch")


def from_array(
    x: Any, chunks: Any = "auto", device: Device | None = None, **named: Any
) -> da.Array:
    """An array cut into chunks that are tensors: `da.from_array` with the GPU behind it.

    A chunk is uploaded where it is first used: to `device`, which only schedulers of this process
    can share, else to the default device of the worker. `named` goes to `da.from_array`. A Dask
    array keeps its chunks unless `chunks` says otherwise.

    >>> dmlgpu.dask.from_array(np.arange(6), chunks=2).sum().compute().item()
    15
    """
    if isinstance(x, da.Array):
        host = x if chunks == "auto" else x.rechunk(chunks)
    else:
        host = da.from_array(x, chunks, asarray=not isinstance(x, Tensor), **named)
    if isinstance(host._meta, Tensor) and device is None:
        return host
    on = {} if device is None else {"device": device}
    return host.map_blocks(to_tensor, **on, dtype=host.dtype, meta=meta(host.ndim, host.dtype))


def to_tensor(chunk: Any, device: Device | None = None) -> Tensor:
    """A chunk on a device: the one given, else where it is, else the default one.

    Of what NumPy repeats along an axis only one copy is uploaded.
    """
    if isinstance(chunk, np.ndarray) and chunk.size and 0 in chunk.strides:
        once = chunk[tuple(slice(None) if step else slice(1) for step in chunk.strides)]
        return creation.asarray(once, device=device).broadcast_to(chunk.shape).copy()
    return creation.asarray(chunk, device=device)


def meta(ndim: int, dtype: Any) -> Tensor:
    """The tensor without elements by which Dask knows the type of an array's chunks."""
    if not ndim:
        return creation.empty((), dtype=dtype)
    return Tensor.without_elements(default_device(), (0,) * ndim, np.dtype(dtype))


def concatenate(arrays: Any, axis: int = 0) -> Tensor:
    """Chunks one after the other along an axis."""
    return manipulation.concat(list(arrays), axis=axis)


def _refused(name: str) -> Callable[..., Any]:
    """Says that a function of chunks is not built."""

    def function(*args: Any, **named: Any) -> Any:
        raise UnsupportedError(
            f"{name} of tensors is not built; x.to_backend('numpy') gives chunks in host memory"
        )

    return function


def on_gpu(dtype: Any) -> DType:
    """The type in which Dask's float64 is computed here: float32."""
    wanted = np.dtype(dtype)
    return np.dtype(np.float32) if wanted == np.float64 else wanted


def divide(a: Any, b: Any, dtype: Any = None) -> Tensor:
    """Quotients in the type that a mean is asked for, which has at most 32 bits on a GPU."""
    made: Tensor = np.divide(a, b)
    return made if dtype is None else made.astype(on_gpu(dtype), copy=False)


def empty(shape: Any, dtype: Any = None, **_: Any) -> Tensor:
    """Room for elements."""
    return creation.empty(shape, dtype=dtype)


def count(x: Tensor, **named: Any) -> Any:
    """How many elements a sum over these axes has, as a tensor that sums can be divided by."""
    axis, keepdims = named.get("axis"), bool(named.get("keepdims", False))
    counted = Reduced.of("any", x.shape, x.dtype, axis, keepdims)
    number = prod(x.shape[a] for a in counted.axes)
    return x.device.full(counted.shape, on_gpu(named.get("dtype", np.float64)), number)


def count_valid(x: Tensor, **named: Any) -> Tensor:
    """How many elements are not NaN."""
    made: Tensor = (x == x).sum(named.get("axis"), None, named.get("keepdims", False))
    return made


def to_numpy(x: Tensor, **_: Any) -> np.ndarray[Any, DType]:
    """A chunk in host memory."""
    return x.numpy()


def register() -> None:
    """Makes tensors chunks that Dask knows."""
    da.register_chunk_type(Tensor)
    concatenate_lookup.register(Tensor, concatenate)
    take_lookup.register(Tensor, Tensor.take)
    tensordot_lookup.register(Tensor, dnp.tensordot)
    einsum_lookup.register(Tensor, _refused("einsum"))
    percentile_lookup.register(Tensor, _refused("percentile"))
    empty_lookup.register(Tensor, empty)
    divide_lookup.register(Tensor, divide)
    numel_lookup.register(Tensor, count)
    nannumel_lookup.register(Tensor, count_valid)
    to_numpy_dispatch.register(Tensor, to_numpy)
    sizeof.register(Tensor, lambda x: int(x.nbytes))
    # Dask's other way to rechunk, which it prefers in clusters, writes NumPy's arrays to files.
    config.update_defaults({"array": {"rechunk": {"method": "tasks"}}})
    to_dmlgpu_dispatch.register((np.ndarray, Tensor), to_tensor)
    array_creation_dispatch.register_backend(NAME, DmlgpuBackendEntrypoint())


def _created(name: str, *args: Any, dtype: Any = None, **named: Any) -> da.Array:
    """What dask.array makes, on the GPU: constants are filled in there, not uploaded."""
    for chunk_type in ("meta", "like"):
        named.pop(chunk_type, None)
    with config.set({"array.backend": "numpy"}):
        made = from_array(getattr(da, name)(*args, dtype=dtype, **named))
    # Dask gives Python's own type where a number says it all.
    return made.astype(on_gpu(made.dtype)) if dtype is None or dtype is float else made


class DmlgpuBackendEntrypoint(ArrayBackendEntrypoint):
    """`dask.config.set({"array.backend": "dmlgpu"})`: `da.ones` and its like make tensors.

    Floats are float32 unless a type is given. Random numbers are NumPy's, in host memory.
    """

    @classmethod
    def to_backend_dispatch(cls) -> Dispatch:
        """What moves a chunk to a device."""
        return to_dmlgpu_dispatch

    @classmethod
    def to_backend(cls, data: da.Array, **named: Any) -> da.Array:
        """The same array with tensors as chunks."""
        return from_array(data)

    @property
    def RandomState(self) -> Any:  # noqa: N802 - Dask's name
        """NumPy's."""
        return np.random.RandomState

    @property
    def default_bit_generator(self) -> Any:
        """NumPy's."""
        return np.random.PCG64

    ones = staticmethod(partial(_created, "ones"))
    zeros = staticmethod(partial(_created, "zeros"))
    empty = staticmethod(partial(_created, "empty"))
    full = staticmethod(partial(_created, "full"))
    arange = staticmethod(partial(_created, "arange"))
