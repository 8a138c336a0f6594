// ln(1 + f) - f for 1 + f from sqrt(1/2) to sqrt(2).
fn math_log1p_kernel(f: f32) -> f32 {
  var p = 0.06751645;
  p = p * f - 0.116725735;
  p = p * f + 0.11883886;
  p = p * f - 0.12405909;
  p = p * f + 0.1422028;
  p = p * f - 0.16668;
  p = p * f + 0.20002075;
  p = p * f - 0.2500001;
  p = p * f + 0.33333313;
  return f * f * (p * f - 0.5);
}
