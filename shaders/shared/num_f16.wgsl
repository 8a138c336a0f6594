// FLOAT16 values in FLOAT32 arithmetic, converted with integer operations: pack2x16float leaves
// rounding and overflow open, and unpack2x16float is not available on every driver.
alias Num = f32;
const PER_UNIT = 8u;
const NUM_WORDS = 1u;
fn zero() -> Num { return 0.0; }
fn one() -> Num { return 1.0; }
fn add(a: Num, b: Num) -> Num { return a + b; }
fn mul(a: Num, b: Num) -> Num { return a * b; }
fn to_words(v: Num) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn from_words(w: vec2<u32>) -> Num { return bitcast<f32>(w.x); }
fn half_to_float(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) { return bitcast<f32>(sign | 0x7f800000u | (magnitude << 13u)); }
  if (magnitude >= 0x0400u) { return bitcast<f32>(sign | ((magnitude << 13u) + 0x38000000u)); }
  let tiny = f32(magnitude) * 5.9604644775390625e-8; // 2^-24, exact
  return bitcast<f32>(bitcast<u32>(tiny) | sign);
}
// Nearest, ties to even; overflow to infinity.
fn float_to_half(v: f32) -> u32 {
  let bits = bitcast<u32>(v);
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
  if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }
  if (magnitude >= 0x38800000u) {
    return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
  }
  let exponent = magnitude >> 23u;
  if (exponent < 102u) { return sign; }
  let shift = 126u - exponent; // 14 to 24
  let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  let rest = mantissa & ((1u << shift) - 1u);
  let tie = 1u << (shift - 1u);
  let whole = mantissa >> shift;
  let up = rest > tie || (rest == tie && (whole & 1u) == 1u);
  return sign | (whole + select(0u, 1u, up));
}
fn encode(v: Num) -> vec2<u32> { return vec2<u32>(float_to_half(v), 0u); }
fn decode(w: vec2<u32>) -> Num { return half_to_float(w.x); }
alias Nums = array<Num, 8>; // the elements of 16 bytes
fn unpack(u: vec4<u32>) -> Nums {
  let low = u & vec4<u32>(0xffffu);
  let high = u >> vec4<u32>(16u);
  return Nums(half_to_float(low.x), half_to_float(high.x), half_to_float(low.y),
    half_to_float(high.y), half_to_float(low.z), half_to_float(high.z), half_to_float(low.w),
    half_to_float(high.w));
}
fn pack(n: Nums) -> vec4<u32> {
  return vec4<u32>(float_to_half(n[0]) | (float_to_half(n[1]) << 16u),
    float_to_half(n[2]) | (float_to_half(n[3]) << 16u),
    float_to_half(n[4]) | (float_to_half(n[5]) << 16u),
    float_to_half(n[6]) | (float_to_half(n[7]) << 16u));
}
