// The inverse sine; NaN outside -1 to 1.
fn math_asin(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  let a = bitcast<f32>(magnitude);
  // Beyond 1/2 from the half of the angle that is left to a right one.
  let steep = magnitude > 0x3f000000u;
  let z = select(a * a, 0.5 - 0.5 * a, steep);
  let s = select(a, sqrt(z), steep);
  let angle = math_asin_kernel(z) * (z * s) + s;
  let made = f32_signed(select(angle, 1.5707964 - (2.0 * angle + 4.371139e-8), steep), x);
  return select(made, f32_nan(), magnitude > 0x3f800000u);
}
