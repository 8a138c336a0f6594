"""Region: the bytes of a buffer that hold one tensor."""

from __future__ import annotations

from dmlgpu.desc.layout import Layout
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import Buffer
from dmlgpu.runtime.context import Context

Key = tuple[int, int, Layout, bool]


class Region:
    """Where a tensor's elements lie: what calls bind.

    `key` stands for everything that a call depends on: the serial of the storage, the byte of it at
    which the layout begins, the layout, and whether nothing else lies behind it in the buffer, so
    that rounding up the end is harmless.
    """

    __slots__ = ("key", "lease")
    key: Key
    lease: Lease

    @property
    def context(self) -> Context:
        """The device's."""
        raise NotImplementedError

    @property
    def begin(self) -> int:
        """Bytes of the buffer before the layout's, a multiple of 16."""
        return self.key[1]

    @property
    def offset(self) -> int:
        """Bytes of the buffer before the element that comes first."""
        layout = self.key[2]
        return self.key[1] + layout.lowest * layout.memory.data_type.bits // 8

    @property
    def layout(self) -> Layout:
        """How the elements lie in the bytes."""
        return self.key[2]

    @property
    def whole(self) -> bool:
        """Whether nothing else lies behind the bytes in the buffer."""
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
