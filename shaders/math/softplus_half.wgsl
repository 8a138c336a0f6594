// ln(1 + e^x), right to FLOAT16's 11 bits as far as FLOAT16 reaches.
fn math_softplus_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x41a00000u) { return math_softplus(x); } // 20, or NaN
  let e = exp2(-1.442695 * abs(x));
  var p = 0.014140843;
  p = p * e - 0.06640126;
  p = p * e + 0.14922327;
  p = p * e - 0.23503828;
  p = p * e + 0.3310944;
  p = p * e - 0.49986964;
  p = p * e + 0.99999875;
  return p * e + max(x, 0.0);
}
