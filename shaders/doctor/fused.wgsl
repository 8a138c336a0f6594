// The sum of a product and a number, by the driver's own function.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&found)) { return; }
  let a = bitcast<f32>(given[3u * id.x]);
  let b = bitcast<f32>(given[3u * id.x + 1u]);
  let c = bitcast<f32>(given[3u * id.x + 2u]);
  found[id.x] = bitcast<u32>(fma(a, b, c));
}
