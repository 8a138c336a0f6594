// e^x.
fn math_exp(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x42ae0000u) { return math_exp_scaled(x, 0); } // 87, or NaN
  return math_exp_bounded(x);
}
