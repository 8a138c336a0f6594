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
// Four halves, each in the low 16 bits of a word.
fn halves_to_floats(h: vec4<u32>) -> vec4<f32> {
  let sign = (h & vec4<u32>(0x8000u)) << vec4<u32>(16u);
  let magnitude = h & vec4<u32>(0x7fffu);
  let shifted_up = magnitude << vec4<u32>(13u);
  let normal = shifted_up + vec4<u32>(0x38000000u);
  let special = shifted_up | vec4<u32>(0x7f800000u); // infinity and NaN
  let tiny = bitcast<vec4<u32>>(vec4<f32>(magnitude) * 5.9604644775390625e-8); // 2^-24, exact
  let finite = select(tiny, normal, magnitude >= vec4<u32>(0x0400u));
  return bitcast<vec4<f32>>(sign | select(finite, special, magnitude >= vec4<u32>(0x7c00u)));
}
// Nearest, ties to even; overflow to infinity.
fn floats_to_halves(v: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<u32>>(v);
  let sign = (bits >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
  let magnitude = bits & vec4<u32>(0x7fffffffu);
  let odd = (magnitude >> vec4<u32>(13u)) & vec4<u32>(1u);
  let normal = (magnitude - vec4<u32>(0x38000000u) + vec4<u32>(0xfffu) + odd) >> vec4<u32>(13u);
  // Below 2^-14 the result counts multiples of 2^-24: the mantissa, shifted and rounded.
  let exponent = min(magnitude >> vec4<u32>(23u), vec4<u32>(112u));
  let shift = min(vec4<u32>(126u) - exponent, vec4<u32>(25u));
  let mantissa = (magnitude & vec4<u32>(0x7fffffu)) | vec4<u32>(0x800000u);
  let whole = mantissa >> shift;
  let tie = vec4<u32>(1u) << (shift - vec4<u32>(1u));
  let rest = mantissa & ((vec4<u32>(1u) << shift) - vec4<u32>(1u));
  let up = (rest > tie) | ((rest == tie) & ((whole & vec4<u32>(1u)) == vec4<u32>(1u)));
  let tiny = whole + select(vec4<u32>(0u), vec4<u32>(1u), up);
  var half = select(tiny, normal, magnitude >= vec4<u32>(0x38800000u));
  half = select(half, vec4<u32>(0x7c00u), magnitude >= vec4<u32>(0x477ff000u));
  half = select(half, vec4<u32>(0x7e00u), magnitude > vec4<u32>(0x7f800000u));
  return sign | half;
}
fn encode(v: Num) -> vec2<u32> { return vec2<u32>(floats_to_halves(vec4<f32>(v)).x, 0u); }
fn decode(w: vec2<u32>) -> Num { return halves_to_floats(w.xxxx).x; }
fn unpack(u: vec4<u32>) -> Nums {
  let low = halves_to_floats(u & vec4<u32>(0xffffu));
  let high = halves_to_floats(u >> vec4<u32>(16u));
  return Nums(vec4<f32>(low.x, high.x, low.y, high.y), vec4<f32>(low.z, high.z, low.w, high.w));
}
fn pack(n: Nums) -> vec4<u32> {
  let low = floats_to_halves(vec4<f32>(n.a.xz, n.b.xz));
  return low | (floats_to_halves(vec4<f32>(n.a.yw, n.b.yw)) << vec4<u32>(16u));
}
