// FLOAT32 arithmetic.
alias Num = f32;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0.0; }
fn one() -> Num { return 1.0; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn from_words(w: vec2<u32>) -> Num { return bitcast<f32>(w.x); }
fn value_at(e: u32) -> Num { return bitcast<f32>(load_input(e)); }
fn encode(v: Num) -> vec2<u32> { return to_words(v); }
