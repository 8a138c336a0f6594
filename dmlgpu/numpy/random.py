"""NumPy's `random`: generators over the bits of RANDOM_GENERATOR, which is Philox 4x32-10.

The key of a generator is `np.random.SeedSequence(seed).generate_state(2)`, and its counter begins
at 0 and counts blocks of four words. So a seed gives the same numbers on every adapter; they are
not those of NumPy's generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from dmlgpu import ordering
from dmlgpu.array.promotion import (
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    UINT64,
    dtype_of,
    is_integer,
    is_number,
)
from dmlgpu.desc import views
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, NumberRangeError, shown
from dmlgpu.functions import device_of
from dmlgpu.numpy import indexing, manipulation, refusals, sorting
from dmlgpu.numpy.creation import asarray, computed
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor

Size = int | Sequence[int] | None
FEW = 1 << 32  # numbers to choose from of which none is preferred by more than 2**-32

__all__ = ["Generator", "default_rng"]


def __getattr__(name: str) -> Any:
    """Says why a name of NumPy's is not here, and what to use."""
    raise AttributeError(refusals.absent(__name__, f"random.{name}"))


def default_rng(seed: Any = None, *, device: Device | None = None) -> Generator:
    """A generator of random numbers, the same for the same seed; without one, always another."""
    return seed if isinstance(seed, Generator) else Generator(seed, device=device)


class Generator:
    """Random numbers on a device, the default one unless given. Its methods have NumPy's arguments.

    Floats have 32 bits, and numbers without dimensions are tensors without dimensions.
    """

    def __init__(self, seed: Any = None, *, device: Device | None = None) -> None:
        sequence = seed if isinstance(seed, np.random.SeedSequence) else None
        try:
            sequence = sequence or np.random.SeedSequence(seed)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(f"default_rng: seed is {shown(seed)}: {error}") from None
        self._key = [int(n) for n in sequence.generate_state(2)]
        self._blocks = 0
        self._device = device
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        known = not name.startswith("_") and hasattr(np.random.Generator, name)
        why = ": it is not made on the GPU; NumPy's generator makes it in host memory"
        why = why if known else ""
        raise AttributeError(f"'Generator' object has no attribute {name!r}{why}")

    def __repr__(self) -> str:
        return f"Generator(PHILOX_4X32_10, key={self._key}, block={self._blocks})"

    def _words(self, count: int, *beside: Any) -> Tensor:
        """So many words of 32 random bits, in one line."""
        device = device_of(self._device, *beside)
        if not count:
            return Tensor.without_elements(device, (0,), np.dtype(np.uint32))
        with self._lock:
            start = self._blocks
            self._blocks += -(-count // 4)
        counter = [(start >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
        state = np.array([*counter, *self._key], np.uint32).reshape(1, 1, 1, 6)
        words: Tensor = device.run("RANDOM_GENERATOR", state, output_sizes=(1, 1, 1, count))
        return words.reshape(-1)

    def _long_words(self, count: int, *beside: Any) -> Tensor:
        """So many words of 64 random bits: two of 32 each, the lower half first."""
        words = self._words(2 * count, *beside)
        if not count:
            return words.astype(UINT64)
        return words.view(TensorDesc(DataType.UINT64, (count,)))

    def _array(self, x: Any, *beside: Any) -> Tensor:
        """A tensor, or an array on the device of the generator."""
        return x if isinstance(x, Tensor) else asarray(x, device=device_of(self._device, *beside))

    def _open(self, count: int, *beside: Any) -> Tensor:
        """Numbers above 0 and not above 1, small ones as fine as 2**-33."""
        return (self._words(count, *beside).astype(FLOAT32) + 0.5) * 2.0**-32

    def _parameters(
        self, name: str, first: Any, second: Any, size: Size
    ) -> tuple[Any, Any, tuple[int, ...]]:
        """Parameters as Python's numbers or tensors, and the shape of the result."""
        device = device_of(self._device, first, second)
        given = [x if is_number(x) else computed(x, device) for x in (first, second)]
        shapes = [x.shape for x in given if isinstance(x, Tensor)]
        shape = views.broadcast_shapes(name, shapes) if shapes else ()
        if size is None:
            return given[0], given[1], shape
        wanted = _shape(name, size)
        if shapes and views.broadcast_shapes(name, [shape, wanted]) != wanted:
            raise InvalidDescError(
                f"{name}: size is {wanted}; the parameters have the shape {shape}"
            )
        return given[0], given[1], wanted

    def random(self, size: Size = None, dtype: Any = FLOAT32, out: Tensor | None = None) -> Tensor:
        """Numbers from 0 to below 1."""
        wanted = _float("random", dtype)
        shape = _shape("random", size, out)
        bits = 24 if wanted == FLOAT32 else 11  # what the type holds of each number below 1
        words = self._words(prod(shape), out) >> (32 - bits)
        return written("random", (words.astype(wanted) * 2.0**-bits).reshape(shape), out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Tensor:
        """Numbers from `low` to `high`."""
        low, high, shape = self._parameters("uniform", low, high, size)
        words = self._words(prod(shape), low, high) >> 8
        share = (words.astype(FLOAT32) * 2.0**-24).reshape(shape)
        result: Tensor = share * (high - low) + low
        return result

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = INT64,
        endpoint: bool = False,
    ) -> Tensor:
        """Integers from `low` to below `high`, or to `high` with `endpoint`; from 0 without it.

        Of no more than 2**32 integers each has its share but for 2**-32 of that; of more, exactly.
        """
        wanted = dtype_of("integers: dtype", dtype)
        first, last = (0, low) if high is None else (low, high)
        if not all(is_integer(n) or isinstance(n, np.integer) for n in (first, last)):
            raise InvalidTypeError(
                f"integers: low is {shown(low)} and high is {shown(high)}; both must be integers"
            )
        first, last = int(first), int(last) - (not endpoint)
        least, most = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
        if first > last:
            raise InvalidDescError("integers: low is not below high; there is no such integer")
        if first < least or last > most:
            raise NumberRangeError(f"integers: {first} to {last} are not all numbers of {wanted}")
        shape, count = _shape("integers", size), last - first + 1
        words = self._long_words(prod(shape))
        if count > FEW and words.size and 2**64 % count:
            words = self._below(words, 2**64 - 2**64 % count)
        words = words % count if count < 2**64 else words
        numbers = words.astype(wanted)
        return (numbers + first if first else numbers).reshape(shape)

    def _below(self, words: Tensor, limit: int) -> Tensor:
        """Words in the place of those that are not below a limit; whether there are is read."""
        while bool((wrong := words >= limit).any()):
            words = words.device.select(wrong, self._long_words(words.size, words), words)
        return words

    def standard_normal(
        self, size: Size = None, dtype: Any = FLOAT32, out: Tensor | None = None
    ) -> Tensor:
        """Numbers of the normal distribution of mean 0 and deviation 1, by Box and Muller."""
        wanted = _float("standard_normal", dtype)
        shape = _shape("standard_normal", size, out)
        return written("standard_normal", self._normal(shape, out).astype(wanted, copy=False), out)

    def _normal(self, shape: tuple[int, ...], *beside: Any) -> Tensor:
        count = prod(shape)
        pairs = -(-count // 2)
        share = self._open(2 * pairs, *beside)
        run = share.device.elementwise
        radius = run("sqrt", run("log", share[:pairs]) * -2.0)
        turn = share[pairs:] * float(2 * np.pi)
        both = manipulation.concat([radius * run("cos", turn), radius * run("sin", turn)])
        return both[:count].reshape(shape)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Tensor:
        """Numbers of the normal distribution of a mean `loc` and a deviation `scale`."""
        loc, scale, shape = self._parameters("normal", loc, scale, size)
        if is_number(scale) and scale < 0:
            raise InvalidDescError(f"normal: scale is {scale}; it must not be negative")
        result: Tensor = self._normal(shape, loc, scale) * scale + loc
        return result

    def standard_exponential(
        self,
        size: Size = None,
        dtype: Any = FLOAT32,
        method: str = "inv",
        out: Tensor | None = None,
    ) -> Tensor:
        """Numbers of the exponential distribution of mean 1, by the logarithm."""
        wanted = _float("standard_exponential", dtype)
        shape = _shape("standard_exponential", size, out)
        numbers = self._exponential(shape, out).astype(wanted, copy=False)
        return written("standard_exponential", numbers, out)

    def _exponential(self, shape: tuple[int, ...], *beside: Any) -> Tensor:
        share = self._open(prod(shape), *beside)
        return -share.device.elementwise("log", share).reshape(shape)

    def exponential(self, scale: Any = 1.0, size: Size = None) -> Tensor:
        """Numbers of the exponential distribution of a mean `scale`."""
        scale, _, shape = self._parameters("exponential", scale, 0.0, size)
        if is_number(scale) and scale < 0:
            raise InvalidDescError(f"exponential: scale is {scale}; it must not be negative")
        result: Tensor = self._exponential(shape, scale) * scale
        return result

    def _order(self, count: int, *beside: Any) -> Tensor:
        """The numbers from 0 to below a count in a random order, as int32."""
        return ordering.places(self._long_words(count, *beside), -1)

    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """The numbers below an integer, or what an array has along an axis, in a random order."""
        if is_integer(x) or isinstance(x, np.integer):
            return self._order(_count("permutation", int(x))).astype(INT64)
        given = self._array(x)
        along = views.axis_of("permutation", axis, given.ndim)
        return given.take(self._order(given.shape[along], given), along)

    def shuffle(self, x: Tensor, axis: int = 0) -> None:
        """Puts what a tensor has along an axis in a random order, in place."""
        if not isinstance(x, Tensor):
            raise InvalidTypeError(f"shuffle: x is {type(x).__name__}; it must be a Tensor")
        if x.size:
            x[...] = self.permutation(x, axis)

    def permuted(self, x: Any, axis: int | None = None, out: Tensor | None = None) -> Tensor:
        """Every line along an axis in a random order of its own, or all elements in one."""
        given = self._array(x, out)
        line = given.reshape(-1) if axis is None else given
        words = self._long_words(line.size, line).reshape(line.shape)
        along = 0 if axis is None else axis
        order = ordering.places(words, along)
        mixed = indexing.take_along_axis(line, order, along).reshape(given.shape)
        return written("permuted", mixed, out)

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Tensor:
        """Numbers below an integer, or what an array has along an axis, by chance.

        `p` says how likely each of them is; it is read back, for its sum must be 1.
        """
        source = None if is_integer(a) or isinstance(a, np.integer) else self._array(a)
        along = 0 if source is None else views.axis_of("choice", axis, source.ndim)
        count = _count("choice", int(a)) if source is None else source.shape[along]
        shape = _shape("choice", size)
        asked: int = prod(shape)
        if not count and asked:
            raise InvalidDescError("choice: a is empty; there is nothing to choose")
        if not replace and asked > count:
            raise InvalidDescError(f"choice: {asked} of {count} are asked for without replacement")
        shares = None if p is None else _shares(p, count)
        at = self._places(count, asked, replace, shares, source).reshape(shape)
        return at.astype(INT64) if source is None else source.take(at, along)

    def _places(
        self, count: int, asked: int, replace: bool, shares: Any, source: Tensor | None
    ) -> Tensor:
        """Places below a count, as many as are asked for."""
        if shares is None:
            if not replace:
                return self._order(count, source)[:asked]
            return (self._long_words(asked, source) % max(count, 1)).astype(INT32)
        if replace:
            ends = np.cumsum(shares)
            ends = (ends / ends[-1]).astype(np.float32)
            draws = (self._words(asked, source) >> 8).astype(FLOAT32) * 2.0**-24
            line = asarray(ends, device=draws.device)
            last = int(np.flatnonzero(shares)[-1])
            return sorting.searchsorted(line, draws, side="right").clip(None, last)
        if np.count_nonzero(shares) < asked:
            raise InvalidDescError(f"choice: fewer than {asked} have a share that is not 0")
        # The first of exponential waiting times, each by its rate, are a choice by the shares.
        waits = self._exponential((count,), source)
        with np.errstate(divide="ignore"):
            scale = asarray((1 / shares).astype(np.float32), device=waits.device)
        return ordering.places(waits * scale, -1)[:asked]


def _shape(name: str, size: Size, out: Tensor | None = None) -> tuple[int, ...]:
    if size is None:
        return out.shape if isinstance(out, Tensor) else ()
    return views.shape_of(name, (size,))


def _float(name: str, dtype: Any) -> np.dtype[Any]:
    wanted = dtype_of(f"{name}: dtype", dtype)
    if wanted not in (FLOAT16, FLOAT32):
        raise InvalidTypeError(f"{name}: dtype is {wanted}; it must be float32 or float16")
    return wanted


def _count(name: str, number: int) -> int:
    if number < 0:
        raise InvalidDescError(
            f"{name}: {number} is negative; there are no numbers below it from 0"
        )
    return number


def _shares(p: Any, count: int) -> Any:
    """How likely each place is, as float64."""
    shares = np.asarray(p.numpy() if isinstance(p, Tensor) else p, np.float64)
    if shares.shape != (count,):
        raise InvalidDescError(f"choice: p has the shape {shares.shape}; it must be ({count},)")
    if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6 * max(1, count) ** 0.5:
        raise InvalidDescError("choice: p must be 0 or more everywhere, and 1 in sum")
    return shares
