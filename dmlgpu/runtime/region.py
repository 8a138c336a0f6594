"""Region: the bytes of a buffer that hold one tensor."""

from __future__ import annotations

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import Buffer
from dmlgpu.runtime.context import Context


class Region:
    """Where a tensor's elements lie: what calls bind.

    `whole` says that nothing else lies in the buffer, so that rounding up the end is harmless.
    `key` stands for everything that a bound call depends on.
    """

    __slots__ = ("context", "desc", "key", "lease", "offset", "whole")

    def __init__(
        self,
        context: Context,
        lease: Lease,
        desc: TensorDesc,
        offset: int,
        whole: bool = False,
        number: int = -1,
    ) -> None:
        self.context = context
        self.lease = lease
        self.desc = desc
        self.offset = offset
        self.whole = whole
        if number < 0:
            number = context.desc_number(desc)
        self.key = (lease.storage.serial, offset, number, whole)

    @property
    def storage(self) -> Storage:
        """The buffer's record in its device's pool."""
        return self.lease.storage

    @property
    def buffer(self) -> Buffer:
        """The wgpu buffer that holds the elements, from byte `offset` on.

        Recorded work that uses it is submitted first. Holding the buffer holds the memory: it is
        not used for another tensor, even when this one is gone.
        """
        return self.context.show(self.lease)
