"""Tensors of random layouts somewhere inside larger buffers, for tests of any operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import oracle

import dmlgpu as dml

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

    Every tensor lies in a buffer of its own with other bytes around it, which must not change.
    """
    flat = [a for given in arrays for a in (given if isinstance(given, list) else [given])]
    flat = [a for a in flat if a is not None]
    inputs, outputs = list(desc.inputs().values()), list(desc.outputs().values())
    bound, kept = [], []
    for k, tensor in enumerate([*inputs, *outputs]):
        start = 16 * int(rng.integers(1, 6))
        image = bytearray(rng.bytes(start + tensor.total_tensor_size_in_bytes + GUARD))
        if k < len(inputs):
            part = bytearray(image[start : start + tensor.total_tensor_size_in_bytes])
            oracle.write(part, tensor, np.ascontiguousarray(flat[k]))
            image[start : start + len(part)] = part
        image += bytes(-len(image) % 4)
        whole = dml.TensorDesc(dml.DataType.UINT8, (len(image),))
        arena = device.upload(whole, bytes(image))
        bound.append(device.wrap(arena.buffer, tensor, arena.offset + start))
        kept.append((arena, bytes(image), start))
    args: list[Any] = []
    at = 0
    for given in arrays:
        if given is None:
            args.append(None)
        elif isinstance(given, list):
            args.append(bound[at : at + len(given)])
            at += len(given)
        else:
            args.append(bound[at])
            at += 1
    outs = tuple(bound[len(inputs) :])
    device.compile(desc)(*args, out=outs[0] if len(outs) == 1 else outs)
    made = []
    for k, (arena, image, start) in enumerate(kept):
        after = arena.tobytes()
        tensor = [*inputs, *outputs][k]
        end = start + tensor.total_tensor_size_in_bytes
        if k >= len(inputs):
            made.append(oracle.read(after[start:end], tensor))
            after = after[:start] + image[start:end] + after[end:]
        assert after == image, f"bytes outside of the output changed around tensor {k}"
    return made


def same_bits(got: oracle.Array, wanted: oracle.Array) -> None:
    """Asserts equality bit for bit."""
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    raw = np.dtype(f"u{got.dtype.itemsize}")
    np.testing.assert_array_equal(
        np.ascontiguousarray(got).view(raw), np.ascontiguousarray(wanted).view(raw)
    )


@contextmanager
def as_gpu(device: dml.Device) -> Iterator[dml.Device]:
    """A device of the same adapter that runs the kernels of a GPU."""
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False)
        yield made


@contextmanager
def small_bindings(device: dml.Device, most: int) -> Iterator[dml.Device]:
    """A device of the same adapter that binds at most so many bytes of a buffer at once."""
    with dml.Device(device.adapter) as made:
        made.context.gpu.max_binding = most
        made.context.facts = replace(made.context.facts, max_binding=most)
        yield made
