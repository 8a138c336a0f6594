// The nearest integer, ties away from zero.
fn math_round_away(x: f32) -> f32 {
  if (f32_magnitude(x) >= 0x4b000000u) { return x; } // 2^23: an integer, infinity or NaN
  let whole = trunc(x);
  let up = abs(x - whole) >= 0.5;
  return f32_signed(abs(whole) + select(0.0, 1.0, up), x);
}
