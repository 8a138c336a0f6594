"""Products and norms of vectors; those of matrices wait for matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlgpu.array.promotion import FLOAT32, floating
from dmlgpu.desc import views
from dmlgpu.errors import UnsupportedError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy.creation import asarray, computed
from dmlgpu.numpy.statistics import vecdot
from dmlgpu.numpy.waiting import MATRICES
from dmlgpu.tensor import Tensor


def _product(name: str) -> Callable[[Any, Any], Tensor]:
    """The sum of products of two lines, or the products with a number."""

    def function(a: Any, b: Any) -> Tensor:
        device = device_of(a, b)
        x, y = (computed(each, device) for each in (a, b))
        if not (x.ndim and y.ndim):
            return x * y
        if name == "vdot":
            x, y = x.reshape(-1), y.reshape(-1)
        if (x.ndim, y.ndim) != (1, 1):
            raise UnsupportedError(
                f"np.{name}: arrays of shapes {x.shape} and {y.shape} wait for {MATRICES}; lines do"
                " not"
            )
        return vecdot(x, y)

    return function


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of all elements, or of lines along an axis, calculated in float32."""
    given = asarray(x)
    if axis is not None:
        along = views.axes_of("norm", axis, given.ndim)
    elif ord is None or given.ndim == 1:
        along = tuple(range(given.ndim))
    else:
        along = (0, 1) if given.ndim == 2 else ()
    is_matrix = len(along) > 1 and ord is not None
    if (is_matrix and ord != "fro") or (ord is not None and not along):
        raise UnsupportedError(
            f"np.linalg.norm: ord {shown(ord)} of matrices is not done on the GPU"
        )
    values = given.astype(FLOAT32, copy=False)
    made = _norm(values, 2 if ord in (None, "fro") else ord, along or None, keepdims)
    return made.astype(floating(given.dtype), copy=False)


def _norm(x: Tensor, order: Any, axes: Any, keepdims: bool) -> Tensor:
    run = x.device.elementwise
    if order == 2:
        return run("sqrt", (x * x).sum(axes, None, keepdims))
    if order == 0:
        return (x != 0).sum(axes, FLOAT32, keepdims)
    size = run("abs", x)
    if order == 1:
        return size.sum(axes, None, keepdims)
    if order in (np.inf, -np.inf):
        return size.max(axes, keepdims) if order > 0 else size.min(axes, keepdims)
    return (size ** float(order)).sum(axes, None, keepdims) ** (1 / float(order))


VECTORS: dict[str, Callable[..., Tensor]] = {
    name: _product(name) for name in ("dot", "inner", "vdot")
}
