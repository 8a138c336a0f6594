"""NumPy's functions that change an array in places, and its differences and products of vectors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from dmlgpu.array.promotion import BOOL, castable, is_number, promoted
from dmlgpu.array.uploads import host_array, type_for
from dmlgpu.desc import views
from dmlgpu.errors import (
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    UnsupportedError,
    shown,
)
from dmlgpu.functions import device_of
from dmlgpu.numpy import manipulation
from dmlgpu.numpy.creation import arange, asarray
from dmlgpu.numpy.nan_functions import floats
from dmlgpu.numpy.sorting import searchsorted
from dmlgpu.tensor import Tensor

Places = np.ndarray[Any, np.dtype[Any]]


def _flat_or_along(what: str, arr: Any, axis: int | None, *others: Any) -> tuple[Tensor, int]:
    """The array and the axis, or all of its elements in one line."""
    x = asarray(arr, device=device_of(arr, *others))
    if axis is None:
        return x.reshape(-1), 0
    return x, views.axis_of(what, axis, x.ndim)


def _places(what: str, obj: Any, count: int, most: int) -> Places:
    """Integers, a slice or a mask as places from 0 on, below `most`."""
    if isinstance(obj, slice):
        return np.arange(count)[obj]
    given = np.asarray(obj.numpy() if isinstance(obj, Tensor) else obj)
    if given.dtype == np.bool_:
        if given.shape != (count,):
            raise InvalidIndexError(
                f"np.{what}: the mask has the shape {given.shape}; it must be ({count},)"
            )
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" and not (given.size == 0 and isinstance(obj, (list, tuple))):
        raise InvalidIndexError(f"np.{what}: obj is {given.dtype}; it must be integers")
    wrong = given[(given < -count) | (given >= most)]
    if wrong.size:
        raise InvalidIndexError(
            f"np.{what}: index {wrong[0]} is out of bounds for an axis of size {count}"
        )
    places = given.astype(np.int64)
    return np.where(places < 0, places + count, places)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    """The array without what is at some places along an axis, or of all its elements."""
    x, at = _flat_or_along("delete", arr, axis)
    gone = np.unique(_places("delete", obj, x.shape[at], x.shape[at]))
    if gone.size and gone[-1] - gone[0] == gone.size - 1:  # side by side, so two windows are left
        begin, end = slice(0, gone[0]), slice(gone[-1] + 1, None)
        return manipulation.concat([x[_along(at, begin)], x[_along(at, end)]], axis=at)
    if not gone.size:
        return x.copy()
    kept = arange(x.shape[at] - gone.size, device=x.device)
    below = (gone - np.arange(gone.size)).astype(kept.dtype)
    return x.take(kept + searchsorted(below, kept, "right"), at)  # as many are gone before each


def _along(axis: int, places: Any) -> tuple[Any, ...]:
    """What stands in brackets for places along an axis."""
    return (*[slice(None)] * axis, places)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """The array with values before some places along an axis, or of all its elements."""
    x, at = _flat_or_along("insert", arr, axis, values)
    count = x.shape[at]
    places = _places("insert", obj, count, count + 1)
    if places.ndim > 1:
        raise InvalidIndexError(
            f"np.insert: obj has {places.ndim} dimensions; it must be a number or have one"
        )
    new = asarray(values, dtype=type_for(values, x.dtype), device=x.device).astype(x.dtype)
    if places.size == 1:  # before one place go as many as there are values
        new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
        if not places.ndim:  # values are of the other axes, as in a[:, index] = values
            new = manipulation.moveaxis(new, 0, at)
        places = np.full(new.shape[at], places.item())
    order = np.argsort(places, kind="stable")
    ahead = np.empty(places.size, np.int64)
    ahead[order] = places[order] + np.arange(places.size)
    shape = (*x.shape[:at], count + places.size, *x.shape[at + 1 :])
    made = x.device.full(shape, x.dtype, 0)
    along = new.shape[at - x.ndim] if new.ndim >= x.ndim - at else 1
    if not places.size and along > 1:
        raise InvalidDescError(f"np.insert: no place is given for values of shape {new.shape}")
    where: Any = ahead
    if places.size and (np.diff(ahead) == 1).all():  # side by side, with windows on both sides
        start = int(ahead[0])
        where = slice(start, start + places.size)
        for old, there in ((slice(0, start),) * 2, (slice(start, None), slice(where.stop, None))):
            if x[_along(at, old)].size:
                made[_along(at, there)] = x[_along(at, old)]
    elif count:
        each = arange(count, device=x.device)
        before = searchsorted(places[order].astype(each.dtype), each, "right")
        made[_along(at, each + before)] = x
    if places.size:
        made[_along(at, where)] = new
    return made


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Writes the elements whose places along every axis are the same."""
    if not isinstance(a, Tensor) or a.ndim < 2:
        raise InvalidDescError("np.fill_diagonal: a must be a Tensor of two dimensions at least")
    if wrap:
        raise UnsupportedError("np.fill_diagonal: a tensor takes no argument wrap")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise InvalidDescError(f"np.fill_diagonal: the sizes {a.shape} must be the same")
    count = min(a.shape)
    value = asarray(val, dtype=type_for(val, a.dtype), device=device_of(a, val)).reshape(-1)
    if count and value.size:
        along = arange(count, device=a.device)
        a[(along,) * a.ndim] = value.take(along % value.size, 0)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences of neighbours: central ones inside, one-sided ones at the ends."""
    x = asarray(f)
    if x.dtype == BOOL:
        raise InvalidTypeError("np.gradient: bool has no differences; convert with astype first")
    x = floats(x)
    axes = range(x.ndim) if axis is None else views.axes_of("gradient", axis, x.ndim)
    steps = varargs or (1.0,)
    if len(steps) == 1:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise InvalidTypeError(
            f"np.gradient: {len(steps)} distances are given for {len(axes)} axes"
        )
    if any(np.ndim(step) for step in steps):
        raise UnsupportedError("np.gradient: distances of a tensor are numbers, not coordinates")
    if not all(isinstance(step, Real) for step in steps):
        raise InvalidTypeError(f"np.gradient: the distances are {shown(steps)}; they are numbers")
    if edge_order not in (1, 2):
        raise InvalidDescError(f"np.gradient: edge_order is {edge_order}; it must be 1 or 2")
    made = tuple(
        _slopes(x, d, float(step), edge_order) for d, step in zip(axes, steps, strict=True)
    )
    return made[0] if len(made) == 1 else made


def _slopes(x: Tensor, axis: int, step: float, edge_order: int) -> Tensor:
    """Differences along one axis."""
    if x.shape[axis] < edge_order + 1:
        raise InvalidDescError(
            f"np.gradient: axis {axis} has {x.shape[axis]} elements; {edge_order + 1} are needed"
        )

    def part(start: int | None, stop: int | None) -> Tensor:
        return x[(*(slice(None),) * axis, slice(start, stop))]

    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / step
        last = (part(-1, None) - part(-2, -1)) / step
    else:
        first = (4.0 * part(1, 2) - 3.0 * part(0, 1) - part(2, 3)) / (2 * step)
        last = (3.0 * part(-1, None) - 4.0 * part(-2, -1) + part(-3, -2)) / (2 * step)
    inside = (part(2, None) - part(None, -2)) / (2 * step)
    return manipulation.concat([first, inside, last], axis=axis)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vectors at right angles to pairs of vectors of three elements."""
    device = device_of(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (
        manipulation.moveaxis(asarray(v, device=device), at, -1)
        for v, at in ((a, axisa), (b, axisb))
    )
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise InvalidDescError(
            f"np.cross: the vectors have {x.shape[-1]} and {y.shape[-1]} elements; they must have 3"
        )
    on, back = [1, 2, 0], [2, 0, 1]
    made = x[..., on] * y[..., back] - x[..., back] * y[..., on]
    return manipulation.moveaxis(made, -1, axisc)


# Places that are written


def put(a: Tensor, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes values, again from the first where there are too few, to flat positions."""
    _writable("put", a)
    if mode != "raise":
        raise UnsupportedError(f"np.put: mode is {mode!r}; for a tensor it must be 'raise'")
    a.put(ind, v)


def place(arr: Tensor, mask: Any, vals: Any) -> None:
    """Writes values one after the other, again from the first, where a mask is True."""
    _writable("place", arr)
    places = asarray(mask, dtype=BOOL, device=device_of(arr, mask)).reshape(-1)
    if places.size != arr.size:
        raise InvalidDescError(
            f"np.place: the mask has {places.size} elements and the array has {arr.size}; both"
            " must have as many"
        )
    (found,) = places.nonzero()
    if found.size:
        arr.put(found, vals)


def putmask(a: Tensor, /, mask: Any, values: Any) -> None:
    """Writes the values of the same flat places, counted round and round, where a mask is True."""
    _writable("putmask", a)
    kind = type_for(values, a.dtype)
    new = asarray(values, dtype=kind, device=device_of(a, values)).reshape(-1)
    if a.size and new.size:
        whole = new if new.size == a.size else new.take(arange(a.size, device=a.device) % new.size)
        copyto(a, whole.reshape(a.shape), "same_kind", mask)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Writes an array into another one, broadcast to it, where a mask is True."""
    if not isinstance(dst, Tensor):  # an array in host memory, as in a[...] = tensor
        src, where = (x.numpy() if isinstance(x, Tensor) else x for x in (src, where))
        np.copyto(dst, src, casting, where)
        return
    if is_number(src):  # weakly typed: only its kind may be above that of the elements
        kind = promoted([dst.dtype], [src])
    else:
        kind = src.dtype if hasattr(src, "dtype") else host_array("np.copyto: src", src).dtype
    if not castable("np.copyto: casting", kind, dst.dtype, casting):
        raise InvalidTypeError(
            f"np.copyto: {kind} is not cast to {dst.dtype} by the rule {casting!r}"
        )
    if where is not True:
        wanted = type_for(src, dst.dtype)
        source = asarray(src, dtype=wanted, device=device_of(dst, src))
        src = dst.device.select(where, source.astype(dst.dtype, copy=False), dst)
    dst[...] = src


def _writable(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise InvalidTypeError(f"np.{name}: a is {type(x).__name__}; it must be a Tensor")
