// What a tuple of index values names: a place in the table of winners and one in the output.
// Needs params.{index_step, gather_sizes, gather_table} and load_indices.
override RANK: u32 = 1;
override TUPLE: u32 = 1; // coordinates per tuple
override INDEX_WORDS: u32 = 1;
override SIGNED: bool = false;

// Index value `i` as a coordinate of a dimension of `size`, or `size` and more where it is out of
// range. Negative ones count from the end; the sum wraps, and says by that what is inside.
fn coordinate(i: u32, size: u32) -> u32 {
  let low = load_indices(INDEX_WORDS * i);
  var high = 0u;
  if (INDEX_WORDS == 2u) { high = load_indices(2u * i + 1u); }
  let sign = select(low, high, INDEX_WORDS == 2u);
  let ends = SIGNED && sign > 0x7fffffffu;
  if (INDEX_WORDS == 2u && high != select(0u, 0xffffffffu, ends)) { return size; }
  if (!ends) { return low; }
  return select(size, low + size, 0u - low <= size && low != 0u);
}
