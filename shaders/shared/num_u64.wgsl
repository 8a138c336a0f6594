// INT64 and UINT64 arithmetic modulo 2^64 on two words, low word first.
alias Num = vec2<u32>;
const EXACT = true; // any order of additions gives the same bits
const PER_UNIT = 2u;
const NUM_WORDS = 2u;
fn zero() -> Num { return vec2<u32>(0u, 0u); }
fn one() -> Num { return vec2<u32>(1u, 0u); }
fn add(a: Num, b: Num) -> Num {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
// High word of the 64-bit product of two words, from 16-bit halves.
fn mul_high(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let carry = a0 * b1 + (middle & 0xffffu);
  return a1 * b1 + (middle >> 16u) + (carry >> 16u);
}
fn mul(a: Num, b: Num) -> Num {
  return vec2<u32>(a.x * b.x, mul_high(a.x, b.x) + a.x * b.y + a.y * b.x);
}
fn to_words(v: Num) -> vec2<u32> { return v; }
fn from_words(w: vec2<u32>) -> Num { return w; }
fn encode(v: Num) -> vec2<u32> { return v; }
fn decode(w: vec2<u32>) -> Num { return w; }
struct Nums { // the elements of 16 bytes
  a: Num,
  b: Num,
}
fn unpack(u: vec4<u32>) -> Nums { return Nums(u.xy, u.zw); }
fn pack(n: Nums) -> vec4<u32> { return vec4<u32>(n.a, n.b); }
fn side_by_side(a: Nums, b: Nums) -> Nums { return Nums(combine(a.a, b.a), combine(a.b, b.b)); }
// Results of a unit that begins from `start`.
fn running(start: Num, n: Nums) -> Nums {
  let a = combine(start, n.a);
  return Nums(a, combine(a, n.b));
}
fn shifted(start: Num, n: Nums) -> Nums { return Nums(start, n.a); }
fn last(n: Nums) -> Num { return n.b; }
fn total(n: Nums) -> Num { return combine(n.a, n.b); }
fn turned(n: Nums) -> Nums { return Nums(n.b, n.a); }
// Elements `low` to `high` of `n`, the others of `other`.
fn chosen(n: Nums, other: Nums, low: u32, high: u32) -> Nums {
  return Nums(select(other.a, n.a, low < 1u && high > 0u),
    select(other.b, n.b, low < 2u && high > 1u));
}
fn from_array(a: array<Num, 2>) -> Nums { return Nums(a[0], a[1]); }
fn to_array(n: Nums) -> array<Num, 2> { return array<Num, 2>(n.a, n.b); }
fn identities() -> Nums { return Nums(identity(), identity()); }
