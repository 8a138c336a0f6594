// ln(1 + e^x).
fn math_softplus(x: f32) -> f32 {
  if (math_softplus_strays(x)) { return math_softplus_far(x); }
  return math_softplus_near(x);
}
fn math_softplus_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42ae0000u; } // 87, or NaN
fn math_softplus_near(x: f32) -> f32 {
  return max(x, 0.0) + math_log1p_unit(math_exp_bounded(-abs(x)));
}
fn math_softplus_far(x: f32) -> f32 {
  return select(x, math_exp(x), f32_is_negative(x));
}
