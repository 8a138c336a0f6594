"""Runs of descriptions on tensors that lie somewhere inside larger buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dmlgpu as dml
from dmlgpu.desc.description import entry_of, fields
from support import oracle

GUARD = 64
Execute = Callable[..., dict[str, bytes]]


def put(
    device: dml.Device, image: bytes, places: Sequence[tuple[dml.TensorDesc, int]]
) -> tuple[dml.Tensor, list[dml.Tensor]]:
    """A byte image on the device, and tensors over parts of it."""
    whole = dml.TensorDesc(dml.DataType.UINT8, (len(image),), guaranteed_base_offset_alignment=256)
    arena = device.upload(whole, image)
    parts = [device.wrap(arena.buffer, desc, arena.offset + offset) for desc, offset in places]
    return arena, parts


def arguments(desc: Any, bound: dict[str, dml.Tensor]) -> list[Any]:
    """Tensors as a compiled operator takes them: None for what is left out, lists for arrays."""
    given: list[Any] = []
    for field in fields(type(desc)):
        if field.direction == "in":
            value = getattr(desc, field.name)
            if field.is_array:
                given.append([bound[f"{field.name}[{i}]"] for i in range(len(value))])
            else:
                given.append(None if value is None else bound[field.name])
    return given


def executor(device: dml.Device) -> Execute:
    """Runs a description, its inputs given as bytes in order, and returns its outputs' bytes.

    Nothing outside the outputs' TotalTensorSizeInBytes may change: neither the guard bytes around
    them nor any input. `in_place` names the input that an output lies on.
    """

    def run(
        desc: Any,
        data: Sequence[bytes],
        *,
        gaps: Sequence[int] = (),
        one_buffer: bool = False,
        in_place: str = "",
    ) -> dict[str, bytes]:
        inputs, outputs = desc.inputs(), desc.outputs()
        on = {
            target: in_place
            for target, sources in entry_of(type(desc)).alias.items()
            if in_place in sources
        }
        placed = {**inputs, **{n: t for n, t in outputs.items() if n not in on}}
        contents = dict(zip(inputs, data, strict=True))
        images: list[bytearray] = []
        places: dict[str, tuple[int, int]] = {}
        for k, (name, tensor) in enumerate(placed.items()):
            if k == 0 or not one_buffer:
                images.append(bytearray())
            image = images[-1]
            step = max(16, tensor.guaranteed_base_offset_alignment)
            start = -(-(len(image) + (gaps[k % len(gaps)] if gaps else GUARD)) // step) * step
            image += oracle.random_bytes(start - len(image), k)
            size = tensor.total_tensor_size_in_bytes
            image += contents.get(name) or oracle.random_bytes(size, k + 100)
            assert len(image) == start + size
            places[name] = (len(images) - 1, start)
        arenas, bound = [], {}
        for n, image in enumerate(images):
            image += oracle.random_bytes(GUARD, n + 200)
            inside = {name: start for name, (owner, start) in places.items() if owner == n}
            arena, parts = put(device, bytes(image), [(placed[k], v) for k, v in inside.items()])
            arenas.append(arena)
            bound |= dict(zip(inside, parts, strict=True))
        outs = [bound[on.get(name, name)] for name in outputs]
        op = device.compile(desc)
        made = op(*arguments(desc, bound), out=outs[0] if len(outs) == 1 else outs)
        results = made if isinstance(made, tuple) else (made,)
        found = {name: t.tobytes() for name, t in zip(outputs, results, strict=True)}
        for name, result in found.items():
            owner, start = places[on.get(name, name)]
            end = start + outputs[name].total_tensor_size_in_bytes
            assert arenas[owner].tobytes()[start:end] == result, "tobytes() differs from the buffer"
            images[owner][start:end] = result
        for n, (arena, image) in enumerate(zip(arenas, images, strict=True)):
            assert arena.tobytes() == image, f"bytes outside the output changed in buffer {n}"
        return found

    return run
