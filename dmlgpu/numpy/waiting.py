"""Names of the standard that wait for operators: they exist, and say what they wait for."""

from __future__ import annotations

from typing import Any, NoReturn

from dmlgpu.errors import UnsupportedError

MATRICES = "matrix products (GEMM)"

WAITING = {
    "matmul": MATRICES,
    "tensordot": MATRICES,
}


def _waits(name: str) -> UnsupportedError:
    return UnsupportedError(f"{name} is not built yet: it waits for {WAITING[name]}")


def matmul(x1: Any, x2: Any, /) -> NoReturn:
    """Not built yet."""
    raise _waits("matmul")


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> NoReturn:
    """Not built yet."""
    raise _waits("tensordot")
