"""Index values: which numbers a tensor of indices may hold, and how that is checked.

Values given as an array are looked at before they are uploaded. Values on a debug device are
looked at there, by two small dispatches whose report the next read-back fetches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import IndexRangeError
from dmlgpu.plan.dispatch import Dispatch, Value, eight

REPORT = "report"  # the binding that takes what a check found
WG_SIZE = 256


@dataclass(frozen=True, slots=True)
class IndexValues:
    """The tensor `field` holds indices into dimensions of `sizes`.

    Where there are several sizes, the last dimension of the tensor steps through them: its entries
    are the coordinates of a tuple.
    """

    field: str
    tensor: TensorDesc
    sizes: tuple[int, ...]

    @property
    def signed(self) -> bool:
        """Whether negative values count from the end."""
        return self.tensor.data_type.name.startswith("INT")

    def check_array(self, operator: str, values: npt.NDArray[Any]) -> None:
        """Refuses values, given as an array of the tensor's sizes, that are out of range."""
        sizes = np.array(self.sizes, np.uint64)
        lowest = -sizes.astype(np.int64) if values.dtype.kind == "i" else np.uint64(0)
        with np.errstate(all="ignore"):
            bad = (values < lowest) | ((values >= 0) & (values.astype(np.uint64) >= sizes))
        if bad.any():
            position = tuple(int(i) for i in np.argwhere(bad)[0])
            self._refuse(operator, position, int(values[position]))

    def dispatches(self) -> tuple[Dispatch, ...]:
        """Dispatches that leave the first value out of range in the binding `report`."""
        tensor = self.tensor
        params: dict[str, Value] = {
            "count": tensor.element_count,
            "coordinates": len(self.sizes),
            "sizes": eight(tensor.sizes),
            "strides": eight(tensor.effective_strides),
            "gather_sizes": eight(self.sizes),
        }
        constants = {
            "RANK": tensor.rank,
            "WORDS": tensor.data_type.bits // 32,
            "SIGNED": int(self.signed),
        }
        bindings = {"indices": self.field, "report": REPORT}
        groups = -(-tensor.element_count // WG_SIZE)
        shader = "move/index_check"
        find = Dispatch(shader, groups, params, bindings, {}, constants, "find")
        fetch = Dispatch(shader, 1, params, bindings, {}, constants, "fetch")
        return (find, fetch)

    def raise_report(self, operator: str, words: npt.NDArray[Any]) -> None:
        """Raises when the dispatches reported a position."""
        if not words[0]:
            return
        position = np.unravel_index(0xFFFFFFFF - int(words[0]), self.tensor.sizes)
        value = int(words[1]) | int(words[2]) << 32
        if self.signed and value >= 2**63:
            value -= 2**64
        self._refuse(operator, tuple(int(i) for i in position), value)

    def _refuse(self, operator: str, position: tuple[int, ...], value: int) -> None:
        size = self.sizes[position[-1]] if len(self.sizes) > 1 else self.sizes[0]
        raise IndexRangeError(
            f"{operator}: {self.field}{list(position)} is {value}; it selects from a dimension of "
            f"size {size} and must be in [{-size if self.signed else 0}, {size})"
        )
