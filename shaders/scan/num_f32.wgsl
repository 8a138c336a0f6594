// FLOAT32 arithmetic.
#import units_of_four
alias Num = f32;
const EXACT = false; // the order of operations decides the last bits
const PER_UNIT = 4u;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0.0; }
fn one() -> Num { return 1.0; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn from_words(w: vec2<u32>) -> Num { return bitcast<f32>(w.x); }
fn encode(v: Num) -> vec2<u32> { return to_words(v); }
fn decode(w: vec2<u32>) -> Num { return bitcast<f32>(w.x); }
alias Nums = vec4<f32>; // the elements of 16 bytes
fn unpack(u: vec4<u32>) -> Nums { return bitcast<vec4<f32>>(u); }
fn pack(n: Nums) -> vec4<u32> { return bitcast<vec4<u32>>(n); }
