// The hyperbolic tangent, right to FLOAT16's 11 bits.
fn math_tanh_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x40933333u) { // 4.6, or NaN
    return select(f32_signed(1.0, x), x, f32_is_nan(x));
  }
  let z = x * x;
  let p = (0.0016852085 * z + 0.11727097) * z + 0.9999989;
  let q = ((6.788677e-5 * z + 0.018563617) * z + 0.45059496) * z + 1.0;
  return x * (p * (1.0 / q));
}
