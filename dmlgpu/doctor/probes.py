"""Questions to a driver: small shaders whose right answers are known, and the words they gave.

Nothing is judged here; `dmlgpu.doctor.verdicts` says what an answer means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.device import Device
from dmlgpu.errors import DmlError
from dmlgpu.gpu.objects import Buffer
from dmlgpu.gpu.recording import Call
from dmlgpu.ops.cumulative import CumulativeSummationDesc
from dmlgpu.runtime import forward_progress
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.forward_progress import Waits
from dmlgpu.wgsl.assembly import assemble

Words = npt.NDArray[np.uint32]
Answer = Any  # what a probe found, or the sentence that says why it found nothing

LOOP_TURNS = 200_000
LOOP_SEED = 12345
GUARD = 0xD00DF00D
WINDOW = 256  # bytes of the binding that the probe of bounds reaches out of
TRIED_BINDING = 256 << 20  # no more of the binding limit than this is tried: it takes memory

# Ties, values on either side of them, denormals, and the largest; then what overflows.
ROUNDED = np.array(
    [
        *(1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, 1 + 2**-11 - 2**-20, -1 - 2**-11),
        *(2049.0, 2051.0, 0.1, 1 / 3, 65504.0, 65519.0, -65519.0),
        *(2.0**-24, 2.0**-25, 1.5 * 2**-24, 2.5 * 2**-24, 2.0**-14 - 2**-25, -(2.0**-14)),
    ],
    np.float32,
)
# Products that need more than 24 bits, and what leaves only the lowest of them.
TRIPLES = np.array(
    [
        (1 + d * 2**-n, 1 + e * 2**-n, -(np.float32(1 + d * 2**-n) * np.float32(1 + e * 2**-n)))
        for n in (13, 20, 23)
        for d in (1, 3)
        for e in (1, -1, 5)
    ],
    np.float32,
)
OVERFLOWING = np.array([65520.0, -65520.0, 1e10, np.inf], np.float32)
HALVES = np.array(
    [0, 0x8000, 1, 0x83FF, 0x0400, 0x3555, 0x3C00, 0xBC01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00],
    np.uint16,
)
_EDGES = (0, 1, 2, 3, 7, 10, 31, 641, 65535, 65536, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 3)
PAIRS = np.array([(a, b) for a in (*_EDGES, 2**32 - 1) for b in (*_EDGES, 2**32 - 1)], np.uint32)
OUTSIDE = np.array([64, 65, 127, 128, 1 << 16, 2**30 - 1, 2**30, 2**32 - 64, 2**32 - 1], np.uint32)


@dataclass(frozen=True)
class Bounds:
    """What reads outside a binding gave, and what lay around it before and after writes there."""

    read: Words
    around: Words


@dataclass(frozen=True)
class Binding:
    """Bytes bound at once, and the word at their end before it was read back."""

    size: int
    last: int


def ask(context: Context, name: str, given: npt.ArrayLike, count: int, groups: int = 1) -> Words:
    """Runs a shader of the folder `doctor` over `given` words; the `count` words it found."""
    words = np.ascontiguousarray(given, np.uint32).reshape(-1)
    source, target = _buffer(context, words), _buffer(context, np.zeros(count, np.uint32))
    _run(context, name, [(source, 0, words.nbytes), (target, 0, 4 * count)], groups)
    return _words(context, target, 0, count)


def _run(context: Context, name: str, ranges: list[tuple[Buffer, int, int]], groups: int) -> None:
    shader = assemble(f"doctor/{name}", {})
    pipeline = context.gpu.pipeline(shader.label, shader.text, "main", {})
    bound = [(i, buffer, offset, size) for i, (buffer, offset, size) in enumerate(ranges)]
    group = context.gpu.bind_group(pipeline, [], bound)
    context.recording.append(Call(f"doctor {name}", ((pipeline, group, groups, 1),), (), 0))


def _buffer(context: Context, words: Words) -> Buffer:
    buffer = context.gpu.buffer(max(256, words.nbytes))
    context.transfers.write(buffer, 0, words.view(np.uint8))
    return buffer


def _words(context: Context, buffer: Buffer, offset: int, count: int) -> Words:
    raw = np.empty(4 * count, np.uint8)
    context.transfers.read(buffer, offset, raw)
    return raw.view(np.uint32)


def loops(context: Context) -> tuple[int, bool]:
    """Turns that a loop of LOOP_TURNS made, and whether what it calculated fits them."""
    turns, value = (int(w) for w in ask(context, "loops", [LOOP_TURNS, LOOP_SEED], 2))
    expected = LOOP_SEED
    for _ in range(min(turns, LOOP_TURNS)):
        expected = (expected * 1664525 + 1013904223) & 0xFFFFFFFF
    return turns, value == expected


def waits(context: Context) -> Waits:
    """What workgroups saw that waited for earlier ones."""
    return forward_progress.probe(context.gpu)


def integers(context: Context) -> Words:
    """Eight results for each of PAIRS, in the order of integers.wgsl."""
    return ask(context, "integers", PAIRS, 8 * len(PAIRS), -(-len(PAIRS) // 64)).reshape(-1, 8)


def fused(context: Context) -> Words:
    """The sum of a product and a number for each of TRIPLES, as bits."""
    return ask(context, "fused", TRIPLES.view(np.uint32), len(TRIPLES))


def pack_halves(context: Context) -> npt.NDArray[np.uint16]:
    """ROUNDED and OVERFLOWING as the driver converts them to FLOAT16."""
    values = np.concatenate([ROUNDED, OVERFLOWING])
    return ask(context, "pack_halves", values.view(np.uint32), len(values) // 2).view(np.uint16)


def unpack_halves(context: Context) -> Words:
    """HALVES as the driver converts them to FLOAT32, as bits."""
    return ask(context, "unpack_halves", HALVES.view(np.uint32), len(HALVES))


def subgroups(context: Context) -> Words | None:
    """Seven words for each invocation of a workgroup, as in subgroups.wgsl; None without them."""
    if not context.facts.subgroup_max:
        return None
    return ask(context, "subgroups", np.arange(256) * 7 + 1000, 7 * 256).reshape(-1, 7)


def bounds(context: Context) -> Bounds:
    """Reads and writes outside a binding that lies in the middle of a buffer of guard words."""
    words = np.full(3 * WINDOW // 4, GUARD, np.uint32)
    words[WINDOW // 4 : 2 * WINDOW // 4] = np.arange(1, WINDOW // 4 + 1)
    buffer, source = _buffer(context, words), _buffer(context, OUTSIDE)
    target = _buffer(context, np.zeros(len(OUTSIDE), np.uint32))
    places = [(source, 0, OUTSIDE.nbytes), (target, 0, OUTSIDE.nbytes), (buffer, WINDOW, WINDOW)]
    _run(context, "bounds", places, 1)
    read = _words(context, target, 0, len(OUTSIDE))
    after = _words(context, buffer, 0, len(words)).reshape(3, -1)
    return Bounds(read, np.concatenate([after[0], after[2]]))


def binding(context: Context) -> Binding:
    """The last word of a binding as large as the limit, or as TRIED_BINDING."""
    size = min(context.gpu.max_binding, context.gpu.max_buffer, TRIED_BINDING) // 16 * 16
    buffer = context.gpu.buffer(size, "the largest binding")
    source = _buffer(context, np.array([size // 4 - 1, GUARD], np.uint32))
    _run(context, "binding", [(source, 0, 8), (buffer, 0, size)], 1)
    last = int(_words(context, buffer, size - 4, 1)[0])
    buffer.destroy()
    return Binding(size, last)


def timestamps(device: Device) -> tuple[int, int] | None:
    """The GPU's clock before and after a call; None where it has none."""
    if not device.context.gpu.has_timestamps:
        return None
    line = TensorDesc(DataType.FLOAT32, (4096,))
    op = device.compile(CumulativeSummationDesc(input_tensor=line, output_tensor=line, axis=0))
    x = device.tensor(np.ones(4096, np.float32))
    with device.profile() as profile:
        op(x)
    return profile.calls[0].start, profile.calls[0].end


def answer(probe: Callable[[], Any]) -> Answer:
    """What a probe found, or the sentence of the error that stopped it."""
    try:
        return probe()
    except DmlError as error:
        return str(error)
