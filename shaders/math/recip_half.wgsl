// 1 / x, right to FLOAT16's 11 bits.
fn math_recip_half(x: f32) -> f32 {
  if (f32_magnitude(x) - 0x21800000u > 0x3c000000u) { return math_recip(x); } // as math_sqrt_half
  return 1.0 / x;
}
