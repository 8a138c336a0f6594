// x / 2 * (1 + erf(x / sqrt(2))), which is x times the share of the normal distribution below x. The
// share g beyond t = |x| has a logarithm near a parabola, and nothing cancels for negative x.
fn math_gelu(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x40c00000u) { return math_gelu_far(x); } // 6, or NaN
  let t = abs(x);
  var p = 2.4199053e-7;
  p = p * t - 4.9166506e-6;
  p = p * t + 4.135661e-5;
  p = p * t - 0.00016187313;
  p = p * t - 5.7584275e-5;
  p = p * t + 0.0048819436;
  p = p * t - 0.036396194;
  p = p * t - 0.31829;
  p = p * t - 0.7978876;
  p = p * t - 0.693147;
  let g = math_exp_bounded(p);
  return x * select(1.0 - g, g, f32_is_negative(x));
}
// Where the tail is below 1e-8; as in the product of the formula, -infinity gives NaN.
fn math_gelu_far(x: f32) -> f32 {
  if (f32_is_nan(x) || bitcast<u32>(x) == 0xff800000u) { return f32_nan(); }
  return select(x, f32_of_bits(0x80000000u), f32_is_negative(x));
}
