"""The reductions of arrays: axes, types and empty arrays as NumPy and the array API have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from dmlgpu.array.promotion import (
    BOOL,
    FLOAT32,
    INT64,
    DType,
    check_computes,
    floating,
    in_words,
    wide_sum,
)
from dmlgpu.desc import views
from dmlgpu.desc.tensor import DataType
from dmlgpu.errors import InvalidDescError
from dmlgpu.plan.reduce import accumulators
from dmlgpu.plan.reduce.accumulators import Accumulator

NAN = float("nan")
TOTALS = ("sum", "prod")  # integers are widened, unless a type is asked for
SPREADS = ("var", "std")  # squared deviations from averages, which are found first


def _same(dtype: DType) -> DType:
    return dtype


def _place(data_type: DataType, largest: bool) -> Accumulator:
    """The first place of an extreme; NaN is more than any number, as NumPy has it."""
    if data_type not in (DataType.FLOAT16, DataType.FLOAT32):
        return accumulators.place_of_extreme(data_type, DataType.INT64, largest)
    rank = f"select(f32_rank(x), {'' if largest else '-'}0x7fffffff, f32_is_nan(x))"
    return accumulators.place_of_extreme(DataType.INT32, DataType.INT64, largest, value_of=rank)


@dataclass(frozen=True, slots=True)
class Reducer:
    """One function of lines of elements."""

    accumulator: Callable[[DataType], Accumulator]
    identity: bool | int | float | None  # what no elements give; None: nothing
    # The types it computes in and gives, for arrays of a type or for the one that is asked for.
    computed: Callable[[DType], DType] = _same
    result: Callable[[DType], DType] = _same


def _extreme(largest: bool) -> Callable[[DataType], Accumulator]:
    return lambda kind: accumulators.extreme(kind, largest, keeps_nan=True)


def _spread(finish: str) -> Callable[[DataType], Accumulator]:
    return lambda kind: accumulators.total(kind, finish=finish)


FUNCTIONS: dict[str, Reducer] = {
    "all": Reducer(_extreme(False), True, lambda _: BOOL, lambda _: BOOL),
    "any": Reducer(_extreme(True), False, lambda _: BOOL, lambda _: BOOL),
    "argmax": Reducer(lambda kind: _place(kind, True), None, _same, lambda _: INT64),
    "argmin": Reducer(lambda kind: _place(kind, False), None, _same, lambda _: INT64),
    "max": Reducer(_extreme(True), None),
    "mean": Reducer(accumulators.average, NAN, floating, floating),
    "min": Reducer(_extreme(False), None),
    "prod": Reducer(accumulators.product, 1, in_words),
    "std": Reducer(_spread("math_sqrt(f32_div(a, divisor))"), NAN, lambda _: FLOAT32, floating),
    "sum": Reducer(accumulators.total, 0, in_words),
    "var": Reducer(_spread("f32_div(a, divisor)"), NAN, lambda _: FLOAT32, floating),
}


@dataclass(frozen=True, slots=True)
class Reduced:
    """A function over some axes of an array."""

    name: str
    axes: tuple[int, ...]
    shape: tuple[int, ...]  # of the result
    computed: DType
    dtype: DType  # of the result
    divisor: float  # of the squared deviations of a spread

    @classmethod
    def of(
        cls,
        name: str,
        shape: tuple[int, ...],
        dtype: DType,
        axis: Any,
        keepdims: bool,
        wanted: DType | None = None,
        correction: float = 0,
    ) -> Reduced:
        """The function of an array of this shape and type; `wanted` is the type asked for."""
        function, rank = FUNCTIONS[name], len(shape)
        if axis is None:
            axes = tuple(range(rank))
        elif name in ("argmax", "argmin"):
            axes = (views.axis_of(name, axis, rank),)
        else:
            axes = tuple(sorted(views.axes_of(name, axis, rank)))
        if name in TOTALS and wanted is None:
            wanted = wide_sum(dtype)
        made = function.result(dtype) if wanted is None else wanted
        computed = function.computed(dtype if wanted is None else wanted)
        if name == "mean" and wanted is not None:
            made = floating(wanted)
        if computed != BOOL:
            check_computes(name, dtype if name in SPREADS else computed)
        kept = [1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes]
        if 0 in shape and 0 not in kept and function.identity is None:
            what = (
                "attempt to get {} of an empty sequence"
                if name.startswith("arg")
                else ("zero-size array to reduction operation {} which has no identity")
            )
            raise InvalidDescError(f"{what.format(name)}: shape {shape}")
        left = prod(shape[a] for a in axes) - correction
        return cls(name, axes, tuple(kept), computed, made, float(left) if left > 0 else 0.0)

    @property
    def empty(self) -> bool | int | float:
        """What it gives where there are no elements."""
        return FUNCTIONS[self.name].identity or 0

    def accumulator(self, data_type: DataType) -> Accumulator:
        """How values of the computing type are reduced."""
        return FUNCTIONS[self.name].accumulator(data_type)
