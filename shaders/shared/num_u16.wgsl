// UINT16 arithmetic: 32-bit running values, of which the low half is the exact result.
alias Num = u32;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0u; }
fn one() -> Num { return 1u; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(v, 0u); }
fn from_words(w: vec2<u32>) -> Num { return w.x; }
fn value_at(e: u32) -> Num { return (load_input(e / 2u) >> (e % 2u * 16u)) & 0xffffu; }
fn encode(v: Num) -> vec2<u32> { return vec2<u32>(v & 0xffffu, 0u); }
