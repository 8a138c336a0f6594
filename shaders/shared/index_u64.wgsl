// Index value `i` as a coordinate of a dimension of `size`; the whole 64-bit value decides.
fn coordinate(i: u32, size: u32) -> u32 {
  return select(min(load_indices(2u * i), size - 1u), size - 1u, load_indices(2u * i + 1u) != 0u);
}
