// Python's remainder, which has the sign of the divisor; exact where the sum of two floats is.
fn math_remainder(a: f32, b: f32) -> f32 {
  let infinite = f32_magnitude(b) == 0x7f800000u;
  if (infinite && f32_magnitude(a) != 0u && f32_magnitude(a) < 0x7f800000u) {
    return select(a, b, f32_is_negative(a) != f32_is_negative(b));
  }
  return f32_mod(a, b);
}
