"""The description of counting the values of a tensor of integers."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgpu.array.internal import Internal
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.count import Count


class CountDesc(Internal, name="bincount"):
    """Added to counts: how often each of the values 0, 1, ... is there, none of them missing.

    Values below 0 are those that their bits mean without a sign.
    """

    values: TensorDesc
    counts: TensorDesc

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The values, side by side."""
        return {"values": self.values}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """What is added to."""
        return {"counts": self.counts}

    def work(self) -> Count:
        """One kernel."""
        return Count(self.values, self.counts, "values", "counts")
