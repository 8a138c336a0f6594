"""Names of the standard that wait for operators: they exist, and say what they wait for."""

from __future__ import annotations

from typing import Any, NoReturn

from dmlgpu.errors import UnsupportedError

MATRICES = "matrix products (GEMM)"
SORTING = "the sorting operators (TOP_K)"
DYNAMIC = "shapes that depend on values (NONZERO_COORDINATES)"

WAITING = {
    "argsort": SORTING,
    "matmul": MATRICES,
    "searchsorted": SORTING,
    "sort": SORTING,
    "tensordot": MATRICES,
    "unique_all": DYNAMIC,
    "unique_counts": DYNAMIC,
    "unique_inverse": DYNAMIC,
    "unique_values": DYNAMIC,
}


def _waits(name: str) -> UnsupportedError:
    return UnsupportedError(f"{name} is not built yet: it waits for {WAITING[name]}")


def argsort(
    x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> NoReturn:
    """Not built yet."""
    raise _waits("argsort")


def matmul(x1: Any, x2: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("matmul")


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> NoReturn:
    """Not built yet."""
    raise _waits("searchsorted")


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> NoReturn:
    """Not built yet."""
    raise _waits("sort")


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> NoReturn:
    """Not built yet."""
    raise _waits("tensordot")


def unique_all(x: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("unique_all")


def unique_counts(x: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("unique_counts")


def unique_inverse(x: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("unique_inverse")


def unique_values(x: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("unique_values")
