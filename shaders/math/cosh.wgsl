// The hyperbolic cosine.
fn math_cosh(x: f32) -> f32 {
  let half = math_exp_scaled(f32_abs(x), -1);
  if (f32_magnitude(x) > 0x41200000u) { return half; } // 10, or NaN
  return half + 0.25 / half;
}
