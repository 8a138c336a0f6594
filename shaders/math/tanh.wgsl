// The hyperbolic tangent.
fn math_tanh(x: f32) -> f32 {
  let a = clamp(x, -10.0, 10.0); // from 9 on the quotient is 1 or more
  let z = a * a;
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
  return select(clamp(a * f32_quotient(p, q), -1.0, 1.0), x, f32_is_nan(x));
}
