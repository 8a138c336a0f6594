// The inverse hyperbolic tangent; NaN outside -1 to 1.
fn math_atanh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u) { return x; } // 2^-13
  if (magnitude > 0x3f800000u) { return f32_nan(); }
  if (magnitude == 0x3f800000u) { return f32_signed(f32_infinity(), x); }
  let a = f32_abs(x);
  return f32_signed(0.5 * math_log1p(f32_quotient(2.0 * a, 1.0 - a)), x);
}
