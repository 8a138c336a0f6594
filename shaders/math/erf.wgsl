// The error function.
fn math_erf(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x7f800000u) { return x; }
  if (magnitude > 0x40800000u) { return f32_signed(1.0, x); } // 4
  if (magnitude < 0x3f6e147bu) { return math_erf_inner(x); } // 0.93
  // -ln(1 - erf(t)) is nearly a parabola.
  let t = f32_abs(x);
  var p = -0.00021398836;
  p = p * t + 0.0032149788;
  p = p * t - 0.022890022;
  p = p * t + 0.10526191;
  p = p * t + 0.6357183;
  p = p * t + 0.12851436;
  return f32_signed(1.0 - math_exp(-(p * t + t)), x);
}
fn math_erf_inner(x: f32) -> f32 {
  let z = x * x;
  var p = 7.975999e-5;
  p = p * z - 0.00080449024;
  p = p * z + 0.005192004;
  p = p * z - 0.026855597;
  p = p * z + 0.11283624;
  p = p * z - 0.3761263;
  p = p * z + 0.12837917;
  return p * x + x;
}
