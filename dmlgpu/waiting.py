"""Windows that wait: copies of most of a tensor, made only when something needs them.

`x[1:] - x[:-1]` is one kernel that reads x twice, where three would read and write it three times:
element-wise functions and reductions read the elements where they are. Everything else that looks
at a window gets its copy, and so does everyone before anything is written to the tensor that it is
of. So it cannot be told from one that was copied at once, but by its class and the time it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

from dmlgpu.arguments import number_key
from dmlgpu.arithmetic import NUMBERS, is_operand
from dmlgpu.array.promotion import BOOL, DType
from dmlgpu.compiled import NEW, View
from dmlgpu.desc.indexing import Span, Window
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.desc.views import packed, reshaped
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device

LEAST = 1 << 20  # bytes of a window that may wait: a smaller one is copied as soon as read
SHARE = 2  # a window that waits holds no more memory than so many times its own
SHORT = 128  # bytes of rows that are quicker read once they lie side by side
MOST_READS = 2  # of the elements where they are, before a copy is quicker


@dataclass(slots=True)
class Origin:
    """Where the elements of a window are."""

    source: Tensor
    view: View
    first: int  # element of the view
    layout: int  # the number of all that a kernel depends on which reads them there
    copy: Callable[[Tensor], Tensor]
    reads: int = 0


class Waiting(Tensor):
    """A tensor whose elements are still those of another; once it is copied, a Tensor.

    Another thread may have it copied at any time, and so change its class under a method that runs:
    methods of this class are therefore called by the class.
    """

    __slots__ = ()
    is_waiting: ClassVar[bool] = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in ("key", "lease"):
                return Tensor.__getattr__(self, name)
            Waiting.read(self)
            return getattr(self, name)

    def read(self) -> None:
        """Copies the elements."""
        with self.device.context.lock:
            origin: Origin | None = self._origin
            if origin is not None:
                made = origin.copy(origin.source)
                self.lease, self.key = made.lease, made.key
                self._origin = None
                self.__class__ = Tensor  # type: ignore[assignment]
                origin.source.storage.readers.pop(id(self), None)

    def settle(self) -> None:
        """Copies the elements before they are overwritten, as no step of a function."""
        tape = self.device.context.tape
        with nullcontext() if tape is None else tape.aside():
            Waiting.read(self)

    def there(self) -> Origin | None:
        """Where the elements are, for who reads them there; None if a copy is quicker by now."""
        origin: Origin | None = self._origin
        if origin is None or origin.reads >= MOST_READS:
            Waiting.read(self)
            return None
        origin.reads += 1
        return origin

    def assign_to(self, x: Tensor, index: Any, assign: Callable[[Any, Any], None]) -> None:
        """`x[index] = self`, replayed as long as the elements are read where they are."""
        origin: Origin | None = self._origin
        if origin is None or origin.reads >= MOST_READS:
            assign(index, self)
            return
        step_by_step = []

        def steps(*_: Any) -> None:
            step_by_step.append(True)
            assign(index, self)

        given = (x, index, origin.source, origin.layout)
        self.device.replay("set from a window", steps, given)
        # Copied while it was replayed: because of x, or since a signal handler wrote to the origin.
        is_copied = not step_by_step and not self.is_waiting
        if is_copied and x.key[0] != origin.source.key[0]:
            assign(index, self)

    def _copied(self) -> Tensor:
        """The elements once, where both the window and its copy would be copied."""
        with self.device.context.lock:
            origin: Origin | None = self._origin
            if origin is not None and origin.reads < MOST_READS:
                origin.reads += 1
                made = origin.copy(origin.source)
                # Unless a signal handler has written where the elements were.
                if self._origin is origin:
                    return made
        return Tensor._copied(self)

    def _unary(self, name: str) -> Tensor:
        made = Waiting._known(self, name, (self,))
        return self.device.elementwise(name, self) if made is None else made

    def _binary(self, name: str, other: Any, turned: bool = False) -> Tensor:
        refused: Tensor = NotImplemented
        if not is_operand(other):
            return refused
        operands = (other, self) if turned else (self, other)
        made = Waiting._known(self, name, operands)
        return self.device.elementwise(name, *operands) if made is None else made

    def _known(self, name: str, operands: tuple[Any, ...]) -> Tensor | None:
        """The result of a function that has met operands like these before."""
        device = self.device
        key: list[Any] = [name]
        tensors, origins = [], []
        with device.context.lock:
            for x in operands:
                if x.__class__ is Waiting:
                    origin: Origin | None = x._origin
                    if origin is None or origin.reads >= MOST_READS:
                        return None
                    origins.append((x, origin))
                    tensors.append(origin.source)
                    key.append(origin.layout)
                elif x.__class__ is Tensor:
                    tensors.append(x)
                    key.append(x.key[2])
                elif x.__class__ in NUMBERS:
                    key.append(number_key(x))
                else:
                    return None
            known = device.remembered.get(tuple(key))
            if known is None:
                return None
            for _, origin in origins:
                origin.reads += 1
            made: Tensor = known(*tensors)
            # Unless a signal handler has written where the elements were, and so had them copied.
            return made if all(x._origin is origin for x, origin in origins) else None


Waiting.__name__ = Tensor.__name__  # as Python's own messages show it


def later(
    device: Device,
    tensor: TensorDesc,
    window: Window,
    span: Span,
    copy: Callable[[Tensor], Tensor],
    dtype: DType,
) -> Callable[[Tensor], Tensor]:
    """What takes a window of tensors of a layout, by `copy` or to be copied later."""
    count = prod(window.shape)
    nbytes = count * tensor.data_type.bits // 8
    is_most = nbytes >= LEAST and nbytes * SHARE >= tensor.total_tensor_size_in_bytes
    is_most &= count < tensor.element_count and _run(span.desc) >= SHORT
    # Processors take rows of narrow elements that begin anywhere apart: copying them is quicker.
    is_slow = device.context.facts.is_cpu and tensor.data_type.bits < 32
    if device.debug or not is_most or span.is_backward or is_slow:
        return copy
    shape = window.shape or (1,)
    desc = reshaped(span.desc, shape)
    assert desc is not None  # only dimensions of one element come or go
    mark = None if window.shape else window.shape
    kind = BOOL if dtype == BOOL else None
    number = device.context.number
    view = View(desc, number(desc, None, None), span.begin, is_all=False)
    layout = number(desc, mark, kind, span.begin, span.lowest)
    seen = packed(tensor.data_type, shape)
    return partial(_waiting, view, span.lowest, layout, copy, seen, mark, kind)


def _run(desc: TensorDesc) -> int:
    """Bytes of elements that lie side by side."""
    count = 1
    for n, step in zip(reversed(desc.sizes), reversed(desc.effective_strides), strict=True):
        if n > 1 and step != count:
            break
        count *= n
    return count * desc.data_type.bits // 8


def _waiting(
    view: View,
    first: int,
    layout: int,
    copy: Callable[[Tensor], Tensor],
    desc: TensorDesc,
    mark: tuple[int, ...] | None,
    kind: DType | None,
    source: Tensor,
) -> Tensor:
    device, storage = source.device, source.storage
    if storage.special or device.is_observed:
        return copy(source)
    made: Waiting = NEW(Waiting)
    made.device = device
    made.desc = desc
    made._shape = mark
    made._dtype = kind
    made._origin = Origin(source, view, first, layout, copy)
    key, readers = id(made), storage.readers

    def gone(_: Any) -> None:
        readers.pop(key, None)

    with device.context.lock:
        readers[key] = ref(made, gone)
    return made
