// ln(1 + x) without cancellation near 0.
fn math_log1p(x: f32) -> f32 {
  if (math_log1p_strays(x)) { return math_log(1.0 + x); }
  return math_log1p_near(x);
}
fn math_log1p_strays(x: f32) -> bool { // not above -1 and finite
  return bitcast<u32>(1.0 + x) - 0x800000u > 0x7effffffu;
}
fn math_log1p_near(x: f32) -> f32 {
  // 1 + x is 2^k * (1 + f), as in math_log. Where it is near 1, its rounding would show.
  let sum = bitcast<u32>(1.0 + x);
  let k = (sum - 0x3f3504f3u) & 0xff800000u; // times 2^23
  let f = select(bitcast<f32>(sum - k) - 1.0, x, k == 0u);
  let n = f32(bitcast<i32>(k)) * 1.1920928955078125e-7; // 2^-23
  let low = math_log1p_kernel(f) + n * 1.4286068e-6;
  return f32_signed(n * 0.693145751953125 + (f + low), x);
}
