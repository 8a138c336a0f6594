// The inverse hyperbolic sine.
fn math_asinh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u || magnitude > 0x7f800000u) { return x; } // below 2^-13, or NaN
  let a = f32_abs(x);
  if (magnitude > 0x45800000u) { return f32_signed(math_log_scaled(a, 1), x); } // 2^12
  let z = a * a;
  return f32_signed(math_log1p(a + z / (1.0 + sqrt(1.0 + z))), x);
}
