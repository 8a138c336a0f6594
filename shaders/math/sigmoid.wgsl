// 1 / (1 + e^-x).
fn math_sigmoid(x: f32) -> f32 {
  let e = math_exp(-f32_abs(x));
  let share = f32_quotient(1.0, 1.0 + e);
  return select(share, share * e, f32_is_negative(x));
}
