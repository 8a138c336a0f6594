// Input element that `source` becomes when the tuple's coordinates are added, all loaded at once.
// Needs the declarations of gather.wgsl.
fn resolve(source: u32, tuple_at: u32) -> u32 {
  var at = source;
  #repeat 8: if (TUPLE > $u) { at += coordinate_at(tuple_at + $u * params.index_step, params.gather_sizes[$u / 4u][$u % 4u]) * params.gather_strides[$u / 4u][$u % 4u]; }
  return at;
}
