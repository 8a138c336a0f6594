// The inverse hyperbolic tangent; NaN outside -1 to 1.
//
// With a = |x| and 2^k the power of two next to (1 + a) / (1 - a), it is k * ln(2) / 2 + atanh(s),
// where s = ((1 + a) - 2^k * (1 - a)) / ((1 + a) + 2^k * (1 - a)) is up to 0.2.
fn math_atanh(x: f32) -> f32 {
  if (math_atanh_strays(x)) { return math_atanh_far(x); }
  return math_atanh_near(x);
}
fn math_atanh_strays(x: f32) -> bool { // not 2^-13 to 1 - 2^-23
  return f32_magnitude(x) - 0x39000000u > 0x67ffffeu;
}
fn math_atanh_near(x: f32) -> f32 {
  let a = f32_abs(x);
  // The difference of the bits is that of the logarithms, as near as it has to be; from 1/2 on,
  // where k is 2 or more, 1 - a is exact.
  let ratio = bitcast<u32>(1.0 + a) - bitcast<u32>(1.0 - a) + 0x400000u;
  let exponent = ratio & 0xff800000u; // times 2^23
  let power = bitcast<f32>(exponent + 0x3f800000u);
  let rest = power * a - (power - 1.0); // 1 - 2^k * (1 - a)
  let s = (rest + a) / ((2.0 + a) - rest);
  let k = f32(exponent) * 4.1314791e-8; // 2^-23 * ln(2) / 2
  return f32_signed(k + (s + math_atanh_kernel(s)), x);
}
// Where it is x itself, and from 1 - 2^-24 on.
fn math_atanh_far(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u) { return x; }
  if (magnitude > 0x3f800000u) { return f32_nan(); }
  return f32_signed(select(8.66434, f32_infinity(), magnitude == 0x3f800000u), x);
}
