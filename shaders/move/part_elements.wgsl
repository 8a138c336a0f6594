// Element by element; those smaller than a word are put into theirs atomically.
#bind read input: u32
#bind atomic output: u32
override BITS: u32 = 32;
override PER_WORD: u32 = max(32u / BITS, 1u);

fn move_one(id: u32) {
  let at = ends(id, 0u);
  if (BITS == 64u) {
    store_output(2u * at.address, load_input(2u * at.source));
    store_output(2u * at.address + 1u, load_input(2u * at.source + 1u));
  } else if (BITS == 32u) {
    store_output(at.address, load_input(at.source));
  } else {
    let mask = (1u << (BITS % 32u)) - 1u;
    let value = (load_input(at.source / PER_WORD) >> (at.source % PER_WORD * BITS)) & mask;
    let shift = at.address % PER_WORD * BITS;
    merge_output(at.address / PER_WORD, mask << shift, value << shift);
  }
}
