// What a tuple of index values names: a place in the table of winners and one in the output.
// Needs load_indices.
#param count: u32
#param index_step: u32 // index elements between the coordinates of one tuple
#param table_first: u32 // place that the table begins with
#param table_size: u32
#param sizes: array<vec4<u32>, 2>
#param tuple_strides: array<vec4<u32>, 2>
#param table_strides: array<vec4<u32>, 2>
#param gather_sizes: array<vec4<u32>, 2> // of the dimensions the coordinates select from
#param gather_table: array<vec4<u32>, 2>
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
