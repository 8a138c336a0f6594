// The tangent.
fn math_tan(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  let s = math_sin_kernel(reduced.r);
  let c = math_cos_kernel(reduced.r);
  if ((reduced.quadrant & 1u) == 0u) { return s / c; }
  return -c / s;
}
