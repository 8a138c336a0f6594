// UINT16 arithmetic: 32-bit running values, of which the low half is the exact result.
#import units_of_eight
alias Num = u32;
const EXACT = true; // any order of additions gives the same bits
const PER_UNIT = 8u;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0u; }
fn one() -> Num { return 1u; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(v, 0u); }
fn from_words(w: vec2<u32>) -> Num { return w.x; }
fn encode(v: Num) -> vec2<u32> { return vec2<u32>(v & 0xffffu, 0u); }
fn encode_pair(a: Num, b: Num) -> u32 { return encode(a).x | (encode(b).x << 16u); }
fn decode(w: vec2<u32>) -> Num { return w.x; }
fn unpack(u: vec4<u32>) -> Nums {
  let low = u & vec4<u32>(0xffffu);
  let high = u >> vec4<u32>(16u);
  return Nums(vec4<u32>(low.x, high.x, low.y, high.y), vec4<u32>(low.z, high.z, low.w, high.w));
}
fn pack(n: Nums) -> vec4<u32> {
  let low = vec4<u32>(n.a.xz, n.b.xz) & vec4<u32>(0xffffu);
  return low | (vec4<u32>(n.a.yw, n.b.yw) << vec4<u32>(16u));
}
