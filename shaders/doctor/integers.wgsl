// Quotients, remainders, shifts and products of pairs of words, eight results for each pair.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (2u * id.x + 1u >= arrayLength(&given)) { return; }
  let a = given[2u * id.x];
  let b = given[2u * id.x + 1u];
  let s = bitcast<i32>(a);
  let t = bitcast<i32>(b);
  let at = 8u * id.x;
  found[at] = a / b;
  found[at + 1u] = a % b;
  found[at + 2u] = a << (b & 31u);
  found[at + 3u] = a >> (b & 31u);
  found[at + 4u] = bitcast<u32>(s >> (b & 31u));
  found[at + 5u] = a * b;
  found[at + 6u] = bitcast<u32>(s / t);
  found[at + 7u] = bitcast<u32>(s % t);
}
