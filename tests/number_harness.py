"""Runs single functions of shaders/number and shaders/math over arrays, through plain wgpu.

And the arrays to run them over, and what it takes to judge the results.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wgpu

SHADERS = Path(__file__).parent.parent / "shaders"
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f64": np.float64,
    "bits": np.uint64,  # of an element of any type
    "bool": np.uint32,
}
WIDE = {"i64", "u64", "f64", "bits"}
WGSL = {kind: "vec2<u32>" if kind in WIDE else kind for kind in DTYPES}


def file_of(name: str) -> Path | None:
    """The file that defines a function: number/X.wgsl for X_name, math/name.wgsl for math_name."""
    prefix, _, rest = name.partition("_")
    folder, file = ("math", rest) if prefix == "math" else ("number", prefix)
    path = SHADERS / folder / f"{file}.wgsl"
    return path if path.exists() else None


def assemble(text: str) -> str:
    """The text and every file of which it mentions a name, directly or through other files."""
    parts, todo, found = [], [text], set()
    while todo:
        part = todo.pop()
        parts.append(part)
        code = re.sub(r"//.*", "", part)
        for name in sorted(set(re.findall(r"\b[a-z]\w*_\w+", code))):
            path = file_of(name)
            if path is not None and path not in found:
                found.add(path)
                todo.append(path.read_text())
    return "\n".join(reversed(parts))


def load(kind: str, at: int) -> str:
    if kind in WIDE:
        return f"vec2<u32>(inputs[at + {at}u], inputs[at + {at + 1}u])"
    return f"bitcast<{kind}>(inputs[at + {at}u])"


def words(kind: str) -> int:
    return 2 if kind in WIDE else 1


def program(arguments: Sequence[str], functions: dict[str, str], text: str) -> str:
    """A shader that applies each function, given with the kind of its result, to each row."""
    lines, at = [], 0
    for k, kind in enumerate(arguments):
        lines.append(f"let x{k} = {load(kind, at)};")
        at += words(kind)
    row, to = at, 0
    names = ", ".join(f"x{k}" for k in range(len(arguments)))
    for k, (function, kind) in enumerate(functions.items()):
        lines.append(f"let y{k} = {function}({names});")
        if kind in WIDE:
            lines.append(f"outputs[to + {to}u] = y{k}.x; outputs[to + {to + 1}u] = y{k}.y;")
        else:
            value = f"select(0u, 1u, y{k})" if kind == "bool" else f"bitcast<u32>(y{k})"
            lines.append(f"outputs[to + {to}u] = {value};")
        to += words(kind)
    body = "\n  ".join(lines)
    return assemble(f"""\
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read_write> outputs: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x >= arrayLength(&inputs) / {row}u) {{ return; }}
  let at = id.x * {row}u;
  let to = id.x * {to}u;
  {body}
}}
{text}""")


class Runner:
    """A wgpu device, and what has to be known of it to judge its results."""

    def __init__(self) -> None:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        self.name = f"{adapter.info['device']} {adapter.info['description']}"
        self.device = adapter.request_device_sync()
        tiny = np.array([1, 0x00400000, 0x007FFFFF, 0x80000001], np.uint32).view(np.float32)
        self.flushes = not np.all(self("f32_mul", ["f32", "f32"], "f32", tiny, tiny * 0 + 1))

    def __call__(self, function: str, arguments: Sequence[str], result: str, *columns: Any) -> Any:
        return self.several(arguments, {function: result}, *columns)[function]

    def several(
        self, arguments: Sequence[str], functions: dict[str, str], *columns: Any, text: str = ""
    ) -> dict[str, Any]:
        """What each function gives for each row of the columns, which all have one length.

        Functions that no file holds are in the text.
        """
        rows = [
            np.ascontiguousarray(column, DTYPES[kind]).view(np.uint32).reshape(len(column), -1)
            for kind, column in zip(arguments, columns, strict=True)
        ]
        raw = np.ascontiguousarray(np.concatenate(rows, axis=1))
        width = sum(map(words, functions.values()))
        out = self.dispatch(program(arguments, functions, text), raw, len(raw) * width)
        out = out.reshape(len(raw), width)
        results, at = {}, 0
        for function, kind in functions.items():
            column = np.ascontiguousarray(out[:, at : at + words(kind)])
            results[function] = column.view(DTYPES[kind])[:, 0]
            at += words(kind)
        return results

    def dispatch(self, source: str, raw: Any, count: int) -> Any:
        device = self.device
        module = device.create_shader_module(code=source)
        pipeline = device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        inputs = device.create_buffer_with_data(data=raw, usage=usage)
        outputs = device.create_buffer(size=4 * count, usage=usage)
        group = device.create_bind_group(
            layout=pipeline.get_bind_group_layout(0),
            entries=[
                {"binding": k, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
                for k, buffer in enumerate([inputs, outputs])
            ],
        )
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(-(-len(raw) // 64))
        work.end()
        device.queue.submit([encoder.finish()])
        return np.frombuffer(device.queue.read_buffer(outputs), np.uint32)


def open_runner() -> Runner:
    try:
        return Runner()
    except RuntimeError as error:
        if os.environ.get("DMLGPU_REQUIRE_GPU") == "1":
            pytest.fail(f"DMLGPU_REQUIRE_GPU is set and there is no adapter: {error}")
        pytest.skip(f"no adapter: {error}")


INTEGERS = ["i32", "u32", "i64", "u64"]
CLASSES = ["f32", *INTEGERS, "f64"]
F32_EDGES = np.array(
    [
        0x00000000, 0x00000001, 0x00000003, 0x00400000, 0x007FFFFF, 0x00800000, 0x00800001,
        0x01000000, 0x2EDBE6FF, 0x33000000, 0x337FFFFF, 0x33800000, 0x33800001, 0x387FC000,
        0x387FFFFF, 0x38800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F3504F3, 0x3F7FFFFF,
        0x3F800000, 0x3F800001, 0x3FB504F3, 0x3FC00000, 0x3FC90FDB, 0x40000000, 0x40200000,
        0x40490FDB, 0x40490FDA, 0x40600000, 0x42B17217, 0x42B17218, 0x42CFF1B5, 0x477FE000,
        0x477FEFFF, 0x477FF000, 0x4AFFFFFF, 0x4B000000, 0x4B7FFFFF, 0x4B800000, 0x4EFFFFFF,
        0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000, 0x5F7FFFFF, 0x5F800000,
        0x7D800000, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000,
    ],
    np.uint32,
)  # fmt: skip


def edges(kind: str) -> Any:
    if kind == "f32":
        return np.concatenate([F32_EDGES, F32_EDGES | 0x80000000]).view(np.float32)
    if kind == "f64":
        near = edges("f32").astype(np.float64)
        quiet = near[np.isfinite(near)]
        steps = [np.nextafter(quiet, to) for to in (np.inf, -np.inf)]
        halves = quiet * (1 + 2.0**-24)  # between two float32
        denormal = (np.arange(1, 40) + 0.5) * 2.0**-149  # likewise
        halves = np.concatenate([halves, denormal, np.nextafter(denormal, 1)])
        more = [5e-324, 2.0**-1022, 2.0**-150, 1.7e308, 2.0**53 + 2, 4294967295.9, 2147483647.5]
        return np.concatenate([near, *steps, halves, more, np.negative(more)])
    info = np.iinfo(DTYPES[kind])
    near = [n + d for n in (0, info.max // 2, info.max) for d in range(-3, 4)]
    near += [2**k + d for k in (8, 16, 24, 25, 31, 32, 33, 48, 53, 54, 62) for d in (-1, 0, 1)]
    signed = [n for n in near + [-n - 1 for n in near] if info.min <= n <= info.max]
    return np.array(sorted(set(signed)), DTYPES[kind])


def noise(kind: str, count: int, seed: int) -> Any:
    """Random bits, and for integers random sizes too."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[kind])
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=f"u{dtype.itemsize}")
    if kind in INTEGERS:
        small = rng.integers(0, 8 * dtype.itemsize, count).astype(dtype)
        return bits.view(dtype) >> small
    return bits.view(dtype)


def single(kind: str, count: int = 6000) -> Any:
    return np.concatenate([edges(kind), noise(kind, count, 1)])


def pairs(kind: str, count: int = 6000) -> tuple[Any, Any]:
    near = np.array(list(itertools.product(edges(kind), edges(kind))), DTYPES[kind])
    a, b = noise(kind, count, 2), noise(kind, count, 3)
    return np.concatenate([near[:, 0], a, a]), np.concatenate([near[:, 1], b, a])


def wrapped(values: list[int], kind: str) -> Any:
    """Integers modulo 2^bits."""
    bits = 8 * np.dtype(DTYPES[kind]).itemsize
    unsigned = np.array([v % 2**bits for v in values], f"u{bits // 8}")
    return unsigned.view(DTYPES[kind])


def bits_of(values: Any) -> Any:
    return values.view(f"u{values.dtype.itemsize}")


def same_floats(got: Any, expected: Any) -> Any:
    """Equal to the sign of zero, or both NaN."""
    return (bits_of(got) == bits_of(expected)) | (np.isnan(got) & np.isnan(expected))


def flushed(values: Any) -> Any:
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), values), values)


def moderate(count: int, seed: int) -> Any:
    """Numbers of either sign from e^-12 to e^5, where most functions bend, and some near 1."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(-12, 5, count))
    near_one = 1 + rng.uniform(-1, 1, count) * 2.0 ** -rng.integers(0, 24, count)
    values = np.concatenate([sizes * rng.choice([-1, 1], count), near_one])
    return values.astype(np.float32)


TINY = float(np.finfo(np.float32).tiny)


def error(found: Any, exact: Any) -> Any:
    """In units in the last place of the exact result; infinite where NaN or a sign is wrong."""
    limit = 2.0**128  # what infinity stands for next to the largest number
    to = np.clip(exact, -limit, limit)
    distance = np.abs(np.clip(found.astype(np.float64), -limit, limit) - to)
    unit = np.spacing(np.minimum(np.abs(to), np.finfo(np.float32).max).astype(np.float32))
    units = distance / np.where(np.isnan(to), 1, unit)
    units[np.isnan(found) & np.isnan(exact)] = 0
    units[np.isnan(found) != np.isnan(exact)] = np.inf
    units[(np.signbit(found) != np.signbit(exact)) & ~np.isnan(exact)] = np.inf
    return units


def check(
    runner: Runner,
    name: str,
    function: Callable[..., Any],
    bound: float,
    *columns: Any,
    absolute: float = 0,
) -> None:
    """The worst error must be within the bound, or the absolute one.

    An adapter that flushes may take a denormal argument for zero, and give zero for a result that
    is below the normal numbers, or within the bound above them.
    """
    found = runner(name, ["f32"] * len(columns), "f32", *columns)
    exact = function(*(c.astype(np.float64) for c in columns))
    right = (error(found, exact) <= bound) | (np.abs(found - exact) <= absolute)
    if runner.flushes:
        least = TINY * (1 + bound * 2.0**-23)
        inputs_too = function(*(flushed(c).astype(np.float64) for c in columns))
        right |= (np.minimum(np.abs(exact), np.abs(inputs_too)) < least) & (found == 0)
        right |= error(found, inputs_too) <= bound
    worst = np.nonzero(~right)[0][:3]
    assert right.all(), ([c[worst] for c in columns], found[worst], exact[worst])


def nearest(value: Any, kind: str) -> Any:
    """A Python number rounded once, to nearest, ties to even."""
    if isinstance(value, float) and (kind == "f64" or not math.isfinite(value)):
        return DTYPES[kind](value)
    if kind == "f64":
        return np.float64(value)  # Python rounds integers this way
    if isinstance(value, float):
        return np.float32(value)
    exact = Fraction(value)
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(to)) for to in (-np.inf, np.inf)]
    return min([guess, *around], key=lambda f: (abs(Fraction(float(f)) - exact), bits_of(f) & 1))


def cast(value: Any, kind: str) -> Any:
    """What CAST gives for one Python number."""
    if kind in ("f32", "f64"):
        return nearest(value, kind)
    if isinstance(value, float):
        info = np.iinfo(DTYPES[kind])
        if math.isnan(value):
            return DTYPES[kind](0)
        limit = min(max(value, -1e30), 1e30)
        return DTYPES[kind](min(max(int(limit), info.min), info.max))
    return wrapped([value], kind)[0]
