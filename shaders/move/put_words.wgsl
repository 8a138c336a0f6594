// Elements smaller than a word, a word of the output at a time. A tile owns the words that begin in
// it, and the one in which the whole run begins; a word that also holds what belongs to others is put
// together atomically.
#bind atomic output: u32

fn put_out(tile: Tile, lane: u32) {
  let per_word = 32u / BITS;
  let words = (OUTPUT_RUN + per_word - 2u) / per_word + 1u; // that a run touches at most
  for (var k = lane; k < ELEMENTS / OUTPUT_RUN * words; k += WG_SIZE) {
    let r = k / words;
    let run = from_output_run(r, tile);
    let word = run.address / per_word + (k - r * words);
    let before = word * per_word - run.address; // elements of the run; wraps where it begins here
    let is_mine = before < OWN || (tile.begins && k == r * words);
    if (run.inside && is_mine) {
      var bits = 0u;
      var own = 0u;
      for (var q = 0u; q < per_word; q++) {
        let t = before + q;
        let step = from_output_step(t, tile);
        if (t < OUTPUT_RUN && step.inside) {
          bits |= held[run.held + step.held] << (q * BITS);
          own |= ((1u << BITS) - 1u) << (q * BITS);
        }
      }
      if (own == 0xffffffffu) {
        store_output(word, bits);
      } else if (own != 0u) {
        merge_output(word, own, bits);
      }
    }
  }
}
