// The flagged elements themselves, of one word or two. Needs `flagged`.
#bind read input: u32
#bind write output: u32
override WORDS: u32 = 1; // of an element

fn element(e: u32) -> vec2<u32> {
  if (WORDS == 2u) { return vec2<u32>(load_input(2u * e), load_input(2u * e + 1u)); }
  return vec2<u32>(load_input(e), 0u);
}

fn put_element(at: u32, v: vec2<u32>) {
  store_output(WORDS * at, v.x);
  if (WORDS == 2u) { store_output(2u * at + 1u, v.y); }
}

fn put(number: u32, lane: u32, start: u32, count: u32) {
  let first = lane / 32u * 32u;
  for (var k = first; k < first + 32u; k += 8u) {
    #repeat 8: let f$ = flagged(number, k + $u, lane);
    #repeat 8: let v$ = element(select(0u, f$.element, f$.here));
    #repeat 8: if (f$.here) { put_element(start + f$.rank, v$); }
  }
}
