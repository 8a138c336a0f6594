// 1 / (1 + e^-x), right to FLOAT16's 11 bits as far as FLOAT16 reaches.
fn math_sigmoid_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x41a00000u) { return math_sigmoid(x); } // 20, or NaN
  return 1.0 / (1.0 + exp2(x * -1.442695));
}
