"""Names of the standard that wait for operators: they exist, and say what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dmlgpu.errors import UnsupportedError

MATRICES = "matrix products (GEMM)"
SORTING = "the sorting operators (TOP_K)"
INDEXING = "the index operators (GATHER_ELEMENTS)"
DYNAMIC = "shapes that depend on values (NONZERO_COORDINATES)"

WAITING = {
    "argsort": SORTING,
    "matmul": MATRICES,
    "nonzero": DYNAMIC,
    "searchsorted": SORTING,
    "sort": SORTING,
    "take_along_axis": INDEXING,
    "tensordot": MATRICES,
    "unique_all": DYNAMIC,
    "unique_counts": DYNAMIC,
    "unique_inverse": DYNAMIC,
    "unique_values": DYNAMIC,
}


def _waits(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **named: Any) -> NoReturn:
        raise UnsupportedError(f"{name} is not built yet: it waits for {WAITING[name]}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not built yet: it waits for {WAITING[name]}."
    return function


argsort = _waits("argsort")
matmul = _waits("matmul")
nonzero = _waits("nonzero")
searchsorted = _waits("searchsorted")
sort = _waits("sort")
take_along_axis = _waits("take_along_axis")
tensordot = _waits("tensordot")
unique_all = _waits("unique_all")
unique_counts = _waits("unique_counts")
unique_inverse = _waits("unique_inverse")
unique_values = _waits("unique_values")
