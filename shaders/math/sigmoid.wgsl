// 1 / (1 + e^-x).
fn math_sigmoid(x: f32) -> f32 {
  if (math_sigmoid_strays(x)) { return math_sigmoid_far(x); }
  return math_sigmoid_near(x);
}
fn math_sigmoid_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42ae0000u; } // 87, or NaN
fn math_sigmoid_near(x: f32) -> f32 {
  let e = math_exp_bounded(-abs(x));
  return select(1.0, e, f32_is_negative(x)) / (1.0 + e);
}
fn math_sigmoid_far(x: f32) -> f32 {
  if (f32_is_nan(x)) { return x; }
  return select(1.0, math_exp(x), f32_is_negative(x));
}
