// FLOAT16 values in FLOAT32 arithmetic, converted with integer operations: pack2x16float leaves
// rounding and overflow open, and unpack2x16float is not available on every driver.
#import units_of_eight
alias Num = f32;
const EXACT = false; // the order of operations decides the last bits
const PER_UNIT = 8u;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0.0; }
fn one() -> Num { return 1.0; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn from_words(w: vec2<u32>) -> Num { return bitcast<f32>(w.x); }
fn encode(v: Num) -> vec2<u32> { return float16_encode(v); }
fn encode_pair(a: Num, b: Num) -> u32 { return encode(a).x | (encode(b).x << 16u); }
fn decode(w: vec2<u32>) -> Num { return float16_decode(w); }
fn unpack(u: vec4<u32>) -> Nums {
  let low = float16_decode4(u & vec4<u32>(0xffffu));
  let high = float16_decode4(u >> vec4<u32>(16u));
  return Nums(vec4<f32>(low.x, high.x, low.y, high.y), vec4<f32>(low.z, high.z, low.w, high.w));
}
fn pack(n: Nums) -> vec4<u32> {
  let low = float16_encode4(vec4<f32>(n.a.xz, n.b.xz));
  return low | (float16_encode4(vec4<f32>(n.a.yw, n.b.yw)) << vec4<u32>(16u));
}
