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
#bind read input: u32
#bind write output: vec4<u32>
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = 4u * id.x;
  let v = vec4<u32>(load_input(i), load_input(i + 1u), load_input(i + 2u), load_input(i + 3u));
  if (id.x < params.count) { store_output(id.x, v); }
}
"""
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
    "unit": KERNEL.replace("ELEMENT", "vec4<u32>"),
    "word": KERNEL.replace("ELEMENT", "u32"),
    "unit_body": BODY.replace("ELEMENT", "vec4<u32>"),
    "word_body": BODY.replace("ELEMENT", "u32"),
    "report": REPORT,
    "mixed": MIXED,
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
    return {"body": f"{kernel}_body"} if kernel in ("unit", "word") else {}
