// The hyperbolic sine.
fn math_sinh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x7f800000u) { return x; }
  if (magnitude < 0x3f800000u) { // 1
    let z = x * x;
    let p = ((2.783925e-6 * z + 0.00019842635) * z + 0.008333311) * z + 0.16666667;
    return p * z * x + x;
  }
  let half = math_exp_scaled(f32_abs(x), -1);
  if (magnitude > 0x41200000u) { return f32_signed(half, x); } // 10
  return f32_signed(half - 0.25 / half, x);
}
