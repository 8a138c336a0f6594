// The square root, right to FLOAT16's 11 bits.
fn math_sqrt_half(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude - 0x21800000u > 0x3c000000u) { return math_sqrt(x); } // outside 2^-60 to 2^60
  return select(sqrt(bitcast<f32>(magnitude)), f32_nan(), f32_is_negative(x));
}
