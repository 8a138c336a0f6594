// Moves elements one by one, where runs are shorter than a unit: one invocation makes up to four words
// of the output, gaps between elements included, or elements of 64 bits, a workgroup apart. Neighbours
// read neighbours, and all loads of an invocation are under way at once.
// Needs tuple_stride and resolve.
#bind read input: u32
#bind write output: u32
#import invocation/in_workgroup
#import place
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override WORDS: u32 = 1; // that an invocation makes
override PER_WORD: u32 = max(32u / BITS, 1u);

// The words of an element of 32 or 64 bits.
fn element(e: u32) -> vec2<u32> {
  if (BITS == 64u) { return vec2<u32>(load_input(2u * e), load_input(2u * e + 1u)); }
  return vec2<u32>(load_input(e), 0u);
}

fn put(made: u32, at: Place, v: vec2<u32>) {
  if (made >= params.count) { return; }
  let value = select(vec2<u32>(), v, is_element(at));
  if (BITS == 64u) {
    store_output(2u * made, value.x);
    store_output(2u * made + 1u, value.y);
  } else {
    store_output(made, value.x);
  }
}

// A word of several elements.
fn joined(made: u32) -> u32 {
  #repeat 4: let at$ = place(made * PER_WORD + min($u, PER_WORD - 1u)); let e$ = resolve(at$.source, at$.tuple_at);
  #repeat 4: let w$ = load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u);
  let mask = 0xffffffffu >> ((32u - BITS % 32u) % 32u);
  var word = 0u;
  #repeat 4: if (PER_WORD > $u && is_element(at$)) { word |= (w$ & mask) << ($u * BITS % 32u); }
  return word;
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let first = group_of(me) * WORDS * WG_SIZE + me.lane;
  let last = params.count - 1u;
  if (BITS < 32u) {
    #repeat 4: var word$ = 0u; if (WORDS > $u) { word$ = joined(min(first + $u * WG_SIZE, last)); }
    #repeat 4: if (WORDS > $u && first + $u * WG_SIZE <= last) { store_output(first + $u * WG_SIZE, word$); }
    return;
  }
  #repeat 4: var at$ = Place(); var e$ = 0u; if (WORDS > $u) { at$ = place(min(first + $u * WG_SIZE, last)); e$ = resolve(at$.source, at$.tuple_at); }
  #repeat 4: var v$ = vec2<u32>(); if (WORDS > $u) { v$ = element(e$); }
  #repeat 4: if (WORDS > $u) { put(first + $u * WG_SIZE, at$, v$); }
}
