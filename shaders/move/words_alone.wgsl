// Words of the output that no other workgroup writes.
#bind write output: u32

fn put(word: u32, bits: u32) { store_output(word, bits); }
