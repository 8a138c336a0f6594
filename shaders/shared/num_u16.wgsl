// UINT16 arithmetic: 32-bit running values, of which the low half is the exact result.
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
fn decode(w: vec2<u32>) -> Num { return w.x; }
struct Nums { // the elements of 16 bytes
  a: vec4<Num>,
  b: vec4<Num>,
}
fn unpack(u: vec4<u32>) -> Nums {
  let low = u & vec4<u32>(0xffffu);
  let high = u >> vec4<u32>(16u);
  return Nums(vec4<u32>(low.x, high.x, low.y, high.y), vec4<u32>(low.z, high.z, low.w, high.w));
}
fn pack(n: Nums) -> vec4<u32> {
  let low = vec4<u32>(n.a.xz, n.b.xz) & vec4<u32>(0xffffu);
  return low | (vec4<u32>(n.a.yw, n.b.yw) << vec4<u32>(16u));
}
fn side_by_side_4(a: vec4<Num>, b: vec4<Num>) -> vec4<Num> {
  return vec4<Num>(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}
fn side_by_side(a: Nums, b: Nums) -> Nums {
  return Nums(side_by_side_4(a.a, b.a), side_by_side_4(a.b, b.b));
}
// Results of a unit that begins from `start`.
fn running(start: Num, n: Nums) -> Nums {
  let a = running_4(start, n.a);
  return Nums(a, running_4(a.w, n.b));
}
fn running_4(start: Num, n: vec4<Num>) -> vec4<Num> {
  let a = combine(start, n.x);
  let b = combine(a, n.y);
  let c = combine(b, n.z);
  return vec4<Num>(a, b, c, combine(c, n.w));
}
fn shifted(start: Num, n: Nums) -> Nums {
  return Nums(vec4<Num>(start, n.a.xyz), vec4<Num>(n.a.w, n.b.xyz));
}
fn last(n: Nums) -> Num { return n.b.w; }
fn total(n: Nums) -> Num {
  return combine(combine(combine(combine(combine(combine(combine(n.a.x, n.a.y), n.a.z), n.a.w),
    n.b.x), n.b.y), n.b.z), n.b.w);
}
fn turned(n: Nums) -> Nums { return Nums(n.b.wzyx, n.a.wzyx); }
fn from_array(a: array<Num, 8>) -> Nums {
  return Nums(vec4<Num>(a[0], a[1], a[2], a[3]), vec4<Num>(a[4], a[5], a[6], a[7]));
}
fn to_array(n: Nums) -> array<Num, 8> {
  return array<Num, 8>(n.a.x, n.a.y, n.a.z, n.a.w, n.b.x, n.b.y, n.b.z, n.b.w);
}
fn identities() -> Nums { return Nums(vec4<Num>(identity()), vec4<Num>(identity())); }
