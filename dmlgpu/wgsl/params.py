"""The parameters of a shader: `#param` lines laid out as a uniform buffer, packed by name."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dmlgpu.errors import DeviceError
from dmlgpu.plan.dispatch import Value

EIGHT = "array<vec4<u32>, 2>"
_PARAM = re.compile(r"#param (\w+): (\S.*?)\s*(?://.*)?")
_WORDS = {"u32": "<I", "i32": "<i", "f32": "<f"}


class Param(NamedTuple):
    """One parameter, and where it lies in the uniform buffer."""

    name: str
    kind: str  # its WGSL type
    offset: int  # in bytes

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.offset + (32 if self.kind == EIGHT else 4)


def layout_of(lines: Iterable[str]) -> tuple[Param, ...]:
    """What the `#param` lines among some lines declare, each name once: words, then eights."""
    declared: dict[str, str] = {}
    for line in lines:
        found = _PARAM.fullmatch(line)
        if found is None:
            continue
        name, kind = found.groups()
        if kind not in (*_WORDS, EIGHT):
            raise DeviceError(f"the parameter {name} is of type {kind}, which cannot be packed")
        if declared.setdefault(name, kind) != kind:
            raise DeviceError(f"the parameter {name} is both {declared[name]} and {kind}")
    words = [name for name, kind in declared.items() if kind != EIGHT]
    eights = [name for name, kind in declared.items() if kind == EIGHT]
    start = -(-len(words) // 4) * 16
    return (
        *(Param(name, declared[name], 4 * n) for n, name in enumerate(words)),
        *(Param(name, EIGHT, start + 32 * n) for n, name in enumerate(eights)),
    )


def declaration(layout: Iterable[Param]) -> str:
    """WGSL that declares the parameters as `params`, as one line."""
    fields = " ".join(f"{param.name}: {param.kind}," for param in layout)
    return f"struct Params {{ {fields} }} @group(0) @binding(0) var<uniform> params: Params;"


def pack_params(label: str, layout: tuple[Param, ...], values: Mapping[str, Value]) -> bytes:
    """The uniform buffer, each value put where its name lies."""
    names = {param.name for param in layout}
    if names != set(values):
        raise DeviceError(
            f"{label} has the parameters {sorted(names)}; the plan gave {sorted(values)}"
        )
    packed = bytearray(-(-max((param.end for param in layout), default=0) // 16) * 16)
    for name, kind, offset in layout:
        pack_value(packed, offset, values[name], kind)
    return bytes(packed)


def pack_value(packed: bytearray, offset: int, value: Value, kind: str = EIGHT) -> None:
    """Puts one value where its name lies."""
    if isinstance(value, tuple):
        struct.pack_into("<8I", packed, offset, *value)
    else:
        struct.pack_into(_WORDS[kind], packed, offset, value)
