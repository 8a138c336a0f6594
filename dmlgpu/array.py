"""Tensor: elements on a device, laid out as a TensorDesc says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dmlgpu.errors import DmlError, InvalidDescError, shown
from dmlgpu.memory import Lease, Storage
from dmlgpu.tensor import TensorDesc

if TYPE_CHECKING:
    from dmlgpu.device import Device


class Tensor:
    """A tensor on a device. Made by a Device or an operator, not by hand."""

    __slots__ = ("__weakref__", "_lease", "desc", "device", "key", "offset", "whole")

    def __init__(
        self,
        device: Device,
        lease: Lease,
        desc: TensorDesc,
        offset: int,
        whole: bool = False,
        number: int = -1,
    ) -> None:
        self.device = device
        self.whole = whole  # nothing else lies in the buffer: rounding up the end is harmless
        self.desc = desc
        self.offset = offset
        self._lease = lease
        if number < 0:
            number = device.desc_number(desc)
        self.key = (lease.storage.serial, offset, number, whole)

    @property
    def storage(self) -> Storage:
        """The buffer's record in its device's pool."""
        return self._lease.storage

    @property
    def buffer(self) -> Any:
        """The wgpu buffer that holds the elements, from byte `offset` on."""
        return self._lease.storage.buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.desc.sizes

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
    def nbytes(self) -> int:
        """Bytes of all elements, without padding."""
        return self.size * self.dtype.itemsize

    def tobytes(self) -> bytes:
        """All total_tensor_size_in_bytes, padding included, as they lie on the device."""
        return self.device.read(self).tobytes()

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the elements in host memory."""
        raw = self.device.read(self)
        if self.desc.is_packed:
            return raw[: self.nbytes].view(self.dtype).reshape(self.shape)
        return strided_view(raw, self.desc, writeable=False).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a Tensor lives on a device: np.asarray always copies it")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def view(self, desc: TensorDesc) -> Tensor:
        """The same bytes under another description, which needs no more of them."""
        if not isinstance(desc, TensorDesc):
            raise InvalidDescError(f"view: desc is {shown(desc)}; it must be a TensorDesc")
        if desc.total_tensor_size_in_bytes > self.desc.total_tensor_size_in_bytes:
            raise InvalidDescError(
                f"view: the description needs {desc.total_tensor_size_in_bytes} bytes; the tensor "
                f"has {self.desc.total_tensor_size_in_bytes}"
            )
        return Tensor(self.device, self._lease, desc, self.offset, self.whole)

    def __getitem__(self, index: Any) -> Tensor:
        from dmlgpu.functions import take_slice  # indexing is SLICE1, which is made of tensors

        return take_slice(self, index)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        raise TypeError(
            "a Tensor is not iterable: that would run one GPU call per row; use numpy()"
        )

    def __repr__(self) -> str:
        name = self.desc.data_type.name.lower()  # not every data type has a NumPy type
        return f"Tensor(shape={self.shape}, dtype={name}, device={self.device.adapter.name!r})"


def as_array(what: str, value: Any) -> np.ndarray[Any, Any]:
    """`value` as NumPy sees it."""
    try:
        return np.asarray(value)
    except (DmlError, MemoryError):
        raise
    except Exception as error:  # NumPy's own, or whatever an object's __array__ raises
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidDescError(f"{what} is {shown(value)}, not an array: {reason}") from None


def strided_view(
    raw: np.ndarray[Any, Any], desc: TensorDesc, *, writeable: bool
) -> np.ndarray[Any, Any]:
    """The logical array inside `raw` bytes that lie as `desc` says."""
    dtype = desc.data_type.numpy
    count = raw.nbytes // dtype.itemsize
    flat = raw[: count * dtype.itemsize].view(dtype)
    strides = tuple(s * dtype.itemsize for s in desc.effective_strides)
    return np.lib.stride_tricks.as_strided(flat, desc.sizes, strides, writeable=writeable)


def laid_out(array: np.ndarray[Any, Any], desc: TensorDesc) -> np.ndarray[Any, Any]:
    """`array`, which has the sizes and type of `desc`, as bytes that lie as it says; gaps are 0."""
    total = desc.total_tensor_size_in_bytes
    if desc.is_packed and array.nbytes == total:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    raw = np.zeros(total, np.uint8)
    strided_view(raw, desc, writeable=True)[...] = array
    return raw
