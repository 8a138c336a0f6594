// The error function.
fn math_erf(x: f32) -> f32 {
  let a = clamp(x, -4.2, 4.2); // from 4 on the quotient is 1 or more
  let z = a * a;
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
  return select(clamp(a * (p * (1.0 / q)), -1.0, 1.0), x, f32_is_nan(x));
}
