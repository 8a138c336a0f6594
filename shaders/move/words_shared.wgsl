// Words of the output, of which some also hold what belongs to others and are put together atomically.
#bind atomic output: u32

fn put(word: u32, own: u32, bits: u32) {
  if (own == 0xffffffffu) {
    store_output(word, bits);
  } else if (own != 0u) {
    merge_output(word, own, bits);
  }
}
