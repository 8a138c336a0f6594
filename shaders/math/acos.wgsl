// The inverse cosine; NaN outside -1 to 1.
fn math_acos(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  let a = bitcast<f32>(magnitude);
  // As in math_asin; the result is then twice the angle, or what that leaves of pi.
  let steep = magnitude > 0x3f000000u;
  let z = select(a * a, 0.5 - 0.5 * a, steep);
  let s = select(a, sqrt(z), steep);
  let angle = math_asin_kernel(z) * (z * s) + s;
  let negative = f32_is_negative(x);
  let part = f32_flipped(select(angle, 2.0 * angle, steep), select(0x80000000u, 0u, negative != steep));
  let whole = select(1.5707964, select(0.0, 3.1415927, negative), steep);
  let made = whole + (part - whole * 2.7827534e-8); // pi lacks this share
  return select(made, f32_nan(), magnitude > 0x3f800000u);
}
