"""Timestamps of calls on the GPU's own clock."""

from __future__ import annotations

import numpy as np

from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.objects import Encode, Encoder, QuerySet
from dmlgpu.gpu.transfer import Transfers


class Timestamps:
    """A set of queries that calls write, and the buffer that they are read from."""

    def __init__(self, gpu: Gpu, count: int) -> None:
        self.queries: QuerySet
        self.queries, self._resolved = gpu.timestamps(count)
        self._period = gpu.timestamp_period

    def resolve(self, count: int) -> Encode:
        """What ends a submission: the first `count` timestamps go to the buffer."""

        def encode(encoder: Encoder) -> None:
            if count:
                encoder.resolve_query_set(self.queries, 0, count, self._resolved, 0)

        return encode

    def read(self, transfers: Transfers, count: int) -> list[float]:
        """The first `count` timestamps in nanoseconds."""
        raw = np.empty(8 * count, np.uint8)
        transfers.read(self._resolved, 0, raw)
        return [tick * self._period for tick in raw.view(np.uint64).tolist()]
