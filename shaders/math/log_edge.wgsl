// The logarithm of zero, infinity, NaN or a negative number.
fn math_log_edge(x: f32) -> f32 {
  if (f32_magnitude(x) == 0u) { return f32_of_bits(0xff800000u); }
  return select(f32_nan(), x, bitcast<u32>(x) == 0x7f800000u);
}
