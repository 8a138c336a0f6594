// The tangent.
fn math_tan(x: f32) -> f32 {
  if (f32_magnitude(x) < 0x39000000u) { return x; } // 2^-13
  let reduced = math_trig_reduce(x);
  let s = math_sin_kernel(reduced.r);
  let c = math_cos_kernel(reduced.r);
  let odd = (reduced.quadrant & 1u) != 0u;
  return f32_quotient(select(s, -c, odd), select(c, s, odd));
}
