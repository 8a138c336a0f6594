// Philox 4x32-10, the counter-based random numbers of Salmon, Moraes, Dror and Shaw (2011).
struct math_philox_block { counter: vec4<u32>, key: vec2<u32> }
// One round: two products of 32 bits, whose halves change places.
fn math_philox_round(p: math_philox_block) -> math_philox_block {
  let a = u64_product(0xd2511f53u, p.counter.x);
  let b = u64_product(0xcd9e8d57u, p.counter.z);
  let next = vec4<u32>(b.y ^ p.counter.y ^ p.key.x, b.x, a.y ^ p.counter.w ^ p.key.y, a.x);
  return math_philox_block(next, p.key + vec2<u32>(0x9e3779b9u, 0xbb67ae85u));
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
// Random word `i`: word i % 4 of the block that the counter plus i / 4 gives.
fn math_philox(i: u32, a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) -> u32 {
  var p = math_philox_block(math_philox_advanced(vec4<u32>(a, b, c, d), i / 4u), vec2<u32>(e, f));
  for (var round = 0u; round < 10u; round++) { p = math_philox_round(p); }
  return p.counter[i % 4u];
}
// Word `i` of the state after `n` blocks: the counter moves on, the key stays.
fn math_philox_state(i: u32, a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, n: u32) -> u32 {
  let counter = math_philox_advanced(vec4<u32>(a, b, c, d), n);
  if (i < 4u) { return counter[i]; }
  return select(f, e, i == 4u);
}
