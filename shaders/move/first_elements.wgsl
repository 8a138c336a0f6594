// The bits of the first `m` elements of a unit.
fn first_elements(m: u32) -> vec4<u32> {
  let words = vec4<u32>(m * BITS / 32u);
  let some = vec4<u32>((1u << (m * BITS % 32u)) - 1u);
  let number = vec4<u32>(0u, 1u, 2u, 3u);
  return select(select(vec4<u32>(), some, words == number), vec4<u32>(0xffffffffu), words > number);
}
