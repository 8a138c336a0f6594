// INT32 and UINT32 arithmetic: modulo 2^32 the two have the same bits.
alias Num = u32;
const EXACT = true; // any order of additions gives the same bits
const PER_UNIT = 4u;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0u; }
fn one() -> Num { return 1u; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(v, 0u); }
fn from_words(w: vec2<u32>) -> Num { return w.x; }
fn encode(v: Num) -> vec2<u32> { return to_words(v); }
fn decode(w: vec2<u32>) -> Num { return w.x; }
alias Nums = vec4<u32>; // the elements of 16 bytes
fn unpack(u: vec4<u32>) -> Nums { return u; }
fn pack(n: Nums) -> vec4<u32> { return n; }
fn side_by_side(a: Nums, b: Nums) -> Nums { return Nums(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w)); }
// Results of a unit that begins from `start`.
fn running(start: Num, n: Nums) -> Nums {
  let a = combine(start, n.x);
  let b = combine(a, n.y);
  let c = combine(b, n.z);
  return Nums(a, b, c, combine(c, n.w));
}
fn shifted(start: Num, n: Nums) -> Nums { return Nums(start, n.xyz); }
fn last(n: Nums) -> Num { return n.w; }
fn total(n: Nums) -> Num { return combine(combine(combine(n.x, n.y), n.z), n.w); }
fn turned(n: Nums) -> Nums { return n.wzyx; }
fn from_array(a: array<Num, 4>) -> Nums { return Nums(a[0], a[1], a[2], a[3]); }
fn to_array(n: Nums) -> array<Num, 4> { return array<Num, 4>(n.x, n.y, n.z, n.w); }
fn identities() -> Nums { return Nums(identity()); }
