// The natural logarithm, right to FLOAT16's 11 bits.
fn math_log_half(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude - 0x800000u > 0x7effffffu) { return math_log_scaled(x, 0); } // not a normal number
  let a = bitcast<f32>(magnitude);
  // WGSL's own logarithm is not good enough near 1.
  let f = a - 1.0;
  let p = ((0.20159583 * f - 0.25169656) * f + 0.33332938) * f - 0.49999657;
  let logarithm = select(log2(a) * 0.6931472, p * f * f + f, abs(f) < 0.09);
  return select(logarithm, f32_nan(), f32_is_negative(x));
}
