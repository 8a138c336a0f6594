// x / 2 * (1 + erf(x / sqrt(2))), which is x times the share of the normal distribution below x. The
// share g beyond t = |x| has a logarithm near a parabola, and nothing cancels for negative x.
fn math_gelu(x: f32) -> f32 {
  if (math_gelu_strays(x)) { return math_gelu_far(x); }
  return math_gelu_near(x);
}
fn math_gelu_strays(x: f32) -> bool { return f32_magnitude(x) > 0x40c00000u; } // 6, or NaN
fn math_gelu_near(x: f32) -> f32 {
  let t = abs(x);
  var p = 4.1901313e-7;
  p = p * t - 8.220493e-6;
  p = p * t + 6.718542e-5;
  p = p * t - 0.00026050585;
  p = p * t - 2.6489553e-5;
  p = p * t + 0.006972356;
  p = p * t - 0.052457027;
  p = p * t - 0.45921573;
  p = p * t - 1.1511048;
  let g = exp2(p * t - 1.0);
  return x * select(1.0 - g, g, f32_is_negative(x));
}
// Where the tail is below 1e-8; as in the product of the formula, -infinity gives NaN.
fn math_gelu_far(x: f32) -> f32 {
  if (f32_is_nan(x) || bitcast<u32>(x) == 0xff800000u) { return f32_nan(); }
  return select(x, f32_of_bits(0x80000000u), f32_is_negative(x));
}
