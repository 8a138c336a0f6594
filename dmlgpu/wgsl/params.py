"""The uniform buffer of a shader: laid out as its `struct Params` says, packed by field name."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import cache

from dmlgpu.errors import DeviceError
from dmlgpu.plan.dispatch import Value

_FIELD = re.compile(r"(\w+)\s*:\s*(u32|i32|f32|array<vec4<u32>, 2>)")
_PARAMS = re.compile(r"struct Params \{(.*?)\}", re.S)


@cache
def params_layout(text: str) -> tuple[tuple[str, str, int], ...]:
    """(name, type, byte offset) of each field of `struct Params`."""
    match = _PARAMS.search(text)
    layout: list[tuple[str, str, int]] = []
    at = 0
    body = re.sub(r"//[^\n]*", "", match[1]) if match else ""
    for entry in filter(None, (part.strip() for part in re.split(r",(?![^<]*>)", body))):
        field = _FIELD.fullmatch(entry)
        if field is None:
            raise DeviceError(f"Params has the field {entry!r}, whose type cannot be packed")
        name, kind = field[1], field[2]
        if kind.startswith("array"):
            at = -(-at // 16) * 16
        layout.append((name, kind, at))
        at += 32 if kind.startswith("array") else 4
    return tuple(layout)


def pack_params(label: str, text: str, values: Mapping[str, Value]) -> bytes:
    """The uniform buffer of `struct Params`, each field found by its name."""
    layout = params_layout(text)
    names = {name for name, _, _ in layout}
    if names != set(values):
        raise DeviceError(f"{label}: Params has {sorted(names)}; the plan gave {sorted(values)}")
    size = max((at + (32 if kind.startswith("array") else 4) for _, kind, at in layout), default=0)
    packed = bytearray(-(-size // 16) * 16)
    for name, kind, at in layout:
        value = values[name]
        if isinstance(value, tuple):
            struct.pack_into("<8I", packed, at, *value)
        else:
            struct.pack_into({"u32": "<I", "i32": "<i", "f32": "<f"}[kind], packed, at, value)
    return bytes(packed)
