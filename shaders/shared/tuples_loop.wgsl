// A unit whose elements each have a tuple of their own. Needs what move_dense has.
fn by_tuples(source: u32, step: u32, tuple_at: u32, tuple_step: u32) -> vec4<u32> {
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) {
    v = with_element(v, k, element(resolve(source + k * step, tuple_at + k * tuple_step)));
  }
  return v;
}
