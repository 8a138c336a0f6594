"""Region: the bytes of a buffer that hold one tensor."""

from __future__ import annotations

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import Buffer
from dmlgpu.runtime.context import Context

Key = tuple[int, int, int, bool]


class Region:
    """Where a tensor's elements lie: what calls bind.

    `key` stands for everything that a call depends on: the serial of the storage, the offset in it,
    the number of the layout (description, shape and type), and whether nothing else lies in the
    buffer, so that rounding up the end is harmless.
    """

    __slots__ = ("desc", "key", "lease")
    desc: TensorDesc
    key: Key
    lease: Lease

    @property
    def context(self) -> Context:
        """The device's."""
        raise NotImplementedError

    @property
    def offset(self) -> int:
        """Bytes of the buffer before the first."""
        return self.key[1]

    @property
    def whole(self) -> bool:
        """Whether nothing else lies in the buffer."""
        return self.key[3]

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
