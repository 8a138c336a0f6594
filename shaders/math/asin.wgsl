// The inverse sine; NaN outside -1 to 1.
fn math_asin(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x3f800000u) { return f32_nan(); }
  if (magnitude <= 0x3f000000u) { return x + math_asin_kernel(x); }
  let s = math_sqrt(0.5 - 0.5 * f32_abs(x));
  return f32_signed(1.5707964 - (2.0 * (s + math_asin_kernel(s)) + 4.371139e-8), x);
}
