"""Tensors of random layouts somewhere inside larger buffers, for tests of any operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import dmlgpu as dml
from support import oracle

GUARD = 64


def layout(
    rng: np.random.Generator, data_type: dml.DataType, sizes: Sequence[int]
) -> dml.TensorDesc:
    """Packed, with gaps behind each row, or with the dimensions in another order."""
    choice = int(rng.integers(4))
    if choice < 2:
        return dml.TensorDesc(data_type, sizes)
    order = list(range(len(sizes)))
    if choice == 3:
        rng.shuffle(order)
    strides = [0] * len(sizes)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step = step * sizes[d] + int(rng.integers(3))
    return dml.TensorDesc(data_type, sizes, strides)


def random_values(
    rng: np.random.Generator, data_type: dml.DataType, sizes: Sequence[int]
) -> oracle.Array:
    """Random bits; NaNs too, since copies keep them."""
    dtype = oracle.NUMPY_TYPES[data_type]
    count = int(np.prod(sizes, dtype=np.int64))
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(sizes)


def run(
    device: dml.Device, desc: Any, arrays: Sequence[Any], rng: np.random.Generator
) -> list[oracle.Array]:
    """The outputs of a description for arrays in the order of its inputs, lists of them, or None.

    The tensors lie in buffers of their own, or all in one, with other bytes around them, which
    must not change.
    """
    flat = [a for given in arrays for a in (given if isinstance(given, list) else [given])]
    flat = [a for a in flat if a is not None]
    inputs, outputs = list(desc.inputs().values()), list(desc.outputs().values())
    tensors = [*inputs, *outputs]
    together = rng.integers(4) == 0
    images = [bytearray() for _ in range(1 if together else len(tensors))]
    places = []
    for k, tensor in enumerate(tensors):
        image = images[0 if together else k]
        image += rng.bytes(-len(image) % 16 + 16 * int(rng.integers(1, 6)))
        places.append((0 if together else k, len(image)))
        part = bytearray(rng.bytes(tensor.total_tensor_size_in_bytes))
        if k < len(inputs):
            oracle.write(part, tensor, np.ascontiguousarray(flat[k]))
        image += part
    arenas = []
    for image in images:
        image += rng.bytes(-len(image) % 4 + GUARD)
        whole = dml.TensorDesc(dml.DataType.UINT8, (len(image),))
        arenas.append(device.upload(whole, bytes(image)))
    bound = [
        device.wrap(arenas[n].buffer, tensor, arenas[n].offset + start)
        for tensor, (n, start) in zip(tensors, places, strict=True)
    ]
    device.compile(desc)(*_arguments(arrays, bound), out=_outs(bound[len(inputs) :]))
    after = [bytearray(arena.tobytes()) for arena in arenas]
    made = []
    for tensor, (n, start) in list(zip(tensors, places, strict=True))[len(inputs) :]:
        end = start + tensor.total_tensor_size_in_bytes
        made.append(oracle.read(bytes(after[n][start:end]), tensor))
        after[n][start:end] = images[n][start:end]
    assert after == images, "bytes outside of the outputs changed"
    return made


def _arguments(arrays: Sequence[Any], bound: list[dml.Tensor]) -> list[Any]:
    """The tensors of a call, in lists and with gaps where the arrays are so."""
    left = iter(bound)
    return [
        None
        if given is None
        else [next(left) for _ in given]
        if isinstance(given, list)
        else next(left)
        for given in arrays
    ]


def _outs(bound: list[dml.Tensor]) -> Any:
    return bound[0] if len(bound) == 1 else tuple(bound)


def same_bits(got: oracle.Array, wanted: oracle.Array) -> None:
    """Asserts equality bit for bit."""
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    raw = np.dtype(f"u{got.dtype.itemsize}")
    np.testing.assert_array_equal(
        np.ascontiguousarray(got).view(raw), np.ascontiguousarray(wanted).view(raw)
    )


@contextmanager
def as_gpu(device: dml.Device, **facts: Any) -> Iterator[dml.Device]:
    """A device of the same adapter that runs the kernels of a GPU, small as tensors may be."""
    with dml.Device(device.adapter) as made:
        known = {"is_cpu": False, "shaped_from": 0, **facts}
        made.context.facts = replace(made.context.facts, **known)
        yield made


@contextmanager
def small_bindings(device: dml.Device, most: int) -> Iterator[dml.Device]:
    """A device of the same adapter that binds at most so many bytes of a buffer at once."""
    with dml.Device(device.adapter) as made:
        made.context.gpu.max_binding = most
        made.context.facts = replace(device.context.facts, max_binding=most)
        yield made
