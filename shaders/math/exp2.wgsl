// 2^x.
fn math_exp2(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x7f800000u) { return x; }
  if (magnitude > 0x43180000u) { // 152
    return select(f32_infinity(), 0.0, f32_is_negative(x));
  }
  let n = round(x);
  return f32_scale(1.0 + math_expm1_kernel((x - n) * 0.6931472), i32(n));
}
