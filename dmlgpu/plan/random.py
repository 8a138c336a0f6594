"""Plans that make random bits: blocks of 16 bytes, each a function of a state and its number."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn
from dmlgpu.plan.traffic import all_read, bytes_written

WG_SIZE = 256
PACKED = "packed"


@dataclass(frozen=True, slots=True)
class Philox:
    """32 random bits for each element of an output, by Philox 4x32-10."""

    state: TensorDesc
    output: TensorDesc

    def plan(self, adapter: Adapter) -> Plan:
        """All blocks side by side, and a move to where the elements belong if that is elsewhere."""
        output = self.output
        blocks = -(-output.element_count // 4)
        params = {"count": blocks, "step": self.state.effective_strides[-1]}
        field = "output_tensor" if output.is_packed else PACKED
        bindings = {"state": "input_state_tensor", "output": field}
        fixed = {"WG_SIZE": WG_SIZE}
        groups = -(-blocks // WG_SIZE)
        made = Plan((Dispatch("random/philox", groups, params, bindings, {}, fixed),))
        if output.is_packed:
            return made
        packed = TensorDesc(output.data_type, output.sizes)
        moved = Move.between(packed, output, PACKED).plan(adapter)
        return in_turn([made, moved], {PACKED: 16 * blocks})

    def traffic(self) -> dict[str, int]:
        """The state and the output."""
        made = {"input_state_tensor": all_read(self.state)}
        return made | {"output_tensor": bytes_written(self.output)}
