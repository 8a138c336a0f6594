"""What a layout says of a tensor, and views: other shapes of the same elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dmlgpu.array.promotion import DType
from dmlgpu.desc import views
from dmlgpu.errors import AxisError, DmlError, InvalidDescError, InvalidTypeError
from dmlgpu.reductions import Axis
from dmlgpu.runtime.region import Region

if TYPE_CHECKING:
    from dmlgpu.desc.layout import Layout
    from dmlgpu.device import Device
    from dmlgpu.tensor import Tensor


class Shapes(Region):
    """What a layout says of a tensor, and the methods that give views; the class has no state."""

    __slots__ = ()

    if TYPE_CHECKING:
        device: Device

        def copy(self, order: str = "C") -> Tensor:
            """A tensor's own."""

        def __getitem__(self, index: Any) -> Tensor:
            """A tensor's own."""

        def _seen(self, layout: Layout, begin: int = 0) -> Tensor:
            """A tensor's own."""

        def _without(
            self, shape: tuple[int, ...], dtype: DType | None = None, *, is_read_only: bool = False
        ) -> Tensor:
            """A tensor's own."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.key[2].shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each dimension; negative ones go backward."""
        width = self.itemsize
        return tuple(step * width for step in self.key[2].strides)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.key[2].shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.key[2].shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for the data type."""
        layout = self.key[2]
        return layout.memory.data_type.numpy if layout.dtype is None else layout.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, without padding."""
        extent = self.key[2].extent
        return 0 if extent is None else -(-self.size * extent.data_type.bits // 8)

    @property
    def real(self) -> Tensor:
        """A view of all elements, for none of them is complex."""
        return self._seen(self.layout) if self.size else self._without(self.shape)

    def reshape(
        self, *shape: int | Sequence[int], copy: bool | None = None, order: str = "C"
    ) -> Tensor:
        """The elements under other sizes, one of which may be -1.

        A view where the strides allow it, which those of packed tensors always do; else a copy.
        `copy=True` always copies, `copy=False` raises where it would have to.

        >>> x.reshape(3, -1).tolist()
        [[0, 1], [2, 3], [4, 5]]
        """
        check_order("reshape", order)
        sizes = views.filled(views.shape_of("reshape", shape, low=-1), self.size)
        if copy:
            return self.copy().reshape(sizes)
        if not self.size:
            return self._without(sizes)
        layout = self.layout.reshaped(sizes)
        if layout is None:
            if copy is False:
                raise InvalidDescError(
                    f"reshape: strides {self.strides} allow no view of shape {sizes}; copy is False"
                )
            return self.copy().reshape(sizes)
        return self._seen(layout)

    def ravel(self, order: str = "C") -> Tensor:
        """The elements in one dimension; a view where they lie side by side, else a copy."""
        check_order("ravel", order)
        return self.reshape(-1) if self.layout.is_contiguous else self.flatten(order)

    def flatten(self, order: str = "C") -> Tensor:
        """A copy of the elements in one dimension."""
        made = self.copy(order).reshape(-1)
        made.base = None
        return made

    def transpose(self, *axes: int | Sequence[int] | None) -> Tensor:
        """A view with the dimensions in another order, reversed if none is given.

        >>> x.transpose(1, 0).tolist()
        [[0, 3], [1, 4], [2, 5]]
        """
        if not axes or axes == (None,):
            return self._permuted(tuple(reversed(range(self.ndim))))
        given = axes[0] if len(axes) == 1 else axes
        order = views.axes_of("transpose", given, self.ndim)
        if len(order) != self.ndim:
            raise InvalidDescError(
                f"transpose: axes don't match array: {len(order)} are given for {self.ndim} "
                "dimensions"
            )
        return self._permuted(order)

    def _permuted(self, order: tuple[int, ...]) -> Tensor:
        if not self.size:
            return self._as_numpy_does(np.transpose, order)
        return self._seen(self.layout.permuted(order))

    @property
    def T(self) -> Tensor:  # noqa: N802 - NumPy's name
        """A view with the dimensions in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> Tensor:  # noqa: N802 - NumPy's name
        """A view with the last two dimensions exchanged."""
        if self.ndim < 2:
            raise InvalidDescError(
                f"mT: the tensor has {self.ndim} dimensions; at least 2 are needed"
            )
        return self.swapaxes(-1, -2)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """A view with two dimensions exchanged."""
        order, axes = list(range(self.ndim)), (axis1, axis2)
        first, second = (views.axis_of("swapaxes", a, self.ndim) for a in axes)
        order[first], order[second] = order[second], order[first]
        return self._permuted(tuple(order))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """A view without the dimensions of size 1, or without those named."""
        if axis is None:
            axes = tuple(a for a, size in enumerate(self.shape) if size == 1)
        else:
            axes = views.axes_of("squeeze", axis, self.ndim)
        if any(self.shape[a] != 1 for a in axes):
            raise InvalidDescError(
                "squeeze: cannot select an axis to squeeze out which has size not equal to one: "
                f"axis {axis} of shape {self.shape}"
            )
        shape = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        if not self.size:
            return self._without(shape)
        return self._seen(self.layout.squeezed(axes))

    def expand_dims(self, axis: int | Sequence[int]) -> Tensor:
        """A view with new dimensions of size 1, which end up at these places of the result."""
        if not self.size:
            return self._as_numpy_does(np.expand_dims, axis)
        return self._seen(self.layout.expanded(axis))

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """A view that repeats dimensions of size 1, and new leading ones, with stride 0.

        >>> x[0].broadcast_to(2, 3).tolist()
        [[0, 1, 2], [0, 1, 2]]
        """
        sizes = views.shape_of("broadcast_to", shape)
        if not self.size or 0 in sizes:
            return self._without(
                self._as_numpy_does(np.broadcast_to, sizes).shape, is_read_only=True
            )
        return self._seen(self.layout.broadcast(sizes))

    def flip(self, axis: Axis = None) -> Tensor:
        """The elements in reverse order along an axis, several, or all: SLICE1.

        >>> x.flip(1).tolist()
        [[2, 1, 0], [5, 4, 3]]
        """
        axes = range(self.ndim) if axis is None else views.axes_of("flip", axis, self.ndim)
        backward, whole = slice(None, None, -1), slice(None)
        return self[tuple(backward if a in axes else whole for a in range(self.ndim))]

    def _as_numpy_does(self, function: Callable[..., npt.NDArray[Any]], *args: Any) -> Tensor:
        """A tensor without elements as NumPy would shape it."""
        try:
            made = function(np.empty(self.shape, self.dtype), *args)
        except DmlError:
            raise
        except np.exceptions.AxisError as error:
            raise AxisError(error.axis or 0, error.ndim or 0, function.__name__) from None
        except (ValueError, TypeError, IndexError) as error:
            raise InvalidDescError(f"{function.__name__}: {error}") from None
        return self.device.tensor(made) if made.size else self._without(made.shape)


def check_order(what: str, order: Any) -> None:
    """Elements follow each other with the last dimension fastest, which NumPy calls C."""
    if order != "C":
        raise InvalidTypeError(f"{what}: order is {order!r}; a tensor has no other than 'C'")
