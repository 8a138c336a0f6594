// Counts the turns of a loop that nothing but running it can shorten: some drivers stop early.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(1)
fn main() {
  let wanted = given[0];
  var value = given[1];
  var turns = 0u;
  for (var i = 0u; i < wanted; i++) {
    value = value * 1664525u + 1013904223u;
    turns++;
  }
  found[0] = turns;
  found[1] = value;
}
