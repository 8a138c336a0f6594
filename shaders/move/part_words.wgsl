// Runs of elements smaller than a word, word by word of the output; a word in which a run begins or
// ends also holds what belongs to others, so only the run's bits are put into it.
#bind read input: u32
#bind atomic output: u32
override BITS: u32 = 8;
override PER_WORD: u32 = 32u / BITS;

fn move_one(id: u32) {
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let step = params.source_strides[inner / 4u][inner % 4u];
  let words = (size + PER_WORD - 2u) / PER_WORD + 1u; // that a run touches at most
  let row = id / words;
  let at = ends(row, 1u);
  let word = at.address / PER_WORD + (id - row * words);
  let mask = (1u << BITS) - 1u;
  var bits = 0u;
  var own = 0u;
  for (var k = 0u; k < PER_WORD; k++) {
    let n = word * PER_WORD + k - at.address; // of the run; wraps where it has not begun
    if (n < size) {
      let e = at.source + n * step;
      let value = (load_input(e / PER_WORD) >> (e % PER_WORD * BITS)) & mask;
      bits |= value << (k * BITS);
      own |= mask << (k * BITS);
    }
  }
  if (own == 0xffffffffu) { store_output(word, bits); } else if (own != 0u) { merge_output(word, own, bits); }
}
