// A 32-bit index value as a coordinate of a dimension of `size`: negative ones count from the end,
// out-of-range values are clamped. Sizes reach 2^32 - 1, so the sum is made unsigned.
const INDEX_WORDS = 1u;
fn coordinate(word: u32, high: u32, size: u32) -> u32 {
  if (bitcast<i32>(word) >= 0i) { return min(word, size - 1u); }
  let from_end = 0u - word;
  return select(size - from_end, 0u, from_end > size);
}
