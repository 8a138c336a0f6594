// INT32 and UINT32 arithmetic: modulo 2^32 the two have the same bits.
#import units_of_four
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
