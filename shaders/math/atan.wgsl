// The inverse tangent.
fn math_atan(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u || magnitude > 0x7f800000u) { return x; } // below 2^-13, or NaN
  if (magnitude > 0x4c800000u) { return f32_signed(1.5707964, x); } // 2^26
  let a = f32_abs(x);
  let steep = magnitude > 0x3f800000u;
  let angle = math_atan_kernel(select(a, 1.0 / a, steep));
  return f32_signed(select(angle, 1.5707964 - (angle + 4.371139e-8), steep), x);
}
