// The sine.
fn math_sin(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  return math_sin_turned(reduced.r, reduced.quadrant);
}
