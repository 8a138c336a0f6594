// A 64-bit index value as a coordinate of a dimension of `size`: negative ones count from the end; the
// whole value decides what is out of range and clamped. Without branches, as in index_i32.
const INDEX_WORDS = 2u;
fn coordinate(low: u32, high: u32, size: u32) -> u32 {
  let ends = bitcast<i32>(high) < 0i;
  let at = low + select(0u, size, ends);
  let inside = high == select(0u, 0xffffffffu, ends) && at < size;
  return select(select(size - 1u, 0u, ends), at, inside);
}
