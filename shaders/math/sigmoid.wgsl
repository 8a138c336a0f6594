// 1 / (1 + e^-x).
fn math_sigmoid(x: f32) -> f32 {
  let e = math_exp(-f32_abs(x));
  return select(1.0, e, f32_is_negative(x)) / (1.0 + e);
}
