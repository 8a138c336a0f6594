// Philox 4x32-10, the counter-based random numbers of Salmon, Moraes, Dror and Shaw (2011): the four
// random words of a counter.
fn math_philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  #repeat 10: c = math_philox_round(c, key + $u * vec2<u32>(0x9e3779b9u, 0xbb67ae85u));
  return c;
}
// One round: two products of 32 bits, whose halves change places.
fn math_philox_round(c: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  let a = u64_product(0xd2511f53u, c.x);
  let b = u64_product(0xcd9e8d57u, c.z);
  return vec4<u32>(b.y ^ c.y ^ key.x, b.x, a.y ^ c.w ^ key.y, a.x);
}
// A counter of 128 bits, its lowest word first, with `n` added.
fn math_philox_advanced(counter: vec4<u32>, n: u32) -> vec4<u32> {
  var c = counter;
  c.x += n;
  var carry = u32(c.x < n);
  c.y += carry;
  carry = u32(carry == 1u && c.y == 0u);
  c.z += carry;
  carry = u32(carry == 1u && c.z == 0u);
  c.w += carry;
  return c;
}
// Word `i` of the state after `n` blocks: the counter moves on, the key stays.
fn math_philox_state(i: u32, a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, n: u32) -> u32 {
  let counter = math_philox_advanced(vec4<u32>(a, b, c, d), n);
  if (i < 4u) { return counter[i]; }
  return select(f, e, i == 4u);
}
