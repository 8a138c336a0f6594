"""One random description and how it is run; an operator's entry in the table of expected values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dmlgpu as dml
from dmlgpu.ops import BY_NAME
from support import oracle
from support.draws import Draw, Kwargs
from support.oracle import Array

# Draws attributes, and the sizes of each tensor, of these ranks and of about so many elements; an
# array of tensors has a list of sizes.
Own = Callable[[Draw, Sequence[int], int], tuple[Kwargs, dict[str, Any]]]
Fill = Callable[[np.random.Generator, "Case", dml.TensorDesc], Array | None]
Outputs = Mapping[str, bytes]


@dataclass(frozen=True)
class Case:
    """One description with what a run of it needs."""

    operator: str
    kwargs: Kwargs
    seed: int = 0
    gaps: tuple[int, ...] = ()  # bytes before each tensor
    one_buffer: bool = False
    in_place: str = ""  # the input that the output lies on
    mode: str = ""

    @property
    def desc(self) -> Any:
        return BY_NAME[self.operator].desc(**self.kwargs)


@dataclass(frozen=True)
class Expected:
    """How an operator is tested."""

    value: Callable[..., Array]  # of a description and of its inputs, in order
    draw: Own | None = None
    fill: Mapping[str, Fill] = field(default_factory=dict)  # by field; else random bits
    bits: bool = False  # inputs that nothing fills are only moved: their bits are the value
    compare: Callable[..., None] | None = None  # case, inputs, outputs; else bit for bit
    modes: tuple[str, ...] = ("",)  # of filling and comparing
    elements: int = 4000  # about the most of a random tensor
    # Attributes that tensors of one element need, and sizes of tensors that need more or that
    # nothing infers; or a function of the rank that gives them.
    least: Kwargs | Callable[[int], Kwargs] = field(default_factory=dict)
    # What inference has to be told of a description besides its fields.
    asked: Callable[[Any], Kwargs] = lambda desc: {}
    examples: int = 0  # random descriptions in a quick run; 0: as many as the profile says

    def content(self, case: Case, name: str, tensor: dml.TensorDesc) -> bytes:
        """The bytes of an input: values where there is a rule for them, random bits elsewhere."""
        image = bytearray(oracle.random_bytes(tensor.total_tensor_size_in_bytes, case.seed))
        fill = self.fill.get(name.partition("[")[0], _nothing)
        values = fill(np.random.default_rng(case.seed), case, tensor)
        if values is not None:
            oracle.write(image, tensor, values.astype(oracle.NUMPY_TYPES[tensor.data_type]))
        return bytes(image)

    def arrays(self, desc: Any, data: Mapping[str, bytes]) -> list[Array]:
        """The inputs as NumPy sees them."""
        tensors = desc.inputs()
        return [
            oracle.read(
                raw,
                tensors[name],
                oracle.bits_of(tensors[name].data_type)
                if self.bits and name.partition("[")[0] not in self.fill
                else None,
            )
            for name, raw in data.items()
        ]

    def agree(self, case: Case, inputs: list[Array], out: Outputs) -> None:
        """Fails unless the outputs are what NumPy gives."""
        desc = case.desc
        if self.compare is not None:
            tensors = desc.outputs()
            self.compare(case, inputs, *(oracle.read(out[name], tensors[name]) for name in out))
            return
        values = self.value(desc, *inputs)
        several = values if isinstance(values, tuple) else (values,)
        for (name, tensor), want in zip(desc.outputs().items(), several, strict=True):
            oracle.assert_same_elements(out[name], tensor, want)


def _nothing(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> None:
    """Random bits."""
