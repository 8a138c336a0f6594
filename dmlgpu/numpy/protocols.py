"""NumPy's own functions given tensors: looked up in this namespace, or refused by name.

Nothing goes through host memory unasked: `np.asarray(x)` is the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from inspect import signature
from typing import Any

import numpy as np

from dmlgpu.arithmetic import is_foreign
from dmlgpu.device import Device
from dmlgpu.errors import DmlError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy.refusals import reason, refused
from dmlgpu.tensor import Tensor

# NumPy's functions with an argument `like`: what they create is on the device of that tensor.
CREATION = frozenset(
    (
        *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "empty", "eye", "full"),
        *("fromfunction", "identity", "ones", "tri", "zeros"),
    )
)


def array_function(func: Any, args: Sequence[Any], named: Mapping[str, Any], device: Device) -> Any:
    """`np.sum(x)`, `np.concatenate([x, y])` and their like, on the device of one of the tensors."""
    module = getattr(func, "__module__", None) or "numpy"
    path = ".".join((*module.split(".")[1:], func.__name__))
    function = _of_path(path)
    if function is None or function is func:
        raise refused(path)
    if path in CREATION:
        device_of(device, *args, *named.values())
        named = {**named, "device": device}
    return _called(f"np.{path}", function, args, named)


def array_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`np.add(x, y)`, `np.add.reduce(x)`, and the operators of NumPy's arrays beside a tensor."""
    if any(is_foreign(x) for x in inputs):
        return NotImplemented
    function = _of_ufuncs().get(ufunc)
    name = ufunc.__name__
    if method != "__call__":
        name, function = f"{name}.{method}", getattr(function, method, None)
    if function is None:
        raise refused(name)
    return _called(f"np.{name}", function, inputs, named)


def instead_of(name: str) -> str:
    """What does the work of an attribute of NumPy's arrays that tensors lack; "" if nothing."""
    if _of_path(name) is not None:
        return f"np.{name}(x) takes tensors"
    own = f"np.asarray(x).{name} is NumPy's" if hasattr(np.ndarray, name) else ""
    return reason(name) or own


def _of_path(path: str) -> Any:
    """What the namespace has under a name such as `linalg.norm`, or None."""
    return reduce(lambda place, part: getattr(place, part, None), path.split("."), Tensor.namespace)


@lru_cache(1)
def _of_ufuncs() -> dict[Any, Any]:
    """The functions of the namespace by the universal functions of NumPy that have their names."""
    namespace = vars(Tensor.namespace)
    ufuncs = {name: getattr(np, name, None) for name in namespace}
    return {u: namespace[name] for name, u in ufuncs.items() if isinstance(u, np.ufunc)}


def _called(
    told: str, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """A function with what NumPy hands over; arguments that it does not take are named."""
    given = {k: v for k, v in named.items() if v is not np._NoValue}
    try:
        return function(*args, **given)
    except TypeError as error:
        if isinstance(error, DmlError):
            raise
        unknown = [name for name in given if name not in signature(function).parameters]
        why = f"a tensor takes no argument {', '.join(unknown)}" if unknown else str(error)
        raise InvalidTypeError(f"{told}: {why}") from None
