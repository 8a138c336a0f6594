// Element `e` of a 64-bit output.
#bind write output: u32
fn put(e: u32, v: Num) {
  let words = encode(v);
  store_output(2u * e, words.x);
  store_output(2u * e + 1u, words.y);
}
