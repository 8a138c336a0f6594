"""What operators that move elements give: NumPy loops that follow the documents' formulas.

Elements are only moved, so that most of these take arrays of any type, their bits for instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from support.oracle import Array, coordinate

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")  # NumPy's names, as PaddingMode counts
Windows = Mapping[str, Sequence[int]]  # the five arrays of FOLD and UNFOLD, in their order


def inside(value: int, n: int) -> int | None:
    """An index as writes take it: None where it is out of range."""
    at = int(value) + (n if value < 0 else 0)
    return at if 0 <= at < n else None


def padded(x: Array, start: Sequence[int], end: Sequence[int], mode: int, value: Array) -> Array:
    """More elements before and behind; `value` is what constant ones are."""
    more = {} if mode else {"constant_values": value}
    return np.pad(x, list(zip(start, end, strict=True)), MODES[mode], **more)


def depth_to_space(x: Array, block: int, order: int) -> Array:
    n, c, h, w = x.shape
    channels = c // block**2
    out = np.empty((n, channels, h * block, w * block), x.dtype)
    for k, y, z in product(range(channels), range(h * block), range(w * block)):
        by, bx = y % block, z % block
        channel = (k * block + by) * block + bx if order else (by * block + bx) * channels + k
        out[:, k, y, z] = x[:, channel, y // block, z // block]
    return out


def space_to_depth(x: Array, block: int, order: int) -> Array:
    """The inverse: every element goes where depth_to_space takes it from."""
    n, c, h, w = x.shape
    sizes = (n, c * block**2, h // block, w // block)
    out = np.empty(x.size, x.dtype)
    out[depth_to_space(np.arange(x.size).reshape(sizes), block, order)] = x
    return out.reshape(sizes)


def slice_grad(
    x: Array,
    sizes: Sequence[int],
    offsets: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
) -> Array:
    """Zeros, but the elements of a window's steps, of which there may be more than are used."""
    picks = [
        np.arange(o, o + w)[:: 1 if s > 0 else -1][:: abs(s)][:count]
        for o, w, s, count in zip(offsets, windows, strides, x.shape, strict=True)
    ]
    out = np.zeros(sizes, x.dtype)
    out[np.ix_(*picks)] = x
    return out


def reverse_subsequences(x: Array, lengths: Array, axis: int) -> Array:
    out = x.copy()
    for c in np.ndindex(*lengths.shape):
        line = (*c[:axis], slice(None), *c[axis + 1 :])
        m = min(x.shape[axis], int(lengths[c]))
        out[line] = np.concatenate([x[line][:m][::-1], x[line][m:]])
    return out


def diagonals(sizes: Sequence[int], begin: int, end: int) -> Array:
    """Whether an element lies in a band of diagonals, or outside of it if it ends before it begins.

    The formula of the documents, which is one for both.
    """
    t = np.arange(sizes[-1])[None, :] - np.arange(sizes[-2])[:, None]
    return np.broadcast_to((end >= begin) ^ (t >= begin) ^ (t < end), sizes)


def sequence(sizes: Sequence[int], start: float, delta: float, dtype: np.dtype) -> Array:
    """Floats in FLOAT32, then rounded; integers wrap."""
    i = np.arange(np.prod(sizes)).reshape(sizes)
    if dtype.kind != "f":
        return (int(start) + i * int(delta)).astype(dtype)
    with np.errstate(over="ignore"):
        return (np.float32(start) + i.astype(np.float32) * np.float32(delta)).astype(dtype)


def unfolded(shape: Sequence[int], how: Windows) -> Array:
    """For each element of the columns, where in the image it comes from; -1: from the padding."""
    batch, channels, *spatial = shape
    windows, strides, dilations, start, end = how.values()
    blocks = [
        1 + (n + s + e - 1 - (w - 1) * d) // k
        for n, w, k, d, s, e in zip(spatial, windows, strides, dilations, start, end, strict=True)
    ]
    places = np.arange(np.prod(shape)).reshape(shape)
    out = np.full((batch, channels * int(np.prod(windows)), int(np.prod(blocks))), -1)
    for row, (c, *w) in enumerate(np.ndindex(channels, *windows)):
        for column, b in enumerate(np.ndindex(*blocks)):
            at = [b[i] * strides[i] + w[i] * dilations[i] - start[i] for i in range(len(spatial))]
            if all(0 <= p < n for p, n in zip(at, spatial, strict=True)):
                out[:, row, column] = places[(slice(None), c, *at)]
    return out


def unfold(x: Array, how: Windows) -> Array:
    places = unfolded(x.shape, how)
    return np.where(places < 0, x.dtype.type(0), x.reshape(-1)[places])


def fold(columns: Array, shape: Sequence[int], how: Windows) -> Array:
    """Sums in the columns' own type: integers wrap."""
    places = unfolded(shape, how)
    total = np.zeros(int(np.prod(shape)), columns.dtype)
    np.add.at(total, places[places >= 0], columns[places >= 0])
    return total.reshape(shape)


def upsampled_line(n: int, scale: int) -> list[tuple[int, int, np.float32]]:
    """For each output pixel the two input pixels it lies between, and how far behind the first."""
    made = []
    for o in range(n * scale):
        at = (np.float32(o) + np.float32(0.5)) / np.float32(scale) - np.float32(0.5)
        low = int(np.floor(at))
        made.append((max(low, 0), min(low + 1, n - 1), at - np.float32(low)))
    return made


def upsample(x: Array, width: int, height: int, *, linear: bool) -> Array:
    """The last two dimensions; between pixels in the type of `x`, not rounded."""
    if not linear:
        return x.repeat(height, -2).repeat(width, -1)
    for axis, scale in ((-2, height), (-1, width)):
        x = np.moveaxis(x, axis, 0)
        line = upsampled_line(len(x), scale)
        x = np.moveaxis(np.stack([x[a] * (1 - f) + x[b] * f for a, b, f in line]), 0, axis)
    return x


def gather(x: Array, indices: Array, axis: int, meant: int) -> Array:
    """Of arrays of one rank; the result has it too, by leading 1s that are dropped or added."""
    last = indices.reshape(indices.shape[x.ndim - meant :])
    taken = np.vectorize(lambda v: coordinate(int(v), x.shape[axis]), otypes=[np.int64])(last)
    found = np.take(x, taken, axis)
    return found.reshape((1,) * (x.ndim - found.ndim) + found.shape[max(0, found.ndim - x.ndim) :])


def gather_elements(x: Array, indices: Array, axis: int) -> Array:
    out = np.empty(indices.shape, x.dtype)
    for c in np.ndindex(*indices.shape):
        at = coordinate(int(indices[c]), x.shape[axis])
        out[c] = x[(*c[:axis], at, *c[axis + 1 :])]
    return out


def scatter_elements(x: Array, indices: Array, updates: Array, axis: int) -> Array:
    """The last update of a place stays; those out of range are dropped."""
    out = x.copy()
    for c in np.ndindex(*indices.shape):
        at = inside(indices[c], x.shape[axis])
        if at is not None:
            out[(*c[:axis], at, *c[axis + 1 :])] = updates[c]
    return out


def scatter_nd(x: Array, indices: Array, updates: Array, real: int, real_indices: int) -> Array:
    """Of arrays of one rank, whose last so many dimensions are meant."""
    rank = x.ndim
    out = x.reshape(x.shape[rank - real :]).copy()
    tuples = indices.reshape(indices.shape[rank - real_indices :])
    positions, per_tuple = tuples.shape[:-1], tuples.shape[-1]
    blocks = updates.reshape(positions + out.shape[per_tuple:])
    for p in np.ndindex(*positions):
        at = [inside(v, n) for v, n in zip(tuples[p], out.shape, strict=False)]
        if None not in at:
            out[tuple(at)] = blocks[p]
    return out.reshape(x.shape)


def one_hot(indices: Array, values: Array, axis: int, n: int) -> Array:
    """The two values lie behind each other in the last dimension of more than one."""
    off, on = values.reshape(-1)[:2]
    lines = indices.shape
    out = np.full((*lines[:axis], n, *lines[axis + 1 :]), off)
    for c in np.ndindex(*lines):
        at = inside(indices[c], n)
        if at is not None:
            out[(*c[:axis], at, *c[axis + 1 :])] = on
    return out


def top_k(x: Array, axis: int, k: int, descending: bool) -> tuple[Array, Array]:
    """The first k of every line and their places: stable, with NaN above everything."""
    if x.dtype.kind == "f":
        unordered = np.isnan(x)
        number = np.where(unordered, 0, x)
        keys = (-number, ~unordered) if descending else (number, unordered)
        places = np.lexsort(keys, axis=axis)
    else:
        places = np.argsort(~x if descending else x, axis=axis, kind="stable")
    places = np.take(places, np.arange(k), axis=axis)
    return np.take_along_axis(x, places, axis), places
