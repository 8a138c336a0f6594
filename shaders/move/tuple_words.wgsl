// Index tuples that lie side by side in 4, 8 or 16 bytes each. Needs the declarations of gather.wgsl.
override TUPLE_WORDS: u32 = TUPLE * INDEX_WORDS;

// Tuple `k` of those that `unit` holds.
fn tuple_in(unit: vec4<u32>, k: u32) -> vec4<u32> {
  if (TUPLE_WORDS == 4u) { return unit; }
  if (TUPLE_WORDS == 2u) { return select(unit, unit.zwzw, k % 2u == 1u); }
  return vec4<u32>(unit[k % 4u]);
}

fn moved_by_tuple(t: vec4<u32>) -> u32 {
  if (INDEX_WORDS == 2u) {
    var at = coordinate(t.x, t.y, params.gather_sizes[0].x) * params.gather_strides[0].x;
    if (TUPLE == 2u) { at += coordinate(t.z, t.w, params.gather_sizes[0].y) * params.gather_strides[0].y; }
    return at;
  }
  var at = 0u;
  #repeat 4: if (TUPLE > $u) { at += coordinate(t[$], 0u, params.gather_sizes[0][$]) * params.gather_strides[0][$]; }
  return at;
}
