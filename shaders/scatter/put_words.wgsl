// Runs of elements smaller than a word, word by word of the output. A word in which a run begins or
// ends also holds what belongs to others, so only the run's bits are put into it.
#param run: u32 // elements
#param turns: u32 // invocations that share a run
#bind read updates: u32
#bind atomic output: u32
override BITS: u32 = 8;
override PER_WORD: u32 = 32u / BITS;
override EACH: u32 = 1; // words of an invocation

// The bits of the first elements of a word.
fn first_bits(elements: u32) -> u32 {
  return select((1u << (elements * BITS % 32u)) - 1u, 0xffffffffu, elements >= PER_WORD);
}

fn put(address: u32, source: u32, id: u32) {
  let first = address / PER_WORD + id % params.turns * EACH;
  for (var k = 0u; k < EACH; k++) { put_word(address, source, first + k); }
}

fn put_word(address: u32, source: u32, word: u32) {
  let begin = word * PER_WORD;
  let end = address + params.run;
  if (begin >= end) { return; }
  // The word's elements in the updates, of which those before and behind the run are not its own.
  let from_ = source + PER_WORD + begin - address;
  let near = max(from_ / PER_WORD, source / PER_WORD + 1u) - 1u;
  let far = min(from_ / PER_WORD, (source + params.run - 1u) / PER_WORD);
  let shift = from_ % PER_WORD * BITS;
  let high = select(load_updates(far) << ((32u - shift) % 32u), 0u, shift == 0u);
  let own = first_bits(end - begin) & ~first_bits(max(address, begin) - begin);
  let bits = (load_updates(near) >> shift) | high;
  if (own == 0xffffffffu) { store_output(word, bits); } else { merge_output(word, own, bits & own); }
}
