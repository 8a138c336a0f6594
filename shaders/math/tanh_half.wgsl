// The hyperbolic tangent, right to FLOAT16's 11 bits.
fn math_tanh_half(x: f32) -> f32 {
  let a = clamp(x, -4.6, 4.6); // beyond, it is 1 in FLOAT16
  let z = a * a;
  let p = (0.0016852085 * z + 0.11727097) * z + 0.9999989;
  let q = ((6.788677e-5 * z + 0.018563617) * z + 0.45059496) * z + 1.0;
  return select(a * (p * (1.0 / q)), x, f32_is_nan(x));
}
