// INT64 and UINT64 arithmetic modulo 2^64 on two words, low word first.
#import units_of_two
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
