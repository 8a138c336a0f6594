// The inverse sine; NaN outside -1 to 1.
fn math_asin(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x3f7fffffu) { return math_asin_edge(x); }
  let a = bitcast<f32>(magnitude);
  // Beyond 1/2 from the half of the angle that is left to a right one.
  let steep = magnitude > 0x3f000000u;
  let z = select(a * a, 0.5 - 0.5 * a, steep);
  let s = select(a, z * inverseSqrt(z), steep);
  let angle = math_asin_kernel(z) * (z * s) + s;
  return f32_signed(select(angle, 1.5707964 - (2.0 * angle + 4.371139e-8), steep), x);
}
// From 1 on.
fn math_asin_edge(x: f32) -> f32 {
  return f32_signed(select(1.5707964, f32_nan(), f32_magnitude(x) > 0x3f800000u), x);
}
