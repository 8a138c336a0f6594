"""Tensor: elements on a device, laid out as a TensorDesc says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dmlgpu import interop
from dmlgpu.arguments import index_key, is_fixed
from dmlgpu.desc import views
from dmlgpu.desc.enumerations import AxisDirection
from dmlgpu.desc.host import strided_view
from dmlgpu.desc.indexing import Index, positions
from dmlgpu.desc.indexing import window as window_of
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import InvalidDescError, InvalidTypeError, OutOfMemoryError
from dmlgpu.gpu.memory import Lease
from dmlgpu.runtime.region import Region

if TYPE_CHECKING:
    from dmlgpu.device import Device

SHOWN = 20  # most elements that repr prints


@contextmanager
def host_memory(size: int) -> Iterator[None]:
    """Says in one sentence that a copy of a tensor does not fit into host memory."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError:
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None
    except ValueError as error:  # NumPy's word for what no machine could hold
        if "too big" not in str(error) and "dimension" not in str(error):
            raise
        raise OutOfMemoryError(f"no host memory for the {size} bytes of a tensor") from None


class Tensor(Region):
    """A tensor on a device. Made by a Device or an operator, not by hand.

    Shapes, indices and axes follow NumPy, with two differences: a tensor has 1 to 8 dimensions
    and no size of 0, so a result that NumPy would give no dimension has shape (1,); and indexing
    copies, as SLICE1 does. `reshape`, `transpose`, `squeeze`, `expand_dims` and `broadcast_to`
    give views: other tensors over the same bytes, which see what is written there later.
    """

    __slots__ = ("__weakref__", "device")

    def __init__(
        self,
        device: Device,
        lease: Lease,
        desc: TensorDesc,
        offset: int,
        whole: bool = False,
        number: int = -1,
    ) -> None:
        if not isinstance(lease, Lease):
            raise InvalidTypeError(
                "a Tensor is made by a Device: device.tensor(array), or dml.tensor(array) on the "
                "default one"
            )
        self.device = device
        Region.__init__(self, device.context, lease, desc, offset, whole, number)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.desc.sizes

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps along each dimension in elements, as DirectML counts them, not in bytes."""
        return self.desc.effective_strides

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.desc.rank

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.desc.element_count

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for the data type."""
        return self.desc.data_type.numpy

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, without padding."""
        return -(-self.size * self.desc.data_type.bits // 8)

    def tobytes(self) -> bytes:
        """All total_tensor_size_in_bytes, padding included, as they lie on the device."""
        with host_memory(self.desc.total_tensor_size_in_bytes):
            return self.device.read(self).tobytes()

    def numpy(self) -> npt.NDArray[Any]:
        """A copy of the elements in host memory; waits for the GPU."""
        return self.elements(self.device.read(self))

    async def numpy_async(self) -> npt.NDArray[Any]:
        """`numpy()` for asyncio: other tasks run while the GPU works. `y = await x.numpy_async()`.

        The elements are those that the calls made before the `await` leave.
        """
        return self.elements(await self.device.read_async(self))

    def elements(self, raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The elements among the tensor's bytes, as an array of its shape."""
        if self.desc.is_packed:
            return raw[: self.nbytes].view(self.dtype).reshape(self.shape)
        with host_memory(self.nbytes):
            return strided_view(raw, self.desc, writeable=False).copy()

    def tolist(self) -> list[Any]:
        """The elements as nested lists of Python numbers."""
        with host_memory(self.nbytes):
            values: list[Any] = self.numpy().tolist()
        return values

    def item(self) -> int | float:
        """The only element, as a Python number."""
        if self.size != 1:
            raise InvalidDescError(
                f"item: the tensor has {self.size} elements; can only convert an array of size 1 "
                "to a Python scalar"
            )
        value: int | float = self.numpy().item()
        return value

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise InvalidDescError(
                "the truth value of an array with more than one element is ambiguous; use "
                "numpy().any() or numpy().all()"
            )
        return bool(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise InvalidDescError("a Tensor lives on a device: np.asarray always copies it")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return interop.export(self.numpy, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return interop.CPU

    def view(self, desc: TensorDesc) -> Tensor:
        """The same bytes under another description, which needs no more of them."""
        if not isinstance(desc, TensorDesc):
            raise InvalidTypeError(f"view: desc is {type(desc).__name__}; it must be a TensorDesc")
        mine, wanted = self.desc.total_tensor_size_in_bytes, desc.total_tensor_size_in_bytes
        if wanted > mine:
            raise InvalidDescError(
                f"view: the description needs {wanted} bytes; the tensor has {mine}"
            )
        # What a shorter view leaves out still belongs to this tensor.
        return Tensor(self.device, self.lease, desc, self.offset, self.whole and wanted == mine)

    def copy(self) -> Tensor:
        """A packed tensor of its own with the same elements."""
        return self[...]

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The elements under other sizes, one of which may be -1.

        A view where the strides allow it, which those of packed tensors always do; else a copy.

        >>> x.reshape(3, -1).tolist()
        [[0, 1], [2, 3], [4, 5]]
        """
        sizes = views.filled(views.shape_of("reshape", shape, low=-1), self.size)
        desc = views.reshaped(self.desc, sizes)
        return self.copy().reshape(*sizes) if desc is None else self.view(desc)

    def ravel(self) -> Tensor:
        """The elements in one dimension; a view where the strides allow it, else a copy."""
        return self.reshape(-1)

    def flatten(self) -> Tensor:
        """A copy of the elements in one dimension."""
        return self.copy().reshape(-1)

    def transpose(self, *axes: int | Sequence[int] | None) -> Tensor:
        """A view with the dimensions in another order, reversed if none is given.

        >>> x.transpose(1, 0).tolist()
        [[0, 3], [1, 4], [2, 5]]
        """
        if not axes or axes == (None,):
            return self.view(views.permuted(self.desc, tuple(reversed(range(self.ndim)))))
        given = axes[0] if len(axes) == 1 else axes
        order = views.axes_of("transpose", given, self.ndim)
        if len(order) != self.ndim:
            raise InvalidDescError(
                f"transpose: axes don't match array: {len(order)} are given for {self.ndim} "
                "dimensions"
            )
        return self.view(views.permuted(self.desc, order))

    @property
    def T(self) -> Tensor:  # noqa: N802 - NumPy's name
        """A view with the dimensions in reverse order."""
        return self.transpose()

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """A view with two dimensions exchanged."""
        order = list(range(self.ndim))
        first, second = (views.axis_of("swapaxes", a, self.ndim) for a in (axis1, axis2))
        order[first], order[second] = order[second], order[first]
        return self.view(views.permuted(self.desc, tuple(order)))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """A view without the dimensions of size 1, or without those named; one always stays."""
        if axis is None:
            axes = tuple(a for a, size in enumerate(self.shape) if size == 1)
        else:
            axes = views.axes_of("squeeze", axis, self.ndim)
        if any(self.shape[a] != 1 for a in axes):
            raise InvalidDescError(
                "squeeze: cannot select an axis to squeeze out which has size not equal to one: "
                f"axis {axis} of shape {self.shape}"
            )
        return self.view(views.squeezed(self.desc, axes))

    def expand_dims(self, axis: int | Sequence[int]) -> Tensor:
        """A view with new dimensions of size 1, which end up at these places of the result."""
        return self.view(views.expanded(self.desc, axis))

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """A view that repeats dimensions of size 1, and new leading ones, with stride 0.

        >>> x[0].broadcast_to(2, 3).tolist()
        [[0, 1, 2], [0, 1, 2]]
        """
        return self.view(views.broadcast(self.desc, views.shape_of("broadcast_to", shape)))

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        parts = index if isinstance(index, tuple) else (index,)
        key: Any = ("index", self.desc, index_key(parts))
        try:
            known = self.device.remembered.get(key)
        except Exception:  # an array of no dimensions is an integer, but not hashable
            key = ()
            known = None
        if known is None:
            window = window_of(self.shape, parts)
            op = self.device.operator(
                "SLICE1",
                input_tensor=self.desc,
                input_window_offsets=window.offsets,
                input_window_sizes=window.sizes,
                input_window_strides=window.strides,
            )
            known = (op, views.packed(self.desc.data_type, window.shape))
            if key and is_fixed(key[2]):
                self.device.remember(key, known)
        op, seen = known
        result: Tensor = op(self)
        return result if seen.sizes == result.shape else result.view(seen)

    def flip(self, axis: int | tuple[int, ...] | None = None) -> Tensor:
        """The elements in reverse order along an axis, several, or all: SLICE1.

        >>> x.flip(1).tolist()
        [[2, 1, 0], [5, 4, 3]]
        """
        axes = range(self.ndim) if axis is None else views.axes_of("flip", axis, self.ndim)
        backward, whole = slice(None, None, -1), slice(None)
        return self[tuple(backward if a in axes else whole for a in range(self.ndim))]

    def take(self, indices: Tensor | npt.ArrayLike, axis: int | None = None) -> Tensor:
        """What lies at these positions along an axis, or in the flattened tensor: GATHER_ND.

        Positions given as an array are checked; those on the device are clamped, unless it
        was made with `debug=True`.

        >>> x.take([2, 0], axis=1).tolist()
        [[2, 0], [5, 3]]
        """
        if axis is None:
            return self.ravel().take(indices, 0)
        axis = views.axis_of("take", axis, self.ndim)
        if isinstance(indices, Tensor):
            picked, index = indices.shape, indices.reshape(-1, 1)
        else:
            values = positions(indices, axis, self.shape[axis])
            picked, index = values.shape, self.device.tensor(values.reshape(-1, 1))
        key = ("take", self.desc, index.desc, axis, picked)
        known = self.device.remembered.get(key)
        if known is None:
            layout = views.taken(self.desc, index.desc, axis, picked)
            op = self.device.operator(
                "GATHER_ND",
                input_tensor=layout.source,
                indices_tensor=layout.indices,
                output_tensor=layout.output,
                input_dimension_count=self.ndim,
                indices_dimension_count=2,
            )
            known = (op, layout.permuted, views.packed(self.desc.data_type, layout.shape))
            self.device.remember(key, known)
        op, source, seen = known
        result: Tensor = op(self.view(source), index)
        return result.view(seen)

    def gather_nd(self, indices: Tensor | npt.ArrayLike, batch_dimension_count: int = 0) -> Tensor:
        """The blocks that the tuples along the last axis of `indices` name: GATHER_ND1.

        >>> x.gather_nd([[1, 2], [0, 1]]).tolist()
        [5, 1]
        """
        result: Tensor = self.device.run(
            "GATHER_ND1", self, indices, batch_dimension_count=batch_dimension_count
        )
        return result

    def cumsum(
        self, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
    ) -> Tensor:
        """Running sums along an axis, or over the flattened tensor: CUMULATIVE_SUMMATION.

        `exclusive` leaves each element out of its own sum; `reverse` starts at the far end. The
        type stays: unlike NumPy's, sums of narrow integers are not widened but wrap.

        >>> x.cumsum(axis=1).tolist()
        [[0, 1, 3], [3, 7, 12]]
        """
        return self._scan("CUMULATIVE_SUMMATION", "has_exclusive_sum", axis, exclusive, reverse)

    def cumprod(
        self, axis: int | None = None, *, exclusive: bool = False, reverse: bool = False
    ) -> Tensor:
        """Running products along an axis, as `cumsum` does sums: CUMULATIVE_PRODUCT."""
        return self._scan("CUMULATIVE_PRODUCT", "has_exclusive_product", axis, exclusive, reverse)

    def _scan(
        self, operator: str, flag: str, axis: int | None, exclusive: bool, reverse: bool
    ) -> Tensor:
        if axis is None:
            return self.ravel()._scan(operator, flag, 0, exclusive, reverse)
        result: Tensor = self.device.run(
            operator,
            self,
            axis=views.axis_of(operator, axis, self.ndim),
            axis_direction=AxisDirection(bool(reverse)),
            **{flag: bool(exclusive)},
        )
        return result

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> NoReturn:
        raise InvalidTypeError(
            "a Tensor is not iterable: that would run one GPU call per row; use numpy()"
        )

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError("a Tensor lives on a device and cannot be pickled; pickle numpy()")

    def __repr__(self) -> str:
        facts = f"shape={self.shape}, dtype={self.desc.data_type.name.lower()}"
        values = self._shown()
        return f"Tensor({values}{facts}, device={self.device.adapter.name!r})"

    def _shown(self) -> str:
        """The values of a small tensor, where reading them disturbs nothing and nobody waits."""
        device, lock = self.device, self.context.lock
        if self.size > SHOWN or not lock.acquire(blocking=False):
            return ""
        try:
            if device.is_observed:
                return ""
            return np.array2string(self.numpy(), separator=", ", prefix="Tensor(") + ", "
        except Exception:  # a closed or lost device, a type NumPy lacks: repr never raises
            return ""
        finally:
            lock.release()
