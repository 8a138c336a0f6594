// ln(1 + e^x).
fn math_softplus(x: f32) -> f32 {
  return max(x, 0.0) + math_log1p(math_exp(-f32_abs(x)));
}
