// Single elements of 16 bits; the neighbour in a word may be another invocation's. Needs num.
#bind read input: u32
#bind atomic output: u32
fn value_at(e: u32) -> Num {
  return decode(vec2<u32>((load_input(e / 2u) >> (e % 2u * 16u)) & 0xffffu, 0u));
}
fn put(e: u32, v: Num) {
  let shift = e % 2u * 16u;
  merge_output(e / 2u, 0xffffu << shift, encode(v).x << shift);
}
