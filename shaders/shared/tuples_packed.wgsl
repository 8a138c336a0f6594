// A unit whose elements each have a tuple of their own, the tuples side by side in 4, 8 or 16 bytes
// each: index values are loaded 16 bytes at a time, and all loads are under way at once. Everything
// is written out, because drivers leave functions that are called this often uninlined.
// Needs what move_dense has.
#import tuple_words

fn by_tuples(source: u32, step: u32, tuple_at: u32, tuple_step: u32) -> vec4<u32> {
  var v = vec4<u32>();
  let first = tuple_at * INDEX_WORDS;
  if (first % 4u != 0u) {
    for (var k = 0u; k < UNIT; k++) {
      v = with_element(v, k, element(resolve(source + k * step, tuple_at + k * tuple_step)));
    }
    return v;
  }
  #repeat 16: var i$ = vec4<u32>(); if (UNIT > $u) { i$ = load_indices(first / 4u + $u * TUPLE_WORDS / 4u); }
  #repeat 16: let e$ = source + $u * step + moved_by_tuple(tuple_in(i$, $u));
  if (BITS == 64u) { return vec4<u32>(element(e0), element(e1)); }
  #repeat 16: var w$ = 0u; if (UNIT > $u) { w$ = load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u); }
  let mask = 0xffffffffu >> ((32u - BITS % 32u) % 32u);
  #repeat 16: if (UNIT > $u) { v[$u / PER_WORD % 4u] |= (w$ & mask) << ($u % PER_WORD * BITS % 32u); }
  return v;
}
