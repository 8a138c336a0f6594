// The cosine, right to FLOAT16's 11 bits.
fn math_cos_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x44800000u) { return math_cos(x); } // 2^10, or NaN
  // As math_cos. Of the two parts of pi, the first has 13 bits and exact products with n.
  let bits = bitcast<u32>(x * 0.31830987 + 49152.0);
  let n = bitcast<f32>((bits & 0xffffff00u) | 0x80u) - 49152.0;
  let r = (n * 3.14111328125 - x) + n * 0.00047937233;
  return f32_flipped(math_sin_half_kernel(r), (bits << 23u) & 0x80000000u);
}
