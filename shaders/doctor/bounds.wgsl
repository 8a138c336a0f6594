// Reads and writes at places that lie outside `inside`, whose neighbours in memory are watched.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;
@group(0) @binding(2) var<storage, read_write> inside: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&given)) { return; }
  found[id.x] = inside[given[id.x]];
  inside[given[id.x]] = 0xbadbadu;
}
