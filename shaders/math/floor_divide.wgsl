// floor(a / b) without the rounding error of the quotient; with infinities as the array API says.
fn math_floor_divide(a: f32, b: f32) -> f32 {
  let quotient = f32_div(a, b);
  let x = f32_magnitude(a);
  let y = f32_magnitude(b);
  if (x >= 0x7f800000u || y >= 0x7f800000u || x == 0u || y == 0u) { return quotient; }
  let rest = f32_rem(a, b);
  // a - rest is a multiple of b, so that this quotient is nearly whole.
  var whole = f32_div(a - rest, b);
  if (f32_magnitude(rest) != 0u && f32_is_negative(rest) != f32_is_negative(b)) { whole -= 1.0; }
  let result = round(whole);
  return select(f32_signed(result, quotient), result, f32_magnitude(result) != 0u);
}
