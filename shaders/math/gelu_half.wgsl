// x / 2 * (1 + erf(x / sqrt(2))), right to FLOAT16's 11 bits; by the same formula as math_gelu.
fn math_gelu_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x40b9999au) { return math_gelu(x); } // 5.8, or NaN
  let t = abs(x);
  var p = 3.2573524e-5;
  p = p * t - 0.0007502629;
  p = p * t + 0.007951823;
  p = p * t - 0.053073943;
  p = p * t - 0.4591481;
  p = p * t - 1.1510442;
  p = p * t - 1.0000074;
  let g = exp2(p);
  return x * select(1.0 - g, g, f32_is_negative(x));
}
