// The hyperbolic cosine.
fn math_cosh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x42ae0000u) { return math_exp_scaled(bitcast<f32>(magnitude), -1); } // 87, or NaN
  let e = math_exp_bounded(bitcast<f32>(magnitude));
  return 0.5 * e + 0.5 / e;
}
