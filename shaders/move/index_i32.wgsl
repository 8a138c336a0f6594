// A 32-bit index value as a coordinate of a dimension of `size`: negative ones count from the end,
// out-of-range values are clamped. Sizes reach 2^32 - 1, so sums wrap and say by that what is inside.
const INDEX_WORDS = 1u;
fn coordinate(word: u32, high: u32, size: u32) -> u32 {
  let ends = bitcast<i32>(word) < 0i; // counts from there
  let at = word + select(0u, size, ends);
  return select(select(size - 1u, 0u, ends), at, at < size);
}
