// The hyperbolic tangent: by polynomials up to 1.5, and from there on by e^(2 * x), of which a few
// bits are enough where the result is near 1.
fn math_tanh(x: f32) -> f32 {
  let a = f32_abs(x);
  let z = min(a * a, 2.25);
  var p = 1.3319136e-8;
  p = p * z + 2.0583584e-5;
  p = p * z + 0.0034940408;
  p = p * z + 0.13379723;
  p = p * z + 1.0;
  var q = 7.762072e-7;
  q = q * z + 0.00032831027;
  q = q * z + 0.025871098;
  q = q * z + 0.4671304;
  q = q * z + 1.0;
  let e = exp2(min(a, 20.0) * 2.88539);
  let near = a > 1.5;
  let made = min(f32_quotient(select(a * p, e - 1.0, near), select(q, e + 1.0, near)), 1.0);
  return select(f32_signed(made, x), x, f32_is_nan(x));
}
