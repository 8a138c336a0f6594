// e^x.
fn math_exp(x: f32) -> f32 {
  if (math_exp_strays(x)) { return math_exp_scaled(x, 0); }
  return math_exp_near(x);
}
fn math_exp_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42ae0000u; } // 87, or NaN
fn math_exp_near(x: f32) -> f32 { return math_exp_bounded(x); }
