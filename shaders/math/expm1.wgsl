// e^x - 1 without cancellation near 0.
fn math_expm1(x: f32) -> f32 {
  if (math_expm1_strays(x)) { return math_expm1_far(x); }
  return math_expm1_near(x);
}
fn math_expm1_strays(x: f32) -> bool { return f32_magnitude(x) > 0x42800000u; } // 64, or NaN
fn math_expm1_near(x: f32) -> f32 {
  // x is n * ln(2) + r; see math_exp_bounded.
  let bits = bitcast<u32>(x * 1.442695 + 12582912.0);
  let n = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  let r = (x - n * 0.693145751953125) - n * 1.4286068e-6;
  let power = bitcast<f32>((bits << 23u) + 0x3f800000u);
  return f32_signed(power * math_expm1_kernel(r) + (power - 1.0), x);
}
fn math_expm1_far(x: f32) -> f32 {
  if (f32_is_nan(x)) { return x; }
  return select(math_exp(x), -1.0, f32_is_negative(x));
}
