// The inverse tangent.
fn math_atan(x: f32) -> f32 {
  let a = f32_abs(x);
  let steep = a > 1.0;
  let angle = math_atan_kernel(select(a, 1.0 / a, steep));
  return f32_signed(select(angle, 1.5707964 - (angle + 4.371139e-8), steep), x);
}
