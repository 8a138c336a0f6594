// The hyperbolic tangent: a quotient of polynomials up to 1.25, and from there on what is left to 1, of
// which a few bits are enough.
fn math_tanh(x: f32) -> f32 {
  let a = f32_abs(x);
  let z = min(a * a, 1.5625);
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
  let rest = 2.0 / (1.0 + exp2(min(a, 20.0) * 2.88539));
  let made = select(a * f32_quotient(p, q), 1.0 - rest, a > 1.25);
  return select(f32_signed(made, x), x, f32_is_nan(x));
}
