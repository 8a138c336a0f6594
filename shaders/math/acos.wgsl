// The inverse cosine; NaN outside -1 to 1.
fn math_acos(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x3f800000u) { return f32_nan(); }
  if (magnitude <= 0x3f000000u) { return 1.5707964 - (x + (math_asin_kernel(x) + 4.371139e-8)); }
  let s = math_sqrt(0.5 - 0.5 * f32_abs(x));
  let angle = 2.0 * (s + math_asin_kernel(s));
  return select(angle, 3.1415927 - (angle + 8.742278e-8), f32_is_negative(x));
}
