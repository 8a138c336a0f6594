// The natural logarithm.
fn math_log(x: f32) -> f32 {
  if (math_log_strays(x)) { return math_log_scaled(x, 0); }
  return math_log_near(x);
}
fn math_log_strays(x: f32) -> bool { return f32_magnitude(x) - 0x800000u > 0x7effffffu; } // not normal
fn math_log_near(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  // |x| is 2^k * (1 + f), with 1 + f from sqrt(1/2) to sqrt(2).
  let k = (magnitude - 0x3f3504f3u) & 0xff800000u; // times 2^23
  let f = bitcast<f32>(magnitude - k) - 1.0;
  let n = f32(bitcast<i32>(k)) * 1.1920928955078125e-7; // 2^-23
  // ln(2) in two parts, of which the first times n is exact.
  let low = math_log1p_kernel(f) + n * 1.4286068e-6;
  return select(n * 0.693145751953125 + (f + low), f32_nan(), f32_is_negative(x));
}
