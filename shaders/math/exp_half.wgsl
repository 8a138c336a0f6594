// e^x, right to FLOAT16's 11 bits as far as FLOAT16 reaches.
fn math_exp_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x41a00000u) { return math_exp(x); } // 20, or NaN
  return exp2(x * 1.442695);
}
