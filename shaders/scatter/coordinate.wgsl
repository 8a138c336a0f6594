// Index values as coordinates. Needs load_indices.
override INDEX_WORDS: u32 = 1;
override SIGNED: bool = false;

// Index value `i` as a coordinate of a dimension of `size`, or `size` where it is out of range.
// Negative ones count from the end; the sum wraps, and is below the size where they are inside.
fn coordinate(i: u32, size: u32) -> u32 {
  let low = load_indices(INDEX_WORDS * i);
  var high = 0u;
  if (INDEX_WORDS == 2u) { high = load_indices(2u * i + 1u); }
  let ends = SIGNED && select(low, high, INDEX_WORDS == 2u) > 0x7fffffffu;
  let at = low + select(0u, size, ends);
  let is_near = INDEX_WORDS == 1u || high == select(0u, 0xffffffffu, ends);
  return select(size, at, is_near && at < size);
}
