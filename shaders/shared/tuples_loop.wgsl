// A unit whose elements each have a tuple of their own. Needs what move_dense has.
fn by_tuples(source: u32, step: u32, tuple_at: u32, tuple_step: u32) -> vec4<u32> {
  if (BITS == 32u) {
    #repeat 4: let e$ = resolve(source + $u * step, tuple_at + $u * tuple_step);
    return vec4<u32>(load_input(e0), load_input(e1), load_input(e2), load_input(e3));
  }
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) {
    v = with_element(v, k, element(resolve(source + k * step, tuple_at + k * tuple_step)));
  }
  return v;
}
