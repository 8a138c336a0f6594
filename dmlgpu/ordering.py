"""Sorts and searches of tensors, in NumPy's terms."""

from __future__ import annotations

from typing import Any

from dmlgpu.array.ordering import RunsDesc, SearchDesc, SortDesc
from dmlgpu.array.promotion import INT32, INT64, DType, data_type_of
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.desc.views import axis_of, packed
from dmlgpu.errors import InvalidDescError, InvalidTypeError
from dmlgpu.tensor import Tensor


def sort(x: Tensor, axis: int | None, descending: bool) -> Tensor:
    """The elements of every line in order."""
    values, _ = sorted_with_places(x, axis, descending)
    return values


def sorted_with_places(x: Tensor, axis: int | None, descending: bool) -> tuple[Tensor, Tensor]:
    """The elements of every line in order, and their places as int32."""
    line, place = _along("sort", x, axis)
    if not x.size:
        return line.copy(), Tensor.without_elements(x.device, line.shape, INT32)
    values = packed(line.desc.data_type, line.desc.sizes)
    found = packed(DataType.INT32, values.sizes)
    made = _sorted(line, values, found, place, descending)
    return made[0].marked(line.shape, x.dtype), made[1].marked(line.shape, INT32)


def argsort(x: Tensor, axis: int | None, descending: bool) -> Tensor:
    """The places that put every line in order, as int64."""
    return places(x, axis, descending).astype(INT64)


def places(x: Tensor, axis: int | None, descending: bool = False) -> Tensor:
    """The places that put every line in order, as int32: as the sort finds them."""
    line, place = _along("argsort", x, axis)
    if not x.size:
        return Tensor.without_elements(x.device, line.shape, INT32)
    found = packed(DataType.INT32, line.desc.sizes)
    made: Tensor = _sorted(line, None, found, place, descending)
    return made.marked(line.shape, INT32)


def _along(what: str, x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """The tensor, flattened where no axis is named, and the axis; a number has one of its own."""
    if axis is None:
        return x.reshape(-1).described(), 0
    return x.described(), axis_of(what, axis, max(x.ndim, 1))


def _sorted(
    x: Tensor, values: TensorDesc | None, places: TensorDesc, axis: int, descending: bool
) -> Any:
    desc = SortDesc(x=x.desc, values=values, places=places, axis=axis, descending=descending)
    return x.device.internal(desc)(x)


def search(line: Tensor, values: Tensor, side: str, sorter: Tensor | None, common: DType) -> Tensor:
    """Where values would be put into a sorted line, as int64."""
    if side not in ("left", "right"):
        raise InvalidDescError(f"searchsorted: side is {side!r}; it must be 'left' or 'right'")
    if line.ndim != 1:
        raise InvalidDescError(f"searchsorted: x1 has {line.ndim} dimensions; it must have 1")
    if sorter is not None:
        if sorter.dtype.kind not in "iu":
            raise InvalidTypeError(
                f"searchsorted: sorter is {sorter.dtype}; it must be of an integer type"
            )
        if sorter.shape != line.shape:
            raise InvalidDescError(
                f"searchsorted: sorter has shape {sorter.shape}; x1 has {line.shape}, and the two "
                "must be equal"
            )
    device = line.device
    if not line.size or not values.size:
        return device.full(values.shape, INT64, 0)
    given = [x.astype(common, copy=False).described() for x in (line, values)]
    order = [] if sorter is None else [sorter.described()]
    if sorter is not None and sorter.itemsize < 4:
        order = [sorter.astype(INT32)]
    desc = SearchDesc(
        line=given[0].desc,
        sorter=order[0].desc if order else None,
        values=given[1].desc,
        places=packed(data_type_of(INT64), given[1].desc.sizes),
        behind=side == "right",
    )
    made: Tensor = device.internal(desc)(given[0], *order, given[1])
    return made.marked(values.shape, INT64)


def runs(line: Tensor, equal_nan: bool) -> Tensor:
    """1 where a run of equal elements begins in a sorted line, else 0, as int32."""
    if not line.size:
        return Tensor.without_elements(line.device, line.shape, INT32)
    line = line.described()
    begins = packed(data_type_of(INT32), line.desc.sizes)
    desc = RunsDesc(line=line.desc, begins=begins, equal_nan=equal_nan)
    made: Tensor = line.device.internal(desc)(line)
    return made
