// Runs of elements, word by word of the output; a word in which a run begins or ends also holds what
// belongs to others, so only the run's bits are put into it.
#bind read input: u32
#bind atomic output: u32
override BITS: u32 = 8; // at most a word
override EDGES: bool = false; // only the units of 16 bytes in which a run begins and ends
override PER_WORD: u32 = 32u / BITS;
override UNIT: u32 = 128u / BITS; // elements in 16 bytes

fn move_one(id: u32) {
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let step = params.source_strides[inner / 4u][inner % 4u];
  let words = select((size + PER_WORD - 2u) / PER_WORD + 1u, 8u, EDGES); // that a run touches at most
  let row = id / words;
  let at = ends(row, 1u);
  let k = id - row * words;
  var word = at.address / PER_WORD + k;
  if (EDGES) { word = select(at.address, at.address + size, k >= 4u) / UNIT * 4u + k % 4u; }
  let mask = 0xffffffffu >> (32u - BITS);
  var bits = 0u;
  var own = 0u;
  for (var j = 0u; j < PER_WORD; j++) {
    let n = word * PER_WORD + j - at.address; // of the run; wraps where it has not begun
    if (n < size) {
      let e = at.source + n * step;
      let value = (load_input(e / PER_WORD) >> (e % PER_WORD * BITS)) & mask;
      bits |= value << (j * BITS);
      own |= mask << (j * BITS);
    }
  }
  if (own == 0xffffffffu) { store_output(word, bits); } else if (own != 0u) { merge_output(word, own, bits); }
}
