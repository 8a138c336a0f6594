// Words of the output that no other workgroup writes.
#bind write output: u32

fn put(word: u32, own: u32, bits: u32) {
  if (own != 0u) { store_output(word, bits); }
}
