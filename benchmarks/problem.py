"""One case on one adapter: the sizes and layouts of its operands, its description, its traffic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.workload import Case, Operand, Shape, Workload
from dmlgpu.ops import BY_NAME, traffic
from dmlgpu.plan.operator import Operator

Array = np.ndarray[Any, Any]
BARE_BELOW = 64  # bytes: gathers of shorter pieces are held against a bare gather
TYPE = "enum DML_TENSOR_DATA_TYPE"


@dataclass(frozen=True, slots=True)
class Layout:
    """An operand at its sizes: the packed array that holds it, and the view that is used."""

    operand: Operand
    dtype: str
    shape: Shape  # of the packed array
    sizes: Shape
    strides: Shape  # in elements

    @property
    def elements(self) -> int:
        """Elements of the packed array."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed array."""
        return self.elements * np.dtype(self.dtype).itemsize

    @property
    def is_packed(self) -> bool:
        """Whether the view is the array itself."""
        return self.sizes == self.shape and self.strides == _packed(self.shape)

    def desc(self) -> dml.TensorDesc:
        """The view as dmlgpu sees it."""
        strides = None if self.is_packed else self.strides
        return dml.TensorDesc(dml.DataType.from_numpy(self.dtype), self.sizes, strides)


def _packed(shape: Shape) -> Shape:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True)
class Problem:
    """A workload with everything decided but the values."""

    workload: Workload
    dtype: str
    shape: Shape

    @classmethod
    def of(cls, case: Case, adapter_kind: str) -> Problem:
        """A case at the size that it has on an adapter."""
        return cls(case.workload, case.dtype, case.shape(adapter_kind))

    def __str__(self) -> str:
        return f"{self.workload.name} {self.dtype} {self.shape}"

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The operands."""
        return tuple(map(self._layout, self.workload.inputs))

    def _layout(self, operand: Operand) -> Layout:
        shape, dtype = operand.shape(self.shape), operand.dtype or self.dtype
        if not operand.seen:
            return Layout(operand, dtype, shape, shape, _packed(shape))
        held = np.empty(shape, dtype)  # memory that nothing touches
        view = eval(operand.seen, {"np": np, "a": held, "s": self.shape})
        strides = tuple(step // held.itemsize for step in view.strides)
        return Layout(operand, dtype, shape, view.shape, strides)

    @property
    def nbytes(self) -> int:
        """Bytes of the largest input, or of the output of what has none."""
        if not self.layouts or not self.workload.inputs[0].shape(self.shape):
            return prod(self.shape) * np.dtype(self.dtype).itemsize
        return max(layout.nbytes for layout in self.layouts)

    @property
    def piece_bytes(self) -> int:
        """Gathers: bytes that one index picks."""
        return self.workload.piece * np.dtype(self.dtype).itemsize

    @property
    def is_bare_gather(self) -> bool:
        """Whether the limit is a bare gather instead of a copy."""
        return 0 < self.piece_bytes < BARE_BELOW

    @property
    def operator(self) -> Operator[Any] | None:
        """The operator's record; a program has none."""
        return BY_NAME.get(self.workload.operator)

    @cached_property
    def desc(self) -> Any:
        """The description that dmlgpu compiles: operands in order, outputs inferred."""
        operator = self.operator
        assert operator is not None
        given = self.workload.given(self.shape)
        for field in operator.fields:  # numbers in attributes are of the workload's type
            if field.kind == TYPE and field.name not in given:
                given[field.name] = dml.DataType.from_numpy(self.dtype)
        descs = [layout.desc() for layout in self.layouts]
        if operator.inputs and operator.inputs[0].is_array:
            return operator.complete({operator.inputs[0].name: tuple(descs), **given})
        names = [field.name for field in operator.inputs]
        return operator.complete({**dict(zip(names, descs, strict=False)), **given})

    def traffic(self, outputs: int) -> int:
        """Bytes that must be read, in whole sectors, plus bytes written.

        A program reads its operands and writes its result, of `outputs` bytes, once.
        """
        if self.operator is None:
            return sum(layout.nbytes for layout in self.layouts) + outputs
        return sum(traffic(self.desc).values())
