// The data type FLOAT16: elements in the class f32, converted with integer operations, since
// pack2x16float leaves rounding and overflow open and unpack2x16float is not on every driver.
//
// Four elements at once, each in the low 16 bits of a word.
fn float16_decode4(h: vec4<u32>) -> vec4<f32> {
  let sign = (h & vec4<u32>(0x8000u)) << vec4<u32>(16u);
  let magnitude = h & vec4<u32>(0x7fffu);
  let shifted_up = magnitude << vec4<u32>(13u);
  let normal = shifted_up + vec4<u32>(0x38000000u);
  let special = shifted_up | vec4<u32>(0x7f800000u); // infinity and NaN
  let tiny = bitcast<vec4<u32>>(vec4<f32>(magnitude) * 5.9604644775390625e-8); // 2^-24, exact
  let finite = select(tiny, normal, magnitude >= vec4<u32>(0x0400u));
  return bitcast<vec4<f32>>(sign | select(finite, special, magnitude >= vec4<u32>(0x7c00u)));
}
// To nearest, ties to even, as if FLOAT16 had no limits; then overflow to infinity.
fn float16_encode4(v: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<u32>>(v);
  let sign = (bits >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
  let magnitude = bits & vec4<u32>(0x7fffffffu);
  let odd = (magnitude >> vec4<u32>(13u)) & vec4<u32>(1u);
  let normal = (magnitude - vec4<u32>(0x38000000u) + vec4<u32>(0xfffu) + odd) >> vec4<u32>(13u);
  // Below 2^-14 the result counts multiples of 2^-24: the significand, shifted and rounded.
  let exponent = min(magnitude >> vec4<u32>(23u), vec4<u32>(112u));
  let shift = min(vec4<u32>(126u) - exponent, vec4<u32>(25u));
  let significand = (magnitude & vec4<u32>(0x7fffffu)) | vec4<u32>(0x800000u);
  let whole = significand >> shift;
  let tie = vec4<u32>(1u) << (shift - vec4<u32>(1u));
  let rest = significand & ((vec4<u32>(1u) << shift) - vec4<u32>(1u));
  let up = rest + (whole & vec4<u32>(1u)) > tie;
  let tiny = whole + select(vec4<u32>(0u), vec4<u32>(1u), up);
  var half = select(tiny, normal, magnitude >= vec4<u32>(0x38800000u));
  half = select(half, vec4<u32>(0x7c00u), magnitude >= vec4<u32>(0x477ff000u));
  half = select(half, vec4<u32>(0x7e00u), magnitude > vec4<u32>(0x7f800000u));
  return sign | half;
}
// Two elements, as they lie in a word.
fn float16_pair(word: u32) -> vec2<f32> {
  return float16_decode4(vec4<u32>(word & 0xffffu, word >> 16u, 0u, 0u)).xy;
}
fn float16_word(v: vec2<f32>) -> u32 {
  let bits = float16_encode4(v.xyxy);
  return bits.x | (bits.y << 16u);
}
fn float16_decode(bits: vec2<u32>) -> f32 { return float16_decode4(bits.xxxx).x; }
fn float16_encode(v: f32) -> vec2<u32> { return vec2<u32>(float16_encode4(vec4<f32>(v)).x, 0u); }
fn float16_eq(a: f32, b: f32) -> bool { return f32_eq(a, b); }
fn float16_lt(a: f32, b: f32) -> bool { return f32_lt(a, b); }
fn float16_le(a: f32, b: f32) -> bool { return f32_le(a, b); }
