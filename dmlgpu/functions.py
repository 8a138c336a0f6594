"""The operators as functions on tensors and arrays.

Each takes its device from the tensors it is given, and uses `default_device()` when it is given
arrays alone. Outputs are packed.
"""

from __future__ import annotations

import copyreg
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dmlgpu.arguments import is_plain, plain_key
from dmlgpu.desc.catalogue import SYNONYMS
from dmlgpu.desc.description import Description, field_texts
from dmlgpu.desc.enumerations import AxisDirection, PaddingMode
from dmlgpu.desc.tensor import DataType
from dmlgpu.device import Device
from dmlgpu.errors import BindingError, InvalidTypeError, UnsupportedError, shown
from dmlgpu.ops import BY_DESC, BY_NAME
from dmlgpu.plan.operator import Operator
from dmlgpu.tensor import Tensor

Array: TypeAlias = Tensor | npt.ArrayLike
Given = ParamSpec("Given")
Made = TypeVar("Made")

_default: list[Device] = []
# A signal handler or finalizer may use the default device while it is being opened, in the same
# thread; it then opens one of its own, which both use.
_default_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not find it held by a thread it does not have
    os.register_at_fork(
        before=_default_lock.acquire,
        after_in_parent=_default_lock.release,
        after_in_child=_default_lock.release,
    )


def default_device() -> Device:
    """The device of calls that are given only arrays; made on first use, then kept.

    A closed or lost one is replaced by a new one.
    """
    with _default_lock:
        known = _default[:1]
        if known and known[0].is_usable:
            return known[0]
        made = Device()
        others = _default[:1]
        if others and others != known and others[0].is_usable:
            made.close()
            return others[0]
        _default[:] = [made]
        return made


def device_of(*values: Any) -> Device:
    """The one device of the devices and tensors among some values, else the default one."""
    found = (value.device if isinstance(value, Tensor) else value for value in values)
    devices = {id(device): device for device in found if isinstance(device, Device)}
    if len(devices) > 1:
        raise BindingError(
            "tensors of two devices are given; x.to_device(device) copies one to another"
        )
    return next(iter(devices.values())) if devices else default_device()


def set_default_device(device: Device | None) -> None:
    """Makes `device` the one of calls that are given only arrays; None: a new one when needed."""
    if device is not None and not isinstance(device, Device):
        raise InvalidTypeError(
            f"set_default_device: device is {shown(device)}; it must be a Device or None"
        )
    with _default_lock:
        _default[:] = [] if device is None else [device]


def tensor(array: Array, device: Device | None = None, dtype: Any = None) -> Tensor:
    """An array as a tensor on a device, the default one unless given.

    >>> dml.tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    return (device or default_device()).tensor(array, dtype)


def _pickled(x: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """By value: the elements, which `tensor` puts on the default device where they are read."""
    return tensor, (x.numpy(),)


copyreg.pickle(Tensor, _pickled)


def infer(desc_type: type[Description], **fields: Any) -> Description:
    """The complete description of these fields: sizes and types of the outputs are worked out.

    >>> x = dml.TensorDesc(dml.DataType.FLOAT32, (2, 3))
    >>> dml.infer(dml.CumulativeSummationDesc, input_tensor=x, axis=1).output_tensor.sizes
    (2, 3)
    """
    operator = BY_DESC.get(desc_type)
    if operator is None:
        name = getattr(desc_type, "__name__", str(desc_type))
        raise UnsupportedError(f"infer: {name} belongs to no operator that is built")
    made: Description = operator.complete(fields)
    return made


def from_dlpack(x: Any, device: Device | None = None) -> Tensor:
    """A tensor of what another array library holds in CPU memory; copies.

    >>> dml.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    return (device or default_device()).from_dlpack(x)


class Asked(Generic[Made]):
    """What a function asks of a device: an operator, its inputs, and its attributes."""

    def __init__(self, name: str, *inputs: Any, **attributes: Any) -> None:
        self.name = name
        self.inputs = inputs
        self.attributes = attributes


def operator_function(read: Callable[Given, Asked[Made]]) -> Callable[Given, Made]:
    """The function whose arguments `read` reads. A call like an earlier one takes one look-up."""

    @wraps(read)
    def function(*args: Given.args, **named: Given.kwargs) -> Made:
        tensors: list[Any] = []
        others: list[Any] = []
        key: list[Any] = [read, *named]
        known: Any = None
        try:
            for x in (*args, *named.values()):
                if x.__class__ is Tensor:
                    tensors.append(x)
                    others.append(...)
                    key.append(x.key[2])
                else:
                    others.append(x)
            if tensors:
                key.append(plain_key(others))
                known = tensors[0].device.remembered[tuple(key)]
        except Exception:  # an argument that is not hashable: reading says so
            tensors = []
        if known is None:
            asked = read(*args, **named)
            flat = [x for t in asked.inputs for x in (t if isinstance(t, (list, tuple)) else (t,))]
            device = device_of(*flat)
            known, inputs = device.found(asked.name, asked.inputs, asked.attributes)
            same = tensors and list(map(id, tensors)) == list(map(id, inputs))
            if same and is_plain(others):
                device.remember(tuple(key), known)
            tensors = list(inputs)
        made: Made = known(*tensors)
        return made

    told = signature(read)
    if told.return_annotation is not told.empty:
        made = told.return_annotation.removeprefix("Asked[").removesuffix("]")
        vars(function)["__signature__"] = told.replace(return_annotation=made)
    return function


@operator_function
def slice(
    x: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> Asked[Tensor]:
    """SLICE: `sizes` elements per dimension, from `offsets` on, every `strides`-th.

    >>> dml.slice([1, 2, 3, 4, 5], offsets=[1], sizes=[2], strides=[3]).tolist()
    [2, 5]
    """
    return Asked("SLICE", x, offsets=offsets, sizes=sizes, strides=strides)


@operator_function
def slice1(
    x: Array,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> Asked[Tensor]:
    """SLICE1: steps through a window, from its far end where a stride is negative.

    `output_sizes` keeps only the first elements; by default all that the steps reach.

    >>> dml.slice1([1, 2, 3, 4, 5], [1], [4], [-2]).tolist()
    [5, 3]
    """
    windows = {
        "input_window_offsets": input_window_offsets,
        "input_window_sizes": input_window_sizes,
        "input_window_strides": input_window_strides,
    }
    return Asked("SLICE1", x, **windows, output_sizes=output_sizes)


@operator_function
def gather_nd(
    x: Array,
    indices: Array,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
) -> Asked[Tensor]:
    """GATHER_ND: the blocks of `x` that the tuples along the last axis of `indices` name.

    Negative coordinates count from the end. The counts say how many trailing dimensions are
    meant, all by default; the result has as many as NumPy would give it, and one at least.

    >>> dml.gather_nd([[1, 2], [3, 4]], [[1, 0], [0, -1]]).tolist()
    [3, 2]
    """
    counts = _counts(input_dimension_count, indices_dimension_count)
    return Asked("GATHER_ND", x, indices, **counts)


@operator_function
def gather_nd1(
    x: Array,
    indices: Array,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
    batch_dimension_count: int = 0,
) -> Asked[Tensor]:
    """GATHER_ND1: GATHER_ND within each of the leading batch dimensions.

    >>> dml.gather_nd1([[1, 2], [3, 4]], [[1], [0]], batch_dimension_count=1).tolist()
    [2, 3]
    """
    counts = _counts(input_dimension_count, indices_dimension_count)
    return Asked("GATHER_ND1", x, indices, **counts, batch_dimension_count=batch_dimension_count)


def _counts(inputs: int | None, indices: int | None) -> dict[str, int]:
    """The dimension counts that were given."""
    counts = {"input_dimension_count": inputs, "indices_dimension_count": indices}
    return {name: count for name, count in counts.items() if count is not None}


@operator_function
def cumulative_summation(
    x: Array,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Asked[Tensor]:
    """CUMULATIVE_SUMMATION: running sums along an axis; a negative axis counts from the end.

    DECREASING starts at the far end; `exclusive` leaves each element out of its own sum.

    >>> dml.cumulative_summation([1, 2, 3, 4], 0, exclusive=True).tolist()
    [0, 1, 3, 6]
    """
    return Asked(
        "CUMULATIVE_SUMMATION",
        x,
        axis=axis,
        axis_direction=axis_direction,
        has_exclusive_sum=exclusive,
    )


@operator_function
def cumulative_product(
    x: Array,
    axis: int,
    axis_direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
) -> Asked[Tensor]:
    """CUMULATIVE_PRODUCT: running products along an axis; a negative axis counts from the end.

    >>> dml.cumulative_product([1, 2, 3, 4], 0, dml.AxisDirection.DECREASING).tolist()
    [24, 24, 12, 4]
    """
    return Asked(
        "CUMULATIVE_PRODUCT",
        x,
        axis=axis,
        axis_direction=axis_direction,
        has_exclusive_product=exclusive,
    )


@operator_function
def cast(x: Array, dtype: DataType | npt.DTypeLike) -> Asked[Tensor]:
    """CAST: the same numbers in another data type.

    >>> dml.cast([1.7, -1.7], np.int32).tolist()
    [1, -1]
    """
    data_type = dtype if isinstance(dtype, DataType) else DataType.from_numpy(dtype)
    return Asked("CAST", x, output_data_type=data_type)


@operator_function
def split(x: Array, sizes: Sequence[int], axis: int) -> Asked[tuple[Tensor, ...]]:
    """SPLIT: `x` cut along an axis into pieces of these sizes.

    >>> [piece.tolist() for piece in dml.split([1, 2, 3, 4, 5], [2, 3], axis=0)]
    [[1, 2], [3, 4, 5]]
    """
    return Asked("SPLIT", x, output_sizes=sizes, axis=axis)


@operator_function
def padding(
    x: Array,
    mode: PaddingMode | int,
    value: float,
    start: Sequence[int],
    end: Sequence[int],
) -> Asked[Tensor]:
    """PADDING: `x` with more elements before and behind it, per dimension.

    >>> dml.padding([1, 2, 3], dml.PaddingMode.REFLECTION, 0, start=[2], end=[1]).tolist()
    [3, 2, 1, 2, 3, 2]
    """
    named = {"padding_mode": mode, "padding_value": value}
    return Asked("PADDING", x, **named, start_padding=start, end_padding=end)


@operator_function
def padding1(
    x: Array,
    mode: PaddingMode | int,
    value: int | float,
    start: Sequence[int],
    end: Sequence[int],
) -> Asked[Tensor]:
    """PADDING1: PADDING with a value of the data type of `x`, exactly.

    >>> dml.padding1(np.array([1, 2]), dml.PaddingMode.CONSTANT, 2**53 + 1, [1], [0]).tolist()
    [9007199254740993, 1, 2]
    """
    named = {"padding_mode": mode, "padding_value": value}
    return Asked("PADDING1", x, **named, start_padding=start, end_padding=end)


@operator_function
def gather(
    x: Array, indices: Array, axis: int, index_dimensions: int | None = None
) -> Asked[Tensor]:
    """GATHER: the slices of `x` along an axis that `indices` name.

    Negative indices count from the end. `index_dimensions` says how many trailing dimensions of
    the indices are meant, all by default; the result has as many as NumPy's `take` gives it, and
    one at least.

    >>> dml.gather([[1, 2], [3, 4]], [1, 0, -1], axis=0).tolist()
    [[3, 4], [1, 2], [3, 4]]
    """
    if index_dimensions is None:
        rank = indices.ndim if isinstance(indices, Tensor) else np.ndim(indices)
        index_dimensions = None if rank else 0
    meant = {} if index_dimensions is None else {"index_dimensions": index_dimensions}
    return Asked("GATHER", x, indices, axis=axis, **meant)


@operator_function
def scatter_nd(
    x: Array,
    indices: Array,
    updates: Array,
    input_dimension_count: int | None = None,
    indices_dimension_count: int | None = None,
) -> Asked[Tensor]:
    """SCATTER_ND: `x` with the blocks that the tuples of `indices` name replaced by `updates`.

    Of several updates of one block the last one stays. The counts say how many trailing dimensions
    are meant, all by default.

    >>> dml.scatter_nd([1, 2, 3, 4], [[0], [-1]], [7, 8]).tolist()
    [7, 2, 3, 8]
    """
    counts = _counts(input_dimension_count, indices_dimension_count)
    return Asked("SCATTER_ND", x, indices, updates, **counts)


def function_names() -> tuple[str, ...]:
    """The functions of all operators that are built, synonyms included."""
    synonyms = (name for name, meant in SYNONYMS.items() if meant in BY_NAME)
    return tuple(name.lower() for name in (*BY_NAME, *synonyms))


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of an operator: `element_wise_add(a, b)`.

    Tensors come first, in the description's order, then attributes by DirectML's names. Functions
    whose arguments are not what a record says by itself are written in this module.
    """
    operator = BY_NAME.get(SYNONYMS.get(name.upper(), name.upper()))
    if operator is None or name != name.lower():
        return None
    written: Callable[..., Any] | None = globals().get(name)
    if getattr(written, "__module__", "") == __name__:
        return written
    attributes = [field for field in operator.fields if not field.is_tensor]

    def read(*args: Any, **named: Any) -> Asked[Any]:
        try:
            bound = told.bind(*args, **named)
        except TypeError as error:
            raise InvalidTypeError(f"{operator.name}: {error}") from None
        given = bound.arguments
        tensors = [given.pop(n, None) for n in shorts]
        while tensors and tensors[-1] is None:
            tensors.pop()
        return Asked(operator.name, *tensors, **given)

    empty = Parameter.empty
    shorts = [field.argument for field in operator.inputs]
    parameters = [
        Parameter(short, Parameter.POSITIONAL_OR_KEYWORD, default=None if f.optional else empty)
        for short, f in zip(shorts, operator.inputs, strict=True)
    ]
    optional = any(p.default is not empty for p in parameters)
    for field in attributes:
        default = getattr(operator.desc, field.name, empty)
        kind = Parameter.KEYWORD_ONLY if optional else Parameter.POSITIONAL_OR_KEYWORD
        optional = optional or default is not empty
        kind = Parameter.KEYWORD_ONLY if optional and default is empty else kind
        parameters.append(Parameter(field.name, kind, default=default))
    parameters.append(Parameter("output_data_type", Parameter.KEYWORD_ONLY, default=None))
    parameters.append(Parameter("output_sizes", Parameter.KEYWORD_ONLY, default=None))
    parameters.sort(key=lambda p: p.kind)
    told = Signature(parameters)
    read.__name__ = read.__qualname__ = name
    read.__doc__ = _documented(operator)
    read.__module__ = "dmlgpu"
    vars(read)["__signature__"] = told
    return operator_function(read)


def _documented(operator: Operator[Any]) -> str:
    """What the description says, with all arguments of the function in the place of its fields."""
    text = cleandoc(operator.desc.__doc__ or "").replace("_OPERATOR_DESC", "", 1)
    head, *parts = re.split(r"\n(?=(?:Fields|Rules|Example):$)", text, flags=re.M)
    told = field_texts(operator.desc)
    given = [f"    {f.argument}: {told[f.name]}" for f in operator.fields if f.direction != "out"]
    rest = (part for part in parts if not part.startswith("Fields:"))
    return "\n".join([head.rstrip(), "", "Arguments:", *given, "", *rest]).rstrip()
