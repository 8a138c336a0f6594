// FLOAT16 values in FLOAT32 arithmetic, converted by the hardware: only for adapters that are known
// to round to nearest-even, to overflow to infinity and to keep denormals, as num_f16.wgsl does.
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
fn encode(v: Num) -> vec2<u32> { return vec2<u32>(pack2x16float(vec2<f32>(v, 0.0)) & 0xffffu, 0u); }
fn encode_pair(a: Num, b: Num) -> u32 { return pack2x16float(vec2<f32>(a, b)); }
fn decode(w: vec2<u32>) -> Num { return unpack2x16float(w.x).x; }
fn unpack(u: vec4<u32>) -> Nums {
  return Nums(vec4<f32>(unpack2x16float(u.x), unpack2x16float(u.y)),
    vec4<f32>(unpack2x16float(u.z), unpack2x16float(u.w)));
}
fn pack(n: Nums) -> vec4<u32> {
  return vec4<u32>(pack2x16float(n.a.xy), pack2x16float(n.a.zw), pack2x16float(n.b.xy),
    pack2x16float(n.b.zw));
}
