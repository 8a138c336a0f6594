// The angle of the point (x, y), with IEEE 754's signs of zero.
fn math_atan2(y: f32, x: f32) -> f32 {
  let a = f32_magnitude(y);
  let b = f32_magnitude(x);
  if (max(a, b) > 0x7f800000u) { return f32_nan(); }
  let small = bitcast<f32>(min(a, b));
  let large = bitcast<f32>(max(a, b));
  var ratio = 0.0; // of the origin too
  if (a == b) {
    ratio = select(1.0, 0.0, a == 0u);
  } else {
    ratio = f32_div(small, large);
  }
  var angle = math_atan_kernel(ratio);
  if (a > b) { angle = 1.5707964 - (angle + 4.371139e-8); }
  if (f32_is_negative(x)) { angle = 3.1415927 - (angle + 8.742278e-8); }
  return f32_signed(angle, y);
}
