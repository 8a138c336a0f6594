// INT32 and UINT32 arithmetic: modulo 2^32 the two have the same bits.
alias Num = u32;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0u; }
fn one() -> Num { return 1u; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(v, 0u); }
fn from_words(w: vec2<u32>) -> Num { return w.x; }
fn value_at(e: u32) -> Num { return load_input(e); }
fn encode(v: Num) -> vec2<u32> { return to_words(v); }
