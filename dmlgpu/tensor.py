"""Tensor: elements on a device, laid out as a TensorDesc says, with NumPy's manners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from dmlgpu import interop
from dmlgpu.arguments import index_key, is_fixed
from dmlgpu.arithmetic import Arithmetic, Conversions, check_read
from dmlgpu.array.picks import Sliced
from dmlgpu.array.promotion import (
    BOOL,
    INT32,
    DType,
    castable,
    check_computes,
    counting,
    data_type_of,
    dtype_of,
    in_words,
    wide_sum,
)
from dmlgpu.array.uploads import type_for
from dmlgpu.desc import views
from dmlgpu.desc.enumerations import AxisDirection
from dmlgpu.desc.host import as_array, host_memory
from dmlgpu.desc.indexing import Arrays, Index, Window, read
from dmlgpu.desc.layout import Layout, empty_layout, layout_of
from dmlgpu.desc.tensor import MAX_RANK, DataType, TensorDesc
from dmlgpu.errors import (
    IndexRangeError,
    InvalidDescError,
    InvalidTypeError,
    shown,
)
from dmlgpu.gpu.memory import Lease
from dmlgpu.plan.loops import Dim
from dmlgpu.reductions import Reductions
from dmlgpu.runtime.context import Context
from dmlgpu.shapes import Shapes, check_order

if TYPE_CHECKING:
    from dmlgpu.device import Device

NEW = object.__new__
# Types that DirectML has no running sum for. Their names are not asked: NumPy imports what tells
# them, which it cannot at the end of a program.
UNSCANNED = tuple(np.dtype(t) for t in (np.bool_, np.int8, np.int16, np.uint8))


class Tensor(Shapes, Arithmetic, Conversions, Reductions):
    """A tensor on a device. Made by a Device or an operator, not by hand.

    Shapes, types, indices, axes and operators follow NumPy and the array API standard; there are
    at most 8 dimensions. What NumPy makes a view of is one here: integers and slices in brackets,
    `reshape`, `transpose`, `flip` and their like give tensors over the same bytes, in which all see
    what is written. Arrays and masks in brackets copy.

    `desc` is what DirectML is told: a tensor of no dimensions has sizes (1,), and bool is UINT8.
    A tensor without elements has no description and never reaches the GPU; a view that goes
    backward, or begins within 16 bytes, has none and is copied where an operator needs one.
    """

    __slots__ = ("__weakref__", "base", "device")
    device: Device
    base: Tensor | None  # the tensor that this is a view of; None where it has memory of its own

    is_traced: ClassVar[bool] = False
    # dmlgpu.numpy, which lies above this module, puts itself here.
    namespace: ClassVar[Any] = None
    # NumPy hands its operators and functions over to a tensor among its arguments.
    __array_priority__: ClassVar[float] = 1000.0

    def __init__(
        self,
        device: Device,
        lease: Lease = None,  # type: ignore[assignment]  # so that what is missing is said below
        layout: Layout = None,  # type: ignore[assignment]
        begin: int = 0,
        whole: bool = False,
    ) -> None:
        if not isinstance(layout, Layout):  # arguments of someone who wanted an array
            raise InvalidTypeError(
                "a Tensor is made by a Device: device.tensor(array), or dml.tensor(array) on the "
                "default one"
            )
        self.device = device
        self.base = None
        self.lease = lease
        self.key = (lease.storage.serial, begin, layout, whole)

    @classmethod
    def without_elements(cls, device: Device, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """A tensor of a shape with a size of 0: it has no bytes and no description."""
        device.context.check_usable()
        tensor = cls.__new__(cls)
        tensor.device = device
        tensor.base = None
        tensor.key = (-1, 0, empty_layout(shape, dtype), True)
        return tensor

    if not TYPE_CHECKING:  # a type checker would believe in every name

        def __getattr__(self, name: str) -> Any:
            """For what a tensor without elements lacks, and what NumPy's arrays have."""
            if name == "lease":
                raise InvalidDescError(self.layout.untold)
            # NumPy looks for names that begin with an underscore all the time.
            is_known = not name.startswith("_") and hasattr(np.ndarray, name)
            instead = f"; {Tensor.namespace.instead_of(name)}" if is_known else ""
            raise AttributeError(f"'Tensor' object has no attribute {name!r}{instead}")

    def traced_step(self, formula: Any, operands: Sequence[Any]) -> Tensor:
        """A step of a function that `dmlgpu.fuse` traces; only its stand-ins have it."""
        raise NotImplementedError

    def traced_ending(self, ending: Any) -> Tensor:
        """The reduction at the end of a function that `dmlgpu.fuse` traces."""
        raise NotImplementedError

    def marked(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """This tensor, seen with a shape and a type that its description cannot say."""
        if not shape or dtype == BOOL:
            serial, begin, layout, whole = self.key
            kind = BOOL if dtype == BOOL else None
            layout = layout_of(layout.memory, None if shape else shape, kind)
            self.key = (serial, begin, layout, whole)
        return self

    def _seen(self, layout: Layout, begin: int = 0) -> Tensor:
        """A view: other elements, or others in number, of the bytes from `begin` on."""
        made = NEW(Tensor)
        made.device = self.device
        made.lease = self.lease
        serial, mine, own, whole = self.key
        have: Any = own.extent
        need: Any = layout.extent
        # Nothing of others lies behind the last bytes where they are this tensor's last ones.
        ends = begin + need.total_tensor_size_in_bytes
        whole = whole and ends == have.total_tensor_size_in_bytes
        made.key = (serial, mine + begin, layout, whole)
        made.base = self if self.base is None else self.base
        return made

    def relaid(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Tensor:
        """A read-only view of elements that lie so, counted in elements from the first one."""
        if 0 in shape:
            return self._without(shape, is_read_only=True)
        start = self.layout.start + offset
        begin, layout = self.layout.cut(shape, strides, start, is_read_only=True)
        return self._seen(layout, begin)

    def _without(
        self, shape: tuple[int, ...], dtype: DType | None = None, *, is_read_only: bool = False
    ) -> Tensor:
        """A view of no elements."""
        kind = self.dtype if dtype is None else dtype
        made = Tensor.without_elements(self.device, shape, kind)
        if is_read_only or self.layout.is_read_only:
            made.key = (-1, 0, empty_layout(shape, made.dtype, is_read_only=True), True)
        made.base = self if self.base is None else self.base
        return made

    def forward(self) -> Tensor:
        """The tensor, or its copy where it goes backward along some dimension."""
        return self if self.key[2].is_forward else self.copy()

    def described(self) -> Tensor:
        """The tensor, or its copy where DirectML cannot describe how it lies."""
        layout = self.key[2]
        return self if layout.desc is not None or layout.extent is None else self.copy()

    @property
    def desc(self) -> TensorDesc:
        """What DirectML is told of the tensor."""
        layout = self.key[2]
        if layout.desc is None:
            raise InvalidDescError(layout.untold)
        return layout.desc

    @property
    def context(self) -> Context:
        """The device's."""
        return self.device.context

    def tobytes(self) -> bytes:
        """All total_tensor_size_in_bytes, padding included, as they lie on the device.

        Of a view the elements, one behind the other.
        """
        if not self.size:
            return b""
        if not self.layout.is_own:
            return self.numpy().tobytes()
        with host_memory(self.desc.total_tensor_size_in_bytes):
            return self.device.read(self).tobytes()

    def numpy(self) -> npt.NDArray[Any]:
        """A copy of the elements in host memory; waits for the GPU."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        x = self._gathered()
        return x.elements(self.device.read(x))

    async def numpy_async(self) -> npt.NDArray[Any]:
        """`numpy()` for asyncio: other tasks run while the GPU works. `y = await x.numpy_async()`.

        The elements are those that the calls made before the `await` leave.
        """
        if not self.size:
            return np.empty(self.shape, self.dtype)
        x = self._gathered()
        return x.elements(await self.device.read_async(x))

    def _gathered(self) -> Tensor:
        """What is read back: the tensor, or its copy where most of its bytes are others'."""
        layout = self.layout
        is_sparse = layout.shares and layout.memory.total_tensor_size_in_bytes > 2 * self.nbytes
        return self.copy() if is_sparse else self

    def elements(self, raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The elements among the tensor's bytes, as an array of its shape."""
        layout = self.layout
        start = layout.start * self.itemsize
        with host_memory(self.nbytes):
            values = np.ndarray(self.shape, self.dtype, raw, start, self.strides)
            return values if layout.is_packed and not layout.shares else values.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        check_read(self, "np.asarray(x)")
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
        check_read(self, "x.__dlpack__()")
        return interop.export(self.numpy, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return interop.CPU

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return Tensor.namespace.of_version(api_version)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return Tensor.namespace.array_ufunc(ufunc, method, inputs, named)

    def __array_function__(self, func: Any, types: Any, args: Any, named: Any) -> Any:
        if not all(issubclass(t, (Tensor, np.ndarray, np.generic)) for t in types):
            return NotImplemented
        return Tensor.namespace.array_function(func, args, named, self.device)

    def to_device(self, device: Device, /, *, stream: Any = None) -> Tensor:
        """The tensor itself if it is there already, else a copy through host memory."""
        if stream is not None:
            raise InvalidDescError(f"to_device: stream is {stream!r}; it must be None")
        if device is self.device:
            return self
        if type(device) is not type(self.device):
            raise InvalidTypeError(
                f"to_device: device is {type(device).__name__}; it must be a Device"
            )
        return device.tensor(self.numpy())

    def view(self, desc: Any = ..., *, dtype: Any = None) -> Tensor:
        """The same bytes under another description, which needs no more of them.

        Or as elements of another data type of the same width; as they are without either.
        """
        given = desc if dtype is None else dtype
        if given is ...:
            return self.real
        if isinstance(given, TensorDesc):
            return self._under(given)
        if isinstance(given, (type, str, np.dtype, DataType)):
            return self._as_bits_of(given)
        raise InvalidTypeError(
            f"view: desc is {type(given).__name__}; it must be a TensorDesc or a data type"
        )

    def _under(self, desc: TensorDesc) -> Tensor:
        """The same bytes under another description."""
        mine, wanted = self.desc.total_tensor_size_in_bytes, desc.total_tensor_size_in_bytes
        if wanted > mine:
            raise InvalidDescError(
                f"view: the description needs {wanted} bytes; the tensor has {mine}"
            )
        return self._seen(layout_of(desc))

    def _as_bits_of(self, wanted: Any) -> Tensor:
        """The same bits as elements of a type."""
        dtype = dtype_of("view: desc", wanted)
        if not isinstance(wanted, DataType) and not np.dtype(wanted).isnative:
            raise InvalidTypeError(f"view: desc is {shown(wanted)}; tensors have no other order")
        if dtype == BOOL != self.dtype:
            raise InvalidTypeError(
                "view: bool is bytes of 0 and 1; x != 0 says which elements are not 0"
            )
        if dtype.itemsize != self.dtype.itemsize:
            raise InvalidTypeError(
                f"view: {dtype} has {8 * dtype.itemsize} bits; it must have "
                f"{8 * self.dtype.itemsize}, as {self.dtype} has"
            )
        if not self.size:
            return self._without(self.shape, dtype)
        return self._seen(self.layout.seen_as(dtype, data_type_of(dtype)))

    def copy(self, order: str = "C") -> Tensor:
        """A packed tensor of its own with the same elements."""
        check_order("copy", order)
        if not self.size:
            return Tensor.without_elements(self.device, self.shape, self.dtype)
        layout = self.layout
        known = self.device.remembered[("copy", layout)]
        if known is None:
            made = views.packed(layout.memory.data_type, layout.memory.sizes)
            steps = zip(made.sizes, made.effective_strides, layout.strides or (1,), strict=True)
            op = self.device.internal(
                Sliced(
                    source=layout.memory,
                    output=made,
                    loops=tuple(Dim(*each) for each in steps),
                    start=layout.start,
                )
            )
            known = op.copying(layout)
            self.device.remember(("copy", layout), known)
        result: Tensor = known(self)
        return result

    def astype(
        self, dtype: Any, copy: bool = True, *, order: str = "C", casting: Any = "unsafe"
    ) -> Tensor:
        """The elements as another type holds them.

        Floats become integers by truncation, and saturate; integers become narrower ones by their
        low bits; bool says whether a number is not 0. `copy=False` gives the tensor itself where
        its type stays.

        >>> (x > 3).astype(np.float32).tolist()
        [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
        """
        wanted = dtype_of("astype: dtype", dtype)
        check_order("astype", order)
        if casting != "unsafe" and not castable("astype: casting", self.dtype, wanted, casting):
            raise InvalidTypeError(
                f"astype: {self.dtype} is not cast to {wanted} by the rule {casting!r}"
            )
        if wanted == self.dtype and not copy:
            return self
        return self.copy() if wanted == self.dtype else self.device.cast(self, wanted)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        if index.__class__ is Tensor:
            return self._taken(index, 0)
        parts = index if index.__class__ is tuple else (index,)
        named = self._named(parts)
        if isinstance(named, Arrays):
            return self.device.take(self, named)
        made: Tensor = named
        # An element that integers alone name is a number of its own, as NumPy's scalars are.
        is_number = not made.key[2].shape and not any(part is ... for part in parts)
        return made.copy() if is_number else made

    def _named(self, parts: tuple[Any, ...]) -> Any:
        """What stands in brackets: a view, or arrays with what stands beside them."""
        layout = self.key[2]
        try:
            key = index_key(parts)
            known = layout.views[key]
        except Exception:  # an array among them, which is not hashable
            key, known = None, None
        if known is not None:
            return self._seen(known[1], known[0])
        found = read(layout.shape, parts, Tensor)
        if isinstance(found, Arrays):
            return found
        has_elements = layout.extent is not None and 0 not in found.shape
        if has_elements and key is not None and is_fixed(key):
            layout.views.put(key, layout.indexed(found))
        return self.window(found)

    def window(self, window: Window) -> Tensor:
        """The view of a window's elements, in its shape."""
        if not self.size or 0 in window.shape:
            return self._without(window.shape)
        begin, layout = self.layout.indexed(window)
        return self._seen(layout, begin)

    def _taken(self, at: Any, axis: int) -> Tensor:
        """What lies at positions along an axis, or where a mask is True.

        What takes them is remembered by the layouts of both, unless the shape depends on values.
        """
        key = ("taken", axis, self.key[2], at.key[2])
        known = self.device.remembered[key]
        if known is not None:
            result: Tensor = known(self, at)
            return result
        found = read(self.shape, (*(slice(None),) * axis, at), Tensor)
        assert isinstance(found, Arrays)
        return self.device.take(self, found, key)

    def __setitem__(self, index: Index | tuple[Index, ...], value: Any) -> None:
        """Writes to the elements that an index names; of repeated ones the last value stays.

        >>> y = x.copy()
        >>> y[:, ::2] = 0
        >>> y[y > 3] = -1
        >>> y[[0, 1], [1, 0]] = [7, 8]
        >>> y.tolist()
        [[0, 7, 0], [8, -1, 0]]
        """
        named = self._named(index if isinstance(index, tuple) else (index,))
        if isinstance(named, Arrays):
            self.device.put(self, named, value)
        else:
            self.device.assign(named, value)

    def fill(self, value: Any) -> None:
        """Makes every element one number."""
        self[...] = value

    def take(
        self, indices: Tensor | npt.ArrayLike, axis: int | None = None, mode: str = "raise"
    ) -> Tensor:
        """What lies at these positions along an axis, or in the flattened tensor.

        Positions given as an array are checked; those on the device are clamped, unless it
        was made with `debug=True`. With `mode="clip"` all are, and negative ones to 0; with "wrap"
        they are counted round and round.

        >>> x.take([2, 0], axis=1).tolist()
        [[2, 0], [5, 3]]
        """
        if axis is None:
            return self.ravel().take(indices, 0, mode)
        if mode == "raise" and axis.__class__ is int and indices.__class__ is Tensor:
            known = self.device.remembered[("taken", axis, self.key[2], indices.key[2])]
            if known is not None:
                result: Tensor = known(self, indices)
                return result
        axis = views.axis_of("take", axis, self.ndim)
        given = _integers("take", indices)
        if mode == "clip":
            given = counting(given).clip(0, self.shape[axis] - 1)
        elif mode == "wrap":
            given = counting(given) % self.shape[axis]
        elif mode != "raise":
            raise InvalidDescError(f"take: mode is {mode!r}; it must be raise, clip or wrap")
        if isinstance(given, Tensor):
            return self._taken(given, axis)
        return self[(*(slice(None),) * axis, given)]

    def put(self, indices: Tensor | npt.ArrayLike, values: Any) -> None:
        """Writes values, again from the first where there are too few, to flat positions.

        >>> y = x.copy()
        >>> y.put([0, -1], [7, 8])
        >>> y.tolist()
        [[7, 1, 2], [3, 4, 8]]
        """
        flat, size = self.reshape(-1), int(np.prod(np.shape(indices)))
        if not isinstance(values, Tensor):
            values = self.device.tensor(values, type_for(values, self.dtype))
        given = values.ravel()
        if size and given.size:
            given = given.take(np.arange(size) % given.size) if size != given.size else given
            flat[_integers("put", indices).reshape(-1)] = given
            if flat.storage is not self.storage:  # the strides allow no view
                self[...] = flat.reshape(self.shape)

    def nonzero(self) -> tuple[Tensor, ...]:
        """The coordinates of the elements that are not 0, a tensor of int64 for each axis.

        How many there are is read back, for it makes the shape.

        >>> [axis.tolist() for axis in (x > 3).nonzero()]
        [[1, 1], [1, 2]]
        """
        return self.device.nonzero(self)

    def compress(self, condition: Tensor | npt.ArrayLike, axis: int | None = None) -> Tensor:
        """What lies along an axis, or in the flattened tensor, where a condition is not 0.

        >>> x.compress([True, False, True], axis=1).tolist()
        [[0, 2], [3, 5]]
        """
        given: Any = condition if isinstance(condition, Tensor) else np.asarray(condition)
        if given.ndim != 1:
            raise InvalidDescError(
                f"compress: condition has {given.ndim} dimensions; it must have one"
            )
        count = (
            self.size if axis is None else self.shape[views.axis_of("compress", axis, self.ndim)]
        )
        if isinstance(given, Tensor) and given.size > count:
            if given[count:].any():
                raise IndexRangeError(
                    f"compress: condition has {given.size} elements, and one that is not 0 is "
                    f"behind the {count} of the axis"
                )
            given = given[:count]
        if isinstance(given, Tensor):
            (found,) = self.device.nonzero(given, INT32)
        else:
            (found,) = given.nonzero()
        return self.take(found, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        """Each element several times; counts in a tensor are read back, for they make the shape.

        >>> x.repeat([1, 2], axis=0).tolist()
        [[0, 1, 2], [3, 4, 5], [3, 4, 5]]
        """
        if axis is None:
            return self.reshape(-1).repeat(repeats, 0)
        axis = views.axis_of("repeat", axis, self.ndim)
        counts, size = np.asarray(repeats), self.shape[axis]
        if counts.dtype.kind not in "iu":
            raise InvalidTypeError(
                f"repeat: repeats have type {counts.dtype}; they must be integers"
            )
        if counts.size != 1 and counts.shape != (size,):
            raise InvalidDescError(
                f"repeat: repeats have shape {counts.shape}; axis {axis} has {size} elements"
            )
        if counts.size and counts.min() < 0:
            raise InvalidDescError(f"repeat: repeats has {counts.min()}; counts cannot be negative")
        if counts.size == 1 and self.ndim < MAX_RANK:
            times = int(counts.reshape(-1)[0])
            before, after = self.shape[: axis + 1], self.shape[axis + 1 :]
            wide = self.expand_dims(axis + 1).broadcast_to((*before, times, *after))
            return wide.reshape((*before[:-1], size * times, *after), copy=True)
        return self.take(np.repeat(np.arange(size), counts.reshape(-1)), axis)

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
        self,
        axis: int | None = None,
        dtype: Any = None,
        *,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> Tensor:
        """Running sums along an axis, or over the flattened tensor: CUMULATIVE_SUMMATION.

        `exclusive` leaves each element out of its own sum; `reverse` starts at the far end.
        Integers and bool are widened to 64 bits, as in `sum`, unless `dtype` says another type.

        >>> x.cumsum(axis=1).tolist()
        [[0, 1, 3], [3, 7, 12]]
        """
        return self._scan(
            "CUMULATIVE_SUMMATION", "has_exclusive_sum", axis, dtype, exclusive, reverse
        )

    def cumprod(
        self,
        axis: int | None = None,
        dtype: Any = None,
        *,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> Tensor:
        """Running products along an axis, as `cumsum` does sums: CUMULATIVE_PRODUCT."""
        return self._scan(
            "CUMULATIVE_PRODUCT", "has_exclusive_product", axis, dtype, exclusive, reverse
        )

    def _scan(
        self, operator: str, flag: str, axis: int | None, dtype: Any, exclusive: bool, reverse: bool
    ) -> Tensor:
        if axis is None:
            return self.reshape(-1)._scan(operator, flag, 0, dtype, exclusive, reverse)
        if self.layout.desc is None and self.layout.extent is not None:
            return self.copy()._scan(operator, flag, axis, dtype, exclusive, reverse)
        if dtype is None and axis.__class__ is int:
            key = (operator, self.key[2], axis, bool(exclusive), bool(reverse), "as it is")
            known = self.device.remembered[key]
            if known is not None:
                result: Tensor = known(self)
                return result
        wanted = wide_sum(self.dtype) if dtype is None else dtype_of(f"{operator}: dtype", dtype)
        place = views.axis_of(operator, axis, self.ndim)
        check_computes(operator, wanted)
        source = self.astype(wanted, copy=False)
        if wanted in UNSCANNED:
            source = source.astype(in_words(wanted))
        if source.size:
            known = source._scanning(operator, flag, place, bool(exclusive), bool(reverse))
            if source is self and dtype is None and axis.__class__ is int:
                self.device.remember(key, known)
            source = known(source)
        return source.astype(wanted, copy=False)

    def _scanning(
        self, operator: str, flag: str, axis: int, exclusive: bool, reverse: bool
    ) -> Callable[[Tensor], Tensor]:
        """What scans elements that lie so, in their own type."""
        key = (operator, self.key[2], axis, exclusive, reverse)
        known: Callable[[Tensor], Tensor] | None = self.device.remembered[key]
        if known is None:
            op = self.device.operator(
                operator,
                input_tensor=self.desc,
                axis=axis,
                axis_direction=AxisDirection.DECREASING if reverse else AxisDirection.INCREASING,
                **{flag: exclusive},
            )
            known = op.prepared(self.shape, self.dtype)
            self.device.remember(key, known)
        return known

    def sort(
        self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Puts the elements of every line along an axis in order, in place, as NumPy's method does.

        The sort is stable, whatever `kind` and `stable` say; NaN is above everything.
        """
        if order is not None:
            raise InvalidTypeError("sort: a tensor has no fields, and so takes no argument order")
        views.axis_of("sort", axis, self.ndim)
        self[...] = self.device.sort(self, axis)

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Tensor:
        """The places that put every line along an axis, or the flattened tensor, in order.

        >>> x.flip(1).argsort(axis=1).tolist()
        [[2, 1, 0], [2, 1, 0]]
        """
        if order is not None:
            raise InvalidTypeError(
                "argsort: a tensor has no fields, and so takes no argument order"
            )
        return self.device.argsort(self, axis)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def __dask_tokenize__(self) -> tuple[str, npt.NDArray[Any]]:
        """What Dask names a result after: the elements, which it hashes."""
        return "dmlgpu.Tensor", self.numpy()

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError("a Tensor is pickled by dmlgpu.functions; import dmlgpu first")

    def __repr__(self) -> str:
        layout = self.layout
        dtype = layout.memory.data_type.name.lower() if layout.dtype is None else layout.dtype
        facts = f"shape={self.shape}, dtype={dtype}"
        values = self._shown()
        return f"Tensor({values}{facts}, device={self.device.adapter.name!r})"

    def __str__(self) -> str:
        return str(self.item()) if not self.ndim and self._shown() else repr(self)

    def _shown(self) -> str:
        """The values, or those at the ends, where reading disturbs nothing and nobody waits."""
        device, lock = self.device, self.device.context.lock
        if not lock.acquire(blocking=False):
            return ""
        try:
            if device.is_observed:
                return ""
            asked = np.get_printoptions()
            ends = asked["edgeitems"] if self.ndim < 4 else 1
            whole = self.size <= asked["threshold"]
            values = self.numpy() if whole else self._at_ends(ends)
            most = self.size if whole else 0
            told = np.array2string(
                values, separator=", ", prefix="Tensor(", threshold=most, edgeitems=ends
            )
            return f"{told}, "
        except Exception:  # a closed or lost device, a type NumPy lacks: repr never raises
            return ""
        finally:
            lock.release()

    def _at_ends(self, count: int) -> npt.NDArray[Any]:
        """So many steps at both ends of every axis, and one between them that stands for all."""
        steps = [
            np.arange(n) if n <= 2 * count else np.r_[: count + 1, n - count : n]
            for n in self.shape
        ]
        return self[np.ix_(*steps)].numpy()


def _integers(what: str, indices: Any) -> Any:
    """Positions as a tensor or an array of integers."""
    given: Any = indices if isinstance(indices, Tensor) else as_array(f"{what}: indices", indices)
    if given.dtype.kind in "iu":
        return given
    if given.size or isinstance(indices, Tensor):
        raise InvalidTypeError(f"{what}: indices have type {given.dtype}; they must be integers")
    return given.astype(np.intp)  # an empty list says no type


def _adopt(owner: type, *others: type) -> None:
    """Methods from other rooms are named after the class, in Python's messages and in pickles."""
    for name, method in (item for other in others for item in vars(other).items()):
        if isinstance(method, FunctionType):
            method.__module__, method.__name__ = owner.__module__, name
            method.__qualname__ = f"{owner.__qualname__}.{name}"


_adopt(Tensor, Shapes, Arithmetic, Conversions, Reductions)
