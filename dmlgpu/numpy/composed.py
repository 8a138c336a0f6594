"""NumPy's functions that are a few steps of others: averages, counts, sets, diagonals.

They are reached as `np.median(x)`. Where a shape depends on values, as the length of `np.bincount`
does, those values are read back: a few numbers, never a whole array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlgpu import ordering
from dmlgpu.array.counts import CountDesc
from dmlgpu.array.promotion import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    DType,
    is_number,
    no_integer_holds,
    promoted,
)
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index
from dmlgpu.errors import InvalidDescError, InvalidTypeError, UnsupportedError
from dmlgpu.functions import device_of
from dmlgpu.numpy import groups, indexing, manipulation, sorting
from dmlgpu.numpy.creation import arange, asarray, computed, is_host_float64
from dmlgpu.numpy.nan_functions import floats
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor

Axis = int | Sequence[int] | None
NEGATIVE = "np.bincount: x and minlength must not be negative"


def _together(*given: Any) -> list[Tensor]:
    """Tensors of one device and one type."""
    device = device_of(*given)
    tensors = [asarray(x, device=device) for x in given]
    common = promoted([x.dtype for x in tensors])
    return [x.astype(common, copy=False) for x in tensors]


def _on_axis(line: Tensor, axis: int, rank: int) -> Tensor:
    """A line as an array of so many dimensions that goes along one of them."""
    return line.reshape([-1 if d == axis else 1 for d in range(rank)])


# Averages


def ptp(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest."""
    x = asarray(a)
    return written("ptp", x.max(axis, keepdims) - x.min(axis, keepdims), out)


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean, or the sum of products with weights over the sum of weights."""
    x = asarray(a)
    if weights is None:
        made = x.mean(axis, keepdims=keepdims)
        count = x.size // max(1, made.size)
        scale = x.device.full(made.shape, made.dtype, count) if returned else None
    else:
        x, w = _together(floats(x), weights)
        if w.shape != x.shape:
            if not isinstance(axis, int):
                raise InvalidDescError(
                    f"np.average: weights have the shape {w.shape} and the array has {x.shape};"
                    " only along one axis may they differ"
                )
            at = views.axis_of("average", axis, x.ndim)
            if w.shape != (x.shape[at],):
                raise InvalidDescError(
                    f"np.average: weights have the shape {w.shape}; along axis {at} they must have"
                    f" ({x.shape[at]},)"
                )
            w = _on_axis(w, at, x.ndim).broadcast_to(x.shape)
        scale = w.sum(axis, None, keepdims)
        made = (x * w).sum(axis, None, keepdims) / scale
    return (made, scale) if returned else made


# Counts


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each of the numbers 0, 1, ... is there, or the sums of their weights."""
    values = asarray(x, device=device_of(x, weights))
    if values.ndim != 1:
        raise InvalidDescError(f"np.bincount: x has {values.ndim} dimensions; it must have one")
    if values.dtype.kind == "f" and (values.size or hasattr(x, "dtype")):
        raise InvalidTypeError(f"np.bincount: x is {values.dtype}; it must be integers")
    minlength = as_index("np.bincount: minlength", minlength)
    if minlength < 0:
        raise InvalidDescError(NEGATIVE)
    if values.dtype.kind in "bf":
        values = values.astype(np.uint8)
    if weights is None and values.size:
        return _occurrences(values, minlength)
    least, most = 0, -1
    if values.size:
        least, most = (int(v) for v in (values.min(), values.max()))
    if least < 0:
        raise InvalidDescError(NEGATIVE)
    numbers = arange(max(most + 1, minlength) + 1, device=values.device)
    return _counted(values, numbers, weights, last="left")


def _occurrences(values: Tensor, minlength: int) -> Tensor:
    """How often each number is there, up to the largest one at least."""
    device, is_narrow = values.device, values.itemsize == 1
    if is_narrow:  # every number has a place, and the largest is found among the counts
        most = (1 << 8) - 1
    else:
        ends = manipulation.stack([values.min(), values.max()])
        least, most = (int(n) for n in ends.numpy())
        if least < 0:
            raise InvalidDescError(NEGATIVE)
    counts = device.full((max(most + 1, minlength),), INT32, 0)
    source = values if values.layout.is_packed else values.copy()
    device.internal(CountDesc(values=source.desc, counts=counts.desc))(source, out=counts)
    if not is_narrow:
        return counts.astype(INT64)
    found = np.flatnonzero(counts[: most + 1].numpy())
    if values.dtype.kind == "i" and found[-1] > most >> 1:
        raise InvalidDescError(NEGATIVE)
    return counts[: max(int(found[-1]) + 1, minlength)].astype(INT64)


def _counted(values: Tensor, edges: Any, weights: Any, last: str) -> Tensor:
    """Elements from each edge up to the next, or the sums of their weights.

    The last edge counts as the others do, or "right": with what is equal to it. Edges in a tensor
    are integers as the values are, of which the last counts as the others do.
    """
    device = values.device
    if weights is None:
        ordered = sorting.sort(values)
    else:
        ordered, places = ordering.sorted_with_places(values, None, False)
        given = floats(computed(weights, device)).reshape(-1)
        if given.size != values.size:
            raise InvalidDescError(
                f"{given.size} weights are given for {values.size} elements; there must be as many"
            )
    if isinstance(edges, Tensor):
        at = sorting.searchsorted(ordered, edges)
    else:
        ends = (edges[:-1], "left"), (edges[-1:], last)
        at = manipulation.concat([_up_to(ordered, edge, side) for edge, side in ends])
    counts = manipulation.diff(at)
    if weights is None:
        return counts
    return groups.grouped("add", given.take(places, 0), at[:-1], counts)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tensor, Tensor]:
    """Counts of elements in bins, or the sums of their weights, and the edges of the bins."""
    x = asarray(a, device=device_of(a, bins, weights)).reshape(-1)
    if range is not None:
        range = tuple(end.item() if isinstance(end, Tensor) else end for end in range)
    if isinstance(bins, str):
        raise UnsupportedError(f"np.histogram: bins is {bins!r}; it must be a number or edges here")
    if x.dtype == BOOL:
        x = x.astype(np.uint8)
    known = np.asarray(bins.numpy() if isinstance(bins, Tensor) else bins)
    if known.ndim == 0 and range is None:
        ends = [v.item() for v in (x.min(), x.max())] if x.size else [0.0, 1.0]
    else:
        ends = [0.0, 1.0] if range is None else list(range)
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    asked = known if known.ndim else known.item()
    edges = np.histogram_bin_edges(np.asarray(ends, kind), asked, range)
    bounds = edges
    if known.ndim == 0 and range is None and edges.dtype.kind == "f":
        bounds = edges.copy()  # all elements lie between the ends, however these were rounded
        bounds[0], bounds[-1] = -np.inf, np.inf
    made = _counted(x, bounds, weights, last="right")
    shown = asarray(edges.astype(np.float32), device=x.device)
    if density:
        widths = asarray(np.diff(edges).astype(np.float32), device=x.device)
        made = made.astype(FLOAT32, copy=False) / (made.sum().astype(FLOAT32) * widths)
    return made, shown


def _up_to(ordered: Tensor, edges: Any, side: str) -> Tensor:
    """How many ordered elements are below edges, or with "right" not above them."""
    near, is_there = _nearest(edges, ordered.dtype, up=side == "left")
    at = sorting.searchsorted(ordered, asarray(near, device=ordered.device), side=side)
    if is_there.all():
        return at
    count = ordered.size if side == "left" else 0  # above all elements, or below all
    made: Tensor = at.device.select(asarray(is_there, device=at.device), at, count)
    return made


def _nearest(edges: Any, dtype: DType, *, up: bool) -> tuple[Any, Any]:
    """The nearest number of a type that is not below each edge, or not above it; and if there is.

    An element is below an edge where it is below the first, and not above where not above the
    second: so elements are compared with edges of another type exactly. NaN is above all numbers.
    """
    if edges.dtype.kind == "b":
        edges = edges.astype(np.uint8)
    if dtype.kind == "f":
        edges = edges.astype(FLOAT64)
        with np.errstate(over="ignore"):
            near = edges.astype(dtype)
        beyond = np.nextafter(near, dtype.type(np.inf if up else -np.inf))
        is_past = near < edges if up else near > edges
        return np.where(is_past, beyond, near), np.ones(edges.shape, bool)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if edges.dtype.kind == "f":
        edges = np.ceil(edges) if up else np.floor(edges)
        above, below = ~(edges < float(high + 1)), edges < float(low)
    else:
        above, below = edges > high, edges < low
    near = np.full(edges.shape, low, dtype)
    near[above] = high
    inside = ~(above | below)
    near[inside] = edges[inside].astype(dtype)
    return near, ~(above if up else below)


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin of each element, as int64."""
    device = device_of(x, bins)
    values, side = asarray(x, device=device), "left" if right else "right"
    if values.dtype == BOOL:
        values = values.astype(np.uint8)
    edges = bins.numpy() if isinstance(bins, Tensor) else np.asarray(bins)
    if edges.ndim != 1 or edges.dtype.kind not in "biuf":
        raise InvalidDescError("np.digitize: bins must be real numbers in one dimension")
    falls = edges.size > 1 and bool(edges[0] > edges[-1])
    rising = edges[::-1] if falls else edges
    if np.any(rising[1:] < rising[:-1]):
        raise InvalidDescError("np.digitize: bins must rise or fall, each by 0 or more")
    near, is_there = _nearest(rising, values.dtype, up=not right)
    # All elements are above bins that are not there, or none is.
    before = int(np.count_nonzero(~is_there)) if right else 0
    there = asarray(near[is_there], device=device)
    at = sorting.searchsorted(there, values, side=side) + before
    return edges.size - at if falls else at


# Sets


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Tensor:
    """Whether each element is among others."""
    device = device_of(element, test_elements)
    x = computed(element, device)
    if is_host_float64(test_elements):
        listed = np.asarray(test_elements).reshape(-1)
        near, is_there = _nearest(listed, x.dtype, up=True)
        test_elements = near[is_there & (near == listed)]
    others = asarray(test_elements, device=device)
    if not (others.size and x.size):
        return x.device.full(x.shape, BOOL, bool(invert))
    ordered = sorting.sort(others.reshape(-1))
    at = sorting.searchsorted(ordered, x)
    last = ordered.size - 1
    found = ordered.take(x.device.elementwise("minimum", at, last).reshape(-1), 0).reshape(x.shape)
    return found != x if invert else found == x


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """All elements of two arrays, in order and each once."""
    return sorting.Runs(manipulation.concat([ar1, ar2], axis=None), equal_nan=True).values()


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """What the first array has and the second has not, in order and each once."""
    return _among(ar1, ar2, are=False, as_they_are=assume_unique)


def _among(ar1: Any, ar2: Any, *, are: bool, as_they_are: bool = False) -> Tensor:
    """Elements of the first array that are, or are not, in the second, in order and each once."""
    device = device_of(ar1, ar2)
    x, others = (asarray(each, device=device) for each in (ar1, ar2))
    values = x.reshape(-1) if as_they_are else sorting.Runs(x, equal_nan=True).values()
    return values.compress(isin(values, others, invert=not are), 0) if values.size else values


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """What two arrays have in common, and where each of it is first in both."""
    device = device_of(ar1, ar2)
    x, y = (asarray(each, device=device) for each in (ar1, ar2))
    common = _among(x, y, are=True)
    if not no_integer_holds(x.dtype, y.dtype):  # else each is the same number in both
        common = common.astype(promoted([x.dtype, y.dtype]), copy=False)
    if not return_indices:
        return common
    return common, *(_first_places(each.reshape(-1), common) for each in (x, y))


def _first_places(x: Tensor, values: Tensor) -> Tensor:
    """Where in a line each of some values is first."""
    order = ordering.places(x, -1)
    found = order.take(sorting.searchsorted(x, values, sorter=order), 0)
    return found.astype(INT64)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """What only one of two arrays has."""
    apart = [_among(ar1, ar2, are=False), _among(ar2, ar1, are=False)]
    return sorting.Runs(manipulation.concat(apart), equal_nan=False).values()  # NaN is in neither


# Diagonals


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements whose places along two axes differ by an offset, as the last dimension."""
    x = asarray(a)
    if x.ndim < 2:
        raise InvalidDescError("np.diagonal: an array of two dimensions at least is needed")
    first, second = (views.axis_of("diagonal", d, x.ndim) for d in (axis1, axis2))
    if first == second:
        raise InvalidDescError("np.diagonal: axis1 and axis2 are the same axis")
    moved = manipulation.moveaxis(x, (first, second), (-2, -1))
    *outer, rows, columns = moved.shape
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    *steps, down, across = moved.layout.strides
    first = offset * across if offset >= 0 else -offset * down
    return moved.relaid((*outer, count), (*steps, down + across), first)


def _along(offset: int, count: int, columns: int) -> slice:
    """The places of a diagonal in the rows of a matrix, one behind the other."""
    start = offset if offset >= 0 else -offset * columns
    return slice(start, start + (count - 1) * (columns + 1) + 1, columns + 1)


def diag(v: Any, k: int = 0) -> Tensor:
    """A diagonal of a matrix, or the matrix that has it."""
    x = asarray(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise InvalidDescError(f"np.diag: v has {x.ndim} dimensions; it must have one or two")
    side = x.size + abs(k)
    made = x.device.full((side * side,), x.dtype, 0)
    if x.size:
        made[_along(k, x.size, side)] = x
    return made.reshape((side, side))


def diagflat(v: Any, k: int = 0) -> Tensor:
    """The matrix that has all elements on a diagonal."""
    return diag(asarray(v).reshape(-1), k)


def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of a diagonal."""
    return written("trace", diagonal(a, offset, axis1, axis2).sum(-1, dtype), out)


# Choices and curves


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Of each place, the choice whose condition is the first that is True there."""
    if len(condlist) != len(choicelist) or not condlist:
        raise InvalidDescError(
            f"np.select: {len(condlist)} conditions and {len(choicelist)} choices are given;"
            " there must be as many of both, and one at least"
        )
    given = (default, *choicelist)
    device = device_of(*condlist, *given)
    arrays = {n: asarray(x, device=device) for n, x in enumerate(given) if not is_number(x)}
    common = promoted([x.dtype for x in arrays.values()], filter(is_number, given))
    made, *choices = (
        arrays[n].astype(common, copy=False) if n in arrays else device.full((), common, x)
        for n, x in enumerate(given)
    )
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        made = device.select(condition, choice, made)
    return made


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """Numbers in the place of NaN and of infinities: the largest there are, if none is given."""
    a = asarray(x)
    if not copy and isinstance(x, Tensor):
        x[...] = nan_to_num(x, True, nan, posinf, neginf)
        return x
    if a.dtype.kind != "f" or not a.size:
        return a.copy()
    run, info = a.device.elementwise, np.finfo(a.dtype)
    low = float(info.min) if neginf is None else neginf
    high = float(info.max) if posinf is None else posinf
    made = a.device.select(a == float("inf"), high, a.device.select(a == float("-inf"), low, a))
    return a.device.select(run("isnan", a), nan, made)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """The array turned by quarters in the plane of two axes, from the first to the second."""
    x = asarray(m)
    first, second = (views.axis_of("rot90", d, x.ndim) for d in axes)
    if first == second:
        raise InvalidDescError("np.rot90: the two axes are the same")
    if k % 4 == 0:
        return x[...]
    if k % 4 == 2:
        return x.flip((first, second))
    if k % 4 == 1:
        return x.flip(second).swapaxes(first, second)
    return x.swapaxes(first, second).flip(second)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by trapezoids."""
    values = floats(asarray(y, device=device_of(y, x)))
    at = views.axis_of("trapezoid", axis, values.ndim)
    ahead, behind = (
        values[tuple(part if d == at else slice(None) for d in range(values.ndim))]
        for part in (slice(1, None), slice(None, -1))
    )
    widths: Any = dx
    if x is not None:
        points = asarray(x, device=values.device)
        widths = manipulation.diff(points, axis=at if points.ndim > 1 else 0)
        if points.ndim == 1:
            widths = _on_axis(widths, at, values.ndim)
    made: Tensor = (widths * (ahead + behind) / 2.0).sum(at)
    return made


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """The line through the points (xp, fp), of which xp rises, at the places x."""
    if period is not None:
        raise UnsupportedError("np.interp: a tensor takes no argument period")
    device = device_of(x, xp, fp)
    at, points, heights = (
        floats(v) for v in _together(*(computed(v, device) for v in (x, xp, fp)))
    )
    if points.ndim != 1 or points.shape != heights.shape or not points.size:
        raise InvalidDescError(
            f"np.interp: xp has the shape {points.shape} and fp {heights.shape}; both must have one"
            " dimension and as many elements, one at least"
        )
    flat, last = at.reshape(-1), points.size - 1
    if not flat.size:
        return at
    above = device.elementwise("minimum", sorting.searchsorted(points, flat, side="right"), last)
    below = device.elementwise("maximum", above - 1, 0)
    start, height = points.take(below, 0), heights.take(below, 0)
    width = points.take(above, 0) - start
    share = device.select(width > 0, (flat - start) / width, 0.0)
    made = height + (heights.take(above, 0) - height) * share
    made = device.select(flat < points[0], heights[0] if left is None else left, made)
    made = device.select(flat >= points[-1], heights[-1], made)
    if right is not None:
        made = device.select(flat > points[-1], right, made)
    made = device.select(device.elementwise("isnan", flat), flat, made)
    return made.reshape(at.shape)


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The places that put elements in the order of the last key, then of those before it."""
    device = device_of(*keys)
    columns = [asarray(key, device=device) for key in keys]
    if not columns or len({key.shape for key in columns}) > 1 or not columns[0].ndim:
        raise InvalidDescError(
            "np.lexsort: keys must be one or more arrays of the same shape, with axes"
        )
    made = ordering.places(columns[0], axis)
    for key in columns[1:]:
        then = ordering.places(indexing.take_along_axis(key, made, axis=axis), axis)
        made = indexing.take_along_axis(made, then, axis=axis)
    return made.astype(INT64)


def extract(condition: Any, arr: Any) -> Tensor:
    """The elements where a condition is not 0, in one line."""
    given = condition if isinstance(condition, Tensor) else np.asarray(condition)
    return indexing.compress(given.reshape(-1), arr)
