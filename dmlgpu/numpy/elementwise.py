"""Element-wise functions, with the methods that NumPy's universal functions have.

Rows of the table in dmlgpu.array.functions are objects of one class; functions that take more than
their operands, or give more than one result, are written below.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

import numpy as np

from dmlgpu.array.functions import FUNCTIONS
from dmlgpu.array.promotion import BOOL, FLOAT32, DType, dtype_of, floating, is_number, wide_sum
from dmlgpu.desc import views
from dmlgpu.errors import InvalidDescError, InvalidIndexError, InvalidTypeError
from dmlgpu.functions import device_of
from dmlgpu.numpy import groups, manipulation, statistics
from dmlgpu.numpy.creation import asarray, computed, ones_like, zeros_like
from dmlgpu.numpy.outputs import the_one, written
from dmlgpu.numpy.refusals import refused
from dmlgpu.tensor import Tensor

Array = Any  # a tensor, an array, or a Python number
# Functions of two for which neither order nor brackets matter, and what changes no result.
IDENTITIES: dict[str, Any] = {
    "add": 0,
    "bitwise_and": -1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "fmax": None,
    "fmin": None,
    "hypot": 0,
    "logaddexp": float("-inf"),
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "maximum": None,
    "minimum": None,
    "multiply": 1,
}
SUMS = {"add": statistics.sum, "multiply": statistics.prod}
EXTREMES = {"maximum": statistics.max, "minimum": statistics.min}
TRUTHS = {"logical_and": statistics.all, "logical_or": statistics.any}
RUNNING = {"add": statistics.cumsum, "multiply": statistics.cumprod}


class ElementWise:
    """A function of single elements by the name of its row, with NumPy's methods and arguments."""

    __name__: str

    def __init__(self, row: str, name: str | None = None) -> None:
        self.row = row
        self.nin, self.nout = FUNCTIONS[row].arity, 1
        self.__name__ = self.__qualname__ = name or row
        self.__module__ = "dmlgpu.numpy"  # where its name is
        self.__doc__ = f"NumPy's `{name or row}`, on the GPU; `out` is a tensor to write into."
        operands = ["x"] if self.nin == 1 else [f"x{i + 1}" for i in range(self.nin)]
        parameters = [Parameter(n, Parameter.POSITIONAL_ONLY) for n in operands]
        out = Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None)
        dtype = Parameter("dtype", Parameter.KEYWORD_ONLY, default=None)
        self.__signature__ = Signature([*parameters, out, dtype])

    def __repr__(self) -> str:
        return f"<function dmlgpu.numpy.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__  # pickled by its name

    def __call__(self, *operands: Array, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        if len(operands) == self.nin + 1 and out is None:  # NumPy's place of `out`
            operands, out = operands[: self.nin], operands[self.nin]
        if len(operands) != self.nin:
            raise InvalidTypeError(
                f"{self.__name__} takes {self.nin} arrays; {len(operands)} are given"
            )
        if out is not None:
            out = the_one(self.__name__, out)
        device = device_of(*operands, out)
        if dtype is None:
            return device.elementwise(self.row, *operands, out=out)
        wanted = dtype_of(f"{self.__name__}: dtype", dtype)
        given = [
            x if is_number(x) else asarray(x, device=device).astype(wanted, casting="same_kind")
            for x in operands
        ]
        result = device.elementwise(self.row, *given)
        return written(self.__name__, result.astype(wanted, copy=False), out)

    def reduce(
        self,
        array: Array,
        axis: Any = 0,
        dtype: Any = None,
        out: Tensor | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Tensor:
        """Elements along axes put together by the function, as sums are by `add`."""
        if self.row in SUMS:
            return SUMS[self.row](array, axis, dtype, out, keepdims, initial, where)
        x = asarray(array, dtype, device=device_of(array, where, initial, out))
        if self.row in EXTREMES:
            return EXTREMES[self.row](x, axis, out, keepdims, initial, where)
        if self.row in TRUTHS and initial is None:
            return TRUTHS[self.row](x, axis, out, keepdims, where=where)
        self._associative("reduce")
        nothing = self._identity(x.dtype)  # of which any number may be added
        first = initial if nothing is None else nothing
        if where is not True:
            if first is None:
                raise InvalidDescError(f"{self.__name__}.reduce: where needs initial here")
            x = x.device.select(where, x, x.device.full((), x.dtype, first))
        result = self._folded(x, axis, keepdims)
        return written(self.__name__, result if initial is None else self(result, initial), out)

    def accumulate(
        self, array: Array, axis: int = 0, dtype: Any = None, out: Tensor | None = None
    ) -> Tensor:
        """What the function makes of each element and all before it along an axis."""
        if self.row in RUNNING:
            return RUNNING[self.row](array, axis, dtype, out)
        self._associative("accumulate")
        x = self._operand(array, dtype, out)
        at = views.axis_of(f"{self.__name__}.accumulate", axis, x.ndim)
        before, step = (slice(None),) * at, 1
        while step < x.shape[at]:  # each element has put together so many before it
            first, behind, ahead = slice(step), slice(-step), slice(step, None)
            both = self(x[(*before, behind)], x[(*before, ahead)])
            x = manipulation.concat([x[(*before, first)], both], axis=at)
            step *= 2
        return written(self.__name__, x.copy() if step == 1 else x, out)

    def outer(self, A: Array, B: Array, /, *, out: Tensor | None = None) -> Tensor:  # noqa: N803
        """The function of each element of one array with each of another."""
        if self.nin != 2:
            raise InvalidTypeError(f"{self.__name__}.outer: only functions of two have it")
        device = device_of(A, B, out)
        x, y = (asarray(each, device=device) for each in (A, B))
        return self(x.reshape((*x.shape, *(1,) * y.ndim)), y, out=out)

    def at(self, a: Tensor, indices: Any, b: Any = None, /) -> None:
        """Changes elements of `a` as often as they are named."""
        if self.row not in groups.AT or b is None:
            raise refused(f"{self.__name__}.at")
        groups.at(self.row, a, indices, b)

    def reduceat(
        self,
        array: Array,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Elements from each index up to the next, put together; one where the next is not above.

        The indices are read back, for they must be within the axis.
        """
        self._associative("reduceat")
        x = self._operand(array, dtype, out)
        if dtype is None and self.row in SUMS:
            x = x.astype(wide_sum(x.dtype), copy=False)
        at = views.axis_of(f"{self.__name__}.reduceat", axis, x.ndim)
        starts = np.asarray(indices.numpy() if isinstance(indices, Tensor) else indices)
        if starts.ndim != 1 or starts.dtype.kind not in "iu":
            raise InvalidTypeError(f"{self.__name__}.reduceat: indices must be a line of integers")
        size = x.shape[at]
        if ((starts < 0) | (starts >= size)).any():
            raise InvalidIndexError(
                f"{self.__name__}.reduceat: an index is out of bounds for an axis of size {size}"
            )
        counts = np.maximum(np.diff(starts, append=size), 1).astype(np.int32)
        first, many = (asarray(n, device=x.device) for n in (starts.astype(np.int32), counts))
        rows = groups.grouped(self.row, manipulation.moveaxis(x, at, 0), first, many)
        return written(self.__name__, manipulation.moveaxis(rows, 0, at), out)

    def _operand(self, array: Array, dtype: Any, out: Tensor | None) -> Tensor:
        """An array in the type that is asked for; where the results are bool, in that."""
        wanted = BOOL if FUNCTIONS[self.row].is_truth else dtype
        return asarray(array, wanted, device=device_of(array, out))

    def _associative(self, method: str) -> None:
        """Raises where order or brackets matter."""
        if self.row not in IDENTITIES:
            raise refused(f"{self.__name__}.{method}")

    def _identity(self, dtype: DType) -> Any:
        """What changes no result, as a type holds it; None where there is no such number."""
        first = IDENTITIES[self.row]
        if self.row == "bitwise_and" and dtype.kind == "u":  # all bits
            return int(np.iinfo(dtype).max)
        return bool(first) if dtype == BOOL and isinstance(first, int) else first

    def _folded(self, x: Tensor, axis: Any, keepdims: bool) -> Tensor:
        """Elements along axes put together, one half with the other."""
        axes = range(x.ndim) if axis is None else views.axes_of(self.__name__, axis, x.ndim)
        shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
        kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        order = (*axes, *(d for d in range(x.ndim) if d not in axes))
        rows = manipulation.transpose(x, order).reshape((-1 if x.size else 0, *shape))
        if not rows.shape[0]:
            first = self._identity(x.dtype)
            if first is None:
                raise InvalidDescError(f"{self.__name__}.reduce: there is no element")
            return x.device.full(kept if keepdims else shape, x.dtype, first)
        if rows.shape[0] == 1 and self.row not in ("fmax", "fmin"):  # the result's type
            rows = self(rows, self._identity(x.dtype))
        while rows.shape[0] > 1:
            half = rows.shape[0] // 2
            both = self(rows[:half], rows[half : 2 * half])
            left = rows[2 * half :]
            rows = manipulation.concat([both, left.astype(both.dtype)]) if left.size else both
        return rows.reshape(kept if keepdims else shape)


def clip(
    a: Array,
    min: Any = None,
    max: Any = None,
    out: Tensor | None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`.

    `a_min` and `a_max` are NumPy's other names for them.
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise InvalidTypeError("clip: a_min is min and a_max is max; each can be given once")
    low, high = (y if x is None else x for x, y in ((a_min, min), (a_max, max)))
    return written("clip", _tensor(a, low, high, out).clip(low, high), out)


def round(a: Array, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole numbers, halves to the even one, or so many decimals."""
    return written("round", _tensor(a, out).round(decimals), out)


around = round


def fix(x: Array, out: Tensor | None = None) -> Tensor:
    """The whole numbers towards 0."""
    return written("fix", _tensor(x, out).device.elementwise("trunc", x), out)


def conj(x: Array, /, out: Tensor | None = None) -> Tensor:
    """A real number is its own conjugate."""
    return written("conj", _tensor(x, out).copy(), out)


conjugate = conj


def real(val: Array) -> Tensor:
    """The real part, which is all there is: the tensor itself."""
    return _tensor(val)


def real_if_close(a: Array, tol: float = 100) -> Tensor:
    """The tensor itself, for it is real."""
    return _tensor(a)


def imag(val: Array) -> Tensor:
    """The imaginary part: zeros."""
    return zeros_like(_tensor(val))


def isreal(x: Array) -> Tensor:
    """Whether each element has no imaginary part: True."""
    return ones_like(_tensor(x), dtype=BOOL)


def iscomplex(x: Array) -> Tensor:
    """Whether each element has an imaginary part: False."""
    return zeros_like(_tensor(x), dtype=BOOL)


def isrealobj(x: Array) -> bool:
    """Whether the type is of real numbers: True."""
    return not iscomplexobj(x)


def iscomplexobj(x: Array) -> bool:
    """Whether the type is of complex numbers, which no tensor has."""
    return not isinstance(x, Tensor) and bool(np.iscomplexobj(x))


def isposinf(x: Array, out: Tensor | None = None) -> Tensor:
    """Whether each element is positive infinity."""
    return written("isposinf", _tensor(x, out) == float("inf"), out)


def isneginf(x: Array, out: Tensor | None = None) -> Tensor:
    """Whether each element is negative infinity."""
    return written("isneginf", _tensor(x, out) == float("-inf"), out)


def divmod(x1: Array, x2: Array, /) -> tuple[Tensor, Tensor]:
    """Quotients rounded down, and what is left."""
    run = device_of(x1, x2).elementwise
    return run("floor_divide", x1, x2), run("remainder", x1, x2)


def modf(x: Array, /) -> tuple[Tensor, Tensor]:
    """The part behind the point and the whole one, both with the sign of the number."""
    given = _tensor(x)
    a = given.astype(floating(given.dtype), copy=False)
    run = a.device.elementwise
    none = run("copysign", 0.0, a)
    return a.device.select(run("isinf", a), none, run("fmod", a, 1.0)), run("trunc", a)


def float_power(x1: Array, x2: Array, /, out: Tensor | None = None) -> Tensor:
    """Powers in float32, of integers too."""
    device = device_of(x1, x2, out)
    a = computed(x1, device)
    return written("float_power", a.astype(FLOAT32, copy=False) ** computed(x2, device), out)


def ldexp(x1: Array, x2: Array, /, out: Tensor | None = None) -> Tensor:
    """`x1` times 2 to the power of the integer `x2`."""
    device = device_of(x1, x2, out)
    a, power = computed(x1, device), asarray(x2, device=device)
    if power.dtype.kind not in "iu":
        raise InvalidTypeError(f"ldexp: x2 is {power.dtype}; it must be integers")
    half = power // 2  # in two steps, neither of which leaves the range while the result is in it
    a = a.astype(floating(a.dtype), copy=False)
    run = device.elementwise
    steps = (
        run("exp2", n.astype(FLOAT32)).astype(a.dtype, copy=False) for n in (half, power - half)
    )
    for step in steps:
        a = a * step
    return written("ldexp", a, out)


def logaddexp2(x1: Array, x2: Array, /, out: Tensor | None = None) -> Tensor:
    """The logarithm to the base 2 of the sum of two powers of 2."""
    device = device_of(x1, x2, out)
    run, log2 = device.elementwise, float(np.log(2))
    scaled = (run("multiply", computed(x, device), log2) for x in (x1, x2))
    return written("logaddexp2", run("logaddexp", *scaled) / log2, out)


def sinc(x: Array) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    given = _tensor(x)
    angle = given.astype(floating(given.dtype), copy=False) * float(np.pi)
    wave = angle.device.elementwise("sin", angle) / angle
    return angle.device.select(angle == 0, 1.0, wave)


def angle(z: Array, deg: bool = False) -> Tensor:
    """The angle of a real number in the plane: 0, or half a turn where it is negative."""
    x = _tensor(z)
    turn = x.device.elementwise("atan2", 0.0, x)
    return x.device.elementwise("rad2deg", turn) if deg else turn


def _tensor(x: Any, *others: Any) -> Tensor:
    """A tensor, or what is given in its place on the device of the others."""
    return x if isinstance(x, Tensor) else asarray(x, device=device_of(*others))
