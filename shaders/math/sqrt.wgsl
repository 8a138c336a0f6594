// The square root. WGSL leaves sqrt a few units in the last place and says nothing of denormals.
fn math_sqrt(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude == 0u || bitcast<u32>(x) == 0x7f800000u) { return x; }
  if (bitcast<u32>(x) > 0x7f800000u) { return f32_nan(); }
  let parts = f32_split(magnitude);
  let odd = (parts.exponent & 1) == 0; // the bias is odd
  let m = bitcast<f32>(parts.significand + select(0x3f000000u, 0x3f800000u, odd)); // from 1 to 4
  let s = sqrt(m);
  // One step of Newton's method on the exact error of s.
  let high = f32_high(s);
  let low = s - high;
  let rest = ((m - high * high) - 2.0 * high * low) - low * low;
  let root = s + rest / (2.0 * s);
  let half = (parts.exponent - select(127, 128, odd)) / 2;
  return bitcast<f32>(bitcast<i32>(root) + (half << 23u));
}
