// Pairs of FLOAT32 values as FLOAT16, by the driver's own conversion.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&found)) { return; }
  let a = bitcast<f32>(given[2u * id.x]);
  let b = bitcast<f32>(given[2u * id.x + 1u]);
  found[id.x] = pack2x16float(vec2<f32>(a, b));
}
