// A 32-bit index value as a coordinate of a dimension of `size`: negative values count from the end,
// and values out of range are clamped. The sum of a negative value and the size wraps at 2^32; it is
// below the size where the value is in range.
const INDEX_WORDS = 1u;
fn coordinate(word: u32, high: u32, size: u32) -> u32 {
  let ends = bitcast<i32>(word) < 0i; // counts from there
  let at = word + select(0u, size, ends);
  return select(select(size - 1u, 0u, ends), at, at < size);
}
