"""Runs single functions of shaders/number and shaders/math over arrays, through plain wgpu."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
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
    return f"bitcast<{kind}>(inputs[at + {at}u])" if kind != "bool" else f"inputs[at + {at}u] != 0u"


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
