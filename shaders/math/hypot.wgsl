// The square root of x * x + y * y, where the squares may be out of range; infinite beside NaN too.
fn math_hypot(x: f32, y: f32) -> f32 {
  let a = f32_magnitude(x);
  let b = f32_magnitude(y);
  if (a == 0x7f800000u || b == 0x7f800000u) { return f32_infinity(); }
  let n = 127 - i32(max(a, b) >> 23u);
  let p = f32_scale(x, n);
  let q = f32_scale(y, n);
  return f32_scale(math_sqrt(p * p + q * q), -n);
}
