"""Values for the fuzzer: what a program may hand over by mistake, and arrays of every kind."""

from __future__ import annotations

import array
import decimal
import fractions
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Hostile:
    """Raises from the method it is told to, whatever asks."""

    def __init__(self, method: str) -> None:
        self.method = method

    def _maybe(self, method: str) -> None:
        if method == self.method:
            raise RuntimeError(f"{method}\nraises")

    def __index__(self) -> int:
        self._maybe("__index__")
        raise TypeError("no integer")

    def __repr__(self) -> str:
        self._maybe("__repr__")
        return f"Hostile({self.method!r})"

    def __hash__(self) -> int:
        self._maybe("__hash__")
        return 1

    def __eq__(self, other: object) -> bool:
        self._maybe("__eq__")
        return self is other

    def __iter__(self) -> Iterator[int]:
        self._maybe("__iter__")
        raise TypeError("no sequence")

    def __bool__(self) -> bool:
        self._maybe("__bool__")
        return True

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._maybe("__array__")
        raise TypeError("no array")


METHODS = ("__index__", "__repr__", "__hash__", "__eq__", "__iter__", "__bool__", "__array__")

NUMBERS: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, -2, 8, 9, 255, 2**31 - 1, 2**31, -(2**31) - 1, 2**32 - 1, 2**32),
    *(2**63, 2**64 - 1, 2**64, -(2**64), 10**30, 10**5000, -(10**5000)),
    *(True, False, 0.0, 1.0, 1.5, -0.5, float("nan"), float("inf"), 1j),
    *(np.int8(-1), np.uint8(2), np.int64(1), np.uint64(2**63), np.float32(1), np.bool_(True)),
    *(np.array(1), np.array(1.0), np.array([1]), np.array([1, 2]), np.array([], np.int64)),
    *(decimal.Decimal(1), fractions.Fraction(1, 2), np.datetime64("2020-01-01")),
)
OTHERS: tuple[Any, ...] = (
    *(None, "", "1", "float32", "two\nlines", b"", b"\x01", bytearray(b"ab"), memoryview(b"abcd")),
    *((), [], {}, set(), {1: 2}, {1, 2}, frozenset({1}), range(3), range(0), slice(None), ...),
    *(object(), int, print, NotImplemented, dml, T.FLOAT32, T.UNKNOWN, T.INT4),
    *(dml.FeatureLevel.FL_1_0, dml.TensorFlags.OWNED_BY_DML, dml.AxisDirection.DECREASING),
    *([1, [2]], [[1], [2]], [None], ["1"], [1.0], [1, 10**5000], [True, 2], (1,), (0, 0), (1, 1)),
    *(np.zeros((3, 3)), np.zeros((40, 40)), np.array(["a"]), "x" * 5000, list(range(500))),
)


def garbage() -> st.SearchStrategy[Any]:
    """Anything but what is asked for, and sometimes just that."""
    hostile = st.sampled_from(METHODS).map(Hostile)
    return st.sampled_from(NUMBERS) | st.sampled_from(OTHERS) | hostile


def numbers() -> st.SearchStrategy[Any]:
    """What stands where an integer belongs."""
    return st.integers(-3, 9) | st.sampled_from(NUMBERS) | garbage()


def lists() -> st.SearchStrategy[Any]:
    """What stands where a sequence of integers belongs."""
    plain = st.lists(st.integers(-1, 5), max_size=4)
    mixed = st.lists(numbers(), max_size=4)
    as_array = plain.map(lambda v: np.array(v, np.int64))
    return plain | plain.map(tuple) | mixed | as_array | garbage()


# One of each width, for few shaders to compile; and types that have no DirectML type.
DTYPES = ("<f4", "<u1", "<i8", "<f2")
SCANNED = ("<f4", "<i8", ">f4", "<f2")
STRANGE = (">f4", ">i8", ">u2", "?", "<c8", "O", "<U3", "S2", "<M8[s]", "i4,f4", "V3", "g")
SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (1,), (5,), (12,), (3, 4), (1, 5), (2, 3, 4), (1,) * 8),
    *((0,), (3, 0), (1,) * 9, (2, 1, 3, 1)),
)


@st.composite
def arrays(draw: Draw, dtypes: Sequence[str] = (), shapes: Any = SHAPES) -> Any:
    """Small arrays of every type, shape and layout in memory."""
    types = st.sampled_from(dtypes) if dtypes else st.sampled_from(DTYPES + STRANGE)
    dtype = np.dtype(draw(types))
    shape = draw(st.sampled_from(shapes))
    count = int(np.prod(shape, dtype=np.int64))
    values = np.arange(count) % 5
    made = np.zeros(shape, dtype)
    if dtype.kind in "fiu?c":
        made[...] = values.reshape(shape)
    layout = draw(st.sampled_from(("C", "C", "F", "back", "gaps", "still", "broadcast", "turned")))
    if layout == "F":
        return np.asfortranarray(made)
    if layout == "back":
        return made[::-1] if made.ndim else made
    if layout == "gaps":
        return np.repeat(made, 2, -1)[..., ::2] if made.ndim else made
    if layout == "broadcast":
        return np.broadcast_to(made, (2, *made.shape))
    if layout == "still":
        made.flags.writeable = False
    return made.T if layout == "turned" else made


def not_arrays() -> st.SearchStrategy[Any]:
    """What NumPy makes arrays of, or fails to."""
    samples: tuple[Any, ...] = (
        *(3, 2.5, True, [1.0, 2.0], [[1, 2], [3, 4]], [[1], [2, 3]], [], [[]], range(4)),
        *(array.array("f", [1, 2, 3]), array.array("d"), memoryview(b"abcd"), "text", b"text"),
        *([2**70], [1, "a"], [None, 1], np.float32(3), {1: 2}),
    )
    return st.sampled_from(samples) | garbage()


def inputs() -> st.SearchStrategy[Any]:
    """What stands where an array belongs."""
    return arrays() | arrays() | arrays() | not_arrays()
