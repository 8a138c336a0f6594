// Pieces of one word or two.
#bind read input: u32
#bind read updates: u32
#bind write output: u32
override WORDS: u32 = 1;

fn piece(place: u32, update: u32, is_updated: bool) -> vec4<u32> {
  let from_ = WORDS * select(place, 0u, is_updated);
  let other = WORDS * select(0u, update, is_updated);
  var v = vec4<u32>(select(load_input(from_), load_updates(other), is_updated), 0u, 0u, 0u);
  if (WORDS == 2u) { v.y = select(load_input(from_ + 1u), load_updates(other + 1u), is_updated); }
  return v;
}

fn put(address: u32, v: vec4<u32>) {
  store_output(WORDS * address, v.x);
  if (WORDS == 2u) { store_output(WORDS * address + 1u, v.y); }
}
