// Pieces smaller than a word, which are put into theirs atomically.
#bind read input: u32
#bind read updates: u32
#bind atomic output: u32
override BITS: u32 = 8;
override PER_WORD: u32 = 32u / BITS;
override ONE: u32 = (1u << BITS) - 1u;

fn piece(place: u32, update: u32, is_updated: bool) -> vec4<u32> {
  let from_ = select(place, 0u, is_updated);
  let other = select(0u, update, is_updated);
  let a = load_input(from_ / PER_WORD) >> (from_ % PER_WORD * BITS);
  let b = load_updates(other / PER_WORD) >> (other % PER_WORD * BITS);
  return vec4<u32>(select(a, b, is_updated) & ONE, 0u, 0u, 0u);
}

fn put(address: u32, v: vec4<u32>) {
  let shift = address % PER_WORD * BITS;
  merge_output(address / PER_WORD, ONE << shift, v.x << shift);
}
