"""NumPy's `linalg`: norms, products and diagonals; decompositions are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError as LinAlgError

from dmlgpu.array.promotion import FLOAT32, floating
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidDescError, UnsupportedError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy import composed, edited, products, refusals, statistics
from dmlgpu.numpy.creation import asarray, eye
from dmlgpu.numpy.manipulation import matrix_transpose
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int] | None

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> Any:
    """Says why a name of NumPy's is not here, and what to use."""
    raise AttributeError(refusals.absent(__name__, f"linalg.{name}"))


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The norm of all elements, of lines along an axis, or of matrices in two axes, in float32."""
    given = asarray(x)
    if axis is not None:
        along = views.axes_of("norm", axis, given.ndim)
    else:
        along = tuple(range(given.ndim))
    if ord is None:
        return _as_before(given, _of_lines(_values(given), 2, along or None, keepdims))
    if len(along) == 1:
        return _as_before(given, _of_lines(_values(given), ord, along, keepdims))
    if len(along) != 2:
        raise InvalidDescError(
            f"np.linalg.norm: ord is {shown(ord)} of {len(along)} axes; it is for one axis or two"
        )
    return _as_before(given, _of_matrices(_values(given), ord, along, keepdims))


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of lines along axes, or of all elements, calculated in float32."""
    given = asarray(x)
    along = None if axis is None else views.axes_of("vector_norm", axis, given.ndim)
    return _as_before(given, _of_lines(_values(given), ord, along, keepdims))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices in the last two axes, calculated in float32."""
    given = asarray(x)
    if given.ndim < 2:
        raise InvalidDescError(f"matrix_norm: x has {given.ndim} dimensions; 2 at least are needed")
    along = (given.ndim - 2, given.ndim - 1)
    return _as_before(given, _of_matrices(_values(given), ord, along, keepdims))


def _values(x: Tensor) -> Tensor:
    return x.astype(FLOAT32, copy=False)


def _as_before(x: Tensor, result: Tensor) -> Tensor:
    return result.astype(floating(x.dtype), copy=False)


def _of_lines(x: Tensor, order: Any, axes: Any, keepdims: bool) -> Tensor:
    run = x.device.elementwise
    if isinstance(order, str):
        raise InvalidDescError(f"np.linalg.norm: ord is {order!r}; lines have norms by numbers")
    if order in (None, 2):
        return run("sqrt", (x * x).sum(axes, None, keepdims))
    if order == 0:
        return (x != 0).sum(axes, FLOAT32, keepdims)
    size = run("abs", x)
    if order == 1:
        return size.sum(axes, None, keepdims)
    if order in (np.inf, -np.inf):
        return size.max(axes, keepdims) if order > 0 else size.min(axes, keepdims)
    return (size ** float(order)).sum(axes, None, keepdims) ** (1 / float(order))


def _of_matrices(x: Tensor, order: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if order in (None, "fro"):
        return _of_lines(x, 2, axes, keepdims)
    if order in (2, -2, "nuc"):
        raise UnsupportedError(
            f"np.linalg.norm: ord {shown(order)} of matrices needs singular values, which are not"
            " done on the GPU; np.linalg.norm(np.asarray(x), ...) is NumPy's"
        )
    if order not in (1, -1, np.inf, -np.inf):
        raise InvalidDescError(f"np.linalg.norm: ord is {shown(order)}; no matrix has such a norm")
    rows, columns = axes
    added, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = x.device.elementwise("abs", x).sum(added, None, True)
    found = sums.max(compared, True) if order > 0 else sums.min(compared, True)
    return found if keepdims else found.squeeze(axes)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """The products of each element of one line with each of another."""
    device = device_of(x1, x2)
    x, y = (asarray(each, device=device) for each in (x1, x2))
    if (x.ndim, y.ndim) != (1, 1):
        raise InvalidDescError(f"linalg.outer: shapes {x.shape}, {y.shape}; both must be lines")
    return products.outer(x, y)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis of equal size."""
    return statistics.vecdot(x1, x2, axis=axis)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The vectors at right angles to pairs of vectors of three elements."""
    return edited.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices in the last two axes."""
    return composed.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices in the last two axes."""
    return composed.trace(x, offset, -2, -1, dtype)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Products of matrices in the last two axes."""
    return products.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over axes of two arrays."""
    return products.tensordot(x1, x2, axes)


def matrix_power(a: Any, n: Any) -> Tensor:
    """A square matrix times itself so often, from squares of squares."""
    x, times = asarray(a), as_index("matrix_power: n", n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidDescError(f"matrix_power: the shape is {x.shape}; matrices must be square")
    if times < 0:
        raise UnsupportedError(
            "np.linalg.matrix_power: a negative power needs an inverse, which is not done on the"
            " GPU; np.linalg.matrix_power(np.asarray(x), n) is NumPy's"
        )
    result: Tensor | None = None
    square = x
    while times:
        if times & 1:
            result = square if result is None else products.matmul(result, square)
        times >>= 1
        square = products.matmul(square, square) if times else square
    if result is None:
        one = eye(x.shape[-1], dtype=x.dtype, device=x.device)
        return one.broadcast_to(x.shape).copy()
    return result.copy() if result is x else result


def multi_dot(arrays: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order of fewest multiplications."""
    if len(arrays) < 2:
        raise InvalidDescError(f"multi_dot: {len(arrays)} arrays are given; there must be two")
    device = device_of(*arrays, out)
    given = [asarray(x, device=device) for x in arrays]
    if any(x.ndim not in (1, 2) for x in (given[0], given[-1])) or any(
        x.ndim != 2 for x in given[1:-1]
    ):
        raise InvalidDescError("multi_dot: all but the first and the last must be matrices")
    first, last = given[0].ndim == 1, given[-1].ndim == 1
    given[0] = given[0].expand_dims(0) if first else given[0]
    given[-1] = given[-1].expand_dims(1) if last else given[-1]
    sizes = [given[0].shape[0], *(x.shape[1] for x in given)]
    result = _in_order(given, _splits(sizes), 0, len(given) - 1)
    gone = (*((0,) if first else ()), *((1,) if last else ()))
    return written("multi_dot", result.squeeze(gone) if gone else result, out)


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where each run of matrices is best cut in two, by the count of multiplications."""
    count = len(sizes) - 1
    cost = {(n, n): 0 for n in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            both = sizes[first] * sizes[last + 1]
            cost[first, last], cuts[first, last] = min(
                (cost[first, cut] + cost[cut + 1, last] + both * sizes[cut + 1], cut)
                for cut in range(first, last)
            )
    return cuts


def _in_order(x: list[Tensor], cuts: dict[tuple[int, int], int], first: int, last: int) -> Tensor:
    if first == last:
        return x[first]
    cut = cuts[first, last]
    return products.matmul(_in_order(x, cuts, first, cut), _in_order(x, cuts, cut + 1, last))
