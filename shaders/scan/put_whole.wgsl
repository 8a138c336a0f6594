// Element `e` of an output whose elements are whole words.
#bind write output: u32
fn put(e: u32, v: Num) {
  let words = encode(v);
  store_output(e * NUM_WORDS, words.x);
  if (NUM_WORDS == 2u) { store_output(e * NUM_WORDS + 1u, words.y); }
}
