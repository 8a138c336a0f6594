"""The limit that frac is measured against: the adapter's own copy, and its own bare gather.

Both run in the same process and by the same clock as the operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.data import Data
from benchmarks.problem import Array, Problem
from benchmarks.rivals import Numpy
from benchmarks.workload import room
from dmlgpu.measure.roofline import BareKernel, copy_kernel
from dmlgpu.measure.timing import Call, Pace, Timed, time_gpu

GATHER = """
@group(0) @binding(0) var<storage, read> source: array<SOURCE>;
@group(0) @binding(1) var<storage, read_write> made: array<MADE>;
@group(0) @binding(2) var<storage, read> flat: array<FLAT>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 256u;
    if (i < arrayLength(&made)) {
BODY
        made[i] = MADE(VALUES);
    }
}
"""


def gather_code(piece_bytes: int, out_words: int) -> str:
    """WGSL of a bare gather whose invocations make `out_words` words each."""
    words = [_word(piece_bytes, k) for k in range(out_words)]
    whole = piece_bytes >= 4 * out_words and piece_bytes % (4 * out_words) == 0
    if whole:  # one load makes the output
        per_piece = piece_bytes // (4 * out_words)
        body = f"        let p0 = flat[i / {per_piece}u] * {per_piece}u + i % {per_piece}u;"
        values, source, flat = "source[p0]", _vector(out_words), "u32"
    else:
        pieces = 4 * out_words // piece_bytes
        body, flat = _index_loads(pieces)
        values, source = ", ".join(words), "u32"
    text = GATHER.replace("BODY", body).replace("VALUES", values)
    text = text.replace("SOURCE", source).replace("MADE", _vector(out_words))
    return text.replace("FLAT", flat)


def _vector(words: int) -> str:
    return "u32" if words == 1 else f"vec{words}<u32>"


def _index_loads(pieces: int) -> tuple[str, str]:
    """Lines that put the positions of an invocation's pieces into p0, p1, ..."""
    width = min(4, pieces)
    lines = []
    for first in range(0, pieces, width):
        at = f"i * {pieces // width}u + {first // width}u"
        lines.append(f"        let f{first} = flat[{at}];")
        for k in range(width):
            part = "" if width == 1 else f"[{k}]"
            lines.append(f"        let p{first + k} = f{first}{part};")
    return "\n".join(lines), _vector(width)


def _word(piece_bytes: int, k: int) -> str:
    """The k-th output word of an invocation, from its pieces p0, p1, ..."""
    if piece_bytes >= 4:
        per_piece = piece_bytes // 4
        return f"source[p{k // per_piece} * {per_piece}u + {k % per_piece}u]"
    per_word = 4 // piece_bytes
    mask = "0xffu" if piece_bytes == 1 else "0xffffu"
    shift = 2 if piece_bytes == 1 else 1
    parts = []
    for j in range(per_word):
        p = f"p{k * per_word + j}"
        bits = f"(({p} & {per_word - 1}u) * {8 * piece_bytes}u)"
        parts.append(f"(((source[{p} >> {shift}u] >> {bits}) & {mask}) << {8 * piece_bytes * j}u)")
    return " | ".join(parts)


@dataclass(frozen=True, slots=True)
class Limit:
    """The least time that a problem can take: a kernel's, by a factor."""

    once: Callable[[], float]
    factor: float = 1.0

    def seconds(self) -> float:
        """On a CPU, which works for others too, as of now; elsewhere as of the first time."""
        return self.factor * self.once()


Clock = Callable[[dml.Device, Call, Pace], Timed]


class Limits:
    """Rooflines of problems on one device."""

    def __init__(self, device: dml.Device, pace: Pace, clock: Clock = time_gpu) -> None:
        self._device = device
        self._pace = pace
        self._clock = clock
        self._is_cpu = device.adapter.kind == "cpu"
        self._copies: dict[int, Limit] = {}
        self._gathers: dict[Any, Limit] = {}
        gpu = device.context.gpu
        self._largest: int = min(room(device.adapter.kind), gpu.max_binding, gpu.max_buffer)

    @property
    def looks(self) -> int:
        """How often a problem and its limit are to be measured side by side."""
        return 3 if self._is_cpu else 1

    def _limit(self, kernel: BareKernel, tensors: Iterable[dml.Tensor]) -> Limit:
        """A limit that keeps a kernel and its tensors, or only the best of three times."""
        time = partial(self._seconds, kernel, tuple(tensors))
        if self._is_cpu:
            return Limit(time)
        best = min(time() for _ in range(3))
        return Limit(lambda: best)

    def time(self, call: Call) -> Timed:
        """Times a call as limits are timed."""
        return self._clock(self._device, call, self._pace)

    def _seconds(self, kernel: BareKernel, _kept: tuple[dml.Tensor, ...]) -> float:
        return self.time(kernel).seconds

    def _copy(self, nbytes: int) -> Limit:
        if nbytes not in self._copies:
            self._copies[nbytes] = self._limit(*copy_kernel(self._device, nbytes))
        return self._copies[nbytes]

    @property
    def copy_rate(self) -> float:
        """Bytes read and written per second by the largest copy."""
        return 2 * self._largest / self._copy(self._largest).seconds()

    def of(self, problem: Problem, size: str, traffic: int, data: Data) -> Limit:
        """The limit of a problem.

        Bandwidth-bound: its traffic at the speed of the largest copy. Smaller: a copy with as much
        traffic, which has the same launch to pay and the same caches to use.
        """
        if problem.is_bare_gather:
            return self._gather(problem, data)
        if size != "bandwidth":
            return self._copy(_rounded(traffic // 2))
        return replace(self._copy(self._largest), factor=traffic / (2 * self._largest))

    def _gather(self, problem: Problem, data: Data) -> Limit:
        """The faster of two: 4 bytes out per invocation, or 16."""
        source, piece = problem.layouts[0], problem.piece_bytes
        key = (problem.workload.name, problem.dtype, problem.shape)
        if key not in self._gathers:
            x, flat = data.tensor(problem, source), positions(problem, data)
            index = self._device.tensor(np.pad(flat, (0, -flat.size % 4)))  # to whole units
            made_bytes = _up(flat.size * piece)
            made = self._device.empty(dml.TensorDesc(dml.DataType.UINT8, (made_bytes,)))
            found = []
            for words in (1, 4):
                code = gather_code(piece, words)
                kernel = BareKernel(self._device, "bare gather", code, made_bytes // (4 * words))
                kernel.bind(
                    (x.buffer, _up(source.nbytes)),
                    (made.buffer, made_bytes),
                    (index.buffer, _up(flat.nbytes)),
                )
                kernel()
                self._check(problem, x, flat, made)
                found.append(self._limit(kernel, (x, made, index)))
            self._gathers[key] = min(found, key=Limit.seconds)
        return self._gathers[key]

    def _check(self, problem: Problem, x: dml.Tensor, flat: Array, made: dml.Tensor) -> None:
        """A limit that moves the wrong bytes is none."""
        piece, nbytes = problem.piece_bytes, problem.layouts[0].nbytes
        count = min(flat.size, 1 << 14)
        got = _first_bytes(made, count * piece).reshape(count, -1)
        inside = flat[:count] < min(nbytes, 1 << 24) // piece
        head = _first_bytes(x, min(nbytes, 1 << 24)).reshape(-1, piece)
        if not np.array_equal(got[inside], head[flat[:count][inside]]):
            raise AssertionError(f"the bare gather of {piece} bytes is wrong")


def positions(problem: Problem, data: Data) -> Array:
    """Which piece of the input each piece of the output is: what NumPy makes of their numbers."""
    source, piece = problem.layouts[0], problem.workload.piece
    pieces = np.arange(source.elements // piece, dtype=np.uint32)
    numbered = pieces.reshape(*source.shape[:-1], source.shape[-1] // piece)
    call = Numpy().call(problem.workload.numpy, problem, data, {source.operand.name: numbered})
    return np.ascontiguousarray(call()).reshape(-1)


def _up(nbytes: int) -> int:
    """To whole units of 16 bytes."""
    return -(-nbytes // 16) * 16


def _first_bytes(tensor: dml.Tensor, count: int) -> Array:
    return tensor.view(dml.TensorDesc(dml.DataType.UINT8, (count,))).numpy()


def _rounded(nbytes: int) -> int:
    """To the nearest eighth of a power of two, so that a handful of copies serve all cases."""
    step = max(16, 1 << max(0, nbytes.bit_length() - 4))
    return max(1, (nbytes + step // 2) // step) * step
