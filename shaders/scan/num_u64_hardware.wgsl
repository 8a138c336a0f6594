// INT64 and UINT64 arithmetic modulo 2^64 on two words, low word first, by the hardware: only for
// adapters whose shaders have 64-bit integers.
#import units_of_two
alias Num = vec2<u32>;
const EXACT = true; // any order of additions gives the same bits
const PER_UNIT = 2u;
const NUM_WORDS = 2u;
fn zero() -> Num { return vec2<u32>(0u, 0u); }
fn one() -> Num { return vec2<u32>(1u, 0u); }
fn wide(a: Num) -> u64 { return u64(a.x) | (u64(a.y) << 32u); }
fn add(a: Num, b: Num) -> Num {
  let sum = wide(a) + wide(b);
  return vec2<u32>(u32(sum), u32(sum >> 32u));
}
fn mul(a: Num, b: Num) -> Num {
  let low = u64(a.x) * u64(b.x);
  return vec2<u32>(u32(low), u32(low >> 32u) + a.x * b.y + a.y * b.x);
}
fn to_words(v: Num) -> vec2<u32> { return v; }
fn from_words(w: vec2<u32>) -> Num { return w; }
fn encode(v: Num) -> vec2<u32> { return v; }
fn decode(w: vec2<u32>) -> Num { return w; }
