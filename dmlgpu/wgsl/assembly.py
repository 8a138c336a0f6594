"""Assembles shaders: storage bindings and the functions that reach the tensors behind them.

`#bind read input: u32` in a shader declares `load_input(i)` and, for `write`,
`store_output(i, value)`; for `words` also `store_output_word(i, k, value)`, which leaves the other
words of a unit as they are; for `atomic` also `merge_output(i, mask, bits)`, `max_output(i, value)`
and `add_output(i, value)`. How the words are reached (its own binding, the output's when the call
is in place, an offset, several bindings for one large tensor) is the `Access` of each name, so no
kernel knows of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmlgpu.errors import DeviceError
from dmlgpu.wgsl.params import Param, declaration, layout_of
from dmlgpu.wgsl.source import expanded

_BIND = re.compile(r"^#bind (read|write|words|atomic) (\w+): (u32|vec[24]<u32>)$")
WORDS = {"u32": 1, "vec2<u32>": 2, "vec4<u32>": 4}  # of an element that a shader binds
# The same elements in pairs of words: the type, an element of words `v`, and the words of `v`.
PAIRS = {
    "vec2<u32>": (
        "u64",
        "u64(v.x) | (u64(v.y) << 32u)",
        "vec2<u32>(u32(v), u32(v >> 32u))",
    ),
    "vec4<u32>": (
        "vec2<u64>",
        "vec2<u64>(u64(v.x) | (u64(v.y) << 32u), u64(v.z) | (u64(v.w) << 32u))",
        "vec4<u32>(u32(v.x), u32(v.x >> 32u), u32(v.y), u32(v.y >> 32u))",
    ),
}


@dataclass(frozen=True, slots=True)
class Access:
    """How a shader reaches the tensor bound to one of its names."""

    alias: str = ""  # bound together with this other name: the call is in place, or one buffer
    offset: bool = False  # starts some units behind the start of the binding
    scalar: bool = False  # the last unit is shared with others: read and written word by word
    windows: int = 1  # consecutive bindings that make up the tensor
    window_units: int = 0  # in each of these bindings but the last
    in_pairs: bool = False  # words are read and written two at a time, as integers of 64 bits


@dataclass(frozen=True, slots=True)
class StorageBinding:
    """One storage binding of an assembled shader."""

    binding: int
    name: str
    window: int


@dataclass(frozen=True, slots=True)
class Shader:
    """WGSL ready to compile, and where its bindings are."""

    label: str
    text: str
    bindings: tuple[StorageBinding, ...]
    ranges: tuple[str, ...]  # names in the order of the `tensor_ranges` uniform
    ranges_binding: int
    params: tuple[Param, ...]


def assemble(
    shader: str,
    slots: Mapping[str, str],
    access: Mapping[str, Access] | None = None,
    code: str = "",
) -> Shader:
    """Kernel first, then the snippet of each slot; bindings numbered in order of appearance."""
    access = access or {}
    lines, imported = expanded(shader, slots, code)
    if any(slot not in imported and not slot.startswith("number/") for slot in slots):
        raise DeviceError(
            f"{shader}.wgsl imports {sorted(imported)}; the plan fills {sorted(slots)}"
        )
    found = {m[2]: (i, m[1], m[3]) for i, line in enumerate(lines) if (m := _BIND.match(line))}
    made: list[StorageBinding] = []
    ranges = tuple(n for n in found if (h := access.get(n, Access())).offset or h.scalar)
    for name, (line, mode, element) in found.items():
        how = access.get(name, Access())
        text = ""
        if not how.alias:
            text = _bound(name, mode, element, how, len(made) + 1) + " "
            made += [StorageBinding(len(made) + 1 + w, name, w) for w in range(how.windows)]
        target = how.alias or name
        held = "u32" if access.get(target, Access()).scalar else found[target][2]
        place = ranges.index(name) if name in ranges else 0
        lines[line] = text + _reached(name, mode, element, target, held, how, place)
    ranges_binding = len(made) + 1 if ranges else 0
    if ranges:
        lines.append(
            f"@group(0) @binding({ranges_binding}) "
            f"var<uniform> tensor_ranges: array<vec4<u32>, {len(ranges)}>;"
        )
    params = layout_of(lines)
    lines = ["" if line.startswith("#param ") else line for line in lines]
    if params:
        lines.append(declaration(params))
    text = "\n".join(lines) + "\n"
    return Shader(f"{shader}.wgsl", text, tuple(made), ranges, ranges_binding, params)


def binds(shader: str, slots: Mapping[str, str], code: str = "") -> dict[str, tuple[str, str]]:
    """(mode, element) of every name that a shader and its snippets bind."""
    lines, _ = expanded(shader, slots, code)
    return {m[2]: (m[1], m[3]) for line in lines if (m := _BIND.match(line))}


def _bound(name: str, mode: str, element: str, how: Access, first: int) -> str:
    """Declaration of one binding and `raw_*` functions that reach its array, as one line."""
    held = "u32" if how.scalar else element
    stored, put, taken = "atomic<u32>" if mode == "atomic" else held, "v", ""
    if how.in_pairs and stored in PAIRS and mode != "words":
        stored, put, taken = PAIRS[stored]
    kind = "read" if mode == "read" else "read_write"
    names = [name if how.windows == 1 else f"{name}_{w}" for w in range(how.windows)]
    parts = [
        f"@group(0) @binding({first + w}) var<storage, {kind}> {n}: array<{stored}>;"
        for w, n in enumerate(names)
    ]
    size = how.window_units * 4 // WORDS[held]

    def function(head: str, action: str, result: str = "") -> str:
        """A function that does `action` on the array and index that hold element i."""
        if how.windows == 1:
            return f"fn {head} {{ {action.format(array=name, i='i')} }}"
        cases = " ".join(
            f"{'default' if w == how.windows - 1 else f'case {w}u'}: "
            f"{{ {action.format(array=n, i='k')} }}"
            for w, n in enumerate(names)
        )
        where = f"let w = i / {size}u; let k = i - w * {size}u;"
        return f"fn {head} {{ {where} switch (w) {{ {cases} }}{result} }}"

    zero = f" return {held}();" if how.windows > 1 else ""
    loads = _loads(names, size, "atomicLoad(&{})" if mode == "atomic" else "{}")
    parts.append(f"fn raw_load_{name}(i: u32) -> {held} {{ {loads} return {taken or 'v'}; }}")
    if mode in ("write", "words"):
        parts.append(function(f"raw_store_{name}(i: u32, v: {held})", f"{{array}}[{{i}}] = {put};"))
    if mode == "words" and not how.scalar:
        word = "{array}[{i}][word] = v;"
        parts.append(function(f"raw_store_{name}_word(i: u32, word: u32, v: u32)", word))
    if mode == "atomic":
        store = "atomicStore(&{array}[{i}], v);"
        merge = "atomicAnd(&{array}[{i}], ~mask); atomicOr(&{array}[{i}], bits);"
        parts.append(function(f"raw_store_{name}(i: u32, v: u32)", store))
        parts.append(function(f"raw_merge_{name}(i: u32, mask: u32, bits: u32)", merge))
        most = "atomicMax(&{array}[{i}], v);"
        parts.append(function(f"raw_max_{name}(i: u32, v: u32)", most))
        more = "return atomicAdd(&{array}[{i}], v);"
        parts.append(function(f"raw_add_{name}(i: u32, v: u32) -> u32", more, zero))
    return " ".join(parts)


def _loads(names: Sequence[str], size: int, load: str) -> str:
    """`v`, the element i of a tensor whose windows have `size` elements each but the last.

    All windows are read, one of them where the element is and the others at their ends: that takes
    no memory's time, and loads that stand in no branch are under way together.
    """
    if len(names) == 1:
        return f"let v = {load.format(f'{names[0]}[i]')};"
    lines, found = [], "v0"
    for w, name in enumerate(names):
        at = f"min(i - {w * size}u, arrayLength(&{name}) - 1u)"
        lines.append(f"let v{w} = {load.format(f'{name}[{at}]')};")
        found = f"select({found}, v{w}, i >= {w * size}u)" if w else found
    return f"{' '.join(lines)} let v = {found};"


def _reached(
    name: str, mode: str, element: str, target: str, held: str, how: Access, n: int
) -> str:
    """`load_*`, `store_*` and `merge_*` of a name whose words lie in the array of `target`.

    `held` is what that array holds, `n` the name's place in the `tensor_ranges` uniform, which
    says where the tensor starts (in 16-byte units) and how many words it has.
    """
    at = f"tensor_ranges[{n}].x" if how.offset else ""
    end = f"{f'4u * {at} + ' if at else ''}tensor_ranges[{n}].y"
    made, have = WORDS[element], WORDS[held]
    i = f"(i + {4 // made}u * {at})" if at else "i"  # index of element i of the tensor
    load, before = f"raw_load_{target}({i})", ""
    if made < have:
        load, k = f"raw_load_{target}({i} / {have // made}u)", f"{i} % {have // made}u"
        before = f"let v = {load}; " if made > 1 else ""
        load = f"select(v.xy, v.zw, {k} == 1u)" if made > 1 else f"{load}[{k}]"
    elif made > have:
        before = f"let w = {made // have}u * {i}; "
        before += f"let last = {end} - 1u; " if how.scalar else ""
        parts_of = (f"w + {k}u" for k in range(made // have))
        picks = (f"raw_load_{target}({f'min({k}, last)' if how.scalar else k})" for k in parts_of)
        load = f"{element}({', '.join(picks)})"
    parts = [f"fn load_{name}(i: u32) -> {element} {{ {before}return {load}; }}"]
    if mode == "read":
        return " ".join(parts)
    store = f"raw_store_{target}({i}, v);"
    if made > have:
        store = (
            f"let w = {made}u * {i}; let end = {end}; for (var k = 0u; k < {made}u; k++) "
            f"{{ if (w + k < end) {{ raw_store_{target}(w + k, v[k]); }} }}"
        )
    parts.append(f"fn store_{name}(i: u32, v: {element}) {{ {store} }}")
    if mode == "words":
        word = f"raw_store_{target}_word({i}, word, v);"
        if made > have:
            word = f"let w = {made}u * {i} + word; if (w < {end}) {{ raw_store_{target}(w, v); }}"
        parts.append(f"fn store_{name}_word(i: u32, word: u32, v: u32) {{ {word} }}")
    if mode == "atomic":
        parts.append(
            f"fn merge_{name}(i: u32, mask: u32, bits: u32) "
            f"{{ raw_merge_{target}({i}, mask, bits); }} "
            f"fn max_{name}(i: u32, v: u32) {{ raw_max_{target}({i}, v); }} "
            f"fn add_{name}(i: u32, v: u32) -> u32 {{ return raw_add_{target}({i}, v); }}"
        )
    return " ".join(parts)
