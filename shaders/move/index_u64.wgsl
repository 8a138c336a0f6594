// A 64-bit index value as a coordinate of a dimension of `size`; the whole value decides.
const INDEX_WORDS = 2u;
fn coordinate(low: u32, high: u32, size: u32) -> u32 {
  return select(min(low, size - 1u), size - 1u, high != 0u);
}
