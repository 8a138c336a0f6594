// Input element that `source` becomes when the tuple's coordinates are added, one after the other:
// written out, many of them take a CPU driver minutes to compile. Needs the declarations of gather.wgsl.
fn resolve(source: u32, tuple_at: u32) -> u32 {
  var at = source;
  for (var d = 0u; d < TUPLE; d++) {
    let size = params.gather_sizes[d / 4u][d % 4u];
    at += coordinate_at(tuple_at + d * params.index_step, size) * params.gather_strides[d / 4u][d % 4u];
  }
  return at;
}
