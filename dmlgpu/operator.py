"""The records an operator is made of: facts as data, behaviour as two plain functions.

`plan` turns a description into `Dispatch` records without touching a GPU, so validation, packing
and dispatch sizes are all testable on a machine that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.support import FeatureLevel, Support, check_support
from dmlgpu.tensor import MAX_RANK, TensorDesc

D = TypeVar("D")

Value = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a plan may know of the adapter it will run on; the defaults are WebGPU's least."""

    is_cpu: bool = False
    subgroup_min: int = 0  # 0: no subgroup operations
    subgroup_max: int = 0
    exact_halves: bool = False  # pack2x16float and unpack2x16float do what IEEE 754 says
    forward_progress: bool = False  # a workgroup goes on while others wait for it
    max_workgroup_size: int = 256
    max_workgroup_storage: int = 16384
    max_binding: int = 1 << 27  # bytes of a buffer that a shader reaches through one binding


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of one shader: everything the device needs to know of it.

    `bindings` maps a name the shader declares with #bind to a tensor field of the description, or
    to a name in the plan's `scratch` or `shared`. `workgroups` is a count; the device folds it into
    the grid. `spans` are the bytes of a tensor field that the dispatch reaches, where not all.
    """

    shader: str
    workgroups: int
    params: Mapping[str, Value]
    bindings: Mapping[str, str]
    slots: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    entry: str = "main"
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The dispatches of one operator call, in order, and the bytes of scratch memory they share.

    `shared` is memory that all calls of a device share: zeros at first, then what the call before
    left there. `in_place`, where there is one, takes over when the first input and the output lie
    in the same buffer.
    `copies`, where there are any, do the same as the dispatches with plain buffer copies from the
    first input to the output, when the two are different buffers: (source, target, size) in bytes.
    """

    dispatches: tuple[Dispatch, ...]
    scratch: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[tuple[int, int, int], ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)
    in_place: Plan | None = None

    @property
    def waits(self) -> bool:
        """Whether workgroups wait for each other: for what they publish in shared memory."""
        return bool(self.shared)


@dataclass(frozen=True, slots=True)
class Operator(Generic[D]):
    """One DirectML operator."""

    name: str  # without DML_OPERATOR_
    value: int  # in DML_OPERATOR_TYPE
    desc: type[D]
    support: Support
    check: Callable[[D], None]
    plan: Callable[[D, Adapter], Plan]
    in_place: bool = False
    # Operators that read index values: refuse host arrays; debug dispatches and their verdict.
    check_values: Callable[[D, str, np.ndarray[Any, Any]], None] | None = None
    check_indices: Callable[[D], tuple[Dispatch, ...]] | None = None
    raise_report: Callable[[D, np.ndarray[Any, Any]], None] | None = None

    @property
    def tensors(self) -> tuple[str, ...]:
        """Tensor fields in the description's order, outputs last."""
        return tuple(self.support[min(self.support)])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input tensor fields in the description's order."""
        return self.tensors[:-1]

    def validate(self, desc: D, level: FeatureLevel) -> None:
        """Raises unless `desc` obeys every rule at `level`."""
        for name in self.tensors:
            tensor = getattr(desc, name)
            if not isinstance(tensor, TensorDesc):
                raise InvalidDescError(
                    f"{self.name}: {name} is {shown(tensor)}; it must be a TensorDesc"
                )
        check_support(self, desc, level)
        output: TensorDesc = getattr(desc, self.tensors[-1])
        if output.overlaps_itself:
            raise InvalidDescError(
                f"{self.name}: {self.tensors[-1]} has strides {output.effective_strides} over "
                f"sizes {output.sizes}, which let two elements share an address; an output must "
                "not overlap itself"
            )
        if output.flags:
            raise InvalidDescError(
                f"{self.name}: {self.tensors[-1]} has flags {output.flags!s}; "
                "only inputs may be OWNED_BY_DML"
            )
        self.check(desc)


def rank_of(operator: str, desc: Any, names: tuple[str, ...]) -> int:
    """The rank that all tensors `names` share."""
    first: TensorDesc = getattr(desc, names[0])
    for name in names[1:]:
        rank = getattr(desc, name).rank
        if rank != first.rank:
            raise InvalidDescError(
                f"{operator}: {name} has {rank} dimensions; {names[0]} has {first.rank}"
            )
    return first.rank


def same_type(operator: str, desc: Any) -> None:
    """The rule of all these operators: output and input hold one data type."""
    given, made = desc.input_tensor.data_type, desc.output_tensor.data_type
    if given != made:
        raise InvalidDescError(
            f"{operator}: output_tensor is {made.name}; input_tensor is {given.name}, "
            "and the two must be equal"
        )


def per_dimension(operator: str, name: str, values: tuple[int, ...], rank: int) -> None:
    """The rule of array fields: one entry for each dimension."""
    if len(values) != rank:
        raise InvalidDescError(
            f"{operator}: {name} has {len(values)} entries; the tensors have {rank} dimensions"
        )


def eight(values: list[int] | tuple[int, ...], fill: int = 0) -> tuple[int, ...]:
    """`values` as the eight 32-bit words a shader reads, two's complement where negative."""
    words = [v & 0xFFFFFFFF for v in values]
    return tuple(words + [fill] * (MAX_RANK - len(words)))
