// Elements smaller than a word whose runs lie side by side in the source, a word at a time.
#bind read input: u32
override PER_WORD: u32 = 32u / BITS;

fn take_in(tile: Tile, lane: u32) {
  let words = (SOURCE_RUN + PER_WORD - 2u) / PER_WORD + 1u; // that a run touches at most
  for (var k = lane; k < ELEMENTS / SOURCE_RUN * words; k += WG_SIZE) {
    let r = k / words;
    let run = from_source_run(r, tile);
    let word = run.address / PER_WORD + (k - r * words);
    let before = word * PER_WORD - run.address; // elements of the run; wraps where it begins here
    let value = select(0u, load_input(word), run.inside && (before < SOURCE_RUN || k == r * words));
    for (var q = 0u; q < PER_WORD; q++) {
      let t = before + q;
      let step = from_source_step(t, tile);
      if (run.inside && t < SOURCE_RUN && step.inside) {
        held[run.held + step.held] = (value >> (q * BITS)) & ((1u << BITS) - 1u);
      }
    }
  }
}
