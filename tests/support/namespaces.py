"""The namespaces that a program of NumPy's is run over: NumPy itself, and two ways to tensors.

A program is written once, with `np.` before its names, and run with NumPy and with tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dmlgpu as dml
import dmlgpu.numpy as dnp

# What makes arrays of anything but arrays: NumPy's own functions would make arrays of NumPy's.
CREATING = frozenset(
    (
        *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "empty", "eye"),
        *("from_dlpack", "frombuffer", "full", "geomspace", "identity", "indices", "linspace"),
        *("logspace", "ones", "tri", "zeros"),
    )
)
WAYS = ("dmlgpu.numpy", "numpy")


class Tensors:
    """NumPy's names for tensors.

    `through` is "dmlgpu.numpy" for the functions of that namespace, or "numpy" for NumPy's own,
    which ask the tensors that they are given. Where dmlgpu.numpy has not got a name, both take
    NumPy's; a function that creates arrays is always one of dmlgpu.numpy.
    """

    def __init__(self, through: str) -> None:
        assert through in WAYS
        self._through = through

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in CREATING:
            return getattr(dnp, name)
        numpys = getattr(np, name, None)
        if self._through == "dmlgpu.numpy" and hasattr(dnp, name):
            own = getattr(dnp, name)
            needs_methods = isinstance(numpys, np.ufunc) and not hasattr(own, "at")
            return WithMethods(own, numpys) if needs_methods else own
        return getattr(np, name)


class WithMethods:
    """A function of dmlgpu.numpy that has not got `at`, `reduce` and the like: they are NumPy's."""

    def __init__(self, function: Any, numpys: Any) -> None:
        self._function, self._numpys = function, numpys

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._function(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)


@contextmanager
def opened(device: dml.Device | None) -> Iterator[None]:
    """A device is the default one meanwhile, which all arrays of a program are made on."""
    dml.set_default_device(device)
    try:
        yield
    finally:
        dml.set_default_device(None)


def in_host_memory(value: Any) -> np.ndarray[Any, Any]:
    """An array, a tensor or a number as an array of NumPy's."""
    return value.numpy() if isinstance(value, dml.Tensor) else np.asarray(value)
