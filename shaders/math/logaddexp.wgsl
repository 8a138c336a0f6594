// ln(e^a + e^b).
fn math_logaddexp(a: f32, b: f32) -> f32 {
  if (f32_eq(a, b)) { return a + 0.6931472; } // infinities have no difference
  return max(a, b) + math_log1p_unit(math_exp(-f32_abs(a - b)));
}
