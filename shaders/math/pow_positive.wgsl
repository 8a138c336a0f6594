// x to the power of y, where hardly any x is negative. Bits of x that are not within `range` of `least`
// are those of no positive normal number, or the power is near the ends of the range.
fn math_pow_positive(x: f32, y: f32, least: u32, range: u32) -> f32 {
  if (math_pow_positive_strays(x, y, least, range)) { return math_pow(x, y); }
  return math_pow_positive_near(x, y, least, range);
}
fn math_pow_positive_strays(x: f32, y: f32, least: u32, range: u32) -> bool {
  return bitcast<u32>(x) - least > range;
}
fn math_pow_positive_near(x: f32, y: f32, least: u32, range: u32) -> f32 {
  return math_pow_of_logarithm(math_pow_logarithm(bitcast<u32>(x)), y);
}
