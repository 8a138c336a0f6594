// Index value `i` as a coordinate of a dimension of `size`: negative ones count from the end; the
// whole 64-bit value decides what is out of range and clamped.
fn coordinate(i: u32, size: u32) -> u32 {
  let low = load_indices(2u * i);
  let high = load_indices(2u * i + 1u);
  if (bitcast<i32>(high) >= 0i) { return select(min(low, size - 1u), size - 1u, high != 0u); }
  // The negated value fits 32 bits only when the high word is all ones and the low one is not 0.
  let from_end = 0u - low;
  let fits = high == 0xffffffffu && low != 0u && from_end <= size;
  return select(0u, size - from_end, fits);
}
