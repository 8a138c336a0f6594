// INT64 and UINT64 arithmetic modulo 2^64 on two words, low word first.
alias Num = vec2<u32>;
const EXACT = true; // any order of additions gives the same bits
const PER_UNIT = 2u;
const NUM_WORDS = 2u;
fn zero() -> Num { return vec2<u32>(0u, 0u); }
fn one() -> Num { return vec2<u32>(1u, 0u); }
fn add(a: Num, b: Num) -> Num { return u64_add(a, b); }
fn mul(a: Num, b: Num) -> Num { return u64_mul(a, b); }
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
// The same, beginning anew with elements whose bits are set in `begins`.
fn running_anew(start: Num, n: Nums, begins: u32) -> Nums {
  let a = combine(select(start, identity(), (begins & 1u) != 0u), n.a);
  return Nums(a, combine(select(a, identity(), (begins & 2u) != 0u), n.b));
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
// `n`, with nothing in the elements whose bits are set.
fn emptied(n: Nums, bits: u32) -> Nums {
  return Nums(select(n.a, identity(), (bits & 1u) != 0u), select(n.b, identity(), (bits & 2u) != 0u));
}
fn from_array(a: array<Num, 2>) -> Nums { return Nums(a[0], a[1]); }
fn to_array(n: Nums) -> array<Num, 2> { return array<Num, 2>(n.a, n.b); }
fn identities() -> Nums { return Nums(identity(), identity()); }
