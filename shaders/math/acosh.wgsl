// The inverse hyperbolic cosine; NaN below 1.
fn math_acosh(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (bits < 0x3f800000u || bits > 0x7f800000u) { return f32_nan(); }
  if (bits > 0x45800000u) { return math_log_scaled(x, 1); } // 2^12
  let t = x - 1.0;
  return math_log1p(t + math_sqrt(t * t + 2.0 * t));
}
