// The cosine.
fn math_cos(x: f32) -> f32 {
  if (math_cos_strays(x)) { return math_cos_far(x); }
  return math_cos_near(x);
}
fn math_cos_strays(x: f32) -> bool { return f32_magnitude(x) > 0x45000000u; } // 2^11, or NaN
fn math_cos_near(x: f32) -> f32 {
  // x is (n + 1/2) * pi - r. Adding 1.5 * 2^15 keeps eight bits behind the point; they become 1/2.
  let bits = bitcast<u32>(x * 0.31830987 + 49152.0);
  let n = bitcast<f32>((bits & 0xffffff00u) | 0x80u) - 49152.0;
  let r = -math_trig_reduce_pi(x, n);
  return f32_flipped(math_sin_kernel(r), (bits << 23u) & 0x80000000u);
}
// Where the angle takes more bits of pi; NaN for infinity.
fn math_cos_far(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  return math_sin_turned(reduced.r, reduced.quadrant + 1u);
}
