// The cosine.
fn math_cos(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  return math_sin_turned(reduced.r, reduced.quadrant + 1u);
}
