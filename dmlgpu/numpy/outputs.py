"""Results that are written into a tensor which is given as `out`."""

from __future__ import annotations

from typing import Any

from dmlgpu.elements import check_castable
from dmlgpu.errors import InvalidDescError, InvalidTypeError
from dmlgpu.tensor import Tensor


def written(name: str, made: Tensor, out: Any) -> Tensor:
    """The result, or `out` that holds it: of the same shape, and of a type of the same kind."""
    if out is None:
        return made
    target = the_one(name, out)
    if target.shape != made.shape:
        raise InvalidDescError(
            f"{name}: out has the shape {target.shape}; the result has {made.shape}"
        )
    check_castable(name, made.dtype, target.dtype)
    target[...] = made
    return target


def the_one(name: str, out: Any) -> Tensor:
    """The tensor that is given as `out`, or as a tuple of one, which NumPy allows too."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not isinstance(target, Tensor):
        raise InvalidTypeError(
            f"{name}: out is {type(target).__name__}; a result on the GPU is written into a "
            "Tensor, and np.asarray(x) brings one back"
        )
    return target
