// Writes one word anywhere in a large binding.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(1)
fn main() {
  found[given[0]] = given[1];
}
