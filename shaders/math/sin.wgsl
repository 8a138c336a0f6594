// The sine.
fn math_sin(x: f32) -> f32 {
  if (math_sin_strays(x)) { return math_sin_far(x); }
  return math_sin_near(x);
}
fn math_sin_strays(x: f32) -> bool { return f32_magnitude(x) > 0x45000000u; } // 2^11, or NaN
fn math_sin_near(x: f32) -> f32 {
  // x is n * pi + r. Adding 1.5 * 2^23 rounds to an integer, whose parity the lowest bit then holds;
  // the mask changes nothing, but no driver takes the two constants together across it.
  let bits = bitcast<u32>(x * 0.31830987 + 12582912.0);
  let n = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  return f32_flipped(math_sin_kernel(math_trig_reduce_pi(x, n)), bits << 31u);
}
// Where the angle takes more bits of pi; NaN for infinity.
fn math_sin_far(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  return math_sin_turned(reduced.r, reduced.quadrant);
}
