// Element by element; those smaller than a word are put into theirs atomically.
#bind read updates: u32
#bind atomic output: u32
override BITS: u32 = 32;
override PER_WORD: u32 = max(32u / BITS, 1u);

fn put(address: u32, source: u32, id: u32) {
  if (BITS == 64u) {
    store_output(2u * address, load_updates(2u * source));
    store_output(2u * address + 1u, load_updates(2u * source + 1u));
  } else if (BITS == 32u) {
    store_output(address, load_updates(source));
  } else {
    let mask = (1u << (BITS % 32u)) - 1u;
    let value = (load_updates(source / PER_WORD) >> (source % PER_WORD * BITS)) & mask;
    let shift = address % PER_WORD * BITS;
    merge_output(address / PER_WORD, mask << shift, value << shift);
  }
}
