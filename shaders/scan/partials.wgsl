// Totals of segments, or what comes before them, between the passes of a scan. Needs num.
#bind write partials: u32
fn load_partial(i: u32) -> Num {
  var words = vec2<u32>(load_partials(i * NUM_WORDS), 0u);
  if (NUM_WORDS == 2u) { words.y = load_partials(i * NUM_WORDS + 1u); }
  return from_words(words);
}
fn store_partial(i: u32, value: Num) {
  let words = to_words(value);
  store_partials(i * NUM_WORDS, words.x);
  if (NUM_WORDS == 2u) { store_partials(i * NUM_WORDS + 1u, words.y); }
}
