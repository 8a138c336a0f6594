// x to the power of y, where hardly any x is negative.
fn math_pow_positive(x: f32, y: f32) -> f32 {
  if (math_pow_positive_strays(x, y)) { return math_pow(x, y); }
  return math_pow_positive_near(x, y);
}
// A base that is not a positive normal number, or a power near the ends of the range or NaN.
fn math_pow_positive_strays(x: f32, y: f32) -> bool {
  let a = bitcast<u32>(x);
  let estimate = y * math_pow_logarithm(a).x;
  return (a - 0x800000u > 0x7effffffu) | (f32_magnitude(estimate) > 0x42fa0000u); // 125
}
fn math_pow_positive_near(x: f32, y: f32) -> f32 {
  return math_pow_of_logarithm(math_pow_logarithm(bitcast<u32>(x)), y);
}
