// The hyperbolic sine: by a polynomial up to 1.
fn math_sinh(x: f32) -> f32 {
  if (math_sinh_strays(x)) { return math_sinh_far(x); }
  return math_sinh_near(x);
}
fn math_sinh_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42ae0000u; } // 87, or NaN
fn math_sinh_near(x: f32) -> f32 {
  let a = f32_abs(x);
  let z = a * a;
  let p = ((2.783925e-6 * z + 0.00019842635) * z + 0.008333311) * z + 0.16666667;
  let half = 0.5 * math_exp_bounded(a);
  return select((p * z) * x + x, f32_signed(half - 0.25 / half, x), a >= 1.0);
}
fn math_sinh_far(x: f32) -> f32 { return f32_signed(math_exp_scaled(f32_abs(x), -1), x); }
