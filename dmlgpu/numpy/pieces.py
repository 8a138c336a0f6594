"""Arrays put together of pieces, and functions of pieces of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dmlgpu.array.promotion import BOOL, counting
from dmlgpu.array.uploads import type_for
from dmlgpu.desc import views
from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy import composed, manipulation
from dmlgpu.numpy.creation import asarray, zeros_like
from dmlgpu.numpy.nan_functions import floats
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor


def block(arrays: Any) -> Tensor:
    """Nested lists of arrays put together: the innermost lists along the last axis."""
    leaves, depth = _leaves(arrays)
    if not leaves:
        raise InvalidDescError("block: a list is empty; there is nothing to put together")
    device = device_of(*leaves)
    rank = max(depth, *(asarray(x, device=device).ndim for x in leaves))

    def joined(part: Any, level: int) -> Tensor:
        if isinstance(part, list):
            return manipulation.concat([joined(p, level + 1) for p in part], axis=level - depth)
        x = asarray(part, device=device)
        return x.reshape((1,) * (rank - x.ndim) + x.shape)

    made = joined(arrays, 0)
    return made.copy() if depth == 0 else made


def _leaves(part: Any) -> tuple[list[Any], int]:
    """The arrays in nested lists, and how deep these are."""
    if isinstance(part, tuple):
        raise InvalidDescError("block: there is a tuple; only lists hold arrays")
    if not isinstance(part, list):
        return [part], 0
    inner = [_leaves(each) for each in part]
    if len({depth for _, depth in inner}) > 1:
        raise InvalidDescError("block: the lists are not all of one depth")
    return [leaf for leaves, _ in inner for leaf in leaves], 1 + (inner[0][1] if inner else 0)


def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements in another shape, again from the first where there are too few."""
    x, sizes = asarray(a).reshape(-1), views.shape_of("resize", (new_shape,))
    count = prod(sizes)
    if not x.size or not count:
        return zeros_like(x, shape=sizes)
    whole = manipulation.tile(x, -(-count // x.size)) if count > x.size else x
    return whole[:count].copy().reshape(sizes)


def trim_zeros(filt: Any, trim: str = "fb", axis: None = None) -> Tensor:
    """What is left without the zeros at the ends; where they end is read back."""
    x, ends = asarray(filt), trim.lower()
    if axis is not None:
        raise InvalidDescError("trim_zeros: a tensor is trimmed along all axes; axis must be None")
    if not set(ends) <= set("fb"):
        raise InvalidDescError(f"trim_zeros: trim is {shown(trim)}; it is made of 'f' and 'b'")
    cuts: list[Any] = [slice(0, 0)] * x.ndim
    for d, line in enumerate(x.nonzero()):
        if line.size:
            start = line.min().item() if "f" in ends else 0
            cuts[d] = slice(start, line.max().item() + 1 if "b" in ends else x.shape[d])
    return x[tuple(cuts)]


def choose(a: Any, choices: Any, out: Tensor | None = None, mode: str = "raise") -> Tensor:
    """Of each place, the element of the choice that `a` numbers; numbers are read back to check."""
    given = list(choices)
    device = device_of(a, *given, out)
    at = counting(asarray(a, device=device))
    arrays = [asarray(x, device=device) for x in given]
    if at.dtype == BOOL:
        at = at.astype(np.int32)
    if at.dtype.kind not in "iu" or not arrays:
        raise InvalidDescError("choose: a must be integers that number the choices")
    if mode == "wrap":
        at = at % len(arrays)
    elif mode == "clip":
        at = at.clip(0, len(arrays) - 1)
    elif mode != "raise":
        raise InvalidDescError(f"choose: mode is {shown(mode)}; it must be raise, clip or wrap")
    elif at.size and not 0 <= at.min().item() <= at.max().item() < len(arrays):
        raise InvalidDescError("choose: invalid entry in choice array")
    conditions = [at == n for n in range(len(arrays))]
    shape = views.broadcast_shapes("choose", [at.shape, *(x.shape for x in arrays)])
    made = composed.select(conditions, arrays).broadcast_to(shape)
    return written("choose", made.astype(made.dtype), out)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """Of each place, what the function of the last condition makes that is True there.

    Functions are called with the elements of which their condition is True, in one line.
    """
    source = asarray(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if isinstance(condlist, Tensor) and condlist.ndim == source.ndim + 1:
        conditions = list(condlist)
    elif conditions and np.ndim(conditions[0]) < source.ndim:
        conditions = [condlist]
    masks = [asarray(c, BOOL, device=source.device) for c in conditions]
    if len(funclist) == len(masks) + 1:
        rest = ~masks[0]
        for mask in masks[1:]:
            rest = rest & ~mask
        masks.append(rest)
    if len(funclist) != len(masks):
        raise InvalidDescError(
            f"piecewise: {len(funclist)} functions for {len(masks)} conditions; there must be as"
            " many, or one more"
        )
    made = zeros_like(source)
    for mask, function in zip(masks, funclist, strict=True):
        if callable(function):
            chosen = source[mask]
            if chosen.size:
                made[mask] = asarray(function(chosen, *args, **kw)).astype(made.dtype, copy=False)
        else:
            value = asarray(function, type_for(function, made.dtype), device=source.device)
            made = source.device.select(mask, value.astype(made.dtype, copy=False), made)
    return made


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """What a function makes of each line along an axis, one call for each of them."""
    x = asarray(arr)
    at = views.axis_of("apply_along_axis", axis, x.ndim)
    lines = manipulation.moveaxis(x, at, -1)
    shape = lines.shape[:-1]
    if not prod(shape):
        raise InvalidDescError("apply_along_axis: there is no line to apply the function to")
    flat = lines.reshape((-1, x.shape[at]))
    results = [asarray(func1d(flat[n], *args, **kwargs)) for n in range(flat.shape[0])]
    made = manipulation.stack(results)
    inner = made.shape[1:]
    made = made.reshape((*shape, *inner))
    places = range(len(shape), made.ndim)
    return manipulation.moveaxis(made, tuple(places), tuple(at + n for n in range(len(inner))))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Tensor:
    """What a function such as `sum` makes along one axis after the other, which stay as 1."""
    made = asarray(a)
    for axis in np.atleast_1d(axes).tolist():
        at = views.axis_of("apply_over_axes", axis, made.ndim)
        result = asarray(func(made, at))
        if result.ndim == made.ndim - 1:
            result = result.expand_dims(at)
        if result.ndim != made.ndim:
            raise InvalidDescError(
                "apply_over_axes: the function gives an array of another number of dimensions"
            )
        made = result
    return made


def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Tensor:
    """Angles without jumps: differences of more than half a period become small."""
    x = floats(p)
    at = views.axis_of("unwrap", axis, x.ndim)
    if x.shape[at] < 2:
        return x.copy()
    half = period / 2
    steps = manipulation.diff(x, axis=at)
    run = x.device.elementwise
    near = run("remainder", steps + half, period) - half
    near = x.device.select((near == -half) & (steps > 0), half, near)
    most = half if discont is None else discont
    mended = x.device.select(run("abs", steps) < most, 0.0, near - steps)
    whole = (slice(None),) * at
    moved = x[(*whole, slice(1, None))] + mended.cumsum(at)
    return manipulation.concat([x[(*whole, slice(1))], moved], axis=at)


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Tensor:
    """A tensor in which there is neither NaN nor infinity; whether there is one is read back."""
    x = asarray(a, dtype, order)
    if x.dtype.kind == "f" and not bool(x.device.elementwise("isfinite", x).all()):
        raise InvalidDescError("array must not contain infs or NaNs")
    return x


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of the bins of `histogram`."""
    return composed.histogram(a, bins, range)[1]
