// Pairs of FLOAT16 values as FLOAT32, by the driver's own conversion.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&given)) { return; }
  let pair = unpack2x16float(given[id.x]);
  found[2u * id.x] = bitcast<u32>(pair.x);
  found[2u * id.x + 1u] = bitcast<u32>(pair.y);
}
