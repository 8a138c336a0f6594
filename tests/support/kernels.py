"""Small kernels that stand in for the library's own."""

from __future__ import annotations

import dmlgpu as dml

KERNEL = """\
// Adds params.bias to every word.
#param count: u32 // elements
#param bias: i32
#bind read input: ELEMENT
#import body
#bind write output: ELEMENT
override WG_SIZE: u32 = 64;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.count) { store_output(id.x, changed(load_input(id.x))); }
}
"""
BODY = """\
// One element plus the bias.
fn changed(v: ELEMENT) -> ELEMENT { return v + ELEMENT(bitcast<u32>(params.bias)); }
"""
REPORT = """\
#param count: u32
#bind atomic report: u32
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= params.count) { return; }
  max_report(id.x / 8u, id.x);
  merge_report(8u, 1u << id.x, 1u << id.x);
  store_report(9u, load_report(10u));
  if (add_report(11u, 2u) == 62u) { store_report(12u, 1u); }
}
"""
MIXED = """\
#param count: u32
#bind read input: FROM
#bind write output: TO
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  let v = LOADED;
  if (id.x < params.count) { STORED }
}
"""
LOADED = {
    "u32": "vec4<u32>(load_input(4u * i), load_input(4u * i + 1u), "
    "load_input(4u * i + 2u), load_input(4u * i + 3u))",
    "vec2<u32>": "vec4<u32>(load_input(2u * i), load_input(2u * i + 1u))",
    "vec4<u32>": "load_input(i)",
}
STORED = {
    "vec2<u32>": "store_output(2u * i, v.xy); store_output(2u * i + 1u, v.zw);",
    "vec4<u32>": "store_output(i, v);",
}
ELEMENTS = {"unit": "vec4<u32>", "half": "vec2<u32>", "word": "u32"}


def mixed(source: str, target: str) -> str:
    """A kernel that copies 16 bytes, from elements of one name to those of another."""
    a, b = ELEMENTS[source], ELEMENTS[target]
    text = MIXED.replace("FROM", a).replace("TO\n", f"{b}\n")
    return text.replace("LOADED", LOADED[a]).replace("STORED", STORED[b])


REPEAT = """\
#param count: u32
#param bias: i32
#bind read input: u32
#import four
#bind write output: u32
@compute @workgroup_size(16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = 4u * id.x;
  let bias = bitcast<u32>(params.bias);
  let words = four(i);
  #repeat 4: if (i + $u < params.count) { store_output(i + $u, words[$] + bias); }
}
"""
FOUR = """\
fn four(i: u32) -> vec4<u32> {
  #repeat 4: let v$ = load_input(i + $u);
  return vec4<u32>(v0, v1, v2, v3);
}
"""
FILES = {
    **{name: KERNEL.replace("ELEMENT", element) for name, element in ELEMENTS.items()},
    **{f"{name}_body": BODY.replace("ELEMENT", element) for name, element in ELEMENTS.items()},
    "report": REPORT,
    **{f"{a}_to_{b}": mixed(a, b) for a in ELEMENTS for b in ("unit", "half")},
    "repeat": REPEAT,
    "four": FOUR,
    "counts": "#repeat 1: a$;\n#repeat 12: $\n\t #repeat 2: f($, $u);\n#repeat 0: b\nlast\n",
    "outer": "#import first\n#import second\nfn main() {}\n#bind read a: u32\n",
    "first": "#import second\nfn first() {}\n#bind write b: u32\n",
    "second": "fn second() {}\n#import third\n",
    "other": "fn other() {}\n",
}


def read_file(name: str) -> str:
    """Stands in for source.read."""
    if name not in FILES:
        raise dml.DeviceError(f"shader {name}.wgsl cannot be read")
    return FILES[name]


def slots_of(kernel: str) -> dict[str, str]:
    return {"body": f"{kernel}_body"} if kernel in ELEMENTS else {}
