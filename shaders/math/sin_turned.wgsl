// sin(r + quadrant * pi/2) for |r| up to pi/4.
fn math_sin_turned(r: f32, quadrant: u32) -> f32 {
  var value = 0.0;
  if ((quadrant & 1u) == 0u) {
    value = math_sin_kernel(r);
  } else {
    value = math_cos_kernel(r);
  }
  return select(value, -value, (quadrant & 2u) != 0u);
}
