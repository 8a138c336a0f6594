// The sine, right to FLOAT16's 11 bits.
fn math_sin_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x44800000u) { return math_sin(x); } // 2^10, or NaN
  // As math_sin. Of the two parts of pi, the first has 13 bits and exact products with n.
  let bits = bitcast<u32>(x * 0.31830987 + 12582912.0);
  let n = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  let r = (x - n * 3.14111328125) - n * 0.00047937233;
  return f32_flipped(math_sin_half_kernel(r), bits << 31u);
}
