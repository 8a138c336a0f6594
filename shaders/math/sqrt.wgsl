// The square root. WGSL leaves sqrt a few units in the last place and says nothing of denormals.
fn math_sqrt(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  // From 2^-60 to 2^60: nothing below comes near the ends of the range.
  if (magnitude - 0x21800000u > 0x3c000000u) { return math_sqrt_far(x); }
  return select(math_sqrt_near(bitcast<f32>(magnitude)), f32_nan(), f32_is_negative(x));
}
fn math_sqrt_far(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude == 0u || bitcast<u32>(x) == 0x7f800000u) { return x; }
  if (bitcast<u32>(x) > 0x7f800000u) { return f32_nan(); }
  let parts = f32_split(magnitude);
  let odd = (parts.exponent & 1) == 0; // the bias is odd
  let m = bitcast<f32>(parts.significand + select(0x3f000000u, 0x3f800000u, odd)); // from 1 to 4
  let half = (parts.exponent - select(127, 128, odd)) / 2;
  return bitcast<f32>(bitcast<i32>(math_sqrt_near(m)) + (half << 23u));
}
