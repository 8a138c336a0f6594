// A unit whose elements each have a tuple of their own, all loads under way at once. Needs what
// move_dense has.
fn by_tuples(source: u32, step: u32, tuple_at: u32, tuple_step: u32) -> vec4<u32> {
  var v = vec4<u32>();
  #repeat 16: var e$ = 0u; if (UNIT > $u) { e$ = resolve(source + $u * step, tuple_at + $u * tuple_step); }
  #repeat 16: var w$ = vec2<u32>(); if (UNIT > $u) { w$ = element(e$); }
  #repeat 16: if (UNIT > $u) { v = with_element(v, $u, w$); }
  return v;
}
