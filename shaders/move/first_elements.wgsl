// The bits of the first `m` elements of a unit.
fn first_elements(m: u32) -> vec4<u32> {
  let bits = vec4<i32>(i32(m * BITS)) - vec4<i32>(0, 32, 64, 96);
  let some = (vec4<u32>(1u) << vec4<u32>(clamp(bits, vec4<i32>(0), vec4<i32>(31)))) - vec4<u32>(1u);
  return select(some, vec4<u32>(0xffffffffu), bits >= vec4<i32>(32));
}
