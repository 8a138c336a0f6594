// e^x - 1, right to FLOAT16's 11 bits as far as FLOAT16 reaches.
fn math_expm1_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x41a00000u) { return math_expm1(x); } // 20, or NaN
  let p = ((0.008338726 * x + 0.041888803) * x + 0.16666856) * x + 0.49999306;
  return select(exp2(x * 1.442695) - 1.0, x * (p * x + 1.0), abs(x) < 0.36);
}
