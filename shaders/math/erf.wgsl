// The error function.
fn math_erf(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x407b0000u) { // 3.92, or NaN
    return select(f32_signed(1.0, x), x, f32_is_nan(x));
  }
  let z = x * x;
  var p = 2.041996e-6;
  p = p * z + 0.00028480784;
  p = p * z + 0.0037795424;
  p = p * z + 0.052790094;
  p = p * z + 0.19078226;
  p = p * z + 1.1283791;
  var q = 3.800425e-5;
  q = q * z + 0.0011651983;
  q = q * z + 0.014997306;
  q = q * z + 0.11425688;
  q = q * z + 0.50240904;
  q = q * z + 1.0;
  return clamp(x * f32_quotient(p, q), -1.0, 1.0);
}
