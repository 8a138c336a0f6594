// A 64-bit index value as a coordinate of a dimension of `size`: negative ones count from the end; the
// whole value decides what is out of range and clamped.
const INDEX_WORDS = 2u;
fn coordinate(low: u32, high: u32, size: u32) -> u32 {
  if (bitcast<i32>(high) >= 0i) { return select(min(low, size - 1u), size - 1u, high != 0u); }
  // The negated value fits 32 bits only when the high word is all ones and the low one is not 0.
  let from_end = 0u - low;
  let fits = high == 0xffffffffu && low != 0u && from_end <= size;
  return select(0u, size - from_end, fits);
}
