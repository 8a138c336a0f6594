// Element `e` of a 16-bit output; its neighbour in the word may be another invocation's.
#bind atomic output: u32
fn put(e: u32, v: Num) {
  let shift = e % 2u * 16u;
  merge_output(e / 2u, 0xffffu << shift, encode(v).x << shift);
}
