"""Grids of coordinates, places of triangles, and lines that are no steps of one length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlgpu.array.promotion import BOOL, FLOAT32, FLOAT64, INT32, INT64, dtype_of
from dmlgpu.array.uploads import host_cast
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import device_of
from dmlgpu.numpy import manipulation
from dmlgpu.numpy.creation import arange, asarray, empty, ones, tri, triu
from dmlgpu.tensor import Tensor

Places = tuple[Tensor, ...]


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The coordinates of every element of an array, an array for each axis."""
    return _indices(dimensions, dtype, sparse, None)


def _indices(dimensions: Any, dtype: Any, sparse: bool, device: Device | None) -> Any:
    sizes = views.shape_of("indices", (dimensions,))
    lines = [
        arange(n, dtype=dtype, device=device).reshape(
            [-1 if d == a else 1 for a in range(len(sizes))]
        )
        if n
        else empty([0 if d == a else 1 for a in range(len(sizes))], dtype, device=device)
        for d, n in enumerate(sizes)
    ]
    if sparse:
        return tuple(lines)
    if not lines:
        return empty((0,), dtype, device=device)
    return manipulation.stack([line.broadcast_to(sizes) for line in lines])


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = float,
    device: Device | None = None,
    **kwargs: Any,
) -> Any:
    """What a function makes of the coordinates of every element."""
    return function(*_indices(shape, dtype, False, device), **kwargs)


def ix_(*args: Any) -> Places:
    """Lines as places along one axis each, which together name a block; masks become places."""
    device = device_of(*args)
    result = []
    for axis, each in enumerate(args):
        line = each if isinstance(each, Tensor) else np.asarray(each)
        if line.ndim != 1:
            raise InvalidDescError("ix_: every argument must have one dimension")
        if not line.size:
            line = line.astype(INT64)
        line = asarray(line, device=device)
        line = line.nonzero()[0] if line.dtype == BOOL else line
        result.append(
            line.reshape((1,) * axis + (-1 if line.size else 0,) + (1,) * (len(args) - axis - 1))
        )
    return tuple(result)


def diag_indices(n: int, ndim: int = 2) -> Places:
    """The places of the main diagonal of an array of so many dimensions."""
    return (arange(n),) * as_index("diag_indices: ndim", ndim)


def diag_indices_from(arr: Any) -> Places:
    """The places of the main diagonal of an array whose sizes are the same."""
    x = asarray(arr)
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise InvalidDescError(
            f"diag_indices_from: the sizes {x.shape} must be the same, two least"
        )
    return (arange(x.shape[0], device=x.device),) * x.ndim


def tril_indices(n: int, k: int = 0, m: int | None = None) -> Places:
    """The places on and below a diagonal of a matrix."""
    return tri(n, m, k, BOOL).nonzero()


def tril_indices_from(arr: Any, k: int = 0) -> Places:
    """The places on and below a diagonal of this matrix."""
    x = _matrix("tril_indices_from", arr)
    rows, columns = x.shape
    return tri(rows, columns, k, BOOL, device=x.device).nonzero()


def triu_indices(n: int, k: int = 0, m: int | None = None) -> Places:
    """The places on and above a diagonal of a matrix."""
    return triu(ones((n, n if m is None else m), BOOL), k).nonzero()


def triu_indices_from(arr: Any, k: int = 0) -> Places:
    """The places on and above a diagonal of this matrix."""
    x = _matrix("triu_indices_from", arr)
    return triu(ones(x.shape, BOOL, device=x.device), k).nonzero()


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Places:
    """The places that a function such as `triu` keeps of a square matrix."""
    return asarray(mask_func(ones((n, n), INT32), k)).nonzero()


def _matrix(name: str, arr: Any) -> Tensor:
    x = asarray(arr)
    if x.ndim != 2:
        raise InvalidDescError(f"{name}: the array has {x.ndim} dimensions; it must have two")
    return x


class _Grid:
    """What brackets make grids of: `mgrid[:3, :4]`, `ogrid[0:1:5j]`."""

    def __init__(self, name: str, of_numpy: Any) -> None:
        self.__name__, self.of_numpy = name, of_numpy
        self.__module__ = "dmlgpu.numpy"

    def __getitem__(self, key: Any) -> Any:
        lines = self.of_numpy[key]
        if isinstance(lines, (tuple, list)):
            return tuple(_uploaded(line) for line in lines)
        return _uploaded(lines)

    def __repr__(self) -> str:
        return f"<{self.__name__} of dmlgpu.numpy>"


mgrid, ogrid = _Grid("mgrid", np.mgrid), _Grid("ogrid", np.ogrid)


def _uploaded(values: Any, dtype: Any = None, device: Device | None = None) -> Tensor:
    """What NumPy calculated in float64, in float32 unless another type is asked for."""
    given = np.asarray(values)
    wanted = given.dtype if dtype is None else dtype_of("dtype", dtype)
    wanted = FLOAT32 if wanted == FLOAT64 and dtype is None else wanted
    return asarray(host_cast(given, wanted), device=device)


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) and not x.ndim else np.asarray(x)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of a base whose exponents have equal distances, calculated by NumPy as float64."""
    first, last = _number(start), _number(stop)
    line = np.logspace(first, last, num, endpoint, _number(base), axis=axis)
    return _uploaded(line, dtype, device_of(start, stop, base))


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers of which each is the one before times a factor, calculated by NumPy as float64."""
    line = np.geomspace(_number(start), _number(stop), num, endpoint, axis=axis)
    return _uploaded(line, dtype, device_of(start, stop))


def bartlett(M: int) -> Tensor:  # noqa: N803 - NumPy's name
    """Bartlett's window, calculated by NumPy."""
    return _uploaded(np.bartlett(M))


def blackman(M: int) -> Tensor:  # noqa: N803
    """Blackman's window, calculated by NumPy."""
    return _uploaded(np.blackman(M))


def hamming(M: int) -> Tensor:  # noqa: N803
    """Hamming's window, calculated by NumPy."""
    return _uploaded(np.hamming(M))


def hanning(M: int) -> Tensor:  # noqa: N803
    """Von Hann's window, calculated by NumPy."""
    return _uploaded(np.hanning(M))


def kaiser(M: int, beta: float) -> Tensor:  # noqa: N803
    """Kaiser's window, calculated by NumPy."""
    return _uploaded(np.kaiser(M, beta))
