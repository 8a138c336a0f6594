"""DML_OPERATOR_RANDOM_GENERATOR: random bits that are a pure function of a state.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_random_generator_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.enumerations import RandomGeneratorType
from dmlgpu.desc.tensor import DataType, TensorDesc, packed_strides
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.rules import require
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.operator import Given, Operator, Together, Work
from dmlgpu.plan.random import Philox
from dmlgpu.plan.values import Expression, Operand, Parameter

WORDS = 6  # of a state: a counter of four, a key of two


class RandomGeneratorDesc(Description):
    """DML_RANDOM_GENERATOR_OPERATOR_DESC: 32 random bits for each element.

        out[4 * b + j] = word j of Philox 4x32-10 (counter + b, key)

    Fields:
        input_state_tensor (tensor): four words of the counter, lowest first, and two of the key.
        output_state_tensor (tensor): the state to go on with: the counter plus the blocks used.
        type (DML_RANDOM_GENERATOR_TYPE): PHILOX_4X32_10.
    """

    input_state_tensor: TensorDesc
    output_tensor: Output
    output_state_tensor: Output | None = None
    type: RandomGeneratorType = RandomGeneratorType.PHILOX_4X32_10


def check(d: RandomGeneratorDesc) -> None:
    """A state has six words in its last dimension."""
    states = {"input_state_tensor": d.input_state_tensor}
    states |= {"output_state_tensor": d.output_state_tensor} if d.output_state_tensor else {}
    for name, tensor in states.items():
        if tensor.sizes[-1] != WORDS or tensor.element_count != WORDS:
            raise InvalidDescError(
                f"RANDOM_GENERATOR: {name} has sizes {tensor.sizes}; the last dimension must be "
                f"{WORDS} and all others 1"
            )


def infer(given: Given) -> dict[str, TensorDesc]:
    """The sizes are what is asked for; nothing says them but `output_sizes`."""
    require(given, "output_sizes")
    return {"output_tensor": TensorDesc(DataType.UINT32, given.output_sizes)}


def work(d: RandomGeneratorDesc) -> Together:
    """The random words, and the state after them."""
    works: list[Work] = [Philox(d.input_state_tensor, d.output_tensor)]
    if d.output_state_tensor is not None:
        state = Operand.of("output_state_tensor", d.output_state_tensor)
        count = -(-d.output_tensor.element_count // 4)
        blocks = Parameter("p_blocks", DataType.UINT32, count)
        after = Expression("math_philox_state(i, s0, s1, s2, s3, s4, s5, p_blocks)")
        inputs = _inputs(d, d.output_state_tensor.sizes)
        works.append(ElementWise(inputs, ((state, after),), (blocks,)))
    return Together(tuple(works))


def _inputs(d: RandomGeneratorDesc, sizes: tuple[int, ...]) -> dict[str, Operand]:
    """The words of the state for every element, and the element's place."""
    step = d.input_state_tensor.effective_strides[-1]
    everywhere = TensorDesc(DataType.UINT32, sizes, (0,) * len(sizes))
    inputs = {
        f"s{w}": Operand("input_state_tensor", everywhere, DataType.UINT32, start=w * step)
        for w in range(WORDS)
    }
    return inputs | {"i": Operand.place(sizes, packed_strides(sizes))}


OPERATORS: tuple[Operator[Any], ...] = (Operator(RandomGeneratorDesc, infer, work, check),)
