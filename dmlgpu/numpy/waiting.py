"""Names of the standard that wait for operators: they exist, and say what they wait for."""

from __future__ import annotations

from typing import Any, NoReturn

from dmlgpu.errors import UnsupportedError

MATRICES = "matrix products (GEMM)"
INDEXING = "the index operators (GATHER_ELEMENTS)"
DYNAMIC = "shapes that depend on values (NONZERO_COORDINATES)"

WAITING = {
    "matmul": MATRICES,
    "nonzero": DYNAMIC,
    "take_along_axis": INDEXING,
    "tensordot": MATRICES,
}


def _waits(name: str) -> UnsupportedError:
    return UnsupportedError(f"{name} is not built yet: it waits for {WAITING[name]}")


def matmul(x1: Any, x2: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("matmul")


def nonzero(x: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("nonzero")


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> NoReturn:
    """Not built yet."""
    raise _waits("take_along_axis")


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> NoReturn:
    """Not built yet."""
    raise _waits("tensordot")
