// The hyperbolic cosine.
fn math_cosh(x: f32) -> f32 {
  if (math_cosh_strays(x)) { return math_exp_scaled(f32_abs(x), -1); }
  return math_cosh_near(x);
}
fn math_cosh_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42ae0000u; } // 87, or NaN
fn math_cosh_near(x: f32) -> f32 {
  let e = math_exp_bounded(f32_abs(x));
  return 0.5 * e + 0.5 / e;
}
